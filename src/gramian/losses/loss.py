"""What every loss does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from gramian.types import Vector

__all__ = ["Loss", "check_lengths"]


def check_lengths(prediction: Vector, *others: Vector) -> None:
    """Raise a ValueError unless all arrays have one axis of the same length: compiled loops do not check it again."""
    shape = prediction.shape
    if len(shape) != 1 or any(other.shape != shape for other in others):
        shapes = ", ".join(str(each.shape) for each in (prediction, *others))
        raise ValueError(f"predictions, targets, senses and weights have shapes {shapes}; expected (m,) each.")


class Loss(ABC):
    """A function of a prediction, its target and its sense, with two derivatives in the prediction.

    `__call__` and `degree` are all that a loss must have. The sums over the measurements follow from `__call__`;
    override them with a compiled kernel where it pays, as `Squared` does.
    """

    #: Predictions and targets that are multiplied by u multiply the value of `rescaled(u)` by u ** degree.
    degree: ClassVar[float]
    #: False if the value has no lower bound; then only bounded geometries have a minimum.
    bounded: ClassVar[bool] = True
    #: True if the compiled kernels of the online solvers have the slopes of this loss: those of `Squared`.
    compiled: ClassVar[bool] = False
    #: Instances that the conformance tests run on: every setting that changes a formula.
    examples: ClassVar[tuple[Loss, ...]]

    @abstractmethod
    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> tuple[Vector, Vector, Vector]:
        """Return value, slope and curvature in the prediction, (m,) each, in the prediction's dtype.

        A prediction that is NaN has the value NaN, whatever its sense.
        """

    def rescaled(self, unit: float) -> Loss:
        """Return the loss for predictions and targets that are multiplied by `unit`.

        Parameters in the units of a prediction are multiplied by `unit`; a loss without such parameters is returned
        as it is.
        """
        return self

    def value_and_slopes(
        self, prediction: Vector, target: Vector, sense: Vector, weight: Vector
    ) -> tuple[float, Vector, float]:
        """Return the total Σ weight · value, the weighted slopes (m,), and the scale of the total's rounding error.

        The scale is Σ |weight · slope · prediction|.
        """
        check_lengths(prediction, target, sense, weight)
        value, slope, _ = self(prediction, target, sense)
        slope = weight * slope
        total = np.sum(weight * value, dtype=np.float64)
        return float(total), slope, float(np.sum(np.abs(slope * prediction), dtype=np.float64))

    def along(
        self, line: tuple[Vector, Vector, Vector], target: Vector, sense: Vector, weight: Vector, s: float
    ) -> tuple[float, float, float]:
        """Return the total and its two derivatives in s, for predictions a + b s + c s² with line = (a, b, c)."""
        check_lengths(*line, target, sense, weight)
        a, b, c = line
        speed = b + (2 * s) * c
        value, slope, curvature = self(a + s * (b + s * c), target, sense)
        sums = (value, slope * speed, curvature * speed**2 + slope * (2 * c))
        first, second, third = (float(np.sum(weight * x, dtype=np.float64)) for x in sums)
        return first, second, third

    def quartic(
        self, line: tuple[Vector, Vector, Vector], target: Vector, sense: Vector, weight: Vector
    ) -> Vector | None:
        """Return the coefficients (5,), constant first, if the total is one polynomial in s of degree 4; else None."""
        return None
