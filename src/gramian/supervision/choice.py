"""The default for class labels: several plans, compared on held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from gramian.objective.terms import Summand
from gramian.situation import Situation
from gramian.supervision.labels import ANCHORS, LabelTriplets
from gramian.supervision.neighbourhoods import LabelNeighbourhoods, LabelStart
from gramian.supervision.supervision import Begun, Plan, Supervision
from gramian.types import Matrix

__all__ = ["LabelChoice"]

#: Targets and impostors of each sample, in plans with many of them. From the third number of samples on, these plans
#: have twice as many rounds; with fewer samples they are no better than few triplets at low rank, and are not tried.
MANY_TARGETS, MANY_IMPOSTORS, MORE_ROUNDS = 10, 30, 2_000
#: With this number of features for each sample, half as many rounds: more of them fit to single samples.
WIDE = 2
#: With more samples than this, and at least this rank, triplets are as good as neighbourhoods, and much faster.
LARGE, NOT_SO_LOW = 3_600, 10
#: With more samples than this neighbourhoods are not tried at full rank.
LARGEST_FOR_NEIGHBOURHOODS = 16_000
#: Up to this rank all plans of full rank are tried.
LARGEST_RANK = 300
#: Triplets of low rank, classes - 1, are tried at full rank too: if this low rank is at least the first number, and
#: there are at least the second number of features for each direction of it.
LEAST_LOW_RANK, FEATURES_PER_RANK = 5, 4


@dataclass(frozen=True, eq=False)
class LabelChoice(Supervision):
    """Neighbourhoods or triplets of class labels, whichever is better on held-out samples.

    Parameters
    ----------
    labels : array, shape (n,)
    triplets : LabelTriplets
        The settings of triplets.
    sample_weight : array, shape (n,), optional
        Weights of the samples as anchors.

    Examples
    --------
    >>> from gramian.supervision import LabelChoice
    >>> plans = LabelChoice([0, 0, 1, 1]).plans(rank=2, n_features=5)
    >>> [plan.name for plan in plans if not plan.idle]
    ['neighbourhoods', 'triplets']
    """

    from_labels = True

    labels: Any
    _: KW_ONLY
    triplets: LabelTriplets | None = None
    sample_weight: Any = None

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the choice for class labels y, with the settings of a MetricLearner."""
        return cls(y, triplets=LabelTriplets.from_learner(y, learner))

    def __len__(self) -> int:
        return len(self.labels)

    def validate(self, n_samples: int) -> Self:
        """Return the same with labels as an array.

        Raises a ValueError unless there are at least two classes, one of them with two samples.
        """
        triplets = LabelTriplets(self.labels) if self.triplets is None else self.triplets
        triplets = replace(triplets, labels=self.labels, sample_weight=self.sample_weight).validate(n_samples)
        return replace(self, labels=triplets.labels, triplets=triplets, sample_weight=triplets.sample_weight)

    def plans(self, rank: int, n_features: int) -> list[Plan]:
        """Return the plans that are compared, the first one preferred. The last ones learn nothing.

        Neighbourhoods after triplets, and the objective of neighbourhood components analysis, are no plans: they did
        not lower the errors of what is chosen, and took most of the time.
        """
        triplets = LabelTriplets(self.labels) if self.triplets is None else self.triplets
        rounds = triplets.n_rounds
        if n_features > WIDE * len(self):
            rounds = -(-rounds // 2)
            triplets = replace(triplets, n_rounds=rounds)
        elif MORE_ROUNDS <= len(self) <= ANCHORS:
            rounds *= 2
        many = replace(triplets, n_targets=MANY_TARGETS, n_impostors=MANY_IMPOSTORS, n_rounds=rounds)
        near = LabelNeighbourhoods(self.labels, sample_weight=self.sample_weight)
        if rank == n_features:
            return self.full_rank_plans(triplets, many, near, rank)
        few, more = Plan("triplets", (triplets,)), Plan("many triplets", (many,))
        by_neighbourhoods = Plan("neighbourhoods", (near,))
        start = Plan("start", (LabelStart(self.labels, self.sample_weight),))
        if len(self) <= LARGE:
            return [by_neighbourhoods, few, *([] if len(self) < MORE_ROUNDS else [more]), start]
        if rank < NOT_SO_LOW:
            return [more, by_neighbourhoods, start]
        # If a round has a part of the samples as anchors, few neighbours of each are enough.
        return [few, more, start] if len(self) > ANCHORS else [more, few, start]

    def full_rank_plans(
        self, triplets: LabelTriplets, many: LabelTriplets, near: LabelNeighbourhoods, rank: int
    ) -> list[Plan]:
        """Return the plans of a distance of full rank; with many features, those that take long are left out."""
        still = LabelStart(self.labels, self.sample_weight)
        plans = [Plan("triplets", (triplets,)), Plan("discriminants", (still,), "lda")]
        if rank <= LARGEST_RANK:
            plans.append(Plan("triplets from discriminants", (triplets,), "lda"))
            if len(self) <= LARGEST_FOR_NEIGHBOURHOODS:
                plans.append(Plan("neighbourhoods from discriminants", (near,), "lda"))
                plans.insert(0, Plan("mean of three", (triplets,), parts=(plans[0], *plans[2:])))
        low = len(np.unique(self.labels)) - 1
        if low < rank:
            plans.append(Plan("discriminants of low rank", (still,), "lda", low))
        if LEAST_LOW_RANK <= low <= rank / FEATURES_PER_RANK:
            plans.append(Plan("many triplets of low rank", (many,), "lda", low))
        return [*plans, Plan("euclid", (still,), "identity")]

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Begin with triplets; a fit begins with the stages of a plan instead."""
        assert self.triplets is not None
        return self.triplets.begin(situation, start, resume=resume)

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> Sequence[Summand]:
        """Return the terms of triplets; a fit takes those of the stages of a plan instead."""
        assert self.triplets is not None
        return self.triplets.terms(situation, factor, index)
