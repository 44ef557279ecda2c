"""The logistic loss: the cost of an inequality decreases smoothly, however well it is satisfied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._kernels.logistic import LEAST_SUM, logistic_along, logistic_value_and_slopes
from gramian.checks import check_number
from gramian.losses.loss import Assessment, Coefficients, Derivatives, Loss, LossValues, check_lengths
from gramian.types import Vector

__all__ = ["Logistic"]


@dataclass(frozen=True)
class Logistic(Loss):
    """σ log(1 + exp(-margin/σ)) of an inequality, where margin = sense · (prediction - target); σ is the scale.

    It is near -margin where an inequality is violated by much, and near 0 where it is satisfied by much. A satisfied
    inequality has a cost too, so larger margins are better; with σ = 1 the cost is minus the log-likelihood of a
    logistic model. For an equality, sense 0, it is the sum of both inequalities minus its least value 2 σ log 2:
    2 σ log cosh(error/2σ), which is near error²/4σ for small errors and near |error| for large ones.

    Parameters
    ----------
    scale : float
        σ, above 0, in the units of a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.losses import Logistic
    >>> value, slope, curvature = Logistic()(np.array([3.0, -3.0, 0.0]), np.zeros(3), np.array([1, 1, 0]))
    >>> value.round(3), slope.round(3)
    (array([0.049, 3.049, 0.   ]), array([-0.047, -0.953,  0.   ]))
    """

    scale: float = 1.0
    degree = 1.0

    def __post_init__(self) -> None:
        check_number("scale", self.scale, least=0, strict=True)
        # A NumPy float64 would promote float32 arrays.
        object.__setattr__(self, "scale", float(self.scale))

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> LossValues:
        """Return value, slope and curvature, (m,) each."""
        with np.errstate(over="ignore", under="ignore"):
            u = (prediction - target) / self.scale
            size, margin, equal = np.abs(u), sense * u, sense == 0
            decay = np.exp(-size)
            tail = np.log1p(decay)
            # cosh(x) = 1 + 2 sinh²(x/2): near 0 this form keeps all digits.
            near = 2 * np.log1p(2 * np.sinh(np.minimum(size, 1) / 4) ** 2)
            two_sided = np.where(size < 1, near, size + (2 * tail - LEAST_SUM))
            value = np.where(equal, two_sided, np.maximum(-margin, 0) + tail)
            violated = np.where(margin < 0, 1, decay) / (1 + decay)
            slope = np.where(equal, np.tanh(u / 2), -sense * violated)
            curvature = np.where(equal, 2, 1) * decay / (1 + decay) ** 2 / self.scale
        return LossValues(*(x.astype(u.dtype, copy=False) for x in (value * self.scale, slope, curvature)))

    def rescaled(self, unit: float) -> Logistic:
        """Return the loss with the scale multiplied by `unit`."""
        return Logistic(unit * self.scale)

    def value_and_slopes(self, prediction: Vector, target: Vector, sense: Vector, weight: Vector) -> Assessment:
        """Return the total, the weighted slopes (m,) and the scale of the rounding error, in one compiled sweep."""
        check_lengths(prediction, target, sense, weight)
        return Assessment(*logistic_value_and_slopes(prediction, target, sense, weight, self.scale))

    def along(self, line: Coefficients, target: Vector, sense: Vector, weight: Vector, s: float) -> Derivatives:
        """Return the total and its two derivatives in s, in one compiled sweep."""
        check_lengths(*line, target, sense, weight)
        return Derivatives(*logistic_along(*line, target, sense, weight, self.scale, float(s)))


Logistic.examples = (Logistic(), Logistic(0.25))
