"""Search for the nearest samples of the same label and of other labels, in one pass over inner products."""

from typing import Any

from gramian._kernels.compiled import compiled


@compiled
def insert_sorted(distance: Any, index: Any, distances: Any, indices: Any) -> None:
    """Insert a sample into lists (k,) sorted by ascending distance, in place; the last entry is dropped."""
    place = distances.shape[0] - 1
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        indices[place] = indices[place - 1]
        place -= 1
    distances[place] = distance
    indices[place] = index


@compiled
def update_neighbours(
    products: Any,
    squares: Any,
    anchors: Any,
    labels: Any,
    start: Any,
    same_distances: Any,
    same_indices: Any,
    other_distances: Any,
    other_indices: Any,
) -> None:
    """Update each anchor's lists of nearest samples, of its own label and of others, in place, with a new tile.

    The tile is the t samples from index `start` on. products (a, t) holds their inner products with the samples of
    indices `anchors` (a,); squares (N,) holds the squared norms of all samples. same_distances, same_indices (a, k) and
    other_distances, other_indices (a, j) are sorted by ascending distance, which is the squared distance minus the
    anchor's squared norm. An anchor is never its own neighbour. Of samples at equal distance, the first found is kept.
    """
    a, t = products.shape
    k, j = same_distances.shape[1], other_distances.shape[1]
    for i in range(a):
        anchor = anchors[i]
        own = labels[anchor]
        # Most samples are farther than all in both lists.
        limit = max(other_distances[i, j - 1], same_distances[i, k - 1])
        for m in range(t):
            n = start + m
            distance = squares[n] - products[i, m] - products[i, m]
            if not distance < limit:
                continue
            if labels[n] != own:
                if distance < other_distances[i, j - 1]:
                    insert_sorted(distance, n, other_distances[i], other_indices[i])
                    limit = max(other_distances[i, j - 1], same_distances[i, k - 1])
            elif distance < same_distances[i, k - 1] and n != anchor:
                insert_sorted(distance, n, same_distances[i], same_indices[i])
                limit = max(other_distances[i, j - 1], same_distances[i, k - 1])
