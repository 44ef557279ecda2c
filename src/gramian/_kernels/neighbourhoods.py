"""Compiled tiles of neighbourhoods: the softmax of a sample over its own class and over the other classes.

The samples are sorted by class, so that the class of an anchor is a range of columns. A tile has a row for each of some
anchors and a column for each sample. It holds scores u_ij = 2 <z_i, z_j> - ‖z_j‖², which are minus the squared
distances plus ‖z_i‖², a constant of the row. The images must be finite: some kernels assume that there is no NaN.

Parts of a row are given to loops as arrays of their own. An index that begins at a number that was read may be
negative to the compiler, and such a loop is not vectorised: it takes four times as long.
"""

from typing import Any

import numpy as np
from numba import njit

from gramian._kernels.compiled import OPTIONS, compiled
from gramian._kernels.exponential import exponential

#: Without `nnan` the search for the largest score is not vectorised.
FINITE = {**OPTIONS, "fastmath": {"reassoc", "contract", "nnan", "nsz"}}
#: Sums of exponentials below these have lost digits: the smallest exponentials are 1e-307 and 1e-38.
LEAST_SUM64, LEAST_SUM32 = 1e-280, 1e-22
#: Exponentials times their factor count as 0 if they are smaller than these. Normal numbers begin at 2e-308 and 1e-38.
#: A processor is much slower for smaller ones, and for all that is computed from them.
NEGLIGIBLE64, NEGLIGIBLE32 = 1e-300, 1e-32


@njit(**FINITE)
def score(row: Any, norms: Any) -> Any:
    """Replace products by scores, and return the largest score."""
    largest = row.dtype.type(-np.inf)
    for j in range(row.shape[0]):
        # Not 2 * row[j]: an integer times a float32 is a float64 to numba, and all that follows would be.
        value = row[j] + row[j] - norms[j]
        row[j] = value
        largest = max(largest, value)
    return largest


@njit(**FINITE)
def largest_score(row: Any, norms: Any) -> Any:
    """Return the largest score of a row of products; -inf for an empty row."""
    largest = row.dtype.type(-np.inf)
    for j in range(row.shape[0]):
        largest = max(largest, row[j] + row[j] - norms[j])
    return largest


@njit(**OPTIONS)
def exponentiate(row: Any, shift: Any) -> Any:
    """Replace scores by exp(score - shift), and return their sum."""
    total = row.dtype.type(0)
    for j in range(row.shape[0]):
        e = exponential(row[j] - shift)
        row[j] = e
        total += e
    return float(total)


@njit(**OPTIONS)
def exponentiate_products(row: Any, norms: Any, shift: Any, out: Any) -> Any:
    """Write exp(score - shift) of a row of products to `out`, and return their sum."""
    total = row.dtype.type(0)
    for j in range(row.shape[0]):
        e = exponential(row[j] + row[j] - norms[j] - shift)
        out[j] = e
        total += e
    return float(total)


@njit(**OPTIONS)
def least_exponential(row: Any, factor: Any) -> Any:
    """Return the exponential up to which its product with a factor is negligible."""
    # Exponentials are at most 1, so that a factor of 0 has the same result as a negligible one.
    negligible = NEGLIGIBLE32 if row.itemsize == 4 else NEGLIGIBLE64
    return row.dtype.type(negligible / max(abs(float(factor)), negligible))


@njit(**OPTIONS)
def scale_and_add(row: Any, factor: Any, out: Any, total: Any) -> None:
    """Write the products of a row of exponentials with a factor to `out`, and add them to `total`."""
    zero, least = row.dtype.type(0), least_exponential(row, factor)
    for j in range(row.shape[0]):
        # Negligible products are not formed at all.
        value = (row[j] if row[j] > least else zero) * factor
        out[j] = value
        total[j] += value


@njit(**OPTIONS)
def weight_from_centre(row: Any, values: Any, centre: Any, factor: Any, columns: Any) -> None:
    """Multiply exponentials row_j by factor · (values_j - centre), and add the result to columns."""
    zero, least = row.dtype.type(0), least_exponential(row, factor)
    for j in range(len(row)):
        row[j] = (row[j] if row[j] > least else zero) * (factor * (values[j] - centre))
        columns[j] += row[j]


@compiled
def neighbourhood_tile(
    tile: Any, norms: Any, anchors: Any, starts: Any, stops: Any, weight: Any, power: Any, loss: Any, columns: Any
) -> None:
    """Replace the products <z_i, z_j> of anchors with all samples by ∂f/∂d_ij; write -log p_i of each anchor.

    p_i is the share of the anchor's own class in Σ_j exp(-d_ij) over j ≠ i, and f = Σ weight_i · (1 - p_i^q)/q with
    the power q, or Σ weight_i · (-log p_i) for q = 0. The rows of ∂f/∂d_ij have the sum 0.

    Parameters
    ----------
    tile : array, shape (a, N)
        The products; overwritten.
    norms : array, shape (N,)
        ‖z_j‖².
    anchors : array of int, shape (a,)
        Columns of the anchors themselves.
    starts, stops : array of int, shape (a,)
        The range of columns of each anchor's class; it is not all columns, and has at least two.
    weight : array, shape (a,)
    power : float
    loss : array, shape (a,)
        Overwritten by -log p_i.
    columns : array, shape (N,)
        The sums of the columns are added to it.
    """
    number = tile.dtype.type
    least = LEAST_SUM32 if tile.itemsize == 4 else LEAST_SUM64
    space, eps = np.empty(tile.shape[1], tile.dtype), np.finfo(tile.dtype).eps
    for a in range(tile.shape[0]):
        row, i, start, stop = tile[a], anchors[a], starts[a], stops[a]
        row[i] = -np.inf
        left, same, right = row[:start], row[start:stop], row[stop:]
        e, f, g = space[:start], space[start:stop], space[stop:]
        # No score is above ‖z_i‖². With that as the shift, scores need not be compared first, unless all are far below,
        # or rounding may lift some above it.
        own = other = norms[i]
        rounded = norms[i] * eps > 1
        own_sum = exponentiate_products(same, norms[start:stop], own, f)
        other_sum = exponentiate_products(left, norms[:start], other, e)
        other_sum += exponentiate_products(right, norms[stop:], other, g)
        if own_sum < least or rounded:
            own = largest_score(same, norms[start:stop])
            own_sum = exponentiate_products(same, norms[start:stop], own, f)
        if other_sum < least or rounded:
            other = max(largest_score(left, norms[:start]), largest_score(right, norms[stop:]))
            other_sum = exponentiate_products(left, norms[:start], other, e)
            other_sum += exponentiate_products(right, norms[stop:], other, g)
        space[i] = 0
        # The logarithm of the odds (1 - p)/p.
        odds = float(other) - float(own) + np.log(other_sum / own_sum)
        small = np.exp(-abs(odds))
        loss[a] = max(odds, 0.0) + np.log1p(small)
        miss = weight[a] * np.exp(-power * loss[a]) * ((1.0 if odds > 0 else small) / (1 + small))
        scale_and_add(f, number(miss / own_sum), same, columns[start:stop])
        scale_and_add(e, number(-miss / other_sum), left, columns[:start])
        scale_and_add(g, number(-miss / other_sum), right, columns[stop:])


@njit(**OPTIONS)
def moments(row: Any, mixed: Any, bend: Any, shift: Any) -> Any:
    """Return Σ e, Σ e b, Σ e b² and Σ e c over a row of scores; e = exp(score - shift), b and c from other tiles."""
    zero = row.dtype.type(0)
    total, first, second, third = zero, zero, zero, zero
    for j in range(row.shape[0]):
        e = exponential(row[j] - shift)
        eb = e * mixed[j]
        total += e
        first += eb
        second += eb * mixed[j]
        third += e * bend[j]
    return float(total), float(first), float(second), float(third)


@compiled
def line_tile(
    tile: Any,
    mixed: Any,
    bend: Any,
    norms: Any,
    anchors: Any,
    starts: Any,
    stops: Any,
    weight: Any,
    power: Any,
    sums: Any,
) -> None:
    """Add the objective of `neighbourhood_tile`, its first and its second derivative in s to sums (3,).

    Parameters
    ----------
    tile : array, shape (a, N)
        The products <z_i, z_j>; overwritten.
    mixed, bend : array, shape (a, N)
        The first and the second derivative of the squared distances d_ij in s.
    norms, anchors, starts, stops, weight, power
        As in `neighbourhood_tile`.
    sums : array of float64, shape (3,)
    """
    for a in range(tile.shape[0]):
        row, b, c, start, stop = tile[a], mixed[a], bend[a], starts[a], stops[a]
        row[anchors[a]] = -np.inf
        left, same, right = row[:start], row[start:stop], row[stop:]
        own = score(same, norms[start:stop])
        other = max(score(left, norms[:start]), score(right, norms[stop:]))
        e, eb, ebb, ec = moments(same, b[start:stop], c[start:stop], own)
        f, fb, fbb, fc = moments(left, b[:start], c[:start], other)
        g, gb, gbb, gc = moments(right, b[stop:], c[stop:], other)
        f, fb, fbb, fc = f + g, fb + gb, fbb + gbb, fc + gc
        odds = float(other) - float(own) + np.log(f / e)
        small = np.exp(-abs(odds))
        miss = (1.0 if odds > 0 else small) / (1 + small)
        hit = (small if odds > 0 else 1.0) / (1 + small)
        mean, other_mean = eb / e, fb / f
        variance, other_variance = ebb / e - mean * mean, fbb / f - other_mean * other_mean
        gap = mean - other_mean
        whole = hit * variance + miss * other_variance + hit * miss * gap * gap
        # The loss u = -log p, its derivatives, and those of (1 - exp(-q u))/q.
        loss, slope, curvature = (
            max(odds, 0.0) + np.log1p(small),
            miss * gap,
            miss * (ec / e - fc / f) - variance + whole,
        )
        outer = weight[a] * np.exp(-power * loss)
        sums[0] += weight[a] * (loss if power == 0 else -np.expm1(-power * loss) / power)
        sums[1] += outer * slope
        sums[2] += outer * (curvature - power * slope * slope)


@compiled
def curvature_tile(tile: Any, mixed: Any, norms: Any, anchors: Any, weight: Any, columns: Any) -> float:
    """Replace the products <z_i, z_j> by weight_i q_ij (b_ij - mean_i), where q_i is the softmax over all samples.

    b_ij, in `mixed`, is the derivative of d_ij, and mean_i is its mean under q_i. Return the sum of weight_i times the
    variance of b_i under q_i. The sums of the columns are added to `columns`.
    """
    form = 0.0
    for a in range(tile.shape[0]):
        row, i = tile[a], anchors[a]
        row[i] = -np.inf
        shift = score(row, norms)
        total, first, second, _ = moments(row, mixed[a], mixed[a], shift)
        exponentiate(row, shift)
        row[i] = 0
        mean = first / total
        form += weight[a] * (second / total - mean * mean)
        weight_from_centre(row, mixed[a], row.dtype.type(mean), row.dtype.type(weight[a] / total), columns)
    return form
