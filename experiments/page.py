"""The page of claims, its figures and claims.json, all from records."""

from __future__ import annotations

import json
import os
import textwrap
from typing import Any

from experiments.experiment import STATUSES, Claim, Experiment
from experiments.runner import Place, Result, current

__all__ = ["judged", "page", "publish"]

NOT_RUN, NOT_JUDGED = "not run", "could not be judged"
INTRODUCTION = """# The paper, reproduced

G. Meyer, S. Bonnabel, R. Sepulchre, "Regression on Fixed-Rank Positive Semidefinite Matrices: a Riemannian Approach",
Journal of Machine Learning Research 12 (2011): each of its claims that can be measured, beside what was measured.
Written by `python -m experiments`: verdicts and numbers are computed from stored records, reasons are ours.
"""
QUICK = "**Quick settings**: this page shows that the experiments run. Its numbers mean nothing.\n"
LABELS = f"""## What the labels mean

- **{STATUSES[0]}**: every comparison that the claim makes comes out as it says. **{STATUSES[1]}**: some do, and the
  reason says which. **{STATUSES[2]}**: it comes out otherwise. **{NOT_RUN}**: there is no result for the experiment as
  it is now.
- Verdicts and numbers are computed from the stored records (`records/`); no claim is left out for failing.
- Formulas are the paper's with its errata mended (docs/architecture.md lists them). Settings that the paper does not
  give were chosen here, and stand in each experiment's file.
- Two data sets could not be had: `gyrb` is a planted kernel in place of GyrB, `arcene` and `gordon_lung` stand in for
  the Prostate spectra. What is measured on them is not what the paper measured.
- Seconds are of one machine and one thread. The paper's are of Matlab in 2011: only ratios can be compared.
"""

Results = dict[str, Result | None]


def publish(experiments: list[Experiment], place: Place) -> None:
    """Figures, claims.json and README.md of a place, from the results that are current."""
    results = {experiment.name: current(experiment, place) for experiment in experiments}
    place.folder.mkdir(parents=True, exist_ok=True)
    for experiment in experiments:
        result = results[experiment.name]
        if result is not None:
            draw(experiment, result, place)
    claims = json.dumps(judged(experiments, results), indent=1, ensure_ascii=False)
    (place.folder / "claims.json").write_text(claims + "\n")
    (place.folder / "README.md").write_text(page(experiments, results, place))


def draw(experiment: Experiment, result: Result, place: Place) -> None:
    """The figure, as PNG without a date, so that it changes only with the records."""
    figure = experiment.plot(result.records)
    figure.savefig(place.folder / f"{experiment.name}.png", dpi=90, metadata={"Software": None})


def judged(experiments: list[Experiment], results: Results) -> list[dict[str, Any]]:
    """One row a claim: what the paper says, what was measured, and whether it holds."""
    rows = []
    for experiment in experiments:
        result = results[experiment.name]
        for claim in experiment.claims:
            row = {"id": claim.id, "section": claim.section, "words": claim.words, "experiment": experiment.name}
            rows.append(
                row | ({"status": NOT_RUN, "measured": "", "why": ""} if result is None else verdict(claim, result))
            )
    return rows


def verdict(claim: Claim, result: Result) -> dict[str, Any]:
    """What a claim's check says; that it could not be judged, where it raises."""
    try:
        return vars(claim.check(result.records))
    except Exception as error:
        return {"status": NOT_JUDGED, "measured": "", "why": f"{type(error).__name__}: {error}"}


def page(experiments: list[Experiment], results: Results, place: Place) -> str:
    """The text of README.md."""
    rows = judged(experiments, results)
    counts = {status: sum(row["status"] == status for row in rows) for status in (*STATUSES, NOT_RUN, NOT_JUDGED)}
    summary = ", ".join(f"{status}: {count}" for status, count in counts.items() if count or status in STATUSES)
    counted = f"{len(rows)} claims. {summary.capitalize()}.\n"
    parts = [INTRODUCTION, *([QUICK] if place.quick else []), counted, table(rows)]
    parts += [section(experiment, results[experiment.name], place) for experiment in experiments]
    return "\n".join([*parts, LABELS])


def table(rows: list[dict[str, Any]]) -> str:
    """The claims, a row each."""
    lines = ["| § | the paper | measured | verdict | why |", "|---|---|---|---|---|"]
    for row in rows:
        link = f"[{row['status']}](#{row['experiment']})"
        cells = [row["section"], row["words"], row["measured"], f"**{link}**", row["why"]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def section(experiment: Experiment, result: Result | None, place: Place) -> str:
    """An experiment: its text, its figure, its caveats, and what it was measured with."""
    source = os.path.relpath(experiment.path, place.folder)
    parts = [f'<a id="{experiment.name}"></a>\n\n## {experiment.title}\n', experiment.text and f"{experiment.text}\n"]
    if result is not None:
        parts.append(f"![{experiment.title}]({experiment.name}.png)\n")
    parts += [f"*{caveat}*\n" for caveat in experiment.caveats]
    link = f"[{source.split(os.sep)[-1]}]({source.replace(os.sep, '/')})"
    if result is None:
        parts.append(f"{link}: {NOT_RUN}; there is no result for it as it is now.\n")
    else:
        settings = ", ".join(f"{name}={value}" for name, value in result.config.items())
        measured = f"{link} with {settings}: {result.seconds} s, gramian {result.gramian}; {result.machine}."
        parts.append("\n".join(textwrap.wrap(measured, 120, break_long_words=False, break_on_hyphens=False)) + "\n")
    return "\n".join(part for part in parts if part)
