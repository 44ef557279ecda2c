"""A trial of plans: each learns from a part of the samples, and is judged by the errors on held-out ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gramian.estimators._blend import average_distances
from gramian.estimators._learning import compute_start, learn_by_plan, with_full_rank
from gramian.estimators._rounds import with_labels
from gramian.execution import execution_for
from gramian.features import Array, Centred, Features
from gramian.situation import Situation
from gramian.solvers import Journal
from gramian.span import span_of
from gramian.supervision import Plan
from gramian.supervision.nearest import nearest_to_queries
from gramian.supervision.triplets import bring_near_one
from gramian.types import Matrix, Vector

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["Split", "TrialProgress", "compare_plans"]

#: The numbers of nearest neighbours whose votes are compared; the mean of their errors is less noisy than one error.
NEIGHBOURS = (1, 3, 5, 7, 9)
#: With more features than this the samples are not compared in plain Euclidean distance.
LARGEST_EUCLID = 2000
#: Samples are tried in float32 if no feature that varies has a range below this share of the largest one.
LEAST_RANGE = 1e-4


class Split(NamedTuple):
    """Indices of samples that are learned from, and of samples that are held out."""

    train: Vector
    test: Vector


class TrialProgress(NamedTuple):
    """Counts the splits that are done, and reports each trial to the journal."""

    splits: int
    n_splits: int
    journal: Journal

    def report(self, plans: list[Plan], index: int) -> None:
        """Report that one of the plans is tried next on the current split."""
        done = self.splits * len(plans) + index
        self.journal.step(f"trying {plans[index].name}", done, self.n_splits * len(plans))


def compare_plans(
    learner: MetricLearner,
    situation: Situation,
    labels: Vector,
    split: Split,
    rank: int,
    weight: Vector | None,
    plans: list[Plan],
    progress: TrialProgress,
) -> dict[str, float]:
    """Return the errors of plans on one split; see `Trial`."""
    return Trial(learner, situation, labels, split, rank, weight).errors(plans, progress)


class Trial:
    """A split of the samples on which plans are tried; in the span of the training samples, if they are few.

    Plans start from a factor in the precision of the samples. From dense samples with features of similar ranges they
    learn in float32: errors need no more digits, and products and exponentials take half the time.
    """

    def __init__(
        self,
        learner: MetricLearner,
        situation: Situation,
        labels: Vector,
        split: Split,
        rank: int,
        weight: Vector | None = None,
    ) -> None:
        features, (train, test) = situation.features, split
        self.weight = None if weight is None else weight[train]
        self.weight_held_out = None if weight is None else weight[test]
        self.learner, self.rank = learner, rank
        self.labels, self.truth = labels[train], labels[test]
        known, unknown = features.take(train), in_single_precision(features.take(test))
        # Samples of a trial that came to the driver are worked on there.
        situation = situation._replace(execution=execution_for(known, situation.execution))
        self.held_out = situation._replace(features=unknown)
        # At full rank the distance outside of the span matters for held-out samples, as does a start that is an array.
        reduced = rank < features.shape[1] and isinstance(learner.init, str)
        span = span_of(known, sparse=True) if reduced else None
        self.span = span if span is not None and span.features.shape[1] >= rank else None
        inside = known if self.span is None else self.span.features
        self.starting = situation._replace(features=inside, labels=self.labels)
        self.situation = self.starting._replace(features=in_single_precision(inside))

    def errors(self, plans: list[Plan], progress: TrialProgress) -> dict[str, float]:
        """Return the error on held-out samples of each plan, and of Euclidean distance where it is no plan."""
        factors: dict[tuple[Any, ...], Matrix] = {}
        errors = {}
        for index, plan in enumerate(plans):
            progress.report(plans, index)
            errors[plan.name] = self.error(self.learn(plan, factors))
        d, dtype = self.situation.features.shape[1], self.situation.features.dtype
        if self.span is None and d <= LARGEST_EUCLID:
            errors.setdefault("euclid", self.error(np.eye(d, dtype=dtype)))
        return errors

    def learn(self, plan: Plan, factors: dict[tuple[Any, ...], Matrix]) -> Matrix:
        """Return the factor (d, r) that a plan learns; stages that it shares with an earlier plan are not repeated.

        `factors` has those that are known, by start, rank and stages; new ones are added to it.
        """
        if plan.parts:
            return average_distances(self.situation, [self.learn(part, factors) for part in plan.parts])
        key: tuple[Any, ...] = (plan.start, plan.rank)
        if key not in factors:
            start = compute_start(self.learner, self.starting, plan.rank or self.rank, plan.start)
            # No stage sees the scale of its start; in float32 a large one would overflow, and a small direction vanish.
            dtype = self.situation.features.dtype
            factors[key] = start if start.dtype == dtype else with_full_rank(bring_near_one(start).astype(dtype))
        for stage in plan.stages:
            before, key = factors[key], (*key, id(stage))
            if key not in factors:
                brief = with_labels(stage, self.labels, self.weight).brief()
                single = plan._replace(stages=(brief,))
                factors[key] = learn_by_plan(self.learner, self.situation, single, before, Journal()).result.point.G
        return factors[key]

    def error(self, factor: Matrix) -> float:
        """Return the error of nearest neighbours in the metric of a factor (d, r), the mean over several numbers.

        Held-out samples count by their weights.
        """
        # Trials have few samples: their images may come to the driver.
        lifted = factor if self.span is None else self.span.lift(factor).astype(self.held_out.features.dtype)
        queries = self.held_out.image(lifted)
        near = self.labels[nearest_to_queries(self.situation.image(factor), queries, max(NEIGHBOURS))]
        wrong = [majorities(near[:, :k]) != self.truth for k in NEIGHBOURS]
        return float(np.mean(np.average(wrong, axis=1, weights=self.weight_held_out)))


def majorities(labels: Matrix) -> Vector:
    """Return the most frequent label of each row (n, k), 0, 1, …; of several, the smallest."""
    votes = np.sum(labels[:, :, None] == labels[:, None, :], axis=2)
    return np.where(votes == votes.max(axis=1, keepdims=True), labels, labels.max() + 1).min(axis=1)


def in_single_precision(features: Features) -> Features:
    """Return dense features (n, d) in float32, centred before they are rounded; sparse ones, and uneven ones, as given.

    Features are uneven if the squares of the small ones would vanish beside those of the large ones.
    """
    inner = features.features if isinstance(features, Centred) else features
    if not isinstance(inner, Array) or features.dtype == np.float32:
        return features
    X = features.dense()
    ranges = np.ptp(X, axis=0)
    ranges = ranges[ranges > 0]
    if not ranges.size or ranges.min() < LEAST_RANGE * ranges.max():
        return features
    return Array(X.astype(np.float32))
