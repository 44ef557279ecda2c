"""A second opinion on a fit: further random starts, where the first may have ended in a local minimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian.checks import check_number
from gramian.estimators._setup import Setup
from gramian.features import Identity
from gramian.geometries import Geometry
from gramian.interrupts import INTERRUPTED, may_end_quietly
from gramian.objective import Problem
from gramian.solvers import Ending, Result, Solver
from gramian.solvers.solver import is_perfect
from gramian.starts import initial_factor
from gramian.types import Matrix
from gramian.warn import warn_user

__all__ = ["BestResult", "Restarts", "check_n_init", "may_have_local_minima"]

# Local minima occur with fewer measurements than this for each of the d r unknowns.
MEASUREMENTS_PER_UNKNOWN = 6
# Problems with more numbers than this in the data are not solved again unless asked for.
LARGEST_DATA = 1_000_000
# With n_init="auto": the largest number of starts, and the tolerance and the iterations of each of them.
MOST_STARTS, TOLERANCE, ITERATIONS = 12, 1e-3, 100
# Rough solutions of higher rank: tolerance, iterations, and the least singular value kept, relative to the largest.
LIFTED_TOLERANCE, LIFTED_ITERATIONS, LEAST = 1e-2, 30, 1e-3
# The endings after which another start makes sense: others were asked for.
ENDED = (Ending.CONVERGED, Ending.STUCK)
# Two starts agree if their costs differ by at most this fraction. One that agrees with the best ends the search; two
# at the ranks and with the measurements per unknown where several starts often end in the same local minimum.
AGREEMENT, HARD_RANK, HARD_MEASUREMENTS = 0.02, 2, 4


def check_n_init(n_init: Any, solver: Solver) -> None:
    """Raise a ValueError unless n_init is "auto" or a number of starts that the solver can try."""
    if isinstance(n_init, str):
        if n_init != "auto":
            raise ValueError(f"n_init={n_init!r} is not valid. Give 'auto' or a number of starts.")
        return
    check_number("n_init", n_init, least=1, integer=True)
    if n_init > 1 and not solver.stops:
        raise ValueError(f"n_init={n_init} needs a batch solver. Choose solver='cg', or n_init=1.")


def may_have_local_minima(problem: Problem, geometry: Geometry, rank: int) -> bool:
    """Return True for a small regression with few measurements per unknown, whose minimum a start can miss.

    At full rank the objective is convex in W, and every local minimum is a global one.
    """
    term, features, d = problem.sampled, problem.blocks[0].features, problem.n_features
    m = len(term.measurement)
    size = m * d * (d if isinstance(features, Identity) else 1)
    equalities = term.loss.quadratic and not np.any(term.sense)
    small = m < MEASUREMENTS_PER_UNKNOWN * d * rank and size <= LARGEST_DATA
    return small and rank < d and equalities and not geometry.bounded


def required_agreements(problem: Problem, rank: int) -> int:
    """Return how many further starts must agree with the best before it is believed."""
    few = len(problem.sampled.measurement) < HARD_MEASUREMENTS * problem.n_features * rank
    return 2 if few and rank <= HARD_RANK else 1


def record_start(result: Result, setup: Setup) -> None:
    """Write the point of a further start to the journal, where no iteration from it has been written."""
    problem, journal = setup.problem, setup.journal
    passes = problem.passes
    evaluation = problem.evaluate(result.point)
    norm = evaluation.gradient_norm
    journal.passes += problem.passes - passes
    journal.write(evaluation.value, norm, 0.0, 0.0)


class BestResult(NamedTuple):
    """The result of the lowest cost, and the number of starts that were tried."""

    result: Result
    n_starts: int


class Restarts(NamedTuple):
    """Further random starts of a fit.

    Attributes
    ----------
    setup : Setup
        Its generator draws the starts; passes and seconds of these are added to its journal.
    tol : float
        The tolerance of the fit.
    max_iter : int
        The largest number of iterations from each start.
    """

    setup: Setup
    tol: float
    max_iter: int

    def improve(self, first: Result, n_init: int | str, polish: Callable[..., Result]) -> BestResult:
        """Return the result of the lowest cost, the first unless another is clearly lower; and the number of starts.

        Parameters
        ----------
        first : Result
            That of the first start.
        n_init : int or "auto"
            The number of starts.
        polish : callable
            Minimises from `point` to the accuracy of the fit, and writes to the journal.
        """
        auto, problem, journal = isinstance(n_init, str), self.setup.problem, self.setup.journal
        if auto and not may_have_local_minima(problem, self.setup.geometry, first.point.G.shape[1]):
            return BestResult(first, 1)
        most = MOST_STARTS if isinstance(n_init, str) else n_init
        rough = self._replace(tol=max(self.tol, TOLERANCE), max_iter=min(self.max_iter, ITERATIONS)) if auto else self
        needed, n_same = required_agreements(problem, first.point.G.shape[1]), 0
        best, n_starts, perfect_cost = first, 1, self.tol * problem.value_at_zero
        try:
            while n_starts < most and best.ending in ENDED and not is_perfect(best.cost, perfect_cost):
                n_starts += 1
                found, size = rough.solve(best.point.G.shape[1]), abs(best.cost)
                if found.cost < best.cost - rough.tol * size:
                    best, n_same = polish(point=found.point), 0
                    if best.n_iter == 0:
                        record_start(best, self.setup)
                elif auto and found.cost <= best.cost + AGREEMENT * size:
                    n_same += 1
                    if n_same == needed:
                        break
        except KeyboardInterrupt:
            if not (journal.keeps_best and may_end_quietly()):
                raise
            warn_user(f"interrupted in start {n_starts}: the best one so far is kept.", ConvergenceWarning)
            best = replace(best, ending=Ending.HALTED, message=INTERRUPTED)
        return BestResult(best, n_starts)

    def solve(self, rank: int) -> Result:
        """Return the result from a new random start; its iterations are not written to the journal."""
        problem, journal = self.setup.problem, self.setup.journal
        passes = problem.passes
        with journal.phase("further starts"):
            result = self.setup.minimize_quietly(self.start(rank), max_iter=self.max_iter, tol=self.tol)
        journal.passes += problem.passes - passes
        return result

    def start(self, rank: int) -> Matrix:
        """Return a random start (d, r): the leading part of a rough solution of higher rank, from a random factor.

        At a higher rank there are fewer local minima. The global one is found several times as often as from a random
        factor of rank r.
        """
        problem, rng, coordinates = self.setup.problem, self.setup.rng, self.setup.coordinates
        if self.setup.geometry.full_rank:
            return initial_factor("random", problem, rank, rng, coordinates)
        factor = initial_factor("random", problem, min(3 * rank + 2, problem.n_features), rng, coordinates)
        max_iter = min(self.max_iter, LIFTED_ITERATIONS)
        lifted = self.setup.minimize_quietly(factor, max_iter=max_iter, tol=LIFTED_TOLERANCE)
        left, sigma, _ = np.linalg.svd(lifted.point.G, full_matrices=False)
        return np.ascontiguousarray(left[:, :rank] * np.maximum(sigma[:rank], LEAST * sigma[0]))
