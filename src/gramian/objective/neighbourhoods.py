"""Neighbourhoods: the mean over samples of minus the logarithm of the probability of a neighbour of the same class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gramian._kernels.neighbourhoods import curvature_tile, line_tile, neighbourhood_tile
from gramian._kernels.samples import add_scaled
from gramian.losses.loss import Assessment, Derivatives
from gramian.objective.terms import Curvature, Group, Pieces, Taken, cut_evenly
from gramian.types import Matrix, Rows, Vector

__all__ = ["Neighbourhoods"]

# A tile of anchors and samples has about so many entries, and a number of anchors between these.
TILE_ENTRIES, LEAST_ANCHORS, MOST_ANCHORS = 1 << 17, 16, 128
# A piece for a thread has at least so many entries; there are so many pieces at the most.
ENTRIES_PER_PIECE, MOST_PIECES = 1 << 20, 8


class Slopes(NamedTuple):
    """The derivative of the objective in the squared distances at an image Z (N, r), as its product S = L Z.

    L (N, N) is the Laplacian of the derivatives ∂f/∂d_ij; it is never formed.
    """

    Z: Matrix
    S: Matrix


class Bend(NamedTuple):
    """The weights of the Gauss-Newton operator at an image Z along a velocity, (N, r) each."""

    Z: Matrix
    velocity: Matrix


class Straight(NamedTuple):
    """The images Z + s T along a straight curve, (N, r) each."""

    Z: Matrix
    T: Matrix


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The sum over anchors i of weight_i · (-log p_i), where p_i is the probability of a neighbour of the same class.

    Sample j ≠ i is a neighbour of i with the probability exp(-d_ij) / Σ_k exp(-d_ik), where d_ij = ‖z_i - z_j‖². This
    is the probability of neighbourhood components analysis (Goldberger et al., 2004), and its logarithm. All samples
    are neighbours. An evaluation costs O(r) for each anchor and sample, in tiles; no (N, N) matrix is stored.

    Parameters
    ----------
    labels : array, shape (N,)
        The classes of the samples; at least two.
    anchors : array of int, shape (a,), optional
        Indices of samples whose class has another sample; all of these by default.
    weight : array, shape (a,), optional
        Weights of the anchors, 1/a by default.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.objective import Neighbourhoods
    >>> term = Neighbourhoods(np.array([0, 0, 1, 1]))
    >>> Z = np.array([[0.0], [0.0], [9.0], [9.0]])
    >>> abs(term.value_and_slopes(term.predict(Z)).value) < 1e-12
    True
    """

    labels: Vector
    anchors: Vector = None  # type: ignore[assignment]
    weight: Vector = None  # type: ignore[assignment]
    separable = False
    #: A trial step costs as much as an evaluation.
    costly = True

    def __post_init__(self) -> None:
        labels = np.unique(self.labels, return_inverse=True)[1]
        counts = np.bincount(labels)
        if len(counts) < 2 or counts.max() < 2:
            raise ValueError("neighbourhoods need at least two classes, one of them with two samples.")
        anchors = np.flatnonzero(counts[labels] > 1) if self.anchors is None else np.asarray(self.anchors)
        if anchors.ndim != 1 or not len(anchors) or anchors.min() < 0 or anchors.max() >= len(labels):
            raise ValueError(f"anchors must be indices of the {len(labels)} samples, at least one.")
        if (counts[labels[anchors]] < 2).any():
            alone = int(anchors[np.argmax(counts[labels[anchors]] < 2)])
            raise ValueError(f"anchors contains {alone}, which is alone in its class and has no neighbour there.")
        weight = np.full(len(anchors), 1 / len(anchors)) if self.weight is None else np.asarray(self.weight, np.float64)
        if weight.shape != anchors.shape:
            raise ValueError(f"weight has shape {weight.shape}; expected {anchors.shape}, one for each anchor.")
        for name, value in (("labels", labels), ("anchors", anchors), ("weight", weight)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.anchors)

    @cached_property
    def sorting(self) -> Sorting:
        """The order of the samples by class."""
        return Sorting.of_labels(self.labels)

    @cached_property
    def rows(self) -> Anchors:
        """The anchors, in the order of the classes."""
        positions = self.sorting.positions[self.anchors]
        order = np.argsort(positions)
        anchors = self.anchors[order]
        edges = np.concatenate([[0], np.cumsum(np.bincount(self.labels))])
        own = self.labels[anchors]
        return Anchors(positions[order], edges[own], edges[own + 1], self.weight[order])

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless there is a label for each of so many samples."""
        if len(self.labels) != n_samples:
            raise ValueError(f"labels has {len(self.labels)} entries, but there are {n_samples} samples.")

    def pieces(self, n_samples: int) -> Pieces:
        """Return terms of consecutive anchors that add up to this one."""
        count = min(MOST_PIECES, len(self) * n_samples // ENTRIES_PER_PIECE)
        if count < 2:
            return Pieces([self], [Group(self, 1)])
        order = np.argsort(self.sorting.positions[self.anchors])
        parts = [self.select(order[cut]) for cut in cut_evenly(len(self), count)]
        return Pieces(parts, [Group(part, 1) for part in parts])

    def select(self, rows: Rows) -> Neighbourhoods:
        """Return the term of some anchors, with their weights."""
        part = replace(self, anchors=self.anchors[rows], weight=self.weight[rows])
        part.__dict__["sorting"] = self.sorting
        return part

    def predict(self, Z: Matrix) -> Matrix:
        """Return Z itself: the term is a function of all distances at once."""
        return Z

    def value_and_slopes(self, prediction: Matrix) -> Assessment:
        """Return the value, the slopes, and the scale of the value's rounding error."""
        Z = self.sorting.sort(prediction)
        norms = row_squares(Z)
        top = float(norms.max())
        if not top <= np.finfo(Z.dtype).max / 8:
            return Assessment(np.inf, Slopes(prediction, np.full_like(Z, np.nan)), 0.0)
        loss, S, columns = np.empty(len(self)), np.zeros_like(Z), np.zeros(len(Z), Z.dtype)
        for cut, rows, tile in self.tiles(Z):
            neighbourhood_tile(tile, norms, *rows, loss[cut], columns)
            add_products(S, tile, rows.positions, Z)
        S += columns[:, None] * Z
        miss = -np.expm1(-loss)
        scale = float(self.rows.weight @ (loss + 4 * top * miss))
        return Assessment(float(self.rows.weight @ loss), Slopes(prediction, self.sorting.restore(S)), scale)

    def weigh(self, weights: Slopes | Bend, Z: Matrix) -> Matrix:
        """Return L Z, shape (N, k), for slopes or Gauss-Newton weights."""
        if isinstance(weights, Slopes) and (weights.Z is Z or np.array_equal(weights.Z, Z)):
            return weights.S
        at, target = self.sorting.sort(weights.Z), self.sorting.sort(Z)
        norms, S, columns = row_squares(at), np.zeros_like(target), np.zeros(len(at), at.dtype)
        speeds = Speeds.of(at, self.sorting.sort(weights.velocity)) if isinstance(weights, Bend) else None
        loss = np.empty(len(self))
        for cut, rows, tile in self.tiles(at):
            if speeds is None:
                neighbourhood_tile(tile, norms, *rows, loss[cut], columns)
            else:
                curvature_tile(tile, speeds.tile(rows.positions), norms, rows.positions, rows.weight, columns)
            add_products(S, tile, rows.positions, target)
        S += columns[:, None] * target
        return self.sorting.restore(S)

    def gauss_newton(self, prediction: Matrix, Z: Matrix, velocity: Matrix) -> Curvature:
        """Return the Gauss-Newton weights along a velocity, and their quadratic form.

        -log p_i is a difference of two convex functions of the distances. The operator has the second derivative of
        the one with a positive sign, the softmax over all samples.
        """
        at = self.sorting.sort(Z)
        norms, speeds, form = row_squares(at), Speeds.of(at, self.sorting.sort(velocity)), 0.0
        columns = np.zeros(len(at), at.dtype)
        for _, rows, tile in self.tiles(at):
            form += curvature_tile(tile, speeds.tile(rows.positions), norms, rows.positions, rows.weight, columns)
        return Curvature(Bend(Z, velocity), max(form, 0.0))

    def line(self, prediction: Matrix, Z: Matrix, T: Matrix) -> Straight:
        """Return Z and T."""
        return Straight(Z, T)

    def along(self, line: Straight, s: float) -> Derivatives:
        """Return value, slope and curvature at s."""
        Z, T = self.sorting.sort(self.predict_along(line, s)), self.sorting.sort(line.T)
        norms, speeds, squares = row_squares(Z), Speeds.of(Z, T), row_squares(T)
        if not float(norms.max()) <= np.finfo(Z.dtype).max / 8:
            return Derivatives(np.inf, np.nan, np.nan)
        sums = np.zeros(4)
        for _, rows, tile in self.tiles(Z):
            at = rows.positions
            bend = 2 * (squares[at, None] + squares - 2 * np.dot(T[at], T.T))
            line_tile(tile, speeds.tile(at), bend, norms, *rows, sums)
        return Derivatives(*(float(total) for total in sums[:3]))

    def quartic(self, line: Straight) -> None:
        """Return None: the value is no polynomial in s."""

    def predict_along(self, line: Straight, s: float) -> Matrix:
        """Return Z + s T."""
        return add_scaled(line.Z, line.T, float(s))

    def take(self, rows: Rows) -> Taken:
        """Return the term of some anchors, and None: their neighbours are all samples."""
        return Taken(self.select(rows), None)

    def tiles(self, Z: Matrix) -> Iterator[Tile]:
        """Yield the products <z_i, z_j> of some anchors at a time with all samples, all in one array."""
        n = len(Z)
        count = int(np.clip(TILE_ENTRIES // n, LEAST_ANCHORS, MOST_ANCHORS))
        space, columns = np.empty((min(count, len(self)), n), Z.dtype), np.ascontiguousarray(Z.T)
        for start in range(0, len(self), count):
            cut = slice(start, min(start + count, len(self)))
            rows = self.rows.part(cut)
            tile = space[: len(rows.positions)]
            np.dot(Z[rows.positions], columns, out=tile)
            yield Tile(cut, rows, tile)


class Sorting(NamedTuple):
    """An order of the samples by class: `order` are indices, ascending by class; `positions` is its inverse."""

    order: Vector
    positions: Vector

    @classmethod
    def of_labels(cls, labels: Vector) -> Sorting:
        """Return the order of labels 0, 1, …, shape (N,)."""
        order = np.argsort(labels, kind="stable")
        positions = np.empty_like(order)
        positions[order] = np.arange(len(order))
        return cls(order, positions)

    def sort(self, Z: Matrix) -> Matrix:
        """Return the rows of Z in the order of the classes."""
        return Z[self.order]

    def restore(self, S: Matrix) -> Matrix:
        """Return rows in the order of the classes as rows in the order of the samples."""
        return S[self.positions]


class Anchors(NamedTuple):
    """Anchors: positions in the order of the classes, the range of positions of their class, and weights, (a,) each."""

    positions: Vector
    starts: Vector
    stops: Vector
    weight: Vector

    def part(self, cut: slice) -> Anchors:
        """Return consecutive anchors."""
        return Anchors(*(array[cut] for array in self))


class Tile(NamedTuple):
    """Products of some anchors with all samples, shape (a, N), the anchors, and which of all anchors they are."""

    cut: slice
    rows: Anchors
    products: Matrix


class Speeds(NamedTuple):
    """The derivatives 2 <z_i - z_j, v_i - v_j> of squared distances along a velocity V of Z, in tiles."""

    pairs: Matrix
    columns: Matrix
    own: Vector

    @classmethod
    def of(cls, Z: Matrix, V: Matrix) -> Speeds:
        """Return the derivatives for an image and its velocity, (N, r) each."""
        return cls(np.hstack([Z, V]), np.ascontiguousarray(np.hstack([V, Z]).T), np.einsum("ij,ij->i", Z, V))

    def tile(self, rows: Vector) -> Matrix:
        """Return the derivatives of some rows, shape (a, N)."""
        return 2 * (self.own[rows, None] + self.own - np.dot(self.pairs[rows], self.columns))


def row_squares(Z: Matrix) -> Vector:
    """Return ‖z_i‖², shape (N,)."""
    return np.einsum("ij,ij->i", Z, Z)


def add_products(S: Matrix, tile: Matrix, rows: Vector, Z: Matrix) -> None:
    """Subtract from S (N, k) the products with Z of a tile (a, N) of ∂f/∂d_ij and of its transpose."""
    S -= np.dot(tile.T, Z[rows])
    S[rows] -= np.dot(tile, Z)
