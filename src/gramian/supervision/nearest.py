"""The nearest samples of anchors, of their own label and of others, among all samples.

Products of many samples are computed in float32, with some more neighbours than asked for. These are compared again in
float64. Where rounding may have hidden a neighbour, the search is repeated in float64: the result is that of float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramian._kernels.neighbours import update_neighbours
from gramian.types import Matrix, Vector

__all__ = ["Nearest", "Samples", "nearest_samples"]

# Products of so many anchors with so many samples are read while they are in the cache.
TILE = (128, 2048)
# From so many samples on, float32 is worth a second comparison; it keeps so many more neighbours.
MANY, MORE = 4096, 8


class Samples(NamedTuple):
    """Mapped samples (N, k) near 1, their squared norms (N,) and the numbers of their classes (N,).

    Attributes
    ----------
    Z : array, shape (N, k)
    squares : array, shape (N,)
    classes : array, shape (N,)
    low : array, shape (N, k), or None
        Z in float32, for samples that are many.
    """

    Z: Matrix
    squares: Vector
    classes: Vector
    low: Matrix | None = None

    @classmethod
    def of(cls, Z: Matrix, classes: Vector) -> Samples:
        """Return samples (N, k) about their mean, in float64 and near 1, since distances are differences of squares."""
        # The scale is a power of two, which changes no digit.
        Z = np.ldexp(Z.astype(np.float64), -int(np.frexp(np.abs(Z).max(initial=0))[1]))
        Z -= Z.mean(axis=0)
        low = Z.astype(np.float32) if len(Z) >= MANY else None
        return cls(Z, np.einsum("ij,ij->i", Z, Z), classes, low)


class Nearest(NamedTuple):
    """Indices of the nearest samples of a anchors: of their own label (a, k), and of others (a, j); -1 for no more."""

    near: Matrix
    far: Matrix


class Found(NamedTuple):
    """Nearest samples of anchors, and their squared distances less the squared norm of the anchor, ascending."""

    near: Matrix
    near_distances: Matrix
    far: Matrix
    far_distances: Matrix


def nearest_samples(samples: Samples, anchors: Vector, k: int, j: int) -> Nearest:
    """Return indices of the k nearest of each anchor's label (a, k) and the j nearest of others (a, j); -1: no more."""
    if samples.low is None:
        found = scan(samples.Z, samples.squares, samples.classes, anchors, k, j)
        return Nearest(found.near, found.far)
    low = scan(samples.low, samples.squares.astype(np.float32), samples.classes, anchors, k + MORE, j + MORE)
    near, sure = compare_again(samples, anchors, low.near, low.near_distances, k)
    far, also_sure = compare_again(samples, anchors, low.far, low.far_distances, j)
    unsure = np.flatnonzero(~(sure & also_sure))
    if unsure.size:
        exact = scan(samples.Z, samples.squares, samples.classes, anchors[unsure], k, j)
        near[unsure], far[unsure] = exact.near, exact.far
    return Nearest(near, far)


def scan(Z: Matrix, squares: Vector, classes: Vector, anchors: Vector, k: int, j: int) -> Found:
    """Return the nearest samples by distances in the dtype of Z."""
    near, far = (np.full((len(anchors), count), -1) for count in (k, j))
    near_distances, far_distances = (np.full(indices.shape, np.inf, Z.dtype) for indices in (near, far))
    own = Z[anchors]
    for start in range(0, len(Z), TILE[1]):
        products = own @ Z[start : start + TILE[1]].T
        update_neighbours(products, squares, anchors, classes, start, near_distances, near, far_distances, far)
    return Found(near, near_distances, far, far_distances)


def compare_again(
    samples: Samples, anchors: Vector, candidates: Matrix, distances: Matrix, count: int
) -> tuple[Matrix, Vector]:
    """Return the nearest of candidates (a, k) by float64, (a, count), and for which anchors (a,) they are certain.

    `distances` are those of the candidates in float32. A sample that is no candidate has at least the largest of them,
    up to rounding.
    """
    # Of samples at equal distance the first is kept.
    candidates = np.sort(candidates, axis=1)
    exact = samples.squares[candidates] - 2 * np.einsum("ai,aki->ak", samples.Z[anchors], samples.Z[candidates])
    exact[candidates < 0] = np.inf
    order = np.argsort(exact, axis=1, kind="stable")[:, :count]
    largest = float(samples.squares.max())
    rounding = 2 * (samples.Z.shape[1] + 4) * float(np.finfo(np.float32).eps) * 3 * largest
    last = np.take_along_axis(exact, order[:, -1:], axis=1)[:, 0]
    complete = np.isinf(distances[:, -1])
    return np.take_along_axis(candidates, order, axis=1), complete | (last < distances[:, -1] - rounding)
