"""Continuous targets: samples that are near in distance should be near in their targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from gramian.checks import as_numbers, validate_weight
from gramian.images import image_covariance
from gramian.objective import KernelRegression
from gramian.objective.block import evaluate
from gramian.situation import Situation
from gramian.span import leading_factor
from gramian.supervision.anchors import (
    TRIED,
    anchor_counts,
    draw_anchors,
    draw_samples,
    sample_problem,
    scale_start,
    trace_penalty_weight,
)
from gramian.supervision.sampling import with_every_class
from gramian.supervision.supervision import Begun, Plan, Supervision
from gramian.supervision.triplets import bring_near_one
from gramian.types import Matrix, Vector

__all__ = ["Targets"]

#: The anchors of a round are the largest number, divided by these.
DIVISORS = (4, 2, 1)
#: The weight of tr(W) in units of the mean variance of a feature, for as many samples as features.
PRICE = 1.0
#: The number of groups of targets that the start discriminates between, and the least number of samples in one.
GROUPS, LEAST_GROUP = 10, 10
#: The least number of samples of positive weight in a round, if there are as many.
LEAST_ANCHORS = 100
#: The rank of the first of two steps, where there are as many features.
WIDE = 30
#: The strength of the penalty of the second step, for targets that cannot be predicted at all.
STRENGTH = 6.0


@dataclass(frozen=True, eq=False)
class Targets(Supervision):
    """The squared error of predicting each sample's target from its neighbours, the nearer the weightier.

    This is the leave-one-out error of kernel regression, in units of the variance of the targets. It depends neither on
    the unit of the targets nor on their origin. The first rounds draw some of the samples as anchors, later rounds
    more; all samples are their neighbours.

    Parameters
    ----------
    y : array, shape (n,)
        The targets, not all equal.
    sample_weight : array, shape (n,), optional
        Weights of the squared errors. A sample of weight 0 is a neighbour only.
    strength : float
        A factor of the penalty on the trace of W.
    two_steps : bool
        True learns a distance of higher rank first, and refines it: a distance of low rank has poor minima.
    refines : bool
        True for a start that is a solution already, perhaps of higher rank. Its leading principal components are kept
        at their scale, and its error, an estimate of the noise, sets `strength`. False scales the start to the lowest
        error.
    rank : int or None
        The number of components that a refined start keeps; None for all.
    seed : int
        The seed of the samples and anchors of the rounds; drawn by `begin`.

    Examples
    --------
    The target is a function of the first of three features:

    >>> import numpy as np
    >>> from gramian import MetricLearner
    >>> from gramian.supervision import Targets
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> learner = MetricLearner(1, random_state=0).fit_supervised(X, Targets(np.sin(X[:, 0])))
    >>> G = np.abs(learner.factor_.ravel())
    >>> bool(G[0] > 10 * G[1:].max())
    True
    """

    uses_loss = False
    solver = "lbfgs"
    round_length = 20

    y: Any
    sample_weight: Any = None
    strength: float = 1.0
    two_steps: bool = False
    refines: bool = False
    rank: int | None = None
    seed: int = 0

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_rounds(self) -> int:  # type: ignore[override]
        """The number of rounds."""
        return len(self.round_sizes)

    @property
    def round_sizes(self) -> list[int]:
        """The number of anchors of each round."""
        return anchor_counts(len(self.y), DIVISORS)

    @cached_property
    def labels(self) -> Vector:
        """Groups of samples of similar targets, by their order: the start discriminates between them."""
        n = len(self.y)
        groups = int(np.clip(n // LEAST_GROUP, 2, GROUPS))
        edges = np.quantile(self.y, np.arange(1, groups) / groups)
        return np.searchsorted(edges, self.y, side="left")

    def validate(self, n_samples: int) -> Self:
        """Return the same with targets of mean 0 and variance 1, and weights as an array; a column (n, 1) is flattened.

        Raises a ValueError unless there are n_samples targets, finite and not all equal.
        """
        y = as_numbers("y", self.y)
        y = column_or_1d(y, warn=True) if y.shape == (n_samples, 1) else y
        if y.shape != (n_samples,):
            raise ValueError(f"y has shape {y.shape}; expected ({n_samples},), one target for each sample.")
        bad = np.flatnonzero(~np.isfinite(y))
        if bad.size:
            raise ValueError(f"y[{bad[0]}] = {y[bad[0]]} is not finite. Drop the sample, or fill in its target.")
        weight = self.sample_weight
        if weight is not None:
            weight = validate_weight(weight, n_samples, np.dtype(np.float64))
        # In units of the largest target, sums of squares do not overflow.
        unit = float(np.abs(y).max()) or 1.0
        y = y / unit - float(np.mean(y / unit))
        spread = float(np.std(y))
        if spread <= 8 * float(np.finfo(np.float64).eps):
            raise ValueError(f"all {n_samples} targets in y are equal: no distance can be learned from them.")
        return replace(self, y=y / spread, sample_weight=weight)

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the supervision, and the start at the scale with the lowest error, or as it is."""
        begun = replace(self, seed=int(situation.rng.integers(2**31)))
        if resume:
            return Begun(begun, start)
        if self.refines:
            covariance = image_covariance(situation.features, start, situation.execution)
            begun = replace(begun, strength=STRENGTH * begun.error(situation, start))
            return Begun(begun, leading_factor(start, covariance, self.rank))
        problem = sample_problem(situation, begun.subset(0), begun.draw(0, TRIED))
        return Begun(begun, scale_start(problem, bring_near_one(start)))

    def subset(self, index: int) -> Vector | None:
        """Return the indices of the samples of a round; None for all, if they are few."""
        drawn = draw_samples(len(self.y), np.random.default_rng([self.seed, index]))
        if drawn is None:
            return None
        weighed = np.ones(len(self.y), bool) if self.sample_weight is None else np.asarray(self.sample_weight) > 0
        return with_every_class(drawn, weighed, LEAST_ANCHORS)

    def draw(self, index: int, count: int) -> KernelRegression:
        """Return the kernel regression of a round: at most `count` anchors, of positive weight."""
        rows = self.subset(index)
        y = self.y if rows is None else self.y[rows]
        weight = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        weight = weight if rows is None else weight[rows]
        able = draw_anchors(np.flatnonzero(weight > 0), count, [self.seed, index, 1])
        return KernelRegression(y, able, weight[able] / weight[able].sum())

    def error(self, situation: Situation, factor: Matrix) -> float:
        """Return the leave-one-out error under a factor (d, r), in units of the variance of the targets.

        It is that of some anchors, for validated targets.
        """
        problem = sample_problem(situation, self.subset(0), self.draw(0, TRIED))
        return problem.run(evaluate, frame=factor, root=None)[1].value

    def plans(self, rank: int, n_features: int) -> list[Plan]:
        """Return one plan, of one step or two; the first has a rank of 30, if there are as many features."""
        if not self.two_steps:
            return [Plan(type(self).__name__, (self,))]
        first = replace(self, two_steps=False)
        # n centred samples have n - 1 directions.
        wide = n_features if n_features <= WIDE else max(min(WIDE, len(self) - 1), rank)
        stages = (first, replace(first, refines=True, rank=rank))
        return [Plan(type(self).__name__, stages, rank=None if wide == rank else wide)]

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[KernelRegression]:
        """Return the kernel regression of the anchors of a round."""
        return [self.draw(index, self.round_sizes[index])]

    def default_shrinkage(self, situation: Situation, start: Matrix) -> float:
        """Return the weight of the penalty tr(W) · strength · d/n · the mean variance of a feature."""
        return trace_penalty_weight(situation, start, self.strength * PRICE)
