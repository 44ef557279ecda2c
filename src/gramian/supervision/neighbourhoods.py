"""Class labels, turned into neighbourhoods: all samples as neighbours of a growing number of anchors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gramian.objective import Neighbourhoods
from gramian.situation import Situation
from gramian.supervision.anchors import (
    FEW,
    MOST_ANCHORS,
    TRIED,
    anchor_counts,
    draw_anchors,
    draw_samples,
    largest_count,
    sample_problem,
    scale_start,
    trace_penalty_weight,
)
from gramian.supervision.checks import has_partner, validate_anchor_weight, validate_labels
from gramian.supervision.sampling import with_every_class
from gramian.supervision.supervision import Begun, Supervision
from gramian.supervision.triplets import bring_near_one
from gramian.types import Matrix, Vector

__all__ = ["LabelNeighbourhoods", "LabelStart"]

#: The anchors of a round are the largest number, divided by these. A third round between them would learn no more.
DIVISORS = (4, 1)
#: Iterations of a round; and of each, if there are two rounds and more than FEW samples: more would fit single samples.
ROUND_LENGTH, SHORT_ROUND = 20, 12
#: The weight of tr(W) in units of the mean variance of a feature, for as many samples as features. Of 0.075, 0.15, 0.3,
#: 0.6 and 1.2 it has the lowest mean error on 13 sets at ranks 2, 3, 5, 10 and full rank, and 0.1 more at rank 1.
PRICE = 0.3


@dataclass(frozen=True, eq=False)
class LabelNeighbourhoods(Supervision):
    """The probability that a sample's neighbour, drawn from all samples, is of its class; its mean logarithm.

    The first rounds draw some of the samples as anchors, later rounds more. All samples are their neighbours.

    Parameters
    ----------
    labels : array, shape (n,)
    strength : float
        A factor of the penalty on the trace of W.
    first_round : int
        Rounds before this one are left out.
    seed : int
        The seed of the samples and anchors of the rounds; drawn by `begin`.
    sample_weight : array, shape (n,), optional
        Weights of the samples as anchors; those of weight 0 are neighbours only.
    power : float
        0 for the mean logarithm of the probability, 1 for its mean, the objective of neighbourhood components analysis.
    most_anchors : int
        The largest number of anchors of a round; set by `begin` for the rank.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import LabelNeighbourhoods, Situation
    >>> situation = Situation(Array(np.array([[0.0], [1.0], [1.5], [9.0]])), np.random.default_rng(0))
    >>> begun = LabelNeighbourhoods([0, 0, 1, 1]).validate(4).begin(situation, np.eye(1))
    >>> [len(term) for term in begun.supervision.terms(situation, begun.start)]
    [4]
    """

    from_labels = True
    uses_loss = False
    solver = "lbfgs"

    labels: Any
    strength: float = 1.0
    first_round: int = 0
    seed: int = 0
    sample_weight: Any = None
    power: float = 0.0
    most_anchors: int = MOST_ANCHORS

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the neighbourhoods of class labels y."""
        return cls(y)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_rounds(self) -> int:  # type: ignore[override]
        """The number of rounds."""
        return len(self.round_sizes)

    @property
    def round_length(self) -> int:  # type: ignore[override]
        """The largest number of iterations of a round."""
        return SHORT_ROUND if self.n_rounds > 1 and len(self) > FEW else ROUND_LENGTH

    @property
    def round_sizes(self) -> list[int]:
        """The number of anchors of each round."""
        sizes = anchor_counts(len(self.labels), DIVISORS, self.most_anchors)
        return sizes[min(self.first_round, len(sizes) - 1) :]

    def brief(self) -> Self:
        """Return the same with the last round alone."""
        return replace(self, first_round=self.first_round + self.n_rounds - 1)

    def validate(self, n_samples: int) -> Self:
        """Return the same with labels as an array.

        Raises a ValueError unless there are at least two classes, one of them with two samples.
        """
        labels = validate_labels(self.labels, n_samples)
        return replace(self, labels=labels, sample_weight=validate_anchor_weight(self.sample_weight, labels))

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the supervision, and the start at the scale with the lowest objective."""
        seed, most = int(situation.rng.integers(2**31)), largest_count(start.shape[1])
        begun = replace(self, seed=seed, most_anchors=most)
        if resume:
            return Begun(begun, start)
        start = bring_near_one(start)
        problem = sample_problem(situation, begun.subset(0), begun.draw(0, TRIED))
        return Begun(begun, scale_start(problem, start, begun.default_shrinkage(situation, start)))

    def subset(self, index: int) -> Vector | None:
        """Return the indices of the samples of a round; None for all, if they are few."""
        rng = np.random.default_rng([self.seed, index])
        drawn = draw_samples(len(self.labels), rng)
        if drawn is None:
            return None
        drawn = with_every_class(drawn, self.labels, 2)
        return drawn if self.sample_weight is None else self.with_anchors(drawn, rng)

    def with_anchors(self, drawn: Vector, rng: np.random.Generator) -> Vector:
        """Return drawn indices of samples, ascending; where few have a positive weight, with more that have one.

        For each of these, the class has a second sample among the drawn ones.
        """
        able = np.flatnonzero(has_partner(self.labels) & (self.sample_weight > 0))
        held = np.intersect1d(able, drawn, assume_unique=True)
        if len(held) >= FEW:
            return drawn
        missing = np.setdiff1d(able, held, assume_unique=True)
        anchors = np.append(held, rng.choice(missing, min(FEW - len(held), len(missing)), replace=False))
        # The first two samples of a class: one of them is a partner of the anchor.
        by_class = np.argsort(self.labels, kind="stable")
        firsts = np.searchsorted(self.labels[by_class], np.unique(self.labels[anchors]))
        return np.unique(np.concatenate([drawn, anchors, by_class[firsts], by_class[firsts + 1]]))

    def draw(self, index: int, count: int) -> Neighbourhoods:
        """Return the neighbourhoods of a round: at most `count` anchors, which are not alone in their class."""
        rows, weight = self.subset(index), self.sample_weight
        labels = np.unique(self.labels if rows is None else self.labels[rows], return_inverse=True)[1]
        weight = weight if rows is None or weight is None else weight[rows]
        able = np.flatnonzero(has_partner(labels) if weight is None else has_partner(labels) & (weight > 0))
        able = draw_anchors(able, count, [self.seed, index, 1])
        if weight is None:
            return Neighbourhoods(labels, able, power=self.power)
        return Neighbourhoods(labels, able, weight[able] / weight[able].sum(), self.power)

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Neighbourhoods]:
        """Return the neighbourhoods of the anchors of a round."""
        return [self.draw(index, self.round_sizes[index])]

    def default_shrinkage(self, situation: Situation, start: Matrix) -> float:
        """Return the weight of the penalty tr(W) · strength · 0.3 d/n · the mean variance of a feature.

        With weights w of the samples, n is (Σ w)²/Σ w²: few heavy samples say less than many light ones.
        """
        weight, n = self.sample_weight, len(self)
        effective = n if weight is None else np.sum(weight) ** 2 / np.sum(np.square(weight))
        return trace_penalty_weight(situation, start, self.strength * PRICE * n / float(effective))


@dataclass(frozen=True, eq=False)
class LabelStart(Supervision):
    """The start itself, at the scale where neighbourhoods fit best; nothing is learned.

    Parameters
    ----------
    labels : array, shape (n,)
    sample_weight : array, shape (n,), optional
    any_scale : bool
        True brings the start near 1, without a search for its scale: nearest neighbours are the same at any scale.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import MetricLearner
    >>> from gramian.supervision import LabelStart
    >>> X = np.array([[0.0, 9.0], [1.0, 0.0], [5.0, 8.0], [6.0, 1.0]])
    >>> learner = MetricLearner(1, init="lda", random_state=0).fit_supervised(X, LabelStart([0, 0, 1, 1]))
    >>> learner.n_iter_
    0
    """

    from_labels = True
    uses_loss = False
    round_length = 0

    labels: Any
    sample_weight: Any = None
    any_scale: bool = False

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the start for class labels y."""
        return cls(y)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def neighbourhoods(self) -> LabelNeighbourhoods:
        """The neighbourhoods by which the start is scaled and judged; without a penalty, as nothing is learned."""
        return LabelNeighbourhoods(self.labels, strength=0.0, sample_weight=self.sample_weight)

    def validate(self, n_samples: int) -> Self:
        """Return the same with labels as an array."""
        valid = self.neighbourhoods.validate(n_samples)
        return replace(self, labels=valid.labels, sample_weight=valid.sample_weight)

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the start at the scale with the lowest objective of neighbourhoods, or near 1."""
        start = bring_near_one(start) if self.any_scale and not resume else start
        # With and without a search as many random numbers are drawn: what is learned later does not depend on it.
        begun = self.neighbourhoods.begin(situation, start, resume=resume or self.any_scale)
        return Begun(self, begun.start)

    def brief(self) -> Self:
        """Return the same without a search for the scale."""
        return replace(self, any_scale=True)

    def subset(self, index: int) -> Vector | None:
        """Return the indices of the samples that the start is judged by; None for all, if they are few."""
        return self.neighbourhoods.subset(index)

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Neighbourhoods]:
        """Return the neighbourhoods of some anchors."""
        return [self.neighbourhoods.draw(index, TRIED)]
