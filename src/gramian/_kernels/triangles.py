"""Compiled conversions between square matrices and vectors of their entries below the diagonal, ordered by rows.

The loops go tile by tile, because half of the accesses run down columns.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled

TILE = 32


@compiled
def triangle_pairs(n: Any) -> Any:
    """Return the pairs (i, j), j < i < n, ordered by i and then j, shape (n (n - 1)/2, 2)."""
    pairs = np.empty((n * (n - 1) // 2, 2), np.int64)
    k = 0
    for i in range(n):
        for j in range(i):
            pairs[k, 0] = i
            pairs[k, 1] = j
            k += 1
    return pairs


@compiled
def triangle_pack(A: Any) -> Any:
    """Return the entries A_ij and A_ji of the pairs j < i, shape (n (n - 1)/2,) each."""
    n = A.shape[0]
    below = np.empty(n * (n - 1) // 2, A.dtype)
    above = np.empty(n * (n - 1) // 2, A.dtype)
    for first in range(0, n, TILE):
        for second in range(0, first + 1, TILE):
            for i in range(first, min(first + TILE, n)):
                for j in range(second, min(second + TILE, i)):
                    below[i * (i - 1) // 2 + j] = A[i, j]
                    above[i * (i - 1) // 2 + j] = A[j, i]
    return below, above


@compiled
def triangle_unpack(values: Any, n: Any) -> Any:
    """Return the symmetric matrix, shape (n, n), with these values below its diagonal and zeros on it."""
    A = np.zeros((n, n), values.dtype)
    for first in range(0, n, TILE):
        for second in range(0, first + 1, TILE):
            for i in range(first, min(first + TILE, n)):
                for j in range(second, min(second + TILE, i)):
                    A[i, j] = values[i * (i - 1) // 2 + j]
                    A[j, i] = A[i, j]
    return A
