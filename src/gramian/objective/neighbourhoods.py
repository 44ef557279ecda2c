"""Neighbourhoods: the probability that a neighbour, drawn by a softmax, is of the same class; its mean over samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gramian._kernels.neighbourhoods import curvature_tile, line_tile, neighbourhood_tile
from gramian._kernels.samples import add_scaled
from gramian.checks import check_number
from gramian.losses.loss import Assessment, Derivatives
from gramian.objective.softmax import (
    Bend,
    Slopes,
    SoftmaxTerm,
    Speeds,
    Straight,
    add_products,
    product_tiles,
    row_squares,
    set_anchors,
)
from gramian.objective.terms import Curvature
from gramian.types import Matrix, Rows, Vector

__all__ = ["Neighbourhoods"]


@dataclass(frozen=True, eq=False)
class Neighbourhoods(SoftmaxTerm):
    """The sum over anchors i of weight_i · (-log p_i), where p_i is the probability of a neighbour of the same class.

    Sample j ≠ i is a neighbour of i with the probability exp(-d_ij) / Σ_k exp(-d_ik), where d_ij = ‖z_i - z_j‖². This
    is the probability of neighbourhood components analysis (Goldberger et al., 2004), and its logarithm. With a power
    q > 0 the sum is that of weight_i · (1 - p_i^q)/q; q = 1 is their objective, which gives up samples whose neighbours
    are of other classes. All samples are neighbours. An evaluation costs O(r) for each anchor and sample, in tiles; no
    (N, N) matrix is stored.

    Parameters
    ----------
    labels : array, shape (N,)
        The classes of the samples; at least two.
    anchors : array of int, shape (a,), optional
        Indices of samples whose class has another sample; all of these by default.
    weight : array, shape (a,), optional
        Weights of the anchors, with a sum near 1; 1/a by default. In float32, derivatives in a distance that
        are smaller than 1e-32 count as 0.
    power : float
        q, from 0 (the logarithm) to 1.

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
    power: float = 0.0

    def __post_init__(self) -> None:
        labels = np.unique(self.labels, return_inverse=True)[1]
        counts = np.bincount(labels)
        if len(counts) < 2 or counts.max() < 2:
            raise ValueError("neighbourhoods need at least two classes, one of them with two samples.")
        anchors = np.flatnonzero(counts[labels] > 1) if self.anchors is None else np.asarray(self.anchors)
        set_anchors(self, anchors, len(labels), labels=labels)
        if (counts[labels[anchors]] < 2).any():
            alone = int(anchors[np.argmax(counts[labels[anchors]] < 2)])
            raise ValueError(f"anchors contains {alone}, which is alone in its class and has no neighbour there.")
        check_number("power", self.power, least=0)

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
        """Raise a ValueError unless there is a label for each of n_samples samples."""
        if len(self.labels) != n_samples:
            raise ValueError(f"labels has {len(self.labels)} entries, but there are {n_samples} samples.")

    def select(self, rows: Rows) -> Neighbourhoods:
        """Return the term of some anchors, with their weights."""
        part = replace(self, anchors=self.anchors[rows], weight=self.weight[rows])
        part.__dict__["sorting"] = self.sorting
        return part

    def value_and_slopes(self, prediction: Matrix) -> Assessment:
        """Return the value, the slopes, and the scale of the value's rounding error."""
        Z = self.sorting.sort(prediction)
        norms = row_squares(Z)
        top = float(norms.max())
        if not top <= np.finfo(Z.dtype).max / 8:
            return Assessment(np.inf, Slopes(prediction, np.full_like(Z, np.nan)), 0.0)
        loss, S, columns = np.empty(len(self)), np.zeros_like(Z), np.zeros(len(Z), Z.dtype)
        for cut, rows, tile in self.tiles(Z):
            neighbourhood_tile(tile, norms, *rows, self.power, loss[cut], columns)
            add_products(S, tile, rows.positions, Z)
        S += columns[:, None] * Z
        miss = -np.expm1(-loss)
        scale = float(self.rows.weight @ (loss + 4 * top * miss))
        value = loss if self.power == 0 else -np.expm1(-self.power * loss) / self.power
        return Assessment(float(self.rows.weight @ value), Slopes(prediction, self.sorting.restore(S)), scale)

    def value_at_zero(self, Z: Matrix) -> float:
        """Return the value where all distances are 0: p_i is the share of the class of i among the other samples."""
        counts = np.bincount(self.labels)[self.labels[self.anchors]]
        loss = np.log((len(self.labels) - 1) / (counts - 1))
        return float(self.weight @ (loss if self.power == 0 else -np.expm1(-self.power * loss) / self.power))

    def weigh(self, weights: Slopes | Bend, Z: Matrix) -> Matrix:
        """Return L Z, shape (N, k), for slopes or Gauss-Newton weights."""
        if isinstance(weights, Slopes) and (weights.Z is Z or np.array_equal(weights.Z, Z)):
            return weights.S
        at, target = self.sorting.sort(weights.Z), self.sorting.sort(Z)
        norms, S, columns = row_squares(at), np.zeros_like(target), np.zeros(len(at), at.dtype)
        speeds = Speeds.of(at, self.sorting.sort(weights.velocity)) if isinstance(weights, Bend) else None
        loss = np.empty(len(self))
        weight = None if speeds is None else self.curvature_weight(at)
        for cut, rows, tile in self.tiles(at):
            if speeds is None or weight is None:
                neighbourhood_tile(tile, norms, *rows, self.power, loss[cut], columns)
            else:
                curvature_tile(tile, speeds.tile(rows.positions), norms, rows.positions, weight[cut], columns)
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
        columns, weight = np.zeros(len(at), at.dtype), self.curvature_weight(at)
        for cut, rows, tile in self.tiles(at):
            form += curvature_tile(tile, speeds.tile(rows.positions), norms, rows.positions, weight[cut], columns)
        return Curvature(Bend(Z, velocity), max(form, 0.0))

    def curvature_weight(self, at: Matrix) -> Vector:
        """Return weight_i p_i^q, the factor of the curvature of -log p_i, shape (a,), for samples sorted by class."""
        if not self.power:
            return self.rows.weight
        norms, loss, columns = row_squares(at), np.empty(len(self)), np.zeros(len(at), at.dtype)
        for cut, rows, tile in self.tiles(at):
            neighbourhood_tile(tile, norms, *rows, self.power, loss[cut], columns)
        return self.rows.weight * np.exp(-self.power * loss)

    def along(self, line: Straight, s: float) -> Derivatives:
        """Return value, slope and curvature at s."""
        Z, T = self.sorting.sort(add_scaled(line.Z, line.T, float(s))), self.sorting.sort(line.T)
        norms, speeds, squares = row_squares(Z), Speeds.of(Z, T), row_squares(T)
        if not float(norms.max()) <= np.finfo(Z.dtype).max / 8:
            return Derivatives(np.inf, np.nan, np.nan)
        sums = np.zeros(3)
        for _, rows, tile in self.tiles(Z):
            at = rows.positions
            bend = 2 * (squares[at, None] + squares - 2 * np.dot(T[at], T.T))
            line_tile(tile, speeds.tile(at), bend, norms, *rows, self.power, sums)
        return Derivatives(*(float(total) for total in sums))

    @property
    def order(self) -> Vector:
        """The order of the anchors by class."""
        return np.argsort(self.sorting.positions[self.anchors])

    def tiles(self, Z: Matrix) -> Iterator[AnchorTile]:
        """Yield products of some anchors at a time with all samples, which are sorted by class."""
        for cut, products in product_tiles(Z, self.rows.positions):
            yield AnchorTile(cut, self.rows.part(cut), products)


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


class AnchorTile(NamedTuple):
    """Products of some anchors with all samples, shape (a, N), the anchors, and which of all anchors they are."""

    cut: slice
    rows: Anchors
    products: Matrix
