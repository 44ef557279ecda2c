"""Growing samples: a good start from subsets of the data, before all of it is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gramian.checks import checked_number
from gramian.geometries import Point
from gramian.objective import Problem

if TYPE_CHECKING:
    from gramian.solvers.solver import Solver

__all__ = ["Growing"]

# Smaller problems are solved in no time.
FEW = 1000


@dataclass(frozen=True)
class Growing:
    """Where to start: solves nested random subsets of the measurements, each `factor` times the one before.

    A subset is solved loosely, from where the one before it led. With many measurements an unknown, nearly all
    iterations then run on little data, and few passes over the whole are left. Where a minimum is unique it is the
    same: this only chooses the start.

    Parameters
    ----------
    factor : float
        How much each subset is larger than the one before; the last is this much smaller than the whole.
    least : float
        The first subset has at least so many measurements for each of the d r unknowns, and a thousand in all.
    tol : float
        A subset is done with when the cost falls by less than this share in two iterations running, or is perfect.
    max_iter : int
        Or after so many.
    seed : int
        Fixes the subsets.

    Examples
    --------
    >>> from gramian.solvers import Growing
    >>> Growing().sizes(80000, 500)
    [3200, 16000]
    >>> Growing().sizes(5000, 500)
    []
    """

    factor: float = 5.0
    least: float = 4.0
    tol: float = 0.1
    max_iter: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        checked_number("factor", self.factor, least=1, strict=True)
        checked_number("least", self.least, least=0)
        checked_number("tol", self.tol, least=0)
        checked_number("max_iter", self.max_iter, least=0, integer=True)
        checked_number("seed", self.seed, least=0, integer=True)

    def sizes(self, m: int, unknowns: int) -> list[int]:
        """The sizes of the subsets of m measurements, rising; none where all of them are few."""
        sizes = []
        while (m := int(m / self.factor)) >= max(self.least * unknowns, FEW):
            sizes.append(m)
        return sizes[::-1]

    def start(self, problem: Problem, solver: Solver, point: Point, enough: float) -> Point:
        """Where the subsets lead, one after the other; counts as passes what is read of the data."""
        m = len(problem.sampled.measurement)
        for subset in reversed(self.subsets(problem, self.sizes(m, point.G.size))):
            point = self.solved(subset, solver, point, enough)
            problem.passes += subset.passes * len(subset.sampled.measurement) / m
        return point

    def subsets(self, problem: Problem, sizes: list[int]) -> list[Problem]:
        """Nested random subsets, falling in size; each is drawn from the one before, not from the whole."""
        rng, found = np.random.default_rng(self.seed), [problem]
        for size in reversed(sizes):
            rows = rng.permutation(len(found[-1].sampled.measurement))[:size]
            found.append(found[-1].take(np.sort(rows)))
        return found[1:]

    def solved(self, problem: Problem, solver: Solver, point: Point, enough: float) -> Point:
        """The end of a loose minimisation: the noise of a subset is not worth fitting."""
        evaluation = problem.evaluate(point)
        memory, slow = solver.start(evaluation), 0
        for _ in range(self.max_iter):
            step = solver.step(evaluation, memory)
            slow = slow + 1 if step.evaluation.value > (1 - self.tol) * evaluation.value else 0
            evaluation, memory = step.evaluation, step.memory
            if step.size == 0 or slow == 2 or evaluation.value <= enough:
                break
        return evaluation.point
