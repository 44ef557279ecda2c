"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass

from gramian._kernels.squared import squared_along, squared_quartic, squared_value_and_slopes
from gramian.losses.loss import Assessment, Coefficients, Derivatives, Loss, LossValues, check_lengths
from gramian.types import Vector

__all__ = ["Squared"]


@dataclass(frozen=True)
class Squared(Loss):
    """½ (prediction - target)², and 0 where an inequality is satisfied.

    For sense 0 this is the loss of the paper's regressions; for -1 and +1 that of its section 8.2,
    ½ max(0, ρ (prediction - target))².

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.losses import Squared
    >>> prediction, target = np.array([3.0, 3.0, 3.0]), np.ones(3)
    >>> value, slope, curvature = Squared()(prediction, target, np.array([0, -1, 1]))
    >>> value
    array([2., 2., 0.])
    """

    degree = 2.0
    quadratic = quadratic_near_zero = True
    compiled = True

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> LossValues:
        """Return value, slope and curvature, (m,) each."""
        error = prediction - target
        active = ((sense == 0) | (sense * error < 0)).astype(error.dtype)
        error = active * error
        return LossValues(error * error / 2, error, active)

    def value_and_slopes(self, prediction: Vector, target: Vector, sense: Vector, weight: Vector) -> Assessment:
        """Return the total, the weighted slopes (m,) and the scale of the rounding error, in one compiled sweep."""
        check_lengths(prediction, target, sense, weight)
        return Assessment(*squared_value_and_slopes(prediction, target, sense, weight))

    def along(self, line: Coefficients, target: Vector, sense: Vector, weight: Vector, s: float) -> Derivatives:
        """Return the total and its two derivatives in s, in one compiled sweep."""
        check_lengths(*line, target, sense, weight)
        return Derivatives(*squared_along(*line, target, sense, weight, float(s)))

    def quartic(self, line: Coefficients, target: Vector, sense: Vector, weight: Vector) -> Vector | None:
        """Return the coefficients (5,) of the quartic where all senses are 0; else None."""
        check_lengths(*line, target, sense, weight)
        return None if sense.any() else squared_quartic(*line, target, weight)


Squared.examples = (Squared(),)
