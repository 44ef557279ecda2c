"""The page docs/trust.md: what is promised, how it is tested, with how many cases, and when.

    python -m harness.trust            writes the page from what is stored in docs/trust/
    python -m harness.trust --count    counts the tests first
    python -m harness.trust --soak 15  loads mutated files and makes mistakes in low-level calls first, 15 minutes each

Stored are `counts.json` (cases that pytest collects), `runs.json` (runs of mutations and of mistakes in calls) and
`soak.json` (generated input for every estimator). A number on the page is read from one of them, never typed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness import mutations
from harness.promises import PROMISES, Promise
from harness.provenance import current_commit
from harness.store import read_json, write_json, write_text
from harness.tables import markdown_table

__all__ = ["PAGE", "STORED", "count_tests", "read_stored", "render_page", "tests_of"]

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "trust"
PAGE = ROOT / "docs" / "trust.md"
ADVICE = "Restore it, or make it again: python -m harness.trust --help."
CALLS_A_ROUND = 1000

INTRODUCTION = """\
# What can be trusted

<!-- Written by `python -m harness.trust` from harness/promises.py and docs/trust/. Do not edit. -->

Each promise below is checked by tests that `make test` runs. Warnings are errors in all of them, and they run under
`python -X dev`. `make test-kernels` runs the tests of the compiled kernels as plain Python and with checks of every
index; `make test-lowest` runs all tests with the lowest versions that `pyproject.toml` names. A *case* is a test that
pytest collects; many of them loop over further data.
"""


def tests_of(promises: Iterable[Promise]) -> list[str]:
    """Return the tests that promises name, each once, in their order."""
    return list(dict.fromkeys(test for promise in promises for test in promise.tests))


def count_tests(tests: Iterable[str]) -> dict[str, int]:
    """Return how many cases pytest collects for each file or `file::function`."""
    tests = list(tests)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *files]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    # A case is one line, file::function[parameters].
    cases = [line.partition("[")[0] for line in output.splitlines() if "::" in line]
    counts = Counter(cases) + Counter(case.partition("::")[0] for case in cases)
    return {test: counts[test] for test in tests}


def run_mutations(seed: int, seconds: float) -> dict[str, Any]:
    """Return a row with how loads of mutated files ended, of as many as the time allows."""
    counts = mutations.soak(sys.maxsize, seed, seconds)
    sys.stderr.writelines(f"{end}\n" for end in counts if end.startswith("fault"))
    ends = {"refused": counts["refused"], "right": counts["loaded"]}
    return {"run": "mutated files of data sets", "cases": counts.total()} | ends


def run_calls(seed: int, seconds: float) -> dict[str, Any]:
    """Return a row with how low-level calls with mistakes ended, under checks of every index."""
    script = ROOT / "tests" / "test_lowlevel_shapes.py"
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / "build" / "bounds")}
    begin, first, counts = time.monotonic(), seed, Counter()
    while time.monotonic() - begin < seconds:
        command = [sys.executable, str(script), str(CALLS_A_ROUND), str(first)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        counts["cases"] += CALLS_A_ROUND
        # A process that ended early has no counts: what it did not count is a fault.
        for end, count in json.loads(done.stdout.splitlines()[-1] if done.stdout else "{}").items():
            counts[end.split()[-1]] += count
        sys.stderr.write(done.stderr[-2000:])
        first += CALLS_A_ROUND
    ends = {"refused": counts["refused"], "right": counts["right"]}
    return {"run": "low-level calls with mistakes, indices checked", "cases": counts["cases"]} | ends


def complete_row(row: dict[str, Any], seed: int, seconds: float) -> dict[str, Any]:
    """Return a row of a run that took so many seconds, with its faults and seed."""
    faults = row["cases"] - row["refused"] - row["right"]
    return row | {"faults": faults, "seed": seed, "minutes": round(seconds / 60, 1)}


def run_all(seed: int, seconds: float) -> list[dict[str, Any]]:
    """Return a row for each run, of so many seconds each."""
    # The commit that is checked out now is the one that runs.
    rows, begun = [], stamp()
    for run in (run_mutations, run_calls):
        begin = time.monotonic()
        row = run(seed, seconds)
        rows.append(complete_row(row, seed, time.monotonic() - begin) | begun)
    return rows


def stamp() -> dict[str, str]:
    """Return today's date and the commit of the checkout."""
    return {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "commit": current_commit()}


def read_stored(folder: Path = STORED) -> dict[str, Any]:
    """Return what is stored, by the stem of each file."""
    return {file.stem: read_json(file, ADVICE) for file in sorted(folder.glob("*.json"))}


def render_page(promises: Iterable[Promise], stored: dict[str, Any]) -> str:
    """Return the page as Markdown; a section without stored results is left out."""
    sections = [INTRODUCTION, render_promises(list(promises), stored["counts"])]
    if runs := stored.get("runs"):
        sections.append(render_runs(runs))
    if soak := stored.get("soak"):
        sections.append(render_soak(soak))
    return "\n".join(sections)


def render_promises(promises: list[Promise], counts: dict[str, Any]) -> str:
    """Return the table of promises, with the cases of each, and below it the tests by promise."""
    cases = counts["cases"]
    rows = [
        [str(number), promise.text, promise.method, f"{sum(cases[test] for test in promise.tests):,}"]
        for number, promise in enumerate(promises, 1)
    ]
    lines = ["## Promises", "", markdown_table(["", "what is promised", "how it is tested", "cases"], rows), ""]
    lines += [f"Counted on {counts['date']} at commit {counts['commit']}. The tests of each promise:", ""]
    for number, promise in enumerate(promises, 1):
        lines.append(f"{number}. " + ", ".join(f"`{test}` ({cases[test]:,})" for test in promise.tests))
    return "\n".join(lines) + "\n"


def render_runs(runs: list[dict[str, Any]]) -> str:
    """Return the section on mutated files and mistakes in calls."""
    headings = ["run", "cases", "refused", "right", "faults", "seed", "minutes", "date", "commit"]
    return (
        "## Damaged files and wrong calls\n\n"
        "Random cases, each of which a seed and a number repeat. *Refused* is a clear error, *right* a "
        "result that was\nchecked; everything else is a fault. `make soak` repeats the runs.\n\n"
        + markdown_table(headings, [[show(row[name]) for name in headings] for row in runs])
        + "\n"
    )


def render_soak(soak: dict[str, Any]) -> str:
    """Return the section on generated input for every estimator."""
    names = ["cases", "refusals", "faults"]
    rows = [[row["property"], *(show(row[name]) for name in names)] for row in soak["properties"]]
    total = ["all", *(show(sum(row[name] for row in soak["properties"])) for name in names)]
    return (
        "## Generated input for every estimator\n\nEach property holds for input that is drawn at random, legal and "
        f"broken. {show(soak['minutes'])} minutes with seed {soak['seed']},\non {soak['date']} at commit "
        f"{soak['commit']}.\n\n" + markdown_table(["property", *names], [*rows, total]) + "\n"
    )


def show(value: Any) -> str:
    """Return a number with separators of thousands, or a text as it is."""
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def main() -> None:
    """Run as told by the command line, and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/trust.md.")
    parser.add_argument("--count", action="store_true", help="count the tests that pytest collects")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="run mutations and wrong calls, so long each")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    if settings.count:
        write_json(STORED / "counts.json", stamp() | {"cases": count_tests(tests_of(PROMISES))})
    if settings.soak:
        write_json(STORED / "runs.json", run_all(settings.seed, 60 * settings.soak))
    stored = read_stored()
    write_text(PAGE, render_page(PROMISES, stored))
    if any(row["faults"] for row in stored.get("runs", [])):
        sys.exit("There are faults: see docs/trust/runs.json.")


if __name__ == "__main__":
    main()
