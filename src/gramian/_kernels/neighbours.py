"""Search for the nearest samples of the same label and of other labels, in one pass over inner products.

The samples are sorted by class, so that the class of an anchor is a range of columns.
"""

from typing import Any

from numba import njit

from gramian._kernels.compiled import OPTIONS, compiled

#: The number of distances that are compared with the largest of a list at once.
CHUNK = 64


@compiled
def insert_sorted(distance: Any, index: Any, distances: Any, indices: Any) -> None:
    """Insert a sample into lists (k,) sorted by ascending distance, then index, in place; the last is dropped."""
    place = distances.shape[0] - 1
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and indices[place - 1] > index)
    ):
        distances[place] = distances[place - 1]
        indices[place] = indices[place - 1]
        place -= 1
    distances[place] = distance
    indices[place] = index


@njit(**OPTIONS)
def count_within(row: Any, squares: Any, limit: Any) -> Any:
    """Return how many of squares[m] - 2 row[m] are at most the limit."""
    # A count of the width of the distances is vectorised with them.
    one, zero = row.dtype.type(1), row.dtype.type(0)
    count = zero
    for m in range(row.shape[0]):
        count += one if squares[m] - row[m] - row[m] <= limit else zero
    return count


@njit(**OPTIONS)
def update_list(row: Any, squares: Any, order: Any, skip: Any, distances: Any, indices: Any) -> None:
    """Update one list of nearest samples (k,) with the t columns of a row, all but column `skip`."""
    t, last = row.shape[0], distances.shape[0] - 1
    for first in range(0, t, CHUNK):
        part, own = row[first : first + CHUNK], squares[first : first + CHUNK]
        # Most samples are farther than all in the list.
        if count_within(part, own, distances[last]) == 0:
            continue
        for m in range(part.shape[0]):
            distance, index = own[m] - part[m] - part[m], order[first + m]
            closer = distance < distances[last] or (distance == distances[last] and index < indices[last])
            if closer and first + m != skip:
                insert_sorted(distance, index, distances, indices)


@compiled
def update_neighbours(
    products: Any,
    squares: Any,
    anchors: Any,
    starts: Any,
    stops: Any,
    order: Any,
    start: Any,
    same_distances: Any,
    same_indices: Any,
    other_distances: Any,
    other_indices: Any,
) -> None:
    """Update each anchor's lists of nearest samples, of its own label and of others, in place, with a new tile.

    Samples have positions in the order of their classes. The tile is the t samples from position `start` on. products
    (a, t) holds their inner products with the samples of positions `anchors` (a,), whose classes have the positions
    from `starts` to below `stops`, (a,) each. squares (N,) holds the squared norms of all samples, order (N,) their
    indices. same_distances, same_indices (a, k) and other_distances, other_indices (a, j) are sorted by ascending
    distance, which is the squared distance minus the anchor's squared norm; of samples at equal distance, the one with
    the least index is first. An anchor is never its own neighbour.
    """
    a, t = products.shape
    norms, names = squares[start : start + t], order[start : start + t]
    for i in range(a):
        row, others, other_names = products[i], other_distances[i], other_indices[i]
        low, high = min(max(starts[i] - start, 0), t), min(max(stops[i] - start, 0), t)
        update_list(row[:low], norms[:low], names[:low], -1, others, other_names)
        update_list(row[high:], norms[high:], names[high:], -1, others, other_names)
        own, skip = slice(low, high), anchors[i] - start - low
        update_list(row[own], norms[own], names[own], skip, same_distances[i], same_indices[i])
