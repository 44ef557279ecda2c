"""What every loss does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gramian.types import Vector

__all__ = ["Assessment", "Coefficients", "Derivatives", "Loss", "LossValues", "check_lengths"]


class LossValues(NamedTuple):
    """A loss at each of m predictions: value, slope and curvature in the prediction, (m,) each."""

    value: Vector
    slope: Vector
    curvature: Vector


class Assessment(NamedTuple):
    """A part of an objective at a point: its value, its slopes, and the scale of the value's rounding error.

    The slopes of a term are those in its predictions, weighted, (m,); those of a penalty are of its own kind.
    """

    value: float
    slopes: Any
    scale: float


class Coefficients(NamedTuple):
    """The predictions of a term along a straight curve, a + b s + c s², arrays (m,) each."""

    a: Vector
    b: Vector
    c: Vector


class Derivatives(NamedTuple):
    """A part of an objective at s along a straight curve: its value, slope and curvature in s."""

    value: float
    slope: float
    curvature: float


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

    Examples
    --------
    >>> from gramian.losses import LOSSES, Loss
    >>> all(issubclass(kind, Loss) for kind in LOSSES.values())
    True
    """

    #: Predictions and targets that are multiplied by u multiply the value of `rescaled(u)` by u ** degree.
    degree: ClassVar[float]
    #: False if the value has no lower bound; then only bounded geometries have a minimum.
    bounded: ClassVar[bool] = True
    #: True if the value is half the square of the residual, for every residual, or for small ones.
    quadratic: ClassVar[bool] = False
    quadratic_near_zero: ClassVar[bool] = False
    #: True if the compiled kernels of the online solvers have the slopes of this loss: those of `Squared`.
    compiled: ClassVar[bool] = False
    #: Instances that the conformance tests run on: every setting that changes a formula.
    examples: ClassVar[tuple[Loss, ...]]

    @abstractmethod
    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> LossValues:
        """Return value, slope and curvature in the prediction, (m,) each, in the prediction's dtype.

        A prediction that is NaN has the value NaN, whatever its sense.
        """

    def rescaled(self, unit: float) -> Loss:
        """Return the loss for predictions and targets that are multiplied by `unit`.

        Parameters in the units of a prediction are multiplied by `unit`; a loss without such parameters is returned
        as it is.
        """
        return self

    def value_and_slopes(self, prediction: Vector, target: Vector, sense: Vector, weight: Vector) -> Assessment:
        """Return the total Σ weight · value, the weighted slopes (m,), and the scale of the total's rounding error.

        The scale is Σ |weight · slope · prediction|.
        """
        check_lengths(prediction, target, sense, weight)
        value, slope, _ = self(prediction, target, sense)
        slope = weight * slope
        total = np.sum(weight * value, dtype=np.float64)
        return Assessment(float(total), slope, float(np.sum(np.abs(slope * prediction), dtype=np.float64)))

    def along(self, line: Coefficients, target: Vector, sense: Vector, weight: Vector, s: float) -> Derivatives:
        """Return the total and its two derivatives in s, for predictions a + b s + c s² with line = (a, b, c)."""
        check_lengths(*line, target, sense, weight)
        a, b, c = line
        speed = b + (2 * s) * c
        value, slope, curvature = self(a + s * (b + s * c), target, sense)
        sums = (value, slope * speed, curvature * speed**2 + slope * (2 * c))
        return Derivatives(*(float(np.sum(weight * x, dtype=np.float64)) for x in sums))

    def quartic(self, line: Coefficients, target: Vector, sense: Vector, weight: Vector) -> Vector | None:
        """Return the coefficients (5,), constant first, if the total is one polynomial in s of degree 4; else None."""
        return None
