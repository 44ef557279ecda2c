"""The regression y = trace(W X) with a positive semidefinite W of fixed rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.checks import checked_factor, checked_sense, checked_weight
from gramian.coordinates import Coordinates, Units, units_of_regression
from gramian.estimators._base import PSDEstimator, uses_online, whitened_geometry
from gramian.estimators._checks import checked_rank, resolve_part, unchanged_on_failure
from gramian.execution import Execution
from gramian.features import Identity
from gramian.geometries import Geometry, Point, Scaled
from gramian.losses import LOSSES, Loss
from gramian.measurements import Dense, Each, Measurement
from gramian.objective import Block, Problem, Term
from gramian.solvers import Growing, Journal, Online, Result, Solver, minimize
from gramian.solvers.online import Memory, Schedule
from gramian.starts import initial_factor
from gramian.types import Matrix, Vector

__all__ = ["PSDRegressor"]

# A fit is as good as perfect at this share of tol: little noise should not be taken for none.
PERFECT = 0.01


class Data(NamedTuple):
    """Checked input: vectors or matrices, targets (n,), senses (n,) and weights (n,) of sum 1."""

    X: Any
    y: Vector
    sense: Vector
    weight: Vector


class Stream(NamedTuple):
    """What `partial_fit` continues from, beside the factor."""

    units: Units
    schedule: Schedule
    geometry: Geometry


class PSDRegressor(RegressorMixin, PSDEstimator):
    """Regression y = trace(W X), W positive semidefinite of rank r and never formed.

    X is given as vectors x, meaning X = x xᵀ and y = xᵀ W x, or as matrices.

    Parameters
    ----------
    rank : int or None
        The rank r of W; None for full rank.
    geometry : {"scaled", "flat", "polar", "affine", "log-euclidean", "grassmann"} or Geometry
        Where W lives. "scaled" is fast whatever the conditioning of W; "flat" and "polar" are the paper's; "affine"
        and "log-euclidean" learn full-rank matrices.
    solver : {"cg", "gd", "trust-region", "online"} or Solver
        "cg" for most work, "trust-region" for many digits, "gd" for the paper's batch algorithm, "online" for
        mini-batches and streams.
    loss : {"squared", "huber", "linear", "hinge"} or Loss
    init : {"auto", "spectral", "random", "pca", "identity"} or array of shape (d, r)
        The first factor. "auto" is spectral, and the identity where the rank is full.
    growing : bool or Growing
        Whether batch solvers of many measurements an unknown start from where random subsets of them lead, each five
        times the one before: where the minimum is unique, the same in a fraction of the time. From an `init` that is
        an array only if a `Growing` is given.
    max_iter : int
        The most iterations of a batch solver over all the data; callbacks see these.
    tol : float
        Stops when the cost is below a hundredth of tol times that of W = 0, or cost or factor change by less than this
        share.
    batch_size, n_epochs : int
        For solver="online". A solver given as an object has its own batch size and seed.
    n_jobs : int, None or Execution
        The number of threads, -1 for one a core; the result does not depend on it. None leaves threads to BLAS.
    random_state : int, RandomState or None
        Fixes the random start, the subsets and the order of mini-batches.
    callback : callable, optional
        Called with a `gramian.solvers.Record` after every iteration; a true return value stops the fit.
    verbose : int
        1 reports every tenth iteration, 2 every one, on standard error.

    Attributes
    ----------
    factor_ : array, shape (d, r)
        G, with W = G Gᵀ.
    n_iter_ : int
    converged_ : bool
        True if a stopping rule holds; never for online solvers, which have none.
    message_ : str
        Why the fit ended.
    timings_ : dict of str to float
        Seconds spent outside the iterations, by what they were spent on.
    history_ : dict of str to array
        After `fit`: iteration, cost, gradient_norm, step, time, passes; one entry an iteration.
    n_features_in_ : int

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
    """

    def __init__(
        self,
        rank: int | None = 2,
        *,
        geometry: str | Geometry = "scaled",
        solver: str | Solver = "cg",
        loss: str | Loss = "squared",
        init: str | Matrix = "auto",
        growing: bool | Growing = True,
        max_iter: int = 500,
        tol: float = 1e-6,
        batch_size: int = 32,
        n_epochs: int = 5,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
        callback: Any = None,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.geometry = geometry
        self.solver = solver
        self.loss = loss
        self.init = init
        self.growing = growing
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sense: Any = None) -> Self:
        """Learn W from all the data, from the start.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or array of shape (n, d, d)
            Vectors x, standing for x xᵀ, or matrices. Of a matrix only the symmetric part counts.
        y : array, shape (n,)
        sample_weight : array, shape (n,), optional
            A weight of 2 is a sample given twice.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (n,) of them, optional
            What is asked of a prediction: to equal y, to be at most y, or at least y.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, sense)

    @available_if(uses_online)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, sense: Any = None) -> Self:
        """Learn on, from some more data seen once, in the order given; with solver="online" only.

        The first call chooses step sizes from its data, and the start unless `fit` came before; it should hold some
        hundred samples, or steps be given by `Online(step_size=..., delay=...)`. `history_` is that of the last `fit`.

        Parameters
        ----------
        X, y, sample_weight, sense
            As for `fit`. Weights are relative to the others of the same call.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, sense, resume=True)

    def _fit(self, X: Any, y: Any, sample_weight: Any, sense: Any, *, resume: bool = False) -> Self:
        """Learn from the start, or continue a stream."""
        with unchanged_on_failure(self):
            stream: Stream | None = getattr(self, "_stream", None) if resume else None
            begun = resume and hasattr(self, "factor_")
            data = self._validate(X, y, sample_weight, sense, reset=not begun)
            loss = resolve_part("loss", self.loss, LOSSES, Loss)
            rng = self._generator()
            solver = self._solver(rng)
            bounded = self._geometry().bounded
            units = units_of_regression(data.X, data.y, scale_free=bounded) if stream is None else stream.units
            coordinates = Coordinates.in_units(data.X, units)
            journal = self._journal(coordinates.cost_scale(loss))
            problem = self._problem(data, coordinates, loss)
            with journal.phase("geometry"):
                geometry = self._fitted_geometry(problem, stream)
            with journal.phase("start"):
                factor = self._resume(coordinates) if begun else self._start(problem, rng, coordinates, geometry)
            result = self._solve(problem, geometry.point(factor), solver, journal, stream, rng, resume)
            self._keep(coordinates.to_user(result.point.G), result, journal, resume)
            schedule = getattr(result.memory, "schedule", None)
            self._stream = None if schedule is None else Stream(coordinates.units, schedule, geometry)
        if not resume:
            self._warn(result)
        return self

    def _solve(
        self,
        problem: Problem,
        point: Point,
        solver: Solver,
        journal: Journal,
        stream: Stream | None,
        rng: np.random.Generator,
        resume: bool,
    ) -> Result:
        """Minimise; a stream sees its samples once, in the order given, with the schedule it has come to."""
        if not (resume and isinstance(solver, Online)):
            growing = self._growing(solver, rng)
            return self._minimize(problem, point, solver, journal, perfect=PERFECT * self.tol, growing=growing)
        schedule = solver.schedule(problem, point, rng, solver.subset) if stream is None else stream.schedule
        in_order = replace(solver, shuffle=False)
        return minimize(problem, in_order, point, max_iter=1, journal=journal, memory=Memory(schedule, rng))

    def _keep(self, factor: Matrix, result: Result, journal: Journal, resume: bool) -> None:
        """Set what users see; a stream keeps the history of the last `fit`."""
        before = {name: getattr(self, name) for name in ("history_", "timings_") if resume and hasattr(self, name)}
        calls = getattr(self, "n_iter_", 0) if resume else 0
        self._store(factor, result, journal)
        self.n_iter_ += calls
        for name, value in before.items():
            setattr(self, name, value)

    def predict(self, X: Any) -> Vector:
        """trace(W X), one for each sample.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or array of shape (n, d, d)

        Returns
        -------
        array, shape (n,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], allow_nd=True)
        check_shape(X)
        coordinates = Coordinates.in_units(X, Units())
        factor = self.factor_.astype(X.dtype, copy=False)
        return measurement_of(X, coordinates).predict(coordinates.features.image(factor))

    def matrix(self) -> Matrix:
        """W = G Gᵀ, (d, d)."""
        check_is_fitted(self)
        return self.factor_ @ self.factor_.T

    def _validate(self, X: Any, y: Any, sample_weight: Any, sense: Any, *, reset: bool) -> Data:
        """Return checked data, without the samples of weight 0."""
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            allow_nd=True,
            y_numeric=True,
        )
        check_shape(X)
        n = X.shape[0]
        weight = checked_weight(sample_weight, n, X.dtype)
        senses = checked_sense(sense, n)
        y = y.astype(np.float64)
        if not weight.all():
            kept = np.flatnonzero(weight)
            X, y, weight, senses = X[kept], y[kept], weight[kept], senses[kept]
        return Data(X, y, senses, weight / weight.sum(dtype=np.float64).astype(X.dtype))

    def _problem(self, data: Data, coordinates: Coordinates, loss: Loss) -> Problem:
        """Return the problem of checked data in some coordinates."""
        if not (loss.bounded or self._geometry().bounded):
            raise ValueError(f"loss={self.loss!r} has no minimum unless W is bounded. Choose geometry='grassmann'.")
        target = coordinates.targets(data.y).astype(data.X.dtype)
        measurement = measurement_of(data.X, coordinates)
        term = Term(measurement, target, loss.rescaled(coordinates.units.target), data.sense, data.weight)
        return Problem([Block(coordinates.features, [term])], self._execution())

    def _start(
        self, problem: Problem, rng: np.random.Generator, coordinates: Coordinates, geometry: Geometry
    ) -> Matrix:
        """Return the first factor, in the solver's coordinates."""
        rank = checked_rank(self.rank, problem.n_features, geometry)
        if not isinstance(self.init, str):
            return coordinates.to_solver(checked_factor(self.init, problem.n_features, rank, problem.dtype))
        return initial_factor(self.init, problem, rank, rng, coordinates.units.data)

    def _growing(self, solver: Solver, rng: np.random.Generator) -> Growing | None:
        """Return how subsets lead to a start; None where they are not asked for, or the solver is online."""
        if isinstance(self.growing, Growing):
            return self.growing if solver.stops else None
        if not isinstance(self.growing, bool | np.bool_):
            raise ValueError(f"growing={self.growing!r} is not valid. Give True, False, or a Growing.")
        wanted = self.growing and solver.stops and isinstance(self.init, str)
        return Growing(seed=int(rng.integers(2**31))) if wanted else None

    def _resume(self, coordinates: Coordinates) -> Matrix:
        """Return the factor that a stream has come to, in the solver's coordinates."""
        d, dtype = coordinates.features.shape[1], coordinates.features.dtype
        rank = checked_rank(self.rank, d, self._geometry())
        if rank != self.factor_.shape[1]:
            raise ValueError(f"rank={rank}, but the stream has rank {self.factor_.shape[1]}. Call fit to start anew.")
        return coordinates.to_solver(self.factor_.astype(dtype))

    def _fitted_geometry(self, problem: Problem, stream: Stream | None) -> Geometry:
        """Return the geometry; "scaled" has the data's second moment too, that of the first data of a stream."""
        if self.geometry != "scaled":
            return self._geometry()
        if stream is not None and isinstance(stream.geometry, Scaled):
            return stream.geometry
        features = problem.blocks[0].features
        return self._geometry() if isinstance(features, Identity) else whitened_geometry(features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        # A homogeneous quadratic form has neither a constant nor a linear part.
        tags.regressor_tags.poor_score = True
        return tags


def check_shape(X: Any) -> None:
    """Raise a ValueError unless X holds vectors (n, d) or square matrices (n, d, d)."""
    if X.ndim != 2 and (X.ndim != 3 or X.shape[1] != X.shape[2]):
        raise ValueError(f"X has shape {X.shape}; expected vectors (n, d) or square matrices (n, d, d).")


def measurement_of(X: Any, coordinates: Coordinates) -> Measurement:
    """Return the measurements by vectors (n, d), or by matrices (n, d, d), which have the square of a vector's unit."""
    if X.ndim == 2:
        return Each(X.shape[0])
    unit = coordinates.units.data**2
    return Dense(X if unit == 1 else X * X.dtype.type(unit))
