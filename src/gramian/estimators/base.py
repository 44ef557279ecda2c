"""What all estimators share: how settings become parts, and a problem a result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gramian.checks import checked_number
from gramian.estimators.checks import checked_callback, chosen
from gramian.features import Features
from gramian.geometries import GEOMETRIES, Geometry, Point, Scaled
from gramian.objective import Problem
from gramian.progress import combined
from gramian.sampling import generator
from gramian.solvers import SOLVERS, Online, Record, Result, Solver, minimize
from gramian.solvers.loop import HALTED, STUCK
from gramian.types import Matrix, Vector

__all__ = ["HALTED", "PSDEstimator", "uses_online", "whitened"]

# Up to this dimension the second moment of the data is worth its d x d products.
LARGEST_MOMENT = 500
RIDGE = 1e-5


class PSDEstimator(BaseEstimator):
    """An estimator that lowers an objective on a geometry with a solver.

    Subclasses have the parameters geometry, solver, max_iter, tol, batch_size, n_epochs, random_state, callback and
    verbose; fitting gives them factor_, n_iter_, converged_ and history_.
    """

    geometry: str | Geometry
    solver: str | Solver
    max_iter: int
    tol: float
    batch_size: int
    n_epochs: int
    random_state: Any
    callback: Any
    verbose: int

    factor_: Matrix
    n_iter_: int
    converged_: bool
    history_: dict[str, Vector]

    def _generator(self) -> np.random.Generator:
        """The source of all randomness of one call, fixed by random_state."""
        return generator(self.random_state)

    def _geometry(self) -> Geometry:
        """The geometry, given as an object or by name."""
        return chosen("geometry", self.geometry, GEOMETRIES, Geometry)

    def _solver(self, rng: np.random.Generator) -> Solver:
        """The solver, given as an object or by name; by name, online solvers take batch_size and a seed."""
        checked_number("max_iter", self.max_iter, least=0, integer=True)
        checked_number("n_epochs", self.n_epochs, least=0, integer=True)
        checked_number("batch_size", self.batch_size, least=1, integer=True)
        checked_number("tol", self.tol, least=0)
        checked_number("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)
        checked_callback(self.callback)
        solver = chosen("solver", self.solver, SOLVERS, Solver)
        if isinstance(solver, Online) and isinstance(self.solver, str):
            return replace(solver, batch_size=self.batch_size, seed=int(rng.integers(2**31)))
        return solver

    def _solve(
        self,
        problem: Problem,
        point: Point,
        solver: Solver,
        cost: Callable[[Any], Any] = lambda cost: cost,
        most: int | None = None,
        done: int = 0,
        **settings: Any,
    ) -> Result:
        """Minimises from a point, and sets factor_, n_iter_, converged_ and history_; costs in the user's units.

        `most` bounds the iterations further; `done` is how many came before, in rounds that callbacks see as one;
        other settings are those of `minimize`.
        """
        iterations = self.max_iter if solver.stops else self.n_epochs
        iterations = iterations if most is None else min(iterations, most)
        report = combined(self.callback, self.verbose)

        def told(record: Record) -> Any:
            if report is not None and (record.iteration or not done):
                return report(record._replace(iteration=record.iteration + done, cost=cost(record.cost)))

        result = minimize(problem, solver, point, max_iter=iterations, tol=self.tol, callback=told, **settings)
        self.factor_ = finite(result.point.G)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged or (not solver.stops and result.n_iter == iterations)
        self.history_ = {**result.history, "cost": cost(result.history["cost"])}
        return result

    def _warn(self, result: Result) -> None:
        """A ConvergenceWarning where a batch solver ran out of iterations, or an online one ended too high."""
        cost, norm = result.history["cost"], result.history["gradient_norm"]
        online = bool(np.isnan(norm[-1]))
        if online and not cost[-1] <= cost[0]:
            message = (
                f"the cost rose from {cost[0]:.2e} to {cost[-1]:.2e}. Give smaller steps by "
                "solver=Online(step_size=...), or scale X."
            )
        elif not (online or self.converged_) and result.n_iter == self.max_iter:
            message = (
                f"not converged after max_iter={self.max_iter} iterations: the gradient's norm is {norm[-1]:.2e}, "
                f"at first it was {norm[0]:.2e}. Raise max_iter or tol, or scale the features of X alike."
            )
        elif not (online or self.converged_) and result.message == STUCK:
            message = (
                f"stopped after {result.n_iter} iterations, at a gradient of norm {norm[-1]:.2e}: {result.message}. "
                "Scale the features of X alike, or use float64."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=3)


def finite(factor: Matrix) -> Matrix:
    """A factor, if it is finite."""
    if not np.isfinite(factor).all():
        raise ValueError("the factor is no longer finite: the steps were too long. Scale X, or lower the step.")
    return factor


def whitened(features: Features) -> Scaled:
    """The scaled geometry, by the data's second moment too, where that is cheap."""
    n, d = features.shape
    if not d <= min(n, LARGEST_MOMENT):
        return Scaled()
    rows = features.take(np.arange(0, n, -(-n // (20 * d))))
    moment = rows.pull(rows.dense()) / rows.shape[0]
    # A ridge, for features that are copies of others, and one for those that are zero.
    own, limits = np.diag(moment), np.finfo(moment.dtype)
    return Scaled(moment + np.diag(RIDGE * own + max(limits.eps * own.max(), limits.tiny)))


def uses_online(estimator: Any) -> bool:
    """True where partial_fit is possible."""
    if isinstance(estimator.solver, Online) or estimator.solver == "online":
        return True
    raise AttributeError(f"partial_fit needs solver='online'; this one has solver={estimator.solver!r}.")
