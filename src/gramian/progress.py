"""The progress of a fit: a bar on a terminal and in a notebook, lines of text elsewhere."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from time import perf_counter
from typing import Any, TextIO

from gramian._kernels.compiled import WATCHERS
from gramian.solvers.solver import Record

__all__ = ["FoldProgress", "ProgressBar", "ProgressPrinter", "make_reporter", "shows_bars"]

# A phase that took less time gets no line.
LEAST_SECONDS = 0.05
# Lines on the steps of a phase are at least this number of seconds apart.
BETWEEN_LINES = 2.0
# An iteration has a line if there was none for this number of seconds.
LONGEST_SILENCE = 3.0
# Bars whose end is known, and others.
KNOWN = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
UNKNOWN = "{desc}: {n_fmt} [{elapsed}{postfix}]"


class ProgressPrinter:
    """A reporter that writes a line for every k-th iteration, for the last one, and for every long phase.

    Iterations that take long have lines too: none is more than 3 s after the last, if an iteration ended since.

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
        self._last_step = -BETWEEN_LINES
        self._last_line = perf_counter()

    def begin(self, name: str) -> None:
        """Write nothing: the line of a phase tells its seconds, when it has ended."""

    def step(self, name: str, done: int, total: int) -> None:
        """Write what is done next, unless the line of another step was written less than 2 s before."""
        if perf_counter() - self._last_step >= BETWEEN_LINES:
            self._write(f"{name}: {done + 1} of {total}\n")
            self._last_step = perf_counter()

    def expect(self, iterations: int | None) -> None:
        """Write nothing: lines do not tell the time left."""

    def close(self, name: str) -> None:
        """Write nothing: there is no bar to close."""

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
        if record.iteration % self.every == 0 or perf_counter() - self._last_line >= LONGEST_SILENCE:
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
        self._last_line = perf_counter()


class ProgressBar:
    """A reporter that shows one bar of tqdm: the phase or round, the iterations, the time left, and the cost.

    The time left is that of the largest number of iterations; it is shown where this is known.

    Parameters
    ----------
    file : file object, optional
        Where the bar is drawn; standard error by default. In a notebook it is drawn below the cell.

    Examples
    --------
    >>> import io
    >>> from gramian.progress import ProgressBar
    >>> from gramian.solvers import Record
    >>> screen = io.StringIO()
    >>> bar = ProgressBar(screen)
    >>> bar.expect(20)
    >>> bar.iteration(Record(1, 1.5, 0.25, 0.0, 0.51, 2.0))
    >>> bar.end(None, "done")
    >>> "fitted: 100%" in screen.getvalue()
    True
    """

    def __init__(self, file: TextIO | None = None) -> None:
        from tqdm.auto import tqdm

        self.file = sys.stderr if file is None else file
        self._kind = tqdm
        self._bar: Any = None

    def note(self, text: str) -> None:
        """Write a remark above the bar, for example that a kernel is compiled."""
        self._kind.write(text, file=self.file)

    def begin(self, name: str) -> None:
        """Show the name of a phase of work, or of a round of iterations."""
        self._open().set_description_str(name)

    def step(self, name: str, done: int, total: int) -> None:
        """Show how much of the current phase is done, and what is done next."""
        bar = self._open()
        bar.total, bar.n, bar.bar_format = total, done, KNOWN
        bar.set_description_str(name)

    def expect(self, iterations: int | None) -> None:
        """Show iterations from now on, and the time left if their largest number is given."""
        bar = self._open()
        bar.bar_format = UNKNOWN if iterations is None else KNOWN
        bar.reset(total=iterations)

    def phase(self, name: str, seconds: float) -> None:
        """Write the name and the seconds of a phase that took at least a second."""
        if seconds >= 1:
            self.note(f"{name}: {seconds:.1f} s")

    def iteration(self, record: Record) -> None:
        """Show an iteration and its cost."""
        bar = self._open()
        bar.set_postfix_str(f"cost {record.cost:.3e}", refresh=False)
        bar.update(max(record.iteration - bar.n, 0))

    def end(self, record: Record | None, message: str) -> None:
        """Close the bar, and write the message why the fit ended."""
        self.close("fitted")
        self.note(message)

    def close(self, name: str) -> None:
        """Close the bar, at its full length, under a last name."""
        if self._bar is not None:
            self._bar.total = self._bar.n or None
            self._bar.set_description_str(name)
            self._bar.close()
            self._bar = None

    def _open(self) -> Any:
        if self._bar is None:
            self._bar = self._kind(desc="fit", file=self.file, dynamic_ncols=True, bar_format=UNKNOWN)
        return self._bar


def shows_bars(file: TextIO | None = None) -> bool:
    """Return True if tqdm is installed and the file, standard error by default, is a terminal or in a notebook."""
    file = sys.stderr if file is None else file
    if find_spec("tqdm") is None:
        return False
    return bool(getattr(file, "isatty", bool)()) or "ipykernel" in sys.modules


def make_reporter(verbose: int) -> ProgressBar | ProgressPrinter | None:
    """Return None for verbose=0, a bar or a printer of every tenth iteration for 1, a printer of all for 2 or more.

    There is a bar where `shows_bars` is True. As long as the reporter is in use, it also tells which kernels are
    compiled.
    """
    if not verbose:
        return None
    if int(verbose) == 1 and shows_bars():
        reporter: ProgressBar | ProgressPrinter = ProgressBar()
    else:
        reporter = ProgressPrinter(every=10 if int(verbose) == 1 else 1)
    WATCHERS.add(reporter)
    return reporter


class FoldProgress:
    """The progress of cross-validation: a bar over the fits of all folds, with lines on fits and folds above it.

    Parameters
    ----------
    verbose : int
        0 shows nothing, 1 the bar, where `shows_bars` is True, and lines on folds, 2 or more lines on all fits.
    n_fits : int
        The number of fits on all folds.

    Examples
    --------
    >>> from gramian.progress import FoldProgress
    >>> progress = FoldProgress(0, 10)
    >>> progress.count("rank 2")
    >>> progress.done
    1
    """

    def __init__(self, verbose: int, n_fits: int) -> None:
        self.verbose, self.n_fits, self.done = int(verbose), n_fits, 0
        self.reporter = make_reporter(verbose)

    def begin_fold(self, index: int, total: int) -> None:
        """Show that the fits of a fold begin: how they learn is chosen first."""
        self._show(f"fold {index + 1} of {total}: choosing plans")

    def count(self, text: str) -> None:
        """Count a fit that is done; verbose=2 writes a line on it."""
        self.done += 1
        if self.verbose >= 2:
            self.report(text)
        self._show("fits of all folds")

    def report(self, text: str) -> None:
        """Write a line."""
        if self.reporter is not None:
            self.reporter.note(text)

    def close(self) -> None:
        """Close the bar."""
        if self.reporter is not None:
            self.reporter.close("cross-validated")

    def _show(self, name: str) -> None:
        if isinstance(self.reporter, ProgressBar):
            self.reporter.step(name if self.done < self.n_fits else "learning from all data", self.done, self.n_fits)
