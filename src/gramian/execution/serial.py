"""One block after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

__all__ = ["Execution", "Serial"]


class Execution(Protocol):
    """Maps a function over blocks and what belongs to them."""

    def map(self, function: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
        """The function's results, in the order of the blocks."""


class Serial:
    """Runs block by block in the calling thread; sums are always in the order of the blocks.

    Examples
    --------
    >>> from gramian.execution import Serial
    >>> Serial().map(lambda a, b: a + b, [1, 2], [10, 20])
    [11, 22]
    """

    def map(self, function: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
        """The function's results, in the order of the blocks."""
        return [function(*items) for items in zip(*sequences, strict=True)]
