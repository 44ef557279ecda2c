"""The Huber loss: quadratic near the target, linear far from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._kernels.huber import huber_along, huber_value_and_slopes
from gramian.checks import check_number
from gramian.losses.loss import Assessment, Coefficients, Derivatives, Loss, LossValues, check_lengths
from gramian.types import Vector

__all__ = ["Huber"]


@dataclass(frozen=True)
class Huber(Loss):
    """½ error² up to |error| = δ and δ (|error| - δ/2) beyond it; 0 where an inequality is satisfied.

    The error is prediction - target. Its slope is at most δ, so outliers pull less than under `Squared`.

    Parameters
    ----------
    delta : float
        δ, above 0, in the units of a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.losses import Huber
    >>> value, slope, curvature = Huber(delta=1.0)(np.array([0.5, 3.0, 3.0]), np.zeros(3), np.array([0, 0, 1]))
    >>> value, slope
    (array([0.125, 2.5 , 0. ]), array([0.5, 1. , 0. ]))
    """

    delta: float = 1.0
    degree = 2.0
    quadratic_near_zero = True

    def __post_init__(self) -> None:
        check_number("delta", self.delta, least=0, strict=True)
        # A NumPy float64 would promote float32 arrays.
        object.__setattr__(self, "delta", float(self.delta))

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> LossValues:
        """Return value, slope and curvature, (m,) each."""
        error = prediction - target
        active = (sense == 0) | (sense * error < 0)
        # A prediction that is NaN stays NaN: it satisfies nothing.
        error = np.where(sense * error > 0, 0, error)
        slope = np.clip(error, -self.delta, self.delta)
        curvature = active & (np.abs(error) < self.delta)
        return LossValues(slope * (error - slope / 2), slope, curvature.astype(error.dtype))

    def rescaled(self, unit: float) -> Huber:
        """Return the loss with δ multiplied by `unit`."""
        return Huber(unit * self.delta)

    def value_and_slopes(self, prediction: Vector, target: Vector, sense: Vector, weight: Vector) -> Assessment:
        """Return the total, the weighted slopes (m,) and the scale of the rounding error, in one compiled sweep."""
        check_lengths(prediction, target, sense, weight)
        return Assessment(*huber_value_and_slopes(prediction, target, sense, weight, self.delta))

    def along(self, line: Coefficients, target: Vector, sense: Vector, weight: Vector, s: float) -> Derivatives:
        """Return the total and its two derivatives in s, in one compiled sweep."""
        check_lengths(*line, target, sense, weight)
        return Derivatives(*huber_along(*line, target, sense, weight, self.delta, float(s)))


Huber.examples = (Huber(), Huber(0.25))
