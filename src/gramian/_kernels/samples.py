"""Compiled measurements of one sample each, and the addition of two images."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def each_predict(Z: Any) -> Any:
    """Return the squared norms of the rows of Z, shape (N,)."""
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
    """Return the coefficients b, c of ‖z + s t‖² = a + b s + c s² for the rows z of Z and t of T, shape (N,) each."""
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
    """Return the rows of Z, each multiplied by its weight, shape (N, r)."""
    N, r = Z.shape
    S = np.empty_like(Z)
    for i in range(N):
        for k in range(r):
            S[i, k] = weight[i] * Z[i, k]
    return S


@compiled
def add_scaled(Z: Any, T: Any, s: Any) -> Any:
    """Return Z + s T, shape (N, r), without a temporary array."""
    N, r = Z.shape
    moved = np.empty((N, r), Z.dtype)
    length = Z.dtype.type(s)
    for i in range(N):
        for k in range(r):
            moved[i, k] = Z[i, k] + length * T[i, k]
    return moved
