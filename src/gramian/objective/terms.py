"""Terms, and blocks of data with the terms on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gramian.features import Features
from gramian.losses import Loss, Squared
from gramian.measurements import Measurement
from gramian.types import Matrix, Rows, Vector

__all__ = ["Block", "Judgement", "Term", "sum_of"]

# Images of this many rows fit the second-level cache at common ranks; they are worked on piece by piece.
ROWS_IN_CACHE = 8192


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
    """

    measurement: Measurement
    target: Vector
    loss: Loss = field(default_factory=Squared)
    sense: Vector = None  # type: ignore[assignment]
    weight: Vector = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        m = len(self.measurement)
        target = np.asarray(self.target)
        defaults = {
            "sense": np.zeros(m, np.int8) if self.sense is None else np.asarray(self.sense, np.int8),
            "weight": np.full(m, 1 / max(m, 1), target.dtype) if self.weight is None else np.asarray(self.weight),
            "target": target,
        }
        for name, value in defaults.items():
            if value.shape != (m,):
                raise ValueError(f"{name} has shape {value.shape}; expected ({m},), one for each measurement.")
            object.__setattr__(self, name, value)

    def judge(self, prediction: Vector) -> tuple[float, Vector, float]:
        """Value, weighted slopes, and the scale of the value's rounding error."""
        return self.loss.judge(prediction, self.target, self.sense, self.weight)

    def curvature(self, prediction: Vector) -> Vector:
        """Weighted curvatures, (m,)."""
        return self.weight * self.loss(prediction, self.target, self.sense)[2]

    def take(self, rows: Rows) -> tuple[Term, Rows | None]:
        """Some of the measurements, with their weights, and the samples they touch (None: all)."""
        measurement, samples = self.measurement.take(rows)
        return Term(measurement, self.target[rows], self.loss, self.sense[rows], self.weight[rows]), samples


@dataclass(frozen=True, eq=False)
class Block:
    """Features and the terms on them: the unit of execution. Its terms share one image and one pull."""

    features: Features
    terms: Sequence[Term]

    def pieces(self) -> list[Block]:
        """The same in pieces of so many rows that their images stay in the cache, where terms are separable."""
        n = self.features.shape[0]
        if n < 2 * ROWS_IN_CACHE or not all(term.measurement.separable for term in self.terms):
            return [self]
        cuts = [slice(start, min(start + ROWS_IN_CACHE, n)) for start in range(0, n, ROWS_IN_CACHE)]
        return [Block(self.features.take(cut), [term.take(cut)[0] for term in self.terms]) for cut in cuts]

    def judge(self, predictions: Sequence[Vector]) -> Judgement:
        """Value and slopes of the terms together."""
        judged = [term.judge(p) for term, p in zip(self.terms, predictions, strict=True)]
        return Judgement(
            sum(value for value, _, _ in judged),
            [slope for _, slope, _ in judged],
            sum(s for _, _, s in judged),
        )

    def weigh(self, weights: Sequence[Vector], Z: Matrix) -> Matrix:
        """S with Xᵀ S = (Σ weight_i X_i) G, over all terms."""
        return sum_of([term.measurement.weigh(w, Z) for term, w in zip(self.terms, weights, strict=True)])


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
