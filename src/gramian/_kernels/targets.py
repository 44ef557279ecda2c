"""Compiled tiles of kernel regression: a sample's target, predicted by the softmax over all other samples.

A tile has a row for each of some anchors and a column for each sample, as in `neighbourhoods`. The prediction of anchor
i is p_i = Σ_j q_ij y_j, where q_ij = exp(-d_ij) / Σ_k exp(-d_ik) over j ≠ i. The images must be finite.
"""

from typing import Any

import numpy as np
from numba import njit

from gramian._kernels.compiled import OPTIONS, compiled
from gramian._kernels.neighbourhoods import exponentiate, score, weight_from_centre


@njit(**OPTIONS)
def weighted_sum(row: Any, values: Any) -> Any:
    """Return Σ row_j values_j."""
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += row[j] * values[j]
    return float(total)


@njit(**OPTIONS)
def regress(row: Any, norms: Any, skip: Any, targets: Any) -> Any:
    """Replace products by exp(score - largest score), that of the anchor by 0; return their sum, and p_i."""
    row[skip] = -np.inf
    total = exponentiate(row, score(row, norms))
    row[skip] = 0
    return total, weighted_sum(row, targets) / total


@compiled
def regression_tile(
    tile: Any, norms: Any, targets: Any, anchors: Any, weight: Any, residuals: Any, columns: Any
) -> None:
    """Replace the products <z_i, z_j> of anchors with all samples by ∂f/∂d_ij; write the residuals p_i - y_i.

    f = Σ weight_i (p_i - y_i)². The rows of ∂f/∂d_ij have the sum 0.

    Parameters
    ----------
    tile : array, shape (a, N)
        The products; overwritten.
    norms : array, shape (N,)
        ‖z_j‖².
    targets : array, shape (N,)
        y, in the dtype of the tile.
    anchors : array of int, shape (a,)
        Columns of the anchors themselves.
    weight : array, shape (a,)
    residuals : array, shape (a,)
        Overwritten.
    columns : array, shape (N,)
        The sums of the columns are added to it.
    """
    number = tile.dtype.type
    for a in range(tile.shape[0]):
        row, i = tile[a], anchors[a]
        total, predicted = regress(row, norms, i, targets)
        residual = predicted - float(targets[i])
        residuals[a] = residual
        weight_from_centre(row, targets, number(predicted), number(-2 * weight[a] * residual / total), columns)


@njit(**OPTIONS)
def target_moments(row: Any, targets: Any, mixed: Any, bend: Any) -> Any:
    """Return Σ e b, Σ e b², Σ e c, Σ e y b, Σ e y b² and Σ e y c over a row of e; b and c are from other tiles."""
    zero = row.dtype.type(0)
    first, second, third = zero, zero, zero
    with_first, with_second, with_third = zero, zero, zero
    for j in range(len(row)):
        eb, ec = row[j] * mixed[j], row[j] * bend[j]
        ebb = eb * mixed[j]
        first += eb
        second += ebb
        third += ec
        with_first += eb * targets[j]
        with_second += ebb * targets[j]
        with_third += ec * targets[j]
    return float(first), float(second), float(third), float(with_first), float(with_second), float(with_third)


@compiled
def regression_line_tile(
    tile: Any, mixed: Any, bend: Any, norms: Any, targets: Any, anchors: Any, weight: Any, sums: Any
) -> None:
    """Add Σ weight_i (p_i - y_i)², its first and its second derivative in s to sums (3,).

    Parameters
    ----------
    tile : array, shape (a, N)
        The products <z_i, z_j>; overwritten.
    mixed, bend : array, shape (a, N)
        The first and the second derivative of the squared distances d_ij in s.
    norms, targets, anchors, weight
        As in `regression_tile`.
    sums : array of float64, shape (3,)
    """
    for a in range(tile.shape[0]):
        row, i = tile[a], anchors[a]
        total, predicted = regress(row, norms, i, targets)
        first, second, third, yb, ybb, yc = target_moments(row, targets, mixed[a], bend[a])
        mean, square, bent = first / total, second / total, third / total
        yb, ybb, yc = yb / total, ybb / total, yc / total
        speed = predicted * mean - yb
        # The mean of (y - p)(b - mean)², and minus the covariance of y and c.
        spread = ybb - predicted * square - 2 * mean * (yb - predicted * mean)
        acceleration = spread - (yc - predicted * bent)
        residual = predicted - float(targets[i])
        sums[0] += weight[a] * residual * residual
        sums[1] += 2 * weight[a] * residual * speed
        sums[2] += 2 * weight[a] * (speed * speed + residual * acceleration)


@compiled
def regression_curvature_tile(
    tile: Any, mixed: Any, norms: Any, targets: Any, anchors: Any, weight: Any, columns: Any
) -> float:
    """Replace the products <z_i, z_j> by the weights 2 weight_i p'_i ∂p_i/∂d_ij of the Gauss-Newton operator.

    p'_i is the derivative of the prediction along a velocity, under which the squared distances have the derivatives
    `mixed` (a, N). Return Σ 2 weight_i p'_i². The sums of the columns are added to `columns`.
    """
    number, form = tile.dtype.type, 0.0
    for a in range(tile.shape[0]):
        row, i = tile[a], anchors[a]
        total, predicted = regress(row, norms, i, targets)
        first, _, _, with_targets, _, _ = target_moments(row, targets, mixed[a], mixed[a])
        speed = predicted * (first / total) - with_targets / total
        form += 2 * weight[a] * speed * speed
        weight_from_centre(row, targets, number(predicted), number(-2 * weight[a] * speed / total), columns)
    return form
