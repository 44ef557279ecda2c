"""What every solver does, and how a minimisation ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

from gramian.geometries import Point
from gramian.objective import Evaluation
from gramian.types import Vector

__all__ = ["Ending", "Record", "Result", "Solver", "Step"]


class Ending(Enum):
    """Why a minimisation ended; `Result.message` says it in words.

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
    """What a solver did: the evaluation it arrived at, how far it went, and its memory for the next step."""

    evaluation: Evaluation
    size: float
    memory: Any


class Solver(ABC):
    """Takes steps. A size of 0 says that no step lowers the value."""

    #: False for solvers that run for a fixed number of epochs and do not stop by themselves.
    stops: ClassVar[bool] = True
    #: How many steps in a row must be small before the loop stops.
    patience: ClassVar[int] = 1

    def start(self, evaluation: Evaluation) -> Any:
        """Return the memory before the first step."""
        return None

    @abstractmethod
    def step(self, evaluation: Evaluation, memory: Any) -> Step:
        """Take one step from an evaluation, with the memory of the steps before."""


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
    ending : Ending
    message : str
        Why it ended.
    history : dict of str to array
        Columns iteration, cost, gradient_norm, step, time (seconds) and passes (over the data), one entry an
        iteration, the start included.
    memory : object
        What the solver remembers; `minimize(memory=...)` continues from it.

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

    @property
    def converged(self) -> bool:
        """True if a stopping rule holds."""
        return self.ending is Ending.CONVERGED
