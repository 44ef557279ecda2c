"""What a benchmark shows: one number against one goal. Rows of all benchmarks make one table, kept in results.json."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.timing import THREADS

RESULTS = Path(__file__).parent / "results.json"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pymanopt")


@dataclass(frozen=True)
class Row:
    """A ratio, or another number, beside the goal it is held against.

    `bound` says that the peer had not arrived when it was stopped: the ratio is at least `value`.
    """

    task: str
    beside: str
    value: float
    goal: float
    at_most: bool = False
    bound: bool = False
    detail: str = ""

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def cells(self) -> list[str]:
        """The row of a table, as text."""
        goal = f"{'<=' if self.at_most else '>='} {self.goal:g}"
        value = f"{'> ' if self.bound else ''}{self.value:.3g}"
        return [self.task, self.beside, value, goal, "yes" if self.met else "no", self.detail]


HEADINGS = ["task", "beside", "measured", "goal", "met", "detail"]


def faster(
    task: str, beside: str, ours: float, peer: float, goal: float, cap: float = float("inf"), note: str = ""
) -> Row:
    """How many times faster than a peer; where the peer did not arrive, than the time it was given."""
    bound = peer == float("inf")
    detail = f"{ours:.3g} s against {cap if bound else peer:.3g} s{note}"
    return Row(task, beside, (cap if bound else peer) / ours, goal, bound=bound, detail=detail)


def plain(rows: Iterable[Row]) -> str:
    """The table for a terminal."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def markdown(rows: Iterable[Row]) -> str:
    """The table for a page."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def commit() -> str:
    """The commit that is measured."""
    ask = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        found = subprocess.run(ask, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout
    except OSError:
        found = ""
    return found.strip() or "unknown"


def installed(package: str) -> str:
    """A package's version, if it is there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def provenance(commit: str) -> dict[str, Any]:
    """Machine, versions, threads and commit."""
    return {
        "commit": commit,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {processor()}",
        "python": platform.python_version(),
        "versions": {package: installed(package) for package in PACKAGES},
        "threads": THREADS,
    }


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def kept() -> dict[str, dict[str, Any]]:
    """The sections of results.json."""
    return json.loads(RESULTS.read_text())["sections"] if RESULTS.exists() else {}


def keep(name: str, rows: list[Row], provenance: dict[str, Any]) -> None:
    """Puts the rows of a section into results.json, beside those of others."""
    sections = kept() | {name: {**provenance, "rows": [asdict(row) | {"met": row.met} for row in rows]}}
    RESULTS.write_text(json.dumps({"sections": sections}, indent=1) + "\n")


def rows_of(names: Iterable[str]) -> list[Row]:
    """The rows that are kept of some sections, in their order."""
    sections = kept()
    rows = [row for name in names if name in sections for row in sections[name]["rows"]]
    return [Row(**{key: value for key, value in row.items() if key != "met"}) for row in rows]
