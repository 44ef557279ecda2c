"""The page docs/trust.md: what is promised, how it is tested, with how many cases, and when.

    python -m harness.trust            writes the page from what is stored in docs/trust/
    python -m harness.trust --count    counts the tests first

Stored are `counts.json`, the cases that pytest collects, and `soak.json`, the last soak of random cases. A number on
the page is read from one of them, never typed.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.promises import PROMISES, Promise
from harness.provenance import current_commit
from harness.store import read_json, write_json, write_text
from harness.tables import markdown_table

__all__ = ["PAGE", "STORED", "count_tests", "named_tests", "read_stored", "render_page"]

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "trust"
PAGE = ROOT / "docs" / "trust.md"
ADVICE = "Restore it, or make it again: python -m harness.trust --help."
# How the cases of a soak end.
ENDS = ("cases", "refused", "faults")

INTRODUCTION = """\
# What can be trusted

<!-- Written by `python -m harness.trust` from harness/promises.py and docs/trust/. Do not edit. -->

This page is for those who will rely on Gramian. It says what holds of every fit: results do not depend on units or on
the number of threads, bad input is refused in clear words, a call that fails leaves the estimator as it was, files
cannot run code. Beside each promise stands how it is tested, so that you can judge how much it is worth. At the end
stands what random cases found.

Each promise is checked by tests that `make test` runs. Warnings are errors in all of them, and they run under
`python -X dev`. `make test-kernels` runs the tests of the compiled kernels as plain Python and with checks of every
index; `make test-lowest` runs all tests with the lowest versions that `pyproject.toml` names. A *case* is a test that
pytest collects; many of them loop over further data.
"""

SOAK = """\
## Random cases

`make soak` draws cases at random until its time is over. Mutated files of data sets are loaded in processes of limited
memory; low-level calls run with numba's checks of every index. A seed and a number repeat a case. *Refused* is an error
in clear words; a *fault* is a wrong result, any other error, or the end of the process.
"""


def named_tests(promises: Iterable[Promise]) -> list[str]:
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


def stamp() -> dict[str, str]:
    """Return today's date and the commit of the checkout."""
    return {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "commit": current_commit()}


def read_stored(folder: Path = STORED) -> dict[str, Any]:
    """Return what is stored, by the stem of each file."""
    return {file.stem: read_json(file, ADVICE) for file in sorted(folder.glob("*.json"))}


def render_page(promises: Iterable[Promise], stored: dict[str, Any]) -> str:
    """Return the page as Markdown; a section without stored results is left out."""
    sections = [INTRODUCTION, render_promises(list(promises), stored["counts"])]
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


def render_soak(soak: dict[str, Any]) -> str:
    """Return the section on random cases, with their sum in the last row."""
    rows = [[row["property"], *(f"{row[name]:,}" for name in ENDS)] for row in soak["rows"]]
    total = ["all", *(f"{sum(row[name] for row in soak['rows']):,}" for name in ENDS)]
    when = f"{soak['minutes']:g} minutes with seed {soak['seed']}, on {soak['date']} at commit {soak['commit']}."
    return "\n".join([SOAK, when, "", markdown_table(["property", *ENDS], [*rows, total]), ""])


def main() -> None:
    """Run as told by the command line, and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/trust.md.")
    parser.add_argument("--count", action="store_true", help="count the tests that pytest collects")
    settings = parser.parse_args()
    if settings.count:
        write_json(STORED / "counts.json", stamp() | {"cases": count_tests(named_tests(PROMISES))})
    write_text(PAGE, render_page(PROMISES, read_stored()))


if __name__ == "__main__":
    main()
