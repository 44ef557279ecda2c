"""The hinge loss, smooth at its kink."""

from __future__ import annotations

from dataclasses import dataclass

from gramian.checks import check_number
from gramian.losses.huber import Huber
from gramian.losses.loss import Assessment, Coefficients, Derivatives, Loss, LossValues
from gramian.types import Vector

__all__ = ["Hinge"]


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, excess), rounded off: excess²/(2 width) up to the width, excess - width/2 beyond it.

    The excess is sense · (target - prediction), by how much an inequality is violated; for sense 0 it is
    |prediction - target|. This is `Huber(width)` divided by the width.

    Parameters
    ----------
    width : float
        Where the kink is rounded off, above 0, in the units of a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.losses import Hinge
    >>> value, slope, curvature = Hinge(width=0.5)(np.array([2.0, 2.0, 2.0]), np.zeros(3), np.array([-1, 0, 1]))
    >>> value, slope
    (array([1.75, 1.75, 0.  ]), array([1., 1., 0.]))
    """

    width: float = 1.0
    degree = 1.0

    def __post_init__(self) -> None:
        check_number("width", self.width, least=0, strict=True)
        object.__setattr__(self, "width", float(self.width))

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> LossValues:
        """Return value, slope and curvature, (m,) each."""
        values = Huber(self.width)(prediction, target, sense)
        return LossValues(*(each / self.width for each in values))

    def rescaled(self, unit: float) -> Hinge:
        """Return the loss with the width multiplied by `unit`."""
        return Hinge(unit * self.width)

    def value_and_slopes(self, prediction: Vector, target: Vector, sense: Vector, weight: Vector) -> Assessment:
        """Return the total, the weighted slopes (m,) and the scale of the rounding error, by the kernel of `Huber`."""
        assessed = Huber(self.width).value_and_slopes(prediction, target, sense, weight)
        return Assessment(*(each / self.width for each in assessed))

    def along(self, line: Coefficients, target: Vector, sense: Vector, weight: Vector, s: float) -> Derivatives:
        """Return the total and its two derivatives in s, by the kernel of `Huber`."""
        totals = Huber(self.width).along(line, target, sense, weight, s)
        return Derivatives(*(each / self.width for each in totals))


Hinge.examples = (Hinge(), Hinge(0.25))
