"""What a plan learns from its own start; and the mean of the distances of several plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.estimators._learning import Learned, compute_start, learn_by_plan, most_iterations
from gramian.images import total_variance
from gramian.situation import Situation
from gramian.solvers import Ending, Journal
from gramian.supervision import Plan
from gramian.types import Matrix

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["average_distances", "learn_plan"]

#: The mean squared distance is estimated from this number of samples.
SAMPLED = 2_000


def learn_plan(
    learner: MetricLearner,
    situation: Situation,
    plan: Plan,
    rank: int,
    journal: Journal,
    earlier: Matrix | None = None,
    *,
    resume: bool = False,
) -> Learned:
    """Return what a plan learns; for a plan of parts, the mean of their distances.

    It learns from the factor (d, r) of an earlier fit, if that is given, or from the start of the plan.
    """
    journal.expect(most_iterations(learner, plan, resume))
    if earlier is not None:
        return learn_by_plan(learner, situation, plan, earlier, journal, resume=resume)
    if plan.parts:
        return learn_parts(learner, situation, plan, rank, journal)
    return learn_from_start(learner, situation, plan, rank, journal)


def learn_from_start(learner: MetricLearner, situation: Situation, plan: Plan, rank: int, journal: Journal) -> Learned:
    """Return what the last stage of a plan learns from the start of the plan."""
    with journal.phase("start"):
        compute = partial(compute_start, learner, situation, plan.rank or rank, plan.start)
        start = journal.checkpoint.remember("start", compute, rng=situation.rng)
    return learn_by_plan(learner, situation, plan, start, journal)


def learn_parts(learner: MetricLearner, situation: Situation, plan: Plan, rank: int, journal: Journal) -> Learned:
    """Return the mean of the distances that the parts of a plan learn, with the ending of one that did not converge."""
    learned: list[Learned] = []
    for part in plan.parts:
        learned.append(learn_from_start(learner, situation, part, rank, journal))
        if learned[-1].result.ending is Ending.HALTED:
            break
    # What is said of the mean is said of the part that ended worst: neither by a rule, nor as planned.
    worst = max(learned, key=lambda each: (not (each.planned or each.result.converged), not each.result.converged))
    factor = average_distances(situation, [each.result.point.G for each in learned])
    message = f"mean of {len(learned)} distances: {worst.result.message}"
    result = replace(worst.result, point=learner._resolve_geometry().point(factor), message=message)
    return worst._replace(result=result)


def average_distances(situation: Situation, factors: Sequence[Matrix]) -> Matrix:
    """Return a factor (d, d) of the mean of the matrices G Gᵀ of factors G (d, k), each in its own unit.

    The unit of a matrix is the mean squared distance of the samples from their mean. The mean has the unit of the
    first one.
    """
    n = situation.features.shape[0]
    some = situation.features.take(np.arange(0, n, -(-n // SAMPLED)))
    spreads = [total_variance(some, G, situation.execution) for G in factors]
    if not all(0 < spread < np.inf for spread in spreads):
        return factors[0]
    scaled = [
        G * G.dtype.type((spreads[0] / spread / len(factors)) ** 0.5)
        for G, spread in zip(factors, spreads, strict=True)
    ]
    # All factors side by side are a factor of the mean; a QR decomposition makes it square.
    R: Any = np.linalg.qr(np.hstack(scaled).T, mode="r")
    return np.ascontiguousarray(R.T)
