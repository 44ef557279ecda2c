"""A bar for long work, which also keeps what is done of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

import numpy as np

__all__ = ["Progress", "plain"]

WIDTH = 24


class Progress:
    """Shows how far an experiment is, and remembers its rows case by case.

    Parameters
    ----------
    title : str
    kept : Path, optional
        The file, one line a case, that rows are kept in until the run is finished; without it nothing is kept.
    file : file object, optional
        Standard error by default. On a terminal the bar is drawn over itself, elsewhere a line comes every tenth.
    """

    def __init__(self, title: str, kept: Path | None = None, file: TextIO | None = None) -> None:
        self.title, self.kept, self.calls = title, kept, 0
        #: Seconds that cases took before an interruption.
        self.before = 0.0
        self.file = sys.stderr if file is None else file

    def rows(self, cases: Iterable[Any], measure: Callable[[Any], Any]) -> list[dict[str, Any]]:
        """The rows of every case in turn; cases that were measured before an interruption are not measured again.

        Parameters
        ----------
        cases : iterable of plain values, each different
        measure : callable
            Case to a row (dict), or a list of them.
        """
        cases = list(cases)
        self.calls += 1
        done = self.remembered()
        clock, new, rows = perf_counter(), 0, []
        for number, case in enumerate(cases):
            name = json.dumps([self.calls, plain(case)])
            if name in done:
                self.before += done[name][1]
            else:
                begin = perf_counter()
                measured = measure(case)
                found = plain([measured] if isinstance(measured, dict) else list(measured))
                done[name] = (found, perf_counter() - begin)
                self.remember(name, *done[name])
                new += 1
            rows += done[name][0]
            left = (perf_counter() - clock) / max(new, 1) * (len(cases) - number - 1)
            self.show(number + 1, len(cases), left, case)
        return rows

    def remembered(self) -> dict[str, tuple[list[dict[str, Any]], float]]:
        """Rows and seconds by case, as kept; a last line that was cut off is passed over."""
        done: dict[str, tuple[list[dict[str, Any]], float]] = {}
        for line in self.kept.read_text().splitlines() if self.kept is not None and self.kept.exists() else []:
            try:
                name, rows, seconds = json.loads(line)
            except ValueError:
                continue
            done[name] = (rows, seconds)
        return done

    def remember(self, name: str, rows: list[dict[str, Any]], seconds: float) -> None:
        """Add a case to the file."""
        if self.kept is not None:
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            with self.kept.open("a") as file:
                # A line that was cut off before must not swallow this one.
                file.write(f"\n{json.dumps([name, rows, seconds])}\n")

    def show(self, done: int, total: int, left: float, case: Any) -> None:
        """Draw the bar, or write a line where it is time."""
        bar = "#" * (WIDTH * done // total)
        label = ", ".join(str(part) for part in case) if isinstance(case, tuple | list) else str(case)
        text = f"{self.title}  [{bar:-<{WIDTH}}] {done}/{total}  {left:.0f} s left  {label}"
        if self.file.isatty():
            self.file.write(f"\r{text[:118]:118}" + ("\n" if done == total else ""))
        elif done == total or 10 * done // total > 10 * (done - 1) // total:
            self.file.write(f"{text}\n")
        self.file.flush()


def plain(value: Any) -> Any:
    """A value as JSON has it: NumPy's numbers and arrays as Python's, numbers that are not finite as None."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{value!r} is a {type(value).__name__}. Rows and cases are numbers, text, lists and dicts.")
