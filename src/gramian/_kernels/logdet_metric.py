"""Sequences of rank-one updates A += c v vᵀ of a metric, v = A z for the difference z of a pair, compiled.

The next product A z needs A with the last update made: both happen in one pass over the lower triangle, which is all
that is kept up to date. `first` and `second` number the samples of a pair; `sense` is -1 at most, 0 equal, +1 at least.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled
from gramian._kernels.online import read


@compiled
def product(A: Any, z: Any, w: Any) -> Any:
    """w = A z, from the lower triangle of A; returns zᵀ w."""
    d = A.shape[0]
    w[:] = 0
    if d % 2:
        w[0] = A[0, 0] * z[0]
    # Two rows at a time, so that w is read and written half as often.
    for i in range(d % 2, d, 2):
        row, below = A[i], A[i + 1]
        z0, z1 = z[i], z[i + 1]
        sum0, sum1 = row[i] * z0 + below[i] * z1, below[i] * z0 + below[i + 1] * z1
        for j in range(i):
            sum0 += row[j] * z[j]
            sum1 += below[j] * z[j]
            w[j] += row[j] * z0 + below[j] * z1
        w[i] += sum0
        w[i + 1] += sum1
    return w @ z


@compiled
def advance(A: Any, c: Any, v: Any, z: Any, w: Any) -> Any:
    """w = (A + c v vᵀ) z, where A takes on the update too, in its lower triangle; returns zᵀ w."""
    if c == 0:
        return product(A, z, w)
    d = A.shape[0]
    w[:] = 0
    if d % 2:
        A[0, 0] += c * v[0] * v[0]
        w[0] = A[0, 0] * z[0]
    for i in range(d % 2, d, 2):
        row, below = A[i], A[i + 1]
        z0, z1 = z[i], z[i + 1]
        c0, c1 = c * v[i], c * v[i + 1]
        row[i] += c0 * v[i]
        below[i] += c1 * v[i]
        below[i + 1] += c1 * v[i + 1]
        sum0, sum1 = row[i] * z0 + below[i] * z1, below[i] * z0 + below[i + 1] * z1
        for j in range(i):
            a, b = row[j] + c0 * v[j], below[j] + c1 * v[j]
            row[j], below[j] = a, b
            sum0 += a * z[j]
            sum1 += b * z[j]
            w[j] += a * z0 + b * z1
        w[i] += sum0
        w[i + 1] += sum1
    return w @ z


@compiled
def complete(A: Any, c: Any, v: Any) -> None:
    """A += c v vᵀ, in the lower triangle; the upper one is made its mirror image."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] += c * v[i] * v[j]
            A[j, i] = A[i, j]


@compiled
def itml_cycle(X: Any, first: Any, second: Any, sense: Any, gamma: Any, A: Any, dual: Any, inverse: Any) -> Any:
    """One projection onto each constraint, in place on A, the duals (m,) and 1/ξ (m,) of slacked bounds: Σ |Δ dual|.

    With p = zᵀAz, ρ = +1 for at most and -1 for at least: α = min(dual, γ/(γ+1) ρ (1/p - 1/ξ)), dual -= α,
    1/ξ += ρα/γ, A += ρα/(1-ραp) v vᵀ; for equalities ρ = +1, and the dual sets no limit.
    """
    d = A.shape[0]
    z, v, w = np.empty(d, A.dtype), np.zeros(d, A.dtype), np.empty(d, A.dtype)
    c = change = 0.0
    for e in range(first.shape[0]):
        read(X, first[e], second[e], z)
        p = advance(A, c, v, z, w)
        v, w = w, v
        c = 0.0
        if not p > 0:
            # Rounding has left nothing of a distance that was next to nothing.
            continue
        rho = -1.0 if sense[e] > 0 else 1.0
        alpha = gamma / (gamma + 1) * rho * (1 / p - inverse[e])
        if sense[e] != 0:
            alpha = min(dual[e], alpha)
        dual[e] -= alpha
        inverse[e] += rho * alpha / gamma
        c = rho * alpha / (1 - rho * alpha * p)
        change += abs(alpha)
    complete(A, c, v)
    return change


@compiled
def lego_pass(X: Any, first: Any, second: Any, target: Any, sense: Any, eta: Any, A: Any) -> Any:
    """One LogDet step for each violated pair, in place on A. Returns their number.

    The step leaves zᵀAz = s, the positive root of η p s² - (η y p - 1) s - p = 0 for p = zᵀAz before it and target y,
    so that A += (s - p)/p² v vᵀ is positive definite for every η.
    """
    d = A.shape[0]
    z, v, w = np.empty(d, A.dtype), np.zeros(d, A.dtype), np.empty(d, A.dtype)
    c = 0.0
    updates = 0
    for e in range(first.shape[0]):
        read(X, first[e], second[e], z)
        p = advance(A, c, v, z, w)
        v, w = w, v
        c = 0.0
        error = p - target[e]
        if p > 0 and error != 0 and sense[e] * error <= 0:
            q = eta * target[e] * p - 1
            root = np.hypot(q, 2 * np.sqrt(eta) * p)
            s = (root + q) / (2 * eta * p) if q > 0 else 2 * p / (root - q)
            c = (s - p) / p / p
            updates += 1
    complete(A, c, v)
    return updates
