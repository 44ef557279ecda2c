"""A progress bar for long runs that stores finished cases, so that an interrupted run resumes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

from harness.frames import Records
from harness.store import to_plain

__all__ = ["Progress"]

WIDTH = 24


class Progress:
    """Measures cases one by one, shows how far it is, and stores the rows of finished cases.

    Parameters
    ----------
    title : str
    checkpoint : Path, optional
        File that holds the finished cases, one a line, until the run ends. Without it nothing is stored.
    file : file object, optional
        Where the bar goes, by default standard error. On a terminal the bar is drawn over itself; elsewhere a line is
        written after every tenth of the cases.
    """

    def __init__(self, title: str, checkpoint: Path | None = None, file: TextIO | None = None) -> None:
        self.title, self.checkpoint, self.calls = title, checkpoint, 0
        #: Seconds that cases took before an interruption.
        self.seconds_before = 0.0
        self.file = sys.stderr if file is None else file

    def rows(self, cases: Iterable[Any], measure: Callable[[Any], Any]) -> Records:
        """Return the rows of all cases; cases that were finished before an interruption are not measured again.

        Parameters
        ----------
        cases : iterable of plain values, each different
        measure : callable
            Takes a case and returns a row (dict), or a list of rows.
        """
        cases = list(cases)
        self.calls += 1
        finished = self.load_finished()
        clock, new, rows = perf_counter(), 0, []
        for number, case in enumerate(cases):
            name = json.dumps([self.calls, to_plain(case)])
            if name in finished:
                self.seconds_before += finished[name][1]
            else:
                begin = perf_counter()
                measured = measure(case)
                found = to_plain([measured] if isinstance(measured, dict) else list(measured))
                finished[name] = (found, perf_counter() - begin)
                self.save_finished(name, *finished[name])
                new += 1
            rows += finished[name][0]
            left = (perf_counter() - clock) / max(new, 1) * (len(cases) - number - 1)
            self.draw_bar(number + 1, len(cases), left, case)
        return rows

    def load_finished(self) -> dict[str, tuple[Records, float]]:
        """Return rows and seconds of the finished cases, by case; a line that was cut off is skipped."""
        finished: dict[str, tuple[Records, float]] = {}
        exists = self.checkpoint is not None and self.checkpoint.exists()
        for line in self.checkpoint.read_text().splitlines() if exists else []:
            try:
                name, rows, seconds = json.loads(line)
            except ValueError:
                continue
            finished[name] = (rows, seconds)
        return finished

    def save_finished(self, name: str, rows: Records, seconds: float) -> None:
        """Append a case to the checkpoint."""
        if self.checkpoint is not None:
            self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
            with self.checkpoint.open("a") as file:
                # Begins a new line, in case the last one was cut off.
                file.write(f"\n{json.dumps([name, rows, seconds])}\n")

    def draw_bar(self, done: int, total: int, left: float, case: Any) -> None:
        """Draw the bar on a terminal; elsewhere write a line after every tenth of the cases."""
        bar = "#" * (WIDTH * done // total)
        label = ", ".join(str(part) for part in case) if isinstance(case, tuple | list) else str(case)
        text = f"{self.title}  [{bar:-<{WIDTH}}] {done}/{total}  {left:.0f} s left  {label}"
        if self.file.isatty():
            self.file.write(f"\r{text[:118]:118}" + ("\n" if done == total else ""))
        elif done == total or 10 * done // total > 10 * (done - 1) // total:
            self.file.write(f"{text}\n")
        self.file.flush()
