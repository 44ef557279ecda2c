"""Triplets of samples that are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gramian.coordinates import largest, unit_of
from gramian.losses import Linear
from gramian.measurements import Pairs, Triplets
from gramian.objective import Term
from gramian.situation import Situation
from gramian.supervision.checks import validate_triplets
from gramian.supervision.supervision import Begun, Supervision
from gramian.types import Matrix

__all__ = ["MARGIN", "GivenTriplets", "bring_near_one", "pull_term", "rescale_to_margin", "triplet_term"]

#: By how much, in squared distance, the far sample of a triplet should be farther than the near one.
MARGIN = 1.0


@dataclass(frozen=True, eq=False)
class GivenTriplets(Supervision):
    """Triplets (anchor, near, far): the far sample should be farther from the anchor than the near one, by a margin.

    Parameters
    ----------
    triplets : array of int, shape (m, 3)

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import GivenTriplets, Situation
    >>> situation = Situation(Array(np.array([[0.0], [1.0], [2.0]])), np.random.default_rng(0))
    >>> supervision = GivenTriplets([[0, 1, 2]]).validate(3)
    >>> supervision.begin(situation, np.eye(1)).start.round(3)  # anchor and far sample now at a squared distance of 2
    array([[0.707]])
    """

    triplets: Any

    def __len__(self) -> int:
        return len(self.triplets)

    def validate(self, n_samples: int) -> Self:
        """Return the triplets as an array; raise a ValueError unless they are of so many samples."""
        return replace(self, triplets=validate_triplets(self.triplets, n_samples))

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the triplets, and the start at a scale where the margin matters."""
        return Begun(self, start if resume else rescale_to_margin(situation, bring_near_one(start), self.triplets))

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Term]:
        """Return the mean over triplets of ½ max(0, margin - prediction)²."""
        return [triplet_term(self.triplets, situation.features.dtype)]

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return d/m: few triplets hardly move the distance."""
        return n_features / len(self)


def triplet_term(triplets: Matrix, dtype: np.dtype) -> Term:
    """Return the mean of ½ max(0, MARGIN - prediction)² over triplets (m, 3)."""
    m = len(triplets)
    return Term(Triplets(triplets), np.full(m, MARGIN, dtype), sense=np.full(m, 1))


def pull_term(triplets: Matrix, n_samples: int, weight: float, dtype: np.dtype) -> Term:
    """Return weight · the mean squared distance of the near pairs of triplets (m, 3), each pair once."""
    near = np.column_stack(np.divmod(np.unique(triplets[:, 0] * n_samples + triplets[:, 1]), n_samples))
    m = len(near)
    # The linear loss is half the prediction.
    return Term(Pairs(near), np.zeros(m, dtype), Linear(), np.full(m, -1), np.full(m, 2 * weight / m, dtype))


def bring_near_one(start: Matrix) -> Matrix:
    """Return the start times the power of two that brings its entries near 1: triplets do not see its scale."""
    return start * start.dtype.type(unit_of(largest(start), 1))


def rescale_to_margin(situation: Situation, start: Matrix, triplets: Matrix) -> Matrix:
    """Return the start, scaled to a median squared distance of anchors and far samples of 2, twice the margin."""
    distance = float(np.median(Pairs(triplets[:, [0, 2]]).predict(situation.image(start))))
    return start * start.dtype.type((2 / distance) ** 0.5) if 0 < distance < np.inf else start
