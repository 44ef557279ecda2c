"""A Mahalanobis distance whose rank and penalties are chosen by cross-validation."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from gramian.checks import check_number
from gramian.estimators._checkpoint import check_several_fits
from gramian.estimators._checks import restore_on_failure, validate_input
from gramian.estimators._choice import Choice
from gramian.estimators._distance import LearnedDistance
from gramian.estimators._path import Fold, LabelTask, PairTask, Plans, Task, TripletTask, choose_plans, fit_path
from gramian.estimators.metric import MetricLearner
from gramian.progress import FoldProgress
from gramian.supervision.checks import (
    validate_labels,
    validate_pairs,
    validate_signs,
    validate_triplets,
)
from gramian.supervision.tuples import tuples_of_points
from gramian.types import Matrix, Vector

__all__ = ["MetricLearnerCV", "RankCurve"]

#: The ranks that are tried by default, and the largest number of features for which full rank is among them.
LADDER = (1, 2, 3, 5, 8, 12, 20, 32, 50, 80)
LARGEST_FULL = 200


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
    """

    ranks: Vector
    mean: Vector
    standard_error: Vector


class Candidate(NamedTuple):
    """A rank, None for full rank, and penalties."""

    n_components: int | None
    regularisation: float | str
    shrinkage: float | str


class MetricLearnerCV(LearnedDistance, BaseEstimator):
    """A `MetricLearner` whose rank, and penalties if wanted, are chosen by cross-validation.

    All combinations of the ranks and penalties are learned on the training part of every fold and scored on its
    held-out part. The best is learned again from all data. Nothing of a held-out part is seen by its fold's fits.

    Parameters
    ----------
    ranks : "auto" or sequence of int or None
        The ranks, None for full rank. "auto" is 1, 2, 3, 5, 8, 12, 20, 32, 50, 80, as far as features and training
        samples allow, and full rank if there are at most 200 features and more samples than features.
    regularisations, shrinkages : sequence of float or "auto"
        The values of MetricLearner's `regularisation` and `shrinkage`.
    estimator : MetricLearner, optional
        Its other parameters are used, for example `constraints`. It is not changed. X always holds samples: a
        `preprocessor` is refused.
    cv : int, splitter, iterable or None
        As in scikit-learn: the number of folds, 5 by default, which are stratified by class for `fit` and by sign for
        `fit_pairs`; or an object that splits labels, pairs or triplets.
    scoring : str, callable or None
        What `fit` maximises: a scorer of scikit-learn, of a pipeline of the learner and nearest neighbours; by default
        the accuracy. `fit_pairs` maximises the area under the ROC curve of the distances of held-out pairs, and
        `fit_triplets` the share of held-out triplets that hold.
    n_neighbors : int
        The number of neighbours of that pipeline.
    one_standard_error : bool
        True takes the smallest rank whose mean score is within one standard error of the best.
    path : bool
        For `fit`: True shares work between the fits of a fold, which takes a fraction of the time. With
        constraints="auto" the plan is chosen twice a fold, for ranks up to 3 and for larger ones. Ranks are learned in
        descending order, each above 3 from the leading principal components of the solution before, unless there are
        fewer samples than features. False fits every rank independently.
    random_state : int, RandomState, Generator or None
        The `random_state` of all fits; None for that of `estimator`.
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
    curve_ : RankCurve
        ranks, mean and standard_error: the score against the rank.
    plans_ : list of dict
        For each fold the plan of each rank, by name; empty where there was no choice, or each fit has its own.
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
        regularisations: Any = ("auto",),
        shrinkages: Any = ("auto",),
        estimator: MetricLearner | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_neighbors: int = 5,
        one_standard_error: bool = False,
        path: bool = True,
        random_state: Any = None,
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
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Choose by the classification of held-out samples, and learn from all class labels.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : array, shape (n,)
        groups : array, shape (n,), optional
            Passed to a splitter that needs groups of samples.

        Returns
        -------
        self
        """
        check_number("n_neighbors", self.n_neighbors, least=1, integer=True)
        X, y = validate_input(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        y = validate_labels(y, len(y))
        task = LabelTask(X, y, self.n_neighbors, self.scoring)
        return self._choose(task, check_cv(self.cv, y, classifier=True).split(X, y, groups))

    def fit_pairs(self, X: Any, pairs: Any = None, y: Any = None) -> Self:
        """Choose by the distances of held-out pairs, and learn from all pairs.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
        pairs : array of int, shape (m, 2)
            Row indices of X.
        y : array of +1 and -1, shape (m,)

        Returns
        -------
        self
        """
        X, pairs, y = tuples_of_points(X, pairs, y)
        X = validate_input(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        pairs = validate_pairs(pairs, X.shape[0])
        y = validate_signs(y, len(pairs))
        return self._choose(PairTask(X, pairs, y), check_cv(self.cv, y, classifier=True).split(pairs, y))

    def fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Choose by the share of held-out triplets that hold, and learn from all triplets.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        triplets : array of int, shape (m, 3)
            Row indices of X: anchor, near, far.

        Returns
        -------
        self
        """
        X = validate_input(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        triplets = validate_triplets(triplets, X.shape[0])
        return self._choose(TripletTask(X, triplets), check_cv(self.cv).split(triplets))

    def _choose(self, task: Task, splits: Any) -> Self:
        """Score all candidates on the folds, choose one, and learn it from all data."""
        with restore_on_failure(self):
            folds = [Fold(*split) for split in splits]
            candidates = self._list_candidates(task, folds)
            learner = self._make_learner()
            scores, seconds = np.empty((2, len(candidates), len(folds)))
            self.plans_ = []
            progress = FoldProgress(self.verbose, len(candidates) * len(folds))
            for index, fold in enumerate(folds):
                progress.begin_fold(index, len(folds))
                with warnings.catch_warnings():
                    # The fit to all data says what there is to say.
                    warnings.simplefilter("ignore", UserWarning)
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    self._score_fold(task, learner, fold, candidates, scores[:, index], seconds[:, index], progress)
                best = candidates[int(np.argmax(scores[:, index]))]
                progress.tell(f"fold {index + 1} of {len(folds)}: best {best}, score {scores[:, index].max():.4f}")
            self.n_splits_ = len(folds)
            self.cv_results_ = tabulate(candidates, scores, seconds)
            self.curve_ = curve_of(candidates, scores, self.n_features_in_)
            chosen = choose_candidate(candidates, scores, self.one_standard_error)
            self.best_params_ = candidates[chosen]._asdict()
            self.best_score_ = float(scores[chosen].mean())
            progress.tell(f"chosen: {candidates[chosen]}, mean score {self.best_score_:.4f}")
            self._store(task.fit_all(learner.set_params(**self.best_params_)))
            progress.close()
        return self

    def _make_learner(self) -> MetricLearner:
        """Return a MetricLearner with the parameters of `estimator`, not fitted."""
        if self.estimator is not None and not isinstance(self.estimator, MetricLearner):
            raise ValueError(f"estimator={self.estimator!r} is not valid. Give a MetricLearner, or None.")
        learner = MetricLearner() if self.estimator is None else clone(self.estimator)
        if learner.preprocessor is not None:
            raise ValueError("estimator has a preprocessor, but X holds samples. Set preprocessor=None.")
        check_several_fits(learner)
        return learner if self.random_state is None else learner.set_params(random_state=self.random_state)

    def _list_candidates(self, task: Task, folds: list[Fold]) -> list[Candidate]:
        """Return all combinations of ranks, ascending, and penalties; raise a ValueError if a parameter is invalid."""
        if len(folds) < 2:
            raise ValueError(f"cv={self.cv!r} gives {len(folds)} folds. Choose at least 2.")
        check_number("verbose", int(self.verbose), least=0, integer=True)
        d = self.n_features_in_
        n = min(task.samples(fold.train).shape[0] for fold in folds)
        prices = []
        for name in ("regularisations", "shrinkages"):
            values = as_list(name, getattr(self, name), "numbers, or ['auto']")
            for index, value in enumerate(values):
                if value != "auto":
                    check_number(f"{name}[{index}]", value, least=0)
            prices.append(values)
        return [Candidate(*values) for values in product(resolve_ranks(self.ranks, n, d), *prices)]

    def _score_fold(
        self,
        task: Task,
        learner: MetricLearner,
        fold: Fold,
        candidates: list[Candidate],
        scores: Vector,
        times: Vector,
        progress: FoldProgress,
    ) -> None:
        """Write the scores and the seconds of the fits of all candidates on a fold."""
        ranks = list(dict.fromkeys(candidate.n_components for candidate in candidates))[::-1]
        plans = choose_plans(task, learner, fold.train, ranks) if self.path else {}
        self.plans_.append(plans)
        for prices in dict.fromkeys(candidate[1:] for candidate in candidates):
            own = clone(learner).set_params(regularisation=prices[0], shrinkage=prices[1])
            trained = fit_path(task, own, fold.train, ranks, plans, warm=self.path)
            for rank, (fitted, seconds) in zip(ranks, trained, strict=True):
                index = candidates.index(Candidate(rank, *prices))
                scores[index], times[index] = task.score(fitted, fold), seconds
                progress.count(f"  {candidates[index]}: score {scores[index]:.4f}, {seconds:.2f} s")

    def _store(self, learner: MetricLearner) -> None:
        """Set the attributes of a fitted learner."""
        for name in ("threshold_", "bounds_", "choice_", "tuple_size_", "classes_"):
            self.__dict__.pop(name, None)
        self.best_estimator_ = learner
        own = {name: value for name, value in vars(learner).items() if name.endswith("_") and name[0] != "_"}
        self.__dict__.update({name: value for name, value in own.items() if name != "feature_names_in_"})
        self.n_components_ = self._n_features_out = len(learner.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def resolve_ranks(ranks: Any, n_samples: int, n_features: int) -> list[int | None]:
    """Return different ranks, ascending, None for full rank; raise a ValueError that names one that is not possible."""
    if isinstance(ranks, str) and ranks == "auto":
        whole = n_features < n_samples and n_features <= LARGEST_FULL
        ladder = [rank for rank in LADDER if rank < min(n_features, n_samples)]
        return [*ladder, None] if whole or not ladder else [*ladder]
    ranks = as_list("ranks", ranks, "integers, None for full rank, or give 'auto'")
    for index, rank in enumerate(ranks):
        if rank is not None:
            check_number(f"ranks[{index}]", rank, least=1, integer=True)
            if rank > min(n_features, n_samples):
                raise ValueError(
                    f"ranks[{index}]={rank} exceeds {min(n_features, n_samples)}, the smaller of the numbers of "
                    "features and of training samples of a fold. Choose smaller ranks."
                )
    found = {n_features if rank is None else int(rank) for rank in ranks}
    return [None if rank == n_features else rank for rank in sorted(found)]


def as_list(name: str, values: Any, wanted: str) -> list[Any]:
    """Return the values of a parameter as a list; raise a ValueError if it is not a sequence, or empty."""
    found = [] if isinstance(values, str) or not np.iterable(values) else list(values)
    if not found:
        raise ValueError(f"{name}={values!r} is not valid. Give a list of {wanted}.")
    return found


def full(rank: int | None, n_features: int) -> int:
    """Return the rank as a number; None stands for the number of features."""
    return n_features if rank is None else rank


def standard_errors(scores: Matrix) -> Vector:
    """Return the standard errors of the means over the folds, of scores (k, n_folds)."""
    return scores.std(axis=1, ddof=1) / scores.shape[1] ** 0.5


def choose_candidate(candidates: list[Candidate], scores: Matrix, one_standard_error: bool) -> int:
    """Return the index of the candidate with the best mean score, that of the smallest rank among equals.

    With `one_standard_error` it is the best one of the smallest rank that is within one standard error of the best.
    """
    mean = scores.mean(axis=1)
    best = int(np.argmax(mean))
    if not one_standard_error:
        return best
    near = np.flatnonzero(mean >= mean[best] - standard_errors(scores)[best])
    smallest = candidates[near[0]].n_components
    return int(max((i for i in near if candidates[i].n_components == smallest), key=lambda i: mean[i]))


def curve_of(candidates: list[Candidate], scores: Matrix, n_features: int) -> RankCurve:
    """Return the best mean score at each rank, and its standard error."""
    mean, error = scores.mean(axis=1), standard_errors(scores)
    ranks = np.array([full(candidate.n_components, n_features) for candidate in candidates])
    different = np.unique(ranks)
    best = [int(np.flatnonzero(ranks == rank)[np.argmax(mean[ranks == rank])]) for rank in different]
    return RankCurve(different, mean[best], error[best])


def tabulate(candidates: list[Candidate], scores: Matrix, seconds: Matrix) -> dict[str, Any]:
    """Return the scores and times (k, n_folds) of the candidates, as GridSearchCV's `cv_results_`."""
    table: dict[str, Any] = {"params": [candidate._asdict() for candidate in candidates]}
    for name in Candidate._fields:
        values = np.empty(len(candidates), object)
        values[:] = [getattr(candidate, name) for candidate in candidates]
        table[f"param_{name}"] = values
    table |= {f"split{index}_test_score": scores[:, index].copy() for index in range(scores.shape[1])}
    mean = scores.mean(axis=1)
    return table | {
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": (mean[:, None] < mean).sum(axis=1) + 1,
        "mean_fit_time": seconds.mean(axis=1),
        "std_fit_time": seconds.std(axis=1),
    }
