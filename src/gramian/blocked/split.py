"""The terms of an objective, split over the blocks of the samples.

A measurement of samples of one block stays with that block. Measurements of samples of several blocks are made on
copies of these samples, which are sent once, from worker to worker, into blocks of their own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gramian.blocked.work import gather_rows, make_block, stack_rows
from gramian.execution.dask import Dask
from gramian.execution.held import Opaque, count_bytes
from gramian.measurements import Measurement
from gramian.objective import Term
from gramian.types import Matrix, Vector

if TYPE_CHECKING:
    from gramian.blocked.features import BlockedFeatures

__all__ = ["SplitReport", "split_term"]

#: A block of samples from several blocks has at least this number of measurements.
LEAST_ACROSS = 4096
#: Where measurements keep the indices of their samples.
INDICES = ("pairs", "triplets", "quadruplets")


class SplitReport(NamedTuple):
    """How the measurements of an objective lie in the blocks.

    Attributes
    ----------
    n_blocks : int
        The number of blocks of the samples.
    n_inside : int
        The measurements of samples of one block.
    n_across : int
        The measurements of samples of several blocks.
    n_copied : int
        The samples that were copied for these, counted as often as they were sent.

    Examples
    --------
    >>> from gramian.blocked import SplitReport
    >>> SplitReport(2, 10, 30).share_inside
    0.25
    """

    n_blocks: int
    n_inside: int = 0
    n_across: int = 0
    n_copied: int = 0

    @property
    def share_inside(self) -> float:
        """The share of the measurements that are inside of blocks."""
        return self.n_inside / max(self.n_inside + self.n_across, 1)

    def plus(self, other: SplitReport) -> SplitReport:
        """Return the sum with the report of another term."""
        return SplitReport(self.n_blocks, *(a + b for a, b in zip(self[1:], other[1:], strict=True)))


class Piece(NamedTuple):
    """A block of an objective that is made on a worker.

    Attributes
    ----------
    sources : list
        Futures of blocks of samples.
    workers : list of str
        Their workers.
    rows : list
        The rows that are taken of each; None for all rows of one block.
    worker : str
        Where the block is made.
    slot : int
        Pieces of one slot share a shard.
    terms : list
    """

    sources: list[Any]
    workers: list[str]
    rows: list[Vector] | None
    worker: str
    slot: int
    terms: list[Any]

    def submit(self, execution: Dask) -> Any:
        """Return the future of the block."""
        features = self.sources[0]
        if self.rows is not None:
            parts = execution.map(gather_rows, self.workers, self.sources, self.rows)
            features = execution.submit(stack_rows, *parts, worker=self.worker)
        execution.traffic.sent += count_bytes(self.terms)
        return execution.submit(make_block, features, Opaque(self.terms), worker=self.worker)


class Split(NamedTuple):
    """Pieces of a term, and how its measurements lie in the blocks."""

    pieces: list[Piece]
    report: SplitReport


def split_term(features: BlockedFeatures, term: Any) -> Split:
    """Return a term on blocked features as pieces."""
    if term.separable:
        return split_separable(features, term)
    indices = samples_of_measurements(term.measurement) if isinstance(term, Term) else None
    if indices is None:
        piece = take_piece(features, np.arange(len(features)), term, 0)
        return Split([piece], SplitReport(features.n_blocks, 0, 1, len(features)))
    owners = np.searchsorted(features.edges, indices, side="right") - 1
    first, last = owners.min(axis=1), owners.max(axis=1)
    inside = np.flatnonzero(first == last)
    # Blocks in their order; within a block the measurements keep theirs.
    inside = inside[np.argsort(first[inside], kind="stable")]
    cuts = np.searchsorted(first[inside], np.arange(features.n_blocks + 1))
    groups = [inside[a:b] for a, b in pairwise(cuts)]
    slots = [b for b, group in enumerate(groups) if len(group)]
    groups = [groups[b] for b in slots]
    n_inside = len(slots)
    across = np.flatnonzero(first != last)
    if len(across):
        across = across[np.lexsort((last[across], first[across]))]
        count = min(features.n_blocks, -(-len(across) // LEAST_ACROSS))
        groups += [np.sort(part) for part in np.array_split(across, count)]
        # Spread over the blocks, and so over their workers.
        slots += [i * features.n_blocks // count for i in range(count)]
    pieces, n_copied = [], 0
    for k, (group, slot) in enumerate(zip(groups, slots, strict=True)):
        part, samples = term.take(group)
        pieces.append(take_piece(features, samples, part, slot))
        n_copied += len(samples) if k >= n_inside else 0
    return Split(pieces, SplitReport(features.n_blocks, len(inside), len(across), n_copied))


def split_separable(features: BlockedFeatures, term: Any) -> Split:
    """Return a term of one measurement a sample as one piece a block."""
    futures, workers, _ = features.shards
    pieces = [
        Piece([futures[b]], [workers[b]], None, workers[b], b, [term.take(slice(*features.edges[b : b + 2]))[0]])
        for b in range(features.n_blocks)
    ]
    return Split(pieces, SplitReport(features.n_blocks, len(features)))


def take_piece(features: BlockedFeatures, samples: Vector, term: Any, slot: int) -> Piece:
    """Return the piece of a term of some samples, ascending; those of one whole block are not copied."""
    owners, rows = features.part_rows(samples)
    sources = [features.shards.futures[b] for b in owners]
    workers = [features.shards.workers[b] for b in owners]
    whole = len(owners) == 1 and len(rows[0]) == features.edges[owners[0] + 1] - features.edges[owners[0]]
    return Piece(sources, workers, None if whole else rows, features.shards.workers[slot], slot, [term])


def samples_of_measurements(measurement: Measurement) -> Matrix | None:
    """Return the indices of the samples of each measurement, (m, k); None if it does not tell."""
    return next((getattr(measurement, name) for name in INDICES if hasattr(measurement, name)), None)
