"""The choice of a rank: columns are added by certificates of the lower ranks, and judged on held-out measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gramian.certificate import Certifier, append_column
from gramian.estimators._setup import Setup
from gramian.geometries import Geometry
from gramian.images import Parts
from gramian.objective import Block, Evaluation, Problem, Term
from gramian.solvers import Solver
from gramian.starts.kernel_pca import TooFewDirections
from gramian.types import Matrix, Vector

__all__ = ["RankChoice", "RankSearch", "RankTrial", "check_auto", "is_auto"]

# The share of the measurements that is held out.
HELD_OUT = 0.25
# A solution of the path: its relative decrease at the end, its largest number of iterations, and the share of the cost
# of W = 0 below which the fit is perfect.
TOLERANCE, ITERATIONS, PERFECT = 1e-5, 300, 1e-8
# A perfect fit predicts held-out measurements to this share of the cost of W = 0; others fit more than there is.
PREDICTED = 1e-4
# The path ends after this number of ranks that do not lower the held-out cost by this share.
PATIENCE, IMPROVEMENT = 3, 0.01
# A solution replaces that of its rank if its cost is lower by this share.
LOWER = 1e-3
# Columns whose squared singular value is at most this share of the largest are dropped from a perfect fit at once.
NEGLIGIBLE = 1e-3


class RankTrial(NamedTuple):
    """A rank that was tried, with costs in the user's units.

    A quarter of the measurements is held out while ranks are tried. The chosen rank is then learned from all of them.

    Attributes
    ----------
    rank : int
    cost : float
        The weighted mean loss of the measurements that were learned from, three quarters of all. It falls with the
        rank.
    held_out_cost : float
        The weighted mean loss of the measurements that were held out. The chosen rank is the lowest that exceeds the
        smallest of these by at most one standard error.
    gap : float
        `cost` exceeds the lowest cost of all positive semidefinite matrices by at most this.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PSDRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> model = PSDRegressor(rank="auto", random_state=0).fit(X, np.sum(X[:, :2] ** 2, axis=1))
    >>> [trial.rank for trial in model.rank_path_], model.rank_path_[0].cost > model.rank_path_[1].cost
    ([1, 2], True)
    """

    rank: int
    cost: float
    held_out_cost: float
    gap: float


class HeldOut(NamedTuple):
    """The problem of the measurements to learn from, and that of those held out."""

    learned: Problem
    held_out: Problem


class RankChoice(NamedTuple):
    """The chosen rank, a factor (d, r) to start from, and the ranks that were tried."""

    rank: int
    factor: Matrix
    trials: list[RankTrial]


class Step(NamedTuple):
    """A solution of the path: its evaluation, the loss of each held-out measurement (m,), and the gap."""

    evaluation: Evaluation
    losses: Vector
    gap: float

    @property
    def rank(self) -> int:
        """The rank of the solution."""
        return self.evaluation.point.G.shape[1]

    @property
    def held_out_cost(self) -> float:
        """The cost of the held-out measurements."""
        return float(self.losses.sum())

    def trial(self, scale: float) -> RankTrial:
        """Return the trial, with costs multiplied by a scale."""
        costs = (scale * cost for cost in (self.evaluation.value, self.held_out_cost, self.gap))
        return RankTrial(self.rank, *costs)


class RankSearch(NamedTuple):
    """The search for a rank.

    Attributes
    ----------
    setup : Setup
        Of a batch solver, and a geometry with points of every rank. Its generator draws the held-out measurements;
        passes and seconds of the search are added to its journal.
    largest : int
        The largest rank.
    start_of : callable, optional
        Returns the start (d, r) of a rank r. By default a rank starts from the solution of the rank below, with one
        more column; rank 1 from W = 0.
    """

    setup: Setup
    largest: int
    start_of: Callable[[int], Matrix] | None = None

    def choose(self) -> RankChoice:
        """Return the lowest rank of a perfect fit, or else the one chosen by held-out measurements.

        The latter is the lowest rank whose held-out cost exceeds the lowest by at most one standard error.
        """
        return self.setup.journal.checkpoint.remember("rank", self.search, rng=self.setup.rng)

    def search(self) -> RankChoice:
        """Return the choice of `choose`, computed."""
        journal = self.setup.journal
        learned, held_out = self.split()
        path: list[Step] = []
        for step in self.walk(learned, held_out):
            path.append(step)
            # The gradient of a perfect fit is zero, so that it has no further column.
            perfect = is_perfect(step.evaluation)
            predicts = perfect and step.held_out_cost <= PREDICTED * held_out.value_at_zero
            if predicts or (perfect and self.start_of is None) or has_settled(path):
                break
        with journal.phase("lower ranks"):
            if predicts:
                factor = self.reduce(step.evaluation)
            else:
                path = path if self.start_of else self.sweep_back(path, held_out)
                factor = select_by_one_standard_error(path).evaluation.point.G
        journal.passes += learned.passes + held_out.passes
        return RankChoice(factor.shape[1], factor, [step.trial(journal.cost_scale) for step in path])

    def split(self) -> HeldOut:
        """Return the problem of the measurements to learn from, and that of those held out; none has weight 0."""
        problem = self.setup.problem
        order = self.setup.rng.permutation(np.flatnonzero(problem.sampled.weight))
        m = len(order)
        if m == 1:
            return HeldOut(problem, problem)
        n_held = min(max(int(HELD_OUT * m), 1), m - 1)
        return HeldOut(take_part(problem, np.sort(order[n_held:])), take_part(problem, np.sort(order[:n_held])))

    def walk(self, learned: Problem, held_out: Problem) -> Iterator[Step]:
        """Yield a solution of each rank from 1 on, until one is a global minimum."""
        certifier = Certifier(learned)
        evaluation = learned.evaluate(certifier.zero)
        descent = certifier.descent(evaluation)
        for rank in range(1, self.largest + 1):
            with self.setup.journal.phase(f"rank {rank}"):
                start = append_column(evaluation, descent.vector) if self.start_of is None else self.find_start(rank)
                if start is None:
                    break
                evaluation = self.solve(learned, start)
                descent = certifier.descent(evaluation)
                step = Step(evaluation, losses_of(held_out, evaluation.point.G), descent.gap)
            yield step
            if self.start_of is None and descent.eigenvalue >= 0:
                break

    def find_start(self, rank: int) -> Matrix | None:
        """Return the start (d, r) of a rank; None if there is none of this rank, but of lower ones."""
        assert self.start_of is not None
        try:
            return self.start_of(rank)
        except TooFewDirections:
            if rank == 1:
                raise
            return None

    def solve(self, problem: Problem, factor: Matrix) -> Evaluation:
        """Return the evaluation at the solution from a start (d, r)."""
        setup = self.setup._replace(problem=problem)
        result = setup.minimize_quietly(factor, max_iter=ITERATIONS, tol=TOLERANCE, perfect=PERFECT)
        return problem.evaluate(result.point)

    def sweep_back(self, path: list[Step], held_out: Problem) -> list[Step]:
        """Return the path with lower costs, where the leading part of the next solution leads to one.

        A solution of a rank can be a local minimum. At a higher rank these are rarer. The sweep starts below the best
        rank, and ends after two ranks that stay as they are.
        """
        path, unchanged = list(path), 0
        best = min(range(len(path)), key=lambda k: path[k].held_out_cost)
        for k in range(min(best, len(path) - 2), -1, -1):
            evaluation = path[k].evaluation
            found = self.solve(evaluation.problem, truncate(path[k + 1].evaluation.point.G, path[k].rank))
            if found.value < (1 - LOWER) * evaluation.value:
                gap = max(path[k].gap - evaluation.value + found.value, 0.0)
                path[k], unchanged = Step(found, losses_of(held_out, found.point.G), gap), 0
            elif (unchanged := unchanged + 1) == 2:
                break
        return path

    def reduce(self, evaluation: Evaluation) -> Matrix:
        """Return the factor of the lowest rank that still fits perfectly, from that of a perfect fit."""
        problem, factor = evaluation.problem, evaluation.point.G
        sigma = np.linalg.svd(factor, compute_uv=False)
        rank = max(int(np.sum(sigma**2 > NEGLIGIBLE * sigma[0] ** 2)), 1)
        rank = rank if rank < factor.shape[1] else rank - 1
        while rank >= 1:
            found = self.solve(problem, truncate(factor, rank))
            if not is_perfect(found):
                if rank + 1 >= factor.shape[1]:
                    break
                rank += 1
                continue
            factor, rank = found.point.G, rank - 1
        return factor


def has_settled(path: list[Step]) -> bool:
    """Return True after several ranks that do not lower the held-out cost."""
    costs = [step.held_out_cost for step in path]
    return len(costs) > PATIENCE and min(costs[-PATIENCE:]) > (1 - IMPROVEMENT) * min(costs[:-PATIENCE])


def select_by_one_standard_error(path: list[Step]) -> Step:
    """Return the solution of the lowest rank whose held-out cost exceeds the lowest by at most one standard error."""
    best = min(path, key=lambda step: step.held_out_cost)
    for step in path:
        excess = step.losses - best.losses
        # Losses are weighted; the standard error of their sum is that of as many independent terms.
        error = float(np.sum((excess - excess.mean()) ** 2)) ** 0.5
        if float(excess.sum()) <= error:
            return step
    return best


def losses_of(problem: Problem, factor: Matrix) -> Vector:
    """Return the weighted losses of the measurements of a problem, without those of weight 0; always in one order."""
    return np.concatenate(problem.run(join_losses, passes=1, factor=factor)[1].parts)


def join_losses(block: Block, *, factor: Matrix) -> tuple[None, Parts]:
    """Join the weighted losses of the measurements of a block, without those of weight 0."""
    return None, Parts(block.team.map(weighted_losses, block.terms, block.predict(block.image(factor))))


def weighted_losses(term: Term, prediction: Vector) -> Vector:
    """Return the weighted losses of the measurements of a term, without those of weight 0, in float64."""
    values = term.loss(prediction.astype(np.float64), term.target.astype(np.float64), term.sense).value
    return (term.weight * values)[np.flatnonzero(term.weight)].astype(np.float64)


def is_auto(rank: Any) -> bool:
    """Return True if the rank is to be chosen."""
    return isinstance(rank, str) and rank == "auto"


def check_auto(name: str, init: Any, solver: Solver, geometry: Geometry) -> None:
    """Raise a ValueError if init, solver or geometry do not suit a rank that is to be chosen, the parameter `name`."""
    if not isinstance(init, str):
        raise ValueError(f"{name}='auto' needs a start of every rank, but init is an array. Give init by its name.")
    if not solver.stops:
        raise ValueError(f"{name}='auto' needs a batch solver. Choose solver='cg', or a number for {name}.")
    if geometry.full_rank or geometry.bounded:
        raise ValueError(f"{name}='auto' needs matrices of every rank. Choose geometry='scaled', 'flat' or 'polar'.")


def is_perfect(evaluation: Evaluation) -> bool:
    """Return True if the cost is zero, up to the precision of the path."""
    return bool(evaluation.value <= PERFECT * evaluation.problem.value_at_zero)


def truncate(factor: Matrix, rank: int) -> Matrix:
    """Return the leading part (d, rank) of a factor."""
    left, sigma, _ = np.linalg.svd(factor, full_matrices=False)
    return np.ascontiguousarray(left[:, :rank] * sigma[:rank])


def take_part(problem: Problem, rows: Vector) -> Problem:
    """Return the problem of some measurements, with W of the same size; its weights have the same sum."""
    term, features = problem.sampled, problem.blocks[0].features
    if term.separable:
        taken, samples = term.take(rows)
        features = features if samples is None else features.take(samples)
        weight = taken.weight
    else:
        # Measurements of several samples stay where they are: the rows of W may be those samples.
        taken, weight = term, np.zeros_like(term.weight)
        weight[rows] = term.weight[rows]
    total = weight.sum(dtype=np.float64)
    scaled = (weight * (term.weight.sum(dtype=np.float64) / total)).astype(weight.dtype)
    part = Term(taken.measurement, taken.target, taken.loss, taken.sense, scaled)
    return Problem([Block(features, [part])], problem.execution)
