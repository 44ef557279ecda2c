"""Features whose samples are in blocks on workers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gramian._checkpoints import hash_texts
from gramian.blocked.split import SplitReport, split_term
from gramian.blocked.work import (
    centre_block,
    count_columns,
    cut_block,
    gather_rows,
    join_block,
    keep_present,
    list_extremes,
    list_hashes,
    list_images,
    mark_columns,
    pull_block,
    scale_block,
    stack_features,
    sum_columns,
    take_block,
)
from gramian.columns import WIDE, Columns, Joined, joins_columns, should_drop_absent
from gramian.coordinates import mean_outweighs_spread
from gramian.execution.dask import Dask
from gramian.execution.held import Placed
from gramian.extremes import Extremes
from gramian.mapped import SMALL
from gramian.objective import make_explicit
from gramian.types import Matrix, Rows, Vector

__all__ = ["BlockedFeatures"]

#: The number of bytes up to which samples that are taken come to the driver; more of them stay on their workers.
GATHERED = 2**26


class BlockedFeatures:
    """Samples (N, d) in blocks on workers, in the order of the blocks.

    Images come to the driver, as do samples that are taken, if they are few. Everything else is done beside the blocks.

    Parameters
    ----------
    execution : Dask
    shards : Placed
        The features of the blocks.
    lengths : sequence of int
        The numbers of samples of the blocks.
    n_features : int
    dtype : dtype
    n_bytes : int
        The bytes of all samples.
    columns : tuple of str, optional
        The names of the features.

    Examples
    --------
    >>> from gramian.blocked import BlockedFeatures
    >>> from gramian.execution.dask import Dask
    >>> from gramian.execution.held import Placed
    >>> BlockedFeatures(Dask(), Placed([], []), [2, 3], 4, float, 160).shape
    (5, 4)
    """

    ndim = 2
    #: A product is not shared out over threads, and no sample is on the driver.
    n_pieces, sliceable = 1, False

    def __init__(
        self,
        execution: Dask,
        shards: Placed,
        lengths: Any,
        n_features: int,
        dtype: Any,
        n_bytes: int,
        columns: tuple[str, ...] | None = None,
    ) -> None:
        self.execution, self.shards = execution, shards
        self.edges = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        self.n_features, self.dtype, self.n_bytes, self.columns = n_features, np.dtype(dtype), n_bytes, columns
        #: How objectives were split over the blocks, the last at the end.
        self.reports: list[SplitReport] = []

    def like(self, shards: Placed, lengths: Any = None, n_bytes: int | None = None) -> BlockedFeatures:
        """Return features of other blocks of the same width and type."""
        lengths = np.diff(self.edges) if lengths is None else lengths
        n_bytes = self.n_bytes if n_bytes is None else n_bytes
        other = BlockedFeatures(self.execution, shards, lengths, self.n_features, self.dtype, n_bytes, self.columns)
        other.reports = self.reports
        return other

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features, (N, d)."""
        return int(self.edges[-1]), self.n_features

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self.edges) - 1

    @cached_property
    def extremes(self) -> Extremes:
        """The smallest and the largest value of every column; one pass."""
        found = self.execution.run(list_extremes, self.shards)[1]
        low, high = np.fmin.reduce([each.low for each in found]), np.fmax.reduce([each.high for each in found])
        return Extremes(low, high, any(each.missing for each in found))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the hashes of the blocks, in their order; one pass."""
        return hash_texts(self.execution.run(list_hashes, self.shards)[1])

    def fewer_columns(self, *, join: bool) -> Columns | None:
        """Return sparse samples in fewer features, as `gramian.columns.fewer_columns`; None if few are saved."""
        (n, d), run = self.shape, self.execution.run
        if d <= WIDE:
            return None
        join = join and n < d
        counts = run(count_columns, self.shards)[1] if join else run(mark_columns, self.shards)[1]
        if counts is None:
            return None
        if join and joins_columns(counts, n):
            return self.join_columns(counts)
        indices = np.flatnonzero(counts)
        if not should_drop_absent(indices, d):
            return None
        fewer = self.like(run(keep_present, self.shards, present=np.packbits(counts > 0))[0])
        fewer.n_features, fewer.columns = len(indices), None
        return Columns(fewer, indices, d)

    def join_columns(self, counts: Vector) -> Columns:
        """Return sparse samples with the features that occur once joined, for the number of entries (d,) of each."""
        n, several = len(self), counts > 1
        rows = self.place_with(cut_block, np.arange(n))
        # As bits, they are small enough to be kept by the scheduler: a lost block can be joined again.
        bits = {"once": np.packbits(counts == 1), "several": np.packbits(several)}
        shards, parts = self.execution.run(join_block, rows, **bits, n_samples=n)
        indices, places, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        fewer = self.like(shards)
        fewer.n_features, fewer.columns = int(np.count_nonzero(several)) + n, None
        return Joined(fewer, indices, places, weights).columns(counts)

    def image(self, B: Matrix) -> Matrix:
        """Return X B, shape (N, k), on the driver; one pass."""
        return np.concatenate(self.execution.run(list_images, self.shards, B=B)[1])

    def __matmul__(self, B: Matrix) -> Matrix:
        return self.image(B)

    def pull(self, S: Matrix) -> Matrix:
        """Return Xᵀ S, shape (d, k); one pass. The rows of S are sent to their blocks."""
        return self.execution.run(pull_block, self.place_with(cut_block, S))[1]

    def __mul__(self, factor: Any) -> BlockedFeatures:
        """Return the samples times a number, or each column times its own (d,); copies on the workers."""
        return self.like(self.execution.run(scale_block, self.shards, factor=factor)[0])

    def astype(self, dtype: Any, copy: bool = True) -> BlockedFeatures:
        """Return the samples themselves; raise a ValueError if another type than theirs is asked for."""
        if np.dtype(dtype) != self.dtype:
            raise ValueError(f"blocks of {self.dtype} are used where {np.dtype(dtype)} is needed. Give X as {dtype}.")
        return self

    def centred(self) -> BlockedFeatures:
        """Return the samples less their mean; copied on the workers if few, or if rounding errors would matter."""
        n = len(self)
        mean = self.execution.run(sum_columns, self.shards)[1] / n
        some = self.take(np.arange(0, n, -(-n // 1000)))
        dense = hasattr(some, "X") and isinstance(some.X, np.ndarray)
        copied = dense and (self.n_bytes <= SMALL or mean_outweighs_spread(some.dense(), mean))
        return self.like(self.execution.run(centre_block, self.shards, mean=mean, copied=bool(copied))[0])

    def take(self, rows: Rows) -> Any:
        """Return the features of some samples: on the driver if they are few or in another order, else in blocks."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        rows = np.where(rows < 0, rows + len(self), rows)
        size, ascending = self.n_bytes * len(rows) / max(len(self), 1), bool((rows[1:] > rows[:-1]).all())
        return self[rows] if size > GATHERED and ascending else self.gather(rows)

    def gather(self, rows: Vector) -> Any:
        """Return the features of some samples, by index, on the driver."""
        order = np.argsort(rows, kind="stable")
        found, positions = np.unique(rows[order], return_inverse=True)
        owners, parts = self.part_rows(found)
        shards = self.execution.map(
            gather_rows, [self.shards.workers[b] for b in owners], [self.shards.futures[b] for b in owners], parts
        )
        gathered = stack_features([part.content for part in self.execution.gather(shards)])
        places = np.empty(len(rows), np.intp)
        places[order] = positions
        return gathered if np.array_equal(places, np.arange(len(found))) else gathered.take(places)

    def __getitem__(self, rows: Vector) -> BlockedFeatures:
        """Return some samples, ascending, as blocks on the workers that have them."""
        owners, parts = self.part_rows(rows)
        workers = [self.shards.workers[b] for b in owners]
        futures = self.execution.map(take_block, workers, [self.shards.futures[b] for b in owners], parts)
        n_bytes = int(self.n_bytes * len(rows) / max(len(self), 1))
        return self.like(Placed(futures, workers), [len(part) for part in parts], n_bytes)

    def part_rows(self, rows: Vector) -> tuple[list[int], list[Vector]]:
        """Return the blocks of ascending indices of samples, and the rows within each."""
        cuts = np.searchsorted(rows, self.edges)
        owners = [b for b in range(self.n_blocks) if cuts[b + 1] > cuts[b]]
        return owners, [rows[cuts[b] : cuts[b + 1]] - self.edges[b] for b in owners]

    def place_with(self, cut: Any, values: Any = None) -> Placed:
        """Return shards of the pieces cut(features, values) of each block; values (N, ...) have a row for each sample.

        `cut` returns a list of pieces.
        """
        parts = [None if values is None else values[a:b] for a, b in zip(self.edges, self.edges[1:], strict=False)]
        return self.execution.place_beside(cut, self.shards, parts)

    def split_block(self, block: Any) -> list[Any]:
        """Return pieces of a block of these features: what one block can compute stays there."""
        splits = [split_term(self, term) for term in make_explicit(block.terms, self.dtype)]
        report = SplitReport(self.n_blocks)
        for split in splits:
            report = report.plus(split.report)
        self.reports.append(report)
        return [piece for split in splits for piece in split.pieces]

    def dense(self) -> Matrix:
        """Return all samples as an array on the driver, shape (N, d)."""
        return self.gather(np.arange(len(self))).dense()

    def stored_rows(self, *, differences: bool) -> None:
        """Return None: the rows are on workers."""
        return None
