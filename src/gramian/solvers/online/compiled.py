"""One pass of online descent over mini-batches: compiled where every part has a compiled form, else generic."""

from __future__ import annotations

import logging
from functools import cache

import numpy as np

from gramian._kernels.online import Batches, Samples
from gramian.geometries import Point
from gramian.objective import Evaluation, Problem
from gramian.types import Vector

__all__ = ["compiled_samples", "descend", "descend_generic"]

# From here on BLAS on whole batches is as fast.
LARGEST_COMPILED_BATCH = 256


def descend(
    problem: Problem, point: Point, order: Vector, batch_size: int, steps: Vector, *, adaptive: bool = False
) -> tuple[Point, int]:
    """Take one step a batch, against the gradient of the batch's mean.

    Parameters
    ----------
    problem : Problem
        Of one term.
    point : Point
    order : array of int
        The measurements, in the order in which they are seen.
    batch_size : int
    steps : array
        One step size a batch.
    adaptive : bool
        Divides each step by max(‖G‖², 1).

    Returns
    -------
    point : Point
    skipped : int
        Steps not taken because they were not finite.
    """
    problem.count(2 * len(order) / len(problem.sampled.measurement))
    kernel, samples = point.online_kernel, compiled_samples(problem)
    batches = Batches(order, batch_size, steps, adaptive)
    if kernel is None or samples is None or batch_size > LARGEST_COMPILED_BATCH:
        if batch_size <= LARGEST_COMPILED_BATCH:
            report_generic_path(type(point).__name__ if kernel is None else "these measurements")
        return descend_generic(problem, point, batches)
    return kernel(samples, batches)


def compiled_samples(problem: Problem) -> Samples | None:
    """Return the problem as arrays for compiled loops; None if its features, measurement or loss have no such form."""
    term = problem.sampled
    indices = term.measurement.sample_indices()
    if indices is None or not term.loss.compiled:
        return None
    X = problem.blocks[0].features.contiguous(differences=bool((indices[1] >= 0).all()))
    # Term weights sum to one over all measurements; a batch takes the mean.
    weight = term.weight * len(term.measurement)
    return None if X is None else Samples(X, *indices, term.target, term.sense, weight)


@cache
def report_generic_path(part: str) -> None:
    """Log, once, that a part has no compiled online path."""
    logging.getLogger("gramian").info("no compiled online path for %s: some 100 µs a mini-batch", part)


def descend_generic(problem: Problem, point: Point, batches: Batches) -> tuple[Point, int]:
    """Take one step a batch, on any geometry, measurement and loss; return the point and the steps skipped."""
    skipped, size = 0, batches.size
    for batch, step in enumerate(batches.steps):
        rows = batches.order[batch * size : (batch + 1) * size]
        with np.errstate(over="ignore", invalid="ignore"):
            evaluation = problem.take(rows).evaluate(point)
            # Nothing to do where every constraint of the batch is satisfied.
            if evaluation.value == 0:
                continue
            arrived = take_step(evaluation, float(step), batches.adaptive)
        if arrived is None:
            skipped += 1
        else:
            point = arrived
    return point, skipped


def take_step(evaluation: Evaluation, step: float, adaptive: bool) -> Point | None:
    """Return the point a step further; None where it is not finite."""
    if not np.isfinite(evaluation.value):
        return None
    point, gradient = evaluation.point, evaluation.gradient
    if not np.isfinite(gradient).all():
        return None
    if adaptive:
        step /= max(float(np.linalg.norm(point.G)) ** 2, 1.0)
    curve = point.curve(-gradient)
    try:
        arrived = curve.point(min(step, curve.limit))
    except np.linalg.LinAlgError:
        return None
    return arrived if np.isfinite(arrived.G).all() else None
