"""Terms, and blocks of data with the terms on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from gramian.features import Array, Features
from gramian.losses import Loss, Squared
from gramian.measurements import Measurement
from gramian.types import Matrix, Rows, Vector

__all__ = ["Block", "Judgement", "Summand", "Term", "sum_of"]

# Images of this many rows fit the second-level cache at common ranks; they are worked on piece by piece.
ROWS_IN_CACHE = 8192


class Summand(Protocol):
    """A part of an objective: a `Term`, or a penalty. What it predicts, and what its weights are, is its own affair."""

    def check(self, n_samples: int) -> None:
        """A ValueError unless it fits so many samples."""

    @property
    def separable(self) -> bool:
        """True if rows of samples can be worked on apart."""

    def predict(self, Z: Matrix) -> Any:
        """Predictions from the image of the factor."""

    def judge(self, prediction: Any) -> tuple[float, Any, float]:
        """Value, slopes, and the scale of the value's rounding error."""

    def weigh(self, weights: Any, Z: Matrix) -> Matrix:
        """S with Xᵀ S = M G; M = Σ weight_i X_i, weights being slopes or those of `gauss_newton`."""

    def gauss_newton(self, prediction: Any, Z: Matrix, velocity: Matrix) -> tuple[Any, float]:
        """Weights of the Gauss-Newton operator along a velocity of Z, and its quadratic form."""

    def line(self, prediction: Any, Z: Matrix, T: Matrix) -> Any:
        """What is to be known of the predictions along Z + s T."""

    def along(self, line: Any, s: float) -> tuple[float, float, float]:
        """Value, slope and curvature at s."""

    def quartic(self, line: Any) -> Vector | None:
        """Coefficients (5,) of the value as a polynomial in s, constant first; None where it is none."""

    def moved(self, line: Any, s: float) -> Any:
        """The predictions at s."""

    def take(self, rows: Rows) -> tuple[Any, Rows | None]:
        """Some of the measurements, and the samples they touch (None: all)."""


@dataclass(frozen=True, eq=False)
class Term:
    """Measurements, what they should be, and how they are judged.

    Parameters
    ----------
    measurement : Measurement
    target : array, shape (m,)
    loss : Loss
    sense : array of int8, shape (m,), optional
        0 equal, -1 at most, +1 at least. All equal when omitted.
    weight : array, shape (m,), optional
        1/m each when omitted, so that the term is a mean.

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

    def __post_init__(self) -> None:
        m = len(self.measurement)
        target = np.asarray(self.target)
        if not np.issubdtype(target.dtype, np.floating):
            target = target.astype(np.float64)
        defaults = {
            "sense": np.zeros(m, np.int8) if self.sense is None else np.asarray(self.sense, np.int8),
            "weight": np.full(m, 1 / max(m, 1), target.dtype) if self.weight is None else np.asarray(self.weight),
            "target": target,
        }
        for name, value in defaults.items():
            if value.shape != (m,):
                raise ValueError(f"{name} has shape {value.shape}; expected ({m},), one for each measurement.")
            object.__setattr__(self, name, value)

    def check(self, n_samples: int) -> None:
        """A ValueError unless the measurement fits so many samples."""
        self.measurement.check(n_samples)

    @property
    def separable(self) -> bool:
        """As the measurement is."""
        return self.measurement.separable

    def predict(self, Z: Matrix) -> Vector:
        """The measurement's predictions, (m,)."""
        return self.measurement.predict(Z)

    def judge(self, prediction: Vector) -> tuple[float, Vector, float]:
        """Value, weighted slopes (m,), and the scale of the value's rounding error."""
        return self.loss.value_and_slopes(prediction, self.target, self.sense, self.weight)

    def weigh(self, weights: Vector, Z: Matrix) -> Matrix:
        """As the measurement does."""
        return self.measurement.weigh(weights, Z)

    def gauss_newton(self, prediction: Vector, Z: Matrix, velocity: Matrix) -> tuple[Vector, float]:
        """Weights curvature · speed (m,), and Σ curvature · speed², where speed is d(prediction)/ds."""
        speed, _ = self.measurement.along(Z, velocity)
        weights = self.weight * self.loss(prediction, self.target, self.sense)[2] * speed
        return weights, float(np.vdot(weights, speed))

    def line(self, prediction: Vector, Z: Matrix, T: Matrix) -> tuple[Vector, Vector, Vector]:
        """a, b, c (m,) each: the predictions along Z + s T are a + b s + c s²."""
        return prediction, *self.measurement.along(Z, T)

    def along(self, line: tuple[Vector, Vector, Vector], s: float) -> tuple[float, float, float]:
        """Value, slope and curvature at s."""
        return self.loss.along(line, self.target, self.sense, self.weight, s)

    def quartic(self, line: tuple[Vector, Vector, Vector]) -> Vector | None:
        """The loss's polynomial, if it is one."""
        return self.loss.quartic(line, self.target, self.sense, self.weight)

    def moved(self, line: tuple[Vector, Vector, Vector], s: float) -> Vector:
        """a + b s + c s²."""
        a, b, c = line
        return a + s * (b + s * c)

    def take(self, rows: Rows) -> tuple[Term, Rows | None]:
        """Some of the measurements, with their weights, and the samples they touch (None: all)."""
        measurement, samples = self.measurement.take(rows)
        return Term(measurement, self.target[rows], self.loss, self.sense[rows], self.weight[rows]), samples


@dataclass(frozen=True, eq=False)
class Block:
    """Features and the terms on them: the unit of execution. Its terms share one image and one pull.

    Parameters
    ----------
    features : Features
    terms : sequence of Term, or of penalties on Identity features

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Term
    >>> from gramian.features import Array
    >>> from gramian.measurements import Each, Pairs
    >>> X = Array(np.random.default_rng(0).standard_normal((5, 2)))
    >>> len(Block(X, [Term(Each(5), np.ones(5)), Term(Pairs([[0, 1]]), np.ones(1))]).terms)
    2
    """

    features: Features
    terms: Sequence[Summand]

    def __post_init__(self) -> None:
        if not np.issubdtype(self.features.dtype, np.floating):
            raise ValueError(f"features have dtype {self.features.dtype}; expected float32 or float64.")
        for term in self.terms:
            term.check(self.features.shape[0])

    def pieces(self) -> list[Block]:
        """The same in pieces of so many rows that their images stay in the cache, where that needs no copy."""
        n = self.features.shape[0]
        apart = isinstance(self.features, Array) and all(term.separable for term in self.terms)
        if n < 2 * ROWS_IN_CACHE or not apart:
            return [self]
        cuts = [slice(start, min(start + ROWS_IN_CACHE, n)) for start in range(0, n, ROWS_IN_CACHE)]
        return [Block(self.features.take(cut), [term.take(cut)[0] for term in self.terms]) for cut in cuts]

    def predict(self, Z: Matrix) -> list[Any]:
        """Predictions of every term."""
        return [term.predict(Z) for term in self.terms]

    def judge(self, predictions: Sequence[Any]) -> Judgement:
        """Value and slopes of the terms together."""
        judged = [term.judge(p) for term, p in zip(self.terms, predictions, strict=True)]
        return Judgement(
            sum(value for value, _, _ in judged),
            [slope for _, slope, _ in judged],
            sum(s for _, _, s in judged),
        )

    def weigh(self, weights: Sequence[Any], Z: Matrix) -> Matrix:
        """S with Xᵀ S = M G, over all terms."""
        return sum_of([term.weigh(w, Z) for term, w in zip(self.terms, weights, strict=True)])

    def gauss_newton(self, predictions: Sequence[Any], Z: Matrix, velocity: Matrix) -> tuple[list[Any], float]:
        """Weights of the Gauss-Newton operator of every term, and the sum of their quadratic forms."""
        parts = [term.gauss_newton(p, Z, velocity) for term, p in zip(self.terms, predictions, strict=True)]
        return [weights for weights, _ in parts], sum(form for _, form in parts)

    def line(self, predictions: Sequence[Any], Z: Matrix, T: Matrix) -> list[Any]:
        """What every term is to know along Z + s T."""
        return [term.line(p, Z, T) for term, p in zip(self.terms, predictions, strict=True)]

    def along(self, lines: Sequence[Any], s: float) -> Vector:
        """Value, slope and curvature at s, summed over the terms."""
        return np.sum([term.along(line, s) for term, line in zip(self.terms, lines, strict=True)], axis=0)

    def quartic(self, lines: Sequence[Any]) -> list[Vector | None]:
        """The polynomials of the terms."""
        return [term.quartic(line) for term, line in zip(self.terms, lines, strict=True)]

    def moved(self, lines: Sequence[Any], s: float) -> list[Any]:
        """The predictions of every term at s."""
        return [term.moved(line, s) for term, line in zip(self.terms, lines, strict=True)]


class Judgement(NamedTuple):
    """A block's value, its terms' slopes, and the scale of the value's rounding error."""

    value: float
    slopes: list[Vector]
    scale: float


def sum_of(parts: Sequence[Any]) -> Any:
    """The sum in order, without a start value that would promote float32 or copy a single part."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
