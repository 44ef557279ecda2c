"""How many products with the data things cost, counted at the data itself."""

import numpy as np
import pytest

from gramian import Block, Problem, Term
from gramian.features import Array
from gramian.geometries import Flat, Scaled
from gramian.measurements import Each, Pairs
from gramian.solvers import Armijo, ConjugateGradient, Exact, GradientDescent, TrustRegion, minimize

from helpers import EXAMPLES, POINTS, columns, problem_of, regression, tangent_at


class Counted(Array):
    """Features that count their products."""

    def __init__(self, X):
        super().__init__(X)
        self.images = self.pulls = 0

    def image(self, B):
        self.images += 1
        return super().image(B)

    def pull(self, S):
        self.pulls += 1
        return super().pull(S)


def counted_problem(rng, kind):
    X, y, _, _ = regression(rng, 80, 6, 2)
    features = Counted(X)
    if kind == "each":
        return Problem([Block(features, [Term(Each(80), y)])]), features
    pairs = Pairs(rng.integers(80, size=(150, 2)), 80)
    sense = rng.integers(-1, 2, size=150)
    return Problem([Block(features, [Term(pairs, np.ones(150), sense=sense)])]), features


@pytest.mark.parametrize("search", [Armijo(growth=None), Armijo(initial=None), Exact()], ids=repr)
@pytest.mark.parametrize("kind", ["each", "pairs"])
@pytest.mark.parametrize("geometry", POINTS, ids=repr)
def test_an_iteration_is_two_passes_whatever_the_line_search_does(geometry, kind, search, rng):
    """On curved geometries too, and fewer where the frame stands still: better than one image a trial."""
    problem, features = counted_problem(rng, kind)
    evaluation = problem.evaluate(geometry.point(rng.standard_normal((6, columns(geometry, 6, 2)))))
    assert (features.images, features.pulls) == (1, 0)
    _ = evaluation.gradient
    assert (features.images, features.pulls) == (1, 1)
    step = GradientDescent(search).step(evaluation, None)
    still = evaluation.line(evaluation.gradient).curve.direction is None
    images = features.images if still else features.images - 1  # the line made here to ask
    assert step.size > 0
    assert images == (1 if still else 2)
    assert features.pulls == 1
    _ = step.evaluation.gradient
    assert features.pulls == 2


@pytest.mark.parametrize(
    "solver", [GradientDescent(), ConjugateGradient(), TrustRegion()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("geometry", POINTS, ids=repr)
def test_passes_are_counted_honestly(geometry, solver, rng):
    problem, features = counted_problem(rng, "each")
    point = geometry.point(rng.standard_normal((6, columns(geometry, 6, 2))))
    result = minimize(problem, solver, point, max_iter=5, tol=0)
    assert problem.passes == result.history["passes"][-1] == features.images + features.pulls


def test_trials_on_a_straight_line_are_exact(rng):
    problem, _ = counted_problem(rng, "pairs")
    evaluation = problem.evaluate(Flat().point(rng.standard_normal((6, 2))))
    line = evaluation.line(-evaluation.gradient)
    for s in (0.1 * line.guess, line.guess, 30 * line.guess):
        assert line(s) == pytest.approx(problem.evaluate(line.curve.point(s)).value, rel=1e-11)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_hessian_is_the_second_derivative_on_straight_geometries(kind, rng):
    problem = problem_of(EXAMPLES[kind](rng, np.float64), rng, mixed=False)
    for geometry in (Flat(), Scaled()):
        evaluation = problem.evaluate(geometry.point(rng.standard_normal((5, 2))))
        tangent = tangent_at(evaluation.point, rng)
        curvature = evaluation.line(tangent).along(0.0)[2]
        assert evaluation.point.inner(tangent, evaluation.hessian(tangent)) == pytest.approx(curvature, rel=1e-9)


def test_value_at_zero(rng):
    problem, _ = counted_problem(rng, "each")
    assert problem.value_at_zero == pytest.approx(0.5 * np.mean(problem.sampled.target**2))


@pytest.mark.parametrize("name", ["target", "sense", "weight"])
def test_terms_check_their_lengths(name):
    fields = {"target": np.ones(3), "sense": np.zeros(3), "weight": np.ones(3)} | {name: np.ones(2)}
    with pytest.raises(ValueError, match=rf"{name} has shape \(2,\); expected \(3,\)"):
        Term(Each(3), fields["target"], sense=fields["sense"], weight=fields["weight"])
