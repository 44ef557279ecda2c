"""Nearest samples by the least distances of groups of samples: a search that compares each distance once.

The least distance of every group is computed in float32. At least k groups have a least distance up to the k-th
smallest of them, so that the k nearest samples are in the groups that are not farther, up to rounding. Only these
groups, hardly more than k, are looked at again, in float64.

Samples have positions in the order of their classes, so that the class of an anchor is a range of positions. A segment
is `WIDTH` consecutive positions with `LANES` groups: position p is in group p % LANES of its segment, so that vector
instructions compute the minima of all groups at once.
"""

from typing import Any

import numpy as np
from numba import njit

from gramian._kernels.compiled import OPTIONS, compiled
from gramian._kernels.neighbours import insert_sorted

#: The positions of a segment, and its groups.
WIDTH, LANES = 1024, 64
#: The number of minima that are compared with a limit at once.
CHUNK = 64
#: Without `nnan` the search for the least distance is not vectorised.
FINITE = {**OPTIONS, "fastmath": {"reassoc", "contract", "nnan", "nsz"}}


@njit(**FINITE)
def lower_minima(row: Any, minima: Any) -> None:
    """Replace minima (l,) by those of themselves and of a row (4 l,), of which every l-th is in one group."""
    lanes = minima.shape[0]
    row_1, row_2, row_3 = row[lanes:], row[2 * lanes :], row[3 * lanes :]
    for c in range(lanes):
        minima[c] = min(min(minima[c], min(row[c], row_1[c])), min(row_2[c], row_3[c]))


@njit(**OPTIONS)
def lower_minima_apart(row: Any, low: Any, high: Any, skip: Any, near: Any, far: Any) -> None:
    """Lower the minima (l,) of columns from `low` to below `high`, all but `skip`, and those of the other columns."""
    lanes = near.shape[0]
    for m in range(row.shape[0]):
        minima = near if low <= m < high else far
        if m != skip:
            minima[m % lanes] = min(minima[m % lanes], row[m])


@compiled
def update_minima(distances: Any, anchors: Any, starts: Any, stops: Any, start: Any, near: Any, far: Any) -> None:
    """Lower the least distances of the groups of one segment by a part of it, for a tile of anchors, in place.

    Parameters
    ----------
    distances : array, shape (a, t)
        ‖z_p‖² - 2 <z_i, z_p> of the anchors i and t samples p of one segment, and infinity at positions without a
        sample; t is a multiple of 4 LANES.
    anchors, starts, stops : array of int, shape (a,)
        Positions of the anchors themselves, and the range of positions of their classes.
    start : int
        The position of the first of the t samples.
    near : array, shape (a, S' · LANES)
        The least squared distances, less ‖z_i‖², to samples of the anchor's class. The first groups are those of the
        segment where the class begins. An anchor is not its own neighbour.
    far : array, shape (a, S · LANES)
        The least distances to samples of other classes.
    """
    a, t = distances.shape
    segment = start // WIDTH
    for i in range(a):
        row, skip = distances[i], anchors[i] - start
        low, high = min(max(starts[i] - start, 0), t), min(max(stops[i] - start, 0), t)
        others = far[i, segment * LANES : (segment + 1) * LANES]
        minima = others
        if low < high:
            first = (segment - starts[i] // WIDTH) * LANES
            minima = near[i, first : first + LANES]
            if high - low < t or 0 <= skip < t:
                lower_minima_apart(row, low, high, skip, minima, others)
                continue
        for m in range(0, t, 4 * LANES):
            lower_minima(row[m : m + 4 * LANES], minima)


@njit(**OPTIONS)
def any_within(values: Any, limit: Any) -> Any:
    """Return True if some of the values are at most the limit."""
    # A count of the width of the values is vectorised with them.
    one, zero = values.dtype.type(1), values.dtype.type(0)
    count = zero
    for m in range(values.shape[0]):
        count += one if values[m] <= limit else zero
    return count > 0


@njit(**OPTIONS)
def select(values: Any, smallest: Any) -> Any:
    """Return the k-th smallest value; infinity if there are fewer. The k smallest are written to `smallest` (k,)."""
    last = smallest.shape[0] - 1
    smallest[:] = np.inf
    for first in range(0, values.shape[0], CHUNK):
        part = values[first : first + CHUNK]
        if not any_within(part, smallest[last]):
            continue
        for value in part:
            if value < smallest[last]:
                place = last
                while place > 0 and smallest[place - 1] > value:
                    smallest[place] = smallest[place - 1]
                    place -= 1
                smallest[place] = value
    return smallest[last]


@njit(**OPTIONS)
def update_from_group(
    Z: Any,
    squares: Any,
    order: Any,
    anchor: Any,
    low: Any,
    high: Any,
    own: Any,
    group: Any,
    distances: Any,
    indices: Any,
) -> None:
    """Update a list of nearest samples (k,) with those of one group that are of the class of the anchor, or not."""
    z, last = Z[anchor], distances.shape[0] - 1
    start = group // LANES * WIDTH
    for p in range(start + group % LANES, min(start + WIDTH, Z.shape[0]), LANES):
        if (low <= p < high) != own or p == anchor:
            continue
        other, product = Z[p], 0.0
        for e in range(z.shape[0]):
            product += z[e] * other[e]
        distance, index = squares[p] - product - product, order[p]
        if distance < distances[last] or (distance == distances[last] and index < indices[last]):
            insert_sorted(distance, index, distances, indices)


@compiled
def nearest_in_groups(
    Z: Any,
    squares: Any,
    order: Any,
    anchors: Any,
    starts: Any,
    stops: Any,
    minima: Any,
    rounding: Any,
    own: Any,
    distances: Any,
    indices: Any,
) -> None:
    """Write the nearest samples of anchors, of their class or of others, from the least distances of groups.

    Parameters
    ----------
    Z, squares, order : array, shape (N, k), (N,) and (N,)
        The samples at their positions, in float64, their squared norms and their indices.
    anchors, starts, stops
        As in `update_minima`.
    minima : array, shape (a, S' · LANES) or (a, S · LANES)
        `near` or `far` of `update_minima`.
    rounding : float
        The largest error of the difference of two of them.
    own : bool
        True for samples of the anchors' classes, False for others.
    distances, indices : array, shape (a, k)
        Overwritten, ascending by distance, then index; infinity and -1 for no more.
    """
    smallest = np.empty(distances.shape[1], minima.dtype)
    distances[:] = np.inf
    indices[:] = -1
    for i in range(anchors.shape[0]):
        row, first = minima[i], starts[i] // WIDTH * LANES if own else 0
        limit = min(select(row, smallest) + rounding, np.finfo(minima.dtype).max)
        for begin in range(0, row.shape[0], CHUNK):
            part = row[begin : begin + CHUNK]
            if not any_within(part, limit):
                continue
            for c in range(part.shape[0]):
                if part[c] <= limit:
                    group, lists = first + begin + c, (distances[i], indices[i])
                    update_from_group(Z, squares, order, anchors[i], starts[i], stops[i], own, group, *lists)
