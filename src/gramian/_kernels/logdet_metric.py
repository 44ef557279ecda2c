"""Compiled sequences of rank-one updates A += c v vᵀ of a metric A (d, d), with v = A z for the difference z of a pair.

An update is applied while A is read for the next product A z, so that each pair reads A once. Until the last pair only
the lower triangle of A is up to date. `first` and `second` are the indices (m,) of the samples of the pairs; `sense` is
-1 for at most, 0 for equal, +1 for at least.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled, helper


@helper
def read_difference(X: Any, i: Any, j: Any, z: Any) -> None:
    """Write x_i - x_j into z (d,)."""
    for k in range(z.shape[0]):
        z[k] = X[i, k] - X[j, k]


@compiled
def symmetric_product(A: Any, z: Any, w: Any) -> Any:
    """Write A z into w (d,), reading the lower triangle of A only, and return zᵀ w."""
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
def update_and_multiply(A: Any, c: Any, v: Any, z: Any, w: Any) -> Any:
    """Add c v vᵀ to the lower triangle of A, write the new A z into w (d,), and return zᵀ w."""
    if c == 0:
        return symmetric_product(A, z, w)
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
def update_and_symmetrise(A: Any, c: Any, v: Any) -> None:
    """Add c v vᵀ to the lower triangle of A and copy the result to the upper one."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] += c * v[i] * v[j]
            A[j, i] = A[i, j]


@compiled
def itml_cycle(X: Any, first: Any, second: Any, sense: Any, gamma: Any, A: Any, dual: Any, inverse: Any) -> Any:
    """Project onto every constraint once, update A, dual (m,) and inverse (m,) in place, and return Σ |change of dual|.

    inverse is 1/ξ for the relaxed bounds ξ. With p = zᵀAz, ρ = +1 for at most and ρ = -1 for at least:
    α = min(dual, γ/(γ+1) ρ (1/p - 1/ξ)), dual -= α, 1/ξ += ρα/γ, A += ρα/(1-ραp) v vᵀ.
    For equalities ρ = +1, and α is not limited by the dual.
    """
    d = A.shape[0]
    z, v, w = np.empty(d, A.dtype), np.zeros(d, A.dtype), np.empty(d, A.dtype)
    c = change = 0.0
    for e in range(first.shape[0]):
        read_difference(X, first[e], second[e], z)
        p = update_and_multiply(A, c, v, z, w)
        v, w = w, v
        c = 0.0
        if not p > 0:
            # A tiny distance was lost to rounding: no projection is possible.
            continue
        rho = -1.0 if sense[e] > 0 else 1.0
        alpha = gamma / (gamma + 1) * rho * (1 / p - inverse[e])
        if sense[e] != 0:
            alpha = min(dual[e], alpha)
        dual[e] -= alpha
        inverse[e] += rho * alpha / gamma
        c = rho * alpha / (1 - rho * alpha * p)
        change += abs(alpha)
    update_and_symmetrise(A, c, v)
    return change


@compiled
def lego_pass(X: Any, first: Any, second: Any, target: Any, sense: Any, eta: Any, A: Any) -> Any:
    """Take one LogDet step for each violated pair, in place on A, and return the number of steps.

    A step changes zᵀAz from p to s, the positive root of η p s² - (η y p - 1) s - p = 0 for the target y. So
    A += (s - p)/p² v vᵀ is positive definite for every η > 0.
    """
    d = A.shape[0]
    z, v, w = np.empty(d, A.dtype), np.zeros(d, A.dtype), np.empty(d, A.dtype)
    c = 0.0
    updates = 0
    for e in range(first.shape[0]):
        read_difference(X, first[e], second[e], z)
        p = update_and_multiply(A, c, v, z, w)
        v, w = w, v
        c = 0.0
        error = p - target[e]
        if p > 0 and error != 0 and sense[e] * error <= 0:
            q = eta * target[e] * p - 1
            root = np.hypot(q, 2 * np.sqrt(eta) * p)
            s = (root + q) / (2 * eta * p) if q > 0 else 2 * p / (root - q)
            c = (s - p) / p / p
            updates += 1
    update_and_symmetrise(A, c, v)
    return updates
