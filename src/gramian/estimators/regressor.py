"""The regression y = trace(W X) with a positive semidefinite W of fixed rank."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gramian.blocked import open_blocks
from gramian.coordinates import Coordinates, Units
from gramian.estimators._available import available_if
from gramian.estimators._base import PSDEstimator, supports_partial_fit
from gramian.estimators._blocks import open_data
from gramian.estimators._checkpoint import checkpoint_of
from gramian.estimators._checks import resolve_part, resolve_rank, restore_on_failure, validate_input
from gramian.estimators._fit_stream import LearnsFromStreams
from gramian.estimators._online import check_stream_solver, learn_stream
from gramian.estimators._rank import RankSearch, check_auto, is_auto
from gramian.estimators._regression import (
    Data,
    Stream,
    balance_columns,
    check_shape,
    choose_geometry,
    leave_out_zeros,
    make_measurement,
    read_data,
    rescale_loss,
    resolve_growing,
    warn_if_zero_is_best,
)
from gramian.estimators._restarts import BestResult, Restarts, check_n_init
from gramian.estimators._scale import matrix_of, note_scale
from gramian.estimators._setup import Setup
from gramian.execution import Execution, one_blas_thread
from gramian.geometries import Geometry
from gramian.losses import LOSSES, Loss
from gramian.objective import Block, Problem, Term
from gramian.solvers import Growing, Journal, Result, Solver
from gramian.starts import initial_factor
from gramian.types import Matrix, Vector

__all__ = ["PSDRegressor"]

# The cost counts as zero below this share of tol: low noise must not be mistaken for none.
PERFECT = 0.01


class PSDRegressor(RegressorMixin, LearnsFromStreams, PSDEstimator):
    """Regression y = trace(W X) with a positive semidefinite W = G Gᵀ of rank r.

    X is given as vectors x, which stand for X = x xᵀ, so that y = xᵀ W x; or as matrices. W is never formed.

    Parameters
    ----------
    rank : int, "auto" or None
        The rank r of W; None for full rank. "auto" adds columns one by one, by the certificate of the rank below, to
        fits of three quarters of the samples. It takes the lowest rank that fits and predicts perfectly. With noise it
        takes the lowest rank whose cost on the other samples is within one standard error of the best.
    geometry : {"scaled", "flat", "polar", "affine", "log-euclidean", "grassmann"} or Geometry
        The matrices W that are searched, and their metric. "scaled" converges fast for any conditioning of W; "flat"
        and "polar" are the paper's; "affine" and "log-euclidean" learn full-rank matrices; "grassmann" learns
        projection matrices.
    solver : {"cg", "lbfgs", "gd", "trust-region", "online"} or Solver
        "cg" (conjugate gradients) or "lbfgs" for most problems, "trust-region" for high accuracy, "gd" for the paper's
        gradient descent, "online" for mini-batches and streams.
    loss : {"squared", "huber", "linear", "hinge", "logistic"} or Loss
        The cost of a prediction, given its target and its sense.
    init : {"auto", "spectral", "random", "pca", "identity"} or array of shape (d, r)
        The start. "auto" is "identity" at full rank, else "spectral". rank="auto" starts from what it found.
    n_init : "auto" or int
        The number of starts: `init`, then random ones; the lowest cost is kept, and a perfect fit ends the search.
        "auto" tries random starts, up to 12, only after init="auto" and where local minima occur: a squared loss,
        equalities, less than 6 measurements per unknown, a fit that is not perfect. Starts that agree end the search.
    growing : bool or Growing
        True solves growing random subsets of the measurements first, if there are many measurements per unknown; each
        is five times larger than the one before. This only changes the start, and saves most passes over the data.
        An array `init` is used without subsets unless a `Growing` is given.
    max_iter : int
        The maximum number of iterations of a batch solver over all the data. Those on subsets do not count.
    tol : float
        A batch solver stops when the relative decrease of the cost or the relative change of the factor is at most tol,
        or when the cost is at most tol/100 times the cost of W = 0. With many measurements per unknown and fast
        convergence, it stops when the predicted decrease is at most tol.
    batch_size : int
        The number of measurements in a mini-batch of solver="online". A `Solver` object has its own batch size.
    n_epochs : int
        The number of passes of solver="online" over the data.
    certificate : bool
        True sets `certificate_` for a given rank too.
    n_jobs : int, None or Execution
        The number of threads, -1 for one per core; every number gives the same bits. None is that of joblib's
        `parallel_config`, or else as many as BLAS may use. `gramian.execution.Dask(client)` stands for a cluster.
    random_state : int, RandomState, Generator or None
        The seed of the random start, of the subsets and of the order of mini-batches.
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
    factor_ : array, shape (d, r)
        G, with W = G Gᵀ.
    rank_ : int
        The rank r.
    rank_path_ : list of gramian.estimators.RankTrial
        With rank="auto", the ranks that were tried. The cost of each is that of three quarters of the measurements,
        which it learns from; held_out_cost is that of the others, by which the rank is chosen.
    certificate_ : gramian.certificate.Certificate
        How far W is from the best positive semidefinite matrix of any rank; with rank="auto" or certificate=True.
    n_iter_ : int
        The number of iterations; of epochs for solver="online".
    converged_ : bool
        True if a stopping rule holds; always False for solver="online", which has none.
    message_ : str
        Why the fit ended.
    n_starts_ : int
        The number of starts that were tried.
    history_ : dict of str to array
        iteration, cost, gradient_norm, step, time (seconds) and passes (over the data): one entry per iteration of
        the last `fit`, the start included. Of further starts, those that did not lower the cost are left out.
    timings_ : dict of str to float
        The seconds spent outside the iterations, by phase.
    n_features_in_ : int
        The number of features of X.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PSDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, truth = rng.standard_normal((300, 6)), rng.standard_normal((6, 2))
    >>> y = np.sum((X @ truth) ** 2, axis=1)
    >>> model = PSDRegressor(rank=2, random_state=0).fit(X, y)
    >>> model.factor_.shape, bool(model.score(X, y) > 0.9999)
    ((6, 2), True)
    >>> found = PSDRegressor(rank="auto", random_state=0).fit(X, y)
    >>> found.rank_, found.certificate_.is_global
    (2, True)
    """

    def __init__(
        self,
        rank: int | str | None = 2,
        *,
        geometry: str | Geometry = "scaled",
        solver: str | Solver = "cg",
        loss: str | Loss = "squared",
        init: str | Matrix = "auto",
        n_init: str | int = "auto",
        growing: bool | Growing = True,
        max_iter: int = 500,
        tol: float = 1e-6,
        batch_size: int = 32,
        n_epochs: int = 5,
        certificate: bool = False,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
        callback: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.geometry = geometry
        self.solver = solver
        self.loss = loss
        self.init = init
        self.n_init = n_init
        self.growing = growing
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.certificate = certificate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, sense: Any = None) -> Self:
        """Learn W from all samples, starting from `init`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or array of shape (n, d, d); or vectors in blocks on workers
            Vectors x, which stand for x xᵀ, or matrices, of which only the symmetric parts are used.
        y : array, shape (n,); or the name of a column, if X is a list of Parquet files
            Targets. None for a table that has them.
        sample_weight : array, shape (n,), optional
            Weights, not negative. A weight of 2 is equivalent to a sample given twice.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (n,) of them, optional
            The constraint on a prediction: equal to y (default), at most y, or at least y.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, sense)

    @available_if(supports_partial_fit)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, sense: Any = None) -> Self:
        """Continue from the current W with one pass over new samples, in the given order.

        Available with solver="online" only. The first call chooses the step sizes, so it should have a hundred samples
        or more; otherwise set them by `Online(step_size=..., delay=...)`. Without an earlier `fit` it also computes the
        start. `history_` and `timings_` remain those of the last `fit`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or array of shape (n, d, d)
            Vectors x, which stand for x xᵀ, or matrices, of which only the symmetric parts are used.
        y : array, shape (n,)
            Targets.
        sample_weight : array, shape (n,), optional
            Weights, relative to the others of the same call.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (n,) of them, optional
            The constraint on a prediction: equal to y (default), at most y, or at least y.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, sense, streaming=True)

    def _fit(self, X: Any, y: Any, sample_weight: Any, sense: Any, *, streaming: bool = False) -> Self:
        """Learn from `init`, or continue from the current factor."""
        values = (y, sample_weight, sense)
        with (
            restore_on_failure(self),
            one_blas_thread(),
            open_data(self, X, *values) as opened,
            checkpoint_of(self) as checkpoint,
        ):
            journal = self._open_journal(streaming=streaming)
            stream: Stream | None = getattr(self, "_stream", None) if streaming else None
            resume = streaming and hasattr(self, "factor_")
            data = read_data(self, *opened, reset=not resume)
            note_scale(self, data.X, resume=resume)
            loss = resolve_part("loss", self.loss, LOSSES, Loss)
            rng = self._make_generator()
            if not streaming:
                checkpoint.open(journal, rng, **data.given)
            solver = self._resolve_solver(rng)
            check_n_init(self.n_init, solver)
            bounded = self._resolve_geometry().bounded
            with journal.phase("coordinates"):
                units = data.units(scale_free=bounded) if stream is None else stream.units
                coordinates = Coordinates.in_units(data.X, units)
                if not streaming:
                    coordinates = leave_out_zeros(self, coordinates, solver)
                coordinates = balance_columns(coordinates, self.geometry, solver, data.extremes)
            journal.cost_scale = coordinates.cost_scale(loss)
            problem = self._build_problem(data, coordinates, loss)
            with journal.phase("geometry"):
                geometry = choose_geometry(self, problem, solver, stream)
            setup = Setup(problem, solver, geometry, coordinates, journal, rng)
            if is_auto(self.rank):
                factor = self._search_rank(setup)
            else:
                with journal.phase("start"):
                    start, load = partial(self._compute_start, setup), partial(self._load_factor, coordinates)
                    factor = load() if resume else journal.checkpoint.remember("start", start, rng=rng)
            result = self._solve(setup, factor, stream, streaming)
            n_starts = getattr(self, "n_starts_", 1)
            if not streaming:
                result, n_starts = self._try_starts(setup, result)
            self._certify(setup, result)
            self._store_call(coordinates.to_user(result.point.G), result, journal, streaming)
            self.n_starts_ = n_starts
            self._stream = Stream.after(result, coordinates.units, geometry)
        if not streaming:
            self._warn(result, journal)
            if not bounded:
                warn_if_zero_is_best(data)
        return self

    def _solve(self, setup: Setup, factor: Matrix, stream: Stream | None, streaming: bool) -> Result:
        """Return the result of minimising; a stream makes one pass in the given order, with its current schedule."""
        point = setup.geometry.point(factor)
        if setup.solver.stops or not streaming:
            growing = resolve_growing(self, setup.solver, setup.rng)
            return self._minimize(setup, point, perfect=PERFECT * self.tol, growing=growing)
        check_stream_solver(setup.solver)
        in_order: Any = replace(setup.solver, shuffle=False)  # type: ignore[type-var]
        return learn_stream(setup._replace(solver=in_order), point, None if stream is None else stream.schedule)

    def _try_starts(self, setup: Setup, first: Result) -> BestResult:
        """Return the best result of the starts that n_init asks for, and their number."""
        if self.n_init == "auto" and not (isinstance(self.init, str) and self.init == "auto"):
            return BestResult(first, 1)
        polish = partial(self._minimize, setup, perfect=PERFECT * self.tol)
        return Restarts(setup.with_own_generator(), self.tol, self.max_iter).improve(first, self.n_init, polish)

    def _store_call(self, factor: Matrix, result: Result, journal: Journal, streaming: bool) -> None:
        """Set the fitted attributes; `partial_fit` keeps history and timings of the last `fit`, and adds to n_iter_."""
        before = {name: getattr(self, name) for name in ("history_", "timings_") if streaming and hasattr(self, name)}
        earlier = getattr(self, "n_iter_", 0) if streaming else 0
        self._store_result(factor, result, journal)
        self.rank_ = self.factor_.shape[1]
        self.n_iter_ += earlier
        for name, value in before.items():
            setattr(self, name, value)

    def predict(self, X: Any) -> Vector:
        """Return the predictions trace(W X), shape (n,).

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or array of shape (n, d, d)
            Vectors x, one per row; or matrices X.

        Returns
        -------
        array, shape (n,)
        """
        check_is_fitted(self)
        with open_blocks(X, self.n_jobs) as X:
            X = validate_input(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], allow_nd=True)
            check_shape(X)
            coordinates = Coordinates.in_units(X, Units())
            factor = self.factor_.astype(X.dtype, copy=False)
            return make_measurement(X, coordinates).predict(coordinates.features.image(factor))

    def matrix(self) -> Matrix:
        """Return W = G Gᵀ, shape (d, d)."""
        check_is_fitted(self)
        return matrix_of(self.factor_)

    def _build_problem(self, data: Data, coordinates: Coordinates, loss: Loss) -> Problem:
        """Return the problem of the data in the given coordinates."""
        if not (loss.bounded or self._resolve_geometry().bounded):
            raise ValueError(f"loss={self.loss!r} has no minimum unless W is bounded. Choose geometry='grassmann'.")
        target = coordinates.targets(data.y, data.X.dtype)
        measurement = make_measurement(data.X, coordinates)
        scaled = rescale_loss(loss, coordinates.units.target, data.X.dtype)
        term = Term(measurement, target, scaled, data.sense, data.weight)
        return Problem([Block(coordinates.features, [term])], self._resolve_execution(coordinates.features))

    def _compute_start(self, setup: Setup) -> Matrix:
        """Return the start (d, r), in the solver's coordinates."""
        rank = resolve_rank(self.rank, setup.problem.n_features, setup.geometry)
        return initial_factor(self.init, setup.problem, rank, setup.rng, setup.coordinates)

    def _search_rank(self, setup: Setup) -> Matrix:
        """Return a start (d, r) of the rank that was found."""
        check_auto("rank", self.init, setup.solver, setup.geometry)
        search = RankSearch(setup.with_own_generator(), setup.problem.n_features)
        _, factor, self.rank_path_ = search.choose()
        return factor

    def _load_factor(self, coordinates: Coordinates) -> Matrix:
        """Return the current factor (d, r), in the solver's coordinates."""
        d, dtype = coordinates.features.shape[1], coordinates.features.dtype
        rank = resolve_rank(self.rank, d, self._resolve_geometry())
        if rank != self.factor_.shape[1]:
            raise ValueError(f"rank={rank}, but the stream has rank {self.factor_.shape[1]}. Call fit to start anew.")
        return coordinates.to_solver(self.factor_, dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        # A homogeneous quadratic form has neither a constant nor a linear part.
        tags.regressor_tags.poor_score = True
        return tags
