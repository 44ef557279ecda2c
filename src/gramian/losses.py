"""Losses: how a prediction is judged against its target, and in which sense.

`sense` says what is asked of a prediction: 0 equal to the target, -1 at most, +1 at least. It is an array (m,), so
the three may be mixed freely.

To add a loss, write a class with `__call__` and one line in `LOSSES`. The sums along a line come for free;
override them with a compiled kernel where it pays, as `Squared` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from gramian._kernels.squared import squared_along, squared_quartic, squared_value_and_slopes
from gramian.types import Vector

__all__ = ["LOSSES", "Hinge", "Linear", "Loss", "Squared"]


class Loss(ABC):
    """A function of one prediction, its target and its sense, with two derivatives."""

    #: False if the value has no lower bound; then only bounded geometries have a minimum.
    bounded: ClassVar[bool] = True
    #: True if the compiled online kernels know the loss.
    compiled: ClassVar[bool] = False
    #: Multiplying predictions and targets by u multiplies the value by u**degree, the loss being `rescaled`.
    degree: ClassVar[float] = 2.0

    def rescaled(self, unit: float) -> Loss:
        """Return the loss for predictions and targets that are multiplied by a unit: parameters follow."""
        return self

    @abstractmethod
    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> tuple[Vector, Vector, Vector]:
        """Value, slope and curvature in the prediction, (m,) each."""

    def value_and_slopes(
        self, prediction: Vector, target: Vector, sense: Vector, weight: Vector
    ) -> tuple[float, Vector, float]:
        """Total value, weighted slopes (m,), and Σ |slope · prediction|, the scale of the value's rounding error."""
        value, slope, _ = self(prediction, target, sense)
        slope = weight * slope
        total = np.sum(weight * value, dtype=np.float64)
        return float(total), slope, float(np.sum(np.abs(slope * prediction), dtype=np.float64))

    def along(
        self, line: tuple[Vector, Vector, Vector], target: Vector, sense: Vector, weight: Vector, s: float
    ) -> tuple[float, float, float]:
        """Total value, slope and curvature in s where the predictions are a + b s + c s²; line = (a, b, c)."""
        a, b, c = line
        speed = b + (2 * s) * c
        value, slope, curvature = self(a + s * (b + s * c), target, sense)
        sums = (value, slope * speed, curvature * speed**2 + slope * (2 * c))
        first, second, third = (float(np.sum(weight * x, dtype=np.float64)) for x in sums)
        return first, second, third

    def quartic(
        self, line: tuple[Vector, Vector, Vector], target: Vector, sense: Vector, weight: Vector
    ) -> Vector | None:
        """Coefficients (5,), constant first, if the total is one polynomial in s of degree 4; else None."""
        return None


class Squared(Loss):
    """½ (prediction - target)², and nothing where an inequality is satisfied.

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

    compiled = True

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> tuple[Vector, Vector, Vector]:
        """Value, slope and curvature."""
        error = prediction - target
        active = ((sense == 0) | (sense * error < 0)).astype(error.dtype)
        error = active * error
        return error * error / 2, error, active

    def value_and_slopes(
        self, prediction: Vector, target: Vector, sense: Vector, weight: Vector
    ) -> tuple[float, Vector, float]:
        """Total value, weighted slopes, and the scale of the rounding error, in one compiled sweep."""
        return squared_value_and_slopes(prediction, target, sense, weight)

    def along(
        self, line: tuple[Vector, Vector, Vector], target: Vector, sense: Vector, weight: Vector, s: float
    ) -> tuple[float, float, float]:
        """Total value, slope and curvature in s, in one compiled sweep."""
        return squared_along(*line, target, sense, weight, float(s))

    def quartic(
        self, line: tuple[Vector, Vector, Vector], target: Vector, sense: Vector, weight: Vector
    ) -> Vector | None:
        """The coefficients of the quartic where all are equalities."""
        return None if sense.any() else squared_quartic(*line, target, weight)


class Linear(Loss):
    """½ (target - prediction): the larger the prediction the better; with sense -1, the smaller the better.

    With target ‖x‖² and orthonormal G this is ½ ‖x - G Gᵀ x‖², the paper's loss for subspaces (section 4).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.losses import Linear
    >>> value, slope, curvature = Linear()(np.array([3.0]), np.array([5.0]), np.array([1]))
    >>> value, slope
    (array([1.]), array([-0.5]))
    """

    bounded = False
    degree = 1.0

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> tuple[Vector, Vector, Vector]:
        """Value, slope and curvature."""
        slope = np.where(sense < 0, 0.5, -0.5).astype(prediction.dtype)
        return slope * (prediction - target), slope, np.zeros_like(slope)


class Hinge(Loss):
    """max(0, excess), rounded off: excess²/(2 width) up to the width, excess - width/2 beyond it."""

    def __init__(self, width: float) -> None:
        self.width = width

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> tuple[Vector, Vector, Vector]:
        """Value, slope and curvature; excess = sense (target - prediction)."""
        excess = np.maximum(sense * (target - prediction), 0)
        slope = np.minimum(excess / self.width, 1)
        inside = (excess > 0) & (excess < self.width)
        return slope * (excess - 0.5 * self.width * slope), -sense * slope, inside / self.width


LOSSES: dict[str, type[Loss]] = {"squared": Squared, "linear": Linear}
