"""Runs the benchmarks: `python -m benchmarks.report [name ...]`, all of them without names.

Prints one table of what was measured against each goal, and keeps it in benchmarks/results.json with machine, commit,
versions and threads; what the benchmarks print besides goes to docs/measured.md. Sections that are not named keep what
they had.
"""

from __future__ import annotations

import importlib
import io
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks.rows import Row, commit, keep, kept, markdown, plain, provenance, rows_of

# Asked before anything is measured: what is loaded now is what runs.
COMMIT = commit()
PAGE = Path(__file__).parent.parent / "docs" / "measured.md"
SECTIONS = {
    "regression": "Time to a good fit",
    "iteration": "One batch iteration over its two matrix products",
    "online": "One online epoch",
    "convergence": "Iterations to twelve digits",
    "growth": "Growth with each size",
    "isolet": "A distance of low rank",
    "uci": "Nearest neighbours on small sets",
    "large": "Distances of large sets",
    "span": "Few samples of many features",
    "kernel": "Kernels from constraints",
    "mds": "Maps from distances",
    "itml": "ITML, compiled",
    "startup": "Imports and first fits",
}
INTRODUCTION = """# What was measured

Written by `make bench`; nothing here is typed in by hand. Times are ratios or seconds of one run with fixed threads;
on another machine the ratios should hold and the seconds will not.
"""
PICTURE = """
![Test error against time of PSDRegressor, the paper's algorithms, SciPy's L-BFGS and Pymanopt](regression.png)

Test error against time, from the same random start, on the first task of the table: 80000 samples of 50 features, W of
rank 10. The grey line is 1 % above the best error that any of them finds.
"""


class Tee(io.StringIO):
    """Keeps what is printed, and shows it too."""

    def write(self, text: str) -> int:
        """Both."""
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def described(section: dict) -> str:
    """Machine, versions and commit, in a line."""
    versions = ", ".join(f"{package} {number}" for package, number in section["versions"].items())
    return f"Commit {section['commit']}; {section['machine']}; Python {section['python']}; {versions}."


def measured(name: str) -> tuple[str, list[Row] | None]:
    """A section's text, what the benchmark prints, and its rows; None for these where its data is not at hand."""
    module = importlib.import_module(f"benchmarks.{name}")
    printed = Tee()
    with redirect_stdout(printed):
        rows = module.main()
    return f"```text\n{printed.getvalue().strip()}\n```", rows


def sections() -> dict[str, str]:
    """The sections as they stand on the page, by name."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {
        name: found.group(1).strip()
        for name, title in SECTIONS.items()
        if (found := re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    }


def main(names: list[str]) -> None:
    """Measure the sections that are named, or all, and write table and page after each."""
    for name in names or SECTIONS:
        texts = sections()
        text, rows = measured(name)
        if rows is None:
            # What was measured before is worth more than that nothing was.
            continue
        keep(name, rows, provenance(COMMIT))
        texts[name] = f"{described(kept()[name])}\n\n{text}"
        parts = [f"## {SECTIONS[key]}\n\n{texts[key]}\n" for key in SECTIONS if key in texts]
        table = f"## Against the goals\n\n{markdown(rows_of(SECTIONS))}\n{PICTURE}"
        PAGE.write_text("\n".join([INTRODUCTION, table, *parts]))
    print("\n" + plain(rows_of(SECTIONS)))


if __name__ == "__main__":
    main(sys.argv[1:])
