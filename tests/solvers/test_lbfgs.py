"""Limited-memory BFGS: minima of all geometries, few evaluations of costly terms, and a memory that is bounded."""

import numpy as np
import pytest

from gramian import Problem, minimize
from gramian._checkpoints.encoding import Decoder, Encoder
from gramian.features import Array
from gramian.geometries import Flat, Polar, Scaled
from gramian.objective import Block, Neighbourhoods
from gramian.solvers import LBFGS, ConjugateGradient, lbfgs
from gramian.solvers.lbfgs import Change, quasi_newton_direction

from helpers import gram, rank_one, regression


@pytest.mark.parametrize("geometry", [Flat(), Scaled(), Polar()], ids=lambda g: type(g).__name__)
def test_noise_free_data_is_recovered(geometry, rng):
    X, y, truth, start = regression(rng, 400, 8, 2)
    result = minimize(rank_one(X, y), LBFGS(), geometry.point(start), tol=1e-14, max_iter=2000)
    np.testing.assert_allclose(gram(result.point), truth @ truth.T, atol=1e-5)
    assert (np.diff(result.history["cost"]) <= 1e-12 * result.history["cost"][0]).all()


def test_an_iteration_costs_two_passes(rng):
    X, y, _, start = regression(rng, 400, 8, 2)
    result = minimize(rank_one(X, y), LBFGS(), Scaled().point(start), max_iter=5, tol=0)
    assert np.diff(result.history["passes"]).tolist() == [2] * 5


def neighbourhood_problem(rng):
    labels = rng.integers(3, size=150)
    X = rng.standard_normal((150, 6))
    X[:, :2] += 1.5 * np.array([[0, 0], [1, 0], [0, 1]])[labels]
    return Problem([Block(Array(X), [Neighbourhoods(labels)])])


def test_costly_terms_are_evaluated_less_often_than_by_conjugate_gradients(rng, monkeypatch):
    problem = neighbourhood_problem(rng)
    point = Scaled().point(np.eye(6)[:, :2])
    counts, costs, original = [], [], Neighbourhoods.value_and_slopes
    for solver in (ConjugateGradient(), LBFGS()):
        seen = []
        monkeypatch.setattr(
            Neighbourhoods, "value_and_slopes", lambda term, Z, seen=seen: seen.append(1) or original(term, Z)
        )
        costs.append(minimize(problem, solver, point, max_iter=30, tol=0).cost)
        counts.append(len(seen))
    assert counts[1] < 0.75 * counts[0]
    assert costs[1] < costs[0] + 0.01 * abs(costs[0])


def test_the_memory_is_bounded_and_can_be_stored(rng):
    X, y, _, start = regression(rng, 200, 6, 2)
    problem, solver = rank_one(X, y + rng.standard_normal(200)), LBFGS(memory=3)
    result = minimize(problem, solver, Polar().point(start), max_iter=9, tol=0)
    assert len(result.memory.changes) == 3
    encoder = Encoder()
    tree = encoder.encode(result.memory)
    memory = Decoder(encoder.arrays).decode(tree)
    ahead = [
        minimize(problem, solver, result.point, max_iter=4, tol=0, memory=each) for each in (result.memory, memory)
    ]
    np.testing.assert_array_equal(ahead[0].point.G, ahead[1].point.G)


def test_of_large_factors_fewer_changes_are_remembered(rng, monkeypatch):
    X, y, _, start = regression(rng, 200, 6, 2)
    problem = rank_one(X, y + rng.standard_normal(200))
    for entries, count in ((2 * 12 * 5, 5), (1, lbfgs.FEWEST)):
        monkeypatch.setattr(lbfgs, "MOST_ENTRIES", entries)
        result = minimize(problem, LBFGS(), Flat().point(start), max_iter=9, tol=0)
        assert len(result.memory.changes) == count


def test_with_exact_curvature_the_step_is_newtons(rng):
    # For f = ½ gᵀ A g the changes of the gradient along a basis determine A, and one step reaches the minimum.
    A = rng.standard_normal((4, 4))
    A = A @ A.T + np.eye(4)
    G = rng.standard_normal((4, 1))

    class Quadratic:
        point = Flat().point(G)
        gradient = A @ G
        gradient_norm = float(np.linalg.norm(A @ G))

        def slope(self, tangent):
            return float(np.vdot(self.gradient, tangent))

    basis = np.linalg.eigh(A)[1]
    changes = tuple(Change(b, A @ b, float(np.vdot(b, A @ b))) for b in (basis[:, [k]] for k in range(4)))
    np.testing.assert_allclose(quasi_newton_direction(Quadratic(), changes), -G, atol=1e-10)


def test_a_memory_of_nothing_is_refused():
    with pytest.raises(ValueError, match="memory=0"):
        LBFGS(memory=0)


def test_a_direction_that_hardly_descends_is_replaced_by_the_gradient(rng, monkeypatch):
    # With a limit that no direction reaches, every step is one of gradient descent, in the units of the problem.
    monkeypatch.setattr(lbfgs, "LEAST_DESCENT", np.inf)
    X, y, _, start = regression(rng, 200, 6, 2)
    ends = []
    for unit in (1.0, 64.0):
        problem = rank_one(unit * X, y)
        result = minimize(problem, LBFGS(), Flat().point(start / unit), max_iter=4, tol=0)
        assert np.diff(result.history["passes"]).tolist() == [2] * 4
        ends.append(unit**2 * gram(result.point))
    np.testing.assert_allclose(*ends, rtol=1e-9)
