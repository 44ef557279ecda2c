"""Identities of a geometry's points and curves, without data."""

from __future__ import annotations

import numpy as np

from gramian.contracts.agreement import require, require_close
from gramian.contracts.builders import SHAPE, Shape, random_point, random_tangent
from gramian.geometries import Geometry

__all__ = ["check_carried_frames", "check_curve_velocity", "check_metric", "check_orthonormal_frames"]


def check_metric(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless the metric is symmetric, linear and positive."""
    point = random_point(geometry, rng, shape)
    a, b, c = (random_tangent(point, rng) for _ in range(3))
    meaning = "point.inner must be an inner product of tangents."
    require_close("inner(a, b) = inner(b, a)", point.inner(a, b), point.inner(b, a), meaning, rtol=1e-9)
    expected = point.inner(a, c) + 2 * point.inner(b, c)
    identity = "inner(a + 2 b, c) = inner(a, c) + 2 inner(b, c)"
    require_close(identity, point.inner(a + 2 * b, c), expected, meaning, rtol=1e-9)
    require(point.inner(a, a) > 0, "inner(a, a) > 0", f"inner(a, a) = {point.inner(a, a):.8g}", meaning)


def check_curve_velocity(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless G(s) = G + s velocity + O(s²), without the rest on straight curves."""
    point = random_point(geometry, rng, shape)
    tangent = random_tangent(point, rng)
    tangent = tangent / np.linalg.norm(point.velocity(tangent))
    velocity, curve = point.velocity(tangent), point.curve(tangent)
    steps = np.array([1e-2, 1e-3])
    errors = np.array([np.linalg.norm(curve.point(s).G - point.G - s * velocity) for s in steps])
    if curve.straight:
        meaning = "A curve with straight = True moves its factor along a line."
        require_close("G(s) = G + s velocity on a straight curve", errors, np.zeros(2), meaning, atol=1e-13)
        return
    order = np.diff(np.log(errors))[0] / np.diff(np.log(steps))[0]
    meaning = "The error of G + s velocity falls as s² where the velocity is that of the curve, else only as s."
    require_close("order of |G(s) - G - s velocity| in s is 2", order, 2.0, meaning, atol=0.1)


def check_carried_frames(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless the curve carries the frame, and images of the frame, to those at s."""
    point = random_point(geometry, rng, shape)
    curve = point.curve(random_tangent(point, rng))
    s = 0.3 * min(curve.limit, 1.0)
    frame, X = curve.point(s).frame, rng.standard_normal((7, shape.n_features))
    XT = None if curve.direction is None else X @ curve.direction
    meaning = "Solvers carry the image X F along the curve instead of a new product with the data."
    motion = curve.motion(s)
    if motion is None:
        # Images along this curve are computed afresh.
        return
    carried, image = motion.carry(point.frame, curve.direction), motion.carry(X @ point.frame, XT)
    require_close("carried frame = frame at s", carried, frame, meaning, atol=1e-12)
    require_close("carried image = X F(s)", image, X @ frame, meaning, atol=1e-12)


def check_orthonormal_frames(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless a frame that starts orthonormal stays so over 500 steps."""
    point = random_point(geometry, rng, shape)
    identity = np.eye(point.frame.shape[1])
    if not np.allclose(point.frame.T @ point.frame, identity):
        return
    for _ in range(500):
        curve = point.curve(random_tangent(point, rng))
        point = curve.point(min(0.5, curve.limit))
        # A frame that has left for good would overflow.
        if not np.allclose(point.frame.T @ point.frame, identity):
            break
    meaning = "Rounding adds up over the steps; normalise by the Gram matrix of the frame as it is."
    require_close("FᵀF = I along 500 steps", point.frame.T @ point.frame, identity, meaning, atol=1e-13)
