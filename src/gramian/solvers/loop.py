"""The loop of all solvers: it takes steps, keeps the history, applies the stopping rules and calls the callback."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian.checks import check_number
from gramian.geometries import Point
from gramian.interrupts import INTERRUPTED, may_end_quietly
from gramian.objective import Evaluation, Problem
from gramian.solvers.growing import Growing
from gramian.solvers.journal import Callback, Journal
from gramian.solvers.snapshot import Snapshot, restore_evaluation, take_snapshot
from gramian.solvers.solver import Ending, Result, Solver, Step, attempt_step, is_perfect, start_solver, will_end
from gramian.warn import warn_user

__all__ = ["check_change", "minimize"]

# The number of steps after which images are recomputed, because moving them accumulates rounding errors.
REFRESH_EVERY = {np.dtype(np.float32): 64, np.dtype(np.float64): 1024}
# They are also recomputed if the rounding errors of the last computed ones exceed this share of the objective.
STALE = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-8}


def minimize(
    problem: Problem,
    solver: Solver,
    point: Point,
    *,
    max_iter: int = 500,
    tol: float = 1e-6,
    perfect: float | None = None,
    callback: Callback | None = None,
    growing: Growing | None = None,
    journal: Journal | None = None,
    memory: Any = None,
) -> Result:
    """Minimise an objective f from a start, and return the result.

    The loop stops if f <= perfect · f(W = 0), if the relative decrease of f is at most tol, or if the relative change
    of G is at most tol. These are the paper's three rules, made independent of units. Where f(W = 0) is 0, the first
    rule has f at the start in its place. The loop also stops if rounding errors prevent any decrease, and, where
    convergence is fast and the metric approximates the Hessian, if the predicted decrease of f is at most tol.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    point : Point
        The start. Its geometry is the geometry of the minimisation.
    max_iter : int
        The largest number of iterations. An iteration of an online solver is an epoch.
    tol : float
        The tolerance of the stopping rules.
    perfect : float, optional
        The fraction of f(W = 0) at which a fit counts as perfect; tol if omitted.
    callback : callable, optional
        Called with a `Record` after every iteration; a true return value stops the loop.
    growing : Growing, optional
        Replaces the start by a solution on growing subsets of the measurements; the problem must have one term. The
        first record of the history includes its time and its passes.
    journal : Journal, optional
        The history of earlier minimisations, which is continued. Its callback is used instead of `callback`.
    memory : object, optional
        The memory of the solver in an earlier `Result`, to continue from it.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term, minimize
    >>> from gramian.features import Array
    >>> from gramian.geometries import Scaled
    >>> from gramian.measurements import Each
    >>> from gramian.solvers import ConjugateGradient
    >>> rng = np.random.default_rng(0)
    >>> X, truth = rng.standard_normal((200, 5)), rng.standard_normal((5, 2))
    >>> problem = Problem([Block(Array(X), [Term(Each(200), np.sum((X @ truth) ** 2, axis=1))])])
    >>> result = minimize(problem, ConjugateGradient(), Scaled().point(np.eye(5)[:, :2]), tol=1e-12)
    >>> result.converged, bool(np.allclose(result.point.G @ result.point.G.T, truth @ truth.T, atol=1e-4))
    (True, True)
    """
    check_arguments(problem, solver, point, max_iter, tol)
    journal = Journal(callback) if journal is None else journal
    # Upper bounds alone hold at W = 0. The cost of the start is then the scale of a perfect fit.
    with np.errstate(over="ignore", invalid="ignore"):
        scale = problem.value_at_zero or problem.evaluate(point).value
        journal.cost_at_zero = journal.cost_scale * problem.value_at_zero
    perfect_cost = (tol if perfect is None else perfect) * scale
    loop = Loop(problem, solver, tol, perfect_cost, journal, problem.passes, max_iter)
    return journal.checkpoint.remember("minimise", partial(loop.run, point, growing, memory), problem=problem)


class Verdict(NamedTuple):
    """Why a minimisation ends, and the message; `ending` is None while it goes on."""

    ending: Ending | None
    message: str = ""


GO_ON = Verdict(None)


class Checked(NamedTuple):
    """The verdict after a step, and the number of successive small steps."""

    verdict: Verdict
    n_small: int


class Standing(NamedTuple):
    """The state of a minimisation after an iteration.

    Attributes
    ----------
    evaluation : Evaluation
    memory : object
        That of the solver.
    fresh_noise : float
        The noise of the evaluation that computed images anew last.
    n_iter, n_small : int
        The iterations so far, and the number of successive small steps at their end.
    verdict : Verdict
    halted : bool
        True if the callback asks to stop.
    interrupted : bool
        True if Ctrl-C ends the minimisation.
    """

    evaluation: Evaluation
    memory: Any
    fresh_noise: float
    n_iter: int = 0
    n_small: int = 0
    verdict: Verdict = GO_ON
    halted: bool = False
    interrupted: bool = False

    @property
    def ended(self) -> bool:
        """True if a stopping rule holds, or the callback or the user asks to stop."""
        return self.verdict.ending is not None or self.halted or self.interrupted


class Position(NamedTuple):
    """The state of a minimisation as a checkpoint stores it, with the number of passes so far."""

    snapshot: Snapshot
    memory: Any
    fresh_noise: float
    n_iter: int
    n_small: int
    passes: float


class Loop(NamedTuple):
    """What all iterations of a minimisation share. `perfect_cost` is the cost at which a fit counts as perfect."""

    problem: Problem
    solver: Solver
    tol: float
    perfect_cost: float
    journal: Journal
    passes: float
    max_iter: int

    def run(self, point: Point, growing: Growing | None, memory: Any) -> Result:
        """Return the result of the minimisation from a point, or from where it was interrupted."""
        problem, solver, journal = self.problem, self.solver, self.journal
        found: Position | None = journal.checkpoint.position()
        at = self.begin(point, growing, memory) if found is None else self.resume(found)
        while not at.ended and at.n_iter < self.max_iter:
            self.offer(at)
            at = self.iterate_or_end(at)
        ending, message = at.verdict
        if at.interrupted or at.halted:
            ending, message = Ending.HALTED, INTERRUPTED if at.interrupted else Ending.HALTED.value
        elif ending is None:
            ending = Ending.EXHAUSTED
            message = f"max_iter={self.max_iter} reached" if solver.stops else f"{self.max_iter} epochs done"
        elif ending is Ending.STUCK and is_stationary(at.evaluation):
            ending, message = Ending.CONVERGED, "no step lowers the objective, and its model predicts no decrease"
        journal.passes += problem.passes - self.passes
        end, cost = at.evaluation.point, at.evaluation.value
        return Result(end, cost, at.n_iter, ending, message, journal.history, at.memory, solver.stops)

    def begin(self, point: Point, growing: Growing | None, memory: Any) -> Standing:
        """Return the standing at the start, which is written to the journal if that is empty."""
        problem, solver, journal = self.problem, self.solver, self.journal
        if growing is not None and self.max_iter > 0:
            with journal.phase("growing samples"):
                point = growing.start(problem, solver, point, self.perfect_cost, journal.checkpoint)
        with np.errstate(over="ignore", invalid="ignore"):
            evaluation = problem.evaluate(point)
        if not np.isfinite(evaluation.value):
            raise ValueError(f"the objective at the start is {evaluation.value}; scale the data or the start.")
        fresh_noise = evaluation.noise
        verdict = self.check_start(evaluation) if solver.stops else GO_ON
        if memory is None:
            with journal.phase(solver.start_phase) if solver.start_phase else nullcontext():
                memory = start_solver(solver, evaluation)
        # A later minimisation of the same fit starts where the last one ended, which is in the journal already.
        halted = not journal.records and self.write(evaluation, 0.0)
        return Standing(evaluation, memory, fresh_noise, verdict=verdict, halted=halted)

    def iterate_or_end(self, at: Standing) -> Standing:
        """Return the standing after one more iteration; the same, interrupted, if Ctrl-C ends the minimisation."""
        count = len(self.journal.records)
        try:
            return self.iterate(at)
        except KeyboardInterrupt:
            if not (self.journal.keeps_best and may_end_quietly()):
                raise
            # The iteration may have been written already, and is not taken.
            del self.journal.records[count:]
            warn_user(
                f"interrupted after {count - 1} iterations: the best point so far is kept, and converged_ is False. "
                "Press Ctrl-C twice to end the program, and set checkpoint=... to go on later.",
                ConvergenceWarning,
            )
            return at._replace(interrupted=True)

    def iterate(self, at: Standing) -> Standing:
        """Return the standing after one more iteration, which is written to the journal."""
        problem, solver = self.problem, self.solver
        step = attempt_step(solver, at.evaluation, at.memory)
        n_iter, fresh_noise = at.n_iter + 1, at.fresh_noise
        verdict, n_small = self.check_step(at.evaluation, step, at.n_small)
        evaluation = step.evaluation
        due = n_iter % refresh_period(problem) == 0 or is_stale(evaluation, fresh_noise)
        # In float32 moved images are inaccurate: a stopping rule must also hold with recomputed ones.
        ends = verdict.ending is not None and problem.dtype == np.float32
        if solver.stops and (ends or due):
            moved, evaluation = evaluation, problem.evaluate(evaluation.point)
            fresh_noise = evaluation.noise
            if rises(moved.value, evaluation.value, self.perfect_cost) and step.size != 0:
                verdict, n_small = GO_ON, 0
        halted = self.write(evaluation, step.size)
        return Standing(evaluation, step.memory, fresh_noise, n_iter, n_small, verdict, halted)

    def offer(self, at: Standing) -> None:
        """Offer a standing to the checkpoint of the fit."""
        checkpoint = self.journal.checkpoint
        if checkpoint.wanted:
            passes = self.problem.passes - self.passes
            counts = (at.fresh_noise, at.n_iter, at.n_small, passes)
            checkpoint.offer(Position(take_snapshot(at.evaluation), at.memory, *counts))

    def resume(self, found: Position) -> Standing:
        """Return the standing of an interrupted run."""
        evaluation = restore_evaluation(self.problem, found.snapshot)
        self.problem.passes = self.passes + found.passes
        return Standing(evaluation, found.memory, found.fresh_noise, found.n_iter, found.n_small)

    def write(self, evaluation: Evaluation, size: float) -> bool:
        """Add an iteration to the journal; return True if the callback asks to stop."""
        norm = evaluation.gradient_norm if self.solver.stops else float("nan")
        return self.journal.write(evaluation.value, norm, size, self.problem.passes - self.passes)

    def check_start(self, evaluation: Evaluation) -> Verdict:
        """Return the verdict of `check_fit`; raise a ValueError if the start has no gradient to descend along."""
        with np.errstate(over="ignore", invalid="ignore"):
            verdict = self.check_fit(evaluation)
            if verdict.ending is None and not np.isfinite(evaluation.gradient_norm):
                raise ValueError(
                    f"the norm of the gradient at the start is {evaluation.gradient_norm}; scale the data or the "
                    "start, or give a start of full column rank."
                )
        return verdict

    def check_step(self, before: Evaluation, step: Step, n_small: int) -> Checked:
        """Return whether the minimisation ends with a step, and the number of successive small steps.

        Parameters
        ----------
        before : Evaluation
            The evaluation before the step.
        step : Step
        n_small : int
            The number of successive small steps before this one.
        """
        if step.size == 0:
            fits = "the start fits all measurements that a step size is chosen by"
            message = Ending.STUCK.value if self.solver.stops else fits
            return Checked(Verdict(Ending.STUCK, message), n_small)
        if not self.solver.stops:
            return Checked(GO_ON, 0)
        rule = check_change(before, step.evaluation, self.tol)
        n_small = n_small + 1 if rule else 0
        verdict = self.check_fit(step.evaluation)
        if verdict.ending is None and n_small >= self.solver.patience:
            verdict = Verdict(Ending.CONVERGED, rule)
        elif verdict.ending is None and will_end(self.solver, before, step, self.tol):
            verdict = Verdict(Ending.CONVERGED, "predicted decrease of the cost below tol")
        return Checked(verdict, n_small)

    def check_fit(self, evaluation: Evaluation) -> Verdict:
        """Return the verdict of the first stopping rule, and of a zero gradient."""
        if self.perfect_cost > 0 and is_perfect(evaluation.value, self.perfect_cost):
            return Verdict(Ending.CONVERGED, "cost small against that of W = 0")
        if evaluation.value == 0 or evaluation.gradient_norm == 0:
            return Verdict(Ending.CONVERGED, "the gradient is zero")
        return GO_ON


def check_arguments(problem: Any, solver: Any, point: Any, max_iter: Any, tol: Any) -> None:
    """Raise an error that names the first argument of `minimize` that is not what it should be."""
    if isinstance(solver, Point) and isinstance(point, Solver):
        raise TypeError("solver and point are swapped; the order is minimize(problem, solver, point).")
    for name, value, kind in (("problem", problem, Problem), ("solver", solver, Solver)):
        if not isinstance(value, kind):
            given = f"{name} is {'the class' if isinstance(value, type) else 'of type'} "
            given += value.__name__ if isinstance(value, type) else type(value).__name__
            raise TypeError(f"{given}; expected a {kind.__name__}, as in minimize(problem, solver, point).")
    check_number("max_iter", max_iter, least=0, integer=True)
    check_number("tol", tol, least=0)
    problem.check(point)


def check_change(before: Evaluation, after: Evaluation, tol: float) -> str:
    """Return the message of the second or third stopping rule if it holds after a step, else ""."""
    if before.value - after.value <= tol * abs(before.value):
        return "relative decrease of the cost below tol"
    change = np.linalg.norm(after.point.G - before.point.G)
    if change <= tol * np.linalg.norm(before.point.G):
        return "relative change of the factor below tol"
    return ""


def rises(moved: float, fresh: float, perfect_cost: float) -> bool:
    """Return True if the cost from recomputed images is above that from moved ones by more than rounding."""
    return fresh > moved + 0.01 * abs(moved) + max(perfect_cost, 0.0)


def refresh_period(problem: Problem) -> int:
    """Return the number of steps after which images are recomputed; an execution may ask for fewer."""
    return min(REFRESH_EVERY[problem.dtype], getattr(problem.execution, "refresh_every", REFRESH_EVERY[problem.dtype]))


def is_stale(evaluation: Evaluation, fresh_noise: float) -> bool:
    """Return True if images should be computed again: the noise of the last fresh ones exceeds that of this value."""
    share = STALE[evaluation.problem.dtype]
    return fresh_noise > max(share * abs(evaluation.value), 4 * evaluation.noise)


def is_stationary(evaluation: Evaluation) -> bool:
    """Return True if the decrease predicted by the Gauss-Newton model is below rounding errors; one pass."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            line = evaluation.line(-evaluation.gradient)
            predicted = -0.5 * line.guess * line.slope
    except (np.linalg.LinAlgError, ArithmeticError):
        return False
    return bool(predicted <= 1e-6 * abs(evaluation.value) + 100 * evaluation.noise)
