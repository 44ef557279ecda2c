"""Online descent over mini-batches: the paper's online algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian.checks import check_number
from gramian.geometries import Point
from gramian.objective import Evaluation, Problem
from gramian.solvers.online.compiled import descend
from gramian.solvers.online.schedule import Schedule
from gramian.solvers.solver import Solver, Step
from gramian.types import Vector
from gramian.warn import warn_user

__all__ = ["Memory", "Online"]

#: The values of s and of t₀ that pre-training tries.
GRID = tuple(2.0**k for k in range(-3, 4))
#: The number of times that an epoch is tried, each time with shorter steps, before it is skipped.
RETRIES = 10
# The largest number of subsets of which the first with a gradient is used for pre-training.
MOST_SUBSETS = 10


class Streamed(NamedTuple):
    """The objective after one visit to every measurement, and the schedule of step sizes from there on."""

    evaluation: Evaluation
    schedule: Schedule


class Steps(NamedTuple):
    """The factors s and t₀ of a schedule of step sizes."""

    size: float
    delay: float


class Memory(NamedTuple):
    """The schedule of step sizes, and the random generator that shuffles the measurements."""

    schedule: Schedule
    rng: np.random.Generator


@dataclass(frozen=True)
class Online(Solver):
    """Mini-batch gradient descent with decreasing steps; every iteration is an epoch.

    After t measurements the step size is s/μ · n t₀/(n t₀ + t), where n is the number of measurements and μ the mean
    norm of the gradient of a mini-batch at the start. If s or t₀ is not given, pre-training chooses it: it runs one
    epoch on a small subset for each pair of values 2^k, k = -3..3, and takes the pair with the lowest cost. If the best
    s is at the edge of the grid, the grid is extended. A step that is not finite is skipped. An epoch that more than
    doubles the cost is repeated with shorter steps.

    Parameters
    ----------
    batch_size : int
        The number p of measurements in a mini-batch; the last one of an epoch may be smaller.
    step_size : float or None
        The factor s; None chooses it by pre-training.
    delay : float or None
        The factor t₀; None chooses it by pre-training.
    adaptive : bool
        True divides each step size by max(‖G‖², 1), as in the convergence proof in the paper's appendix.
    shuffle : bool
        True visits the measurements in a new random order in every epoch, False in the given order.
    subset : int
        The number of measurements for pre-training and for μ.
    seed : int or None
        The seed of the random orders and subsets.

    Examples
    --------
    >>> from gramian.solvers import Online
    >>> Online(batch_size=1, step_size=0.5, delay=1.0).adaptive
    False
    """

    batch_size: int = 32
    step_size: float | None = None
    delay: float | None = None
    adaptive: bool = False
    shuffle: bool = True
    subset: int = 1000
    seed: int | None = 0

    stops = False
    start_phase = "choosing step sizes"

    def __post_init__(self) -> None:
        check_number("batch_size", self.batch_size, least=1, integer=True)
        check_number("subset", self.subset, least=1, integer=True)
        for name, value in (("step_size", self.step_size), ("delay", self.delay)):
            if value is not None:
                check_number(name, value, least=0, strict=True)

    def start(self, evaluation: Evaluation) -> Memory:
        """Return the schedule for the problem, chosen by pre-training if it is not given, and a random generator."""
        rng = np.random.default_rng(self.seed)
        return Memory(self.schedule(evaluation.problem, evaluation.point, rng), rng)

    def step(self, evaluation: Evaluation, memory: Memory) -> Step:
        """Take the steps of one epoch; the size of the step returned is the next step size."""
        m = len(evaluation.problem.sampled.measurement)
        order = memory.rng.permutation(m) if self.shuffle else np.arange(m)
        new_evaluation, schedule = self.stream(evaluation, memory.schedule, order)
        return Step(new_evaluation, float(schedule.steps(1, 1)[0]), memory._replace(schedule=schedule))

    def stream(self, evaluation: Evaluation, schedule: Schedule, order: Vector) -> Streamed:
        """Return the evaluation after one visit to every measurement of a problem, and the schedule from there on.

        If the cost more than doubles, or rises by its size where it is below zero, the steps are too long, and all are
        repeated with a quarter of their size. The schedule returned is not shortened, so that one bad batch does not
        slow down all later steps.

        Parameters
        ----------
        evaluation : Evaluation
            The objective of the problem at the start.
        schedule : Schedule
        order : array of int
            The indices of the measurements, in the order in which they are visited.
        """
        problem, n = evaluation.problem, len(order)
        for retry in range(RETRIES):
            steps = 0.25**retry * schedule.steps(n, self.batch_size)
            with np.errstate(over="ignore", invalid="ignore"):
                point, _ = descend(problem, evaluation.point, order, self.batch_size, steps, adaptive=self.adaptive)
                new_evaluation = problem.evaluate(point)
            if new_evaluation.value <= evaluation.value + abs(evaluation.value):
                return Streamed(new_evaluation, schedule.after(n))
        warn_user(
            f"the cost of {n} samples rose however short the steps: they are passed over. Are they on another scale?",
            ConvergenceWarning,
        )
        return Streamed(evaluation, schedule.after(n))

    def schedule(self, problem: Problem, point: Point, rng: np.random.Generator, least: int = 0) -> Schedule:
        """Return the schedule of step sizes for a stream of measurements that starts with a problem.

        Parameters
        ----------
        problem : Problem
            The first measurements of the stream.
        point : Point
            The start.
        rng : Generator
            Draws the subset for pre-training.
        least : int
            The least number of measurements in the whole stream.
        """
        m = len(problem.sampled.measurement)
        order, size = rng.permutation(m) if self.shuffle else np.arange(m), min(m, self.subset)
        # Near a good fit few constraints are violated, and a subset may have none of them.
        for first in range(0, min(m, MOST_SUBSETS * size), size):
            # The last subset is as large as the others: few measurements would choose steps for themselves alone.
            first = min(first, m - size)
            subset = problem.take(order[first : first + size])
            mean = mean_gradient_norm(subset, point, self.batch_size)
            if not np.isfinite(mean):
                raise ValueError(f"the mean norm of the gradients at the start is {mean}; scale the data or the start.")
            # At an exact fit, gradients are rounding: steps in units of them would lead away.
            if mean > 0 and not fits_exactly(subset, point, self.batch_size):
                step, delay = self.choose_steps(subset, point, mean)
                return Schedule(step / mean, delay * max(m, least))
        return Schedule(0.0, 1.0)

    def choose_steps(self, subset: Problem, point: Point, mean: float) -> Steps:
        """Return s and t₀ with the lowest cost after one epoch on a subset; `mean` is μ."""
        sizes = list(GRID) if self.step_size is None else [self.step_size]
        delays = GRID if self.delay is None else (self.delay,)
        if len(sizes) == len(delays) == 1:
            return Steps(sizes[0], delays[0])
        costs = {(s, t): self.cost_after_epoch(subset, point, mean, Steps(s, t)) for s in sizes for t in delays}
        for _ in range(20 if self.step_size is None else 0):
            best = min(costs, key=costs.__getitem__)[0]
            tried = sorted({s for s, _ in costs})
            if tried[0] < best < tried[-1]:
                break
            further = best / 2 if best == tried[0] else 2 * best
            costs |= {(further, t): self.cost_after_epoch(subset, point, mean, Steps(further, t)) for t in delays}
        return Steps(*min(costs, key=costs.__getitem__))

    def cost_after_epoch(self, subset: Problem, point: Point, mean: float, steps: Steps) -> float:
        """Return the cost after one epoch on a subset with given step sizes; infinity if it is not finite."""
        m = len(subset.sampled.measurement)
        sizes = Schedule(steps.size / mean, steps.delay * m).steps(m, self.batch_size)
        with np.errstate(over="ignore", invalid="ignore"):
            end, _ = descend(subset, point, np.arange(m), self.batch_size, sizes, adaptive=self.adaptive)
            cost = subset.evaluate(end).value
        return cost if np.isfinite(cost) else np.inf


def fits_exactly(problem: Problem, point: Point, batch_size: int) -> bool:
    """Return True if the objective at a point is rounding. One mini-batch that it does not fit is enough to tell."""
    m = len(problem.sampled.measurement)
    exact = 1e3 * float(np.finfo(problem.dtype).eps) ** 2 * problem.value_at_zero
    size = min(batch_size, m)
    if problem.take(np.arange(size)).evaluate(point).value * size / m > exact:
        return False
    return 0 <= problem.evaluate(point).value <= exact


def mean_gradient_norm(problem: Problem, point: Point, batch_size: int, batches: int = 64) -> float:
    """Return the mean norm of the gradients of the first `batches` mini-batches at a point.

    If all measurements are one mini-batch and the point is stationary, that gradient is rounding, which is no unit for
    steps: the mean over single measurements then stands in for it.
    """
    m = len(problem.sampled.measurement)
    starts = range(0, m, batch_size)[:batches]
    norms = [problem.take(np.arange(i, min(i + batch_size, m))).evaluate(point).gradient_norm for i in starts]
    mean = float(np.mean(norms))
    if 1 < m <= batch_size:
        single = mean_gradient_norm(problem, point, 1, batches)
        if mean <= 1e2 * float(np.finfo(problem.dtype).eps) * single:
            return single
    return mean
