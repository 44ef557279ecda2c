"""Compiled online descent over mini-batches: what all geometries share, and the flat one.

A measurement is v vᵀ, where v = x_i or v = x_i - x_j, or the difference v vᵀ - v' v'ᵀ of two that share x_i. The factor
is stored transposed, (r, d), so that the long loops run over contiguous memory. Samples may be dense or sparse; the
machine code is the same. A step that is not finite is skipped and counted.
"""

from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.compiled import compiled_slowly, helper
from gramian._kernels.prefetch import prefetch
from gramian._kernels.products import subtract
from gramian._kernels.rows import add_outer, as_kernel_input, project, read_vector, row_workspace

# Rank-one updates between two corrections of the rounding errors that they accumulate.
CORRECT_EVERY = 256
# Samples are prefetched this number of measurements before they are read.
AHEAD = 4


class Samples(NamedTuple):
    """The m measurements of a stream as arrays: the parts of `StoredRows`, and for each measurement indices and loss.

    `indices` (m, 2) are pairs (i, j) for x_i - x_j, where j = -1 stands for x_i alone. With a third column they are of
    a difference of two measurements. `target`, `sense` and `weight` (m,) are as for a loss.
    """

    X: Any
    columns: Any
    edges: Any
    indices: Any
    target: Any
    sense: Any
    weight: Any


class Batches(NamedTuple):
    """How a stream is seen: the order of its measurements (m,), cut into batches, and a step size for each.

    With `adaptive` each step size is divided by max(‖G‖², 1), as in the paper's appendix.
    """

    order: Any
    size: int
    steps: Any
    adaptive: bool


def as_samples(rows: Any, indices: Any, target: Any, sense: Any, weight: Any) -> Samples:
    """Return measurements with arrays of the types that kernels are compiled for: one combination for each dtype."""
    dtype = rows.values.dtype
    loss = (as_kernel_input(target, dtype), as_kernel_input(sense, np.int8), as_kernel_input(weight, dtype))
    return Samples(rows.values, rows.columns, rows.edges, as_kernel_input(indices, np.int64), *loss)


def as_batches(batches: Batches) -> Batches:
    """Return batches with arrays and numbers of the types that kernels are compiled for."""
    order, steps = as_kernel_input(batches.order, np.int64), as_kernel_input(batches.steps, np.float64)
    return Batches(order, int(batches.size), steps, bool(batches.adaptive))


class BatchSums(NamedTuple):
    """Twice the loss of a batch, twice its loss at W = 0, and Σ |slope · u|, which is not finite if a slope is not."""

    value: float
    zero: float
    size: float


@helper
def weighted_slope(prediction: Any, target: Any, sense: Any, weight: Any) -> Any:
    """Return the derivative of the weighted squared loss in the prediction, 0 where a bound is satisfied."""
    error = prediction - target
    if sense == 0 or not sense * error >= 0:
        return weight * error
    return weight * 0 * error


@helper
def squared_norm(A: Any) -> Any:
    """Return the squared Frobenius norm ‖A‖²."""
    total = A.dtype.type(0)
    for k in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += A[k, j] * A[k, j]
    return total


@helper
def squared_root_product(R: Any, u: Any, k: Any) -> Any:
    """Return ‖Rᵀ u[k]‖², for a root R (r, r)."""
    square = R.dtype.type(0)
    for j in range(R.shape[1]):
        total = R.dtype.type(0)
        for i in range(R.shape[0]):
            total += R[i, j] * u[k, i]
        square += total * total
    return square


@helper
def absolute_sum(u: Any, k: Any) -> Any:
    """Return Σ |u[k]|."""
    total = u.dtype.type(0)
    for i in range(u.shape[1]):
        total += abs(u[k, i])
    return total


@helper
def read_and_predict(
    X: Any,
    columns: Any,
    edges: Any,
    indices: Any,
    order: Any,
    e: Any,
    F: Any,
    R: Any,
    V: Any,
    at: Any,
    listed: Any,
    u: Any,
) -> Any:
    """Read the vectors of measurement order[e], write u[k] = F v for each, and return the prediction.

    The factor is F (r, d), or Rᵀ F with a root R (r, r); an empty R is the identity.
    """
    row, prediction = order[e], F.dtype.type(0)
    if edges is None and e + AHEAD < order.shape[0]:
        for k in range(indices.shape[1]):
            j = indices[order[e + AHEAD], k]
            if j >= 0:
                prefetch(X, j)
    for k in range(2 if indices.shape[1] > 2 else 1):
        j = indices[row, k + 1] if indices.shape[1] > 1 else -1
        read_vector(X, columns, edges, indices[row, 0], j, V, at, listed, k)
        square = project(F, V, at, k, u)
        if R.shape[0] > 0:
            square = squared_root_product(R, u, k)
        prediction += square if k == 0 else -square
    return prediction


@helper
def sum_batch(
    X: Any,
    columns: Any,
    edges: Any,
    indices: Any,
    target: Any,
    sense: Any,
    weight: Any,
    order: Any,
    start: Any,
    stop: Any,
    F: Any,
    R: Any,
    V: Any,
    at: Any,
    listed: Any,
    u: Any,
    D: Any,
) -> Any:
    """Write F M into D (r, d), where M (d, d) is the sum of slope · v vᵀ over a batch; return its sums."""
    for k in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[k, j] = 0
    value, zero, size = 0.0, 0.0, 0.0
    for e in range(start, stop):
        row = order[e]
        y, nothing = target[row], target[row] * 0
        prediction = read_and_predict(X, columns, edges, indices, order, e, F, R, V, at, listed, u)
        slope = weighted_slope(prediction, y, sense[row], weight[row])
        zero += weighted_slope(nothing, y, sense[row], weight[row]) * (nothing - y)
        if slope == 0:
            continue
        value += slope * (prediction - y)
        for k in range(2 if indices.shape[1] > 2 else 1):
            add_outer(slope if k == 0 else -slope, u, V, at, k, D)
            size += abs(slope) * absolute_sum(u, k)
    return BatchSums(value, zero, size)


@compiled_slowly(4)
def flat_online(
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
    G: Any,
) -> Any:
    """Run online descent in the flat geometry, in place on G (r, d); return how many steps were skipped.

    For each batch G -= s · 2 G M, where M (d, d) is the mean of slope · v vᵀ over the batch.
    """
    r, d = G.shape
    V, at, listed = row_workspace(edges, d, G)
    z, D, none = np.empty((2, r), G.dtype), np.zeros((r, d), G.dtype), G[:0]
    skipped = 0
    for batch in range(steps.shape[0]):
        start, stop = batch * p, min((batch + 1) * p, order.shape[0])
        s = steps[batch]
        if adaptive:
            s /= max(squared_norm(G), 1)
        length = G.dtype.type(2 * s / (stop - start))
        if stop - start == 1:
            row = order[start]
            prediction = read_and_predict(X, columns, edges, indices, order, start, G, none, V, at, listed, z)
            slope = length * weighted_slope(prediction, target[row], sense[row], weight[row])
            count = 0 if slope == 0 else 2 if indices.shape[1] > 2 else 1
            size = 0.0
            for k in range(count):
                size += abs(slope) * absolute_sum(z, k)
            done = np.isfinite(size)
            for k in range(count if done else 0):
                add_outer(-slope if k == 0 else slope, z, V, at, k, G)
        else:
            sums = sum_batch(
                X, columns, edges, indices, target, sense, weight, order, start, stop, G, none, V, at, listed, z, D
            )
            done = np.isfinite(length * sums.size)
            if done:
                subtract(G, length, D)
        if not done:
            skipped += 1
    return skipped
