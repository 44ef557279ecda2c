"""The journal of a fit: one count of iterations, one clock and one count of passes, through all of its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from gramian.solvers.solver import Record
from gramian.types import Vector

__all__ = ["Callback", "Journal", "Reporter"]

Callback = Callable[[Record], Any]


class Reporter(Protocol):
    """Shows the progress of a fit."""

    def phase(self, name: str, seconds: float) -> None:
        """Show what was done outside the iterations, and how long it took."""

    def iteration(self, record: Record) -> None:
        """Show an iteration."""

    def end(self, record: Record | None, message: str) -> None:
        """Show the last iteration, and why it was the last."""


class Journal:
    """Keeps the history of a fit that may take several minimisations, and passes it on as it grows.

    Parameters
    ----------
    callback : callable, optional
        Called with every `Record`; a true return value stops the fit.
    reporter : Reporter, optional
    cost_scale : float
        What costs are multiplied by: the solver's units to the user's.

    Attributes
    ----------
    phases : dict of str to float
        The seconds spent outside the iterations, by what they were spent on.

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
        self.passes = 0.0
        self._clock = perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is done outside the iterations."""
        begin = perf_counter()
        yield
        seconds = perf_counter() - begin
        self.phases[name] = self.phases.get(name, 0.0) + seconds
        if self.reporter is not None:
            self.reporter.phase(name, seconds)

    def write(self, cost: float, gradient_norm: float, step: float, passes: float) -> bool:
        """Add an iteration, after so many passes since `passes`; return whether the callback asks to stop."""
        time, iteration = perf_counter() - self._clock, len(self.records)
        record = Record(iteration, self.cost_scale * cost, gradient_norm, step, time, self.passes + passes)
        self.records.append(record)
        if self.reporter is not None:
            self.reporter.iteration(record)
        return bool(self.callback is not None and self.callback(record))

    def end(self, message: str) -> None:
        """Say that the fit has ended."""
        if self.reporter is not None:
            self.reporter.end(self.records[-1] if self.records else None, message)

    @property
    def history(self) -> dict[str, Vector]:
        """The columns of all records so far."""
        return {name: np.array([record[k] for record in self.records]) for k, name in enumerate(Record._fields)}
