"""Kernel regression: the squared error of predicting each sample's target from its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gramian._kernels.samples import add_scaled
from gramian._kernels.targets import regression_curvature_tile, regression_line_tile, regression_tile
from gramian.losses.loss import Assessment, Derivatives
from gramian.objective.neighbourhoods import (
    ENTRIES_PER_PIECE,
    LEAST_ANCHORS,
    MOST_ANCHORS,
    MOST_PIECES,
    TILE_ENTRIES,
    Bend,
    Slopes,
    Speeds,
    Straight,
    add_products,
    row_squares,
)
from gramian.objective.terms import Curvature, Group, Pieces, Taken, cut_evenly
from gramian.types import Matrix, Rows, Vector

__all__ = ["KernelRegression"]


class Tile(NamedTuple):
    """Products of some anchors with all samples, shape (a, N), and which of all anchors they are."""

    cut: slice
    products: Matrix


@dataclass(frozen=True, eq=False)
class KernelRegression:
    """The sum over anchors i of weight_i (p_i - y_i)², where p_i is the prediction of y_i from all other samples.

    p_i = Σ_j q_ij y_j with the probabilities q_ij = exp(-d_ij) / Σ_k exp(-d_ik) over j ≠ i, d_ij = ‖z_i - z_j‖²: the
    objective of metric learning for kernel regression (Weinberger and Tesauro, 2007). An evaluation costs O(r) for each
    anchor and sample, in tiles; no (N, N) matrix is stored.

    Parameters
    ----------
    y : array, shape (N,)
        The targets. They should be near 1 in size: predictions are computed in the precision of the image.
    anchors : array of int, shape (a,), optional
        Indices of samples; all by default.
    weight : array, shape (a,), optional
        Weights of the anchors, 1/a by default.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.objective import KernelRegression
    >>> term = KernelRegression(np.array([0.0, 0.0, 1.0, 1.0]))
    >>> Z = np.array([[0.0], [0.0], [9.0], [9.0]])
    >>> abs(term.value_and_slopes(term.predict(Z)).value) < 1e-12
    True
    """

    y: Vector
    anchors: Vector = None  # type: ignore[assignment]
    weight: Vector = None  # type: ignore[assignment]
    separable = False
    #: A trial step costs as much as an evaluation.
    costly = True

    def __post_init__(self) -> None:
        y = np.asarray(self.y, np.float64)
        if y.ndim != 1 or len(y) < 2 or not np.isfinite(y).all():
            raise ValueError(f"y has shape {y.shape}; expected finite numbers (N,), at least two.")
        anchors = np.arange(len(y)) if self.anchors is None else np.asarray(self.anchors)
        if anchors.ndim != 1 or not len(anchors) or anchors.min() < 0 or anchors.max() >= len(y):
            raise ValueError(f"anchors must be indices of the {len(y)} samples, at least one.")
        weight = np.full(len(anchors), 1 / len(anchors)) if self.weight is None else np.asarray(self.weight, np.float64)
        if weight.shape != anchors.shape:
            raise ValueError(f"weight has shape {weight.shape}; expected {anchors.shape}, one for each anchor.")
        for name, value in (("y", y), ("anchors", anchors), ("weight", weight)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.anchors)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless there is a target for each of so many samples."""
        if len(self.y) != n_samples:
            raise ValueError(f"y has {len(self.y)} entries, but there are {n_samples} samples.")

    def pieces(self, n_samples: int) -> Pieces:
        """Return terms of consecutive anchors that add up to this one."""
        count = min(MOST_PIECES, len(self) * n_samples // ENTRIES_PER_PIECE)
        if count < 2:
            return Pieces([self], [Group(self, 1)])
        parts = [self.select(cut) for cut in cut_evenly(len(self), count)]
        return Pieces(parts, [Group(part, 1) for part in parts])

    def select(self, rows: Rows) -> KernelRegression:
        """Return the term of some anchors, with their weights."""
        return replace(self, anchors=self.anchors[rows], weight=self.weight[rows])

    def predict(self, Z: Matrix) -> Matrix:
        """Return Z itself: the term is a function of all distances at once."""
        return Z

    def value_and_slopes(self, prediction: Matrix) -> Assessment:
        """Return the value, the slopes, and the scale of the value's rounding error."""
        Z, norms = prediction, row_squares(prediction)
        top = float(norms.max())
        if not top <= np.finfo(Z.dtype).max / 8:
            return Assessment(np.inf, Slopes(Z, np.full_like(Z, np.nan)), 0.0)
        residuals, S, columns = np.empty(len(self)), np.zeros_like(Z), np.zeros(len(Z), Z.dtype)
        targets = self.y.astype(Z.dtype)
        for cut, tile in self.tiles(Z):
            anchors = self.anchors[cut]
            regression_tile(tile, norms, targets, anchors, self.weight[cut], residuals[cut], columns)
            add_products(S, tile, anchors, Z)
        S += columns[:, None] * Z
        value = float(self.weight @ residuals**2)
        # An error of a distance, of size eps · top, changes the predictions by up to the spread of the targets.
        scale = float(self.weight @ (residuals**2 + 4 * min(top, 1.0) * np.abs(residuals) * np.ptp(self.y)))
        return Assessment(value, Slopes(Z, S), scale)

    def weigh(self, weights: Slopes | Bend, Z: Matrix) -> Matrix:
        """Return L Z, shape (N, k), for slopes or Gauss-Newton weights."""
        if isinstance(weights, Slopes) and (weights.Z is Z or np.array_equal(weights.Z, Z)):
            return weights.S
        at, S = weights.Z, np.zeros_like(Z)
        norms, columns, residuals = row_squares(at), np.zeros(len(at), at.dtype), np.empty(len(self))
        speeds = Speeds.of(at, weights.velocity) if isinstance(weights, Bend) else None
        targets = self.y.astype(at.dtype)
        for cut, tile in self.tiles(at):
            anchors, weight = self.anchors[cut], self.weight[cut]
            if speeds is None:
                regression_tile(tile, norms, targets, anchors, weight, residuals[cut], columns)
            else:
                regression_curvature_tile(tile, speeds.tile(anchors), norms, targets, anchors, weight, columns)
            add_products(S, tile, anchors, Z)
        S += columns[:, None] * Z
        return S

    def gauss_newton(self, prediction: Matrix, Z: Matrix, velocity: Matrix) -> Curvature:
        """Return the weights of the Gauss-Newton operator, that of linearised predictions, and its quadratic form."""
        norms, speeds, form = row_squares(Z), Speeds.of(Z, velocity), 0.0
        columns, targets = np.zeros(len(Z), Z.dtype), self.y.astype(Z.dtype)
        for cut, tile in self.tiles(Z):
            anchors = self.anchors[cut]
            form += regression_curvature_tile(
                tile, speeds.tile(anchors), norms, targets, anchors, self.weight[cut], columns
            )
        return Curvature(Bend(Z, velocity), form)

    def line(self, prediction: Matrix, Z: Matrix, T: Matrix) -> Straight:
        """Return Z and T."""
        return Straight(Z, T)

    def along(self, line: Straight, s: float) -> Derivatives:
        """Return value, slope and curvature at s."""
        Z, T = self.predict_along(line, s), line.T
        norms, speeds, squares = row_squares(Z), Speeds.of(Z, T), row_squares(T)
        if not float(norms.max()) <= np.finfo(Z.dtype).max / 8:
            return Derivatives(np.inf, np.nan, np.nan)
        sums, targets = np.zeros(3), self.y.astype(Z.dtype)
        for cut, tile in self.tiles(Z):
            at = self.anchors[cut]
            bend = 2 * (squares[at, None] + squares - 2 * np.dot(T[at], T.T))
            regression_line_tile(tile, speeds.tile(at), bend, norms, targets, at, self.weight[cut], sums)
        return Derivatives(*(float(total) for total in sums))

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
            tile = space[: cut.stop - start]
            np.dot(Z[self.anchors[cut]], columns, out=tile)
            yield Tile(cut, tile)
