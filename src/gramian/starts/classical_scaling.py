"""Classical scaling as a start, from known dissimilarities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse.linalg
from scipy.sparse.csgraph import dijkstra

from gramian._kernels.triangles import triangle_unpack
from gramian.situation import Situation
from gramian.types import Matrix, Vector

__all__ = ["Dissimilarities", "classical_scaling", "classical_start"]

# An incomplete matrix starts from classical scaling of this number of samples, by shortest paths; the others follow.
LANDMARKS = 50


class Dissimilarities(NamedTuple):
    """Known dissimilarities, squared, of pairs (i, j) with j < i, in the order of a lower triangle's rows.

    `graph` has the distances as a sparse lower triangle (n, n), those of 0 kept; None where all pairs are known.
    """

    n_samples: int
    pairs: Matrix
    squared: Vector
    weight: Vector
    graph: Any = None

    @property
    def complete(self) -> bool:
        """True if every pair is known."""
        return len(self.pairs) == self.n_samples * (self.n_samples - 1) // 2

    def take(self, rows: Vector) -> Dissimilarities:
        """Return some of them."""
        if np.array_equal(rows, np.arange(len(self.pairs))):
            return self
        return Dissimilarities(self.n_samples, self.pairs[rows], self.squared[rows], self.weight[rows])

    def unique(self) -> Distinct:
        """Return which of the rows are of the same pair; pairs are in the order of the lower triangle."""
        keys = self.pairs[:, 0] * (self.pairs[:, 0] - 1) // 2 + self.pairs[:, 1]
        return Distinct(*np.unique(keys, return_index=True, return_inverse=True)[1:])


class Distinct(NamedTuple):
    """The first row of each different pair, and which of these pairs every row is."""

    first: Vector
    inverse: Vector


class Eigenvectors(NamedTuple):
    """Eigenvalues (r,), ascending, and eigenvectors (k, r)."""

    values: Vector
    vectors: Matrix


def classical_start(situation: Situation, rank: int) -> Matrix:
    """Return classical scaling of the dissimilarities, (n, r)."""
    return classical_scaling(situation.dissimilarities, rank)


def classical_scaling(known: Dissimilarities, rank: int) -> Matrix:
    """Return classical scaling (n, r); where pairs are unknown, of shortest paths from some landmarks."""
    n = known.n_samples
    landmarks: Any = slice(None)
    if known.complete:
        squares = triangle_unpack(known.squared, n)
    else:
        landmarks = np.random.default_rng(0).permutation(n)[: max(LANDMARKS, 2 * rank)]
        squares = dijkstra(known.graph, directed=False, indices=landmarks).astype(known.squared.dtype) ** 2
    products = -0.5 * (squares - squares[:, landmarks].mean(axis=1, keepdims=True))
    core = products[:, landmarks] - products[:, landmarks].mean(axis=0)
    values, vectors = largest_eigenvectors(core, rank)
    if not values[-1] > 0:
        return np.random.default_rng(0).standard_normal((n, rank)).astype(core.dtype)
    placed = products.T @ vectors
    # No dimension may be lost: the worse the fit, the more is left of those with small or negative eigenvalues.
    missing = max(float(np.vdot(core, core) - np.vdot(values, values)), 0.0) ** 0.5 / values[-1]
    least = max(1e-2 * min(missing, 1.0), 1e-10) * values[-1]
    norms = np.maximum(np.linalg.norm(placed, axis=0), np.finfo(core.dtype).tiny)
    return placed / np.where(values > least, np.sqrt(np.abs(values)), norms / np.sqrt(least * n / len(core)))


def largest_eigenvectors(core: Matrix, rank: int) -> Eigenvectors:
    """Return the largest eigenvalues (r,), ascending, and eigenvectors (k, r) of a symmetric matrix."""
    k = len(core)
    if k <= max(10 * rank, 4 * LANDMARKS):
        return Eigenvectors(*(part[..., -rank:] for part in np.linalg.eigh(core)))
    start = np.random.default_rng(0).standard_normal(k).astype(core.dtype)
    return Eigenvectors(*scipy.sparse.linalg.eigsh(core, k=rank, which="LA", v0=start, tol=1e-4))
