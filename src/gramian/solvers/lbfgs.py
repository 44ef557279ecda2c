"""Limited-memory BFGS in the metric of the geometry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gramian.checks import check_number
from gramian.geometries import Point
from gramian.objective import Evaluation
from gramian.solvers.line_search import Exact, Search
from gramian.solvers.solver import Solver, Step
from gramian.types import Tangent

__all__ = ["LBFGS"]

#: A step is remembered if the cosine of the angle between it and the change of the gradient is at least this.
LEAST_COSINE = 1e-8
#: The changes that are remembered have at most this number of entries; but FEWEST are always kept.
MOST_ENTRIES, FEWEST = 2**22, 3
#: A direction is not used if the cosine of the angle between it and the negative gradient is below this.
LEAST_DESCENT = 1e-8


class Change(NamedTuple):
    """A step s, the change y of the gradient along it, and <s, y>; as tangents at the start of the last step."""

    step: Tangent
    change: Tangent
    product: float


class Memory(NamedTuple):
    """The last step: its start, the gradient there, and the step itself; and earlier changes, the oldest first."""

    point: Point
    gradient: Tangent
    step: Tangent
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class LBFGS(Solver):
    """Quasi-Newton steps from the last few changes of the gradient (limited-memory BFGS; Liu and Nocedal, 1989).

    An iteration costs two passes over the data, as in conjugate gradients. Where trial steps are costly, as with
    neighbourhoods, the full quasi-Newton step is nearly always taken, and conjugate gradients need two trials.
    Elsewhere the line search is exact for both, and conjugate gradients need less memory and arithmetic.

    Parameters
    ----------
    memory : int
        The number of changes that are remembered. Each takes the memory of two factors. Of large factors they are
        fewer: all of them take at most 32 MB in float64, or they are 3.
    search : callable
        The line search; `Exact(flatness=0.9)` by default. The first trial step is 1; `Armijo` multiplies it by its
        `growth`, which should be 1 here.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import MetricLearner
    >>> from gramian.solvers import LBFGS
    >>> learner = MetricLearner(2, constraints="neighbourhoods", solver=LBFGS(memory=5), random_state=0)
    >>> cost = learner.fit(*load_iris(return_X_y=True)).history_["cost"]
    >>> bool(cost[-1] < 0.9 * cost[0])
    True
    """

    memory: int = 10
    search: Search = field(default_factory=lambda: Exact(flatness=0.9))
    patience = 2

    def __post_init__(self) -> None:
        check_number("memory", self.memory, least=1, integer=True)

    def step(self, evaluation: Evaluation, memory: Memory | None) -> Step:
        """Take one quasi-Newton step; if no such step lowers the objective, one along the negative gradient."""
        changes = () if memory is None else self.update(evaluation, memory)
        proposed = quasi_newton_direction(evaluation, changes) if changes else None
        for direction in (proposed, -evaluation.gradient):
            if direction is None:
                continue
            line = evaluation.line(direction)
            size = self.search(line, 1.0 if direction is proposed else None)
            if size:
                known = changes if direction is proposed else ()
                return Step(
                    line.take(size), size, Memory(evaluation.point, evaluation.gradient, size * direction, known)
                )
        return Step(evaluation, 0.0, None)

    def update(self, evaluation: Evaluation, memory: Memory) -> tuple[Change, ...]:
        """Return the changes so far, with that of the last step, in the tangent space of the present point."""
        before, point = memory.point, evaluation.point
        change = evaluation.gradient - before.transport(memory.gradient, point)
        moved = [(before.transport(old.step, point), before.transport(old.change, point)) for old in memory.changes]
        moved.append((before.transport(memory.step, point), change))
        count = min(self.memory, max(FEWEST, MOST_ENTRIES // (2 * change.size)))
        known = [Change(step, change, point.inner(step, change)) for step, change in moved[-count:]]
        if not rises_clearly(point, known[-1]):
            del known[-1]
        return tuple(each for each in known if each.product > 0)


def rises_clearly(point: Point, change: Change) -> bool:
    """Return True if the gradient rises along a step, clearly beyond rounding."""
    square = point.inner(change.step, change.step) * point.inner(change.change, change.change)
    return bool(np.isfinite(square) and change.product > LEAST_COSINE * square**0.5)


def quasi_newton_direction(evaluation: Evaluation, changes: tuple[Change, ...]) -> Tangent | None:
    """Return -H gradient, where H is the inverse Hessian by the changes; None if that hardly descends."""
    point, direction = evaluation.point, -evaluation.gradient
    shares = []
    for step, change, product in reversed(changes):
        share = point.inner(step, direction) / product
        direction = direction - share * change
        shares.append(share)
    last = changes[-1]
    direction = direction * (last.product / point.inner(last.change, last.change))
    for (step, change, product), share in zip(changes, reversed(shares), strict=True):
        direction = direction + (share - point.inner(change, direction) / product) * step
    slope, length = evaluation.slope(direction), point.inner(direction, direction) ** 0.5
    return direction if slope < -LEAST_DESCENT * length * evaluation.gradient_norm else None
