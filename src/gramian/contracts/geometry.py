"""The contract of a geometry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import numpy as np

from gramian.contracts.builders import SHAPE, Shape, random_problem
from gramian.contracts.invariances import (
    FIRST_ORDER,
    PATH_SOLVERS,
    check_data_rotation,
    check_descent,
    check_factor_rotation,
    check_target_scaling,
)
from gramian.contracts.objectives import (
    check_blocks,
    check_carried_evaluations,
    check_gauss_newton,
    check_gradient,
    check_line_derivatives,
    check_single_precision,
    check_weights,
)
from gramian.contracts.points import (
    check_carried_frames,
    check_curve_velocity,
    check_metric,
    check_orthonormal_frames,
)
from gramian.geometries import Geometry
from gramian.losses import LOSSES
from gramian.objective import Problem

__all__ = ["DATA_IDENTITIES", "POINT_IDENTITIES", "PROBLEM_IDENTITIES", "SOLVER_IDENTITIES", "check_geometry"]

SEED = 20111

#: Identities of points and curves: functions of a geometry, a generator and the shape of factors.
POINT_IDENTITIES: tuple[Callable[..., None], ...] = (
    check_metric,
    check_curve_velocity,
    check_carried_frames,
    check_orthonormal_frames,
)
#: Identities on any problem: functions of a geometry, a generator, the problem and the shape of factors.
PROBLEM_IDENTITIES: tuple[Callable[..., None], ...] = (
    check_gradient,
    check_line_derivatives,
    check_carried_evaluations,
)
#: Identities on data of their own: functions of a geometry, a generator and the shape of factors.
DATA_IDENTITIES: tuple[Callable[..., None], ...] = (
    check_gauss_newton,
    check_factor_rotation,
    check_data_rotation,
    check_blocks,
    check_weights,
    check_single_precision,
)
#: Identities with a solver, which is an argument too.
SOLVER_IDENTITIES: tuple[Callable[..., None], ...] = (check_target_scaling, check_descent)


def check_geometry(
    geometry: Geometry, *, n_features: int = SHAPE.n_features, rank: int = SHAPE.rank, without: Collection[str] = ()
) -> None:
    """Raise an AssertionError unless the geometry keeps every identity of a geometry.

    The identities: the metric is an inner product and the gradient is the metric's; the curve leaves with the right
    velocity, carries frames and keeps orthonormal ones so; neither the representative of W nor the axes of the data
    matter; targets that are scaled scale W; blocks, terms and weights are what they say; lines know their derivatives;
    the Gauss-Newton operator is right; carried evaluations equal fresh ones; costs never increase; float32 stays
    float32. The random numbers have a fixed seed. Scaling is not checked where the geometry is `bounded`.

    Parameters
    ----------
    geometry : Geometry
    n_features : int
        d, for geometries whose settings fix it.
    rank : int
        r; d for geometries with `full_rank`.
    without : collection of str
        Names of identities that the geometry does not claim, as "check_factor_rotation" for a retraction that depends
        on the representative of W.

    Raises
    ------
    AssertionError
        With the identity that is broken, the numbers, and what it means.

    Examples
    --------
    A geometry that is defined outside the package, the flat one with the metric 2 tr(ξᵀ ζ):

    >>> from gramian.contracts import check_geometry
    >>> from gramian.geometries import Geometry, Point, Straight
    >>> class DoubledPoint(Point):
    ...     def gradient(self, MF):
    ...         return MF
    ...
    ...     def inner(self, a, b):
    ...         return 2 * super().inner(a, b)
    ...
    ...     def frame_velocity(self, tangent):
    ...         return tangent
    ...
    ...     def curve(self, tangent):
    ...         return Straight(self, tangent)
    >>> class Doubled(Geometry):
    ...     def point(self, G):
    ...         return DoubledPoint(G)
    >>> check_geometry(Doubled())

    A gradient that does not belong to the metric is found:

    >>> DoubledPoint.gradient = lambda self, MF: 2 * MF
    >>> check_geometry(Doubled())
    Traceback (most recent call last):
    ...
    AssertionError: Identity broken: inner(gradient, ξ) = 2 <M G, velocity(ξ)>...
    """
    check_names(without)
    for name, identity in list_checks(geometry, Shape(n_features, rank)):
        if name not in without:
            identity(np.random.default_rng(SEED))


def list_checks(geometry: Geometry, shape: Shape) -> Iterator[tuple[str, Callable[[np.random.Generator], None]]]:
    """Yield the name of every identity that applies and a function of a generator that checks it."""

    def problem(kind: str, loss: str = "squared", dtype: Any = np.float64) -> Problem:
        return random_problem(np.random.default_rng(SEED), shape.n_features, kind, LOSSES[loss](), dtype)

    for identity in POINT_IDENTITIES:
        yield identity.__name__, partial(identity, geometry, shape=shape)
    for loss in LOSSES:
        yield "check_gradient", partial(check_gradient, geometry, problem=problem("pairs", loss), shape=shape)
    for kind in ("each", "pairs"):
        for identity in PROBLEM_IDENTITIES:
            yield identity.__name__, partial(identity, geometry, problem=problem(kind), shape=shape)
    for identity in DATA_IDENTITIES:
        yield identity.__name__, partial(identity, geometry, shape=shape)
    for solver in PATH_SOLVERS:
        for dtype in (np.float64, np.float32):
            falling = problem("pairs", dtype=dtype)
            yield "check_descent", partial(check_descent, geometry, problem=falling, solver=solver, shape=shape)
    # A bounded W has no scale.
    for solver in () if geometry.bounded else FIRST_ORDER:
        yield "check_target_scaling", partial(check_target_scaling, geometry, solver=solver, shape=shape)


def check_names(without: Collection[str]) -> None:
    """Raise a ValueError for names that are not those of identities."""
    identities = (*POINT_IDENTITIES, *PROBLEM_IDENTITIES, *DATA_IDENTITIES, *SOLVER_IDENTITIES)
    known = [identity.__name__ for identity in identities]
    unknown = sorted(set(without) - set(known))
    if unknown:
        raise ValueError(f"without names {unknown[0]!r}, which is no identity. Choose among {', '.join(known)}.")
