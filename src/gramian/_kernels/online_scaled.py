"""Compiled online descent in the scaled geometry; arguments as in `online.py`.

C and its inverse are (d, d), or empty for the identity. The damping η is level · tr(GCGᵀ)/r, where the level is
√(loss of the batch / its loss at W = 0), at most 1; 1 if W = 0 has no loss and the factor has.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled_slowly, helper
from gramian._kernels.online import CORRECT_EVERY, read_and_predict, squared_norm, sum_batch, weighted_slope
from gramian._kernels.products import multiply, row_products, subtract
from gramian._kernels.rows import add_outer, row_workspace, squared_length


@helper
def compute_gram(G: Any, C: Any, GC: Any, K: Any) -> None:
    """Write GCGᵀ into K (r, r), for a transposed factor G (r, d); GC (r, d) is workspace."""
    if C.size:
        multiply(G, C, GC)
        row_products(GC, G, K)
    else:
        row_products(G, G, K)


@helper
def damping(value: Any, zero: Any, K: Any) -> Any:
    """Return η for K = GCGᵀ, given the loss of a batch and its loss at W = 0."""
    level = 0.0
    if value > 0 and zero >= 0:
        level = min(1.0, np.sqrt(value / zero)) if zero > 0 else 1.0
    trace = K.dtype.type(0)
    for k in range(K.shape[0]):
        trace += K[k, k]
    return K.dtype.type(max(level / K.shape[0], 4 * np.finfo(K.dtype).eps) * trace)


@helper
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


@helper
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


@helper
def solve_vector(L: Any, x: Any) -> None:
    """Overwrite x[0] (r,) by (L Lᵀ)⁻¹ x[0]."""
    r = x.shape[1]
    for i in range(r):
        total = x[0, i]
        for k in range(i):
            total -= L[i, k] * x[0, k]
        x[0, i] = total / L[i, i]
    for i in range(r - 1, -1, -1):
        x[0, i] /= L[i, i]
        for k in range(i):
            x[0, k] -= L[i, k] * x[0, i]


@helper
def scaled_single_step(
    slope: Any,
    value: Any,
    zero: Any,
    s: Any,
    inverse: Any,
    V: Any,
    at: Any,
    z: Any,
    w: Any,
    u: Any,
    L: Any,
    G: Any,
    K: Any,
) -> Any:
    """Take one scaled step for one measurement v vᵀ, in place on G and K = GCGᵀ; return False if it is not finite.

    G changes by -w uᵀ with u = C⁻¹v, w = 2 s · slope (K + η I)⁻¹ z and z = G v. K changes by a matrix of rank two, so
    that nothing costs O(d r²). V, at and z (2, r) are of the vector v; L (r, r), w (2, r) and u (d,) are workspace.
    """
    r, d = G.shape
    if slope == 0:
        return True
    eta = damping(value, zero, K)
    for k in range(r):
        K[k, k] += eta
    regular = eta > 0 and cholesky(K, L)
    for k in range(r):
        K[k, k] -= eta
    if not regular:
        return False
    if inverse.size:
        square = G.dtype.type(0)
        for i in range(d):
            total = G.dtype.type(0)
            for j in range(d):
                total += inverse[i, j] * V[0, j]
            u[i] = total
            square += total * V[0, i]
    else:
        square = squared_length(V, at)
    step = G.dtype.type(2 * s * slope)
    for k in range(r):
        w[0, k] = step * z[0, k]
    solve_vector(L, w)
    size = G.dtype.type(0)
    for k in range(r):
        size += w[0, k] * w[0, k]
    if not np.isfinite(size * square):
        return False
    if inverse.size:
        for k in range(r):
            for j in range(d):
                G[k, j] -= w[0, k] * u[j]
    else:
        add_outer(G.dtype.type(-1), w, V, at, 0, G)
    for k in range(r):
        for i in range(r):
            K[k, i] += square * w[0, k] * w[0, i] - w[0, k] * z[0, i] - z[0, k] * w[0, i]
    return True


@helper
def scaled_batch_step(value: Any, zero: Any, s: Any, inverse: Any, L: Any, step: Any, D: Any, G: Any, K: Any) -> Any:
    """Take one scaled step for a batch, in place on G; return False if it is not finite.

    D (r, d) is the sum of slope · z vᵀ over the batch. D, K, L (r, r) and step (r, d) are overwritten.
    """
    eta = damping(value, zero, K)
    for k in range(K.shape[0]):
        K[k, k] += eta
    if not (np.isfinite(squared_norm(D)) and eta > 0 and cholesky(K, L)):
        return False
    if inverse.size:
        multiply(D, inverse, step)
    else:
        step = D
    solve_matrix(L, step)
    if not np.isfinite(s * squared_norm(step)):
        return False
    subtract(G, G.dtype.type(2 * s), step)
    return True


@compiled_slowly(10)
def scaled_online(
    X: Any,
    columns: Any,
    edges: Any,
    indices: Any,
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
    V, at, listed = row_workspace(edges, d, G)
    z, w, u, none = np.empty((2, r), G.dtype), np.empty((2, r), G.dtype), np.empty(d, G.dtype), G[:0]
    K, L = np.zeros((r, r), G.dtype), np.zeros((r, r), G.dtype)
    D, spare = np.zeros((r, d), G.dtype), np.zeros((r, d), G.dtype)
    skipped = 0
    for batch in range(steps.shape[0]):
        start, stop = batch * p, min((batch + 1) * p, order.shape[0])
        s = steps[batch]
        if adaptive:
            s /= max(squared_norm(G), 1)
        single = stop - start == 1 and indices.shape[1] < 3
        # Single steps update K; its rounding errors are corrected now and then.
        if not single or p > 1 or batch % CORRECT_EVERY == 0:
            compute_gram(G, C, spare, K)
        if single:
            row = order[start]
            y, nothing = target[row], target[row] * 0
            prediction = read_and_predict(X, columns, edges, indices, order, start, G, none, V, at, listed, z)
            slope = weighted_slope(prediction, y, sense[row], weight[row])
            zero = weighted_slope(nothing, y, sense[row], weight[row]) * (nothing - y)
            value = slope * (prediction - y)
            done = scaled_single_step(slope, value, zero, s, inverse, V, at, z, w, u, L, G, K)
        else:
            sums = sum_batch(
                X, columns, edges, indices, target, sense, weight, order, start, stop, G, none, V, at, listed, z, D
            )
            s /= stop - start
            done = sums.value == 0 or scaled_batch_step(sums.value, sums.zero, s, inverse, L, spare, D, G, K)
        if not done:
            skipped += 1
    return skipped
