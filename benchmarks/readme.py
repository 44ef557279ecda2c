"""Writes the tables of README.md from what is stored: `python -m benchmarks.readme`. `make bench` does so too.

A table stands between the comments `<!-- name: ... -->` and `<!-- end of name -->`. Its figures come from
benchmarks/results.json; a test compares the page with them.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from benchmarks.rows import Row, load_rows, load_sections
from harness.store import write_text
from harness.tables import markdown_table

__all__ = ["PAGE", "TABLES", "accuracy_table", "fill_tables", "goals_line", "speed_table"]

PAGE = Path(__file__).parent.parent / "README.md"
METHODS = ("Euclid", "PCA", "LDA", "NCA", "ours")
HEADINGS = ("all features, Euclid", "PCA", "LDA", "NCA", "**Gramian**")
#: The tasks of the table of speed: what is done, the stored task and peer, and their names for a reader. Our seconds
#: are those of whole calls.
RACES = (
    (
        "whole call of PSDRegressor, to 1 % of the best test error",
        "Pymanopt CG",
        "matrix from 80,000 measurements, with noise",
    ),
    ("whole call of PSDRegressor, to 1 % of the best test error", "SciPy L-BFGS", "the same"),
    ("distance, isolet, rank 5, standard split", "scikit-learn NCA", "distance of rank 5, spoken letters"),
    ("distance, isolet, rank 20, standard split", "scikit-learn NCA", "distance of rank 20, spoken letters"),
    ("USPS kernel, r=25, 100k constraints", "compiled LogDet-KL", "kernel of rank 25, 100,000 constraints"),
    ("MDS, n=2000, exact rank-5 distances", "MDS (SMACOF), init=random", "map of 2000 points from all distances"),
    ("MDS, n=2000, exact rank-5 distances", "MDS (SMACOF), init=classical_mds", "the same"),
)
PEERS = {
    "Pymanopt CG": "Pymanopt, conjugate gradients",
    "SciPy L-BFGS": "SciPy, L-BFGS",
    "scikit-learn NCA": "scikit-learn, NCA",
    "compiled LogDet-KL": "LogDet-KL, compiled",
    "MDS (SMACOF), init=random": "scikit-learn, MDS",
    "MDS (SMACOF), init=classical_mds": "scikit-learn, MDS from classical scaling",
}


def find_row(rows: list[Row], task: str, beside: str | None = None) -> Row:
    """Return the stored row of a task and a peer."""
    for row in rows:
        if row.task == task and beside in (None, row.beside):
            return row
    raise ValueError(f"results.json has no row {task!r} beside {beside!r}. Run `make bench`, or change RACES.")


def accuracy_table() -> str:
    """Return the mean errors of nearest neighbours at each rank, and where a rival is better."""
    rows = load_rows(["metric"])
    lines = []
    for row in rows:
        found = re.fullmatch(r"5-NN errors on (\d+) sets, (.*rank.*)", row.task)
        if found is None or ":" in row.task:
            continue
        errors = dict(part.rsplit(" ", 1) for part in row.detail.split(", "))
        behind = find_row(rows, f"{row.task}: sets behind")
        names = re.findall(r"(\w+) ([\d.]+)", behind.detail.partition("points: ")[2])
        worst = describe_behind(names)
        cells = [errors.get(name, "") for name in METHODS[:-1]]
        lines.append([found[2].removeprefix("rank "), found[1], *cells, f"**{errors['ours']}**", worst])
    return markdown_table(["rank", "sets", *HEADINGS, "behind a rival by more than 1 point and 5 %"], lines)


def describe_behind(names: list[tuple[str, str]]) -> str:
    """Return on how many sets a rival is better, and by how many points on the worst, the first one."""
    if not names:
        return "none"
    name, points = names[0][0].replace("_", " "), names[0][1]
    return f"{name}, by {points}" if len(names) == 1 else f"{len(names)} sets; most on {name}, {points}"


def seconds_of(row: Row) -> tuple[str, str]:
    """Return our seconds and the peer's, as they are stored in the detail of a row."""
    found = re.search(r"([\d.]+) s against (?:.* in )?([\d.]+) s", row.detail)
    if found is None:
        raise ValueError(f"results.json has the detail {row.detail!r}, which is not '... s against ... s'.")
    return found[1], found[2]


def speed_table() -> str:
    """Return our seconds beside those of other libraries, and how often ours go into theirs."""
    rows = load_rows(load_sections())
    lines = []
    for task, beside, title in RACES:
        row = find_row(rows, task, beside)
        ours, theirs = seconds_of(row)
        lines.append([title, PEERS[beside], f"{ours} s", f"{theirs} s", f"{row.value:.0f}"])
    return markdown_table(["task", "beside", "Gramian", "the other", "times faster"], lines)


def goals_line() -> str:
    """Return where all goals of speed and accuracy are listed, and how many are not met."""
    rows = load_rows(load_sections())
    missed = sum(not row.met for row in rows)
    return f"[What was measured](docs/measured.md) lists all {len(rows)} goals, with the {missed} that are not met."


TABLES = {"accuracy": accuracy_table, "speed": speed_table, "goals": goals_line}


def fill_tables(page: str) -> str:
    """Return the page with every table between its comments written anew."""
    for name, write in TABLES.items():
        begin, end = rf"<!-- {name}: [^>]*-->\n", f"<!-- end of {name} -->"
        count = len(re.findall(begin, page))
        if count != 1:
            raise ValueError(f"README.md has {count} places for the table {name!r}; there must be one.")
        page = re.sub(rf"({begin}).*?({end})", partial(put_between, text=write()), page, flags=re.S)
    return page


def put_between(found: re.Match[str], text: str) -> str:
    """Return the two comments that were found, with a text between them."""
    return f"{found[1]}\n{text}\n\n{found[2]}"


def main() -> None:
    """Write the tables anew."""
    write_text(PAGE, fill_tables(PAGE.read_text()))


if __name__ == "__main__":
    main()
