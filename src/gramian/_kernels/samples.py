"""Measurements of one sample each: rows of the image, squared and scaled."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def each_predict(Z: Any) -> Any:
    """Squared norms of the rows of Z, (N,)."""
    N, r = Z.shape
    prediction = np.empty(N, Z.dtype)
    for i in range(N):
        total = Z.dtype.type(0)
        for k in range(r):
            total += Z[i, k] * Z[i, k]
        prediction[i] = total
    return prediction


@compiled
def each_along(Z: Any, T: Any) -> Any:
    """The coefficients b, c of ‖z + s t‖² = a + b s + c s², one row a sample."""
    N, r = Z.shape
    b = np.empty(N, Z.dtype)
    c = np.empty(N, Z.dtype)
    for i in range(N):
        mixed = Z.dtype.type(0)
        square = Z.dtype.type(0)
        for k in range(r):
            mixed += Z[i, k] * T[i, k]
            square += T[i, k] * T[i, k]
        b[i] = mixed + mixed
        c[i] = square
    return b, c


@compiled
def each_weigh(weight: Any, Z: Any) -> Any:
    """The rows of Z, each times its weight."""
    N, r = Z.shape
    S = np.empty_like(Z)
    for i in range(N):
        for k in range(r):
            S[i, k] = weight[i] * Z[i, k]
    return S


@compiled
def shifted(Z: Any, T: Any, s: Any) -> Any:
    """Z + s T, both (N, r), without an array in between."""
    N, r = Z.shape
    moved = np.empty((N, r), Z.dtype)
    length = Z.dtype.type(s)
    for i in range(N):
        for k in range(r):
            moved[i, k] = Z[i, k] + length * T[i, k]
    return moved
