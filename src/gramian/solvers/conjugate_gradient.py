"""Nonlinear conjugate gradients in the metric of the geometry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gramian.geometries import Point
from gramian.objective import Evaluation
from gramian.solvers.line_search import Exact, Search
from gramian.solvers.solver import Solver, Step

__all__ = ["ConjugateGradient"]


class Memory(NamedTuple):
    """The step before: where it started, its gradient and direction, and the decrease size · slope it foresaw."""

    point: Point
    gradient: Any
    direction: Any
    foreseen: float


@dataclass(frozen=True)
class ConjugateGradient(Solver):
    """Conjugate directions by the rule of Polak and Ribière, restarted where they do not descend.

    Two passes over the data an iteration, as for steepest descent, and far fewer iterations.

    Parameters
    ----------
    search : callable
        `Exact()` by default.

    Examples
    --------
    >>> from gramian.solvers import ConjugateGradient
    >>> ConjugateGradient()
    ConjugateGradient(search=Exact(tol=0.01, max_trials=60))
    """

    search: Search = field(default_factory=Exact)
    patience = 2

    def step(self, evaluation: Evaluation, memory: Memory | None) -> Step:
        """One step; along the gradient where the conjugate direction leads nowhere."""
        steepest = -evaluation.gradient
        for direction in (steepest if memory is None else conjugate(evaluation, memory), steepest):
            line = evaluation.line(direction)
            # A first trial that foresees as much as the step before did; exact searches do without.
            size = self.search(line, memory.foreseen / line.slope if memory and line.slope else None)
            if size:
                remembered = Memory(evaluation.point, evaluation.gradient, direction, size * line.slope)
                return Step(line.move(size), size, remembered)
            if direction is steepest:
                break
        return Step(evaluation, 0.0, None)


def conjugate(evaluation: Evaluation, memory: Memory) -> Any:
    """-gradient + β · the last direction, β by Polak and Ribière and not negative; -gradient if that ascends."""
    point, gradient = evaluation.point, evaluation.gradient
    direction = memory.point.transport(memory.direction, point)
    last = memory.point.transport(memory.gradient, point)
    square = point.inner(last, last)
    beta = max(0.0, point.inner(gradient, gradient - last) / square) if square > 0 else 0.0
    proposed = beta * direction - gradient
    return proposed if point.inner(proposed, gradient) < -1e-3 * evaluation.gradient_norm**2 else -gradient
