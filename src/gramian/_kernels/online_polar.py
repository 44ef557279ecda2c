"""Compiled online descent in the polar geometry; arguments as in `online.py`.

The frame U (r, d) is stored transposed. The root R (r, r) is not.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled_slowly, helper
from gramian._kernels.limits import LARGEST_EXPONENT, LONGEST
from gramian._kernels.online import CORRECT_EVERY, read_and_predict, squared_norm, sum_batch, weighted_slope
from gramian._kernels.products import multiply, row_products, subtract
from gramian._kernels.rows import row_workspace, squared_length


@helper
def reorthonormalise(U: Any, R: Any, small: Any, wide: Any) -> None:
    """Make U (r, d) orthonormal up to rounding, in place, and change R (r, r) so that W stays the same.

    The transposed frame U has U Uᵀ = I + E with a small E. To first order in E the correction is U <- (I - E/2) U and
    R <- (I + E/2) R. small (2, r, r) and wide (r, d) are workspace.
    """
    E, product, half = small[0], small[1], U.dtype.type(0.5)
    row_products(U, U, E)
    for k in range(E.shape[0]):
        E[k, k] -= 1
    multiply(E, U, wide)
    subtract(U, half, wide)
    multiply(E, R, product)
    subtract(R, -half, product)


@helper
def compose(values: Any, V: Any, out: Any) -> None:
    """Write V diag(values) Vᵀ into out (r, r), for eigenvectors V (r, r)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = out.dtype.type(0)
            for k in range(values.shape[0]):
                total += V[i, k] * values[k] * V[j, k]
            out[i, j] = total


@helper
def root_product(R: Any, u: Any, z: Any) -> Any:
    """Write Rᵀ u[0] into z (r,), for a root R (r, r), and return its squared length."""
    r, square = R.shape[0], R.dtype.type(0)
    for k in range(r):
        z[k] = 0
    for i in range(r):
        for k in range(r):
            z[k] += u[0, i] * R[i, k]
    for k in range(r):
        square += z[k] * z[k]
    return square


@helper
def polar_single_step(
    slope: Any,
    square_u: Any,
    square_z: Any,
    s: Any,
    lam: Any,
    V: Any,
    at: Any,
    u: Any,
    z: Any,
    w: Any,
    q: Any,
    U: Any,
    R: Any,
) -> Any:
    """Take one polar step for one measurement v vᵀ, in place on U and R, in O(d r + r²); return False if not finite.

    In the notation of an untransposed frame U (d, r): with u = Uᵀv, z = Rᵀu, w = R z and h = v - U u, the tangent is
    ξ = -α h wᵀ, and the polar factor of U + ξ differs from U by a matrix of rank one. R is multiplied by the
    exponential of a multiple of z zᵀ, which changes it by a matrix of rank one too. V, at, u (2, r) and z (r,) are of
    the vector v; w (r,) and q (d,) are workspace.
    """
    r, d = U.shape
    if slope == 0:
        return True
    square_w = U.dtype.type(0)
    for i in range(r):
        total = U.dtype.type(0)
        for k in range(r):
            total += R[i, k] * z[k]
        w[i] = total
        square_w += total * total
    square_v = squared_length(V, at)
    if not np.isfinite(slope * square_v * square_w * square_z):
        return False
    square_h = max(square_v - square_u, U.dtype.type(0))
    rate = (1 - lam) * abs(slope) * square_z / LARGEST_EXPONENT
    rate = max(rate, 2 * lam * abs(slope) * np.sqrt(square_h * square_w) / LONGEST)
    if rate * s > 1:
        s = 1 / rate
    along_w = along_h = grown = U.dtype.type(0)
    if lam > 0 and square_w > 0:
        alpha = 2 * lam * s * slope
        shrink = 1 / np.sqrt(1 + alpha * alpha * square_h * square_w)
        # (U + ξ)(I + (shrink-1) ŵ ŵᵀ) = U + q wᵀ, q = (shrink-1)/‖w‖² U w - α shrink (v - U u)
        along_w = U.dtype.type((shrink - 1) / square_w)
        along_h = U.dtype.type(alpha * shrink)
    if lam < 1 and square_z > 0:
        grown = U.dtype.type(np.expm1(-0.5 * (1 - lam) * s * slope * square_z) / square_z)
    if not np.isfinite(along_w + along_h + grown):
        return False
    if along_w != 0 or along_h != 0:
        for j in range(d):
            q[j] = -along_h * V[0, j]
        for k in range(r):
            c = along_w * w[k] + along_h * u[0, k]
            for j in range(d):
                q[j] += c * U[k, j]
        for k in range(r):
            for j in range(d):
                U[k, j] += w[k] * q[j]
    if grown != 0:
        for i in range(r):
            c = grown * w[i]
            for k in range(r):
                R[i, k] += c * z[k]
    return True


@helper
def polar_batch_step(s: Any, lam: Any, small: Any, xi: Any, MU: Any, U: Any, R: Any) -> Any:
    """Take one polar step for the mean of a batch, in place on U and R; return False if it is not finite.

    MU (r, d) is the transpose of M U, and is overwritten. small (2, r, r) and xi (r, d) are workspace.
    """
    kind, A, B = U.dtype.type, small[0], small[1]
    # The core's tangent is S = Rᵀ (UᵀMU) R.
    row_products(MU, U, A)
    multiply(A, R, B)
    row_products(R.T.copy(), B.T.copy(), A)
    # A product of finite factors may overflow.
    if not np.isfinite(A).all():
        return False
    w, V = np.linalg.eigh(A)
    rate = (1 - lam) * max(abs(w[0]), abs(w[-1])) / LARGEST_EXPONENT
    # The frame's tangent is R Rᵀ MU, orthogonal to U; twice, for the digits.
    row_products(R, R, A)
    multiply(A, MU, xi)
    for _ in range(2):
        row_products(xi, U, A)
        multiply(A, U, MU)
        subtract(xi, kind(1), MU)
    rate = max(rate, 2 * lam * np.sqrt(squared_norm(xi)) / LONGEST)
    if not np.isfinite(rate):
        return False
    if rate * s > 1:
        s = 1 / rate
    if not np.isfinite(kind(2 * s)):
        return False
    if lam < 1:
        for k in range(w.shape[0]):
            w[k] = np.exp(kind(-0.5 * (1 - lam) * s) * w[k])
        compose(w, V, A)
        multiply(R, A, B)
        subtract(R, kind(1), R)
        subtract(R, kind(-1), B)
    if lam > 0:
        subtract(U, kind(2 * lam * s), xi)
        row_products(U, U, A)
        w, V = np.linalg.eigh(A)
        for k in range(w.shape[0]):
            w[k] = 1 / np.sqrt(w[k])
        compose(w, V, A)
        multiply(A, U, MU)
        subtract(U, kind(1), U)
        subtract(U, kind(-1), MU)
    return True


@compiled_slowly(12)
def polar_online(
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
    lam: Any,
    U: Any,
    R: Any,
) -> Any:
    """Run online descent in the polar geometry, in place on U (r, d), R (r, r); return how many steps were skipped."""
    r, d = U.shape
    V, at, listed = row_workspace(edges, d, U)
    u, z, w, q = np.empty((2, r), U.dtype), np.empty(r, U.dtype), np.empty(r, U.dtype), np.empty(d, U.dtype)
    MU, xi, small = np.zeros((r, d), U.dtype), np.zeros((r, d), U.dtype), np.zeros((2, r, r), U.dtype)
    none, skipped = R[:0], 0
    for batch in range(steps.shape[0]):
        start, stop = batch * p, min((batch + 1) * p, order.shape[0])
        s = steps[batch]
        if adaptive:
            s /= max(squared_norm(R), 1)
        if stop - start == 1 and indices.shape[1] < 3:
            row = order[start]
            square_u = read_and_predict(X, columns, edges, indices, order, start, U, none, V, at, listed, u)
            prediction = root_product(R, u, z)
            slope = weighted_slope(prediction, target[row], sense[row], weight[row])
            done = polar_single_step(slope, square_u, prediction, s, lam, V, at, u, z, w, q, U, R)
            if (batch + 1) % CORRECT_EVERY == 0:
                reorthonormalise(U, R, small, xi)
        else:
            sums = sum_batch(
                X, columns, edges, indices, target, sense, weight, order, start, stop, U, R, V, at, listed, u, MU
            )
            subtract(MU, U.dtype.type(1 - 1 / (stop - start)), MU)
            done = np.isfinite(sums.size) and polar_batch_step(s, lam, small, xi, MU, U, R)
        if not done:
            skipped += 1
    reorthonormalise(U, R, small, xi)
    return skipped
