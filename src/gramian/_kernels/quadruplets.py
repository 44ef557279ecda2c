"""Compiled measurements of quadruplets (a, b, c, e): the squared distance of (c, e) minus that of (a, b)."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def quadruplets_predict(quadruplets: Any, Z: Any) -> Any:
    """Return ‖z_c - z_e‖² - ‖z_a - z_b‖² for quadruplets (a, b, c, e), shape (m,)."""
    m, r = quadruplets.shape[0], Z.shape[1]
    prediction = np.empty(m, Z.dtype)
    for q in range(m):
        a, b, c, e = quadruplets[q, 0], quadruplets[q, 1], quadruplets[q, 2], quadruplets[q, 3]
        total = Z.dtype.type(0)
        for k in range(r):
            far = Z[c, k] - Z[e, k]
            near = Z[a, k] - Z[b, k]
            total += far * far - near * near
        prediction[q] = total
    return prediction


@compiled
def quadruplets_along(quadruplets: Any, Z: Any, T: Any) -> Any:
    """Return the linear and the quadratic coefficients in s of the predictions along Z + s T, shape (m,) each."""
    m, r = quadruplets.shape[0], Z.shape[1]
    linear = np.empty(m, Z.dtype)
    quadratic = np.empty(m, Z.dtype)
    for q in range(m):
        a, b, c, e = quadruplets[q, 0], quadruplets[q, 1], quadruplets[q, 2], quadruplets[q, 3]
        mixed = Z.dtype.type(0)
        square = Z.dtype.type(0)
        for k in range(r):
            far = T[c, k] - T[e, k]
            near = T[a, k] - T[b, k]
            mixed += (Z[c, k] - Z[e, k]) * far - (Z[a, k] - Z[b, k]) * near
            square += far * far - near * near
        linear[q] = mixed + mixed
        quadratic[q] = square
    return linear, quadratic


@compiled
def quadruplets_weigh(quadruplets: Any, weight: Any, Z: Any) -> Any:
    """Return (L_far - L_near) Z, shape (N, r), for the graph Laplacians of the pairs (c, e) and (a, b)."""
    m, r = quadruplets.shape[0], Z.shape[1]
    S = np.zeros_like(Z)
    for q in range(m):
        a, b, c, e = quadruplets[q, 0], quadruplets[q, 1], quadruplets[q, 2], quadruplets[q, 3]
        w = weight[q]
        if w != 0:
            for k in range(r):
                far = w * (Z[c, k] - Z[e, k])
                near = w * (Z[a, k] - Z[b, k])
                S[c, k] += far
                S[e, k] -= far
                S[a, k] -= near
                S[b, k] += near
    return S
