"""The checkpoint of one fit: which of its parts are done, where the present one stands, and when this is written.

A fit is repeated from its beginning when it is resumed, but parts that were done are not computed again: `remember`
returns what is stored. A part has a name and a number among its neighbours, inside the part around it. The part that
was interrupted goes on from the position that it offered last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from glob import escape
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gramian._checkpoints.encoding import Decoder, Encoder
from gramian._checkpoints.file import Stored, write_file
from gramian.atomic import follow_link, part_prefix
from gramian.types import Matrix
from gramian.warn import warn_user

__all__ = ["LARGEST_SHARE", "Checkpoint", "NoCheckpoint", "remove_files"]

Value = TypeVar("Value")
#: Writing takes at most this share of the time, however short the interval.
LARGEST_SHARE = 0.2


class Done(NamedTuple):
    """A part of a fit that is done.

    Attributes
    ----------
    value : object
        What it returned.
    n_records : int
        The number of records in the journal after it.
    passes : float
        The passes in the journal after it.
    counted : float
        The passes that it counted in its problem.
    rng : Generator or None
        The random generator after it.
    """

    value: Any
    n_records: int
    passes: float
    counted: float
    rng: np.random.Generator | None


class Position(NamedTuple):
    """The state of the part of a fit with this key: what it offered, and the records and passes of the journal then."""

    key: str
    value: Any
    n_records: int
    passes: float


class NoCheckpoint:
    """Stands for a checkpoint where none is wanted: everything is computed, and nothing is stored."""

    #: No position is of use.
    wanted = False

    def remember(self, name: str, compute: Callable[[], Value], *, rng: Any = None, problem: Any = None) -> Value:
        """Return what is computed."""
        return compute()

    def offer(self, value: Any) -> None:
        """Do nothing."""

    def position(self) -> Any:
        """Return None: there is no earlier position."""
        return None


class Checkpoint:
    """The checkpoint of one fit.

    Parameters
    ----------
    path : Path
    every : float
        The least number of seconds between two writes.
    header : dict
        What the fit is made of, stored with every write.
    journal : Journal
        The history of the fit, which is stored and restored.
    rng : Generator
        The random generator of the fit, in its first state; it is set to the stored one.
    """

    #: Positions are stored.
    wanted = True

    def __init__(
        self, path: Path, every: float, header: dict[str, Any], journal: Any, rng: np.random.Generator
    ) -> None:
        self.path, self.every, self.header, self.journal = path, every, header, journal
        self.first_rng = copy_generators(rng)
        self.done: dict[str, Done] = {}
        self.present: Position | None = None
        self.resumed = False
        self._records: Matrix = np.zeros((0, 0))
        self._path: list[str] = []
        self._counts: dict[str, int] = {}
        self._changed = False
        self._last, self._took = perf_counter(), 0.0

    def load(self, stored: Stored, rng: np.random.Generator) -> None:
        """Take over the state of an earlier run, its random generator included."""
        state = Decoder(stored.arrays).decode(stored.header["state"])
        self.done, self.present, self._records = state["done"], state["present"], state["journal"].pop("records")
        self.first_rng, self.resumed = state["rng"], True
        rng.bit_generator.state = self.first_rng.bit_generator.state
        self.journal.load(**state["journal"])

    def remember(
        self,
        name: str,
        compute: Callable[[], Value],
        *,
        rng: np.random.Generator | None = None,
        problem: Any = None,
    ) -> Value:
        """Return what a part of the fit computes, or what it computed before the fit was interrupted.

        Parameters
        ----------
        name : str
        compute : callable
        rng : Generator, optional
            A random generator that the part draws from.
        problem : Problem, optional
            The problem whose passes the part counts.
        """
        with self._part(name) as key:
            if key in self.done:
                known = self.done[key]
                self._go_to(known.n_records, known.passes)
                if rng is not None and known.rng is not None:
                    rng.bit_generator.state = known.rng.bit_generator.state
                if problem is not None:
                    problem.passes += known.counted
                return known.value
            before = 0.0 if problem is None else problem.passes
            value = compute()
            counted = 0.0 if problem is None else problem.passes - before
            self._finish(
                key, Done(value, len(self.journal.records), self.journal.passes, counted, copy_generators(rng))
            )
            return value

    def position(self) -> Any:
        """Return what the present part offered last before the fit was interrupted; None if nothing."""
        present = self.present
        if not self.resumed or present is None or present.key != "/".join(self._path):
            return None
        self._go_to(present.n_records, present.passes)
        return copy_generators(present.value)

    def offer(self, value: Any) -> None:
        """Take what the present part needs to go on from here, and write it if it is time to."""
        key, journal = "/".join(self._path), self.journal
        self.present = Position(key, copy_generators(value), len(journal.records), journal.passes)
        self._changed = True
        self._write_if_due()

    def write(self) -> bool:
        """Write the state; return False, with a warning, if that fails. What was written before is kept then."""
        begin = perf_counter()
        try:
            encoder = Encoder()
            journal = self.journal.dump()
            state = {"done": self.done, "present": self.present, "rng": self.first_rng, "journal": journal}
            write_file(self.path, {**self.header, "state": encoder.encode(state)}, encoder.arrays)
            self._changed = False
        except (OSError, TypeError, MemoryError) as error:
            warn_user(
                f"checkpoint={str(self.path)!r} could not be written: {error}. The fit goes on; what was written "
                "before is kept."
            )
        self._last = perf_counter()
        self._took = self._last - begin
        return not self._changed

    def interrupt(self) -> bool:
        """Write what is not yet written; return True if there is a file to resume from."""
        if self._changed:
            self.write()
        return os.path.exists(self.path)

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        remove_files(self.path)

    @contextmanager
    def _part(self, name: str) -> Iterator[str]:
        """Enter a part of the fit, and yield its key: its name and number, after those of the parts that contain it."""
        around = "/".join([*self._path, name])
        number = self._counts.get(around, 0)
        self._counts[around] = number + 1
        self._path.append(f"{name} {number}")
        try:
            yield "/".join(self._path)
        finally:
            self._path.pop()

    def _finish(self, key: str, done: Done) -> None:
        """Store what a part returned, in place of the parts in it."""
        self.done = {other: value for other, value in self.done.items() if not other.startswith(f"{key}/")}
        self.done[key] = done
        if self.present is not None and f"{self.present.key}/".startswith(f"{key}/"):
            self.present = None
        self._changed = True
        self._write_if_due()

    def _go_to(self, n_records: int, passes: float) -> None:
        """Set the journal to a state of the interrupted run, unless it is beyond that."""
        if self.resumed and len(self.journal.records) <= n_records <= len(self._records):
            self.journal.go_to(self._records[:n_records], passes)

    def _write_if_due(self) -> None:
        """Write if the interval has passed, and writing has not taken too large a share of the time."""
        rest = perf_counter() - self._last
        if rest >= max(self.every, self._took * (1 / LARGEST_SHARE - 1)):
            self.write()


def remove_files(path: Path) -> None:
    """Remove a file, if there is one, and the temporary files of processes that were killed while they wrote it.

    A link stays; its target is removed.
    """
    target = follow_link(path)
    for each in (target, *target.parent.glob(f"{escape(part_prefix(target))}*.part")):
        each.unlink(missing_ok=True)


def copy_generators(value: Any) -> Any:
    """Return a value with copies of its random generators, also of those in tuples, from which a fit draws further."""
    if isinstance(value, np.random.Generator):
        return np.random.Generator(deepcopy(value.bit_generator))
    if type(value) is tuple:
        return tuple(copy_generators(item) for item in value)
    if isinstance(value, tuple):
        return tuple.__new__(type(value), [copy_generators(item) for item in value])
    return value
