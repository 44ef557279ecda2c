"""Growing samples: a start found on subsets of the measurements, before all of the data is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gramian._checkpoints import Checkpoint, NoCheckpoint
from gramian.checks import check_number
from gramian.geometries import Point
from gramian.objective import Problem
from gramian.solvers.snapshot import Snapshot, restore_evaluation, take_snapshot
from gramian.solvers.solver import Solver, attempt_step, is_perfect, start_solver, will_end

__all__ = ["Growing"]

# The least size of a subset: a smaller problem takes almost no time.
LEAST_MEASUREMENTS = 1000
# The rows of a subset are copied, if they take at most this number of bytes.
LARGEST_COPY = 2**28
NO_CHECKPOINT = NoCheckpoint()


class Position(NamedTuple):
    """Where the minimisation on a subset stands, after `n_iter` iterations, the last of them slow."""

    snapshot: Snapshot
    memory: Any
    n_slow: int
    n_iter: int
    passes: float


@dataclass(frozen=True)
class Growing:
    """A choice of the start: the solution on nested random subsets of the measurements, from small to large.

    Each subset is solved to a low accuracy, from the solution of the one before it. If there are many measurements per
    unknown, most iterations then run on little data, and few passes over all data remain. This changes the start only,
    so a unique minimum stays the same.

    Parameters
    ----------
    factor : float
        The ratio of the sizes of two successive subsets, and of the whole to the last subset.
    least : float
        The least number of measurements in a subset for each of the d r unknowns. A subset also has at least 1000.
    tol : float
        A subset is solved when the relative decrease of the cost is below tol in two successive iterations, or when
        the fit is perfect.
    max_iter : int
        The largest number of iterations on a subset.
    seed : int
        The seed of the random subsets.

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
        check_number("factor", self.factor, least=1, strict=True)
        check_number("least", self.least, least=0)
        check_number("tol", self.tol, least=0)
        check_number("max_iter", self.max_iter, least=0, integer=True)
        check_number("seed", self.seed, least=0, integer=True)

    def sizes(self, m: int, unknowns: int) -> list[int]:
        """Return the sizes of the subsets of m measurements, ascending; an empty list if m is small."""
        sizes = []
        while (m := int(m / self.factor)) >= max(self.least * unknowns, LEAST_MEASUREMENTS):
            sizes.append(m)
        return sizes[::-1]

    def start(
        self,
        problem: Problem,
        solver: Solver,
        point: Point,
        perfect_cost: float,
        checkpoint: Checkpoint | NoCheckpoint = NO_CHECKPOINT,
    ) -> Point:
        """Return the solution on the largest subset, solved after all smaller ones.

        The passes over the subsets are added to `problem.passes`, in proportion to their sizes.

        Parameters
        ----------
        problem : Problem
            A problem with one term.
        solver : Solver
        point : Point
            The start on the smallest subset.
        perfect_cost : float
            The cost at which a fit counts as perfect.
        checkpoint : Checkpoint, optional
            Stores the state.
        """
        m = len(problem.sampled.measurement)
        sizes = [size for size in self.sizes(m, point.G.size) if bytes_of(problem, size) <= LARGEST_COPY]
        for subset in reversed(self.subsets(problem, sizes)):
            solve = partial(self.solve_subset, subset, solver, point, perfect_cost, checkpoint)
            point = checkpoint.remember("subset", solve, problem=subset)
            problem.passes += subset.passes * len(subset.sampled.measurement) / m
        return point

    def subsets(self, problem: Problem, sizes: list[int]) -> list[Problem]:
        """Return nested random subsets of the given sizes, largest first; `sizes` is ascending."""
        rng, nested = np.random.default_rng(self.seed), [problem]
        for size in reversed(sizes):
            drawn = np.zeros(len(nested[-1].sampled.measurement), bool)
            drawn[rng.choice(len(drawn), size, replace=False, shuffle=False)] = True
            nested.append(nested[-1].take(np.flatnonzero(drawn)))
        return nested[1:]

    def solve_subset(
        self,
        subset: Problem,
        solver: Solver,
        point: Point,
        perfect_cost: float,
        checkpoint: Checkpoint | NoCheckpoint = NO_CHECKPOINT,
    ) -> Point:
        """Return the end point of a minimisation to low accuracy: more would fit the noise of the subset."""
        found: Position | None = checkpoint.position()
        if found is None:
            evaluation = subset.evaluate(point)
            memory, n_slow, n_iter = start_solver(solver, evaluation), 0, 0
        else:
            evaluation = restore_evaluation(subset, found.snapshot)
            memory, n_slow, n_iter, subset.passes = found[1:]
        while n_iter < self.max_iter:
            step = attempt_step(solver, evaluation, memory)
            n_iter += 1
            decrease = evaluation.value - step.evaluation.value
            n_slow = n_slow + 1 if decrease < self.tol * abs(evaluation.value) else 0
            ends = step.size == 0 or n_slow == 2 or is_perfect(step.evaluation.value, perfect_cost)
            ends = ends or will_end(solver, evaluation, step, self.tol)
            evaluation, memory = step.evaluation, step.memory
            if ends:
                break
            if checkpoint.wanted:
                checkpoint.offer(Position(take_snapshot(evaluation), memory, n_slow, n_iter, subset.passes))
        return evaluation.point


def bytes_of(problem: Problem, size: int) -> int:
    """Return the bytes of a number of rows of dense samples; 0 where rows are not stored, or sparse."""
    features = problem.blocks[0].features
    return size * features.shape[1] * features.dtype.itemsize if features.sliceable else 0
