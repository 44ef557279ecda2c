"""Progress on long work, written as lines of text."""

from __future__ import annotations

import sys
from typing import TextIO

from gramian.solvers.solver import Record

__all__ = ["ProgressPrinter", "progress_printer"]

# What took less is not worth a line.
LEAST_SECONDS = 0.05


class ProgressPrinter:
    """Writes a line on every few iterations, on the last one, and on what took long before and between them.

    Parameters
    ----------
    every : int
        Iterations between lines.
    file : file object, optional
        Standard error by default.

    Examples
    --------
    >>> import sys
    >>> from gramian.progress import ProgressPrinter
    >>> from gramian.solvers import Record
    >>> printer = ProgressPrinter(every=10, file=sys.stdout)
    >>> printer.phase("start", 0.5)
    start: 0.50 s
    >>> printer.iteration(Record(0, 1.5, 0.25, 0.0, 0.51, 2.0))
    iteration        cost    gradient        step  passes  seconds
            0   1.500e+00   2.500e-01   0.000e+00     2.0     0.51
    >>> last = Record(3, 1.0, 0.1, 1.0, 0.55, 8.0)
    >>> printer.iteration(last)
    >>> printer.end(last, "relative decrease of the cost below tol")
            3   1.000e+00   1.000e-01   1.000e+00     8.0     0.55
    relative decrease of the cost below tol
    """

    def __init__(self, every: int = 1, file: TextIO | None = None) -> None:
        self.every = every
        self.file = file
        self._shown = -1

    def phase(self, name: str, seconds: float) -> None:
        """Write what was done outside the iterations, if it took long."""
        if seconds >= LEAST_SECONDS:
            self._write(f"{name}: {seconds:.2f} s\n")

    def iteration(self, record: Record) -> None:
        """Write an iteration, if it is time."""
        if record.iteration == 0:
            self._write("iteration        cost    gradient        step  passes  seconds\n")
        if record.iteration % self.every == 0:
            self._show(record)

    def end(self, record: Record | None, message: str) -> None:
        """Write the last iteration, and why it was the last."""
        if record is not None and record.iteration != self._shown:
            self._show(record)
        self._write(f"{message}\n")

    def _show(self, record: Record) -> None:
        numbers = "".join(f"{x:12.3e}" for x in (record.cost, record.gradient_norm, record.step))
        self._write(f"{record.iteration:9d}{numbers}{record.passes:8.1f}{record.time:9.2f}\n")
        self._shown = record.iteration

    def _write(self, text: str) -> None:
        (sys.stderr if self.file is None else self.file).write(text)


def progress_printer(verbose: int) -> ProgressPrinter | None:
    """Return the printer that `verbose` asks for: 1 for every tenth iteration, 2 for each; None for 0."""
    return ProgressPrinter(every=10 if int(verbose) == 1 else 1) if verbose else None
