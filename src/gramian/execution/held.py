"""What workers hold of the shards of a Dask cluster, and what they do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gramian.execution.execution import Work, sum_totals
from gramian.execution.threads import one_blas_thread

__all__ = [
    "Held",
    "Opaque",
    "Placed",
    "Traffic",
    "add_nodes",
    "collect",
    "count_bytes",
    "cut_beside",
    "merge",
    "merge_totals",
    "run_on_pieces",
    "take_totals",
    "unwrap",
]

#: Totals from this number of places are joined on a worker before the driver asks for them.
FAN_IN = 8
#: Sums by level of the tree of sums, and number in the level.
Nodes = dict[tuple[int, int], Any]


class Placed(NamedTuple):
    """Handles of shards on workers.

    Attributes
    ----------
    futures : list of Future
        Each of a `Held`, of one shard or of several.
    workers : list of str
        The addresses of the workers that they are pinned to.
    numbers : list of list of int, optional
        The shards of each, by their number in the order of all; one each by default.
    """

    futures: list[Any]
    workers: list[str]
    numbers: list[list[int]] | None = None

    @property
    def shards(self) -> list[list[int]]:
        """The numbers of the shards of each future."""
        return [[i] for i in range(len(self.futures))] if self.numbers is None else self.numbers


@dataclass
class Traffic:
    """Bytes of arguments and totals that an execution has sent and received, and the number of its calls.

    Messages of the scheduler about tasks, about a kilobyte each, do not count.

    Examples
    --------
    >>> from gramian.execution.held import Traffic
    >>> Traffic().sent
    0
    """

    sent: int = 0
    received: int = 0
    calls: int = 0


class Held:
    """What a worker holds of some shards: their pieces, or what work left beside each piece, and totals of that work.

    Parameters
    ----------
    pieces : list
        The pieces of all shards, one shard after the other.
    totals : dict, optional
        Sums over shards; see `add_nodes`.
    sizes : list of int, optional
        The number of pieces of each shard; of one shard by default.
    shared : bool
        True if the samples of the pieces belong to another object, which counts their bytes.

    Examples
    --------
    >>> from gramian.execution.held import Held
    >>> Held([1, 2]).sizes
    [2]
    """

    def __init__(
        self, pieces: list[Any], totals: Any = None, sizes: list[int] | None = None, *, shared: bool = False
    ) -> None:
        self.pieces, self.totals, self.shared = pieces, totals, shared
        self.sizes = [len(pieces)] if sizes is None else sizes

    def __sizeof__(self) -> int:
        # Dask moves and spills by this number.
        return 64 + (0 if self.shared else count_bytes(self.pieces)) + count_bytes(self.totals)


class Opaque:
    """A value that Dask does not look into for tasks and futures."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __sizeof__(self) -> int:
        return 64 + count_bytes(self.content)


def count_bytes(value: Any) -> int:
    """Return the bytes of the arrays in a value, and 8 for every other part of it.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution.held import count_bytes
    >>> count_bytes({"frame": np.zeros((10, 2)), "s": 0.5})
    168
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(count_bytes(part) for part in value.values())
    if isinstance(value, list | tuple):
        return sum(count_bytes(part) for part in value)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return sum(count_bytes(part) for part in vars(value).values())
    return 8


# What is done on workers.


def unwrap(value: Any) -> Any:
    """Return what a task carries."""
    return value.content if isinstance(value, Opaque) and isinstance(value.content, Held) else value


def run_on_pieces(
    work: Work, errors: Any, count: int, small: Opaque, numbers: list[int], shards: Held, *held: Held
) -> Held:
    """Run work on the pieces of some of all shards, under the driver's treatment of floating-point errors."""
    with np.errstate(**errors), one_blas_thread():
        rows = zip(shards.pieces, *(each.pieces for each in held), strict=True)
        results = [work(*items, **small.content) for items in rows]
    edges = np.cumsum([0, *shards.sizes])
    totals = [sum_totals(total for _, total in results[a:b]) for a, b in pairwise(edges)]
    sums = add_nodes({(0, i): total for i, total in zip(numbers, totals, strict=True)}, count)
    return Held([kept for kept, _ in results], sums, shards.sizes)


def add_nodes(totals: Nodes, count: int) -> Nodes:
    """Return sums over `count` shards, added up as far as they are known.

    They are the nodes of a binary tree: a node is the sum of two consecutive nodes of the level below, in order, or the
    last one alone; those of level 0 are shards. So it does not matter who adds, and when: the sum has the same bits.

    Examples
    --------
    >>> from gramian.execution.held import add_nodes
    >>> add_nodes({(0, i): 1 for i in range(10)}, 10), add_nodes({(0, 3): 5}, 10)
    ({(4, 0): 10}, {(0, 3): 5})
    """
    found, level, below = dict(totals), 0, count
    while below > 1:
        for parent in sorted({i // 2 for depth, i in found if depth == level}):
            children = [(level, i) for i in range(2 * parent, min(2 * parent + 2, below))]
            if all(child in found for child in children):
                found[level + 1, parent] = sum_totals(found.pop(child) for child in children)
        level, below = level + 1, (below + 1) // 2
    return found


def cut_beside(cut: Callable[..., list[Any]], shard: Held, values: Opaque) -> Held:
    """Return the pieces of a block and of what belongs to its samples."""
    return Held(cut(shard.pieces[0], values.content))


def take_totals(outcome: Held) -> Held:
    """Return the totals of shards, without what they hold."""
    return Held([], outcome.totals)


def merge_totals(count: int, outcomes: list[Held]) -> Held:
    """Return the totals of some of `count` shards, added up as far as they are known."""
    return Held([], add_nodes({key: total for each in outcomes for key, total in each.totals.items()}, count))


def merge(*shards: Held) -> Held:
    """Return shards as one."""
    return Held([piece for shard in shards for piece in shard.pieces], shared=shards[0].shared)


def collect(*shards: Held) -> Held:
    """Return shards as one object that keeps them apart."""
    pieces = [piece for shard in shards for piece in shard.pieces]
    return Held(pieces, None, [len(shard.pieces) for shard in shards], shared=shards[0].shared)
