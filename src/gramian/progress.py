"""Printing the progress of a fit as lines of text."""

from __future__ import annotations

import sys
from typing import TextIO

from gramian._kernels.compiled import WATCHERS
from gramian.solvers.solver import Record

__all__ = ["ProgressPrinter", "progress_printer"]

# A phase that took less time gets no line.
LEAST_SECONDS = 0.05


class ProgressPrinter:
    """A reporter that writes a line for every k-th iteration, for the last one, and for every long phase.

    A phase is work outside the iterations, for example the choice of a start.

    Parameters
    ----------
    every : int
        The number k of iterations from one line to the next.
    file : file object, optional
        Where the lines are written; standard error by default.

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

    def note(self, text: str) -> None:
        """Write a remark, for example that a kernel is compiled."""
        self._write(f"{text}\n")

    def phase(self, name: str, seconds: float) -> None:
        """Write the name and the seconds of a phase, if it took at least 0.05 s."""
        if seconds >= LEAST_SECONDS:
            self._write(f"{name}: {seconds:.2f} s\n")

    def iteration(self, record: Record) -> None:
        """Write a line for the record if its iteration is a multiple of `every`; before the first, write the header."""
        if record.iteration == 0:
            self._write("iteration        cost    gradient        step  passes  seconds\n")
        if record.iteration % self.every == 0:
            self._show(record)

    def end(self, record: Record | None, message: str) -> None:
        """Write a line for the last iteration, unless it has one, and the message why the fit ended."""
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
    """Return None for verbose=0, a printer of every tenth iteration for 1, and of every iteration for 2 or more.

    As long as it is in use, it also writes which kernels are compiled.
    """
    if not verbose:
        return None
    printer = ProgressPrinter(every=10 if int(verbose) == 1 else 1)
    WATCHERS.add(printer)
    return printer
