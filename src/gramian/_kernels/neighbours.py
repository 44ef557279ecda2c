"""The nearest samples of the same label and of other labels, in one reading of the products of some samples."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def insert(distance: Any, number: Any, distances: Any, numbers: Any) -> None:
    """Puts a sample into a list sorted by distance, whose last falls out."""
    place = distances.shape[0] - 1
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        numbers[place] = numbers[place - 1]
        place -= 1
    distances[place] = distance
    numbers[place] = number


@compiled
def nearest_of_two_kinds(products: Any, squares: Any, anchors: Any, labels: Any, first: Any, k: Any, j: Any) -> Any:
    """The numbers of the k nearest of the anchor's label and the j nearest of others, (a, k) and (a, j); -1: no more.

    products (a, N) are those of the samples `anchors[first]` and on with all samples, `squares` the squared norms of
    these. An anchor is not its own neighbour; of samples as far, the smaller number comes first.
    """
    a, N = products.shape
    near, far = np.full((a, k), -1), np.full((a, j), -1)
    nearest, farther = np.empty(k, products.dtype), np.empty(j, products.dtype)
    for i in range(a):
        anchor = anchors[first + i]
        nearest[:] = np.inf
        farther[:] = np.inf
        for n in range(N):
            # Less the anchor's own squared norm, which changes no order.
            distance = squares[n] - 2 * products[i, n]
            if labels[n] != labels[anchor]:
                if distance < farther[j - 1]:
                    insert(distance, n, farther, far[i])
            elif distance < nearest[k - 1] and n != anchor:
                insert(distance, n, nearest, near[i])
    return near, far
