"""Runs the benchmarks: `python -m benchmarks.report [name ...]`, without names all of them.

Prints one table of numbers and goals. Stores it in benchmarks/results.json with commit, machine, versions and threads.
Writes it to docs/measured.md together with what each benchmark prints. Benchmarks that are not named keep their stored
results. The tables of README.md are written anew.
"""

from __future__ import annotations

import importlib
import io
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks import readme
from benchmarks.rows import HEADINGS, Row, load_rows, save_section
from harness.provenance import collect_provenance
from harness.store import write_text
from harness.tables import markdown_table, text_table
from harness.timing import THREADS

PAGE = Path(__file__).parent.parent / "docs" / "measured.md"
SECTIONS = {
    "regression": "Time to a good fit",
    "iteration": "One batch iteration over its two matrix products",
    "online": "One online epoch",
    "convergence": "Iterations to twelve digits",
    "growth": "Growth with each size",
    "rank": "The rank that is found",
    "low_rank": "Distances of low rank, beside NCA",
    "metric": "Distances at every rank",
    "published": "Beside a published table",
    "pairs": "Distances from pairs",
    "choice": "What the choice between plans costs",
    "rare": "A rare class",
    "uci": "Nearest neighbours on small sets",
    "large": "Distances of large sets",
    "whole": "Whole fits",
    "turns": "Beside an earlier version, in turns",
    "targets": "Distances from continuous targets",
    "threads": "Whole fits with one and two threads",
    "memory": "Memory of a fit on tall data",
    "scale": "One and two workers of a Dask cluster",
    "scale_model": "A model of workers of a Dask cluster",
    "out_of_core": "Tables larger than memory",
    "span": "Few samples of many features",
    "kernel": "Kernels from constraints",
    "mds": "Maps from distances",
    "itml": "ITML, compiled",
    "startup": "Imports and first fits",
}
INTRODUCTION = """# What was measured

Written by `make bench`; nothing here is typed in by hand. The figures of a section are of one run, with fixed threads,
at the commit and on the machine that it names. On another machine the ratios should hold, and the seconds will not.
"""
PICTURE = """
![Test error against time of PSDRegressor, the paper's algorithms, SciPy's L-BFGS and Pymanopt](regression.png)

Test error against time, from the same random start, on the first task of the table: 80000 samples of 50 features, W of
rank 10. The grey line is 1 % above the best error that any of them finds.
"""


class Tee(io.StringIO):
    """A text buffer that also prints what is written to it."""

    def write(self, text: str) -> int:
        """Write to the buffer and to standard output."""
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def run_benchmark(name: str) -> tuple[str, list[Row] | None]:
    """Return what a benchmark prints, as Markdown, and its rows; None for the rows where its data are missing."""
    module = importlib.import_module(f"benchmarks.{name}")
    printed = Tee()
    with redirect_stdout(printed):
        rows = module.main()
    return f"```text\n{printed.getvalue().strip()}\n```", rows


def read_page_sections() -> dict[str, str]:
    """Return the sections of the page as they are now, by name."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {
        name: found.group(1).strip()
        for name, title in SECTIONS.items()
        if (found := re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    }


def format_page(sections: dict[str, str]) -> str:
    """Return the page: the table of goals from the stored rows, then the sections."""
    parts = [f"## {title}\n\n{sections[name]}\n" for name, title in SECTIONS.items() if name in sections]
    table = f"## Against the goals\n\n{markdown_table(HEADINGS, stored_cells())}\n{PICTURE}"
    return "\n".join([INTRODUCTION, table, *parts])


def stored_cells() -> list[list[str]]:
    """Return the cells of all stored rows, in the order of SECTIONS."""
    return [row.cells() for row in load_rows(SECTIONS)]


def main(names: list[str]) -> None:
    """Run the named benchmarks, or all, and write results and page after each."""
    provenance = collect_provenance(THREADS)
    for name in names or SECTIONS:
        text, rows = run_benchmark(name)
        if rows is None:
            # The data are missing: the stored results stay.
            continue
        save_section(name, rows, provenance)
        write_text(PAGE, format_page(read_page_sections() | {name: f"{provenance}.\n\n{text}"}))
    readme.main()
    print("\n" + text_table(HEADINGS, stored_cells()))


if __name__ == "__main__":
    main(sys.argv[1:])
