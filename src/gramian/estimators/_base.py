"""The base class of the estimators: it turns parameters into parts, minimises, and stores the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gramian.certificate import Certificate, Certifier
from gramian.estimators._checks import check_callback, check_flag, check_solver_settings, check_verbose, resolve_part
from gramian.estimators._html import html_of, mimebundle_of
from gramian.estimators._online import is_online
from gramian.estimators._rank import is_auto
from gramian.estimators._setup import Setup
from gramian.execution import Execution, Serial, resolve_execution
from gramian.features import Features
from gramian.geometries import GEOMETRIES, Geometry, Point, Scaled
from gramian.progress import make_reporter
from gramian.solvers import SOLVERS, Ending, Journal, Online, Result, Solver, minimize
from gramian.starts.moments import second_moment
from gramian.supervision.sampling import as_generator
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["PSDEstimator", "check_finite", "make_whitened_geometry", "supports_partial_fit"]

# The largest number of features for which the d x d second moment of the data is computed.
LARGEST_MOMENT = 500
RIDGE = 1e-5
# The second moment is estimated from this many samples per feature, and from up to ten times as many where that takes
# no longer than one product of the data with a factor, and they have no more than MOST_ENTRIES entries.
SAMPLES_PER_FEATURE, MOST_PER_FEATURE, MOST_ENTRIES = 20, 200, 2**22
# The entries of rows whose moment takes about a millisecond: as many are always taken.
QUICK = 2**18


class PSDEstimator(BaseEstimator):
    """Base class of estimators that minimise an objective over a geometry with a solver.

    Subclasses have the parameters geometry, solver, max_iter, tol, batch_size, n_epochs, n_jobs, random_state,
    callback, checkpoint, checkpoint_every and verbose, and some have certificate; fitting gives them factor_, n_iter_,
    converged_, message_, history_ and timings_.
    """

    geometry: str | Geometry
    solver: str | Solver
    max_iter: int
    tol: float
    batch_size: int
    n_epochs: int
    certificate: bool = False
    n_jobs: int | Execution | None
    random_state: Any
    callback: Any
    checkpoint: Any
    checkpoint_every: float
    verbose: int

    factor_: Matrix
    certificate_: Certificate
    n_iter_: int
    converged_: bool
    message_: str
    history_: dict[str, Vector]
    timings_: dict[str, float]

    # Notebooks show scikit-learn's diagram, and a table of what was learned.
    _repr_html_inner, _repr_mimebundle_ = html_of, mimebundle_of

    def _make_generator(self) -> np.random.Generator:
        """Return the random generator of one call, seeded by random_state."""
        return as_generator(self.random_state)

    def _resolve_geometry(self) -> Geometry:
        """Return the geometry; the parameter is a name or an object."""
        return resolve_part("geometry", self.geometry, GEOMETRIES, Geometry)

    def _resolve_execution(self, X: Any = None) -> Execution:
        """Return the execution that n_jobs selects; that of samples X which are on workers."""
        return getattr(X, "execution", None) or resolve_execution(self.n_jobs)

    def _resolve_solver(self, rng: np.random.Generator, auto: str | None = None) -> Solver:
        """Return the solver; the parameter is a name or an object. "auto" stands for the name `auto`, if that is given.

        An online solver given by name takes batch_size and a random seed.
        """
        known = SOLVERS if auto is None else {"auto": SOLVERS[auto], **SOLVERS}
        solver = resolve_part("solver", self.solver, known, Solver)
        if isinstance(self.solver, str) and isinstance(solver, Online):
            return replace(solver, batch_size=self.batch_size, seed=int(rng.integers(2**31)))
        return solver

    def _open_journal(self, *, streaming: bool = False) -> Journal:
        """Return the journal of one fit, or of one more call of partial_fit, with its clock started.

        Raises a ValueError that names the first invalid parameter among those that all estimators have. Ctrl-C ends a
        fit at the best point so far, unless it is to be resumed from a checkpoint.
        """
        check_solver_settings(self)
        check_flag("certificate", self.certificate)
        check_verbose(self.verbose)
        check_callback(self.callback)
        journal = Journal(self.callback, make_reporter(self.verbose))
        journal.keeps_best = not streaming and self.checkpoint is None
        return journal

    def _minimize(self, setup: Setup, point: Point, *, at_most: int | None = None, **more: Any) -> Result:
        """Return the result of minimising from a point; further arguments are passed to `minimize`."""
        problem, solver, journal = setup.problem, setup.solver, setup.journal
        iterations = self.max_iter if solver.stops else self.n_epochs
        iterations = iterations if at_most is None else min(iterations, at_most)
        if not solver.stops and at_most is None:
            journal.expect(iterations)
        return minimize(problem, solver, point, max_iter=iterations, tol=self.tol, journal=journal, **more)

    def _certify(self, setup: Setup, result: Result) -> None:
        """Set certificate_ if `certificate` is True or a rank was chosen; else drop that of an earlier fit.

        The ranks that an earlier fit tried are dropped unless a rank was chosen.
        """
        auto = is_auto(getattr(self, "rank", getattr(self, "n_components", None)))
        self.__dict__.pop("certificate_", None)
        if not auto:
            self.__dict__.pop("rank_path_", None)
        if self.certificate or auto:
            with setup.journal.phase("certificate"):
                certifier = Certifier(setup.problem, setup.coordinates, setup.journal.cost_scale)
                self.certificate_ = certifier.certify(setup.problem.evaluate(result.point))

    def _store_result(self, factor: Matrix, result: Result, journal: Journal) -> None:
        """Set the fitted attributes."""
        self.factor_ = check_finite(factor)
        self.n_iter_ = len(journal.records) - 1
        self.converged_, self.message_ = result.converged, result.message
        self.history_, self.timings_ = journal.history, dict(journal.phases)
        journal.end(result.message)

    def _takes_features(self) -> bool:
        """Return True if X has features, which can be scaled; False for a kernel or a matrix of distances."""
        return True

    def _warn(self, result: Result, journal: Journal, advice: str | None = None) -> None:
        """Issue a ConvergenceWarning if a batch solver did not converge, or an online solver increased the cost."""
        scaling = ", or scale the features of X alike" if self._takes_features() else ""
        advice = f"Raise max_iter or tol{scaling}." if advice is None else advice
        cost, norm = self.history_["cost"], self.history_["gradient_norm"]
        if not result.stops:
            # A cost below this share of that of W = 0 counts as zero: it may rise and fall.
            share = max(self.tol, float(np.finfo(self.factor_.dtype).eps))
            if cost[-1] <= max(cost[0], share * journal.cost_at_zero):
                return
            message = (
                f"the cost rose from {cost[0]:.2e} to {cost[-1]:.2e}. Give smaller steps by "
                f"solver=Online(step_size=...){scaling}."
            )
        elif result.ending is Ending.EXHAUSTED:
            message = (
                f"not converged, {result.message}: the gradient's norm is {norm[-1]:.2e}, at first it was "
                f"{norm[0]:.2e}. {advice}"
            )
        elif result.ending is Ending.STUCK:
            message = (
                f"stopped after {self.n_iter_} iterations, at a gradient of norm {norm[-1]:.2e}: {result.message}. "
                f"Use float64{scaling}."
            )
        else:
            return
        warn_user(message, ConvergenceWarning)


def check_finite(factor: Matrix) -> Matrix:
    """Return the factor; raise a ValueError if an entry is not finite."""
    if not np.isfinite(factor).all():
        raise ValueError("the factor is no longer finite: the steps were too long. Scale X, or lower the step.")
    return factor


def make_whitened_geometry(
    features: Features, *, rank: int = 0, gaussian: bool = False, execution: Execution | None = None
) -> Scaled:
    """Return the scaled geometry, with the second moment (d, d) of the data unless d is large or exceeds n.

    `rank` is that of the factor, if known. If `gaussian`, the metric is that of a regression on Gaussian samples with
    this moment.
    """
    n, d = features.shape
    if d > min(n, LARGEST_MOMENT):
        return Scaled()
    # A feature that is zero in the rows that are taken, but not in others, has far too small a moment.
    count = max(SAMPLES_PER_FEATURE * d, min(n * rank // d, MOST_PER_FEATURE * d, MOST_ENTRIES // d), QUICK // d)
    rows = features.take(np.arange(0, n, -(-n // count)))
    moment = second_moment(rows, Serial() if execution is None else execution) / rows.shape[0]
    # The first ridge is for features that are copies of others, the second for features that are always zero.
    own, limits = np.diag(moment), np.finfo(moment.dtype)
    return Scaled(moment + np.diag(RIDGE * own + max(limits.eps * own.max(), limits.tiny)), gaussian)


def supports_partial_fit(estimator: Any) -> bool:
    """Return True if the solver is online; else raise an AttributeError, as `available_if` expects."""
    if is_online(estimator.solver):
        return True
    raise AttributeError(f"partial_fit needs solver='online'; this one has solver={estimator.solver!r}.")
