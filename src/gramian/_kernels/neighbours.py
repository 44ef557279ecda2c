"""The nearest samples of the same label and of other labels, in one reading of the products of some samples."""

from typing import Any

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
def nearest_of_two_kinds(
    products: Any, squares: Any, anchors: Any, labels: Any, start: Any, nearest: Any, near: Any, farther: Any, far: Any
) -> None:
    """Puts the samples of a tile into the lists of anchors: those of the anchor's label, and those of others.

    products (a, t) are those of the samples numbered `anchors` (a) with the t samples from `start` on; squares (N) are
    squared norms. `nearest` (a, k) and `farther` (a, j) hold distances less the anchor's squared norm, sorted, and
    `near` and `far` the samples' numbers. An anchor is not its own neighbour; of samples as far, the first stays.
    """
    a, t = products.shape
    k, j = nearest.shape[1], farther.shape[1]
    for i in range(a):
        anchor = anchors[i]
        for m in range(t):
            n = start + m
            distance = squares[n] - 2 * products[i, m]
            if labels[n] != labels[anchor]:
                if distance < farther[i, j - 1]:
                    insert(distance, n, farther[i], far[i])
            elif distance < nearest[i, k - 1] and n != anchor:
                insert(distance, n, nearest[i], near[i])
