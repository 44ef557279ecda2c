"""Fits of one distance for many ranks: tasks that can be cut into folds, and a path from large ranks to small ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.metrics import check_scoring, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from gramian.estimators._rounds import supervise_by_labels
from gramian.supervision import GivenPairs, GivenTriplets, Plan, Supervision
from gramian.types import Matrix, Vector

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["Fold", "LabelTask", "PairTask", "Task", "Trained", "TripletTask", "choose_plans", "fit_path"]

#: A direction of the last solution is kept as a start if it has at least this share of the largest standard deviation.
LEAST_SPREAD = 1e-6
#: Ranks up to this one start anew, and have a plan of their own: they are cheap, and other minima and plans suit them.
LOW = 3


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
    """What is learned from, in parts: labelled samples, pairs or triplets."""

    #: False if another start is another problem: bounds and penalties of given pairs and triplets depend on the start.
    warm: ClassVar[bool] = False

    @abstractmethod
    def samples(self, rows: Vector) -> Any:
        """Return the samples (n, d) that some of the labels, pairs or triplets refer to."""

    @abstractmethod
    def supervise(self, learner: MetricLearner, rows: Vector) -> Supervision:
        """Return what some of the labels, pairs or triplets ask of a distance."""

    @abstractmethod
    def fit_all(self, learner: MetricLearner) -> MetricLearner:
        """Fit a learner to everything, and return it."""

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

    def samples(self, rows: Vector) -> Any:
        """Return some of the samples."""
        return self.X[rows]

    def supervise(self, learner: MetricLearner, rows: Vector) -> Supervision:
        """Return the supervision by labels that the learner's parameter `constraints` selects."""
        return supervise_by_labels(learner, self.y[rows])

    def fit_all(self, learner: MetricLearner) -> MetricLearner:
        """Fit a learner to all labels."""
        return learner.fit(self.X, self.y)

    def score(self, learner: MetricLearner, fold: Fold) -> float:
        """Return the score of a pipeline of the learner and nearest neighbours; its accuracy by default."""
        neighbours = KNeighborsClassifier(min(self.n_neighbors, len(fold.train)))
        neighbours.fit(learner._map_to_array(self.X[fold.train]), self.y[fold.train])
        pipeline = Pipeline([("metric", learner), ("neighbours", neighbours)])
        return float(check_scoring(pipeline, self.scoring)(pipeline, self.X[fold.test], self.y[fold.test]))


@dataclass(frozen=True, eq=False)
class PairTask(Task):
    """Pairs (m, 2) of samples with signs (m,), scored by the area under the ROC curve."""

    X: Any
    pairs: Matrix
    y: Vector

    def samples(self, rows: Vector) -> Any:
        """Return all samples."""
        return self.X

    def supervise(self, learner: MetricLearner, rows: Vector) -> Supervision:
        """Return some of the pairs."""
        return GivenPairs(self.pairs[rows], y=self.y[rows])

    def fit_all(self, learner: MetricLearner) -> MetricLearner:
        """Fit a learner to all pairs."""
        return learner.fit_pairs(self.X, self.pairs, self.y)

    def score(self, learner: MetricLearner, fold: Fold) -> float:
        """Return the area under the ROC curve of the distances of held-out pairs."""
        return float(roc_auc_score(self.y[fold.test], learner.pair_score(self.X, self.pairs[fold.test])))


@dataclass(frozen=True, eq=False)
class TripletTask(Task):
    """Triplets (m, 3) of samples: anchor, near, far; scored by the share that holds."""

    X: Any
    triplets: Matrix

    def samples(self, rows: Vector) -> Any:
        """Return all samples."""
        return self.X

    def supervise(self, learner: MetricLearner, rows: Vector) -> Supervision:
        """Return some of the triplets."""
        return GivenTriplets(self.triplets[rows])

    def fit_all(self, learner: MetricLearner) -> MetricLearner:
        """Fit a learner to all triplets."""
        return learner.fit_triplets(self.X, self.triplets)

    def score(self, learner: MetricLearner, fold: Fold) -> float:
        """Return the share of held-out triplets whose far sample is farther from the anchor than the near one."""
        held_out = self.triplets[fold.test]
        near, far = (learner.pair_distance(self.X, held_out[:, [0, side]]) for side in (1, 2))
        return float(np.mean(near < far))


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
        stages = find_plan(supervision, plans.get(rank), X.shape[1] if rank is None else rank, X.shape[1])
        fit_stages(own, X, stages, start)
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
        learner.set_params(init=learner.factor_)
    learner.set_params(init=init)


def find_plan(supervision: Supervision, name: str | None, rank: int, n_features: int) -> Plan:
    """Return the plan of this name; or, at ranks that have none of this name, one with the same kind of last stage.

    Where there is none either, the fit chooses by trials of its own.
    """
    plans = {plan.name: plan for plan in supervision.plans(rank, n_features)}
    if name is not None and len(plans) > 1:
        last = name.removesuffix(" from discriminants").split(", then ")[-1]
        kind = last.removeprefix("many ").removeprefix("strong ")
        for known in (name, last, kind, f"{kind} from discriminants"):
            if known in plans and plans[known].rank is None:
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

    Returns None if the mapped samples vary in fewer than r directions.
    """
    Z = np.asarray((X @ factor) if issparse(X) else np.dot(X, factor), np.float64)
    values, vectors = np.linalg.eigh(np.cov(Z, rowvar=False, bias=True).reshape(Z.shape[1], Z.shape[1]))
    kept = slice(None, None, -1) if rank is None else slice(None, -rank - 1, -1)
    if not values[kept][-1] > LEAST_SPREAD**2 * values[-1]:
        return None
    return np.ascontiguousarray(np.dot(factor, vectors[:, kept].astype(factor.dtype)))
