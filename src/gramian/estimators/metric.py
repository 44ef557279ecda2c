"""A Mahalanobis distance of low or full rank, learned from labels, pairs or triplets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from gramian.discriminant import discriminants, principal_directions, span
from gramian.estimators.base import PSDEstimator
from gramian.estimators.checks import checked_factor, checked_weight, unchanged_on_failure
from gramian.estimators.distances import LearnedDistance, checked_signs
from gramian.estimators.supervision import (
    Regularisation,
    centred,
    check_components,
    check_contradictions,
    check_settings,
    checked_labels,
    checked_pairs,
    checked_points,
    checked_target,
    checked_triplets,
    joined,
    pair_problem,
    spread,
    stacked_pairs,
    triplet_problem,
)
from gramian.features import Features
from gramian.geometries import Geometry
from gramian.measurements import Pairs
from gramian.objective import Problem
from gramian.sampling import labelled_pairs, nearest_triplets
from gramian.solvers import ConjugateGradient, Online, Result, Solver
from gramian.types import Matrix, Vector

__all__ = ["MetricLearner"]

#: Iterations between two searches for new triplets.
ROUND = 15
#: From more samples than this, each round draws so many anchors of triplets.
ANCHORS = 10_000


class MetricLearner(LearnedDistance, ClassNamePrefixFeaturesOutMixin, TransformerMixin, PSDEstimator):
    """A distance ‖G ᵀ(u - v)‖ that makes nearest neighbours, clustering and retrieval better and smaller.

    The subspace and the distance in it are learned together, from class labels (`fit`), from pairs that should be near
    or far (`fit_pairs`), or from triplets (`fit_triplets`); `partial_fit` goes on from more data. Features should be
    on like scales: standardise them first.

    Parameters
    ----------
    n_components : int or None
        The rank of the distance, and the dimension of `transform`; None for full rank.
    constraints : {"triplets", "pairs"}
        What labels are turned into. "triplets": each sample's `n_targets` nearest of its class should be nearer, by a
        margin, than its `n_impostors` nearest of others; found anew in the present metric every 15 iterations,
        `n_rounds` times, each time for at most 10000 samples. "pairs", the paper's: random pairs of one class at most l
        apart and of different classes at least u, the 5th and 95th percentile of the distances under the start.
    n_targets, n_impostors, n_rounds : int
        For constraints="triplets".
    n_constraints : int or None
        For constraints="pairs": how many; 40 c (c - 1) for c classes by default.
    balanced : bool
        For constraints="pairs": half of one class and half of different ones, instead of as they fall.
    regularisation : float or "auto"
        The price of leaving the start W₀, ½ λ ‖W - W₀‖²/‖W₀‖². "auto": 0.06 for triplets from labels, else d/m for m
        constraints on d features: few constraints on many features hardly move it.
    pull, shrinkage : float
        For triplets from labels: the price of the mean distance of targets, and of tr(W)/tr(W₀), which keeps W out of
        directions of little variance.
    init : {"auto", "identity", "lda", "pca", "random"} or array of shape (d, r)
        The start. "auto" is the identity at full rank, else discriminants (filled up with principal directions beyond
        the number of classes) where there are labels, else principal directions.
    geometry, solver, max_iter, tol, batch_size, n_epochs, random_state, callback, verbose
        As for `PSDRegressor`. With triplets from labels a round is at most 15 iterations. solver="online" knows neither
        regularisation nor pull nor shrinkage.

    Attributes
    ----------
    components_ : array, shape (r, d)
        `transform(X) = X @ components_.T`.
    factor_ : array, shape (d, r)
        Its transpose.
    threshold_ : float
        After `fit_pairs` with y, `set_threshold` or `calibrate_threshold`: pairs at most so far apart are the same.
    bounds_ : tuple of float
        After constraints="pairs": l and u, squared distances.
    n_samples_seen_ : int
    n_iter_, converged_, history_, n_features_in_

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gramian import MetricLearner
    >>> X, y = load_wine(return_X_y=True)
    >>> learned = make_pipeline(StandardScaler(), MetricLearner(2, random_state=0), KNeighborsClassifier(5))
    >>> bool(cross_val_score(learned, X, y).mean() > 0.95)
    True
    """

    n_samples_seen_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        constraints: str = "triplets",
        n_targets: int = 3,
        n_impostors: int = 10,
        n_rounds: int = 4,
        n_constraints: int | None = None,
        balanced: bool = False,
        regularisation: float | str = "auto",
        pull: float = 0.1,
        shrinkage: float = 0.1,
        init: str | Matrix = "auto",
        geometry: str | Geometry = "scaled",
        solver: str | Solver = "cg",
        max_iter: int = 500,
        tol: float = 1e-4,
        batch_size: int = 32,
        n_epochs: int = 5,
        random_state: Any = None,
        callback: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.constraints = constraints
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.n_rounds = n_rounds
        self.n_constraints = n_constraints
        self.balanced = balanced
        self.regularisation = regularisation
        self.pull = pull
        self.shrinkage = shrinkage
        self.init = init
        self.geometry = geometry
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from class labels.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : array, shape (n,)
            At least two classes, one of them with two samples.

        Returns
        -------
        self
        """
        return self._learn(X, lambda features, rng: self._from_labels(features, y, rng), y)

    def fit_pairs(
        self, X: Any, pairs: Any = None, target: Any = None, sense: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from pairs of samples.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), without `pairs`
        pairs : array of int, shape (m, 2)
            Rows of X.
        target : array, shape (m,), or float
            Squared distances.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
            What the squared distance of a pair should be with regard to its target.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: +1 for pairs that should be near, at most the 5th percentile of the squared
            distances under the start, -1 for pairs that should be far, at least the 95th. Sets `threshold_` too.
        sample_weight : array, shape (m,), optional

        Returns
        -------
        self
        """
        given = (target, sense, y, sample_weight)
        if pairs is None:
            X, pairs = stacked_pairs(checked_points(X))
        self._learn(X, lambda features, rng: self._from_pairs(features, pairs, given, rng))
        return self if y is None else self.calibrate_threshold(pairs, y, X)

    def fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Learn from triplets (anchor, near, far): the far sample should be farther than the near one, by a margin.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        triplets : array of int, shape (m, 3)
            Rows of X.

        Returns
        -------
        self
        """
        return self._learn(X, lambda features, rng: self._from_triplets(features, triplets, rng))

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn on from some more labelled samples: stay close to the present metric while fitting them better.

        Each call minimises the loss of its own samples plus the price of leaving the present metric. That grows with
        the number of samples seen, so that later calls move it less. The first call is `fit`.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : array, shape (n,)

        Returns
        -------
        self
        """
        return self._go_on(X, self._near_labels, y) if hasattr(self, "components_") else self.fit(X, y)

    def partial_fit_pairs(self, X: Any, pairs: Any, target: Any, sense: Any = None) -> Self:
        """Learn on from some more pairs, as `partial_fit` does from labels; the first call is `fit_pairs`."""
        if not hasattr(self, "components_"):
            return self.fit_pairs(X, pairs, target, sense)
        return self._go_on(X, self._near_pairs, (pairs, target, sense))

    def partial_fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Learn on from some more triplets, as `partial_fit` does from labels; the first call is `fit_triplets`."""
        if not hasattr(self, "components_"):
            return self.fit_triplets(X, triplets)
        return self._go_on(X, self._near_triplets, triplets)

    def _go_on(self, X: Any, problem: Any, given: Any) -> Self:
        """A few iterations on a problem near the present metric."""

        def supervised(features: Features, rng: np.random.Generator) -> Result:
            start = self.factor_.astype(features.dtype)
            inertia = Regularisation(self.n_samples_seen_ / features.shape[0])
            point = self._geometry().point(start)
            return self._solve(problem(features, given, start, inertia), point, ConjugateGradient(), most=ROUND)

        return self._learn(X, supervised, goes_on=True)

    def _near_labels(self, features: Features, y: Any, start: Matrix, inertia: Regularisation) -> Problem:
        labels = checked_labels(y, features.shape[0])
        triplets = self._triplets(features, labels, start, self._generator())
        return triplet_problem(features, triplets, start, 0.0, inertia)

    def _near_pairs(self, features: Features, given: Any, start: Matrix, inertia: Regularisation) -> Problem:
        index = checked_pairs(given[0], features.shape[0])
        target, senses = checked_target(given[1], given[2], len(index))
        check_contradictions(index, target, senses)
        return pair_problem(features, index, target, senses, np.ones(len(index)), start, inertia)

    def _near_triplets(self, features: Features, triplets: Any, start: Matrix, inertia: Regularisation) -> Problem:
        return triplet_problem(features, checked_triplets(triplets, features.shape[0]), start, 0.0, inertia)

    def _learn(self, X: Any, supervised: Any, y: Any = None, goes_on: bool = False) -> Self:
        """Checks X, centres it, goes into its span, learns there, and stores what comes back."""
        with unchanged_on_failure(self):
            check_settings(self)
            kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "ensure_min_samples": 2}
            kinds["reset"] = not goes_on
            X = validate_data(self, X, **kinds) if y is None else validate_data(self, X, y, **kinds)[0]
            check_components(self.n_components, X.shape[1], self._geometry())
            features = centred(X)
            # Fewer samples than features: nothing outside their span is ever seen.
            basis = span(features) if isinstance(self.init, str) and not goes_on else None
            inside = features if basis is None else features.restrict(basis)
            result = supervised(inside, self._generator())
            self.factor_ = result.point.G if basis is None else basis @ result.point.G
            self.components_ = np.ascontiguousarray(self.factor_.T)
            self._n_features_out = self.factor_.shape[1]
            self.n_samples_seen_ = X.shape[0] + (self.n_samples_seen_ if goes_on else 0)
            if goes_on:
                self.converged_ = True
        self._warn(result)
        return self

    def _from_labels(self, features: Features, labels: Vector, rng: np.random.Generator) -> Result:
        """Triplets or pairs of a class, as set."""
        labels = checked_labels(labels, features.shape[0])
        start = self._start(features, labels, rng)
        if self.constraints == "pairs":
            c = len(np.unique(labels))
            m = 40 * c * (c - 1) if self.n_constraints is None else self.n_constraints
            pairs, same = labelled_pairs(labels, m, balanced=self.balanced, random_state=rng)
            return self._from_pairs(features, pairs, (None, None, np.where(same, 1, -1), None), rng, start)
        solver, geometry = self._solver(rng), self._geometry()
        prices, pull = self._prices(0.06, solver, self.shrinkage), 0.0 if isinstance(solver, Online) else self.pull
        triplets = self._triplets(features, labels, start, rng)
        start = spread(features, start, triplets)
        factor, histories = start, []
        for turn in range(self.n_rounds):
            if turn:
                triplets = self._triplets(features, labels, factor, rng)
            problem = triplet_problem(features, triplets, start, pull, prices)
            result = self._solve(problem, geometry.point(factor), solver, most=ROUND)
            factor = result.point.G
            histories.append(result.history)
        self.n_iter_ = sum(len(h["cost"]) - 1 for h in histories)
        self.history_ = joined(histories)
        self.converged_ = True
        return result

    def _triplets(self, features: Features, labels: Vector, factor: Matrix, rng: np.random.Generator) -> Matrix:
        """Near targets and near impostors in the metric of a factor, of all samples or of many drawn anew."""
        Z, n = features.image(factor), len(labels)
        anchors = None if n <= ANCHORS else np.sort(rng.choice(n, ANCHORS, replace=False))
        return nearest_triplets(Z, labels, n_targets=self.n_targets, n_impostors=self.n_impostors, anchors=anchors)

    def _from_pairs(
        self,
        features: Features,
        pairs: Any,
        given: tuple[Any, Any, Any, Any],
        rng: np.random.Generator,
        start: Matrix | None = None,
    ) -> Result:
        """Pairs with targets and senses, or with signs."""
        target, sense, y, sample_weight = given
        index = checked_pairs(pairs, features.shape[0])
        m, d = len(index), features.shape[1]
        start = self._start(features, None, rng) if start is None else start
        predicted = Pairs(index).predict(features.image(start))
        if y is not None:
            y = checked_signs(y, m)
            self.bounds_ = tuple(float(b) for b in np.percentile(predicted, [5, 95]))
            target, sense = np.where(y > 0, *self.bounds_), -y
        target, senses = checked_target(target, sense, m)
        check_contradictions(index, target, senses)
        weight = checked_weight(sample_weight, m, np.dtype(np.float64))
        solver = self._solver(rng)
        problem = pair_problem(features, index, target, senses, weight, start, self._prices(d / m, solver))
        return self._solve(problem, self._geometry().point(start), solver)

    def _from_triplets(self, features: Features, triplets: Any, rng: np.random.Generator) -> Result:
        """Triplets as they are given."""
        index = checked_triplets(triplets, features.shape[0])
        start = spread(features, self._start(features, None, rng), index)
        solver = self._solver(rng)
        prices = self._prices(features.shape[1] / len(index), solver)
        problem = triplet_problem(features, index, start, 0.0, prices)
        return self._solve(problem, self._geometry().point(start), solver)

    def _prices(self, default: float, solver: Solver, shrinkage: float = 0.0) -> Regularisation:
        """What is paid for leaving the start; nothing online, where mini-batches are of constraints alone."""
        if isinstance(solver, Online):
            return Regularisation()
        return Regularisation(default if self.regularisation == "auto" else float(self.regularisation), shrinkage)

    def _start(self, features: Features, labels: Vector | None, rng: np.random.Generator) -> Matrix:
        """The first factor, (d, r)."""
        d = features.shape[1]
        # In the span of few samples there is room for no more directions than samples.
        rank = d if self.n_components is None else min(self.n_components, d)
        if not isinstance(self.init, str):
            return checked_factor(self.init, d, rank, features.dtype)
        name = self.init
        if name == "auto":
            name = "identity" if rank == d else "pca" if labels is None else "lda"
        if name == "lda" and labels is None:
            raise ValueError("init='lda' needs class labels. Choose 'pca', 'identity' or 'random', or call fit(X, y).")
        if name == "identity":
            return np.eye(d, rank, dtype=features.dtype)
        if name == "random":
            return (rng.standard_normal((d, rank)) / d**0.5).astype(features.dtype)
        if name == "pca":
            return principal_directions(features, rank, rng)
        return discriminants(features, labels if labels is not None else np.empty(0), rank, rng)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
