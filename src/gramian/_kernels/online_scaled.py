"""Compiled online descent in the scaled geometry; arguments as in `online.py`.

C and its inverse are (d, d), or empty for the identity. The damping η is level · tr(GCGᵀ)/r, where the level is
√(loss of the batch / its loss at W = 0), at most 1.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled
from gramian._kernels.online import CORRECT_EVERY, project_image, read_vector, squared_norm, weighted_slope


@compiled
def gram(G: Any, C: Any) -> Any:
    """Return GCGᵀ, (r, r), for a transposed factor G (r, d)."""
    return np.dot(np.dot(G, C) if C.size else G, G.T)


@compiled
def recompute_gram(G: Any, C: Any, K: Any) -> None:
    """Write GCGᵀ into K (r, r)."""
    # Loops compile several times faster than assignments of arrays.
    fresh = gram(G, C)
    for k in range(K.shape[0]):
        for i in range(K.shape[1]):
            K[k, i] = fresh[k, i]


@compiled
def damping(value: Any, zero: Any, K: Any) -> Any:
    """Return η for K = GCGᵀ, given the loss of a batch and its loss at W = 0."""
    level = min(1.0, np.sqrt(value / zero)) if zero > 0 and value >= 0 else 0.0
    trace = K.dtype.type(0)
    for k in range(K.shape[0]):
        trace += K[k, k]
    return K.dtype.type(max(level / K.shape[0], 4 * np.finfo(K.dtype).eps) * trace)


@compiled
def cholesky(A: Any, L: Any) -> Any:
    """Write the lower triangular L (r, r) with L Lᵀ = A; return False if A is not positive definite."""
    # These loops compile much faster than a call of LAPACK.
    for i in range(A.shape[0]):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = total / L[j, j]
            elif total > 0 and np.isfinite(total):
                L[i, i] = np.sqrt(total)
            else:
                return False
    return True


@compiled
def solve_matrix(L: Any, B: Any) -> None:
    """Overwrite B (r, c) by (L Lᵀ)⁻¹ B, a row at a time."""
    r, c = B.shape
    for i in range(r):
        for k in range(i):
            for j in range(c):
                B[i, j] -= L[i, k] * B[k, j]
        for j in range(c):
            B[i, j] /= L[i, i]
    for i in range(r - 1, -1, -1):
        for k in range(i + 1, r):
            for j in range(c):
                B[i, j] -= L[k, i] * B[k, j]
        for j in range(c):
            B[i, j] /= L[i, i]


@compiled
def solve_vector(L: Any, x: Any) -> None:
    """Overwrite x (r,) by (L Lᵀ)⁻¹ x."""
    r = x.shape[0]
    for i in range(r):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(r - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@compiled
def scaled_single_step(
    v: Any,
    target: Any,
    sense: Any,
    weight: Any,
    s: Any,
    inverse: Any,
    G: Any,
    K: Any,
    L: Any,
    z: Any,
    w: Any,
    u: Any,
) -> Any:
    """Take one scaled step for one measurement, in place on G and K = GCGᵀ; return False if it is not finite.

    G changes by -w uᵀ with u = C⁻¹v, w = 2 s · slope (K + η I)⁻¹ z and z = G v. K changes by a matrix of rank two, so
    that nothing costs O(d r²). L (r, r), z, w (r,) and u (d,) are workspace.
    """
    r, d = G.shape
    prediction = project_image(G, v, z)
    slope = weighted_slope(prediction, target, sense, weight)
    if slope == 0:
        return True
    nothing = target * 0
    zero = weighted_slope(nothing, target, sense, weight) * (nothing - target)
    eta = damping(slope * (prediction - target), zero, K)
    for k in range(r):
        K[k, k] += eta
    regular = eta > 0 and cholesky(K, L)
    for k in range(r):
        K[k, k] -= eta
    if not regular:
        return False
    if inverse.size:
        project_image(inverse, v, u)
    else:
        for j in range(d):
            u[j] = v[j]
    square = G.dtype.type(0)
    for j in range(d):
        square += v[j] * u[j]
    step = G.dtype.type(2 * s * slope)
    for k in range(r):
        w[k] = step * z[k]
    solve_vector(L, w)
    size = G.dtype.type(0)
    for k in range(r):
        size += w[k] * w[k]
    if not np.isfinite(size * square):
        return False
    for k in range(r):
        for j in range(d):
            G[k, j] -= w[k] * u[j]
    for k in range(r):
        for i in range(r):
            K[k, i] += square * w[k] * w[i] - w[k] * z[i] - z[k] * w[i]
    return True


@compiled
def scaled_batch_step(D: Any, value: Any, zero: Any, s: Any, C: Any, inverse: Any, G: Any, K: Any, L: Any) -> Any:
    """Take one scaled step for a batch, in place on G; return False if it is not finite.

    D (r, d) is the sum of slope · z vᵀ over the batch. D, K and L are overwritten.
    """
    eta = damping(value, zero, K)
    for k in range(K.shape[0]):
        K[k, k] += eta
    if not (np.isfinite(squared_norm(D)) and eta > 0 and cholesky(K, L)):
        return False
    step = np.dot(D, inverse) if C.size else D
    solve_matrix(L, step)
    if not np.isfinite(s * squared_norm(step)):
        return False
    length = G.dtype.type(2 * s)
    for k in range(G.shape[0]):
        for j in range(G.shape[1]):
            G[k, j] -= length * step[k, j]
    return True


@compiled
def scaled_online(
    X: Any,
    first: Any,
    second: Any,
    target: Any,
    sense: Any,
    weight: Any,
    order: Any,
    p: Any,
    steps: Any,
    adaptive: Any,
    C: Any,
    inverse: Any,
    G: Any,
) -> Any:
    """Run online descent in the scaled geometry, in place on G (r, d); return how many steps were skipped.

    For each batch G -= s · 2 (GCGᵀ + η I)⁻¹ G M C⁻¹, where M (d, d) is the mean of slope · v vᵀ over the batch.
    """
    r, d = G.shape
    v, u = np.empty(d, G.dtype), np.empty(d, G.dtype)
    z, w = np.empty(r, G.dtype), np.empty(r, G.dtype)
    K, L = gram(G, C), np.zeros((r, r), G.dtype)
    D = np.zeros((r, d), G.dtype)
    skipped = 0
    for batch in range(steps.shape[0]):
        start, stop = batch * p, min((batch + 1) * p, order.shape[0])
        s = steps[batch]
        if adaptive:
            s /= max(squared_norm(G), 1)
        if stop - start == 1:
            row = order[start]
            read_vector(X, first[row], second[row], v)
            # If p > 1, this last batch of one follows larger batches, which do not update K.
            if p > 1 or (batch + 1) % CORRECT_EVERY == 0:
                recompute_gram(G, C, K)
            if not scaled_single_step(v, target[row], sense[row], weight[row], s, inverse, G, K, L, z, w, u):
                skipped += 1
            continue
        for k in range(r):
            for j in range(d):
                D[k, j] = 0
        value = 0.0
        zero = 0.0
        for e in range(start, stop):
            row = order[e]
            read_vector(X, first[row], second[row], v)
            prediction = project_image(G, v, z)
            slope = weighted_slope(prediction, target[row], sense[row], weight[row])
            value += slope * (prediction - target[row])
            nothing = target[row] * 0
            zero += weighted_slope(nothing, target[row], sense[row], weight[row]) * (nothing - target[row])
            for k in range(r):
                c = slope * z[k]
                for j in range(d):
                    D[k, j] += c * v[j]
        if value != 0:
            recompute_gram(G, C, K)
            if not scaled_batch_step(D, value, zero, s / (stop - start), C, inverse, G, K, L):
                skipped += 1
    return skipped
