"""Linear losses on the Grassmann manifold: the cost is below zero, and rules that compare costs keep their sense."""

import numpy as np
import pytest

from gramian import Block, Problem, PSDRegressor, Term, minimize
from gramian.features import Array
from gramian.geometries import Grassmann
from gramian.losses import Linear
from gramian.measurements import Each
from gramian.solvers import ConjugateGradient, Ending, Growing, Online

LARGEST = {"loss": "linear", "geometry": "grassmann", "random_state": 0}


@pytest.fixture
def samples(rng):
    """Samples of six features, of which the first two vary most, and targets for which the cost is below zero."""
    X = rng.standard_normal((6000, 6)) * [3.0, 2.5, 1, 1, 1, 1]
    return X, np.full(6000, 1e-3)


def largest_subspace(X):
    left = np.linalg.eigh(X.T @ X)[1][:, -2:]
    return left @ left.T


def make_problem(X, dtype):
    X = X.astype(dtype)
    return Problem([Block(Array(X), [Term(Each(len(X)), np.full(len(X), 1e-3, dtype), loss=Linear())])])


def test_online_descent_takes_its_epochs(samples):
    X, y = samples
    model = PSDRegressor(2, solver="online", max_iter=3, **LARGEST).fit(X, y)
    assert model.history_["cost"][-1] < 0
    np.testing.assert_allclose(model.matrix(), largest_subspace(X), atol=0.1)


def test_an_epoch_that_lowers_a_negative_cost_is_taken(samples):
    problem = make_problem(samples[0], np.float64)
    start = problem.evaluate(Grassmann().point(np.eye(6)[:, :2] + 0.3 * np.eye(6)[:, 2:4]))
    solver = Online(step_size=1e-3, delay=1.0)
    step = solver.step(start, solver.start(start))
    assert start.value < 0
    assert step.evaluation.value < start.value


def test_convergence_in_float32_stands(samples):
    problem = make_problem(samples[0], np.float32)
    point = Grassmann().point(np.eye(6, dtype=np.float32)[:, 1:3])
    result = minimize(problem, ConjugateGradient(), point, tol=1e-4, max_iter=200)
    assert result.cost < 0
    assert result.ending is Ending.CONVERGED
    assert result.message == "relative decrease of the cost below tol"
    assert result.n_iter < 30


def test_a_subset_is_solved_by_more_than_one_iteration(samples):
    problem = make_problem(samples[0], np.float64)
    iterations = []

    class Counting(ConjugateGradient):
        def step(self, evaluation, memory):
            iterations.append(evaluation.problem is problem)
            return super().step(evaluation, memory)

    point = Grassmann().point(np.eye(6)[:, 3:5] + 0.01 * np.eye(6)[:, :2])
    minimize(problem, Counting(), point, growing=Growing(factor=4))
    assert iterations.count(False) > 1


def test_further_starts_are_tried(samples):
    X, y = samples
    assert PSDRegressor(2, n_init=3, **LARGEST).fit(X, y).n_starts_ == 3
