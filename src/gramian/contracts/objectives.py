"""Identities of an objective's gradient, lines and Gauss-Newton operator on a geometry."""

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
    random_tangent,
    regression_problem,
)
from gramian.features import Array
from gramian.geometries import Geometry
from gramian.measurements import Each
from gramian.objective import Block, Problem, Term
from gramian.solvers import ConjugateGradient, minimize

__all__ = [
    "check_blocks",
    "check_carried_evaluations",
    "check_gauss_newton",
    "check_gradient",
    "check_line_derivatives",
    "check_single_precision",
    "check_weights",
]


def check_gradient(geometry: Geometry, rng: np.random.Generator, problem: Problem, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless the gradient is the metric's, by adjointness and by finite differences."""
    evaluation = problem.evaluate(random_point(geometry, rng, shape))
    point = evaluation.point
    tangent = random_tangent(point, rng)
    slope, velocity = point.inner(evaluation.gradient, tangent), point.velocity(tangent)
    meaning = "point.gradient must be adjoint, in the metric point.inner, to point.velocity."
    expected = 2 * np.vdot(evaluation.apply(point.G), velocity)
    require_close("inner(gradient, ξ) = 2 <M G, velocity(ξ)>", slope, expected, meaning, rtol=1e-9)
    h = 1e-5 / float(np.linalg.norm(velocity))
    ahead, behind = (problem.evaluate(point.curve(t).point(h)).value for t in (tangent, -tangent))
    meaning = "The objective along point.curve must change at the rate that gradient and metric tell."
    atol = 1e-11 * abs(evaluation.value) / h
    identity = "inner(gradient, ξ) = derivative of f along the curve of ξ"
    require_close(identity, slope, (ahead - behind) / (2 * h), meaning, rtol=1e-5, atol=atol)


def check_single_precision(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless float32 stays float32, with a gradient that is the metric's."""
    problem = random_problem(rng, shape.n_features, "each", dtype=np.float32)
    evaluation = problem.evaluate(random_point(geometry, rng, shape, np.float32))
    point = evaluation.point
    tangent = random_tangent(point, rng)
    curve = point.curve(tangent)
    arrived = curve.point(min(0.01, curve.limit))
    meaning = "A float64 constant or matrix promotes float32 factors, which doubles their memory."
    for name, x in (("gradient", evaluation.gradient), ("point.G", point.G), ("curve.point(s).G", arrived.G)):
        require(x.dtype == np.float32, f"{name} of float32 data is float32", f"dtype {x.dtype}", meaning)
    expected = 2 * np.vdot(evaluation.apply(point.G), point.velocity(tangent))
    atol = 2e-5 * evaluation.gradient_norm * point.inner(tangent, tangent) ** 0.5
    found, identity = point.inner(evaluation.gradient, tangent), "inner(gradient, ξ) = 2 <M G, velocity(ξ)> in float32"
    require_close(identity, found, expected, "The gradient loses digits in float32.", atol=atol)


def check_carried_evaluations(
    geometry: Geometry, rng: np.random.Generator, problem: Problem, shape: Shape = SHAPE
) -> None:
    """Raise an AssertionError unless evaluations carried along lines equal those computed afresh."""
    result = minimize(problem, ConjugateGradient(), random_point(geometry, rng, shape), max_iter=10, tol=0)
    evaluation = problem.evaluate(result.point)
    meaning = "Images are carried along the curve; they must be those of the point arrived at."
    for _ in range(5):
        line = evaluation.line(-evaluation.gradient)
        evaluation = line.move(min(0.1 * line.guess, line.limit))
        fresh = problem.evaluate(evaluation.point)
        require_close("carried value = fresh value", evaluation.value, fresh.value, meaning, rtol=1e-9, atol=1e-13)
        atol = 1e-9 * max(fresh.gradient_norm, 1e-6)
        identity = "carried gradient = fresh gradient"
        require_close(identity, evaluation.gradient, fresh.gradient, meaning, rtol=1e-6, atol=atol)


def check_line_derivatives(
    geometry: Geometry, rng: np.random.Generator, problem: Problem, shape: Shape = SHAPE
) -> None:
    """Raise an AssertionError unless a line's slope, and on straight curves its curvature, are derivatives."""
    evaluation = problem.evaluate(random_point(geometry, rng, shape))
    line = evaluation.line(-evaluation.gradient)
    h, s = 1e-6 * line.guess, 0.5 * line.guess
    meaning = "Line searches compare values with the slope of the line."
    require_close("line.slope = derivative of f at s = 0", line.slope, (line(h) - line.value) / h, meaning, rtol=1e-3)
    if not line.straight:
        return
    value, slope, curvature = line.along(s)
    ahead, behind = line.along(s + h), line.along(s - h)
    rise, bend = (ahead[0] - behind[0]) / (2 * h), (ahead[1] - behind[1]) / (2 * h)
    meaning = "On straight curves predictions are polynomials in s, and so are their derivatives."
    require_close("slope along = derivative of f", slope, rise, meaning, rtol=1e-4, atol=1e-6 * abs(line.slope))
    require_close("curvature along = derivative of the slope", curvature, bend, meaning, rtol=1e-4)
    fresh = problem.evaluate(line.curve.point(s)).value
    require_close("value along = value at the curve's point", value, fresh, meaning, rtol=1e-10)


def check_gauss_newton(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless the Gauss-Newton operator is symmetric, and the Hessian at a perfect fit."""
    X, _ = planted_regression(rng, 60, shape)
    point = random_point(geometry, rng, shape)
    problem = regression_problem(X, np.sum((X @ point.G) ** 2, axis=1))
    evaluation = problem.evaluate(point)
    point = evaluation.point
    a, b = random_tangent(point, rng), random_tangent(point, rng)
    left, right = point.inner(a, evaluation.gauss_newton(b)), point.inner(evaluation.gauss_newton(a), b)
    meaning = "gradient and velocity must be adjoint, so that J* J is symmetric."
    scale = abs(point.inner(a, evaluation.gauss_newton(a)) * point.inner(b, evaluation.gauss_newton(b))) ** 0.5
    require_close("inner(a, H b) = inner(H a, b)", left, right, meaning, atol=1e-6 * scale)
    h = 1e-4 / float(np.linalg.norm(point.velocity(a)))
    second = sum(problem.evaluate(point.curve(t).point(h)).value for t in (a, -a)) / h**2
    form, meaning = point.inner(a, evaluation.gauss_newton(a)), "At a perfect fit the Hessian is J* J."
    require_close("inner(a, H a) = second derivative of f at a fit", form, second, meaning, rtol=1e-4)


def check_blocks(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless data split into blocks or terms gives the same results as the whole."""
    X, y = planted_regression(rng, 60, shape)
    weight, parts = rng.random(60), np.array_split(rng.permutation(60), 4)
    split = Problem([Block(Array(X[i]), [Term(Each(len(i)), y[i], weight=weight[i])]) for i in parts])
    terms = Problem([Block(Array(X), [Term(Each(60), y, weight=w * weight) for w in (0.25, 0.75)])])
    point = random_point(geometry, rng, shape)

    def results(problem: Problem) -> dict[str, np.ndarray | float]:
        end, evaluation = minimize(problem, ConjugateGradient(), point, max_iter=5, tol=0), problem.evaluate(point)
        return {
            "value": evaluation.value,
            "gradient": evaluation.gradient,
            "Gauss-Newton operator": evaluation.gauss_newton(evaluation.gradient),
            "cost after 5 iterations": end.cost,
            "W after 5 iterations": gram(end.point),
        }

    whole = results(regression_problem(X, y, weight))
    meaning = "An objective is a sum over blocks and terms; how data is split must not matter."
    for kind, problem in (("blocks", split), ("terms", terms)):
        for name, found in results(problem).items():
            atol = 1e-9 * float(np.abs(whole[name]).max())
            require_close(f"{name} of {kind} = {name} of the whole", found, whole[name], meaning, rtol=1e-8, atol=atol)


def check_weights(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE) -> None:
    """Raise an AssertionError unless a sample of weight k counts as one that is given k times."""
    X, y = planted_regression(rng, 30, shape)
    weight = rng.integers(1, 4, size=30)
    rows = np.repeat(np.arange(30), weight)
    point = random_point(geometry, rng, shape)
    weighted = regression_problem(X, y, weight / weight.sum()).evaluate(point)
    repeated = regression_problem(X[rows], y[rows]).evaluate(point)
    meaning = "Weights are multiplicities, divided by their sum."
    require_close("value of weights = value of repeats", weighted.value, repeated.value, meaning, rtol=1e-6)
    identity = "gradient of weights = gradient of repeats"
    require_close(identity, weighted.gradient, repeated.gradient, meaning, rtol=1e-9, atol=1e-10)
