"""One block after the other, in the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gramian.execution.execution import Shards, Work, sum_totals

__all__ = ["Serial"]


class Serial:
    """Works on one block after the other in the calling thread. BLAS uses as many threads as the process allows it.

    Examples
    --------
    >>> from gramian.execution import Serial
    >>> def double(block, *, factor):
    ...     return factor * block, block
    >>> execution = Serial()
    >>> kept, total = execution.run(double, execution.place([1, 2, 3]), factor=2)
    >>> kept, total
    ([2, 4, 6], 6)
    """

    #: What is held beside the blocks is in the memory of this process.
    local = True

    def __repr__(self) -> str:
        return "Serial()"

    def place(self, blocks: Sequence[Any]) -> Shards:
        """Return the blocks themselves."""
        return list(blocks)

    def run(self, work: Work, shards: Shards, *held: Shards, **small: Any) -> tuple[Shards, Any]:
        """Run work on every block; return what stays beside each, and the sum of the totals."""
        results = [work(*items, **small) for items in zip(shards, *held, strict=True)]
        return [kept for kept, _ in results], sum_totals(total for _, total in results)

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Return function(a, b, ...) for the items of the arguments, in their order."""
        return list(map(function, *arguments))
