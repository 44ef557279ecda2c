"""The nearest samples of anchors, of their own label and of others, among all samples.

Products of many samples are computed in float32. Only the least distance of every group of samples is kept. The groups
that may have a neighbour, up to rounding, are compared again in float64: the result is that of float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramian._kernels.minima import LANES, WIDTH, nearest_in_groups, update_minima
from gramian._kernels.neighbours import update_neighbours
from gramian.types import Matrix, Vector

__all__ = ["Nearest", "Samples", "nearest_samples", "nearest_to_queries"]

# The numbers of anchors and samples of a tile: its products are read while they are in the cache.
TILE = (128, 2048)
# From MANY samples on, the search in float32 and the second comparison take less time than one in float64.
MANY = 4096
# Products with PART samples, a part of a segment, are then read while they are in the cache.
PART = WIDTH // 4
# A tile then has MOST_ANCHORS anchors; fewer, if it would have more than MOST_MINIMA minima of groups.
MOST_ANCHORS, LEAST_ANCHORS, MOST_MINIMA = 512, 64, 2**21


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
    low : array, shape (S · WIDTH, k + 1), or None
        If there are many, the samples in float32, filled up with zeros, and their squared norms, with infinity.
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
        samples = cls(Z, np.einsum("ij,ij->i", Z, Z), edges, order, positions)
        return samples if len(Z) < MANY else samples._replace(low=samples.lowered())

    def lowered(self) -> Matrix:
        """Return samples and squared norms in float32, filled up to a multiple of a segment."""
        n, k = self.Z.shape
        low = np.zeros((-(-n // WIDTH) * WIDTH, k + 1), np.float32)
        low[:n, :k], low[:n, k], low[n:, k] = self.Z, self.squares, np.inf
        return low

    def coefficients(self, anchors: Vector) -> Matrix:
        """Return the rows (a, k + 1) whose products with those of `low` are ‖z_p‖² - 2 <z_i, z_p>."""
        assert self.low is not None
        own = -2 * self.low[anchors]
        own[:, -1] = 1
        return own

    @property
    def tile(self) -> int:
        """The number of anchors that are worked on at a time."""
        if self.low is None:
            return TILE[0]
        n_minima = len(self.low) // WIDTH * LANES
        return min(MOST_ANCHORS, max(LEAST_ANCHORS, MOST_MINIMA // n_minima))

    @property
    def rounding(self) -> float:
        """The largest error of the difference of two squared distances in float32."""
        k = self.Z.shape[1]
        return 2 * (k + 4) * float(np.finfo(np.float32).eps) * 3 * float(self.squares.max())


class Nearest(NamedTuple):
    """Indices of the nearest samples of a anchors: of their own label (a, k), and of others (a, j); -1 for no more."""

    near: Matrix
    far: Matrix


class Ranges(NamedTuple):
    """Positions of a anchors, and the ranges of positions of their classes, shape (a,) each."""

    anchors: Vector
    starts: Vector
    stops: Vector


def nearest_samples(samples: Samples, anchors: Vector, k: int, j: int) -> Nearest:
    """Return indices of the k nearest of each anchor's label (a, k) and the j nearest of others (a, j); -1: no more."""
    at = samples.positions[anchors]
    code = np.searchsorted(samples.edges, at, side="right")
    ranges = Ranges(at, samples.edges[code - 1], samples.edges[code])
    return scan(samples, ranges, k, j) if samples.low is None else scan_groups(samples, ranges, k, j)


def scan(samples: Samples, ranges: Ranges, k: int, j: int) -> Nearest:
    """Return the nearest samples of anchors by their products with all samples, in float64."""
    Z, at = samples.Z, ranges.anchors
    near, far = (np.full((len(at), count), -1) for count in (k, j))
    near_distances, far_distances = (np.full(indices.shape, np.inf) for indices in (near, far))
    own, space = Z[at], np.empty((len(at), TILE[1]))
    for start in range(0, len(Z), TILE[1]):
        part = Z[start : start + TILE[1]]
        products = np.dot(own, part.T, out=space) if len(part) == TILE[1] else own @ part.T
        lists = (near_distances, near, far_distances, far)
        update_neighbours(products, samples.squares, *ranges, samples.order, start, *lists)
    return Nearest(near, far)


def scan_groups(samples: Samples, ranges: Ranges, k: int, j: int) -> Nearest:
    """Return the nearest samples of anchors by the least distances of groups in float32, then those groups alone."""
    low = samples.low
    assert low is not None
    own, space = samples.coefficients(ranges.anchors), np.empty((len(ranges.anchors), PART), np.float32)
    longest = int(np.max(-(-ranges.stops // WIDTH) - ranges.starts // WIDTH))
    near, far = (np.full((len(own), count * LANES), np.inf, np.float32) for count in (longest, len(low) // WIDTH))
    for start in range(0, len(low), PART):
        update_minima(np.dot(own, low[start : start + PART].T, out=space), *ranges, start, near, far)
    found = []
    for minima, count, of_own in ((near, k, True), (far, j, False)):
        shape = (len(minima), count)
        lists, rounding = (np.empty(shape), np.empty(shape, np.intp)), np.float32(samples.rounding)
        nearest_in_groups(samples.Z, samples.squares, samples.order, *ranges, minima, rounding, of_own, *lists)
        found.append(lists[1])
    return Nearest(*found)


def nearest_to_queries(Z: Matrix, queries: Matrix, count: int) -> Matrix:
    """Return the indices of the samples Z (n, r) nearest to each query (m, r), at most `count`, nearest first.

    Of samples at the same distance, the one with the least index comes first.
    """
    # Neighbours do not depend on the scale; squares of numbers near 1 do not overflow.
    exponent = -int(np.frexp(np.abs(Z).max(initial=0))[1])
    with np.errstate(over="ignore"):
        Z, queries = (np.ldexp(part.astype(np.float64), exponent) for part in (Z, queries))
    squares, order = np.einsum("ij,ij->i", Z, Z), np.arange(len(Z))
    indices = np.full((len(queries), min(count, len(Z))), -1)
    distances = np.full(indices.shape, np.inf)
    # Queries are not among the samples, and all of these are of one kind, the second.
    none, zero = np.full(len(queries), -1), np.zeros(len(queries), np.intp)
    for begin in range(0, len(queries), TILE[0]):
        tile = slice(begin, begin + TILE[0])
        no_list = (np.full((len(none[tile]), 1), np.inf), np.full((len(none[tile]), 1), -1))
        for start in range(0, len(Z), TILE[1]):
            products = np.dot(queries[tile], Z[start : start + TILE[1]].T)
            ranges = (none[tile], zero[tile], zero[tile])
            update_neighbours(products, squares, *ranges, order, start, *no_list, distances[tile], indices[tile])
    return indices
