"""Fits of one distance for many ranks: tasks that can be cut into folds, and a path from large ranks to small ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline

from gramian.estimators._learning import with_full_rank
from gramian.estimators._rounds import supervise_by_labels
from gramian.execution import Serial
from gramian.features import as_features
from gramian.images import image_covariance
from gramian.span import LEAST_SPREAD, principal_components
from gramian.supervision import GivenPairs, GivenQuadruplets, GivenTriplets, Plan, Supervision, Targets
from gramian.supervision.tuples import put_near_first
from gramian.types import Matrix, Vector

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["Fold", "LabelTask", "TargetTask", "Task", "Trained", "TupleTask", "choose_plans", "fit_path"]

#: Ranks up to this one start anew, and have a plan of their own: they are cheap, and other minima and plans suit them.
LOW = 3


#: All labels, pairs or triplets.
ALL: Any = slice(None)


class Fold(NamedTuple):
    """Indices of what is learned from, and of what is held out."""

    train: Vector
    test: Vector


class Trained(NamedTuple):
    """A fitted learner, and the seconds of its fit."""

    learner: MetricLearner
    seconds: float


#: The names of plans by rank; None stands for full rank.
Plans = dict[int | None, str]


class Task(ABC):
    """What is learned from, in parts: labelled samples, targets, pairs, triplets or quadruplets."""

    #: False if another start is another problem: bounds and penalties of given pairs and triplets depend on the start.
    warm: ClassVar[bool] = False

    X: Any

    @abstractmethod
    def known(self, rows: Any) -> Any:
        """Return the indices of the samples that may be learned from with some of the labels, pairs or triplets."""

    def samples(self, rows: Any) -> Any:
        """Return these samples; X itself if they are all of it."""
        known = self.known(rows)
        return self.X if isinstance(known, slice) else self.X[known]

    def count(self, rows: Any) -> int:
        """Return the number of these samples."""
        return len(np.arange(self.X.shape[0])[self.known(rows)])

    @abstractmethod
    def supervise(self, learner: MetricLearner, rows: Vector) -> Supervision:
        """Return what some of the labels, pairs or triplets ask of a distance."""

    def fit(self, learner: MetricLearner, X: Any, plan: Plan, start: Matrix | None, rows: Vector) -> None:
        """Fit a learner to samples X (n, d) and some of the labels, pairs or triplets, by a plan from a start."""
        fit_stages(learner, X, plan, start)

    def fit_all(self, learner: MetricLearner) -> MetricLearner:
        """Fit a learner to everything, and return it."""
        return learner.fit_supervised(self.samples(ALL), self.supervise(learner, ALL))

    @abstractmethod
    def score(self, learner: MetricLearner, fold: Fold) -> float:
        """Return the score of a fitted learner on what is held out; the larger, the better."""


@dataclass(frozen=True, eq=False)
class LabelTask(Task):
    """Samples (n, d) and class labels (n,), scored by k nearest neighbours among the training samples."""

    warm = True

    X: Any
    y: Vector
    n_neighbors: int
    scoring: Any = None
    sample_weight: Vector | None = None

    def known(self, rows: Any) -> Any:
        """Return the indices themselves: each label has a sample."""
        return rows

    def supervise(self, learner: MetricLearner, rows: Any) -> Supervision:
        """Return the supervision by labels that the learner's parameter `constraints` selects."""
        return supervise_by_labels(learner, self.y[rows], take(self.sample_weight, rows))

    def score(self, learner: MetricLearner, fold: Fold) -> float:
        """Return the score of a pipeline of the learner and nearest neighbours; its accuracy by default."""
        return score_neighbours(self, learner, fold, KNeighborsClassifier)


@dataclass(frozen=True, eq=False)
class TargetTask(Task):
    """Samples (n, d) and continuous targets (n,), scored by the regression of k nearest neighbours."""

    X: Any
    y: Vector
    n_neighbors: int
    scoring: Any = None
    sample_weight: Vector | None = None

    def known(self, rows: Any) -> Any:
        """Return the indices themselves: each target has a sample."""
        return rows

    def supervise(self, learner: MetricLearner, rows: Any) -> Supervision:
        """Return the targets of some samples."""
        return Targets(self.y[rows], take(self.sample_weight, rows))

    def fit(self, learner: MetricLearner, X: Any, plan: Plan, start: Matrix | None, rows: Vector) -> None:
        """Fit a learner to the targets of some samples, in its two steps."""
        learner.fit_targets(X, self.y[rows], take(self.sample_weight, rows))

    def fit_all(self, learner: MetricLearner) -> MetricLearner:
        """Fit a learner to all targets."""
        return learner.fit_targets(self.X, self.y, self.sample_weight)

    def score(self, learner: MetricLearner, fold: Fold) -> float:
        """Return the score of a pipeline of the learner and nearest neighbours; its R² by default."""
        return score_neighbours(self, learner, fold, KNeighborsRegressor)


def score_neighbours(task: LabelTask | TargetTask, learner: MetricLearner, fold: Fold, kind: Any) -> float:
    """Return the score of a pipeline of the learner and an estimator of this kind, by nearest neighbours."""
    neighbours = kind(min(task.n_neighbors, len(fold.train)))
    neighbours.fit(learner._map_to_array(task.X[fold.train]), task.y[fold.train])
    pipeline = Pipeline([("metric", learner), ("neighbours", neighbours)])
    return float(check_scoring(pipeline, task.scoring)(pipeline, task.X[fold.test], task.y[fold.test]))


@dataclass(frozen=True, eq=False)
class TupleTask(Task):
    """Pairs (m, 2) of samples with signs (m,), triplets (m, 3) or quadruplets (m, 4), of which signs are optional.

    By default they are scored as `MetricLearner.score` does: pairs by the area under the ROC curve, others by the share
    that holds. A scorer is given index tuples, and a learner with the samples as its preprocessor.
    """

    X: Any
    tuples: Matrix
    y: Vector | None = None
    sample_weight: Vector | None = None
    scoring: Any = None

    def known(self, rows: Any) -> Any:
        """Return the indices of the samples, ascending, but not those that occur only in other tuples."""
        known = np.ones(self.X.shape[0], bool)
        known[self.tuples] = False
        known[self.tuples[rows]] = True
        return ALL if known.all() else np.flatnonzero(known)

    def supervise(self, learner: MetricLearner, rows: Any) -> Supervision:
        """Return some of the tuples."""
        tuples, known = self.tuples[rows], self.known(rows)
        tuples = tuples if isinstance(known, slice) else np.searchsorted(known, tuples)
        y, weight = take(self.y, rows), take(self.sample_weight, rows)
        if tuples.shape[1] == 2:
            return GivenPairs(tuples, y=y, sample_weight=weight)
        return (GivenTriplets if tuples.shape[1] == 3 else GivenQuadruplets)(put_near_first(tuples, y), weight)

    def score(self, learner: MetricLearner, fold: Fold) -> float:
        """Return the score of held-out tuples."""
        tuples, y = self.tuples[fold.test], take(self.y, fold.test)
        if self.scoring is None:
            return learner.score(self.X, tuples, y)
        judge = copy(learner)
        judge.preprocessor = self.X
        y = np.ones(len(tuples), int) if y is None else y
        score = float(check_scoring(judge, self.scoring)(judge, tuples, y))
        if not np.isfinite(score):
            raise ValueError(
                f"scoring={self.scoring!r} is {score} on a fold. Give signs y of both kinds, and folds that have both."
            )
        return score


def take(values: Vector | None, rows: Any) -> Vector | None:
    """Return some of the values (n,); None if there are none."""
    return None if values is None else values[rows]


#: Plans whose place another one takes along a path: a mean costs as much as all of its parts.
SIMILAR = {"mean of three": "triplets"}


def fit_path(
    task: Task, learner: MetricLearner, rows: Vector, ranks: list[int | None], plans: Plans, *, warm: bool
) -> Iterator[Trained]:
    """Yield learners of these ranks, descending, that learn from some of the labels, pairs or triplets.

    Parameters
    ----------
    task : Task
    learner : MetricLearner
        Its parameters are used, but for n_components; it is not fitted.
    rows : array of int
    ranks : list of int or None
        Descending; None stands for full rank.
    plans : dict of rank to str
        The names of the plans for constraints="auto"; ranks without a plan choose one by trials.
    warm : bool
        True starts every rank above 3, but the first, from the solution of the rank before, and learns more briefly.
    """
    X = task.samples(rows)
    # Few dense samples are learned from in their span.
    size = X.shape[1] if scipy.sparse.issparse(X) else min(X.shape)
    factor: Matrix | None = None
    # Samples that are fewer than their features are learned from in their span, which a given start would leave.
    warm = warm and task.warm and X.shape[0] > X.shape[1]
    for rank in ranks:
        begin = perf_counter()
        own = clone(learner).set_params(n_components=rank)
        supervision = task.supervise(own, rows)
        start = None
        if factor is not None and (rank is None or rank > LOW):
            start = reduce_factor(factor, X, rank)
        stages = find_plan(supervision, plans.get(rank), size if rank is None else rank, size)
        task.fit(own, X, stages, start, rows)
        factor = own.factor_ if warm else None
        yield Trained(own, perf_counter() - begin)


def fit_stages(learner: MetricLearner, X: Any, plan: Plan, start: Matrix | None) -> None:
    """Fit a learner by the stages of a plan; from a given start by its last stage alone, in its brief form."""
    stages, init = plan.stages, learner.init
    if start is not None:
        stages = (stages[-1].brief(),)
        learner.set_params(init=start)
    elif plan.start != "auto" and isinstance(init, str) and init == "auto":
        learner.set_params(init=plan.start)
    for stage in stages:
        learner.fit_supervised(X, stage)
        # A penalty may leave fewer directions than columns.
        learner.set_params(init=with_full_rank(learner.factor_))
    learner.set_params(init=init)


def find_plan(supervision: Supervision, name: str | None, rank: int, n_features: int) -> Plan:
    """Return the plan of this name; or, at ranks that have none of this name, one with the same kind of supervision.

    Where there is none either, the fit chooses by trials of its own.
    """
    plans = {plan.name: plan for plan in supervision.plans(rank, n_features)}
    if name is not None and len(plans) > 1:
        plain = name.removesuffix(" from discriminants")
        kind = SIMILAR.get(plain, plain.removeprefix("many "))
        for known in (name, plain, kind, f"{kind} from discriminants"):
            if known in plans and plans[known].rank is None and not plans[known].parts:
                return plans[known]
    return Plan("", (supervision,))


def choose_plans(task: Task, learner: MetricLearner, rows: Vector, ranks: list[int | None]) -> Plans:
    """Return the plans that fits choose at the middle of the low ranks, and of the others; none without a choice."""
    low = [rank for rank in ranks if rank is not None and rank <= LOW]
    plans: Plans = {}
    X = task.samples(rows)
    for group in (low, [rank for rank in ranks if rank not in low]):
        own = clone(learner)
        supervision = task.supervise(own, rows)
        if not group or len(supervision.plans(1, X.shape[1])) == 1:
            continue
        own.set_params(n_components=group[len(group) // 2]).fit_supervised(X, supervision)
        if hasattr(own, "choice_"):
            plans |= dict.fromkeys(group, own.choice_.plan)
    return plans


def reduce_factor(factor: Matrix, X: Any, rank: int | None) -> Matrix | None:
    """Return the factor (d, r) of the leading principal components of the mapped samples X G, G (d, k), k > r.

    Returns None if the mapped samples vary in fewer than r directions, or the factor is no start: its columns are
    dependent up to rounding.
    """
    covariance = image_covariance(as_features(X), factor, Serial())
    variances, reduced = principal_components(factor, covariance, rank)
    varied = variances[-1] > LEAST_SPREAD**2 * variances[0]
    return reduced if varied and np.linalg.matrix_rank(reduced) == reduced.shape[1] else None
