"""The one loop that all solvers share: steps, history, stopping, callback."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.geometries import Point
from gramian.objective import Evaluation, Problem
from gramian.solvers.growing import Growing
from gramian.solvers.journal import Callback, Journal
from gramian.solvers.solver import Ending, Result, Solver, Step

__all__ = ["minimize", "settled"]

# Steps after which images are computed afresh: they drift by rounding as they are carried along.
REFRESH_EVERY = {np.dtype(np.float32): 64, np.dtype(np.float64): 1024}


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
    """Lower the objective from a point until a stopping rule holds.

    The rules are the paper's three, without units: f <= perfect · f(W = 0); a relative decrease of f of at most tol; a
    relative change of G of at most tol. A step that rounding makes impossible stops it too.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    point : Point
        The start; its geometry is the one used.
    max_iter : int
        For online solvers, epochs.
    tol : float
    perfect : float, optional
        The share of f(W = 0) at which a fit is as good as perfect; tol when omitted.
    callback : callable, optional
        Called with a `Record` after every iteration; a true return value stops the loop.
    growing : Growing, optional
        Starts from where growing subsets of the measurements lead, for a problem of one term; the time and the passes
        of that count from the first line of the history on.
    journal : Journal, optional
        Continues the history of earlier minimisations; it has its own callback.
    memory : object, optional
        What the solver remembers of an earlier `Result`, to continue from there.

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
    journal = Journal(callback) if journal is None else journal
    passes = problem.passes
    enough = (tol if perfect is None else perfect) * problem.value_at_zero
    if growing is not None and max_iter > 0:
        with journal.phase("growing samples"):
            point = growing.start(problem, solver, point, enough)
    evaluation = problem.evaluate(point)
    if not np.isfinite(evaluation.value):
        raise ValueError(f"the objective at the start is {evaluation.value}; scale the data or the start.")
    if memory is None:
        with journal.phase("choosing step sizes"):
            memory = solver.start(evaluation)
    loop = Loop(problem, solver, tol, enough, journal, passes)
    # A later round of a fit starts where the one before ended: that is in the journal already.
    halted = not journal.records and loop.write(evaluation, 0.0)
    message, done, slow = loop.fitted(evaluation) if solver.stops else "", 0, 0
    while not message and not halted and done < max_iter:
        step = solver.step(evaluation, memory)
        done += 1
        message, slow = loop.judge(evaluation, step, slow)
        evaluation, memory = step.evaluation, step.memory
        if solver.stops and (message or done % REFRESH_EVERY[problem.dtype] == 0):
            carried, evaluation = evaluation, problem.evaluate(evaluation.point)
            # Carried images drift in float32: what was small by them must be small afresh.
            if evaluation.value > 1.01 * carried.value + enough and step.size != 0:
                message, slow = "", 0
        halted = loop.write(evaluation, step.size)
    exhausted = f"max_iter={max_iter} reached" if solver.stops else f"{max_iter} epochs done"
    ending, message = conclude(evaluation, message, halted, exhausted)
    journal.passes += problem.passes - passes
    return Result(evaluation.point, evaluation.value, done, ending, message, journal.history, memory)


class Loop(NamedTuple):
    """What stays the same from iteration to iteration."""

    problem: Problem
    solver: Solver
    tol: float
    enough: float
    journal: Journal
    passes: float

    def write(self, evaluation: Evaluation, size: float) -> bool:
        """Add an iteration to the journal; return whether the callback asks to stop."""
        norm = evaluation.gradient_norm if self.solver.stops else float("nan")
        return self.journal.write(evaluation.value, norm, size, self.problem.passes - self.passes)

    def judge(self, before: Evaluation, step: Step, slow: int) -> tuple[str, int]:
        """Return the rule that holds after a step, "" for none, and how many steps in a row were small."""
        if step.size == 0:
            return Ending.STUCK.value, slow
        if not self.solver.stops:
            return "", 0
        small = settled(before, step.evaluation, self.tol)
        slow = slow + 1 if small else 0
        return self.fitted(step.evaluation) or (small if slow >= self.solver.patience else ""), slow

    def fitted(self, evaluation: Evaluation) -> str:
        """Return the first rule, if the value is small against that of W = 0; else ""."""
        if self.enough > 0 and 0 <= evaluation.value <= self.enough:
            return "cost small against that of W = 0"
        if evaluation.value == 0 or evaluation.gradient_norm == 0:
            return "the gradient is zero"
        return ""


def settled(before: Evaluation, after: Evaluation, tol: float) -> str:
    """Return the second or third rule, if the value or the factor hardly changed; else ""."""
    if before.value - after.value <= tol * abs(before.value):
        return "relative decrease of the cost below tol"
    moved = np.linalg.norm(after.point.G - before.point.G)
    if moved <= tol * np.linalg.norm(before.point.G):
        return "relative change of the factor below tol"
    return ""


def conclude(evaluation: Evaluation, message: str, halted: bool, exhausted: str) -> tuple[Ending, str]:
    """Return how a minimisation ended, and the message."""
    if halted:
        return Ending.HALTED, message or Ending.HALTED.value
    if not message:
        return Ending.EXHAUSTED, exhausted
    if message != Ending.STUCK.value:
        return Ending.CONVERGED, message
    if at_rest(evaluation):
        return Ending.CONVERGED, "no step lowers the objective, and its model predicts no decrease"
    return Ending.STUCK, message


def at_rest(evaluation: Evaluation) -> bool:
    """Return True if the predicted decrease of the Gauss-Newton model is below rounding; one pass."""
    line = evaluation.line(-evaluation.gradient)
    predicted = -0.5 * line.guess * line.slope
    return bool(predicted <= 1e-6 * abs(evaluation.value) + 100 * evaluation.noise)
