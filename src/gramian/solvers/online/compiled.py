"""One epoch of online descent over mini-batches: compiled if all parts have a compiled form, else generic."""

from __future__ import annotations

import logging
from functools import cache

import numpy as np

from gramian._kernels.online import Batches, Samples, as_samples
from gramian.checks import check_number
from gramian.geometries import Point
from gramian.objective import Evaluation, Problem
from gramian.types import Vector

__all__ = ["compiled_samples", "descend", "descend_generic"]

# For larger batches the generic loop, which uses BLAS on whole batches, is as fast.
LARGEST_COMPILED_BATCH = 256


def descend(
    problem: Problem, point: Point, order: Vector, batch_size: int, steps: Vector, *, adaptive: bool = False
) -> tuple[Point, int]:
    """Take one step per batch, along the negative gradient of the mean loss of the batch.

    Parameters
    ----------
    problem : Problem
        A problem with one term.
    point : Point
        The start.
    order : array of int
        The indices of the measurements, in the order in which they are visited.
    batch_size : int
        The number of measurements in a batch; the last one may be smaller.
    steps : array, shape (n_batches,)
        The step sizes.
    adaptive : bool
        True divides each step size by max(‖G‖², 1).

    Returns
    -------
    point : Point
        The point after the last step.
    skipped : int
        The number of steps skipped because they were not finite.
    """
    problem.check(point)
    check_batches(order, batch_size, steps, len(problem.sampled.measurement))
    problem.passes += problem.share * (2 * len(order) / len(problem.sampled.measurement))
    kernel, samples = point.online_kernel, compiled_samples(problem)
    batches = Batches(order, batch_size, steps, adaptive)
    if kernel is None or samples is None or batch_size > LARGEST_COMPILED_BATCH:
        if batch_size <= LARGEST_COMPILED_BATCH:
            report_generic_path(type(point).__name__ if kernel is None else "these measurements")
        return descend_generic(problem, point, batches)
    return kernel(samples, batches)


def check_batches(order: Vector, batch_size: int, steps: Vector, m: int) -> None:
    """Raise a ValueError unless order has indices of m measurements, and there is a step for each batch of them."""
    check_number("batch_size", batch_size, least=1, integer=True)
    if order.ndim != 1 or order.dtype.kind not in "iu" or (order.size and not 0 <= order.min() <= order.max() < m):
        raise ValueError(f"order of shape {order.shape} and dtype {order.dtype}: expected indices of {m} measurements.")
    n_batches = -(-len(order) // batch_size)
    if steps.shape != (n_batches,):
        raise ValueError(f"steps has shape {steps.shape}; expected ({n_batches},), one for each batch.")


def compiled_samples(problem: Problem) -> Samples | None:
    """Return the problem as arrays for compiled loops; None if its features, measurement or loss are not compiled."""
    term = problem.sampled
    indices = term.measurement.sample_indices()
    if indices is None or not term.loss.compiled:
        return None
    rows = problem.blocks[0].features.stored_rows(differences=bool((indices.second >= 0).all()))
    # The weights of a term sum to one over all measurements. A batch uses the mean of its losses instead.
    weight = term.weight * len(term.measurement)
    return None if rows is None else as_samples(rows, indices.columns(), term.target, term.sense, weight)


@cache
def report_generic_path(part: str) -> None:
    """Log, once per part, that the part has no compiled online descent."""
    logging.getLogger("gramian").info("no compiled online path for %s: some 100 µs a mini-batch", part)


def descend_generic(problem: Problem, point: Point, batches: Batches) -> tuple[Point, int]:
    """Return the point after one step per batch, and the number of steps skipped, for any kinds of parts."""
    skipped, size = 0, batches.size
    for batch, step in enumerate(batches.steps):
        rows = batches.order[batch * size : (batch + 1) * size]
        with np.errstate(over="ignore", invalid="ignore"):
            evaluation = problem.take(rows).evaluate(point)
            # If every constraint of the batch is satisfied, the gradient is zero.
            if evaluation.value == 0:
                continue
            new_point = take_step(evaluation, float(step), batches.adaptive)
        if new_point is None:
            skipped += 1
        else:
            point = new_point
    return point, skipped


def take_step(evaluation: Evaluation, step: float, adaptive: bool) -> Point | None:
    """Return the point after one step along the negative gradient; None if it is not finite."""
    if not np.isfinite(evaluation.value):
        return None
    point, gradient = evaluation.point, evaluation.gradient
    if not np.isfinite(gradient).all():
        return None
    if adaptive:
        size = float(np.linalg.norm(point.G))
        step /= max(size * size, 1.0)
    try:
        curve = point.curve(-gradient)
        new_point = curve.point(min(step, curve.limit))
    except (np.linalg.LinAlgError, ArithmeticError):
        return None
    return new_point if np.isfinite(new_point.G).all() else None
