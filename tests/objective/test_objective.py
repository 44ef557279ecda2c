"""Problems and evaluations: the number of passes over the data, the Hessian, and the errors that blocks raise."""

import numpy as np
import pytest

from gramian import Block, Problem, Term
from gramian.features import Array, Identity
from gramian.geometries import Curve, Flat, Point, Scaled
from gramian.measurements import Dense, Each, Pairs
from gramian.penalties import Toward
from gramian.solvers import Armijo, ConjugateGradient, Exact, GradientDescent, TrustRegion, minimize

from helpers import EXAMPLES, GEOMETRY_EXAMPLES, make_problem, n_columns, random_tangent, rank_one, regression


class CountingArray(Array):
    """Features that count their products with the data."""

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
    features = CountingArray(X)
    if kind == "each":
        return Problem([Block(features, [Term(Each(80), y)])]), features
    pairs = Pairs(rng.integers(80, size=(150, 2)), 80)
    sense = rng.integers(-1, 2, size=150)
    return Problem([Block(features, [Term(pairs, np.ones(150), sense=sense)])]), features


@pytest.mark.parametrize("search", [Armijo(growth=None), Armijo(initial=None), Exact()], ids=repr)
@pytest.mark.parametrize("kind", ["each", "pairs"])
@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
def test_an_iteration_costs_two_passes_with_every_line_search(geometry, kind, search, rng):
    """This holds on curved geometries too. If the frame does not move, the image of the direction is saved."""
    problem, features = counted_problem(rng, kind)
    evaluation = problem.evaluate(geometry.point(rng.standard_normal((6, n_columns(geometry, 6, 2)))))
    assert (features.images, features.pulls) == (1, 0)
    _ = evaluation.gradient
    assert (features.images, features.pulls) == (1, 1)
    step = GradientDescent(search).step(evaluation, None)
    curve = evaluation.line(evaluation.gradient).curve
    still = curve.direction is None
    images = features.images if still else features.images - 1  # less the image of the line in this test
    assert step.size > 0
    assert images == (1 if still else 2)
    # On a straight curve the step that is taken comes with its gradient.
    assert features.pulls == (2 if curve.straight else 1)
    _ = step.evaluation.gradient
    assert features.pulls == 2


@pytest.mark.parametrize(
    "solver", [GradientDescent(), ConjugateGradient(), TrustRegion()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
def test_passes_equal_the_products_with_the_data(geometry, solver, rng):
    problem, features = counted_problem(rng, "each")
    point = geometry.point(rng.standard_normal((6, n_columns(geometry, 6, 2))))
    result = minimize(problem, solver, point, max_iter=5, tol=0)
    assert problem.passes == result.history["passes"][-1] == features.images + features.pulls


@pytest.mark.parametrize("kind", ["each", "pairs"])
def test_a_step_that_is_taken_equals_one_that_is_tried(kind, rng):
    problem, features = counted_problem(rng, kind)
    evaluation = problem.evaluate(Scaled(gaussian=True).point(rng.standard_normal((6, 2))))
    taken, tried = (evaluation.line(-evaluation.gradient) for _ in range(2))
    pulls, size = features.pulls, taken.guess
    end, moved = taken.take(size), tried.move(size)
    assert features.pulls == pulls + 1
    assert (end.value, end.noise) == (moved.value, moved.noise)
    np.testing.assert_array_equal(end.gradient, moved.gradient)
    assert taken.take(size) is taken.move(size) is end
    assert problem.passes == features.images + features.pulls


def test_values_along_a_straight_line_are_exact(rng):
    problem, _ = counted_problem(rng, "pairs")
    evaluation = problem.evaluate(Flat().point(rng.standard_normal((6, 2))))
    line = evaluation.line(-evaluation.gradient)
    for s in (0.1 * line.guess, line.guess, 30 * line.guess):
        assert line(s) == pytest.approx(problem.evaluate(line.curve.point(s)).value, rel=1e-11)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_hessian_is_the_second_derivative_on_straight_geometries(kind, rng):
    problem = make_problem(EXAMPLES[kind](rng, np.float64), rng, mixed=False)
    for geometry in (Flat(), Scaled()):
        evaluation = problem.evaluate(geometry.point(rng.standard_normal((5, 2))))
        tangent = random_tangent(evaluation.point, rng)
        curvature = evaluation.line(tangent).along(0.0)[2]
        assert evaluation.point.inner(tangent, evaluation.hessian(tangent)) == pytest.approx(curvature, rel=1e-9)


def test_value_at_zero_is_the_objective_of_w_0(rng):
    problem, _ = counted_problem(rng, "each")
    assert problem.value_at_zero == pytest.approx(0.5 * np.mean(problem.sampled.target**2))


def test_blocks_raise_an_error_for_measurements_that_do_not_fit(rng):
    X = Array(rng.standard_normal((10, 3)))
    with pytest.raises(ValueError, match=r"pairs\[1\] = \(0, 10\) is out of range; samples are numbered 0 to 9"):
        Block(X, [Term(Pairs([[0, 1], [0, 10]]), np.ones(2))])
    with pytest.raises(ValueError, match=r"Each\(7\) measures 7 samples, but there are 10"):
        Block(X, [Term(Each(7), np.ones(7))])
    with pytest.raises(ValueError, match="matrices are 4 x 4, but there are 3 coordinates"):
        Block(Identity(3), [Term(Dense(np.ones((2, 4, 4))), np.ones(2))])
    with pytest.raises(ValueError, match="factor has 4 rows"):
        Block(Identity(3), [Toward(np.eye(4))])
    with pytest.raises(ValueError, match="dtype int64; expected float32 or float64"):
        Block(Array(np.ones((2, 2), np.int64)), [Term(Each(2), np.ones(2))])


def test_integer_targets_become_float64():
    term = Term(Each(3), np.array([1, 2, 3]))
    assert term.target.dtype == np.float64
    np.testing.assert_allclose(term.weight, 1 / 3)


def test_many_samples_are_split_into_blocks_with_the_same_value(rng):
    X, y, _, start = regression(rng, 20000, 5, 2)
    problem = Problem([Block(Array(X), [Term(Each(20000), y)])])
    assert len(problem.shards) == 4
    evaluation = problem.evaluate(Flat().point(start))
    assert evaluation.value == pytest.approx(0.5 * np.mean((np.sum((X @ start) ** 2, axis=1) - y) ** 2))


@pytest.mark.parametrize("name", ["target", "sense", "weight"])
def test_terms_check_their_lengths(name):
    fields = {"target": np.ones(3), "sense": np.zeros(3), "weight": np.ones(3)} | {name: np.ones(2)}
    with pytest.raises(ValueError, match=rf"{name} has shape \(2,\); expected \(3,\)"):
        Term(Each(3), fields["target"], sense=fields["sense"], weight=fields["weight"])


class Bent(Curve):
    """A straight curve that does not say so: images along it are computed afresh."""

    def __init__(self, start, tangent):
        self.start, self.tangent = start, tangent

    def point(self, s):
        return BentPoint(self.start.frame + s * self.tangent)


class BentPoint(Point):
    def gradient(self, MF):
        return 2 * MF

    def frame_velocity(self, tangent):
        return tangent

    def curve(self, tangent):
        return Bent(self, tangent)


def test_a_curve_without_a_motion_costs_a_pass_a_trial_and_ends_in_the_same_place(rng):
    X, y, _, start = regression(rng, 200, 5, 2)
    flat, bent = (
        minimize(rank_one(X, y), GradientDescent(Armijo(initial=None)), point, max_iter=5, tol=0)
        for point in (Flat().point(start), BentPoint(start))
    )
    np.testing.assert_allclose(bent.history["cost"], flat.history["cost"], rtol=1e-9)
    assert bent.history["passes"][-1] > flat.history["passes"][-1]
