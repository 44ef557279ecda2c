"""Nonlinear conjugate gradients in the metric of the geometry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gramian.geometries import Point
from gramian.objective import Evaluation
from gramian.solvers.line_search import Exact, Search
from gramian.solvers.solver import Solver, Step
from gramian.types import Tangent

__all__ = ["ConjugateGradient"]


class Memory(NamedTuple):
    """The last step: its start, the gradient there, its direction, its predicted change size · slope, and its size.

    `previous` is the size of the step before it.
    """

    point: Point
    gradient: Tangent
    direction: Tangent
    predicted: float
    size: float = 0.0
    previous: float = 0.0


@dataclass(frozen=True)
class ConjugateGradient(Solver):
    """Nonlinear conjugate gradients by the rule of Polak and Ribière, restarted if the direction does not descend.

    An iteration costs two passes over the data, as in gradient descent. It needs far fewer iterations.

    Parameters
    ----------
    search : callable
        The line search; `Exact()` by default.

    Examples
    --------
    >>> from gramian.solvers import ConjugateGradient
    >>> ConjugateGradient()
    ConjugateGradient(search=Exact(tol=0.01, max_trials=60, flatness=0.4))
    """

    search: Search = field(default_factory=Exact)
    patience = 2

    def step(self, evaluation: Evaluation, memory: Memory | None) -> Step:
        """Take one step along the conjugate direction; if no step lowers the objective, along the negative gradient."""
        steepest = -evaluation.gradient
        first = steepest if memory is None else conjugate_direction(evaluation, memory, steepest)
        for direction in (first, steepest):
            line = evaluation.line(direction)
            # The first trial step has the predicted change of the last step. Exact searches on lines do not use it.
            size = self.search(line, memory.predicted / line.slope if memory and line.slope else None)
            if size:
                previous = memory.size if memory else 0.0
                new_memory = Memory(evaluation.point, evaluation.gradient, direction, size * line.slope, size, previous)
                return Step(line.take(size), size, new_memory)
            if direction is steepest:
                break
        return Step(evaluation, 0.0, None)

    def predict_decrease(self, step: Step) -> float:
        """Return half the longer of the last two steps times the square of the gradient's norm, if known.

        It is known where the metric approximates the Hessian. The gradient costs one pass, as in the next step.
        """
        if not step.evaluation.point.second_order or step.memory is None:
            return float("inf")
        with np.errstate(over="ignore", invalid="ignore"):
            return 0.5 * max(step.memory.size, step.memory.previous) * step.evaluation.gradient_norm**2


def conjugate_direction(evaluation: Evaluation, memory: Memory, steepest: Tangent) -> Tangent:
    """Return the tangent β · last direction - gradient, with β >= 0 by Polak and Ribière.

    Return `steepest`, which is -gradient, if that tangent is not a descent direction.
    """
    point, gradient, own = evaluation.point, evaluation.gradient, evaluation.gradient_square
    direction = memory.point.transport(memory.direction, point)
    last_gradient = memory.point.transport(memory.gradient, point)
    square = point.inner(last_gradient, last_gradient)
    beta = max(0.0, evaluation.slope(gradient - last_gradient) / square) if square > 0 else 0.0
    if not beta * evaluation.slope(direction) - own < -1e-3 * own:
        return steepest
    proposed = beta * direction
    proposed -= gradient
    return proposed
