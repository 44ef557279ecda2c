"""The choice between plans of a fit: each is tried on a part of the samples, and judged on held-out ones."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gramian.estimators._trial import Split, TrialProgress, compare_plans
from gramian.situation import Situation
from gramian.solvers import Journal
from gramian.supervision import Plan, Supervision
from gramian.supervision.checks import has_partner
from gramian.supervision.choice import LARGE
from gramian.supervision.sampling import with_every_class
from gramian.types import Vector
from gramian.warn import warn_user

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["Choice", "choose_plan"]

#: The largest number of samples of a trial, and the share of them that is held out.
PART, HELD_OUT = 1800, 1 / 3
#: The largest number of further samples that are held out, if there are more; and that of their entries.
MORE_HELD_OUT, MOST_ENTRIES = 2400, 2**22
#: With fewer samples than PART, trials are repeated with other held-out ones. On 18 sets, up to eight splits gave the
#: same errors to 0.1 points on average, at three times the cost.
SPLITS = 2
#: The least number of samples of a class in a trial, if there are as many.
LEAST_OF_A_CLASS = 6
#: With fewer held-out samples than this nothing is compared.
FEWEST = 10
#: Of plans whose errors differ by less than this number of standard errors, the first is taken: at low rank; with many
#: samples, where the first is the fastest and a trial of some samples says less; and at full rank.
TIED, TIED_IF_MANY, TIED_AT_FULL_RANK = 0.5, 2.0, 1.5
#: A plan is not tried further if its error is above those of tied plans by more than this number of standard errors.
BEHIND = 0.5
#: Plans of low rank are clearly behind plain distance by more than this number of standard errors.
BEHIND_EUCLID = 2.0


class Choice(NamedTuple):
    """The plan of a fit, and the mean errors of nearest neighbours on held-out samples that led to it.

    Attributes
    ----------
    plan : str
        The name of the plan.
    errors : dict of str to float
        The errors of all plans, and of "euclid", plain Euclidean distance. A plan that was clearly behind has that of
        fewer trials than others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import MetricLearner
    >>> choice = MetricLearner(2, random_state=0).fit(*load_iris(return_X_y=True)).choice_
    >>> choice.plan in choice.errors, "start" in choice.errors
    (True, True)
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
    keeps_plan: bool = False,
) -> Chosen:
    """Return the plan with the lowest error on held-out samples, the first of several.

    With `keeps_plan` it is that of the fit before. Mini-batches are of triplets, and so are few samples, which leave
    none to hold out. Warns if the start or plain Euclidean distance has a lower error than every plan.
    """
    plans = usable_plans(learner, situation, supervision, rank)
    if keeps_plan and len(plans) > 1 and hasattr(learner, "choice_"):
        # A mean goes on by one of its parts.
        learning = [plan for plan in plans if not (plan.idle or plan.parts)]
        plan = find_like(learning, learner.choice_.plan)
        return Chosen(plan.last_stage(), Choice(plan.name, learner.choice_.errors))
    if len(plans) == 1 or keeps_plan:
        return Chosen(plans[0].last_stage() if keeps_plan else plans[0], None)
    assert situation.labels is not None
    labels, weight = np.unique(situation.labels, return_inverse=True)[1], supervision.sample_weight
    n, d = situation.features.shape
    splits = draw_splits(labels, situation.rng, min(MORE_HELD_OUT, MOST_ENTRIES // d))
    if any(is_too_small(split, labels, weight, rank if rank < d else 0) for split in splits):
        usual = find_triplets(plans)
        return Chosen(usual, Choice(usual.name, {}))
    tally = Tally(plans, TIED_AT_FULL_RANK if rank == d else TIED_IF_MANY if n > LARGE else TIED)
    for index, split in enumerate(splits):
        progress = TrialProgress(index, len(splits), journal)
        compare = partial(compare_plans, learner, situation, labels, split, rank, weight, tally.plans, progress)
        tally.add(journal.checkpoint.remember("trial", compare, rng=situation.rng), len(split.test))
        if len(tally.plans) == 1:
            break
    best = tally.select()
    errors = tally.means
    text = ", ".join(f"{name} {error:.1%}" for name, error in errors.items())
    journal.note(f"plan: {best.name}; errors on held-out samples: {text}")
    if not warn_if_idle(best, tally.plans, errors) and rank < d:
        warn_if_behind_euclid(tally, rank, learner.n_features_in_)
    return Chosen(best, Choice(best.name, errors))


def usable_plans(learner: MetricLearner, situation: Situation, supervision: Supervision, rank: int) -> list[Plan]:
    """Return the plans of a supervision that the settings of the learner allow."""
    plans = supervision.plans(rank, situation.features.shape[1])
    if len(plans) > 1 and not (isinstance(learner.init, str) and learner.init == "auto"):
        plans = without_starts(plans)
    if learner._resolve_geometry().full_rank:
        plans = [plan for plan in plans if plan.rank is None]
    if len(plans) > 1 and not (isinstance(learner.loss, str) and learner.loss == "squared"):
        plans = [plan for plan in plans if plan.idle or plan.uses_loss]
    if len(plans) > 1 and not learner._resolve_solver(situation.rng, supervision.solver).stops:
        plans = [find_triplets(plans)]
    return plans


def find_like(plans: list[Plan], name: str) -> Plan:
    """Return the plan of a name. Else one whose name is a part of it, as that of triplets for many; else the first."""
    alike = [plan for plan in plans if plan.name in name]
    return next((plan for plan in alike if plan.name == name), (alike or plans)[0])


def find_triplets(plans: list[Plan]) -> Plan:
    """Return the plan "triplets", or the first one if there is none."""
    return next((plan for plan in plans if plan.name == "triplets"), plans[0])


def without_starts(plans: list[Plan]) -> list[Plan]:
    """Return the plans for a given start: without duplicates, and without plans that learn nothing or average."""
    renamed = [plan._replace(name=plan.name.removesuffix(" from discriminants"), start="auto") for plan in plans]
    unique = {plan.name: plan for plan in reversed(renamed) if not (plan.idle or plan.parts)}
    return [plan for plan in unique.values() if plan.rank is None][::-1]


class Tally:
    """The errors of plans on the splits so far. Plans that are clearly behind are not tried on further splits.

    Attributes
    ----------
    plans : list of Plan
        Those still tried.
    tied : float
        Plans within this number of standard errors of the lowest error are tied.
    errors : dict of str to list of float
        Errors on the splits, by the name of the plan.
    """

    def __init__(self, plans: list[Plan], tied: float) -> None:
        self.plans, self.tied = plans, tied
        self.errors: dict[str, list[float]] = {}
        self._n_held_out = 0

    @property
    def means(self) -> dict[str, float]:
        """The mean error of each plan over the splits it was tried on."""
        return {name: float(np.mean(values)) for name, values in self.errors.items()}

    def add(self, errors: dict[str, float], n_held_out: int) -> None:
        """Add the errors on a split, and drop the plans that are clearly behind."""
        for name, value in errors.items():
            self.errors.setdefault(name, []).append(value)
        self._n_held_out += n_held_out
        self.plans = self.within(self.tied + BEHIND)

    def select(self) -> Plan:
        """Return the first of the tied plans.

        A plan that learns nothing is taken only if all others are behind by more than a tie, and one standard error.
        """
        means = self.means
        learning = [plan for plan in self.within(max(self.tied, 1.0)) if not plan.idle]
        best = self.within(self.tied)[0]
        return min(learning, key=lambda plan: means[plan.name]) if best.idle and learning else best

    def within(self, count: float) -> list[Plan]:
        """Return the plans whose error is above the lowest by at most this number of standard errors."""
        means = self.means
        limit = self.beyond(min(means[plan.name] for plan in self.plans), count)
        return [plan for plan in self.plans if means[plan.name] <= limit]

    def beyond(self, error: float, count: float) -> float:
        """Return an error plus this number of its standard errors."""
        n = self._n_held_out
        return error + count * (max(error, 1 / n) / n) ** 0.5


def warn_if_idle(best: Plan, plans: list[Plan], errors: dict[str, float]) -> bool:
    """Warn if the start or, at full rank, plain Euclidean distance has a lower error than every plan that learns.

    `plans` are those that were tried to the end, on the same samples. Returns True if there was a warning.
    """
    words = {"start": "the start, by linear discriminants,", "euclid": "plain Euclidean distance"}
    idle = [plan.name for plan in plans if plan.name in words]
    tried = {plan.name: errors[plan.name] for plan in plans if plan.name not in words}
    others = tried or {name: error for name, error in errors.items() if name not in words}
    learned, error = min(others.items(), key=itemgetter(1))
    lowest = min(idle, key=errors.__getitem__, default=None)
    if lowest is None or (best.name not in words and errors[lowest] >= error):
        return False
    nothing = best.name in words
    tied = "" if best.name == learned else ", tied with it,"
    outcome = "Nothing is learned" if nothing else f"The difference may be chance, so {best.name!r}{tied} is learned"
    named = best.name if nothing else lowest
    warn_user(
        f"learning does not lower the error on held-out samples: {words[named]} has {errors[named]:.1%}, the best plan "
        f"that learns, {learned!r}, {error:.1%}. {outcome}. Give more samples, or change n_components.",
        UserWarning,
    )
    return True


def warn_if_behind_euclid(tally: Tally, rank: int, n_features: int) -> None:
    """Warn if all plans of low rank are clearly behind plain Euclidean distance, which needs all features."""
    euclid, means = tally.means.get("euclid", np.inf), tally.means
    error, name = min((means[plan.name], plan.name) for plan in tally.plans)
    if error <= tally.beyond(euclid, BEHIND_EUCLID):
        return
    warn_user(
        f"plain Euclidean distance of all {n_features} features has a lower error on held-out samples, {euclid:.1%}, "
        f"than the best plan of rank {rank}, {name!r}, {error:.1%}. Raise n_components if the error matters more than "
        "few dimensions.",
        UserWarning,
    )


def draw_splits(labels: Vector, rng: np.random.Generator, more: int) -> list[Split]:
    """Return splits of a part of the samples; two where these are few.

    Each holds out at most `more` of the other samples too.
    """
    n = len(labels)
    count = SPLITS if n < PART else 1
    return [draw_split(labels, min(n, PART), rng, more) for _ in range(count)]


def draw_split(labels: Vector, size: int, rng: np.random.Generator, more: int) -> Split:
    """Return a split of `size` samples, with the classes in their proportions; two of each class are not held out.

    At most `more` of the other samples are held out too.
    """
    drawn = rng.permutation(len(labels))
    order = drawn[:size]
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
    further = np.setdiff1d(drawn[size : size + more], order)
    return Split(np.sort(by_class[~held]), np.sort(np.concatenate([by_class[held], further])))


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
