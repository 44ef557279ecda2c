"""What is done beside blocks of samples on workers. Totals that are lists are joined in the order of the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from gramian._checkpoints import describe
from gramian.columns import join_columns, keep_columns
from gramian.execution.held import Held, Opaque
from gramian.extremes import Extremes, extremes_of
from gramian.features import Array, Centred, Features, Sparse
from gramian.objective import Block
from gramian.types import Matrix, Vector

__all__ = [
    "centre_block",
    "count_columns",
    "cut_block",
    "gather_rows",
    "join_block",
    "keep_present",
    "list_extremes",
    "list_hashes",
    "list_images",
    "make_block",
    "mark_columns",
    "pull_block",
    "scale_block",
    "stack_features",
    "stack_rows",
    "sum_columns",
    "take_block",
]


def list_hashes(features: Any) -> tuple[None, list[str]]:
    """List the dtype, the shape and a hash of the samples."""
    return None, [describe(features.X)]


def list_extremes(features: Any) -> tuple[None, list[Extremes]]:
    """List the extremes of the columns."""
    return None, [extremes_of(features.X)]


def list_images(features: Features, *, B: Matrix) -> tuple[None, list[Matrix]]:
    """List the images of the samples."""
    return None, [features.image(B.astype(features.dtype, copy=False))]


def count_columns(features: Any) -> tuple[None, Vector | None]:
    """Count the entries of each column of a sparse block; None for a dense one."""
    if not isinstance(features, Sparse):
        return None, None
    return None, np.bincount(features.X.indices, minlength=features.shape[1])


def mark_columns(features: Any) -> tuple[None, Vector | None]:
    """Tell which columns of a sparse block have entries, True for each (the sum is a union); None for a dense one."""
    if not isinstance(features, Sparse):
        return None, None
    present = np.zeros(features.shape[1], bool)
    present[features.X.indices] = True
    return None, present


def join_block(
    rows: Any, *, once: Vector, several: Vector, n_samples: int
) -> tuple[Sparse, list[tuple[Vector, Vector, Vector]]]:
    """Keep the samples with features that occur once joined; list which these are, their places and weights.

    Which features occur once, and which in several samples, is told by one bit for each (`np.packbits`).
    """
    X = rows.features.X
    counts = np.unpackbits(once, count=X.shape[1]) + 2 * np.unpackbits(several, count=X.shape[1])
    joined = join_columns(X, counts, rows.values, n_samples)
    return joined.features, [(joined.indices, joined.places, joined.weights)]


def keep_present(features: Any, *, present: Vector) -> tuple[Sparse, None]:
    """Keep the columns that are told by one bit for each (`np.packbits`) alone."""
    indices = np.flatnonzero(np.unpackbits(present, count=features.shape[1]))
    return keep_columns(features.X, indices), None


def sum_columns(features: Any) -> tuple[None, Vector]:
    """Sum the samples, in float64."""
    return None, np.asarray(features.X.sum(axis=0, dtype=np.float64)).ravel()


def scale_block(features: Any, *, factor: Any) -> tuple[Array | Sparse, None]:
    """Keep the samples times a number, or each column times its own."""
    factor = np.asarray(factor).astype(features.dtype)
    if isinstance(features, Sparse):
        return Sparse.of_checked(
            scipy.sparse.csr_array(features.X.multiply(factor[None] if factor.ndim else factor))
        ), None
    return Array(features.X * factor), None


def centre_block(features: Any, *, mean: Vector, copied: bool) -> tuple[Array | Centred, None]:
    """Keep the samples less their mean, as a copy or not."""
    return Array(features.X - mean.astype(features.dtype)) if copied else Centred(features, mean), None


class Slice:
    """Features of a block, and what belongs to each of its samples."""

    def __init__(self, features: Features, values: Any) -> None:
        self.features, self.values = features, values


def cut_block(features: Features, values: Any) -> list[Slice]:
    """Return one piece: a block with what belongs to its samples."""
    return [Slice(features, values)]


def pull_block(rows: Slice) -> tuple[None, Matrix]:
    """Sum Xᵀ S."""
    return None, rows.features.pull(rows.values)


def gather_rows(shard: Held, rows: Vector) -> Opaque:
    """Return some samples of a block, for another worker or the driver."""
    return Opaque(shard.pieces[0].take(rows))


def take_block(shard: Held, rows: Vector) -> Held:
    """Return some samples of a block as a block."""
    return Held([shard.pieces[0].take(rows)])


def stack_rows(*parts: Opaque) -> Held:
    """Return samples of several blocks as one block."""
    return Held([stack_features([part.content for part in parts])])


def stack_features(parts: list[Any]) -> Any:
    """Return features of one kind as one, in their order."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Centred):
        inner = stack_features([part.features for part in parts])
        return Centred(inner, parts[0].mean)
    if isinstance(parts[0], Sparse):
        stacked = scipy.sparse.vstack([part.X for part in parts], format="csr")
        return Sparse.of_checked(scipy.sparse.csr_array(stacked))
    return Array(np.concatenate([part.X for part in parts]))


def make_block(features: Held, terms: Opaque) -> Held:
    """Return a block of an objective on a worker, in pieces that are worked on apart."""
    return Held(Block(features.pieces[0], terms.content).split(), shared=True)
