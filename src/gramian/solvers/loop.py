"""The one loop that all solvers share: steps, history, stopping, callback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gramian.geometries import Point
from gramian.objective import Evaluation, Problem
from gramian.solvers.growing import Growing
from gramian.types import Vector

__all__ = ["Record", "Result", "Solver", "Step", "minimize"]

HALTED = "stopped by the callback"
STUCK = "no step lowers the objective: the limit of precision"

Callback = Callable[["Record"], Any]


class Step(NamedTuple):
    """What a solver did: the evaluation it arrived at, how far it went, and what it wants to remember."""

    evaluation: Evaluation
    size: float
    memory: Any


class Solver(ABC):
    """Takes steps. A size of 0 says that no step lowers the value: finished."""

    #: False for solvers that run for a fixed number of epochs and do not stop by themselves.
    stops: ClassVar[bool] = True
    #: How many steps in a row must be small before the loop stops.
    patience: ClassVar[int] = 1

    def start(self, evaluation: Evaluation) -> Any:
        """The memory before the first step."""
        return None

    @abstractmethod
    def step(self, evaluation: Evaluation, memory: Any) -> Step:
        """One step."""


class Record(NamedTuple):
    """One line of the history."""

    iteration: int
    cost: float
    gradient_norm: float
    step: float
    time: float
    passes: float


@dataclass(frozen=True)
class Result:
    """Where a minimisation ended.

    Attributes
    ----------
    point : Point
    cost : float
    n_iter : int
    converged : bool
    message : str
        Why it stopped.
    history : dict of str to array
        Columns iteration, cost, gradient_norm, step, time (seconds) and passes (over the data), one entry an
        iteration, the start included.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term, minimize
    >>> from gramian.features import Array
    >>> from gramian.geometries import Flat
    >>> from gramian.measurements import Each
    >>> from gramian.solvers import ConjugateGradient
    >>> problem = Problem([Block(Array(np.eye(2)), [Term(Each(2), np.array([4.0, 0.0]))])])
    >>> result = minimize(problem, ConjugateGradient(), Flat().point(np.array([[1.0], [0.0]])))
    >>> result.point.G.round(3).ravel(), list(result.history)[:2]
    (array([2., 0.]), ['iteration', 'cost'])
    """

    point: Point
    cost: float
    n_iter: int
    converged: bool
    message: str
    history: dict[str, Vector]
    memory: Any = None


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
) -> Result:
    """Lowers the objective from a point until a stopping rule holds.

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
    clock = perf_counter()
    records: list[Record] = []

    def record(evaluation: Evaluation, size: float) -> bool:
        norm = evaluation.gradient_norm if solver.stops else float("nan")
        elapsed = perf_counter() - clock
        records.append(Record(len(records), evaluation.value, norm, size, elapsed, problem.passes - passes))
        return bool(callback is not None and callback(records[-1]))

    passes = problem.passes
    enough = (tol if perfect is None else perfect) * problem.value_at_zero
    if growing is not None and max_iter > 0:
        point = growing.start(problem, solver, point, enough)
    evaluation = problem.evaluate(point)
    if not np.isfinite(evaluation.value):
        raise ValueError(f"the objective at the start is {evaluation.value}; scale the data or the start.")
    memory = solver.start(evaluation)
    halted = record(evaluation, 0.0)
    small = 0
    message = fitted(evaluation, enough) if solver.stops else ""
    while not message and not halted and len(records) <= max_iter:
        step = solver.step(evaluation, memory)
        message = STUCK if step.size == 0 else ""
        if solver.stops and not message:
            message = settled(evaluation, step.evaluation, tol)
            small = small + 1 if message else 0
            message = fitted(step.evaluation, enough) or (message if small >= solver.patience else "")
        evaluation, memory = step.evaluation, step.memory
        if solver.stops and (message or len(records) % refresh_every(problem) == 0):
            carried, evaluation = evaluation, problem.evaluate(evaluation.point)
            # Carried images drift in float32: what was small by them must be small afresh.
            if evaluation.value > 1.01 * carried.value + enough and step.size != 0:
                message, small = "", 0
        halted = record(evaluation, step.size)
    if halted and not message:
        message = HALTED
    columns = {name: np.array(column) for name, column in zip(Record._fields, zip(*records, strict=True), strict=True)}
    converged = bool(message) and not halted and (message != STUCK or at_rest(evaluation))
    message = message or f"max_iter={max_iter} reached"
    return Result(evaluation.point, evaluation.value, len(records) - 1, converged, message, columns, memory)


def at_rest(evaluation: Evaluation) -> bool:
    """True if the Gauss-Newton model foresees no decrease worth the name; one pass."""
    line = evaluation.line(-evaluation.gradient)
    foreseen = -0.5 * line.guess * line.slope
    return bool(foreseen <= 1e-6 * abs(evaluation.value) + 100 * evaluation.noise)


def refresh_every(problem: Problem) -> int:
    """After how many steps images are computed afresh; they drift by rounding as they are carried along."""
    return 64 if problem.dtype == np.float32 else 1024


def fitted(evaluation: Evaluation, enough: float) -> str:
    """The first rule: the value is small against that of W = 0."""
    if enough > 0 and 0 <= evaluation.value <= enough:
        return "cost small against that of W = 0"
    if evaluation.value == 0 or evaluation.gradient_norm == 0:
        return "the gradient is zero"
    return ""


def settled(before: Evaluation, after: Evaluation, tol: float) -> str:
    """The second and third rule: the value, or the factor, hardly changed."""
    if before.value - after.value <= tol * abs(before.value):
        return "relative decrease of the cost below tol"
    moved = np.linalg.norm(after.point.G - before.point.G)
    if moved <= tol * np.linalg.norm(before.point.G):
        return "relative change of the factor below tol"
    return ""
