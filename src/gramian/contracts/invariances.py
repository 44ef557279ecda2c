"""Identities of solvers' steps on a geometry: what may be rotated and scaled, and that costs never increase."""

from __future__ import annotations

import numpy as np

from gramian.contracts.agreement import require, require_close
from gramian.contracts.builders import (
    SHAPE,
    Shape,
    gram,
    planted_regression,
    random_point,
    random_problem,
    regression_problem,
    take_step,
)
from gramian.geometries import Geometry
from gramian.objective import Problem
from gramian.solvers import LBFGS, Armijo, ConjugateGradient, GradientDescent, Solver, TrustRegion, minimize

__all__ = [
    "FIRST_ORDER",
    "PATH_SOLVERS",
    "check_data_rotation",
    "check_descent",
    "check_factor_rotation",
    "check_target_scaling",
]

#: Solvers whose paths can be compared step by step; the conjugate gradients in a trust region magnify rounding.
FIRST_ORDER: tuple[Solver, ...] = (GradientDescent(Armijo(initial=None)), ConjugateGradient(), LBFGS())
#: The batch solvers that a geometry is checked with.
PATH_SOLVERS: tuple[Solver, ...] = (*FIRST_ORDER, TrustRegion())


def check_factor_rotation(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless G and G O, with O orthogonal, give one value, gradient norm and next W."""
    problem = random_problem(rng, shape.n_features, "each")
    G = random_point(geometry, rng, shape).G
    Q = np.linalg.qr(rng.standard_normal((G.shape[1],) * 2))[0]
    meaning = "W = G Gᵀ is the model; nothing that can be seen may depend on which factor represents it."
    ends = []
    for factor in (G, G @ Q):
        evaluation = problem.evaluate(geometry.point(factor))
        arrived = take_step(problem, geometry.point(factor))
        ends.append((evaluation.value, evaluation.gradient_norm, gram(evaluation.point), gram(arrived.point)))
    for name, a, b in zip(("value", "gradient norm", "W", "W after a step"), *ends, strict=True):
        require_close(f"{name} of G O = {name} of G", b, a, meaning, rtol=1e-9, atol=1e-10)


def check_data_rotation(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless rotated data, from a rotated start, lead to the rotated W."""
    X, y = planted_regression(rng, 60, shape)
    G = random_point(geometry, rng, shape).G
    Q = np.linalg.qr(rng.standard_normal((shape.n_features,) * 2))[0]
    plain = take_step(regression_problem(X, y), geometry.point(G))
    rotated = take_step(regression_problem(X @ Q, y), geometry.point(Q.T @ G))
    meaning = "The geometry must not prefer any axes of the features."
    require_close("value of rotated data = value", rotated.value, plain.value, meaning, rtol=1e-9)
    expected = Q.T @ gram(plain.point) @ Q
    require_close("W of rotated data = rotated W", gram(rotated.point), expected, meaning, atol=1e-9)


def check_target_scaling(
    geometry: Geometry, rng: np.random.Generator, solver: Solver = PATH_SOLVERS[0], shape: Shape = SHAPE
) -> None:
    """Raise an AssertionError unless μ times the targets, from √μ times the start, lead to μ W step by step."""
    point = random_point(geometry, rng, shape)
    # A power of four changes no rounding, so paths may be compared step by step; another number would do as well.
    scale = 4.0**5
    X, y = planted_regression(rng, 60, shape)
    y = y + 0.1 * rng.standard_normal(len(y))
    plain, scaled = (
        minimize(regression_problem(X, mu * y), solver, geometry.point(mu**0.5 * point.G), max_iter=4, tol=0)
        for mu in (1.0, scale)
    )
    meaning = "Some constant of the geometry has units: a step, a limit or a threshold that does not scale with W."
    expected = scale**2 * plain.history["cost"]
    require_close("costs of μ y = μ² costs of y", scaled.history["cost"], expected, meaning, rtol=1e-7)
    expected = scale * gram(plain.point)
    require_close("W of μ y = μ times W of y", gram(scaled.point), expected, meaning, rtol=1e-5, atol=1e-6 * scale)


def check_descent(
    geometry: Geometry,
    rng: np.random.Generator,
    problem: Problem,
    solver: Solver = PATH_SOLVERS[0],
    shape: Shape = SHAPE,
) -> None:
    """Raise an AssertionError unless the costs of a batch solver fall, and never increase but for rounding."""
    start = random_point(geometry, rng, shape, problem.dtype)
    cost = minimize(problem, solver, start, max_iter=25, tol=0).history["cost"]
    rounding = (1e-15 if problem.dtype == np.float64 else 1e-6) * cost[0]
    meaning = "Line searches accept no step that increases the cost; gradient, curve or carried images are wrong."
    rise = float(np.diff(cost).max()) if len(cost) > 1 else 0.0
    require(rise <= rounding, "costs never increase", f"largest rise {rise:.3g} of {cost[0]:.3g}", meaning)
    require(cost[-1] < cost[0], "costs fall", f"first {cost[0]:.8g}, last {cost[-1]:.8g}", meaning)
