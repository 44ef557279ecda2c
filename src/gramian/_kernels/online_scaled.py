"""Online descent in the scaled geometry, compiled; arguments as in `online.py`.

C and its inverse are (d, d), or empty for the identity. η is the share of tr(GCGᵀ)/r that the geometry takes, by the
batch's own level of fit.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled
from gramian._kernels.online import MEND_EVERY, judged, project_image, read, squared_norm


@compiled
def gram(G: Any, C: Any) -> Any:
    """GCGᵀ for a transposed factor (r, d), (r, r)."""
    return (G @ C) @ G.T if C.size else G @ G.T


@compiled
def damping(value: Any, zero: Any, trace: Any, r: Any, eps: Any) -> Any:
    """η, by the value of a batch and that of W = 0."""
    level = min(1.0, np.sqrt(value / zero)) if zero > 0 and value >= 0 else 0.0
    return max(level / r, 4 * eps) * trace


@compiled
def solved(A: Any, L: Any, b: Any, x: Any) -> Any:
    """x = A⁻¹ b for a positive definite A (r, r), by Cholesky in L; False where it is none. O(r³/6)."""
    r = b.shape[0]
    for i in range(r):
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
        total = b[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(r - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
    return True


@compiled
def scaled_one(
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
    """One scaled step for one measurement, in place on G and K = GCGᵀ; False where it is not finite.

    G moves by -w uᵀ with u = C⁻¹v, w = 2 s · slope (K + η I)⁻¹ z, z = Gv, and so K by a matrix of rank two: no d r²
    anywhere. L (r, r), z, w (r) and u (d) are room to work in.
    """
    r, d = G.shape
    prediction = project_image(G, v, z)
    slope = judged(prediction, target, sense, weight)
    if slope == 0:
        return True
    nothing = target * 0
    zero = judged(nothing, target, sense, weight) * (nothing - target)
    trace = K.dtype.type(0)
    for k in range(r):
        trace += K[k, k]
    eta = K.dtype.type(damping(slope * (prediction - target), zero, trace, r, np.finfo(K.dtype).eps))
    for k in range(r):
        K[k, k] += eta
    regular = eta > 0 and solved(K, L, z, w)
    for k in range(r):
        K[k, k] -= eta
    if inverse.size:
        u[:] = inverse @ v
    else:
        u[:] = v
    square = G.dtype.type(0)
    for j in range(d):
        square += v[j] * u[j]
    step = G.dtype.type(2 * s * slope)
    size = G.dtype.type(0)
    for k in range(r):
        w[k] *= step
        size += w[k] * w[k]
    if not (regular and np.isfinite(size * square)):
        return False
    for k in range(r):
        for j in range(d):
            G[k, j] -= w[k] * u[j]
    for k in range(r):
        for i in range(r):
            K[k, i] += square * w[k] * w[i] - w[k] * z[i] - z[k] * w[i]
    return True


@compiled
def scaled_step(D: Any, value: Any, zero: Any, s: Any, C: Any, inverse: Any, G: Any) -> Any:
    """One scaled step along a batch's mean D = M G (r, d), in place on G; False where it is not finite."""
    kind = G.dtype.type
    metric = gram(G, C)
    eta = damping(value, zero, np.trace(metric), G.shape[0], np.finfo(G.dtype).eps)
    for k in range(G.shape[0]):
        metric[k, k] += kind(eta)
    if not (np.isfinite(squared_norm(D)) and np.isfinite(squared_norm(metric)) and eta > 0):
        return False
    if C.size:
        D[:] = D @ inverse
    D[:] = np.linalg.solve(metric, D)
    D *= kind(2 * s)
    if not np.isfinite(squared_norm(D)):
        return False
    G -= D
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
    """Scaled descent, in place on G (r, d): G -= s · 2 (GCGᵀ + η I)⁻¹ M G C⁻¹, M the mean over a batch.

    Returns the steps skipped.
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
            read(X, first[row], second[row], v)
            if (batch + 1) % MEND_EVERY == 0 or p > 1:
                K[:] = gram(G, C)
            if not scaled_one(v, target[row], sense[row], weight[row], s, inverse, G, K, L, z, w, u):
                skipped += 1
            continue
        D[:] = 0
        value = 0.0
        zero = 0.0
        for e in range(start, stop):
            row = order[e]
            read(X, first[row], second[row], v)
            prediction = project_image(G, v, z)
            slope = judged(prediction, target[row], sense[row], weight[row])
            value += slope * (prediction - target[row])
            nothing = target[row] * 0
            zero += judged(nothing, target[row], sense[row], weight[row]) * (nothing - target[row])
            for k in range(r):
                c = slope * z[k]
                for j in range(d):
                    D[k, j] += c * v[j]
        if value != 0 and not scaled_step(D, value, zero, s / (stop - start), C, inverse, G):
            skipped += 1
    return skipped
