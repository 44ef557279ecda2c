"""A Mahalanobis distance of low or full rank, learned from class labels, pairs or triplets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from gramian.coordinates import Coordinates, data_unit_of
from gramian.estimators._base import PSDEstimator
from gramian.estimators._blend import learn_plan
from gramian.estimators._blocks import gather_beside, name_target, open_data
from gramian.estimators._checkpoint import FitCheckpoint, checkpoint_of
from gramian.estimators._checks import check_metric_settings, restore_on_failure
from gramian.estimators._choice import Choice, choose_plan
from gramian.estimators._distance import LearnedDistance, calibrate_on_pairs
from gramian.estimators._fit_stream import LearnsFromStreams
from gramian.estimators._learning import WARM, Call, Learned, load_factor, store_learned
from gramian.estimators._online import forget_outcome, stream_unit
from gramian.estimators._rounds import read_samples, supervise_by_labels, validate_samples
from gramian.estimators._scale import note_scale
from gramian.estimators._stream import Chunk, TupleChunk, continue_with_labels, is_new
from gramian.estimators._targets import learn_targets
from gramian.estimators._threshold import Calibration, check_no_calibration
from gramian.estimators._tuples import LearnsFromTuples
from gramian.execution import Execution, one_blas_thread
from gramian.geometries import Geometry
from gramian.losses import Loss
from gramian.solvers import Solver
from gramian.starts import Situation
from gramian.supervision import Supervision, Targets
from gramian.supervision.checks import warn_of_targets
from gramian.supervision.tuples import holds_tuples, samples_of_indices
from gramian.types import Matrix

__all__ = ["MetricLearner"]


class MetricLearner(LearnedDistance, LearnsFromTuples, LearnsFromStreams, PSDEstimator):
    """A learned Mahalanobis distance ‖Gᵀ(u - v)‖, for nearest neighbours, clustering and retrieval.

    The subspace and the distance in it are learned together, from class labels or from tuples of points by `fit`; or
    from tuples of indices, by `fit_pairs` (near or far), `fit_triplets` and `fit_quadruplets`. `partial_fit` continues
    with new data. Features should have similar scales: standardise them first.

    Parameters
    ----------
    n_components : int or None
        The rank r of W = G Gᵀ, and the dimension of `transform`; None for full rank.
    constraints : {"auto", "neighbourhoods", "triplets", "pairs", "start"}
        What `fit` makes of labels. "auto" tries neighbourhoods and triplets in several ways on a part of the samples,
        and takes the way with the lowest error of nearest neighbours on held-out ones; `choice_` tells which.
        "neighbourhoods": a neighbour drawn from all samples, the nearer the likelier, should be of the same class; the
        logarithm of neighbourhood components analysis. "triplets": the `n_targets` nearest samples of the same class
        should be nearer, by a margin, than the `n_impostors` nearest of other classes. "pairs", as in the paper: random
        pairs should have squared distances of at most l within a class and at least u between classes, where l and u
        are the 5th and 95th percentiles under the start. "start": nothing is learned, the distance is that of `init`.
    n_targets, n_impostors, n_rounds : int
        The numbers of targets, of impostors and of rounds for constraints="triplets". Each round searches for triplets
        in the current metric: for all samples, or for a part of them drawn anew in each round if there are many.
    n_constraints : int or None
        The number of pairs for constraints="pairs". By default 40 c (c - 1) for c classes, but at most n (n - 1)/2, the
        number of different pairs of n samples, and at most 30,000.
    balanced : bool
        For constraints="pairs": True draws half of the pairs within classes, False draws uniformly from all pairs.
    class_weight : dict, "balanced" or None
        Weights of the classes of `fit` by label, or of pairs by sign, 1 by default, which multiply those of their
        samples or pairs. "balanced" gives every class the same total weight; in a stream, every class of a chunk.
    regularisation : float or "auto"
        The penalty weight λ of ½ λ ‖W - W₀‖²/‖W₀‖², W₀ the start. "auto" is 0.06 (1 + 3 r c/n) for triplets of n
        labels of c classes, 10,000/n of this if n is larger, but 0 at full rank if n >= 2 d. For m given constraints on
        d features it is d/m for pairs with targets, 0.15 (d/m)² but at most d/m for pairs with signs, and 0.1 d/m for
        triplets and quadruplets: few constraints change W little.
    regularization : float, "auto" or None
        Another spelling of `regularisation`, which it replaces unless it is None.
    pull : float or "auto"
        The penalty weight of the mean squared distance of targets, for triplets of labels; "auto" is 0.1, and 1000/n
        with n > 10,000 samples.
    shrinkage : float or "auto"
        The penalty weight μ of μ tr(W)/tr(W₀), which keeps W small in directions of little variance. "auto" is 0.1 for
        triplets of n labels, but 0.03 at full rank if n >= 2 d, 3/√n if n > 10,000; 0.3 v tr(W₀) d/n for
        neighbourhoods of n samples whose d features have the mean variance v; 1.5 (d/m)² but at most 0.1 for m given
        pairs with signs; 1.5 d/m but at most 0.2 for m given triplets or quadruplets.
    loss : {"squared", "huber", "logistic", "hinge"} or Loss
        The loss of pairs, triplets and quadruplets, for violations in units of the typical target, or of the margin.
        Neighbourhoods and continuous targets have none, and refuse another one.
    init : {"auto", "identity", "lda", "pairs", "pca", "random"} or array of shape (d, r)
        The start. "auto" is "identity" at full rank, else "lda" with labels, "pairs" with fewer than 8 signed pairs per
        feature, and "pca" elsewhere. "lda" adds principal directions if r exceeds the number of discriminants. "pairs"
        are the directions in which far pairs differ more than near ones.
    warm_start : bool
        True starts from the current factor, if there is one, in place of `init`. It must have the same number of
        features and components: a ValueError is raised otherwise. constraints="auto" then keeps the plan of `choice_`,
        and percentiles of signed pairs are brought to the scale of the `bounds_` before.
    geometry : {"scaled", "flat", "polar", "affine", "log-euclidean"} or Geometry
        The matrices W that are searched, and their metric. "scaled" converges fast for any conditioning of W; "flat"
        and "polar" are the paper's; "affine" and "log-euclidean" learn full-rank matrices.
    solver : {"auto", "cg", "lbfgs", "gd", "trust-region", "online"} or Solver
        "auto" is "lbfgs" for neighbourhoods and targets, else "cg" (conjugate gradients). "trust-region" is for high
        accuracy, "gd" the paper's descent, "online" for mini-batches without regularisation, pull and shrinkage.
    max_iter : int
        The maximum number of iterations of a batch solver. A round from labels has at most 10 to 20.
    tol : float
        A batch solver stops when the relative decrease of the cost or the relative change of the factor is at most tol,
        or when the cost is at most tol times the cost of W = 0.
    batch_size : int
        The number of constraints in a mini-batch of solver="online". A `Solver` object has its own batch size.
    n_epochs : int
        The number of passes of solver="online" over the data.
    preprocessor : array, sparse matrix or data frame, shape (n, d), or None
        Samples: `fit`, `predict`, `score` and other methods of tuples then take tuples of their indices.
    n_jobs : int, None or Execution
        The number of threads, -1 for one per core; every number gives the same bits. None is that of joblib's
        `parallel_config`, or else as many as BLAS may use. `gramian.execution.Dask(client)` stands for a cluster.
    random_state : int, RandomState, Generator or None
        The seed of the constraints, of the start and of the order of mini-batches.
    callback : callable, optional
        Called with a `gramian.solvers.Record` after every iteration; a true return value stops the fit.
    checkpoint : path, optional
        A file that stores the state of `fit`, or a folder for the files of several fits. If the fit is interrupted, the
        same call goes on from there. The file is removed at the end of the fit.
    checkpoint_every : float
        The seconds from one write to the next.
    verbose : int
        1 shows a bar on a terminal and in notebooks, if tqdm is installed, else every tenth iteration on standard
        error; 2 shows every iteration.

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
    choice_ : gramian.estimators.Choice
        The plan that constraints="auto" takes, by name, and the errors of all plans on held-out samples.
    n_seen_ : int
        The number of samples, pairs or triplets learned from so far.
    kept_ : Chunk or None
        The samples, labels and weights that `partial_fit` keeps until it can learn from them.
    kept_tuples_ : dict of str to TupleChunk
        The pairs, triplets and quadruplets that streams of them keep until they can learn from them.
    tuple_size_ : int
        3 after learning from triplets, 4 after quadruplets.
    n_iter_ : int
        The number of iterations in all rounds; of epochs for solver="online".
    converged_ : bool
        True if a stopping rule holds in the last round, which is rare in rounds of at most 20 iterations.
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
    kept_: Chunk | None = None
    kept_tuples_: Mapping[str, TupleChunk] = MappingProxyType({})

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
        class_weight: Any = None,
        regularisation: float | str = "auto",
        regularization: float | str | None = None,
        pull: float | str = "auto",
        shrinkage: float | str = "auto",
        loss: str | Loss = "squared",
        init: str | Matrix = "auto",
        warm_start: bool = False,
        geometry: str | Geometry = "scaled",
        solver: str | Solver = "auto",
        max_iter: int = 500,
        tol: float = 1e-4,
        batch_size: int = 32,
        n_epochs: int = 5,
        preprocessor: Any = None,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
        callback: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.constraints = constraints
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.n_rounds = n_rounds
        self.n_constraints = n_constraints
        self.balanced = balanced
        self.class_weight = class_weight
        self.regularisation = regularisation
        self.regularization = regularization
        self.pull = pull
        self.shrinkage = shrinkage
        self.loss = loss
        self.init = init
        self.warm_start = warm_start
        self.geometry = geometry
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.preprocessor = preprocessor
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, bounds: Any = None, calibration_params: Any = None
    ) -> Self:
        """Learn from class labels, or from tuples of points.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or samples in blocks on workers
            Samples with class labels. Or tuples of points, an array: pairs (m, 2, d), triplets (m, 3, d), quadruplets
            (m, 4, d). With a `preprocessor`: tuples (m, 2), (m, 3) or (m, 4) of indices of its samples, or indices
            (n,) with class labels.
        y : array, shape (n,) or (m,); or the name of a column, if X is a list of Parquet files
            Class labels: at least two classes, one of them with two samples. For pairs +1 (same) and -1 (different);
            this also sets `threshold_`. For triplets and quadruplets -1 exchanges near and far; None exchanges none.
        sample_weight : array, shape (n,) or (m,), optional
            Weights of the samples as anchors: their triplets or neighbourhoods are multiplied by them, a pair by the
            product of both. Anchors of weight 0 are left out, and are still neighbours of others. Or weights of
            tuples.
        bounds : two floats, optional
            For pairs, and for labels if constraints="pairs": squared distances that near pairs should have at most, and
            far pairs at least, in place of percentiles.
        calibration_params : dict, optional
            For pairs: any of `strategy`, `beta` and `min_rate` of the `calibrate_threshold` that sets `threshold_`.

        Returns
        -------
        self
        """
        options = {"sample_weight": sample_weight, "bounds": bounds, "calibration_params": calibration_params}
        if holds_tuples(X, self.preprocessor):
            return self._fit_tuples(X, y, **options)
        check_no_calibration(calibration_params)
        X, y = name_target(samples_of_indices(X, self.preprocessor), y)
        y, sample_weight = gather_beside(X, y, sample_weight)
        return self._fit(X, supervise_by_labels(self, y, sample_weight, bounds))

    def fit_targets(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from numbers: those of near samples should predict the number of a sample.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or, with a preprocessor, indices (n,) of its samples
            The samples, one per row.
        y : array, shape (n,)
            Finite numbers, not all equal. Neither their unit nor their origin matters.
        sample_weight : array, shape (n,), optional
            Weights of the squared errors. A sample of weight 0 is a neighbour of others only.
        """
        return learn_targets(self, X, Targets(y, sample_weight))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue from the current metric with new labelled samples, or tuples of points.

        Each call minimises the loss of its samples plus a penalty on the change of the metric, whose weight grows with
        the number of samples seen before; solver="online" makes one pass, with the step sizes of the stream so far. The
        first call is equivalent to `fit`. Samples of one class only, or one in each class, are kept in `kept_`, at most
        10,000, and are learned from together with those of a later call; so are the first ones, until they are more
        than n_components. With constraints="pairs", `bounds_` are those of the first call.

        Parameters
        ----------
        X, y, sample_weight
            Samples (n, d), class labels (n,) and weights (n,); or tuples of points, signs (m,), weights (m,).

        Returns
        -------
        self
        """
        if holds_tuples(X, self.preprocessor):
            return self._fit_tuples(X, y, streaming=True, sample_weight=sample_weight)
        X = samples_of_indices(X, self.preprocessor)
        return continue_with_labels(self, X, y, sample_weight)

    def _fit(
        self, X: Any, supervision: Supervision, calibration: Calibration | None = None, *, streaming: bool = False
    ) -> Self:
        """Learn from `init`, or from the current metric; if an exception is raised, nothing is changed."""
        with (
            restore_on_failure(self),
            one_blas_thread(),
            open_data(self, X) as (X, *_),
            checkpoint_of(self) as checkpoint,
        ):
            check_metric_settings(self)
            X, supervision = read_samples(self, X, supervision, reset=not streaming or is_new(self))
            learned = self._learn(X, supervision, calibration, None if streaming else checkpoint, streaming=streaming)
        return self._end(learned)

    def _end(self, learned: Learned) -> Self:
        """Warn if the fit did not converge, unless it ended as planned."""
        if not learned.planned:
            self._warn(learned.result, learned.journal, learned.advice)
        return self

    def _learn(
        self,
        X: Any,
        supervision: Supervision,
        calibration: Calibration | None = None,
        checkpoint: FitCheckpoint | None = None,
        *,
        streaming: bool = False,
    ) -> Learned:
        """Learn in the rounds of the supervision from samples that were read, and set the fitted attributes."""
        call = Call(streaming, hasattr(self, "components_"), self.warm_start)
        resume = call.resumes
        threshold = self.__dict__.get("threshold_")
        bounds = None if call.anew else self.__dict__.get("bounds_")
        forget_outcome(self, choice=call.anew, kept=not streaming)
        reset = not resume and self.kept_ is None and not self.kept_tuples_
        # At full rank, given constraints keep W unchanged outside their span; later calls may leave this span.
        given_at_full_rank = self.n_components is None and not supervision.from_labels
        in_span = isinstance(self.init, str) and not (streaming or call.warm or given_at_full_rank)
        supervision = supervision.with_earlier(bounds)
        samples, supervision, size = validate_samples(self, X, supervision, reset=reset, in_span=in_span)
        if supervision.from_labels and not streaming:
            warn_of_targets(supervision.labels)
        note_scale(self, samples, resume=resume)
        journal, execution = self._open_journal(streaming=streaming), self._resolve_execution(samples)
        rng = self._make_generator()
        if checkpoint is not None:
            start = self.factor_ if call.warm else None
            checkpoint.open(journal, rng, X=samples, supervision=supervision, warm_start=start)
        with journal.phase("coordinates"):
            unit = data_unit_of(samples, size)
            unit = stream_unit(self, unit) if resume else unit
            coordinates = Coordinates.of_distances(samples, in_span=in_span, execution=execution, unit=unit)
        given = {"labels": supervision.labels, "signed": supervision.signed}
        situation = Situation(coordinates.features, rng, execution, coordinates, **given)
        rank = coordinates.features.shape[1] if self.n_components is None else self.n_components
        with journal.phase("choosing a plan"):
            plan, choice = choose_plan(self, situation, supervision, rank, journal, keeps_plan=not call.anew)
        earlier = None if call.anew else load_factor(self, coordinates, warm=call.warm)
        learned = learn_plan(self, situation, plan, rank, journal, earlier, resume=resume)
        store_learned(self, learned, coordinates, rank)
        if resume and bounds is not None:
            self.__dict__.setdefault("bounds_", bounds)
        self.message_ += WARM if call.warm else ""
        if choice is not None:
            self.choice_ = choice
        elif not resume:
            self.__dict__.pop("choice_", None)
        self.n_seen_ = len(supervision) + (self.n_seen_ if resume else 0)
        if supervision.has_signs:
            calibrate_on_pairs(self, samples, supervision, calibration or Calibration(), threshold if resume else None)
        return learned

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")  # samples that are kept do not make it fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
