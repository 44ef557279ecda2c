"""Quadruplets of samples that are given: a near pair and a far pair each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from gramian.measurements import Quadruplets
from gramian.objective import Term
from gramian.situation import Situation
from gramian.supervision.checks import validate_quadruplets
from gramian.supervision.supervision import Begun, Supervision
from gramian.supervision.triplets import (
    bring_near_one,
    margin_mean,
    rescale_to_margin,
    tuple_penalty,
    tuple_shrinkage,
    validate_weighted,
)
from gramian.types import Matrix

__all__ = ["GivenQuadruplets"]


@dataclass(frozen=True, eq=False)
class GivenQuadruplets(Supervision):
    """Quadruplets (a, b, c, e): a and b should be nearer to each other than c and e, by a margin.

    The two pairs may share a sample: the triplet (a, n, f) is the quadruplet (a, n, a, f). Quadruplets may contradict
    each other, as noisy judgements do; the distance is then a compromise.

    Parameters
    ----------
    quadruplets : array of int, shape (m, 4)
    sample_weight : array, shape (m,), optional
        The weight of each quadruplet; those of weight 0 are left out.

    Examples
    --------
    The first feature tells which pairs are near, the second one does not matter:

    >>> import numpy as np
    >>> from gramian import MetricLearner
    >>> from gramian.supervision import GivenQuadruplets
    >>> rng = np.random.default_rng(0)
    >>> X, quadruplets = rng.standard_normal((100, 2)), rng.integers(100, size=(400, 4))
    >>> a, b, c, e = X[quadruplets.T, 0]
    >>> nearer = (a - b) ** 2 < (c - e) ** 2
    >>> different = (quadruplets[:, 0] != quadruplets[:, 1]) & (quadruplets[:, 2] != quadruplets[:, 3])
    >>> learner = MetricLearner(random_state=0)
    >>> W = learner.fit_supervised(X, GivenQuadruplets(quadruplets[nearer & different])).get_mahalanobis_matrix()
    >>> bool(W[0, 0] > 20 * abs(W[1, 1]))
    True
    """

    quadruplets: Any
    sample_weight: Any = None

    def __len__(self) -> int:
        return len(self.quadruplets)

    def validate(self, n_samples: int) -> Self:
        """Return the quadruplets of positive weight as an array; raise a ValueError unless they fit the samples."""
        quadruplets = validate_quadruplets(self.quadruplets, n_samples)
        weighted = validate_weighted(quadruplets, self.sample_weight)
        return replace(self, quadruplets=weighted.indices, sample_weight=weighted.weight)

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the quadruplets, and the start at a scale where the margin matters."""
        if resume:
            return Begun(self, start)
        return Begun(self, rescale_to_margin(situation, bring_near_one(start), self.quadruplets[:, 2:]))

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Term]:
        """Return the weighted mean over quadruplets of ½ max(0, margin - prediction)²."""
        return [margin_mean(Quadruplets(self.quadruplets), self.sample_weight, situation.features.dtype)]

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return 0.1 d/m: few quadruplets hardly move the distance."""
        return tuple_penalty(len(self), n_features)

    def default_shrinkage(self, situation: Situation, start: Matrix) -> float:
        """Return 1.5 d/m, but at most 0.2."""
        return tuple_shrinkage(len(self), len(start))

    def summary(self) -> dict[str, Any]:
        """Return the number of points of a tuple, so that the estimator judges quadruplets."""
        return {"tuple_size_": 4}
