"""Triplets of samples that are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.coordinates import largest, unit_of
from gramian.losses import Linear
from gramian.measurements import Pairs, Triplets
from gramian.objective import Term
from gramian.supervision.checks import validate_triplets
from gramian.supervision.supervision import Scene, Supervision
from gramian.types import Matrix

__all__ = ["MARGIN", "GivenTriplets", "bring_near_one", "pull_term", "rescale_to_margin", "triplet_term"]

#: By how much, in squared distance, the far sample of a triplet should be farther than the near one.
MARGIN = 1.0


class GivenTriplets(Supervision):
    """Triplets (anchor, near, far): the far sample should be farther from the anchor than the near one, by a margin.

    Parameters
    ----------
    triplets : array of int, shape (m, 3)

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import GivenTriplets, Scene
    >>> X = Array(np.array([[0.0], [1.0], [2.0]]))
    >>> scene = Scene(X, np.random.default_rng(0))
    >>> supervision = GivenTriplets([[0, 1, 2]])
    >>> supervision.check(3)
    >>> supervision.begin(scene, np.eye(1)).round(3)  # anchor and far sample now at a squared distance of 2
    array([[0.707]])
    """

    def __init__(self, triplets: Any) -> None:
        self.triplets = triplets

    def __len__(self) -> int:
        return len(self.triplets)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless the triplets are of so many samples."""
        self.triplets = validate_triplets(self.triplets, n_samples)

    def begin(self, scene: Scene, start: Matrix, *, resume: bool = False) -> Matrix:
        """Return the start at a scale where the margin matters."""
        return start if resume else rescale_to_margin(scene, bring_near_one(start), self.triplets)

    def terms(self, scene: Scene, factor: Matrix) -> list[Term]:
        """Return the mean over triplets of ½ max(0, margin - prediction)²."""
        return [triplet_term(self.triplets, scene.features.dtype)]

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


def rescale_to_margin(scene: Scene, start: Matrix, triplets: Matrix) -> Matrix:
    """Return the start, scaled to a median squared distance of anchors and far samples of 2, twice the margin."""
    distance = float(np.median(Pairs(triplets[:, [0, 2]]).predict(scene.image(start))))
    return start * start.dtype.type((2 / distance) ** 0.5) if 0 < distance < np.inf else start
