"""Random points, tangents and problems that the contract of a geometry is checked on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.features import Array
from gramian.geometries import Geometry, Point
from gramian.losses import Loss, Squared
from gramian.measurements import Each, Measurement, Pairs
from gramian.objective import Block, Evaluation, Problem, Term
from gramian.solvers import Armijo, GradientDescent
from gramian.types import Matrix, Tangent, Vector

__all__ = [
    "SHAPE",
    "Shape",
    "gram",
    "make_problem",
    "planted_regression",
    "random_point",
    "random_problem",
    "random_tangent",
    "regression_problem",
    "take_step",
]


class Shape(NamedTuple):
    """The number d of features and the rank r of the factors that are checked; r = d for full-rank geometries."""

    n_features: int
    rank: int


#: The shape where no other is asked for.
SHAPE = Shape(5, 2)


def random_point(geometry: Geometry, rng: np.random.Generator, shape: Shape = SHAPE, dtype: Any = np.float64) -> Point:
    """Return a point of the geometry with a random factor."""
    d, r = shape
    return geometry.point(rng.standard_normal((d, d if geometry.full_rank else r)).astype(dtype))


def random_tangent(point: Point, rng: np.random.Generator) -> Tangent:
    """Return a random tangent: the gradient of a random linear function of W."""
    d = len(point.frame)
    M = rng.standard_normal((d, d)).astype(point.frame.dtype)
    return point.gradient((M + M.T) @ point.frame)


def gram(point: Point) -> Matrix:
    """Return W = G Gᵀ, (d, d)."""
    return point.G @ point.G.T


def make_problem(
    features: Any, measurement: Measurement, rng: np.random.Generator, loss: Loss | None = None, mixed: bool = True
) -> Problem:
    """Return a problem near to a fit, with random weights and, where mixed, senses of all three kinds."""
    m, dtype = len(measurement), features.dtype
    G = rng.standard_normal((features.shape[1], 2)).astype(dtype)
    target = measurement.predict(features.image(G)) + rng.standard_normal(m).astype(dtype)
    sense = rng.integers(-1, 2, size=m) if mixed else np.zeros(m, int)
    weight = rng.random(m).astype(dtype)
    return Problem([Block(features, [Term(measurement, target, loss or Squared(), sense, weight / weight.sum())])])


def random_problem(
    rng: np.random.Generator, d: int, kind: str = "pairs", loss: Loss | None = None, dtype: Any = np.float64
) -> Problem:
    """Return a problem on d features: inequalities and equalities on "pairs", or equalities on "each" sample."""
    if kind == "each":
        X = rng.standard_normal((6 * d, d)).astype(dtype)
        return make_problem(Array(X), Each(len(X)), rng, loss, mixed=False)
    X = rng.standard_normal((2 * d + 2, d)).astype(dtype)
    pairs = Pairs(rng.integers(len(X), size=(8 * d, 2)), len(X))
    return make_problem(Array(X), pairs, rng, loss)


def planted_regression(rng: np.random.Generator, n: int, shape: Shape) -> tuple[Matrix, Vector]:
    """Return samples X (n, d) and targets y = xᵀ W x (n,) of a random W of rank r."""
    X, G = rng.standard_normal((n, shape.n_features)), rng.standard_normal(shape)
    return X, np.sum((X @ G) ** 2, axis=1)


def regression_problem(X: Matrix, y: Vector, weight: Vector | None = None) -> Problem:
    """Return the problem of fitting xᵀ W x to y under the squared loss."""
    return Problem([Block(Array(X), [Term(Each(len(X)), y, weight=weight)])])  # type: ignore[arg-type]


def take_step(problem: Problem, point: Point) -> Evaluation:
    """Return the evaluation after one step of gradient descent from the point."""
    # Where f is quadratic in s, the first trial lowers it by exactly half of what its slope predicts: no tie with that.
    return GradientDescent(Armijo(decrease=0.25, initial=None)).step(problem.evaluate(point), None).evaluation
