"""Kernel regression: the squared error of predicting each sample's target from its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian._kernels.samples import add_scaled
from gramian._kernels.targets import regression_curvature_tile, regression_line_tile, regression_tile
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

__all__ = ["KernelRegression"]


@dataclass(frozen=True, eq=False)
class KernelRegression(SoftmaxTerm):
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
        Weights of the anchors, with a sum near 1; 1/a by default. In float32, derivatives in a distance that
        are smaller than 1e-32 count as 0.

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

    def __post_init__(self) -> None:
        y = np.asarray(self.y, np.float64)
        if y.ndim != 1 or len(y) < 2 or not np.isfinite(y).all():
            raise ValueError(f"y has shape {y.shape}; expected finite numbers (N,), at least two.")
        anchors = np.arange(len(y)) if self.anchors is None else np.asarray(self.anchors)
        set_anchors(self, anchors, len(y), y=y)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless there is a target for each of n_samples samples."""
        if len(self.y) != n_samples:
            raise ValueError(f"y has {len(self.y)} entries, but there are {n_samples} samples.")

    def select(self, rows: Rows) -> KernelRegression:
        """Return the term of some anchors, with their weights."""
        return replace(self, anchors=self.anchors[rows], weight=self.weight[rows])

    def value_and_slopes(self, prediction: Matrix) -> Assessment:
        """Return the value, the slopes, and the scale of the value's rounding error."""
        Z, norms = prediction, row_squares(prediction)
        top = float(norms.max())
        if not top <= np.finfo(Z.dtype).max / 8:
            return Assessment(np.inf, Slopes(Z, np.full_like(Z, np.nan)), 0.0)
        residuals, S, columns = np.empty(len(self)), np.zeros_like(Z), np.zeros(len(Z), Z.dtype)
        targets = self.y.astype(Z.dtype)
        for cut, tile in product_tiles(Z, self.anchors):
            anchors = self.anchors[cut]
            regression_tile(tile, norms, targets, anchors, self.weight[cut], residuals[cut], columns)
            add_products(S, tile, anchors, Z)
        S += columns[:, None] * Z
        value = float(self.weight @ residuals**2)
        # An error of a distance, of size eps · top, changes the predictions by up to the spread of the targets.
        scale = float(self.weight @ (residuals**2 + 4 * min(top, 1.0) * np.abs(residuals) * np.ptp(self.y)))
        return Assessment(value, Slopes(Z, S), scale)

    def value_at_zero(self, Z: Matrix) -> float:
        """Return the value where all distances are 0: p_i is the mean of the other targets."""
        y = self.y[self.anchors]
        return float(self.weight @ ((self.y.sum() - y) / (len(self.y) - 1) - y) ** 2)

    def weigh(self, weights: Slopes | Bend, Z: Matrix) -> Matrix:
        """Return L Z, shape (N, k), for slopes or Gauss-Newton weights."""
        if isinstance(weights, Slopes) and (weights.Z is Z or np.array_equal(weights.Z, Z)):
            return weights.S
        at, S = weights.Z, np.zeros_like(Z)
        norms, columns, residuals = row_squares(at), np.zeros(len(at), at.dtype), np.empty(len(self))
        speeds = Speeds.of(at, weights.velocity) if isinstance(weights, Bend) else None
        targets = self.y.astype(at.dtype)
        for cut, tile in product_tiles(at, self.anchors):
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
        for cut, tile in product_tiles(Z, self.anchors):
            anchors = self.anchors[cut]
            form += regression_curvature_tile(
                tile, speeds.tile(anchors), norms, targets, anchors, self.weight[cut], columns
            )
        return Curvature(Bend(Z, velocity), form)

    def along(self, line: Straight, s: float) -> Derivatives:
        """Return value, slope and curvature at s."""
        Z, T = add_scaled(line.Z, line.T, float(s)), line.T
        norms, speeds, squares = row_squares(Z), Speeds.of(Z, T), row_squares(T)
        if not float(norms.max()) <= np.finfo(Z.dtype).max / 8:
            return Derivatives(np.inf, np.nan, np.nan)
        sums, targets = np.zeros(3), self.y.astype(Z.dtype)
        for cut, tile in product_tiles(Z, self.anchors):
            at = self.anchors[cut]
            bend = 2 * (squares[at, None] + squares - 2 * np.dot(T[at], T.T))
            regression_line_tile(tile, speeds.tile(at), bend, norms, targets, at, self.weight[cut], sums)
        return Derivatives(*(float(total) for total in sums))
