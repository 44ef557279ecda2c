"""Progress on long work, as a callback."""

from __future__ import annotations

import sys
from typing import TextIO

from gramian.solvers.loop import Callback, Record

__all__ = ["Reporter", "combined"]


class Reporter:
    """Writes a line of progress on every few iterations.

    Parameters
    ----------
    every : int
        Iterations between lines.
    file : file object, optional
        Standard error by default.

    Examples
    --------
    >>> import sys
    >>> from gramian.progress import Reporter
    >>> from gramian.solvers import Record
    >>> Reporter(file=sys.stdout)(Record(0, 1.5, 0.25, 0.0, 0.01, 2.0))
    iteration        cost    gradient        step  passes  seconds
            0   1.500e+00   2.500e-01   0.000e+00     2.0     0.01
    """

    def __init__(self, every: int = 1, file: TextIO | None = None) -> None:
        self.every = every
        self.file = file

    def __call__(self, record: Record) -> None:
        """Write a line, if it is time."""
        file = sys.stderr if self.file is None else self.file
        if record.iteration == 0:
            file.write("iteration        cost    gradient        step  passes  seconds\n")
        if record.iteration % self.every == 0:
            numbers = "".join(f"{x:12.3e}" for x in (record.cost, record.gradient_norm, record.step))
            file.write(f"{record.iteration:9d}{numbers}{record.passes:8.1f}{record.time:9.2f}\n")


def combined(callback: Callback | None, verbose: int) -> Callback | None:
    """A user's callback, and a reporter where verbose asks for one: 1 for every tenth iteration, 2 for each."""
    if not verbose:
        return callback
    report = Reporter(every=10 if int(verbose) == 1 else 1)
    if callback is None:
        return report

    def both(record: Record) -> object:
        report(record)
        return callback(record)

    return both
