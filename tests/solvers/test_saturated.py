"""Searches along losses that are all but linear: their curvature vanishes, and a line has several minima."""

import numpy as np
import pytest

from gramian import minimize
from gramian.geometries import Flat, Polar, Scaled
from gramian.losses import Hinge, Logistic
from gramian.solvers import LBFGS, ConjugateGradient, Exact, GradientDescent, TrustRegion

from helpers import rank_one, regression

#: Predictions are some 1; at a scale of 1e-3 the curvature of most of them is below 1e-100.
SCALE = 1e-3
SOLVERS = [ConjugateGradient(), LBFGS(), GradientDescent(), TrustRegion()]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("geometry", [Flat(), Scaled(), Polar()], ids=lambda g: type(g).__name__)
def test_a_saturated_loss_is_lowered(geometry, solver, seed):
    X, y, _, start = regression(np.random.default_rng(seed), 60, 4, 2)
    problem = rank_one(X, y, loss=Logistic(SCALE))
    first = problem.evaluate(geometry.point(start))
    last = problem.evaluate(minimize(problem, solver, first.point, max_iter=100).point)
    assert last.value < 0.5 * first.value


@pytest.mark.parametrize("seed", range(3))
def test_a_step_of_vanishing_curvature_is_as_long_as_the_factor(seed):
    X, y, _, start = regression(np.random.default_rng(seed), 60, 4, 2)
    problem = rank_one(X, y + 1, loss=Logistic(SCALE / 10))
    evaluation = problem.evaluate(Flat().point(1e-3 * start))
    line = evaluation.line(-evaluation.gradient)
    assert 0 < line.along(0.0).value < np.inf
    assert line.guess * np.linalg.norm(evaluation.gradient) == pytest.approx(np.linalg.norm(1e-3 * start))
    flat = rank_one(X, y + 1, loss=Hinge(SCALE / 10)).evaluate(Flat().point(1e-3 * start))
    assert flat.line(-flat.gradient).guess == pytest.approx(line.guess)


@pytest.mark.parametrize("loss", [Hinge(SCALE), Logistic(SCALE)], ids=repr)
def test_a_search_returns_from_another_minimum_that_is_higher(loss):
    """Beyond a hump along this line there is a minimum with a value above that of the start."""
    X, y, _, start = regression(np.random.default_rng(2), 60, 4, 2)
    evaluation = rank_one(X, y, loss=loss).evaluate(Flat().point(start))
    line = evaluation.line(-evaluation.gradient)
    assert line(1.21) > line.value
    step = Exact()(line, None)
    assert 0 < step < 1
    assert line(step) < 0.9 * line.value
