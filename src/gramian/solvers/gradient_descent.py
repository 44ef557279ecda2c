"""Steepest descent in the metric of the geometry: the paper's batch algorithms."""

from __future__ import annotations

from dataclasses import dataclass, field

from gramian.objective import Evaluation
from gramian.solvers.line_search import Armijo, Search
from gramian.solvers.solver import Solver, Step

__all__ = ["GradientDescent"]


@dataclass(frozen=True)
class GradientDescent(Solver):
    """Steps along the negative gradient, with sizes by a line search.

    Parameters
    ----------
    search : callable
        The line search: `Armijo()`, the paper's, by default, or `Exact()`.

    Examples
    --------
    >>> from gramian.solvers import Exact, GradientDescent
    >>> GradientDescent(search=Exact())
    GradientDescent(search=Exact(tol=0.01, max_trials=60, flatness=0.4))
    """

    search: Search = field(default_factory=Armijo)

    def step(self, evaluation: Evaluation, memory: float | None) -> Step:
        """Take one step; the memory is the size of the last step."""
        line = evaluation.line(-evaluation.gradient)
        size = self.search(line, memory)
        return Step(line.take(size) if size else evaluation, size, size)
