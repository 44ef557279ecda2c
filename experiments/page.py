"""Writes the page of claims, its figures and claims.json, all from stored records."""

from __future__ import annotations

import html
import json
import os
import re
import textwrap
from typing import Any

from experiments.experiment import STATUSES, Claim, Experiment
from experiments.runner import Result, ResultsFolder, load_result
from harness.store import write_text
from harness.tables import markdown_table

__all__ = ["format_claim", "format_page", "judge_claim", "judge_claims", "write_page"]

NOT_RUN, NOT_JUDGED = "not run", "could not be judged"
INTRODUCTION = """# The paper, reproduced

G. Meyer, S. Bonnabel, R. Sepulchre, "Regression on Fixed-Rank Positive Semidefinite Matrices: a Riemannian Approach",
Journal of Machine Learning Research 12 (2011): each of its claims that can be measured, beside what was measured.
Written by `python -m experiments`: verdicts and numbers are computed from stored records, reasons are ours.

A verdict leads to its experiment. There each claim can be unfolded: what was measured, and why it came out so.
"""
QUICK = "**Quick settings**: this page shows that the experiments run. Its numbers mean nothing.\n"
LABELS = f"""## What the labels mean

- **{STATUSES[0]}**: every comparison that the claim makes comes out as it says. **{STATUSES[1]}**: some do, and the
  reason says which. **{STATUSES[2]}**: it comes out otherwise. **{NOT_RUN}**: there is no result for the experiment as
  it is now.
- Verdicts and numbers are computed from the stored records (`records/`); no claim is left out for failing.
- Formulas are the paper's with its errata mended (docs/mathematics.md lists them). Settings that the paper does not
  give were chosen here, and stand in each experiment's file.
- Two data sets could not be had: `gyrb` is a planted kernel in place of GyrB, `arcene` and `gordon_lung` stand in for
  the Prostate spectra. What is measured on them is not what the paper measured.
- Seconds are of one machine and one thread. The paper's are of Matlab in 2011: only ratios can be compared.
"""

Results = dict[str, Result | None]


def write_page(experiments: list[Experiment], folder: ResultsFolder) -> None:
    """Write figures, claims.json and README.md from the results that are current."""
    results = {experiment.name: load_result(experiment, folder) for experiment in experiments}
    folder.folder.mkdir(parents=True, exist_ok=True)
    for experiment in experiments:
        result = results[experiment.name]
        if result is not None:
            save_figure(experiment, result, folder)
    claims = json.dumps(judge_claims(experiments, results), indent=1, ensure_ascii=False)
    write_text(folder.folder / "claims.json", claims + "\n")
    write_text(folder.folder / "README.md", format_page(experiments, results, folder))


def save_figure(experiment: Experiment, result: Result, folder: ResultsFolder) -> None:
    """Save an experiment's figure as PNG without a date, so that the file changes only with the records."""
    figure = experiment.plot(result.records)
    figure.savefig(folder.folder / f"{experiment.name}.png", dpi=90, metadata={"Software": None})


def judge_claims(experiments: list[Experiment], results: Results) -> list[dict[str, Any]]:
    """Return one row per claim: what the paper says, what was measured, and whether the claim holds."""
    rows = []
    for experiment in experiments:
        result = results[experiment.name]
        for claim in experiment.claims:
            row = {"id": claim.id, "section": claim.section, "words": claim.words, "experiment": experiment.name}
            unknown = {"status": NOT_RUN, "measured": "", "why": ""}
            rows.append(row | (unknown if result is None else judge_claim(claim, result)))
    return rows


def judge_claim(claim: Claim, result: Result) -> dict[str, Any]:
    """Return the verdict of a claim's check; where the check raises, that the claim could not be judged."""
    try:
        return vars(claim.check(result.records))
    except Exception as error:
        return {"status": NOT_JUDGED, "measured": "", "why": f"{type(error).__name__}: {error}"}


def format_page(experiments: list[Experiment], results: Results, folder: ResultsFolder) -> str:
    """Return the text of README.md."""
    rows = judge_claims(experiments, results)
    counts = {status: sum(row["status"] == status for row in rows) for status in (*STATUSES, NOT_RUN, NOT_JUDGED)}
    summary = ", ".join(f"{status}: {count}" for status, count in counts.items() if count or status in STATUSES)
    total = f"{len(rows)} claims. {summary.capitalize()}.\n"
    parts = [INTRODUCTION, *([QUICK] if folder.quick else []), total, claims_table(rows)]
    for experiment in experiments:
        parts.append(format_section(experiment, results[experiment.name], folder))
        parts += [format_claim(row) for row in rows if row["experiment"] == experiment.name]
    return "\n".join([*parts, LABELS])


def claims_table(rows: list[dict[str, Any]]) -> str:
    """Return the Markdown table of the claims: short cells, whose verdicts lead to the section with the numbers."""
    cells = [[row["section"], row["words"], f"**[{row['status']}](#{row['experiment']})**"] for row in rows]
    return markdown_table(["§", "the paper", "verdict"], cells) + "\n"


def format_claim(row: dict[str, Any]) -> str:
    """Return what was measured for a claim, and why it came out so, folded below the claim's words."""
    summary = f"<summary>§ {row['section']}: {html.escape(row['words'])} <b>{row['status']}</b></summary>"
    measured = [f"- {part}" for part in split_measured(row["measured"])]
    parts = [f"<details>\n{summary}", "\n".join(measured), row["why"] and f"Why: {row['why']}", "</details>\n"]
    return "\n\n".join(part for part in parts if part)


def split_measured(text: str) -> list[str]:
    """Return what was measured, one comparison each: parts between semicolons, and sentences of data sets."""
    parts = re.split(r";\s+|(?<=\d)\. (?=\w)", text)
    return [part for part in parts if part]


def format_section(experiment: Experiment, result: Result | None, folder: ResultsFolder) -> str:
    """Return the section of an experiment: its text, figure and caveats, settings and provenance."""
    source = os.path.relpath(experiment.path, folder.folder)
    parts = [f'<a id="{experiment.name}"></a>\n\n## {experiment.title}\n', experiment.text and f"{experiment.text}\n"]
    if result is not None:
        parts.append(f"![{experiment.title}]({experiment.name}.png)\n")
    parts += [f"*{caveat}*\n" for caveat in experiment.caveats]
    link = f"[{source.split(os.sep)[-1]}]({source.replace(os.sep, '/')})"
    if result is None:
        parts.append(f"{link}: {NOT_RUN}; there is no result for it as it is now.\n")
    else:
        settings = ", ".join(f"{name}={value}" for name, value in result.config.items())
        text = f"{link} with {settings}: {result.seconds} s. {result.provenance}."
        parts.append("\n".join(textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)) + "\n")
    return "\n".join(part for part in parts if part)
