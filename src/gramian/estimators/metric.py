"""A Mahalanobis distance of low or full rank, learned from labels, pairs or triplets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from gramian.checks import checked_number
from gramian.coordinates import Coordinates
from gramian.estimators._base import PSDEstimator
from gramian.estimators._checks import check_components, unchanged_on_failure
from gramian.estimators._distance import LearnedDistance
from gramian.estimators._prices import Prices
from gramian.execution import Execution
from gramian.geometries import Geometry
from gramian.objective import Block, Problem
from gramian.solvers import ConjugateGradient, Ending, Journal, Online, Result, Solver
from gramian.starts import Situation, resolve_start
from gramian.supervision import SUPERVISIONS, GivenPairs, GivenTriplets, Scene, Supervision
from gramian.supervision.checks import pairs_of_points
from gramian.types import Matrix

__all__ = ["MetricLearner"]

#: Iterations in a call of a stream.
STREAM_LENGTH = 15
STARTS = ("identity", "lda", "pca", "random")
ADVICE_ON_ROUNDS = "Raise max_iter, of which a round takes {length} at most, or n_rounds, or tol."


class MetricLearner(LearnedDistance, PSDEstimator):
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
    geometry, solver, max_iter, tol, batch_size, n_epochs, n_jobs, random_state, callback, verbose
        As for `PSDRegressor`. With triplets from labels a round is at most 15 iterations, and at most max_iter.
        solver="online" knows neither regularisation nor pull nor shrinkage.

    Attributes
    ----------
    components_ : array, shape (r, d)
        `transform(X) = X @ components_.T`.
    factor_ : array, shape (d, r)
        Its transpose.
    threshold_ : float
        After `fit_pairs` with y, `set_threshold` or `calibrate_threshold`: pairs at most so far apart are the same.
    bounds_ : tuple of float
        After constraints="pairs", or `fit_pairs` with y: l and u, squared distances.
    n_seen_ : int
        Samples, pairs or triplets learned from so far.
    n_iter_ : int
        Iterations, over all rounds.
    converged_ : bool
        True if a stopping rule holds in the last round; rounds of 15 iterations seldom last that long.
    message_ : str
        Why the fit ended.
    history_, timings_ : dict
        As for `PSDRegressor`, through all rounds.
    n_features_in_ : int

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
        n_jobs: int | Execution | None = None,
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
        self.n_jobs = n_jobs
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
        return self._fit(X, self._from_labels(y))

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
        X, pairs = pairs_of_points(X, pairs)
        self._fit(X, GivenPairs(pairs, target, sense, y, sample_weight))
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
        return self._fit(X, GivenTriplets(triplets))

    def fit_supervised(self, X: Any, supervision: Supervision) -> Self:
        """Learn from supervision of any kind, such as one of your own.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        supervision : Supervision
            Made for this call: a fit changes it.

        Returns
        -------
        self
        """
        return self._fit(X, supervision)

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
        return self._fit(X, self._from_labels(y), resume=True)

    def partial_fit_pairs(
        self, X: Any, pairs: Any = None, target: Any = None, sense: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn on from some more pairs, given as for `fit_pairs`; the first call is `fit_pairs`."""
        if not hasattr(self, "components_"):
            return self.fit_pairs(X, pairs, target, sense, y, sample_weight)
        X, pairs = pairs_of_points(X, pairs)
        return self._fit(X, GivenPairs(pairs, target, sense, y, sample_weight), resume=True)

    def partial_fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Learn on from some more triplets, given as for `fit_triplets`; the first call is `fit_triplets`."""
        return self._fit(X, GivenTriplets(triplets), resume=True)

    def _from_labels(self, y: Any) -> Supervision:
        """Return what class labels are turned into."""
        kinds = {name: kind for name, kind in SUPERVISIONS.items() if kind.from_labels}
        if self.constraints not in kinds:
            names = " or ".join(repr(name) for name in kinds)
            raise ValueError(f"constraints={self.constraints!r} is unknown. Choose {names}.")
        return kinds[self.constraints].from_learner(y, self)

    def _fit(self, X: Any, supervision: Supervision, *, resume: bool = False) -> Self:
        """Learn from the start, or from the present metric, in as many rounds as the supervision has."""
        streaming, resume = resume, resume and hasattr(self, "components_")
        with unchanged_on_failure(self):
            self._check_settings()
            self._forget()
            X = self._validate(X, supervision, reset=not resume)
            journal, execution, rng = self._journal(), self._execution(), self._generator()
            # At full rank, given constraints leave W as it is outside their span; a stream may leave the first span.
            in_span = isinstance(self.init, str) and not streaming and self._may_use_span(supervision)
            with journal.phase("coordinates"):
                coordinates = Coordinates.of_distances(X, in_span=in_span, execution=execution)
            supervision.check(X.shape[0])
            scene = Scene(coordinates.features, rng, execution)
            with journal.phase("start"):
                start = self._resume(coordinates) if resume else self._start(scene, coordinates, supervision)
            with journal.phase("constraints"):
                start = supervision.begin(scene, start, resume=resume)
            result = self._learn(scene, supervision, start, journal, resume)
            planned = self._ended_as_planned(result, supervision, resume)
            if planned:
                result = replace(result, message=planned)
            self._store(coordinates.to_user(result.point.G), result, journal)
            self.components_ = np.ascontiguousarray(self.factor_.T)
            self._n_features_out = self.factor_.shape[1]
            self.__dict__.update(supervision.summary())
            self.n_seen_ = len(supervision) + (self.n_seen_ if resume else 0)
        if not planned:
            length = STREAM_LENGTH if resume else supervision.round_length
            self._warn(result, *([] if length is None else [ADVICE_ON_ROUNDS.format(length=length)]))
        return self

    def _learn(self, scene: Scene, supervision: Supervision, start: Matrix, journal: Journal, resume: bool) -> Result:
        """Return the result of the last round."""
        solver, geometry, factor = self._solver(scene.rng), self._geometry(), start
        prices = self._prices(supervision, start, solver, resume)
        length = STREAM_LENGTH if resume else supervision.round_length
        if resume and not solver.stops:
            solver = ConjugateGradient()
        for turn in range(1 if resume else supervision.n_rounds):
            with journal.phase("constraints" if turn else "problem"):
                terms = supervision.terms(scene, factor)
            # Mini-batches are of one term: of constraints alone.
            kept = terms if solver.stops else terms[:1]
            problem = Problem([Block(scene.features, kept), *prices.blocks(start)], scene.execution)
            result = self._minimize(problem, geometry.point(factor), solver, journal, at_most=length)
            factor = result.point.G
            if result.ending is Ending.HALTED:
                break
        return result

    def _prices(self, supervision: Supervision, start: Matrix, solver: Solver, resume: bool) -> Prices:
        """Return what is paid for leaving the start; nothing online, where mini-batches are of constraints alone."""
        if resume:
            # As many samples as were seen before weigh 1.
            return Prices(self.n_seen_ / len(supervision))
        if isinstance(solver, Online):
            return Prices()
        shrinkage = self.shrinkage if supervision.takes_shrinkage else 0.0
        if self.regularisation != "auto":
            return Prices(float(self.regularisation), shrinkage)
        return Prices(supervision.default_price(start.shape[1], len(start)), shrinkage)

    def _start(self, scene: Scene, coordinates: Coordinates, supervision: Supervision) -> Matrix:
        """Return the first factor, in the solver's coordinates."""
        n, d = scene.features.shape
        rank = d if self.n_components is None else self.n_components
        if self.n_components is not None and rank > min(n, d):
            raise ValueError(
                f"n_components={rank} exceeds the {min(n, d)} directions that {n} samples span. Choose fewer, or give "
                "more samples."
            )
        labels = supervision.labels
        situation = Situation(scene.features, scene.execution, coordinates.units.data, labels=labels)
        auto = "identity" if rank == d else "pca" if labels is None else "lda"
        return resolve_start(self.init, situation, rank, scene.rng, choices=STARTS, auto=auto)

    def _resume(self, coordinates: Coordinates) -> Matrix:
        """Return the present factor, in the solver's coordinates."""
        features = coordinates.features
        rank = features.shape[1] if self.n_components is None else self.n_components
        if rank != self.factor_.shape[1]:
            raise ValueError(
                f"n_components={rank}, but the stream has {self.factor_.shape[1]}. Call fit to start anew."
            )
        return coordinates.to_solver(self.factor_.astype(features.dtype))

    def _may_use_span(self, supervision: Supervision) -> bool:
        """Return True if nothing is learned outside the span of the samples."""
        return supervision.from_labels or self.n_components is not None

    def _validate(self, X: Any, supervision: Supervision, *, reset: bool) -> Any:
        """Return samples (n, d); labels are checked with them."""
        kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "ensure_min_samples": 2}
        if supervision.from_labels:
            X, supervision.labels = validate_data(self, X, supervision.labels, reset=reset, **kinds)
        else:
            X = validate_data(self, X, reset=reset, **kinds)
        check_components(self.n_components, X.shape[1], self._geometry())
        return X

    def _forget(self) -> None:
        """Drop what an earlier fit may have left."""
        for name in ("threshold_", "bounds_"):
            self.__dict__.pop(name, None)

    def _check_settings(self) -> None:
        """Raise a ValueError that names the first bad setting."""
        for name in ("n_targets", "n_impostors", "n_rounds"):
            checked_number(name, getattr(self, name), least=1, integer=True)
        for name in ("pull", "shrinkage"):
            checked_number(name, getattr(self, name), least=0)
        if self.regularisation != "auto":
            checked_number("regularisation", self.regularisation, least=0)
        if self.n_constraints is not None:
            checked_number("n_constraints", self.n_constraints, least=1, integer=True)

    def _ended_as_planned(self, result: Result, supervision: Supervision, resume: bool) -> str:
        """Return the message of a fit whose last round was cut short on purpose; "" for others."""
        length = STREAM_LENGTH if resume else supervision.round_length
        if result.ending is not Ending.EXHAUSTED or result.n_iter != length:
            return ""
        rounds = "" if resume else f" in each of n_rounds={supervision.n_rounds} rounds"
        return f"{length} iterations{rounds}, as planned; no stopping rule held in the last"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
