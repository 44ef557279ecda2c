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

# The numbers of anchors and samples of a tile: its products are read while they are in the cache.
TILE = (128, 2048)
# From MANY samples on, the search in float32 and the second comparison take less time than one in float64. The search
# in float32 keeps MORE further neighbours.
MANY, MORE = 4096, 8


class Samples(NamedTuple):
    """Mapped samples near 1 in the order of their classes, and their squared norms.

    Attributes
    ----------
    Z : array, shape (N, k)
    squares : array, shape (N,)
    edges : array of int, shape (c + 1,)
        The positions where the classes begin, and N.
    order, positions : array of int, shape (N,)
        The index of the sample at each position, and the position of the sample of each index.
    low : array, shape (N, k), or None
        Z in float32, for samples that are many.
    """

    Z: Matrix
    squares: Vector
    edges: Vector
    order: Vector
    positions: Vector
    low: Matrix | None = None

    @classmethod
    def of(cls, Z: Matrix, classes: Vector) -> Samples:
        """Return samples (N, k) of classes 0, 1, … about their mean, in float64 and near 1.

        Distances are differences of squares, which lose digits far from the mean.
        """
        # The scale is a power of two, which changes no digit.
        Z = np.ldexp(Z.astype(np.float64), -int(np.frexp(np.abs(Z).max(initial=0))[1]))
        Z -= Z.mean(axis=0)
        order = np.argsort(classes, kind="stable")
        positions = np.empty_like(order)
        positions[order] = np.arange(len(order))
        edges = np.concatenate([[0], np.cumsum(np.bincount(classes))])
        Z = Z[order]
        low = Z.astype(np.float32) if len(Z) >= MANY else None
        return cls(Z, np.einsum("ij,ij->i", Z, Z), edges, order, positions, low)


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
    at = samples.positions[anchors]
    if samples.low is None:
        found = scan(samples.Z, samples.squares, samples, at, k, j)
        return Nearest(found.near, found.far)
    low = scan(samples.low, samples.squares.astype(np.float32), samples, at, k + MORE, j + MORE)
    near, sure = compare_again(samples, at, low.near, low.near_distances, k)
    far, also_sure = compare_again(samples, at, low.far, low.far_distances, j)
    unsure = np.flatnonzero(~(sure & also_sure))
    if unsure.size:
        exact = scan(samples.Z, samples.squares, samples, at[unsure], k, j)
        near[unsure], far[unsure] = exact.near, exact.far
    return Nearest(near, far)


def scan(Z: Matrix, squares: Vector, samples: Samples, at: Vector, k: int, j: int) -> Found:
    """Return the nearest samples of the anchors at positions (a,), by distances in the dtype of Z."""
    near, far = (np.full((len(at), count), -1) for count in (k, j))
    near_distances, far_distances = (np.full(indices.shape, np.inf, Z.dtype) for indices in (near, far))
    own, code = Z[at], np.searchsorted(samples.edges, at, side="right")
    starts, stops = samples.edges[code - 1], samples.edges[code]
    space = np.empty((len(at), TILE[1]), Z.dtype)
    for start in range(0, len(Z), TILE[1]):
        part = Z[start : start + TILE[1]]
        products = np.dot(own, part.T, out=space) if len(part) == TILE[1] else own @ part.T
        lists = (near_distances, near, far_distances, far)
        update_neighbours(products, squares, at, starts, stops, samples.order, start, *lists)
    return Found(near, near_distances, far, far_distances)


def compare_again(
    samples: Samples, at: Vector, candidates: Matrix, distances: Matrix, count: int
) -> tuple[Matrix, Vector]:
    """Return the nearest of candidates (a, k) by float64, (a, count), and for which anchors (a,) they are certain.

    The anchors are at positions `at`. `distances` are those of the candidates in float32. A sample that is no candidate
    has at least the largest of them, up to rounding.
    """
    # Of samples at equal distance the first is kept.
    candidates = np.sort(candidates, axis=1)
    where = samples.positions[candidates]
    exact = samples.squares[where] - 2 * np.einsum("ai,aki->ak", samples.Z[at], samples.Z[where])
    exact[candidates < 0] = np.inf
    order = np.argsort(exact, axis=1, kind="stable")[:, :count]
    largest = float(samples.squares.max())
    rounding = 2 * (samples.Z.shape[1] + 4) * float(np.finfo(np.float32).eps) * 3 * largest
    last = np.take_along_axis(exact, order[:, -1:], axis=1)[:, 0]
    complete = np.isinf(distances[:, -1])
    return np.take_along_axis(candidates, order, axis=1), complete | (last < distances[:, -1] - rounding)
