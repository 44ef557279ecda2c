"""Online descent as a stream of mini-batches: the generic path, and the compiled one where there is a kernel for it.

A stream is called with the numbers of measurements in the order they are to be seen, cut into batches, and the step of
each batch; it gives back the point it arrived at and how many steps it had to skip because they were not finite.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gramian._kernels.online import flat_online, polar_online
from gramian._kernels.online_scaled import scaled_online
from gramian.features import Array
from gramian.geometries.cores import AffineCore
from gramian.geometries.flat import FlatPoint
from gramian.geometries.point import Point
from gramian.geometries.polar import PolarPoint
from gramian.geometries.scaled import ScaledPoint
from gramian.losses import Squared
from gramian.measurements import Each, Pairs
from gramian.objective import Evaluation, Problem
from gramian.types import Vector

__all__ = ["compiled", "descend", "generic"]

Arrived = tuple[Point, int]
# From here on BLAS on whole batches is as fast.
LARGEST_COMPILED_BATCH = 256


def descend(
    problem: Problem, point: Point, order: Vector, batch_size: int, steps: Vector, *, adaptive: bool = False
) -> Arrived:
    """One step a batch, along -gradient of the batch's mean; steps[b] for batch b, over max(‖G‖², 1) if adaptive."""
    problem.passes += 2 * len(order) / len(problem.sampled.measurement)
    kernel = compiled(problem, point) if batch_size <= LARGEST_COMPILED_BATCH else None
    if kernel is not None:
        return kernel(order, batch_size, steps, adaptive)
    return generic(problem, point, order, batch_size, steps, adaptive)


def generic(problem: Problem, point: Point, order: Vector, batch_size: int, steps: Vector, adaptive: bool) -> Arrived:
    """Any geometry, measurement and loss."""
    skipped = 0
    for batch, step in enumerate(steps):
        rows = order[batch * batch_size : (batch + 1) * batch_size]
        with np.errstate(over="ignore", invalid="ignore"):
            evaluation = problem.take(rows).evaluate(point)
            # Nothing to do where every constraint of the batch is satisfied.
            if evaluation.value == 0:
                continue
            arrived = moved(evaluation, float(step), adaptive)
        if arrived is None:
            skipped += 1
        else:
            point = arrived
    return point, skipped


def moved(evaluation: Evaluation, step: float, adaptive: bool) -> Point | None:
    """The point a step further; None where it is not finite."""
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


def compiled(problem: Problem, point: Point) -> Callable[[Vector, int, Vector, bool], Arrived] | None:
    """The kernel for a problem and a geometry; None where there is none."""
    term, features = problem.sampled, problem.blocks[0].features
    if type(term.loss) is not Squared or not isinstance(features, Array) or not features.X.flags.c_contiguous:
        return None
    m = len(term.measurement)
    if isinstance(term.measurement, Pairs):
        first, second = (np.ascontiguousarray(column) for column in term.measurement.pairs.T)
    elif isinstance(term.measurement, Each):
        first, second = np.arange(m), np.full(m, -1)
    else:
        return None
    # Term weights sum to one over all measurements; a batch takes the mean.
    data = (features.X, first, second, term.target, term.sense, term.weight * m)
    if type(point) is FlatPoint:
        return lambda *schedule: run_flat(data, point, *schedule)
    if isinstance(point, ScaledPoint):
        return lambda *schedule: run_scaled(data, point, *schedule)
    if isinstance(point, PolarPoint) and type(point.core) is AffineCore and point.settings.retraction == "uf":
        return lambda *schedule: run_polar(data, point, *schedule)
    return None


def run_flat(data: tuple, point: FlatPoint, order: Vector, batch_size: int, steps: Vector, adaptive: bool) -> Arrived:
    """The flat kernel, on a copy of the factor."""
    G = point.G.T.copy()
    skipped = flat_online(*data, order, batch_size, steps, adaptive, G)
    return FlatPoint(np.ascontiguousarray(G.T)), skipped


def run_scaled(
    data: tuple, point: ScaledPoint, order: Vector, batch_size: int, steps: Vector, adaptive: bool
) -> Arrived:
    """The scaled kernel, on a copy of the factor."""
    G, moment = point.G.T.copy(), point.moment
    none = np.empty((0, 0), G.dtype)
    C = none if moment is None else np.ascontiguousarray(moment.C)
    inverse = none if moment is None else np.ascontiguousarray(moment.solve(np.eye(len(C), dtype=C.dtype)))
    skipped = scaled_online(*data, order, batch_size, steps, adaptive, C, inverse, G)
    return point.at(np.ascontiguousarray(G.T)), skipped


def run_polar(data: tuple, point: PolarPoint, order: Vector, batch_size: int, steps: Vector, adaptive: bool) -> Arrived:
    """The polar kernel, on copies of frame and root."""
    U, R = point.frame.T.copy(), point.core.root.copy()
    skipped = polar_online(*data, order, batch_size, steps, adaptive, point.settings.weight, U, R)
    return PolarPoint(np.ascontiguousarray(U.T), AffineCore(R), point.settings), skipped
