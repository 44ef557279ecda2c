"""The base class of solvers, and the records and results of a minimisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gramian.geometries import Point
from gramian.objective import Evaluation
from gramian.types import Vector

__all__ = ["Ending", "Record", "Result", "Solver", "Step", "attempt_step", "is_perfect", "start_solver", "will_end"]

# The next step is expected to be one of the last if its decrease is below this share of that of the last step.
FAST = 0.1


class Ending(Enum):
    """The kind of ending of a minimisation; `Result.message` has the details.

    Examples
    --------
    >>> from gramian.solvers import Ending
    >>> [ending.name for ending in Ending]
    ['CONVERGED', 'STUCK', 'HALTED', 'EXHAUSTED']
    """

    CONVERGED = "a stopping rule holds"
    STUCK = "no step lowers the objective, though its model predicts a decrease: the limit of precision"
    HALTED = "stopped by the callback"
    EXHAUSTED = "the iterations ran out"


class Step(NamedTuple):
    """The result of one step of a solver.

    Attributes
    ----------
    evaluation : Evaluation
        The objective at the new point.
    size : float
        The step size; 0 if no step lowers the objective.
    memory : object
        What the solver needs for the next step; any object, None if nothing.

    Examples
    --------
    >>> from gramian.solvers import Step
    >>> Step._fields
    ('evaluation', 'size', 'memory')
    """

    evaluation: Evaluation
    size: float
    memory: Any


class Solver(ABC):
    """An algorithm that lowers the objective step by step.

    A solver has settings but no state: what a step needs to know of earlier steps is its memory, a value that `step`
    returns and receives.

    Examples
    --------
    >>> from gramian.solvers import SOLVERS, Solver
    >>> {name: kind.stops for name, kind in SOLVERS.items() if issubclass(kind, Solver)}
    {'gd': True, 'cg': True, 'lbfgs': True, 'trust-region': True, 'online': False}
    """

    #: False for a solver that runs max_iter epochs, to which the stopping rules are not applied.
    stops: ClassVar[bool] = True
    #: What `start` does, as the name of a phase of a fit; "" if it takes no time worth a line.
    start_phase: ClassVar[str] = ""
    #: The number of successive small steps after which the loop stops.
    patience: ClassVar[int] = 1

    def start(self, evaluation: Evaluation) -> Any:
        """Return the memory for the first step; None by default.

        Parameters
        ----------
        evaluation : Evaluation
            The objective at the start.
        """
        return None

    @abstractmethod
    def step(self, evaluation: Evaluation, memory: Any) -> Step:
        """Take one step and return it. If no step lowers the objective, return a `Step` of size 0.

        Parameters
        ----------
        evaluation : Evaluation
            The objective at the current point, with its value, its gradient and lines along tangents.
        memory : object
            The memory of the last `Step`, or what `start` returned.
        """

    def predict_decrease(self, step: Step) -> float:
        """Return by how much the next step is expected to lower the objective; infinity, the default, if unknown.

        Parameters
        ----------
        step : Step
            The last step.
        """
        return float("inf")


def attempt_step(solver: Solver, evaluation: Evaluation, memory: Any) -> Step:
    """Return a step of the solver; one of size 0 where its direction cannot be computed in floating point.

    A gradient that overflows has no curve, and neither has one that is not a number.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return solver.step(evaluation, memory)
    except (np.linalg.LinAlgError, ArithmeticError):
        return Step(evaluation, 0.0, memory)


def start_solver(solver: Solver, evaluation: Evaluation) -> Any:
    """Return the memory of a solver for its first step; raise a ValueError if it cannot be computed."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return solver.start(evaluation)
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        raise ValueError(f"no step can be computed at the start ({error}); scale the data or the start.") from error


def is_perfect(cost: float, perfect_cost: float) -> bool:
    """Return True if a cost is as small as that of a perfect fit; costs below 0, of a linear loss, are not."""
    return 0 <= cost <= perfect_cost


def will_end(solver: Solver, before: Evaluation, step: Step, tol: float) -> bool:
    """Return True if the decreases that are left are expected to be below tol, relative to the cost, after a step.

    A prediction counts only where the cost converges so fast that those after the next step do not matter.
    """
    if step.size == 0:
        return False
    decrease = before.value - step.evaluation.value
    return solver.predict_decrease(step) <= min(tol * abs(step.evaluation.value), FAST * decrease)


class Record(NamedTuple):
    """One line of the history: an iteration, or the start.

    Attributes
    ----------
    iteration : int
        The number of the iteration; 0 is the start.
    cost, gradient_norm : float
        The objective and the norm of its gradient after the iteration.
    step : float
        The step size.
    time : float
        The seconds since the start of the fit.
    passes : float
        The passes over the data since the start of the fit.

    Examples
    --------
    >>> from gramian import PSDRegressor
    >>> records = []
    >>> _ = PSDRegressor(1, callback=records.append, random_state=0).fit([[1.0], [2.0]], [3.0, 12.0])
    >>> records[0].iteration, records[-1].cost < 1e-6
    (0, True)
    """

    iteration: int
    cost: float
    gradient_norm: float
    step: float
    time: float
    passes: float


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a minimisation.

    Attributes
    ----------
    point : Point
        The last point.
    cost : float
        The objective at the last point.
    n_iter : int
        The number of iterations.
    ending : Ending
    message : str
        Why the minimisation ended.
    history : dict of str to array
        The fields of `Record`, one array each, with one entry for the start and one per iteration.
    memory : object
        The memory of the solver; `minimize(memory=...)` continues from it.
    stops : bool
        False if the solver runs a number of epochs, to which the stopping rules are not applied: it may raise the cost.

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
    ending: Ending
    message: str
    history: dict[str, Vector]
    memory: Any = None
    stops: bool = True

    def __repr__(self) -> str:
        """Return how the minimisation ended, without the point and the history."""
        d, r = self.point.G.shape
        return (
            f"Result(cost={self.cost:.6g}, n_iter={self.n_iter}, message={self.message!r}, point of shape ({d}, {r}))"
        )

    @property
    def converged(self) -> bool:
        """True if a stopping rule holds."""
        return self.ending is Ending.CONVERGED
