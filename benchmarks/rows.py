"""Rows of the benchmarks' table, each one number and its goal, stored in results.json."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.provenance import Provenance
from harness.store import read_json, write_json

__all__ = ["HEADINGS", "Row", "load_rows", "load_sections", "save_section", "speedup_row"]

RESULTS = Path(__file__).parent / "results.json"


@dataclass(frozen=True)
class Row:
    """A measured number, usually a ratio to a peer, and its goal.

    Attributes
    ----------
    task : str
    beside : str
        The peer, or the unit of the number.
    value : float
    goal : float
        A lower bound for the value; an upper bound where `at_most` is true.
    at_most : bool
    bound : bool
        True where the peer was stopped before it reached the target: the true ratio is larger than `value`.
    detail : str
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
        """Whether the value meets the goal."""
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def cells(self) -> list[str]:
        """Return the cells of the row in the table, as text."""
        goal = f"{'<=' if self.at_most else '>='} {self.goal:g}"
        value = f"{'> ' if self.bound else ''}{self.value:.3g}"
        return [self.task, self.beside, value, goal, "yes" if self.met else "no", self.detail]


HEADINGS = ["task", "beside", "measured", "goal", "met", "detail"]


def speedup_row(
    task: str, beside: str, ours: float, peer: float, goal: float, cap: float = float("inf"), note: str = ""
) -> Row:
    """Return the row of a speedup, the peer's seconds over ours.

    A peer that never reached the target has infinite seconds; `cap`, the time it was given, then takes their place.
    """
    bound = peer == float("inf")
    detail = f"{ours:.3g} s against {cap if bound else peer:.3g} s{note}"
    return Row(task, beside, (cap if bound else peer) / ours, goal, bound=bound, detail=detail)


def load_sections() -> dict[str, dict[str, Any]]:
    """Return the sections of results.json by name: the provenance and the rows of each benchmark."""
    return read_json(RESULTS, "Restore it with git.")["sections"] if RESULTS.exists() else {}


def save_section(name: str, rows: list[Row], provenance: Provenance) -> None:
    """Store a benchmark's rows in results.json; other sections stay as they are."""
    section = {**asdict(provenance), "rows": [asdict(row) | {"met": row.met} for row in rows]}
    write_json(RESULTS, {"sections": load_sections() | {name: section}})


def load_rows(names: Iterable[str]) -> list[Row]:
    """Return the stored rows of some sections, in the order of the names."""
    sections = load_sections()
    rows = [row for name in names if name in sections for row in sections[name]["rows"]]
    return [Row(**{key: value for key, value in row.items() if key != "met"}) for row in rows]
