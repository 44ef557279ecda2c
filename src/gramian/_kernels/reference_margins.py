"""What the kernels of margins compute, from all pairs of a near and a far neighbour of each anchor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian._kernels import reference

__all__ = [
    "NearAndFar",
    "gather",
    "margins_along",
    "margins_along_line",
    "margins_curvature",
    "margins_distances",
    "margins_value_and_slopes",
    "margins_weigh",
    "near_and_far",
]


class NearAndFar(NamedTuple):
    """A number of each near and of each far neighbour, both as (a, K, J)."""

    near: Any
    far: Any

    @property
    def gap(self) -> Any:
        """What the far one has more than the near one, (a, K, J)."""
        return self.far - self.near


def near_and_far(values: Any, n_near: int) -> NearAndFar:
    """Return values of neighbours (a, K + J), repeated for each near and each far neighbour."""
    near, far = values[:, :n_near, None], values[:, None, n_near:]
    shape = (len(values), near.shape[1], far.shape[2])
    return NearAndFar(np.broadcast_to(near, shape), np.broadcast_to(far, shape))


def gather(values: Any) -> Any:
    """Return the weights (a, K + J) of distances from those of the gaps, (a, K, J): the adjoint of `NearAndFar.gap`."""
    return np.hstack([-values.sum(axis=2), values.sum(axis=1)])


def exists(counts: Any, n_near: int, width: int) -> Any:
    """Return True for the neighbours that count, (a, K + J)."""
    columns = np.arange(width)
    return np.where(columns < n_near, columns < counts[:, :1], columns - n_near < counts[:, 1:])


def pairs_of(anchors: Any, neighbours: Any) -> Any:
    """Return the pairs of anchors and neighbours, (a (K + J), 2)."""
    return np.column_stack([np.repeat(anchors, neighbours.shape[1]), neighbours.ravel()])


def margins_distances(anchors: Any, neighbours: Any, counts: Any, n_near: Any, Z: Any) -> Any:
    """Return the squared distances of anchors and their neighbours, shape (a, K + J); 0 where there is none."""
    D = reference.pairs_predict(pairs_of(anchors, neighbours), Z).reshape(neighbours.shape)
    return np.where(exists(counts, n_near, D.shape[1]), D, Z.dtype.type(0))


def margins_along(anchors: Any, neighbours: Any, counts: Any, n_near: Any, Z: Any, T: Any) -> Any:
    """Return the coefficients b, c of the squared distances a + b s + c s² along Z + s T, shape (a, K + J) each."""
    valid = exists(counts, n_near, neighbours.shape[1])
    found = reference.pairs_along(pairs_of(anchors, neighbours), Z, T)
    return tuple(np.where(valid, each.reshape(valid.shape), Z.dtype.type(0)) for each in found)


def margins_weigh(anchors: Any, neighbours: Any, weight: Any, Z: Any) -> Any:
    """Return L Z, shape (N, r), for the graph Laplacian of the pairs with weights (a, K + J); 0 where there is none."""
    return reference.pairs_weigh(pairs_of(anchors, neighbours), weight.ravel(), Z)


def both(counts: Any, n_near: int, width: int) -> Any:
    """Return True where the near and the far neighbour count, (a, K, J)."""
    return np.logical_and(*near_and_far(exists(counts, n_near, width), n_near))


def margins_value_and_slopes(D: Any, counts: Any, n_near: Any, weight: Any, pull: Any, margin: Any) -> Any:
    """Return the value, its derivatives in the distances D (a, K + J), and the scale of its rounding error."""
    gap, valid = near_and_far(D, n_near).gap, exists(counts, n_near, D.shape[1])
    excess = np.where(both(counts, n_near, D.shape[1]), np.maximum(margin - gap, 0), 0)
    weighted = weight[:, None, None] * excess
    slopes = gather(-weighted)
    slopes[:, :n_near] += pull[:, None] * valid[:, :n_near]
    pulled = float(np.sum(pull[:, None] * D[:, :n_near] * valid[:, :n_near]))
    value = 0.5 * float(np.sum(weighted * excess)) + pulled
    return value, slopes.astype(D.dtype), float(np.sum(weighted * np.abs(gap))) + pulled


def margins_along_line(
    A: Any, B: Any, C: Any, counts: Any, n_near: Any, weight: Any, pull: Any, margin: Any, s: Any
) -> Any:
    """Return value, slope and curvature in s of the value at the distances A + B s + C s², (a, K + J) each."""
    D, speed, bend = A + s * (B + s * C), B + 2 * s * C, 2 * C
    value, slopes, _ = margins_value_and_slopes(D, counts, n_near, weight, pull, margin)
    active = both(counts, n_near, D.shape[1]) & (near_and_far(D, n_near).gap < margin)
    squares = weight[:, None, None] * active * near_and_far(speed, n_near).gap ** 2
    return value, float(np.sum(slopes * speed)), float(np.sum(squares) + np.sum(slopes * bend))


def margins_curvature(D: Any, speed: Any, counts: Any, n_near: Any, weight: Any, margin: Any) -> Any:
    """Return the weights (a, K + J) of the Gauss-Newton operator at distances D for their speeds, and its form."""
    active = both(counts, n_near, D.shape[1]) & (near_and_far(D, n_near).gap < margin)
    rate = near_and_far(speed, n_near).gap
    weighted = weight[:, None, None] * active * rate
    return gather(weighted).astype(D.dtype), float(np.sum(weighted * rate))
