"""The journal of a fit: one history of iterations, seconds and passes over all of its minimisations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from gramian._checkpoints import Checkpoint, NoCheckpoint
from gramian.solvers.solver import Record
from gramian.types import Matrix, Vector

__all__ = ["Callback", "Journal", "Reporter"]

Callback = Callable[[Record], Any]


class Reporter(Protocol):
    """The interface of an object that shows the progress of a fit."""

    def begin(self, name: str) -> None:
        """Show that a phase of work, or a round of iterations, begins."""

    def step(self, name: str, done: int, total: int) -> None:
        """Show how much of the current phase is done, and what is done next."""

    def expect(self, iterations: int | None) -> None:
        """Take note of the largest number of iterations of the fit; None if it is not known."""

    def note(self, text: str) -> None:
        """Show a remark, for example which plan was chosen."""

    def phase(self, name: str, seconds: float) -> None:
        """Show a phase of work outside the iterations, and the seconds it took."""

    def iteration(self, record: Record) -> None:
        """Show the record of an iteration."""

    def end(self, record: Record | None, message: str) -> None:
        """Show the record of the last iteration, if there is one, and the message why the fit ended."""


class Journal:
    """The history of a fit of one or several minimisations. It calls the callback and the reporter on every record.

    Parameters
    ----------
    callback : callable, optional
        Called with every `Record`; a true return value stops the fit.
    reporter : Reporter, optional
        Shows the progress.
    cost_scale : float
        The factor from the costs of the solver to the costs in the units of the user.

    Attributes
    ----------
    records : list of Record
    phases : dict of str to float
        The seconds spent in each phase of work outside the iterations, by its name.
    passes : float
        The passes over the data in the minimisations that have ended.
    cost_at_zero : float
        The cost of W = 0 in the last minimisation, in the units of the user: beside it, a cost is large or small.
    checkpoint : Checkpoint
        Stores the state of the fit, if that is wanted.
    keeps_best : bool
        True if Ctrl-C ends the minimisation at the best point so far; False, the default, if it is raised.

    Examples
    --------
    >>> from gramian.solvers import Journal
    >>> journal = Journal()
    >>> with journal.phase("start"):
    ...     pass
    >>> list(journal.phases)
    ['start']
    """

    def __init__(
        self, callback: Callback | None = None, reporter: Reporter | None = None, cost_scale: float = 1.0
    ) -> None:
        self.callback, self.reporter, self.cost_scale = callback, reporter, cost_scale
        self.records: list[Record] = []
        self.phases: dict[str, float] = {}
        self.passes = self.cost_at_zero = 0.0
        self.checkpoint: Checkpoint | NoCheckpoint = NoCheckpoint()
        self.keeps_best = False
        self._clock = perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Return a context manager that adds the seconds spent in it to `phases[name]`."""
        self.begin(name)
        begin = perf_counter()
        yield
        seconds = perf_counter() - begin
        self.phases[name] = self.phases.get(name, 0.0) + seconds
        if self.reporter is not None:
            self.reporter.phase(name, seconds)

    def begin(self, name: str) -> None:
        """Report that a phase of work, or a round of iterations, begins."""
        if self.reporter is not None:
            self.reporter.begin(name)

    def step(self, name: str, done: int, total: int) -> None:
        """Report how much of the current phase is done, and what is done next."""
        if self.reporter is not None:
            self.reporter.step(name, done, total)

    def note(self, text: str) -> None:
        """Report a remark."""
        if self.reporter is not None:
            self.reporter.note(text)

    def expect(self, iterations: int | None) -> None:
        """Report the largest number of iterations of the fit; None if it is not known."""
        if self.reporter is not None:
            self.reporter.expect(iterations)

    def write(self, cost: float, gradient_norm: float, step: float, passes: float) -> bool:
        """Add a record of an iteration; return True if the callback asks to stop.

        Parameters
        ----------
        cost, gradient_norm, step : float
            The cost in the units of the solver, the norm of the gradient, and the step size.
        passes : float
            The passes over the data since the start of this minimisation.
        """
        time, iteration = perf_counter() - self._clock, len(self.records)
        record = Record(iteration, self.cost_scale * cost, gradient_norm, step, time, self.passes + passes)
        self.records.append(record)
        if self.reporter is not None:
            self.reporter.iteration(record)
        return bool(self.callback is not None and self.callback(record))

    def quiet(self) -> Journal:
        """Return a journal for minimisations that are not reported; their state is stored with that of this one."""
        journal = Journal()
        journal.checkpoint = self.checkpoint
        return journal

    def dump(self) -> dict[str, Any]:
        """Return the history as values that can be stored: records (n, 6), phases, seconds, and the cost of W = 0."""
        records = np.array(self.records, np.float64).reshape(-1, len(Record._fields))
        seconds, cost = perf_counter() - self._clock, float(self.cost_at_zero)
        return {"records": records, "phases": dict(self.phases), "seconds": seconds, "cost_at_zero": cost}

    def load(self, phases: dict[str, float], seconds: float, cost_at_zero: float = 0.0) -> None:
        """Add the seconds of an earlier run of the same fit, and take over its cost of W = 0."""
        self._clock -= seconds
        self.cost_at_zero = cost_at_zero
        for name, earlier in phases.items():
            self.phases[name] = self.phases.get(name, 0.0) + earlier

    def go_to(self, records: Matrix, passes: float) -> None:
        """Set the records (n, 6) and the passes to those of an earlier run of the same fit."""
        self.records = [Record(int(first), *rest) for first, *rest in records.tolist()]
        self.passes = passes

    def end(self, message: str) -> None:
        """Report the end of the fit, with the message why it ended."""
        if self.reporter is not None:
            self.reporter.end(self.records[-1] if self.records else None, message)

    @property
    def history(self) -> dict[str, Vector]:
        """The fields of all records so far, one array per field."""
        return {name: np.array([record[k] for record in self.records]) for k, name in enumerate(Record._fields)}
