"""The paper, reproduced: one file an experiment, one page of claims.

    python -m experiments --quick        minutes, small settings, into build/experiments/
    python -m experiments                the paper's settings, into docs/paper/
    python -m experiments invariances    only this one

What is finished is not run again, and an interrupted run goes on where it was. The page says, for each claim of the
paper, what was measured and whether it holds.

Adding an experiment
--------------------
Write `experiments/<name>.py`; `invariances.py` is a model. The module's docstring is the text on the
page, its first line the title. The module defines:

Config : frozen dataclass
    The settings: numbers, text, tuples of them. QUICK and PAPER are two of them; QUICK should take seconds.
run(config, progress) : list of dict
    Measures. Rows are plain (numbers, text, lists of them); NaN and infinity become None.
    `progress.rows(cases, measure)` calls `measure(case)` for a row or a list of rows, shows a bar, and keeps what is
    done should the run be interrupted: use it for the outermost loop. Cases are plain too, such as (seed, name).
plot(records) : matplotlib Figure
    From the rows alone. Make it with `matplotlib.figure.Figure`, imported in the function.
CLAIMS : list of Claim
    `Claim(id, section, words, check)`: what the paper says, in its words as far as they are short, and a function of
    the rows that gives `holds`, `in_part` or `fails` (all in `experiments.experiment`) with the numbers measured,
    written from the rows, and why. Report what is measured, whether or not it flatters.
CAVEATS : tuple of str, optional
    Shown beneath the figure: stand-ins for data, labels of the very points that are clustered, errata.

Seeds come from the Config, never from the clock. Data come from `gramian.datasets`; where a set is not at hand the
experiment is left out, and said to be. Helpers for several experiments are other files here, without CLAIMS.

When a result is out of date
----------------------------
A result belongs to a key: the source that `run` and `Config` reach, in the experiment's file and in helpers that it
imports from here, and the configuration. So a better plot or a mended claim runs nothing again, a changed setting or
step does. Changes to gramian itself are not seen: the result notes version and commit, and `--force` runs it again.
"""
