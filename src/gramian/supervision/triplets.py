"""Triplets of samples that are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from gramian.checks import as_numbers, validate_weight
from gramian.coordinates import unit_of
from gramian.extremes import largest
from gramian.images import pair_distances
from gramian.measurements import Quadruplets, Triplets
from gramian.objective import Margins, Term
from gramian.situation import Situation
from gramian.supervision.checks import validate_triplets
from gramian.supervision.sampling import Neighbours
from gramian.supervision.supervision import Begun, Supervision
from gramian.supervision.tuples import TUPLES
from gramian.types import Matrix, Vector

__all__ = [
    "MARGIN",
    "GivenTriplets",
    "Weighted",
    "bring_near_one",
    "margin_mean",
    "margin_term",
    "rescale_to_margin",
    "scale_to_distances",
    "tuple_penalty",
    "tuple_shrinkage",
    "validate_weighted",
]

#: By how much, in squared distance, the far sample of a triplet should be farther than the near one.
MARGIN = 1.0

#: Default penalties of m given triplets or quadruplets on d features, in units of d/m; and the largest of the second.
TRIPLET_PENALTY, TRIPLET_SHRINKAGE, LARGEST_SHRINKAGE = 0.1, 1.5, 0.2


@dataclass(frozen=True, eq=False)
class GivenTriplets(Supervision):
    """Triplets (anchor, near, far): the far sample should be farther from the anchor than the near one, by a margin.

    Parameters
    ----------
    triplets : array of int, shape (m, 3)
    sample_weight : array, shape (m,), optional
        The weight of each triplet; those of weight 0 are left out.

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
    sample_weight: Any = None

    def __len__(self) -> int:
        return len(self.triplets)

    def validate(self, n_samples: int) -> Self:
        """Return the triplets of positive weight as an array; raise a ValueError unless they fit the samples."""
        weighted = validate_weighted(validate_triplets(self.triplets, n_samples), self.sample_weight)
        return replace(self, triplets=weighted.indices, sample_weight=weighted.weight)

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the triplets, and the start at a scale where the margin matters."""
        if resume:
            return Begun(self, start)
        return Begun(self, rescale_to_margin(situation, bring_near_one(start), self.triplets[:, [0, 2]]))

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Term]:
        """Return the weighted mean over triplets of ½ max(0, margin - prediction)²."""
        return [margin_mean(Triplets(self.triplets), self.sample_weight, situation.features.dtype)]

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return 0.1 d/m: few triplets hardly move the distance."""
        return tuple_penalty(len(self), n_features)

    def default_shrinkage(self, situation: Situation, start: Matrix) -> float:
        """Return 1.5 d/m, but at most 0.2."""
        return tuple_shrinkage(len(self), len(start))

    def summary(self) -> dict[str, Any]:
        """Return the number of points of a tuple, so that the estimator judges triplets."""
        return {"tuple_size_": 3}


class Weighted(NamedTuple):
    """Triplets or quadruplets of samples, one per row, and their positive weights (m,); None for equal weights."""

    indices: Matrix
    weight: Vector | None


def validate_weighted(indices: Matrix, sample_weight: Any) -> Weighted:
    """Return the rows of positive weight, and their weights; raise a ValueError unless there is a weight for each."""
    if sample_weight is None:
        return Weighted(indices, None)
    unit = TUPLES[indices.shape[1]][:-1]
    numbers = as_numbers("sample_weight", sample_weight)
    if unit == "triplet" and numbers.size and np.isin(numbers, (-1, 1)).all() and (numbers < 0).any():
        raise ValueError(
            "sample_weight has signs, +1 and -1, but weights must not be negative. A triplet is (anchor, near, far): "
            "exchange near and far where the sign is -1, and give no signs."
        )
    weight = validate_weight(numbers, len(indices), np.dtype(np.float64), unit)
    return Weighted(indices[weight > 0], weight[weight > 0])


def margin_mean(measurement: Triplets | Quadruplets, weight: Vector | None, dtype: np.dtype) -> Term:
    """Return the mean of ½ max(0, MARGIN - prediction)² over m triplets or quadruplets, with weights (m,) if given."""
    m = len(measurement)
    share = np.full(m, 1 / m, dtype) if weight is None else (weight / weight.sum()).astype(dtype)
    return Term(measurement, np.full(m, MARGIN, dtype), sense=np.full(m, 1), weight=share)


def tuple_penalty(m: int, n_features: int) -> float:
    """Return the default penalty 0.1 d/m of m triplets or quadruplets on d features."""
    return TRIPLET_PENALTY * n_features / m


def tuple_shrinkage(m: int, n_features: int) -> float:
    """Return the default shrinkage 1.5 d/m of m triplets or quadruplets on d features, at most 0.2."""
    return min(TRIPLET_SHRINKAGE * n_features / m, LARGEST_SHRINKAGE)


def margin_term(neighbours: Neighbours, pull: float, anchor_weight: Vector | None = None) -> Margins:
    """Return the mean of ½ max(0, MARGIN - prediction)² over the triplets of neighbours, and pull · that of near pairs.

    With weights (n,) of the samples as anchors, the means are weighted.
    """
    anchors, near, far = neighbours
    weight = np.ones(len(anchors)) if anchor_weight is None else anchor_weight[anchors]
    n_near = np.sum(near >= 0, axis=1)
    triplets, pairs = weight @ (n_near * np.sum(far >= 0, axis=1)), weight @ n_near
    return Margins(anchors, near, far, weight / triplets, pull * weight / pairs, MARGIN)


def bring_near_one(start: Matrix) -> Matrix:
    """Return the start times the power of two that brings its entries near 1: triplets do not see its scale."""
    return start * start.dtype.type(unit_of(largest(start), 1))


def rescale_to_margin(situation: Situation, start: Matrix, pairs: Matrix) -> Matrix:
    """Return the start, scaled to a median squared distance of far pairs (m, 2) of 2, twice the margin."""
    return scale_to_distances(start, pair_distances(situation.features, start, pairs, situation.execution))


def scale_to_distances(start: Matrix, squared: Vector) -> Matrix:
    """Return the start, scaled so that the median of its squared distances (m,) of far pairs is 2, twice the margin."""
    distance = float(np.median(squared))
    return start * start.dtype.type((2 / distance) ** 0.5) if 0 < distance < np.inf else start
