"""Terms: measurements with what they should be, and the protocol that penalties share with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from gramian.checks import as_real, validate_sense
from gramian.losses import Loss, Squared
from gramian.losses.loss import Assessment, Coefficients, Derivatives
from gramian.measurements import Measurement
from gramian.types import Matrix, Rows, Vector

__all__ = ["Curvature", "Group", "Pieces", "Summand", "Taken", "Term", "count_fine", "count_groups", "cut_evenly"]

# The least number of measurements of a piece of a term, and the largest number of pieces.
MEASUREMENTS_PER_PIECE, MOST_PIECES = 16384, 8
# Sums over samples need an array (N, k) a piece. By the number of pieces: the measurements a sample from which it pays.
MEASUREMENTS_PER_SAMPLE = {2: 3, 4: 64, MOST_PIECES: 128}


class Pieces(NamedTuple):
    """A summand in pieces for threads: cut finely, and cut coarsely for sums over samples."""

    fine: Sequence[Summand]
    coarse: Sequence[Group]


class Group(NamedTuple):
    """A summand that stands for consecutive finer ones, and how many of them it spans."""

    summand: Summand
    span: int


class Curvature(NamedTuple):
    """The Gauss-Newton operator of a summand along a velocity: its weights, and its quadratic form."""

    weights: Any
    form: float


class Taken(NamedTuple):
    """Some of the measurements of a summand, and the samples that they touch; None stands for all samples."""

    summand: Any
    samples: Rows | None


class Summand(Protocol):
    """A part of an objective: a `Term`, or a penalty. Methods with a body are defaults for classes that inherit them.

    Predictions, slopes, weights and lines are arrays or tuples of arrays of the summand's own kind. Whoever asks for
    them only hands them back.
    """

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless the summand fits n_samples samples."""

    def cast(self, dtype: np.dtype) -> Summand:
        """Return the summand with arrays of a dtype, that of the data; itself if its arrays need none."""
        return self

    @property
    def separable(self) -> bool:
        """True if rows of samples can be worked on apart."""

    @property
    def costly(self) -> bool:
        """True if a trial step along a line costs as much as an evaluation."""

    def pieces(self, n_samples: int) -> Pieces:
        """Return summands on the same samples that add up to this one, for threads; itself where it is small."""

    def predict(self, Z: Matrix) -> Any:
        """Return the predictions from the image of the factor."""

    def value_and_slopes(self, prediction: Any) -> Assessment:
        """Return the value, the slopes, and the scale of the value's rounding error."""

    def value_at_zero(self, Z: Matrix) -> float:
        """Return the value at an image Z = 0, shape (N, 1); costly summands know it without an evaluation."""
        return self.value_and_slopes(self.predict(Z)).value

    def weigh(self, weights: Any, Z: Matrix) -> Matrix:
        """Return S with Xᵀ S = M G; M = Σ weight_i X_i, weights being slopes or those of `gauss_newton`."""

    def gauss_newton(self, prediction: Any, Z: Matrix, velocity: Matrix) -> Curvature:
        """Return the weights of the Gauss-Newton operator along a velocity of Z, and its quadratic form."""

    def line(self, prediction: Any, Z: Matrix, T: Matrix) -> Any:
        """Return what describes the predictions along Z + s T."""

    def along(self, line: Any, s: float) -> Derivatives:
        """Return value, slope and curvature at s."""

    def quartic(self, line: Any) -> Vector | None:
        """Return the coefficients (5,) of the value as a polynomial in s, constant first; None where it is none."""

    def predict_along(self, line: Any, s: float, image: Matrix) -> Any:
        """Return the predictions at s, where the image is known: it is Z + s T."""

    def take(self, rows: Rows) -> Taken:
        """Return some of the measurements, and the samples they touch (None: all)."""

    def with_loss(self, loss: Loss) -> Summand:
        """Return the summand with a loss of violations divided by the typical target; itself if it has no targets."""
        return self


@dataclass(frozen=True, eq=False)
class Term(Summand):
    """Measurements, what they should be, and how they are judged.

    Parameters
    ----------
    measurement : Measurement
    target : array, shape (m,)
    loss : Loss
    sense : array, shape (m,), optional
        0 or "equal", -1 or "at most", +1 or "at least"; one for all, or one for each. All equal when omitted.
    weight : array, shape (m,), optional
        Finite and not negative; 1/m each when omitted, so that the term is a mean.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Term
    >>> from gramian.measurements import Pairs
    >>> Term(Pairs([[0, 1], [1, 2]]), np.array([1.0, 4.0]), sense=[-1, 1]).weight
    array([0.5, 0.5])
    """

    measurement: Measurement
    target: Vector
    loss: Loss = field(default_factory=Squared)
    sense: Vector = None  # type: ignore[assignment]
    weight: Vector = None  # type: ignore[assignment]

    #: Along a line every measurement is a parabola.
    costly = False

    def __post_init__(self) -> None:
        if not isinstance(self.measurement, Measurement):
            raise TypeError(f"measurement is of type {type(self.measurement).__name__}; expected a Measurement.")
        if not isinstance(self.loss, Loss):
            raise TypeError(f"loss is of type {type(self.loss).__name__}; expected a Loss, as Squared().")
        m = len(self.measurement)
        target = validate_numbers("target", self.target, m)
        weight = np.full(m, 1 / max(m, 1), target.dtype) if self.weight is None else self.weight
        self.set_arrays(target, validate_sense(self.sense, m), validate_numbers("weight", weight, m, least=0.0))

    def set_arrays(self, target: Vector, sense: Vector, weight: Vector) -> Term:
        """Set arrays (m,) each that have been checked; return this term."""
        for name, value in (("target", target), ("sense", sense), ("weight", weight)):
            object.__setattr__(self, name, value)
        return self

    def with_arrays(self, measurement: Measurement, target: Vector, sense: Vector, weight: Vector) -> Term:
        """Return the term of other measurements under the same loss, from arrays (m,) that have been checked."""
        term = object.__new__(type(self))
        object.__setattr__(term, "measurement", measurement)
        object.__setattr__(term, "loss", self.loss)
        return term.set_arrays(target, sense, weight)

    def scaled(self, factor: float) -> Term:
        """Return the term with its weights multiplied by a factor."""
        return self.with_arrays(self.measurement, self.target, self.sense, self.weight * factor)

    def cast(self, dtype: np.dtype) -> Term:
        """Return the term with targets and weights of a dtype, that of the data; itself if they are."""
        if self.target.dtype == self.weight.dtype == dtype:
            return self
        with np.errstate(over="ignore"):
            return replace(self, target=self.target.astype(dtype), weight=self.weight.astype(dtype))

    def with_loss(self, loss: Loss) -> Term:
        """Return the term with a loss of violations divided by the typical target.

        A term whose loss is not the squared one is returned as it is: it is no term of violations.
        """
        if loss.quadratic or not self.loss.quadratic:
            return self
        typical = float(np.sqrt(np.mean(self.target.astype(np.float64) ** 2))) or 1.0
        # The weights of squares are divided by those of the typical target.
        weight = self.weight * self.weight.dtype.type(typical ** (2 - loss.degree))
        return replace(self, loss=loss.rescaled(typical), weight=weight)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless the measurement fits n_samples samples."""
        self.measurement.check(n_samples)

    @property
    def separable(self) -> bool:
        """True if measurement i is made of sample i alone."""
        return self.measurement.separable

    def pieces(self, n_samples: int) -> Pieces:
        """Return terms of consecutive measurements that add up to this one; nothing is copied."""
        m = len(self.measurement)
        count = count_fine(m)
        fine = self.cut(count)
        if len(fine) < 2:
            return Pieces([self], [Group(self, 1)])
        groups = count_groups(m, n_samples, count)
        if groups == len(fine):
            return Pieces(fine, [Group(part, 1) for part in fine])
        return Pieces(fine, [Group(self, len(fine))] if groups == 1 else self.group(fine, groups))

    def cut(self, count: int) -> list[Term]:
        """Return `count` terms of consecutive measurements; this one, where they stay together."""
        parts = [self.part(cut) for cut in cut_evenly(len(self.measurement), max(count, 1))]
        return [self] if None in parts else [part for part in parts if part is not None]

    def group(self, fine: Sequence[Term], count: int) -> list[Group]:
        """Return `count` terms that span consecutive fine ones, with how many they span."""
        spans = [len(part) for part in np.array_split(np.arange(len(fine)), count)]
        edges = np.cumsum([0, *(len(term.measurement) for term in fine)])[np.cumsum([0, *spans])].tolist()
        return [
            Group(part, span)
            for part, span in zip((self.part(slice(*edge)) for edge in pairwise(edges)), spans, strict=True)
            if part is not None
        ]

    def part(self, cut: slice) -> Term | None:
        """Return the term of consecutive measurements, on the same samples; None if they stay together."""
        measurement = self.measurement.part(cut)
        if measurement is None:
            return None
        return self.with_arrays(measurement, self.target[cut], self.sense[cut], self.weight[cut])

    def predict(self, Z: Matrix) -> Vector:
        """Return the measurement's predictions, (m,)."""
        return self.measurement.predict(Z)

    def value_and_slopes(self, prediction: Vector) -> Assessment:
        """Return the value, the weighted slopes (m,), and the scale of the value's rounding error."""
        return Assessment(*self.loss.value_and_slopes(prediction, self.target, self.sense, self.weight))

    def weigh(self, weights: Vector, Z: Matrix) -> Matrix:
        """Return S with Xᵀ S = (Σ weight_i X_i) G, shape (N, k)."""
        return self.measurement.weigh(weights, Z)

    def gauss_newton(self, prediction: Vector, Z: Matrix, velocity: Matrix) -> Curvature:
        """Return curvature · speed (m,), and Σ curvature · speed², where speed is d(prediction)/ds."""
        speed, _ = self.measurement.along(Z, velocity)
        weights = self.weight * self.loss(prediction, self.target, self.sense)[2] * speed
        return Curvature(weights, float(np.vdot(weights, speed)))

    def line(self, prediction: Vector, Z: Matrix, T: Matrix) -> Coefficients:
        """Return the coefficients of the predictions along Z + s T."""
        return Coefficients(prediction, *self.measurement.along(Z, T))

    def along(self, line: Coefficients, s: float) -> Derivatives:
        """Return value, slope and curvature at s."""
        return Derivatives(*self.loss.along(line, self.target, self.sense, self.weight, s))

    def quartic(self, line: Coefficients) -> Vector | None:
        """Return the coefficients (5,) of the loss along the line, if it is one polynomial."""
        return self.loss.quartic(line, self.target, self.sense, self.weight)

    def predict_along(self, line: Coefficients, s: float, image: Matrix) -> Vector:
        """Return a + b s + c s²."""
        moved = s * line.c
        moved += line.b
        moved *= s
        moved += line.a
        return moved

    def take(self, rows: Rows) -> Taken:
        """Return some of the measurements, with their weights, and the samples they touch (None: all)."""
        measurement, samples = self.measurement.take(rows)
        return Taken(self.with_arrays(measurement, self.target[rows], self.sense[rows], self.weight[rows]), samples)


def validate_numbers(name: str, value: Any, m: int, least: float = -np.inf) -> Vector:
    """Return finite real numbers of at least `least`, one for each of m measurements, as an array (m,)."""
    array = as_real(name, value)
    if array.shape != (m,):
        raise ValueError(f"{name} has shape {array.shape}; expected ({m},), one for each measurement.")
    bad = ~(np.isfinite(array) & (array >= least))
    if bad.any():
        i, wanted = int(np.argmax(bad)), "finite" if least < 0 else "finite and not negative"
        raise ValueError(f"{name}[{i}] = {array[i]} in {array.dtype}; it must be {wanted}.")
    return array


def count_fine(m: int) -> int:
    """Return the number of pieces into which m measurements are cut; fewer than two if they are not worth it."""
    return min(MOST_PIECES, m // MEASUREMENTS_PER_PIECE)


def count_groups(m: int, n_samples: int, most: int) -> int:
    """Return the number of pieces, at most `most`, into which m measurements are cut for sums over samples."""
    return max([1, *(k for k, least in MEASUREMENTS_PER_SAMPLE.items() if m >= least * n_samples and k <= most)])


def cut_evenly(n: int, count: int) -> list[slice]:
    """Return `count` slices of n rows, of equal length but for one row."""
    edges = np.linspace(0, n, count + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]
