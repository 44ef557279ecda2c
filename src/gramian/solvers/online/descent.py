"""Online descent over mini-batches: the paper's online algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian.checks import checked_number
from gramian.geometries import Point
from gramian.objective import Evaluation, Problem
from gramian.solvers.online.compiled import descend
from gramian.solvers.online.schedule import Schedule
from gramian.solvers.solver import Solver, Step
from gramian.types import Vector
from gramian.warn import warn_user

__all__ = ["Memory", "Online"]

#: The values that pre-training tries for s and for t₀.
GRID = tuple(2.0**k for k in range(-3, 4))
#: How often steps are shortened before a stream of samples is given up.
RETRIES = 10


class Memory(NamedTuple):
    """The schedule, and the generator that shuffles."""

    schedule: Schedule
    rng: np.random.Generator


@dataclass(frozen=True)
class Online(Solver):
    """Mini-batch descent with the steps s/μ · n t₀/(n t₀ + t), t the samples seen; every iteration is an epoch.

    μ is the mean norm of a mini-batch's gradient at the start. s and t₀ are found by pre-training where they are not
    given: on a small subset, each pair of 2^k, k = -3..3, runs one epoch, and the lowest cost wins (where the best s
    lies on the edge of the grid, the grid grows). A step that is not finite is skipped; an epoch that more than doubles
    the cost is done again with shorter steps.

    Parameters
    ----------
    batch_size : int
        p, the measurements in a mini-batch; the last of an epoch may be smaller.
    step_size : float or None
        s; None finds it by pre-training.
    delay : float or None
        t₀; None finds it by pre-training.
    adaptive : bool
        Divides each step by max(‖G‖², 1), as the convergence proof in the paper's appendix asks.
    shuffle : bool
        A new order every epoch; else the order given.
    subset : int
        Measurements for pre-training and for μ.
    seed : int or None

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

    def __post_init__(self) -> None:
        checked_number("batch_size", self.batch_size, least=1, integer=True)
        checked_number("subset", self.subset, least=1, integer=True)
        for name, value in (("step_size", self.step_size), ("delay", self.delay)):
            if value is not None:
                checked_number(name, value, least=0, strict=True)

    def start(self, evaluation: Evaluation) -> Memory:
        """The schedule for a problem, found by pre-training where it is not given."""
        rng = np.random.default_rng(self.seed)
        return Memory(self.schedule(evaluation.problem, evaluation.point, rng), rng)

    def step(self, evaluation: Evaluation, memory: Memory) -> Step:
        """One epoch."""
        m = len(evaluation.problem.sampled.measurement)
        order = memory.rng.permutation(m) if self.shuffle else np.arange(m)
        arrived, schedule = self.stream(evaluation, memory.schedule, order)
        return Step(arrived, float(schedule.steps(1, 1)[0]), memory._replace(schedule=schedule))

    def stream(self, evaluation: Evaluation, schedule: Schedule, order: Vector) -> tuple[Evaluation, Schedule]:
        """Where a problem's measurements, seen once in an order, lead; and the schedule from there on.

        Where the cost more than doubles the steps were too long: all is done again with a quarter of them. What comes
        after has the schedule's steps again: one wild batch must not end the learning.
        """
        problem, n = evaluation.problem, len(order)
        for retry in range(RETRIES):
            steps = 0.25**retry * schedule.steps(n, self.batch_size)
            with np.errstate(over="ignore", invalid="ignore"):
                point, _ = descend(problem, evaluation.point, order, self.batch_size, steps, adaptive=self.adaptive)
                arrived = problem.evaluate(point)
            if arrived.value <= 2 * evaluation.value:
                return arrived, schedule.after(n)
        warn_user(
            f"the cost of {n} samples rose however short the steps: they are passed over. Are they on another scale?",
            ConvergenceWarning,
        )
        return evaluation, schedule.after(n)

    def schedule(self, problem: Problem, point: Point, rng: np.random.Generator, least: int = 0) -> Schedule:
        """Steps for a stream that starts with this problem and has at least so many samples in all."""
        m = len(problem.sampled.measurement)
        size = min(m, self.subset)
        subset = problem.take(rng.permutation(m)[:size] if self.shuffle else np.arange(size))
        mean = mean_gradient_norm(subset, point, self.batch_size)
        if not mean > 0:
            return Schedule(0.0, 1.0)
        step, delay = self.pretrained(subset, point, mean)
        return Schedule(step / mean, delay * max(m, least))

    def pretrained(self, subset: Problem, point: Point, mean: float) -> tuple[float, float]:
        """s and t₀ of the lowest cost on a subset after one epoch of it."""
        m = len(subset.sampled.measurement)
        steps = list(GRID) if self.step_size is None else [self.step_size]
        delays = GRID if self.delay is None else (self.delay,)
        if len(steps) == len(delays) == 1:
            return steps[0], delays[0]
        costs: dict[tuple[float, float], float] = {}

        def attempt(s: float) -> None:
            for delay in delays:
                schedule = Schedule(s / mean, delay * m).steps(m, self.batch_size)
                with np.errstate(over="ignore", invalid="ignore"):
                    arrived, _ = descend(subset, point, np.arange(m), self.batch_size, schedule, adaptive=self.adaptive)
                    cost = subset.evaluate(arrived).value
                costs[s, delay] = cost if np.isfinite(cost) else np.inf

        for s in steps:
            attempt(s)
        for _ in range(20 if self.step_size is None else 0):
            best = min(costs, key=costs.__getitem__)[0]
            tried = sorted({s for s, _ in costs})
            if tried[0] < best < tried[-1]:
                break
            attempt(best / 2 if best == tried[0] else 2 * best)
        return min(costs, key=costs.__getitem__)


def mean_gradient_norm(problem: Problem, point: Point, batch_size: int, batches: int = 64) -> float:
    """The mean norm of the gradients of some mini-batches at a point."""
    m = len(problem.sampled.measurement)
    starts = range(0, m, batch_size)[:batches]
    norms = [problem.take(np.arange(i, min(i + batch_size, m))).evaluate(point).gradient_norm for i in starts]
    return float(np.mean(norms))
