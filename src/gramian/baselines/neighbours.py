"""The graph of nearest neighbours, by the distances of a kernel."""

from __future__ import annotations

import numpy as np

from gramian.types import Matrix

__all__ = ["kernel_distances", "neighbour_edges"]


def kernel_distances(K: Matrix) -> Matrix:
    """Return the squared distances K_ii + K_jj - 2 K_ij, shape (n, n)."""
    return np.maximum(np.diag(K)[:, None] + np.diag(K) - 2 * K, 0)


def neighbour_edges(distances: Matrix, n_neighbors: int) -> Matrix:
    """Return the pairs i < j, shape (m, 2), where one sample is among the n_neighbors nearest of the other.

    These are all pairs if n_neighbors >= n - 1.
    """
    n = len(distances)
    k = min(n_neighbors, n - 1)
    apart = distances + np.diag(np.full(n, np.inf))
    near = np.zeros((n, n), bool)
    np.put_along_axis(near, np.argsort(apart, axis=1, kind="stable")[:, :k], True, axis=1)
    return np.argwhere(np.triu(near | near.T))
