"""What every execution does: it keeps blocks of data where they are, and runs work beside them.

Big things (images, predictions, slopes) stay beside their block, in opaque *shards*. Only small things travel: a frame,
a direction or a step to the blocks, and a total back. Totals are added in the order of the shards, so that neither
threads nor workers change a bit of a result.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

__all__ = ["Execution", "Shards", "Team", "Work", "add_totals", "execution_for", "sum_totals"]

#: Handles of what is held beside the blocks, one a block. Only an execution looks into them.
Shards = Any
#: A module-level function (block, *held, **small) -> (what stays beside the block, what is summed over the blocks).
Work = Callable[..., tuple[Any, Any]]


class Execution(Protocol):
    """Where the work on blocks of data is done.

    Examples
    --------
    >>> from gramian.execution import Execution, Serial
    >>> def double(block):
    ...     return 2 * block, block
    >>> execution: Execution = Serial()
    >>> execution.run(double, execution.place([1, 2]))
    ([2, 4], 3)
    """

    def place(self, blocks: Sequence[Any]) -> Shards:
        """Return handles of the blocks, one each, in their order."""

    def run(self, work: Work, shards: Shards, *held: Shards, **small: Any) -> tuple[Shards, Any]:
        """Run work(block, *held, **small) on every block.

        Parameters
        ----------
        work : Work
            A module-level function, so that it can be sent to another process.
        shards : Shards
            The blocks, from `place`.
        *held : Shards
            What earlier work left beside the blocks.
        **small : Any
            The same for all blocks: numbers, or arrays that do not grow with the samples.

        Returns
        -------
        kept : Shards
            What stays beside each block.
        total : Any
            The sum over the blocks, in their order; see `add_totals`.
        """


class Team(Protocol):
    """Shares the pieces of one block out.

    Examples
    --------
    >>> from gramian.execution import Serial, Team
    >>> team: Team = Serial()
    >>> team.map(max, [1, 5], [3, 4])
    [3, 5]
    """

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Return function(a, b, ...) for the items of the arguments, in their order."""


def execution_for(features: Any, execution: Any) -> Any:
    """Return the given execution for samples in blocks on workers; for samples in memory, one on this machine.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Dask, Threads, execution_for
    >>> execution_for(np.ones((2, 2)), Dask()), execution_for(np.ones((2, 2)), Threads(2))
    (Serial(), Threads(2))
    """
    return execution if hasattr(features, "execution") else getattr(execution, "nearby", execution)


class Returned(NamedTuple):
    """Whether a work leaves something beside the blocks, and whether it has a total."""

    keeps: bool
    sums: bool


@cache
def returned_by(work: Work) -> Returned:
    """Return what a work declares to return by its annotation, tuple[kept, total], where None stands for nothing.

    Without an annotation of this form, both are taken to be there.

    Examples
    --------
    >>> from gramian.execution.execution import returned_by
    >>> def count(block) -> tuple[None, int]:
    ...     return None, 1
    >>> returned_by(count)
    Returned(keeps=False, sums=True)
    """
    annotation = getattr(work, "__annotations__", {}).get("return")
    if annotation is None:
        return Returned(keeps=True, sums=True)
    parsed = ast.parse(annotation if isinstance(annotation, str) else repr(annotation), mode="eval").body
    parts = parsed.slice.elts if isinstance(parsed, ast.Subscript) and isinstance(parsed.slice, ast.Tuple) else []
    if len(parts) != 2 or not isinstance(parsed, ast.Subscript) or ast.unparse(parsed.value) != "tuple":
        return Returned(keeps=True, sums=True)
    keeps, sums = (not (isinstance(part, ast.Constant) and part.value is None) for part in parts)
    return Returned(keeps, sums)


def add_totals(total: Any, part: Any, *, owned: bool = False) -> Any:
    """Return the sum of two totals: numbers and arrays are added, tuples field by field; None makes the sum None.

    Where the first one is `owned`, a sum that nothing else refers to, its arrays are added to in place.

    Examples
    --------
    >>> from gramian.execution import add_totals
    >>> add_totals((1, [2]), (3, [4]))
    (4, [2, 4])
    """
    if total is None or part is None:
        return None
    if isinstance(total, tuple):
        fields = [add_totals(a, b, owned=owned) for a, b in zip(total, part, strict=True)]
        return type(total)(*fields) if hasattr(total, "_fields") else tuple(fields)
    alike = isinstance(total, np.ndarray) and isinstance(part, np.ndarray) and total.shape == part.shape
    if owned and alike and total.dtype == part.dtype:
        return np.add(total, part, out=total)
    return total + part


def sum_totals(totals: Iterable[Any]) -> Any:
    """Return the sum in order, without a start value that would promote float32 or copy a single part.

    Examples
    --------
    >>> from gramian.execution import sum_totals
    >>> sum_totals([1.0, 2.0]), sum_totals([1.0, None])
    (3.0, None)
    """
    first, *others = totals
    total = first
    for part in others:
        total = add_totals(total, part, owned=total is not first)
    return total
