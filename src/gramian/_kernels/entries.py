"""Compiled measurements of entries: inner products of two rows of the image."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def entries_predict(entries: Any, Z: Any) -> Any:
    """Return the inner products <z_i, z_j> of the entries (i, j), shape (m,)."""
    m, r = entries.shape[0], Z.shape[1]
    prediction = np.empty(m, Z.dtype)
    for e in range(m):
        i, j = entries[e, 0], entries[e, 1]
        total = Z.dtype.type(0)
        for k in range(r):
            total += Z[i, k] * Z[j, k]
        prediction[e] = total
    return prediction


@compiled
def entries_along(entries: Any, Z: Any, T: Any) -> Any:
    """Return the coefficients b, c of the inner products a + b s + c s² along Z + s T, shape (m,) each."""
    m, r = entries.shape[0], Z.shape[1]
    b = np.empty(m, Z.dtype)
    c = np.empty(m, Z.dtype)
    for e in range(m):
        i, j = entries[e, 0], entries[e, 1]
        mixed = Z.dtype.type(0)
        square = Z.dtype.type(0)
        for k in range(r):
            mixed += Z[i, k] * T[j, k] + T[i, k] * Z[j, k]
            square += T[i, k] * T[j, k]
        b[e] = mixed
        c[e] = square
    return b, c


@compiled
def entries_weigh(entries: Any, weight: Any, Z: Any) -> Any:
    """Return ½ (A + Aᵀ) Z, shape (N, r), for the sparse matrix A of the weights, which is never formed."""
    m, r = entries.shape[0], Z.shape[1]
    S = np.zeros_like(Z)
    half = Z.dtype.type(0.5)
    for e in range(m):
        i, j, w = entries[e, 0], entries[e, 1], half * weight[e]
        if w != 0:
            for k in range(r):
                S[i, k] += w * Z[j, k]
                S[j, k] += w * Z[i, k]
    return S
