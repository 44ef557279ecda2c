"""A Mahalanobis distance of low or full rank, learned from class labels, pairs or triplets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from gramian.coordinates import Coordinates
from gramian.estimators._base import PSDEstimator
from gramian.estimators._checks import check_metric_settings, restore_on_failure
from gramian.estimators._choice import Choice, choose_plan
from gramian.estimators._distance import LearnedDistance, calibrate_on_pairs
from gramian.estimators._learning import learn_by_plan, load_factor
from gramian.estimators._rounds import advice_on_rounds, supervise_by_labels, validate_samples
from gramian.estimators._threshold import Calibration, resolve_calibration
from gramian.execution import Execution
from gramian.geometries import Geometry
from gramian.solvers import Solver
from gramian.starts import Situation, resolve_start
from gramian.supervision import GivenPairs, GivenQuadruplets, GivenTriplets, Supervision
from gramian.supervision.checks import pairs_of_points
from gramian.types import Matrix

__all__ = ["MetricLearner"]

CHOICES = ("identity", "lda", "pca", "random")


class MetricLearner(LearnedDistance, PSDEstimator):
    """A learned Mahalanobis distance ‖Gᵀ(u - v)‖, for nearest neighbours, clustering and retrieval.

    The subspace and the distance in it are learned together, from class labels (`fit`), from pairs that should be near
    or far (`fit_pairs`), or from triplets (`fit_triplets`); `partial_fit` continues with new data. Features should have
    similar scales: standardise them first.

    Parameters
    ----------
    n_components : int or None
        The rank r of W = G Gᵀ, and the dimension of `transform`; None for full rank.
    constraints : {"auto", "neighbourhoods", "triplets", "pairs"}
        What `fit` makes of labels. "auto" tries neighbourhoods and triplets in several ways on a part of the samples,
        and takes the way with the lowest error of nearest neighbours on held-out ones; `choice_` tells which.
        "neighbourhoods": a neighbour drawn from all samples, the nearer the likelier, should be of the same class; the
        logarithm of neighbourhood components analysis. "triplets": the `n_targets` nearest samples of the same class
        should be nearer, by a margin, than the `n_impostors` nearest of other classes. "pairs", as in the paper: random
        pairs should have squared distances of at most l within a class and at least u between classes, where l and u
        are the 5th and 95th percentiles under the start.
    n_targets, n_impostors, n_rounds : int
        The numbers of targets, of impostors and of rounds for constraints="triplets". Each round searches for triplets
        in the current metric, for at most 10000 samples.
    n_constraints : int or None
        The number of pairs for constraints="pairs". By default 40 c (c - 1) for c classes, but at most n (n - 1)/2, the
        number of different pairs of n samples, and at most 30,000.
    balanced : bool
        For constraints="pairs": True draws half of the pairs within classes, False draws uniformly from all pairs.
    regularisation : float or "auto"
        The penalty weight λ of ½ λ ‖W - W₀‖²/‖W₀‖², W₀ the start. "auto" is 0.06 (1 + 3 r c/n) for triplets of n
        labels of c classes. For m given constraints on d features it is d/m for pairs with targets, 0.15 (d/m)² for
        pairs with signs, at most d/m, and 0.1 d/m for triplets and quadruplets: few constraints change W little.
    pull : float
        The penalty weight of the mean squared distance of targets, for triplets of labels.
    shrinkage : float or "auto"
        The penalty weight of tr(W)/tr(W₀), which keeps W small in directions of little variance. "auto" is 0.1 for
        triplets of labels, 0.3 v tr(W₀) d/n for neighbourhoods of n samples whose d features have the mean variance v,
        1.5 (d/m)² but at most 0.1 for m given pairs with signs, 1.5 d/m but at most 0.2 for m given triplets or
        quadruplets, and 0 for pairs with targets.
    init : {"auto", "identity", "lda", "pca", "random"} or array of shape (d, r)
        The start. "auto" is "identity" at full rank, else "lda" with labels and "pca" without. "lda" adds principal
        directions if r exceeds the number of discriminants.
    geometry : {"scaled", "flat", "polar", "affine", "log-euclidean"} or Geometry
        The matrices W that are searched, and their metric. "scaled" converges fast for any conditioning of W; "flat"
        and "polar" are the paper's; "affine" and "log-euclidean" learn full-rank matrices.
    solver : {"cg", "gd", "trust-region", "online"} or Solver
        "cg" (conjugate gradients) for most problems, "trust-region" for high accuracy, "gd" for the paper's gradient
        descent, "online" for mini-batches without regularisation, pull and shrinkage.
    max_iter : int
        The maximum number of iterations of a batch solver. A round of triplets of labels has at most 15, one of
        neighbourhoods 20.
    tol : float
        A batch solver stops when the relative decrease of the cost or the relative change of the factor is at most tol,
        or when the cost is at most tol times the cost of W = 0.
    batch_size : int
        The number of constraints in a mini-batch of solver="online". A `Solver` object has its own batch size.
    n_epochs : int
        The number of passes of solver="online" over the data.
    n_jobs : int, None or Execution
        The number of threads, -1 for one per core; every number gives the same bits. None leaves threading to BLAS, and
        gives the same result to rounding.
    random_state : int, RandomState, Generator or None
        The seed of the constraints, of the start and of the order of mini-batches.
    callback : callable, optional
        Called with a `gramian.solvers.Record` after every iteration; a true return value stops the fit.
    verbose : int
        1 reports every tenth iteration on standard error, 2 every iteration.

    Attributes
    ----------
    components_ : array, shape (r, d)
        `transform(X) = X @ components_.T`.
    factor_ : array, shape (d, r)
        G, the transpose of components_.
    spectrum_ : array, shape (r,)
        The eigenvalues of W, descending.
    threshold_ : float
        Pairs at this distance or less are similar; set by `fit_pairs` with y, `set_threshold`, `calibrate_threshold`.
    bounds_ : tuple of float
        l and u, squared distances; set if constraints="pairs", or by `fit_pairs` with y.
    choice_ : Choice
        The plan that constraints="auto" takes, by name, and the errors of all plans on held-out samples.
    n_seen_ : int
        The number of samples, pairs or triplets learned from so far.
    n_iter_ : int
        The number of iterations in all rounds; of epochs for solver="online".
    converged_ : bool
        True if a stopping rule holds in the last round, which is rare in rounds of 15 or 20 iterations.
    message_ : str
        Why the fit ended.
    history_ : dict of str to array
        iteration, cost, gradient_norm, step, time (seconds) and passes (over the data): one entry per iteration, the
        start included.
    timings_ : dict of str to float
        The seconds spent outside the iterations, by phase.
    n_features_in_ : int
        The number of features of X.

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
    choice_: Choice

    def __init__(
        self,
        n_components: int | None = None,
        *,
        constraints: str = "auto",
        n_targets: int = 3,
        n_impostors: int = 10,
        n_rounds: int = 4,
        n_constraints: int | None = None,
        balanced: bool = False,
        regularisation: float | str = "auto",
        pull: float = 0.1,
        shrinkage: float | str = "auto",
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
        return self._fit(X, supervise_by_labels(self, y))

    def fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        sense: Any = None,
        sample_weight: Any = None,
        calibration_params: Any = None,
    ) -> Self:
        """Learn from pairs of samples.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
        pairs : array of int, shape (m, 2)
            Row indices of X.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: squared distances should be at most their 5th percentile under the start for
            y = +1, and at least their 95th for y = -1. Also sets `threshold_`.
        target : array, shape (m,), or float
            Squared distances.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
            Whether the squared distance should equal its target, be at most, or be at least the target.
        sample_weight : array, shape (m,), optional
            Weights of the pairs.
        calibration_params : dict, optional
            Any of `strategy`, `beta` and `min_rate`, for the `calibrate_threshold` that sets `threshold_` by y.

        Returns
        -------
        self
        """
        X, pairs, y = pairs_of_points(X, pairs, y)
        calibration = resolve_calibration(calibration_params, y)
        return self._fit(X, GivenPairs(pairs, target, sense, y, sample_weight), calibration)

    def fit_triplets(self, X: Any, triplets: Any, sample_weight: Any = None) -> Self:
        """Learn from triplets (anchor, near, far): far should be farther from the anchor than near, by a margin.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        triplets : array of int, shape (m, 3)
            Row indices of X.
        sample_weight : array, shape (m,), optional

        Returns
        -------
        self
        """
        return self._fit(X, GivenTriplets(triplets, sample_weight))

    def fit_quadruplets(self, X: Any, quadruplets: Any, sample_weight: Any = None) -> Self:
        """Learn from quadruplets (a, b, c, e), row indices (m, 4): c and e should be farther apart than a and b."""
        return self._fit(X, GivenQuadruplets(quadruplets, sample_weight))

    def fit_supervised(self, X: Any, supervision: Supervision) -> Self:
        """Learn from a `Supervision` object, for example of a class of your own.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        supervision : Supervision
            What is asked of the distance; it is not changed.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MetricLearner
        >>> from gramian.supervision import LabelPairs
        >>> X, y = load_iris(return_X_y=True)
        >>> MetricLearner(2, random_state=0).fit_supervised(X, LabelPairs(y, 500)).components_.shape
        (2, 4)
        """
        return self._fit(X, supervision)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Continue from the current metric with new labelled samples.

        Each call minimises the loss of its samples plus a penalty on the change of the metric, whose weight grows with
        the number of samples seen before. The first call is equivalent to `fit`.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : array, shape (n,)

        Returns
        -------
        self
        """
        return self._fit(X, supervise_by_labels(self, y), resume=True)

    def partial_fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        sense: Any = None,
        sample_weight: Any = None,
        calibration_params: Any = None,
    ) -> Self:
        """Continue from the current metric with new pairs; the arguments are those of `fit_pairs`.

        If all y are equal, `bounds_` and `threshold_` are unchanged.
        """
        X, pairs, y = pairs_of_points(X, pairs, y)
        calibration, resume = resolve_calibration(calibration_params, y), hasattr(self, "components_")
        earlier = getattr(self, "bounds_", None) if resume else None
        given = GivenPairs(pairs, target, sense, y, sample_weight, earlier=earlier)
        return self._fit(X, given, calibration, resume=resume)

    def partial_fit_triplets(self, X: Any, triplets: Any, sample_weight: Any = None) -> Self:
        """Continue from the current metric with new triplets; the arguments are those of `fit_triplets`."""
        return self._fit(X, GivenTriplets(triplets, sample_weight), resume=True)

    def partial_fit_quadruplets(self, X: Any, quadruplets: Any, sample_weight: Any = None) -> Self:
        """Continue from the current metric with new quadruplets; the arguments are those of `fit_quadruplets`."""
        return self._fit(X, GivenQuadruplets(quadruplets, sample_weight), resume=True)

    def _fit(
        self, X: Any, supervision: Supervision, calibration: Calibration | None = None, *, resume: bool = False
    ) -> Self:
        """Learn from `init`, or from the current metric, in the rounds of the supervision."""
        streaming, resume = resume, resume and hasattr(self, "components_")
        with restore_on_failure(self):
            check_metric_settings(self)
            threshold, _ = (self.__dict__.pop(name, None) for name in ("threshold_", "bounds_"))
            if not resume:
                self.__dict__.pop("choice_", None)
            samples, supervision = validate_samples(self, X, supervision, reset=not resume)
            journal, execution, rng = self._open_journal(), self._resolve_execution(), self._make_generator()
            # At full rank, given constraints keep W unchanged outside their span; later calls may leave this span.
            given_at_full_rank = self.n_components is None and not supervision.from_labels
            in_span = isinstance(self.init, str) and not streaming and not given_at_full_rank
            with journal.phase("coordinates"):
                coordinates = Coordinates.of_distances(samples, in_span=in_span, execution=execution)
            situation = Situation(coordinates.features, rng, execution, coordinates, labels=supervision.labels)
            rank = coordinates.features.shape[1] if self.n_components is None else self.n_components
            with journal.phase("choosing a plan"):
                plan, choice = choose_plan(self, situation, supervision, rank, resume=resume)
            with journal.phase("start"):
                start = load_factor(self, coordinates) if resume else self._compute_start(situation, rank, plan.start)
            result, learned_by, planned = learn_by_plan(self, situation, plan, start, journal, resume=resume)
            coordinates = coordinates.with_target_unit(learned_by.target_unit)
            self._store_result(coordinates.to_user(result.point.G), result, journal)
            if choice is not None:
                self.choice_ = choice
            self.components_ = np.ascontiguousarray(self.factor_.T)
            self._n_features_out = self.factor_.shape[1]
            self.__dict__.update(learned_by.summary())
            self.n_seen_ = len(supervision) + (self.n_seen_ if resume else 0)
            if isinstance(supervision, GivenPairs) and supervision.y is not None:
                calibrate_on_pairs(self, X, supervision, calibration or Calibration(), threshold if resume else None)
        if not planned:
            self._warn(result, *advice_on_rounds(learned_by, resume))
        return self

    def _compute_start(self, situation: Situation, rank: int, name: str) -> Matrix:
        """Return the start (d, r), in the solver's coordinates; `name` is that of the plan, used if init="auto"."""
        n, d = situation.features.shape
        if self.n_components is not None and rank > min(n, d):
            raise ValueError(
                f"n_components={rank} exceeds the {min(n, d)} directions that {n} samples span. Choose fewer, or give "
                "more samples."
            )
        usual = "identity" if rank == d else "pca" if situation.labels is None else "lda"
        return resolve_start(self.init, situation, rank, choices=CHOICES, auto=usual if name == "auto" else name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
