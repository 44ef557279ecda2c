"""The choice between plans of a fit: each is tried on a part of the samples, and judged on held-out ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gramian.coordinates import unit_of
from gramian.estimators._learning import compute_start, learn_by_plan
from gramian.estimators._rounds import with_labels
from gramian.execution import beside
from gramian.extremes import largest
from gramian.situation import Situation
from gramian.solvers import Journal
from gramian.span import span_of
from gramian.supervision import Plan, Supervision
from gramian.supervision.checks import has_partner
from gramian.supervision.sampling import with_every_class
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["Choice", "choose_plan"]

#: A trial uses at most so many samples, of which a third is held out.
PART, HELD_OUT = 1800, 1 / 3
#: With few samples, trials are repeated with other held-out ones, until so many were held out.
ENOUGH, MOST_SPLITS = 250, 4
#: Of a rare class a part has so many samples, if there are as many.
LEAST_OF_A_CLASS = 6
#: With fewer held-out samples than this nothing is compared.
FEWEST = 10
#: Of plans of low rank whose errors differ by less than this factor, the first is taken.
TIED = 1.03
#: Votes of so many nearest neighbours are compared; the mean of their errors is less noisy than one error.
NEIGHBOURS = (1, 3, 5, 7, 9)
#: With more features than this the samples are not compared in plain Euclidean distance.
LARGEST_EUCLID = 2000


class Choice(NamedTuple):
    """The plan of a fit, and the mean errors of nearest neighbours on held-out samples that led to it.

    Attributes
    ----------
    plan : str
        The name of the plan.
    errors : dict of str to float
        The errors of all plans, and of "start" and "euclid", which learn nothing.
    """

    plan: str
    errors: dict[str, float]


class Chosen(NamedTuple):
    """A plan, and why it was chosen; None if there was no choice."""

    plan: Plan
    choice: Choice | None


def choose_plan(
    learner: MetricLearner,
    situation: Situation,
    supervision: Supervision,
    rank: int,
    journal: Journal,
    *,
    resume: bool = False,
) -> Chosen:
    """Return the plan with the lowest error on held-out samples, the first of several.

    A stream goes on as it began. Mini-batches are of triplets, and so are few samples, which leave none to hold out.
    Warns if no plan beats the start or, at full rank, plain Euclidean distance.
    """
    plans = supervision.plans(rank, situation.features.shape[1])
    if len(plans) > 1 and not (isinstance(learner.init, str) and learner.init == "auto"):
        plans = without_starts(plans)
    if learner._resolve_geometry().full_rank:
        plans = [plan for plan in plans if plan.rank is None]
    if len(plans) > 1 and not learner._resolve_solver(situation.rng).stops:
        plans = [next((plan for plan in plans if plan.name == "triplets"), plans[0])]
    if resume and len(plans) > 1 and hasattr(learner, "choice_"):
        usable = [plan for plan in plans if plan.stages[-1].round_length != 0]
        plan = next((plan for plan in usable if plan.name == learner.choice_.plan), usable[0])
        return Chosen(plan._replace(stages=plan.stages[-1:]), Choice(plan.name, learner.choice_.errors))
    if len(plans) == 1 or resume:
        return Chosen(plans[0]._replace(stages=plans[0].stages[-1:]) if resume else plans[0], None)
    assert situation.labels is not None
    labels = np.unique(situation.labels, return_inverse=True)[1]
    errors: dict[str, list[float]] = {}
    splits = draw_splits(labels, situation.rng)
    weight = supervision.sample_weight
    least = rank if rank < situation.features.shape[1] else 0
    if any(is_too_small(split, labels, weight, least) for split in splits):
        usual = next((plan for plan in plans if plan.name == "triplets"), plans[0])
        return Chosen(usual, Choice(usual.name, {}))
    for index, split in enumerate(splits):
        done = Done(index, len(splits), journal)
        compare = partial(compare_plans, learner, situation, labels, split, rank, weight, plans, done)
        for name, value in journal.checkpoint.remember("trial", compare, rng=situation.rng).items():
            errors.setdefault(name, []).append(value)
    means = {name: float(np.mean(values)) for name, values in errors.items()}
    lowest = min(means[plan.name] for plan in plans)
    tied = TIED if rank < situation.features.shape[1] else 1.0
    best = next(plan for plan in plans if means[plan.name] <= tied * lowest)
    rivals = ("start", "euclid") if rank == situation.features.shape[1] else ("start",)
    warn_if_useless(best.name, {name: means[name] for name in (best.name, *rivals) if name in means}, splits)
    return Chosen(best, Choice(best.name, means))


def without_starts(plans: list[Plan]) -> list[Plan]:
    """Return the plans for a start that is given: those that differ by their start alone once, and none that stays."""
    renamed = [plan._replace(name=plan.name.removesuffix(" from discriminants"), start="auto") for plan in plans]
    unique = {plan.name: plan for plan in reversed(renamed) if plan.stages[-1].round_length != 0}
    return [plan for plan in unique.values() if plan.rank is None][::-1]


def warn_if_useless(name: str, errors: dict[str, float], splits: list[Split]) -> None:
    """Warn if the start or plain Euclidean distance has a lower error than the plan of this name.

    Differences within two standard errors are chance.
    """
    words = {"start": "the start, before anything is learned,", "euclid": "plain Euclidean distance"}
    n_held_out = sum(len(split.test) for split in splits)
    chance = 2 * (max(errors[name], 1 / n_held_out) / n_held_out) ** 0.5
    better = {known: errors[known] for known in words if errors.get(known, 1.0) < errors[name] - chance}
    if better:
        other = min(better, key=better.__getitem__)
        warn_user(
            f"on held-out samples {words[other]} has a lower error ({better[other]:.1%}) than {name!r}, the best plan "
            f"({errors[name]:.1%}). Compare both by cross-validation, or change n_components.",
            UserWarning,
        )


class Split(NamedTuple):
    """Indices of samples that are learned from, and of samples that are held out."""

    train: Vector
    test: Vector


def draw_splits(labels: Vector, rng: np.random.Generator) -> list[Split]:
    """Return splits of a part of the samples; several where few are held out."""
    n = len(labels)
    size = min(n, PART)
    count = int(np.clip(-(-ENOUGH // max(int(size * HELD_OUT), 1)), 1, MOST_SPLITS))
    return [draw_split(labels, size, rng) for _ in range(count)]


def draw_split(labels: Vector, size: int, rng: np.random.Generator) -> Split:
    """Return a split of so many samples, with the classes in their proportions; two of each class are not held out."""
    order = rng.permutation(len(labels))[:size]
    if size < len(labels):
        rare = np.setdiff1d(with_every_class(order, labels, LEAST_OF_A_CLASS), order)
        order = np.concatenate([order, rng.permutation(rare)])
    # The position of each sample among those of its class, in random order, decides.
    by_class = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels[by_class])
    counts = counts[counts > 0]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    position = np.arange(len(order)) - np.repeat(starts, counts)
    quota = np.repeat(np.minimum(np.round(counts * HELD_OUT), np.maximum(counts - 2, 0)), counts)
    held = position < quota
    return Split(np.sort(by_class[~held]), np.sort(by_class[held]))


def is_too_small(split: Split, labels: Vector, weight: Vector | None, least: int) -> bool:
    """Return True if too few samples are held out to compare plans, or too few of positive weight to learn from.

    More than `least` samples must be left to learn from.
    """
    if len(split.test) < FEWEST or len(split.train) <= least:
        return True
    if len(np.unique(labels[split.train])) < 2 or not has_partner(labels[split.train]).any():
        return True
    if weight is None:
        return False
    able = has_partner(labels[split.train]) & (weight[split.train] > 0)
    return not bool(able.any()) or int(np.count_nonzero(weight[split.test])) < FEWEST


class Done(NamedTuple):
    """How many of all splits are done, and the journal that is told of it."""

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
    done: Done,
) -> dict[str, float]:
    """Return the errors of plans on one split; see `Trial`."""
    return Trial(learner, situation, labels, split, rank, weight).errors(plans, done)


class Trial:
    """A split of the samples on which plans are tried; in the span of the training samples, if they are few."""

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
        known, unknown = features.take(train), features.take(test)
        # Samples of a trial that came to the driver are worked on there.
        situation = situation._replace(execution=beside(known, situation.execution))
        self.held_out = situation._replace(features=unknown)
        # At full rank the distance outside of the span matters for held-out samples, as does a start that is an array.
        inside = rank < features.shape[1] and isinstance(learner.init, str)
        span = span_of(known, sparse=True) if inside else None
        self.span = span if span is not None and span.features.shape[1] >= rank else None
        self.situation = situation._replace(
            features=known if self.span is None else self.span.features, labels=self.labels
        )

    def errors(self, plans: list[Plan], done: Done) -> dict[str, float]:
        """Return the error on held-out samples of each plan, of the start, and of Euclidean distance."""
        factors: dict[tuple[Any, ...], Matrix] = {}
        errors = {}
        for index, plan in enumerate(plans):
            done.report(plans, index)
            errors[plan.name] = self.error(self.learn(plan, factors))
        errors["start"] = min(self.error(factor) for known, factor in factors.items() if len(known) == 2)
        d, dtype = self.situation.features.shape[1], self.situation.features.dtype
        if self.span is None and d <= LARGEST_EUCLID:
            errors["euclid"] = self.error(np.eye(d, dtype=dtype))
        return errors

    def learn(self, plan: Plan, factors: dict[tuple[Any, ...], Matrix]) -> Matrix:
        """Return the factor (d, r) that a plan learns; stages that it shares with an earlier plan are not repeated.

        `factors` has those that are known, by start, rank and stages; new ones are added to it.
        """
        key: tuple[Any, ...] = (plan.start, plan.rank)
        if key not in factors:
            factors[key] = compute_start(self.learner, self.situation, plan.rank or self.rank, plan.start)
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
        queries = self.held_out.image(factor if self.span is None else self.span.lift(factor))
        near = self.labels[nearest(self.situation.image(factor), queries, max(NEIGHBOURS))]
        votes = np.cumsum(near[:, :, None] == np.arange(self.labels.max() + 1), axis=1)
        wrong = [votes[:, min(k, near.shape[1]) - 1].argmax(axis=1) != self.truth for k in NEIGHBOURS]
        return float(np.mean(np.average(wrong, axis=1, weights=self.weight_held_out)))


def nearest(Z: Matrix, queries: Matrix, count: int) -> Matrix:
    """Return the indices of the rows of Z (n, r) nearest to each query (m, r), nearest first, at most so many."""
    count, unit = min(count, len(Z)), Z.dtype.type(unit_of(largest(Z), 1))
    # Neighbours do not depend on the scale; squares in units near 1 do not overflow.
    Z, queries = Z * unit, queries * unit
    distance = np.einsum("ij,ij->i", Z, Z) - 2 * np.dot(queries, Z.T)
    found = np.argpartition(distance, count - 1, axis=1)[:, :count]
    return np.take_along_axis(found, np.argsort(np.take_along_axis(distance, found, axis=1), axis=1), axis=1)
