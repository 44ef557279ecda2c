"""The paper, reproduced: one file per experiment, one page of claims.

    python -m experiments --quick        minutes, small settings, into build/experiments/
    python -m experiments                the paper's settings, into docs/paper/
    python -m experiments invariances    only this one
    python -m experiments --page         only the page, from stored results

Finished experiments are not run again, and an interrupted run resumes. The page says, for each claim of the paper,
what was measured and whether the claim holds.

Adding an experiment
--------------------
Write `experiments/<name>.py`, with `invariances.py` as a model. The module's docstring is the text on the page, its
first line the title. The module defines:

Config : frozen dataclass
    The settings: numbers, text, tuples of them. QUICK and PAPER are two instances; QUICK should take seconds.
run(config, progress) : list of dict
    Measures, and returns rows of plain values: numbers, text, lists of them. NaN and infinity are stored as None.
    `progress.rows(cases, measure)` calls `measure(case)`, which returns a row or a list of rows. It shows a progress
    bar and stores finished cases: use it for the outermost loop. Cases are plain values too, such as (seed, name).
plot(records) : matplotlib Figure
    Uses the rows alone. Make it with `matplotlib.figure.Figure`, imported in the function.
CLAIMS : list of Claim
    `Claim(id, section, words, check)`: the paper's words, as far as they are short, and a function of the rows. It
    returns `holds`, `in_part` or `fails` (all in `experiments.experiment`) with the numbers measured and the reason.
    Report what is measured, whether or not it flatters.
CAVEATS : tuple of str, optional
    Shown beneath the figure: data sets that stand in for others, labels of the points that are clustered, errata.

Seeds come from the Config, never from the clock. Data come from `gramian.datasets`; an experiment whose data set is
missing is left out, and named. Helpers for several experiments are other files here, without CLAIMS. What the
benchmarks use as well is in `harness`: the progress bar, the JSON store, provenance, tables and DataFrames.

When a result is out of date
----------------------------
A result is stored with a key: a hash of the settings and of the statements that `run` and `Config` reach, in the
experiment's file and in helpers that it imports from here. A changed setting or step makes the result out of date. A
changed plot, claim, docstring, comment or layout does not, nor does a gramian or harness module that moves: none of
them changes a number (`harness/source.py`). Changes inside gramian are not seen: the result stores version and commit,
and `--force` runs the experiment again.
"""
