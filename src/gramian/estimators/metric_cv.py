"""A Mahalanobis distance whose rank and penalties are chosen by cross-validation."""

from __future__ import annotations

import os
import warnings
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from gramian.checks import check_number
from gramian.estimators._candidates import (
    Candidate,
    Scored,
    as_list,
    choose_candidate,
    resolve_ranks,
    standard_errors,
    tabulate,
)
from gramian.estimators._checkpoint import check_several_fits, checkpoint_of, is_folder, settings_of
from gramian.estimators._checks import check_verbose, resolve_regularisation
from gramian.estimators._choice import Choice
from gramian.estimators._cv_fits import FitsByFolds
from gramian.estimators._distance import LearnedDistance
from gramian.estimators._path import Fold, Plans, Task, choose_plans, fit_path
from gramian.estimators.metric import MetricLearner
from gramian.execution import Execution
from gramian.interrupts import interrupts_raised
from gramian.progress import FoldProgress
from gramian.solvers import Journal
from gramian.types import Matrix, Vector

__all__ = ["MetricLearnerCV", "RankCurve"]


class RankCurve(NamedTuple):
    """The score against the rank: at each rank that of the penalties with the best mean.

    Attributes
    ----------
    ranks : array of int, shape (k,)
        Ascending.
    mean : array, shape (k,)
        The mean score over the folds.
    standard_error : array, shape (k,)
        The standard error of the mean.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import MetricLearner, MetricLearnerCV
    >>> settings = MetricLearner(constraints="triplets")
    >>> search = MetricLearnerCV([1, 2], estimator=settings, cv=3, random_state=0).fit(*load_iris(return_X_y=True))
    >>> search.curve_.ranks, search.curve_.mean.shape
    (array([1, 2]), (2,))
    """

    ranks: Vector
    mean: Vector
    standard_error: Vector


class MetricLearnerCV(FitsByFolds, LearnedDistance, BaseEstimator):
    """A `MetricLearner` whose rank, and penalties if wanted, are chosen by cross-validation.

    All combinations of the ranks and penalties are learned on the training part of every fold and scored on its
    held-out part. The best is learned again from all data. A fit of a fold does not see its held-out part, nor samples
    that only held-out tuples have; only the choice of a plan may, see `path`.

    Parameters
    ----------
    ranks : "auto" or sequence of int or None
        The ranks, None for full rank. "auto" is 1, 2, 3, 5, 8, 12, 20, 32, 50, 80, as far as features and training
        samples allow, and full rank if there are at most 200 features and more samples than features.
    regularisations, shrinkages : sequence of float or "auto", or None
        The values of MetricLearner's `regularisation` and `shrinkage`; None for those of `estimator`.
    estimator : MetricLearner, optional
        Its other parameters are used, for example `constraints` and `preprocessor`. It is not changed.
    cv : int, splitter, iterable or None
        As in scikit-learn: the number of folds, 5 by default, which are stratified by class for `fit` and by sign for
        tuples with y; or an object that splits labels, targets or tuples.
    scoring : str, callable or None
        What is maximised: a scorer of scikit-learn. For labels and targets it is of a pipeline of the learner and
        nearest neighbours, by default the accuracy or R². For pairs, triplets and quadruplets it is of the learner, by
        default the area under the ROC curve of held-out pairs, or the share of held-out tuples that hold.
    n_neighbors : int
        The number of neighbours of that pipeline.
    one_standard_error : bool
        True takes the smallest rank whose mean score is within one standard error of the best.
    path : bool
        For `fit`: True shares work between the fits, which takes a fraction of the time. With constraints="auto" the
        plan is chosen twice, for ranks up to 3 and for larger ones, by trials on the training samples of the first
        fold, some of which other folds hold out: the choice between a few plans is all they tell. Ranks are learned in
        descending order, each above 3 from the leading principal components of the solution before, unless there are
        fewer samples than features. False fits every rank of every fold independently.
    n_jobs : int, None or Execution
        The `n_jobs` of all fits, which come one after the other; None for that of `estimator`.
    random_state : int, RandomState, Generator or None
        The `random_state` of all fits; None for that of `estimator`.
    checkpoint : path, optional
        A file, or a folder that exists, in which finished folds are stored. If the process dies, the same call goes on
        after them. The fit to all data stores its own state beside it.
    checkpoint_every : float
        The least number of seconds between two writes.
    verbose : int
        1 reports every fold on standard error, and shows a bar as MetricLearner does; 2 reports every fit.

    Attributes
    ----------
    best_estimator_ : MetricLearner
        Learned from all data. Its factor, components, history and so on are attributes of this estimator too.
    best_params_ : dict
        n_components (None for full rank), regularisation and shrinkage.
    best_score_ : float
        Their mean score. It is optimistic, as the maximum of several.
    n_components_ : int
        The rank r.
    cv_results_ : dict of str to array
        As that of scikit-learn's GridSearchCV: params, param_n_components, param_regularisation, param_shrinkage,
        split0_test_score, ..., mean_test_score, std_test_score, rank_test_score, mean_fit_time and std_fit_time.
    curve_ : gramian.estimators.RankCurve
        ranks, mean and standard_error: the score against the rank. `gramian.plotting.plot_rank_curve` draws it.
    plans_ : list of dict
        For each fold the plan of each rank, by name, which the first fold chooses; empty where there was no choice, or
        each fit has its own.
    message_ : str
        Why the last fit ended.
    n_splits_ : int
        The number of folds.
    components_, factor_, spectrum_, threshold_, bounds_, choice_
        As those of MetricLearner.
    n_features_in_ : int
        The number of features of X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import MetricLearner, MetricLearnerCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MetricLearnerCV([1, 2, 4], estimator=MetricLearner(constraints="triplets"), random_state=0).fit(X, y)
    >>> model.curve_.ranks, bool(model.best_score_ > 0.95)
    (array([1, 2, 4]), True)
    >>> model.transform(X).shape == (150, model.n_components_)
    True
    """

    factor_: Matrix
    choice_: Choice
    plans_: list[Plans]

    def __init__(
        self,
        ranks: Any = "auto",
        *,
        regularisations: Any = None,
        shrinkages: Any = None,
        estimator: MetricLearner | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_neighbors: int = 5,
        one_standard_error: bool = False,
        path: bool = True,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        verbose: int = 0,
    ) -> None:
        self.ranks = ranks
        self.regularisations = regularisations
        self.shrinkages = shrinkages
        self.estimator = estimator
        self.cv = cv
        self.scoring = scoring
        self.n_neighbors = n_neighbors
        self.one_standard_error = one_standard_error
        self.path = path
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def _choose(self, task: Task, splits: Any) -> Self:
        """Score all candidates on the folds, choose one, and learn it from all data."""
        with checkpoint_of(self) as checkpoint:
            folds = [Fold(*split) for split in splits]
            learner, journal = self._make_learner(), Journal()
            candidates = self._list_candidates(task, folds, learner)
            checkpoint.open(journal, np.random.default_rng(0), task=task, folds=folds, estimator=settings_of(learner))
            scores, seconds = np.empty((2, len(candidates), len(folds)))
            self.plans_ = []
            progress = FoldProgress(self.verbose, len(candidates) * len(folds))
            for index, fold in enumerate(folds):
                progress.begin_fold(index, len(folds))
                score = partial(self._score_fold, task, learner, fold, candidates, progress)
                found: Scored = journal.checkpoint.remember("fold", score)
                scores[:, index], seconds[:, index] = found.scores, found.seconds
                self.plans_.append(found.plans)
                progress.done = (index + 1) * len(candidates)
                check_scores(candidates, scores[:, index], index)
                best = candidates[int(np.argmax(scores[:, index]))]
                progress.report(f"fold {index + 1} of {len(folds)}: best {best}, score {scores[:, index].max():.4f}")
            self.n_splits_ = len(folds)
            self.cv_results_ = tabulate(candidates, scores, seconds)
            self.curve_ = curve_of(candidates, scores, self.n_features_in_)
            chosen = choose_candidate(candidates, scores, self.one_standard_error)
            self.best_params_ = candidates[chosen]._asdict()
            self.best_score_ = float(scores[chosen].mean())
            progress.report(f"chosen: {candidates[chosen]}, mean score {self.best_score_:.4f}")
            self._store(self._fit_all(task, learner.set_params(**self.best_params_)))
            progress.close()
        return self

    def _fit_all(self, task: Task, learner: MetricLearner) -> MetricLearner:
        """Return the learner fitted to all data, with a checkpoint of its own beside that of the folds."""
        before = {name: getattr(learner, name) for name in ("checkpoint", "checkpoint_every")}
        if self.checkpoint is not None and learner.checkpoint is None:
            path = self.checkpoint if is_folder(self.checkpoint) else f"{os.fspath(self.checkpoint)}.fit"
            learner.set_params(checkpoint=path, checkpoint_every=self.checkpoint_every)
        return task.fit_all(learner).set_params(**before)

    def _make_learner(self) -> MetricLearner:
        """Return a MetricLearner with the parameters of `estimator`, not fitted."""
        if self.estimator is not None and not isinstance(self.estimator, MetricLearner):
            raise ValueError(f"estimator={self.estimator!r} is not valid. Give a MetricLearner, or None.")
        learner = MetricLearner() if self.estimator is None else clone(self.estimator)
        # The candidates set the other spelling.
        learner.set_params(regularisation=resolve_regularisation(learner), regularization=None)
        check_several_fits(learner)
        own = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        return learner.set_params(**{name: value for name, value in own.items() if value is not None})

    def _list_candidates(self, task: Task, folds: list[Fold], learner: MetricLearner) -> list[Candidate]:
        """Return all combinations of ranks, ascending, and penalties; raise a ValueError if a parameter is invalid."""
        if len(folds) < 2:
            raise ValueError(f"cv={self.cv!r} gives {len(folds)} folds. Choose at least 2.")
        check_verbose(self.verbose)
        check_scoring_kind(self.scoring)
        d = self.n_features_in_
        n = min(task.count(fold.train) for fold in folds)
        prices = []
        for name in ("regularisations", "shrinkages"):
            given = getattr(self, name)
            values = [getattr(learner, name[:-1])] if given is None else as_list(name, given, "numbers, or ['auto']")
            for index, value in enumerate(values):
                if value != "auto":
                    check_number(f"{name}[{index}]", value, least=0, also=("auto",))
            prices.append(values)
        return [Candidate(*values) for values in product(resolve_ranks(self.ranks, n, d), *prices)]

    def _score_fold(
        self,
        task: Task,
        learner: MetricLearner,
        fold: Fold,
        candidates: list[Candidate],
        progress: FoldProgress,
    ) -> Scored:
        """Return the scores and the seconds of the fits of all candidates on a fold."""
        scores, times = np.empty((2, len(candidates)))
        ranks = list(dict.fromkeys(candidate.n_components for candidate in candidates))[::-1]
        with warnings.catch_warnings(), interrupts_raised():
            # The fit to all data says what there is to say.
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Most of the time would go into trials of plans: the folds share those of the first.
            known = self.plans_[0] if self.plans_ else None
            plans = choose_plans(task, learner, fold.train, ranks) if self.path and known is None else known or {}
            for prices in dict.fromkeys(candidate._replace(n_components=None) for candidate in candidates):
                own = clone(learner).set_params(regularisation=prices.regularisation, shrinkage=prices.shrinkage)
                trained = fit_path(task, own, fold.train, ranks, plans, warm=self.path)
                for rank, (fitted, seconds) in zip(ranks, trained, strict=True):
                    index = candidates.index(prices._replace(n_components=rank))
                    scores[index], times[index] = task.score(fitted, fold), seconds
                    progress.count(f"  {candidates[index]}: score {scores[index]:.4f}, {seconds:.2f} s")
        return Scored(scores, times, plans)

    def _store(self, learner: MetricLearner) -> None:
        """Set the attributes of a fitted learner."""
        for name in ("threshold_", "bounds_", "choice_", "tuple_size_"):
            self.__dict__.pop(name, None)
        self.best_estimator_ = learner
        own = {name: value for name, value in vars(learner).items() if name.endswith("_") and name[0] != "_"}
        self.__dict__.update({name: value for name, value in own.items() if name != "feature_names_in_"})
        self.n_components_ = self._n_features_out = len(learner.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_scoring_kind(scoring: Any) -> None:
    """Raise a ValueError unless scoring is one scorer: its name, a function, or None."""
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            f"scoring={scoring!r} is not valid. Choose by one score: the name of a scorer, a function, or None."
        )


def check_scores(candidates: list[Candidate], scores: Vector, fold: int) -> None:
    """Raise a ValueError that names the first candidate whose score on a fold, of (candidates,), is not a number."""
    bad = np.flatnonzero(np.isnan(scores))
    if bad.size:
        raise ValueError(
            f"scoring gives NaN for {candidates[bad[0]]} on fold {fold + 1}. Give a scoring that is defined on every "
            "fold, or another cv."
        )


def full(rank: int | None, n_features: int) -> int:
    """Return the rank as a number; None stands for the number of features."""
    return n_features if rank is None else rank


def curve_of(candidates: list[Candidate], scores: Matrix, n_features: int) -> RankCurve:
    """Return the best mean score at each rank, and its standard error."""
    mean, error = scores.mean(axis=1), standard_errors(scores)
    ranks = np.array([full(candidate.n_components, n_features) for candidate in candidates])
    different = np.unique(ranks)
    best = [int(np.flatnonzero(ranks == rank)[np.argmax(mean[ranks == rank])]) for rank in different]
    return RankCurve(different, mean[best], error[best])
