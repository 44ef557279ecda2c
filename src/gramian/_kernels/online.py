"""Compiled online descent over mini-batches of rank-one measurements v vᵀ, where v = x_i or v = x_i - x_j.

The factor is stored transposed, (r, d), so that the long loops run over contiguous memory. Arguments of the `*_online`
kernels, for m measurements:

- `first`, `second` (m,): indices of the samples; second = -1 where a measurement has one sample.
- `target`, `sense`, `weight` (m,): as for a loss.
- `order`: indices of the measurements, in the order they are visited.
- `p`: the batch size. `steps`: one step size per batch.
- `adaptive`: True divides each step size by max(‖G‖², 1), as in the paper's appendix.

A step that is not finite is skipped and counted.
"""

from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.compiled import compiled
from gramian._kernels.limits import LARGEST_EXPONENT, LONGEST

# Rank-one updates between two corrections of the rounding errors that they accumulate.
CORRECT_EVERY = 256


class Samples(NamedTuple):
    """The measurements of a stream as arrays: X (n, d), the others (m,)."""

    X: Any
    first: Any
    second: Any
    target: Any
    sense: Any
    weight: Any


class Batches(NamedTuple):
    """How a stream is seen: the order of its measurements (m,), cut into batches, and a step size for each."""

    order: Any
    size: int
    steps: Any
    adaptive: bool


@compiled
def read_vector(X: Any, i: Any, j: Any, v: Any) -> None:
    """Write x_i - x_j into v (d,), or x_i if j < 0."""
    if j < 0:
        for k in range(v.shape[0]):
            v[k] = X[i, k]
    else:
        for k in range(v.shape[0]):
            v[k] = X[i, k] - X[j, k]


@compiled
def weighted_slope(prediction: Any, target: Any, sense: Any, weight: Any) -> Any:
    """Return the derivative of the weighted squared loss in the prediction, 0 where a bound is satisfied."""
    error = prediction - target
    if sense == 0 or not sense * error >= 0:
        return weight * error
    return weight * 0 * error


@compiled
def project_image(F: Any, v: Any, u: Any) -> Any:
    """Write F v into u (r,), for a transposed factor F (r, d), and return ‖u‖²."""
    square = F.dtype.type(0)
    for k in range(F.shape[0]):
        total = F.dtype.type(0)
        for j in range(F.shape[1]):
            total += F[k, j] * v[j]
        u[k] = total
        square += total * total
    return square


@compiled
def squared_norm(A: Any) -> Any:
    """Return the squared Frobenius norm ‖A‖²."""
    total = A.dtype.type(0)
    for k in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += A[k, j] * A[k, j]
    return total


@compiled
def flat_online(
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
    G: Any,
) -> Any:
    """Run online descent in the flat geometry, in place on G (r, d); return how many steps were skipped.

    For each batch G -= s · 2 G M, where M (d, d) is the mean of slope · v vᵀ over the batch.
    """
    r, d = G.shape
    v = np.empty(d, G.dtype)
    z = np.empty(r, G.dtype)
    D = np.zeros((r, d), G.dtype)
    skipped = 0
    for batch in range(steps.shape[0]):
        start, stop = batch * p, min((batch + 1) * p, order.shape[0])
        s = steps[batch]
        if adaptive:
            s /= max(squared_norm(G), 1)
        s = G.dtype.type(2 * s / (stop - start))
        size = 0.0
        for e in range(start, stop):
            row = order[e]
            read_vector(X, first[row], second[row], v)
            slope = weighted_slope(project_image(G, v, z), target[row], sense[row], weight[row])
            slope *= s
            if stop - start == 1:
                size = 0.0
                for k in range(r):
                    size += abs(slope * z[k])
                if np.isfinite(size):
                    for k in range(r):
                        w = slope * z[k]
                        for j in range(d):
                            G[k, j] -= w * v[j]
            else:
                for k in range(r):
                    w = slope * z[k]
                    size += abs(w)
                    for j in range(d):
                        D[k, j] += w * v[j]
        if not np.isfinite(size):
            skipped += 1
        if stop - start > 1:
            for k in range(r):
                for j in range(d):
                    if np.isfinite(size):
                        G[k, j] -= D[k, j]
                    D[k, j] = 0
    return skipped


@compiled
def symmetric_power(A: Any, power: Any) -> Any:
    """Return A**power, (r, r), for a symmetric positive definite matrix A."""
    w, V = np.linalg.eigh(A)
    return (V * w**power) @ V.T


@compiled
def reorthonormalise(U: Any, R: Any) -> None:
    """Make U (r, d) orthonormal up to rounding, in place, and change R (r, r) so that W stays the same.

    The transposed frame U has U Uᵀ = I + E with a small E. To first order in E the correction is U <- (I - E/2) U and
    R <- (I + E/2) R.
    """
    half = U @ U.T
    for k in range(half.shape[0]):
        half[k, k] -= 1
    half *= U.dtype.type(0.5)
    U -= half @ U
    R += half @ R


@compiled
def polar_single_step(
    v: Any, target: Any, sense: Any, weight: Any, s: Any, lam: Any, U: Any, R: Any, u: Any, z: Any, w: Any, q: Any
) -> Any:
    """Take one polar step for one measurement, in place on U and R, in O(d r + r²); return False if it is not finite.

    In the notation of an untransposed frame U (d, r): with u = Uᵀv, z = Rᵀu, w = R z and h = v - U u, the tangent is
    ξ = -α h wᵀ, and the polar factor of U + ξ differs from U by a matrix of rank one. R is multiplied by the
    exponential of a multiple of z zᵀ, which changes it by a matrix of rank one too. u, z, w (r,) and q (d,) are
    workspace.
    """
    r, d = U.shape
    square_u = project_image(U, v, u)
    z[:] = 0
    for i in range(r):
        for k in range(r):
            z[k] += R[i, k] * u[i]
    square_z = R.dtype.type(0)
    for k in range(r):
        square_z += z[k] * z[k]
    slope = weighted_slope(square_z, target, sense, weight)
    if slope == 0:
        return True
    square_w = R.dtype.type(0)
    for i in range(r):
        total = R.dtype.type(0)
        for k in range(r):
            total += R[i, k] * z[k]
        w[i] = total
        square_w += total * total
    square_v = U.dtype.type(0)
    for j in range(d):
        square_v += v[j] * v[j]
    if not np.isfinite(slope * square_v * square_w * square_z):
        return False
    square_h = max(square_v - square_u, U.dtype.type(0))
    rate = (1 - lam) * abs(slope) * square_z / LARGEST_EXPONENT
    rate = max(rate, 2 * lam * abs(slope) * np.sqrt(square_h * square_w) / LONGEST)
    if rate * s > 1:
        s = 1 / rate
    if lam > 0 and square_w > 0:
        alpha = 2 * lam * s * slope
        shrink = 1 / np.sqrt(1 + alpha * alpha * square_h * square_w)
        # (U + ξ)(I + (shrink-1) ŵ ŵᵀ) = U + q wᵀ, q = (shrink-1)/‖w‖² U w - α shrink (v - U u)
        along_w = U.dtype.type((shrink - 1) / square_w)
        along_h = U.dtype.type(alpha * shrink)
        for j in range(d):
            q[j] = -along_h * v[j]
        for k in range(r):
            c = along_w * w[k] + along_h * u[k]
            for j in range(d):
                q[j] += c * U[k, j]
        for k in range(r):
            for j in range(d):
                U[k, j] += w[k] * q[j]
    if lam < 1 and square_z > 0:
        grown = R.dtype.type(np.expm1(-0.5 * (1 - lam) * s * slope * square_z) / square_z)
        for i in range(r):
            c = grown * w[i]
            for k in range(r):
                R[i, k] += c * z[k]
    return True


@compiled
def polar_batch_step(MU: Any, N: Any, s: Any, lam: Any, U: Any, R: Any) -> Any:
    """Take one polar step for the mean of a batch, in place on U and R; return False if it is not finite.

    MU (r, d) is the transpose of M U, and N (r, r) is UᵀMU.
    """
    kind = U.dtype.type
    B = R @ R.T
    S = R.T @ N @ R
    w, V = np.linalg.eigh(S)
    rate = (1 - lam) * np.abs(w).max() / LARGEST_EXPONENT
    xi = B @ MU
    xi -= (xi @ U.T) @ U
    xi -= (xi @ U.T) @ U
    rate = max(rate, 2 * lam * np.sqrt(squared_norm(xi)) / LONGEST)
    if not np.isfinite(rate):
        return False
    if rate * s > 1:
        s = 1 / rate
    if lam > 0:
        U -= kind(2 * lam * s) * xi
        U[:] = symmetric_power(U @ U.T, kind(-0.5)) @ U
    if lam < 1:
        R[:] = ((R @ V) * np.exp(kind(-0.5 * (1 - lam) * s) * w)) @ V.T
    return True


@compiled
def polar_online(
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
    lam: Any,
    U: Any,
    R: Any,
) -> Any:
    """Run online descent in the polar geometry, in place on U (r, d), R (r, r); return how many steps were skipped."""
    r, d = U.shape
    v = np.empty(d, U.dtype)
    u = np.empty(r, U.dtype)
    z = np.empty(r, U.dtype)
    MU = np.zeros((r, d), U.dtype)
    N = np.zeros((r, r), U.dtype)
    w = np.empty(r, U.dtype)
    q = np.empty(d, U.dtype)
    skipped = 0
    for batch in range(steps.shape[0]):
        start, stop = batch * p, min((batch + 1) * p, order.shape[0])
        s = steps[batch]
        if adaptive:
            s /= max(squared_norm(R), 1)
        if stop - start == 1:
            row = order[start]
            read_vector(X, first[row], second[row], v)
            done = polar_single_step(v, target[row], sense[row], weight[row], s, lam, U, R, u, z, w, q)
            if (batch + 1) % CORRECT_EVERY == 0:
                reorthonormalise(U, R)
        else:
            MU[:] = 0
            N[:] = 0
            size = 0.0
            for e in range(start, stop):
                row = order[e]
                read_vector(X, first[row], second[row], v)
                project_image(U, v, u)
                slope = weighted_slope(project_image(R.T, u, z), target[row], sense[row], weight[row]) / (stop - start)
                for k in range(r):
                    c = slope * u[k]
                    size += abs(c)
                    for j in range(d):
                        MU[k, j] += c * v[j]
                    for i in range(r):
                        N[k, i] += c * u[i]
            done = np.isfinite(size) and polar_batch_step(MU, N, s, lam, U, R)
        if not done:
            skipped += 1
    reorthonormalise(U, R)
    return skipped
