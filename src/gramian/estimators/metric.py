"""A Mahalanobis distance of low or full rank, learned from labels, pairs or triplets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from gramian.discriminant import discriminants, principal_directions, span
from gramian.estimators.base import HALTED, PSDEstimator, finite
from gramian.estimators.checks import checked_factor, checked_weight, unchanged_on_failure
from gramian.estimators.constraint_stream import ROUND, ConstraintStream
from gramian.estimators.distances import LearnedDistance
from gramian.estimators.supervision import (
    Regularisation,
    asked,
    centred,
    check_components,
    check_settings,
    checked_labels,
    checked_pairs,
    checked_triplets,
    given_pairs,
    joined,
    pair_problem,
    signed_pairs,
    spread,
    triplet_problem,
)
from gramian.estimators.units import units_of
from gramian.features import Features
from gramian.geometries import Geometry
from gramian.measurements import Pairs
from gramian.sampling import nearest_triplets
from gramian.solvers import Online, Result, Solver
from gramian.types import Matrix, Vector

__all__ = ["MetricLearner"]

#: The price of leaving the start for many triplets on few features and classes.
PRICE = 0.06
#: From more samples than this, each round draws so many anchors of triplets.
ANCHORS = 10_000


class MetricLearner(LearnedDistance, ConstraintStream, ClassNamePrefixFeaturesOutMixin, TransformerMixin, PSDEstimator):
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
        The price of leaving the start W₀, ½ λ ‖W - W₀‖²/‖W₀‖². "auto": 0.06 (1 + 3 r c/n) for triplets from n labels
        of c classes at rank r, d/m for m given constraints on d features: few constraints hardly move it.
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
    n_seen_ : int
        Samples, pairs or triplets learned from so far.
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

    n_seen_: int
    _unit: float

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
        return self._learn(X, lambda features, rng: self._from_labels(features, y, rng), y=y)

    def transform(self, X: Any) -> Matrix:
        """Samples in the learned space, (n, r): Euclidean distances there are the learned ones.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        """
        return self._mapped(X)

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
        X, pairs = given_pairs(X, pairs)
        given = (target, sense, y, sample_weight)
        # At full rank the start is the identity, and stays so wherever no pair looks: outside their span too.
        whole = self.n_components is None
        self._learn(X, lambda features, rng: self._from_pairs(features, pairs, given, rng), whole=whole)
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
        whole = self.n_components is None
        return self._learn(X, lambda features, rng: self._from_triplets(features, triplets, rng), whole=whole)

    def _learn(
        self, X: Any, supervised: Any, *, y: Any = "no_validation", goes_on: bool = False, whole: bool = False
    ) -> Self:
        """Checks X, centres it, goes into its span unless it is to stay whole, learns, and stores what comes back."""
        with unchanged_on_failure(self):
            check_settings(self)
            for name in ("threshold_", "bounds_"):
                self.__dict__.pop(name, None)
            kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "ensure_min_samples": 2}
            checked = validate_data(self, X, y, reset=not goes_on, **kinds)
            X = checked if isinstance(y, str) else checked[0]
            check_components(self.n_components, X.shape[1], self._geometry())
            self._unit = units_of(X, np.ones(1)).data
            features = centred(X if self._unit == 1 else X * X.dtype.type(self._unit))
            # Fewer samples than features: nothing outside their span is ever seen.
            inside = span(features) if isinstance(self.init, str) and not whole else None
            result = supervised(features if inside is None else inside.features, self._generator())
            factor = result.point.G if inside is None else inside.lift(result.point.G)
            self.factor_ = finite(factor * factor.dtype.type(self._unit))
            self.components_ = np.ascontiguousarray(self.factor_.T)
            self._n_features_out = self.factor_.shape[1]
        self._warn(result)
        return self

    def _from_labels(self, features: Features, labels: Vector, rng: np.random.Generator) -> Result:
        """Triplets or pairs of a class, as set."""
        labels = checked_labels(labels, features.shape[0])
        start = self._start(features, labels, rng)
        if self.constraints == "pairs":
            pairs, signs = signed_pairs(labels, self.n_constraints, self.balanced, rng)
            return self._from_pairs(features, pairs, (None, None, signs, None), rng, start)
        solver, geometry = self._solver(rng), self._geometry()
        r, c = start.shape[1], len(np.unique(labels))
        prices = self._prices(PRICE * (1 + 3 * r * c / len(labels)), solver, self.shrinkage)
        pull = self.pull if solver.stops else 0.0
        triplets = self._triplets(features, labels, start, rng)
        factor = start = spread(features, start, triplets)
        histories: list[dict[str, Vector]] = []
        for turn in range(self.n_rounds):
            if turn:
                triplets = self._triplets(features, labels, factor, rng)
            problem = triplet_problem(features, triplets, start, pull, prices)
            done = sum(len(h["cost"]) - 1 for h in histories)
            result = self._solve(problem, geometry.point(factor), solver, most=ROUND, done=done)
            factor = result.point.G
            histories.append(result.history)
            if result.message == HALTED:
                break
        self.n_iter_ = sum(len(h["cost"]) - 1 for h in histories)
        self.history_ = joined(histories)
        self.n_seen_ = len(labels)
        # A round is cut short on purpose.
        self.converged_ = self.converged_ or result.n_iter == ROUND
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
        start = self._start(features, None, rng) if start is None else start
        index, target, senses, weight = self._read_pairs(features, pairs, given, start)
        solver = self._solver(rng)
        prices = self._prices(features.shape[1] / len(index), solver)
        problem = pair_problem(features, index, target, senses, weight, start, prices)
        self.n_seen_ = len(index)
        return self._solve(problem, self._geometry().point(start), solver)

    def _read_pairs(
        self, features: Features, pairs: Any, given: tuple[Any, Any, Any, Any], start: Matrix
    ) -> tuple[Matrix, Vector, Vector, Vector]:
        """Index pairs, squared distances, senses and weights, checked; y gives bounds_ their values."""
        target, sense, y, sample_weight = given
        index = checked_pairs(pairs, features.shape[0])
        squared = None if y is None else Pairs(index).predict(features.image(start))
        target, senses, bounds = asked(index, target, sense, y, squared)
        if bounds is not None:
            self.bounds_ = bounds
        return index, target, senses, checked_weight(sample_weight, len(index), np.dtype(np.float64))

    def _from_triplets(self, features: Features, triplets: Any, rng: np.random.Generator) -> Result:
        """Triplets as they are given."""
        index = checked_triplets(triplets, features.shape[0])
        start = spread(features, self._start(features, None, rng), index)
        solver = self._solver(rng)
        prices = self._prices(features.shape[1] / len(index), solver)
        problem = triplet_problem(features, index, start, 0.0, prices)
        self.n_seen_ = len(index)
        return self._solve(problem, self._geometry().point(start), solver)

    def _prices(self, default: float, solver: Solver, shrinkage: float = 0.0) -> Regularisation:
        """What is paid for leaving the start; nothing online, where mini-batches are of constraints alone."""
        if isinstance(solver, Online):
            return Regularisation()
        return Regularisation(default if self.regularisation == "auto" else float(self.regularisation), shrinkage)

    def _start(self, features: Features, labels: Vector | None, rng: np.random.Generator) -> Matrix:
        """The first factor, (d, r)."""
        n, d = features.shape
        rank = d if self.n_components is None else self.n_components
        if self.n_components is not None and rank > min(n, d):
            raise ValueError(
                f"n_components={rank} exceeds the {min(n, d)} directions that {n} samples span. Choose fewer, or give "
                "more samples."
            )
        unit = features.dtype.type(self._unit)
        if not isinstance(self.init, str):
            return checked_factor(self.init, d, rank, features.dtype) / unit
        name = self.init
        if name == "auto":
            name = "identity" if rank == d else "pca" if labels is None else "lda"
        if name == "lda" and labels is None:
            raise ValueError("init='lda' needs class labels. Choose 'pca', 'identity' or 'random', or call fit(X, y).")
        if name == "identity":
            return np.eye(d, rank, dtype=features.dtype) / unit
        if name == "random":
            return (rng.standard_normal((d, rank)) / d**0.5).astype(features.dtype) / unit
        if labels is not None and name == "lda":
            return discriminants(features, labels, rank, rng)
        return principal_directions(features, rank, rng) / unit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
