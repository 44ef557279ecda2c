"""Streams over samples in blocks: the state of the stream goes from block to block, the samples stay."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.subspace import Stream, subspace_follow
from gramian.blocked import BlockedFeatures
from gramian.execution.held import Held, Opaque
from gramian.types import Matrix, Vector

__all__ = ["Settings", "coordinates_of", "follow_blocks", "list_coordinates"]

#: The number of entries of samples that are made dense at a time.
AT_ONCE = 2**22


class Settings(NamedTuple):
    """The settings of a stream: the share of older weights that is kept, greedy steps or not, a mean or not."""

    keep: float
    greedy: bool
    center: bool


def follow_blocks(X: BlockedFeatures, stream: Stream, settings: Settings, rng: Any = None) -> Stream:
    """Return the stream after one pass over the blocks: in random order, or in the given order if rng is None.

    The rows of a block follow one another, in random order; so do the blocks. No sample leaves its worker.
    """
    execution, (futures, workers, _) = X.execution, X.shards
    order = range(X.n_blocks) if rng is None else rng.permutation(X.n_blocks)
    state: Any = Opaque(stream)
    for b in order:
        seed = None if rng is None else int(rng.randint(2**31 - 1))
        state = execution.submit(follow_block, futures[b], state, settings, seed, worker=workers[b])
    return execution.gather([state])[0].content


def follow_block(shard: Held, state: Opaque, settings: Settings, seed: int | None) -> Opaque:
    """Return the stream after the samples of a block."""
    features = shard.pieces[0]
    n, d = features.shape
    order = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    stream = Stream(*(array.copy() for array in state.content))
    # Sparse samples are made dense a few at a time.
    step = max(1, AT_ONCE // d)
    for start in range(0, n, step):
        X = features.take(order[start : start + step]).dense()
        subspace_follow(X, np.arange(len(X)), stream, *settings)
    return Opaque(stream)


def list_coordinates(features: Any, *, components: Matrix, mean: Vector) -> tuple[None, list[Matrix]]:
    """List the coordinates of the samples of a block."""
    step = max(1, AT_ONCE // features.shape[1])
    cuts = [slice(start, start + step) for start in range(0, features.shape[0], step)]
    parts = [coordinates_of(features.take(cut).dense(), components, mean) for cut in cuts]
    return None, [np.concatenate(parts)]


def coordinates_of(X: Matrix, components: Matrix, mean: Vector) -> Matrix:
    """Return the coordinates (n, r) of samples X (n, d), some of whose entries may be NaN."""
    components = components.astype(X.dtype, copy=False)
    centred = X - mean.astype(X.dtype, copy=False)
    # NaN is expected here; and some versions of OpenBLAS raise this flag for finite products too.
    with np.errstate(invalid="ignore"):
        coordinates = centred @ components.T
    for i in np.flatnonzero(np.isnan(X).any(axis=1)):
        observed = ~np.isnan(X[i])
        # Residuals, which are not used, may overflow.
        with np.errstate(over="ignore"):
            coordinates[i] = np.linalg.lstsq(components[:, observed].T, centred[i, observed], rcond=None)[0]
    return coordinates
