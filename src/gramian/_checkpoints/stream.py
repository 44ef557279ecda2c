"""The checkpoint of a stream: what was learned from its first batches, and which these were."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from gramian._checkpoints.encoding import Decoder, Encoder
from gramian._checkpoints.file import Stored, write_file
from gramian._checkpoints.fingerprint import describe
from gramian._checkpoints.session import LARGEST_SHARE, remove_files
from gramian.warn import warn_user

__all__ = ["StreamCheckpoint", "describe_batch", "state_of"]


class StreamCheckpoint:
    """The checkpoint of one stream.

    Parameters
    ----------
    path : Path
    every : float
        The least number of seconds between two writes.
    header : dict
        What the fit is made of, but for the batches.
    stored : Stored or None
        The content of the file, if there is one.
    random : Generator or RandomState, optional
        What all batches draw from, if they do; its state is stored, and set again.
    """

    def __init__(
        self, path: Path, every: float, header: dict[str, Any], stored: Stored | None, random: Any = None
    ) -> None:
        self.path, self.every, self.header, self.random = path, every, header, random
        self.fitted: dict[str, Any] = {}
        self.learned, self.expected, self.seen = 0, "", 0
        self._drawn: Any = None
        if stored is not None:
            state = Decoder(stored.arrays).decode(stored.header["state"])
            self.learned, self.expected, self.fitted = state["learned"], state["batches"], state["fitted"]
            self._drawn = state.get("random")
        self._hash = blake2b(digest_size=12)
        self._changed = False
        self._last, self._took = perf_counter(), 0.0

    def skips(self, batch: Any) -> bool:
        """Return True if a batch was learned from before the interruption.

        Raises a ValueError after the last of these batches, if they are not those that were learned from.
        """
        if self.seen >= self.learned:
            return False
        self.count(batch)
        if self.seen == self.learned and self._hash.hexdigest() != self.expected:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is that of another stream: its first {self.learned} batches are "
                "others. Give the same batches in the same order to resume, or delete the file to start anew."
            )
        return True

    @property
    def reached(self) -> bool:
        """True if the batch that was skipped last is the last that was learned from."""
        return self.seen == self.learned

    def restore(self, estimator: Any) -> None:
        """Give an estimator what was learned, and set its random generator to the state after that."""
        vars(estimator).update(self.fitted)
        if self.random is not None:
            set_state(self.random, self._drawn)

    def count(self, batch: Any) -> None:
        """Count a batch, and keep its fingerprint."""
        self.seen += 1
        self._hash.update(repr(describe_batch(batch)).encode())

    def advance(self, batch: Any, fitted: dict[str, Any]) -> None:
        """Take the state after a batch, and write it if the last one was written long enough ago."""
        self.count(batch)
        self.fitted, self._changed = fitted, True
        # The next batch may be interrupted after it has drawn.
        self._drawn = None if self.random is None else state_of(self.random)
        if perf_counter() - self._last >= max(self.every, self._took * (1 / LARGEST_SHARE - 1)):
            self.write()

    def write(self) -> None:
        """Write what is fitted; if that fails, warn, and keep what was written before."""
        begin = perf_counter()
        try:
            encoder = Encoder()
            learned = {"learned": self.seen, "batches": self._hash.hexdigest()}
            state = {**learned, "fitted": self.fitted, "random": self._drawn}
            write_file(self.path, {**self.header, "state": encoder.encode(state)}, encoder.arrays)
            self._changed = False
        except (OSError, TypeError, MemoryError) as error:
            warn_user(
                f"checkpoint={str(self.path)!r} could not be written: {error}. The stream goes on; what was written "
                "before is kept."
            )
        self._last = perf_counter()
        self._took = self._last - begin

    def interrupt(self) -> None:
        """Write what is not yet written."""
        if self._changed:
            self.write()

    def remove(self) -> None:
        """Remove the file: the stream is done."""
        remove_files(self.path)


def state_of(random: Any) -> Any:
    """Return the state of a Generator or RandomState."""
    return random.bit_generator.state if isinstance(random, np.random.Generator) else random.get_state(legacy=False)


def set_state(random: Any, state: Any) -> None:
    """Set the state of a Generator or RandomState."""
    if isinstance(random, np.random.Generator):
        random.bit_generator.state = state
    else:
        random.set_state(state)


def describe_batch(batch: Any) -> Any:
    """Return the shapes and types of the arrays of a batch, with hashes of their first and last rows."""
    if isinstance(batch, dict):
        return {name: describe_batch(value) for name, value in batch.items()}
    if isinstance(batch, tuple | list):
        return [describe_batch(value) for value in batch[:4]]
    if hasattr(batch, "iloc"):
        # A data frame, or one of its columns.
        names = [str(name) for name in getattr(batch, "columns", [])]
        return [names, batch.shape, *(describe(batch.iloc[rows].to_numpy()) for rows in (slice(1), slice(-1, None)))]
    if isinstance(batch, np.ndarray) and batch.ndim and len(batch):
        return [str(batch.dtype), batch.shape, describe(batch[:1]), describe(batch[-1:])]
    return describe(batch)
