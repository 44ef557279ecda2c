"""The regression y = trace(W X) with a positive semidefinite W of fixed rank."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.estimators.base import PSDEstimator, finite, uses_online, whitened
from gramian.estimators.checks import (
    checked_factor,
    checked_rank,
    checked_sense,
    checked_weight,
    chosen,
    unchanged_on_failure,
)
from gramian.estimators.units import Units, units_of
from gramian.features import Features, Identity, as_features
from gramian.geometries import Geometry, Scaled
from gramian.initialise import initial_factor
from gramian.losses import LOSSES, Loss
from gramian.measurements import Dense, Each, Measurement
from gramian.objective import Block, Problem, Term
from gramian.solvers import Growing, Online, Solver
from gramian.solvers.online import Schedule
from gramian.types import Matrix, Vector

__all__ = ["PSDRegressor"]

# A fit is as good as perfect at this share of tol: little noise should not be taken for none.
PERFECT = 0.01


class Stream(NamedTuple):
    """What `partial_fit` goes on from, beside the factor."""

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
    loss : {"squared", "linear"} or Loss
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
        with unchanged_on_failure(self):
            data = self._checked(X, y, sample_weight, sense, reset=True)
            units = units_of(*data[:2])
            problem = self._problem(data, units)
            rng = self._generator()
            solver = self._solver(rng)
            geometry = self._fitting(problem)
            point = geometry.point(self._start(problem, rng, units, geometry))
            growing = self._growing(solver, rng)
            result = self._solve(problem, point, solver, units.cost, perfect=PERFECT * self.tol, growing=growing)
            self.factor_ = finite(units.factor(result.point.G))
            self._stream = Stream(units, result.memory.schedule, geometry) if isinstance(solver, Online) else None
        self._warn(result)
        return self

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
        with unchanged_on_failure(self):
            stream: Stream | None = getattr(self, "_stream", None)
            begun = hasattr(self, "factor_")
            data = self._checked(X, y, sample_weight, sense, reset=not begun)
            units = units_of(*data[:2]) if stream is None else stream.units
            problem = self._problem(data, units)
            rng = self._generator()
            solver = self._solver(rng)
            assert isinstance(solver, Online)
            # A geometry fitted to the first data stays, unless another is asked for.
            fitted = stream is not None and self.geometry == "scaled" and isinstance(stream.geometry, Scaled)
            geometry = stream.geometry if stream is not None and fitted else self._fitting(problem)
            factor = self._resumed(problem, units) if begun else self._start(problem, rng, units, geometry)
            point = geometry.point(factor)
            schedule = solver.schedule(problem, point, rng, solver.subset) if stream is None else stream.schedule
            order = np.arange(len(problem.sampled.measurement))
            arrived, schedule = solver.stream(problem.evaluate(point), schedule, order)
            self.factor_ = finite(units.factor(arrived.point.G))
            self._stream = Stream(units, schedule, geometry)
            self.n_iter_ = getattr(self, "n_iter_", 0) + 1
            self.converged_ = True
        return self

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
        features, measurement = measured(X)
        return measurement.predict(features.image(self.factor_.astype(features.dtype, copy=False)))

    def matrix(self) -> Matrix:
        """W = G Gᵀ, (d, d)."""
        check_is_fitted(self)
        return self.factor_ @ self.factor_.T

    def _checked(self, X: Any, y: Any, sample_weight: Any, sense: Any, *, reset: bool) -> tuple[Any, ...]:
        """X, y, senses and weights, checked, without the samples of weight 0."""
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
        n = X.shape[0]
        weight = checked_weight(sample_weight, n, X.dtype)
        senses = checked_sense(sense, n)
        y = y.astype(np.float64)
        if not weight.all():
            kept = np.flatnonzero(weight)
            X, y, weight, senses = X[kept], y[kept], weight[kept], senses[kept]
        return X, y, senses, weight / weight.sum(dtype=np.float64).astype(X.dtype)

    def _problem(self, data: tuple[Any, ...], units: Units) -> Problem:
        """The problem of checked data, in units that suit it."""
        X, y, senses, weight = data
        loss = chosen("loss", self.loss, LOSSES, Loss)
        if not (loss.bounded or self._geometry().bounded):
            raise ValueError(f"loss={self.loss!r} has no minimum unless W is bounded. Choose geometry='grassmann'.")
        X, y = units.scaled(X, y)
        features, measurement = measured(X)
        return Problem([Block(features, [Term(measurement, y.astype(X.dtype), loss, senses, weight)])])

    def _start(self, problem: Problem, rng: np.random.Generator, units: Units, geometry: Geometry) -> Matrix:
        """The first factor."""
        rank = checked_rank(self.rank, problem.n_features, geometry)
        if isinstance(self.init, str):
            return initial_factor(self.init, problem, rank, rng)
        return units.start(checked_factor(self.init, problem.n_features, rank, problem.dtype))

    def _growing(self, solver: Solver, rng: np.random.Generator) -> Growing | None:
        """How subsets lead to a start; None where they are not asked for, or the solver is online."""
        if isinstance(self.growing, Growing):
            return self.growing if solver.stops else None
        if not isinstance(self.growing, bool | np.bool_):
            raise ValueError(f"growing={self.growing!r} is not valid. Give True, False, or a Growing.")
        wanted = self.growing and solver.stops and isinstance(self.init, str)
        return Growing(seed=int(rng.integers(2**31))) if wanted else None

    def _resumed(self, problem: Problem, units: Units) -> Matrix:
        """The factor that a stream has come to."""
        rank = checked_rank(self.rank, problem.n_features, self._geometry())
        if rank != self.factor_.shape[1]:
            raise ValueError(f"rank={rank}, but the stream has rank {self.factor_.shape[1]}. Call fit to start anew.")
        return units.start(self.factor_.astype(problem.dtype))

    def _fitting(self, problem: Problem) -> Geometry:
        """The geometry; "scaled" by the data's second moment too, where that is cheap."""
        features = problem.blocks[0].features
        if self.geometry != "scaled" or isinstance(features, Identity):
            return self._geometry()
        return whitened(features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        # A homogeneous quadratic form has neither a constant nor a linear part.
        tags.regressor_tags.poor_score = True
        return tags


def measured(X: Any) -> tuple[Features, Measurement]:
    """Features and measurements of vectors (n, d) or matrices (n, d, d)."""
    if X.ndim == 2:
        return as_features(X), Each(X.shape[0])
    if X.ndim != 3 or X.shape[1] != X.shape[2]:
        raise ValueError(f"X has shape {X.shape}; expected vectors (n, d) or square matrices (n, d, d).")
    return Identity(X.shape[1], X.dtype), Dense(X)
