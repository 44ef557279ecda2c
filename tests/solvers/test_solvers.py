"""Line searches, the loop, and the convergence of every solver."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from gramian.geometries import Flat, Grassmann, Polar, Scaled
from gramian.losses import Linear
from gramian.solvers import (
    LBFGS,
    SOLVERS,
    Armijo,
    ConjugateGradient,
    Exact,
    GradientDescent,
    Online,
    TrustRegion,
    minimize,
)
from gramian.solvers.line_search import minimise_quartic

from helpers import EXAMPLES, GEOMETRY_EXAMPLES, gram, make_problem, n_columns, rank_one, regression


def relative_costs(result):
    return result.history["cost"] / result.history["cost"][0]


@pytest.mark.parametrize("geometry", [Flat(), Scaled(), Polar()], ids=repr)
def test_noise_free_data_is_recovered(geometry, rng):
    X, y, truth, start = regression(rng, 5000, 50, 10)
    result = minimize(rank_one(X, y), ConjugateGradient(), geometry.point(start), tol=1e-14)
    assert result.converged
    assert relative_costs(result)[-1] < 1e-12
    np.testing.assert_allclose(gram(result.point), truth @ truth.T, atol=1e-5 * np.abs(truth @ truth.T).max())


def test_scaled_cg_converges_fast_on_an_ill_conditioned_matrix(rng):
    X, y, _, start = regression(rng, 5000, 50, 10, condition=1e4)
    result = minimize(rank_one(X, y), ConjugateGradient(), Scaled().point(start), max_iter=60, tol=1e-14)
    assert relative_costs(result).min() < 1e-12


@pytest.mark.parametrize("model", ["gauss-newton", "newton"])
def test_trust_region_converges_in_40_steps_on_an_ill_conditioned_matrix(model, rng):
    X, y, _, start = regression(rng, 5000, 50, 10, condition=1e4)
    result = minimize(rank_one(X, y), TrustRegion(model), Scaled().point(start), max_iter=40, tol=1e-14)
    assert relative_costs(result).min() < 1e-12


def test_scaled_cg_converges_with_a_rank_above_the_true_one(rng):
    X, y, _, _ = regression(rng, 3000, 30, 3)
    start = rng.standard_normal((30, 9))
    result = minimize(rank_one(X, y), ConjugateGradient(), Scaled().point(start), max_iter=150, tol=1e-14)
    assert relative_costs(result)[-1] < 1e-12


def test_cg_in_float32_keeps_the_dtype_and_converges(rng):
    X, y, truth, start = regression(rng, 2000, 20, 3, dtype=np.float32)
    result = minimize(rank_one(X, y), ConjugateGradient(), Scaled().point(start), tol=1e-8)
    assert result.point.G.dtype == np.float32
    assert result.converged
    np.testing.assert_allclose(gram(result.point), truth @ truth.T, atol=1e-2)


@pytest.mark.parametrize("search", [Armijo(), Armijo(growth=None), Armijo(initial=None)], ids=repr)
def test_armijo_holds_at_every_step(search, rng):
    X, y, _, start = regression(rng, 200, 8, 2)
    for geometry in (Flat(), Polar()):
        evaluation = rank_one(X, y).evaluate(geometry.point(start))
        memory = None
        for _ in range(15):
            line = evaluation.line(-evaluation.gradient)
            step = GradientDescent(search).step(evaluation, memory)
            assert step.evaluation.value <= evaluation.value - 0.5 * step.size * evaluation.gradient_norm**2 + 1e-12
            first = search.first_trial(line, memory)
            halvings = np.log2(first / step.size)
            assert halvings == pytest.approx(round(halvings), abs=1e-9)
            evaluation, memory = step.evaluation, step.memory


def test_first_trial_of_armijo_is_that_of_the_paper_or_grown_from_the_last_step():
    class Start:
        gradient_norm = 4.0

    class Line:
        start = Start()

    assert Armijo().first_trial(Line(), None) == 25.0
    assert Armijo().first_trial(Line(), 2.0) == 8.0
    assert Armijo(growth=None).first_trial(Line(), 2.0) == 25.0


@pytest.mark.parametrize("mixed", [False, True])
def test_exact_search_finds_the_minimum_of_the_line(mixed, rng):
    problem = make_problem(EXAMPLES["pairs"](rng, np.float64), rng, mixed=mixed)
    evaluation = problem.evaluate(Flat().point(rng.standard_normal((5, 2))))
    line = evaluation.line(-evaluation.gradient)
    assert (line.quartic is None) == mixed
    s = Exact(tol=1e-8)(line, None)
    grid = np.linspace(0, 4 * s, 4001)[1:]
    assert line(s) <= min(line(x) for x in grid) + 1e-12
    assert abs(line.along(s)[1]) < 1e-6 * abs(line.slope)


def test_minimise_quartic_does_not_go_far_for_a_difference_of_rounding():
    for far in 0.25 + 10.0 ** np.arange(8, 15):
        # The square of (1 - 4 s)(1 - s/far) is 0 at both places, but large terms cancel at the second.
        root = np.polynomial.polynomial.polymul([1, -4], [1, -1 / far])
        assert minimise_quartic(1e-28 * np.polynomial.polynomial.polymul(root, root)) == pytest.approx(0.25, rel=1e-4)


def test_minimise_quartic_finds_the_lowest_of_two_minima():
    two_wells = np.polynomial.polynomial.polyfromroots([1, 1, 3, 3]) + np.array([0, -0.5, 0, 0, 0])
    s = minimise_quartic(two_wells)
    values = np.polynomial.polynomial.polyval(np.linspace(0, 5, 2001), two_wells)
    assert s > 2
    assert np.polynomial.polynomial.polyval(s, two_wells) <= values.min() + 1e-12
    for scale in (1e-100, 1e100):
        assert minimise_quartic(scale * two_wells) == pytest.approx(s, rel=1e-6)
    assert minimise_quartic(np.array([1.0, 1.0, 1.0, 0.0, 1.0])) == 0.0
    assert minimise_quartic(np.array([1.0, -1.0, np.nan, 0.0, 1.0])) == 0.0
    assert minimise_quartic(np.array([1.0, -2.0, 1.0, 0.0, 0.0])) == pytest.approx(1.0)
    assert minimise_quartic(np.array([1.0, -4.0, 0.0, 0.0, 1.0])) == pytest.approx(1.0)


def test_of_two_equal_minima_the_first_is_taken(rng):
    # (1 - s)² (1 - s/t)² is zero at 1 and at t; rounding of its coefficients must not decide between them.
    for t in rng.uniform(1.5, 20, 200):
        quartic = np.polynomial.polynomial.polyfromroots([1, 1, t, t]) * (1 + 1e-15 * rng.standard_normal(5))
        assert minimise_quartic(quartic) == pytest.approx(1.0, rel=1e-4)


def test_cg_on_the_grassmann_manifold_finds_the_principal_subspace(rng):
    X = rng.standard_normal((500, 6)) * np.array([4, 3, 2, 1, 0.5, 0.2])
    problem = rank_one(X, np.sum(X**2, axis=1), loss=Linear())
    for name in ("uf", "qf", "exp"):
        point = Grassmann(name).point(rng.standard_normal((6, 2)))
        result = minimize(problem, ConjugateGradient(), point, tol=1e-14)
        principal = np.linalg.svd(X, full_matrices=False)[2][:2].T
        np.testing.assert_allclose(gram(result.point), principal @ principal.T, atol=1e-5)
        assert result.cost == pytest.approx(0.5 * np.mean(np.sum((X - X @ gram(result.point)) ** 2, axis=1)))


def test_message_names_the_stopping_rule(rng):
    X, y, truth, start = regression(rng, 200, 8, 2)
    solver, point = ConjugateGradient(), Scaled().point(start)
    assert "small against that of W = 0" in minimize(rank_one(X, y), solver, point, tol=1e-6).message
    noisy = rank_one(X, y + 5 * rng.standard_normal(200))
    assert "relative decrease" in minimize(noisy, solver, point, tol=1e-6).message
    assert minimize(rank_one(X, y), solver, Scaled().point(truth), tol=1e-20).n_iter == 0
    short = minimize(rank_one(X, y), solver, point, max_iter=2, tol=1e-12)
    assert not short.converged
    assert short.message == "max_iter=2 reached"
    exhausted = minimize(noisy, solver, point, tol=0, max_iter=2000)
    assert exhausted.converged
    assert "limit of precision" in exhausted.message or "relative decrease" in exhausted.message
    assert exhausted.history["gradient_norm"][-1] < 1e-6 * exhausted.history["gradient_norm"][0]


def test_callback_receives_every_record_and_can_stop_the_loop(rng):
    X, y, _, start = regression(rng, 200, 8, 2)
    seen = []

    def callback(record):
        seen.append(record)
        return record.iteration == 3

    result = minimize(rank_one(X, y), ConjugateGradient(), Scaled().point(start), tol=0, callback=callback)
    assert [r.iteration for r in seen] == [0, 1, 2, 3]
    assert result.message == "stopped by the callback"
    assert not result.converged
    assert result.n_iter == 3
    assert {len(column) for column in result.history.values()} == {4}
    assert np.all(np.diff(result.history["time"]) > 0)
    np.testing.assert_array_equal(result.history["cost"], [r.cost for r in seen])


def test_a_start_that_overflows_raises_an_error(rng):
    X, y, _, start = regression(rng, 20, 4, 2)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="objective at the start"):
        minimize(rank_one(X, y), ConjugateGradient(), Flat().point(1e160 * start))


@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
def test_a_trial_step_that_is_not_finite_is_rejected(geometry, rng):
    X, y, _, _ = regression(rng, 40, 5, 2)
    point = geometry.point(rng.standard_normal((5, n_columns(geometry, 5, 2))))
    search = Armijo(initial=1e200, growth=None, max_trials=2000)
    with np.errstate(over="ignore", invalid="ignore"):
        result = minimize(rank_one(X, y), GradientDescent(search), point, max_iter=5, tol=0)
    assert np.isfinite(result.point.G).all()
    assert result.cost < result.history["cost"][0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Armijo(shrink=2), "shrink=2 is not valid. Choose a number above 0 and below 1"),
        (lambda: Armijo(initial=-1), "initial=-1 is not valid"),
        (lambda: Exact(tol=0), "tol=0 is not valid"),
        (lambda: TrustRegion(max_inner=0), "max_inner=0 is not valid"),
        (lambda: Online(step_size=float("nan")), "step_size=nan is not valid"),
        (lambda: Online(delay=0), "delay=0 is not valid"),
        (lambda: Online(subset=0), "subset=0 is not valid"),
    ],
)
def test_bad_settings_raise_an_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def solve_counted(solver, geometry, X, y, start, **settings):
    """Return the result of a minimisation, and its number of passes."""
    result = minimize(rank_one(X, y), solver, geometry.point(start), **settings)
    return result, result.history["passes"][-1]


@pytest.mark.parametrize("noise", [1e-2, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_trust_region_needs_few_passes_at_a_rank_above_the_true_one_with_noise(seed, noise):
    rng = np.random.default_rng(seed)
    X, y, _, _ = regression(rng, 1000, 30, 3)
    y, start = y + noise * y.std() * rng.standard_normal(1000), rng.standard_normal((30, 6))
    conjugate, few = solve_counted(ConjugateGradient(), Scaled(), X, y, start)
    result, passes = solve_counted(TrustRegion(), Scaled(), X, y, start)
    assert passes <= 5 * few
    assert result.cost <= 1.001 * conjugate.cost


@pytest.mark.parametrize("geometry", [Flat(), Polar(), Polar(core="log-euclidean")], ids=repr)
def test_trust_region_does_not_depend_on_the_conditioning_of_the_matrix(geometry, rng):
    X, y, _, start = regression(rng, 1000, 20, 4, condition=1e4)
    _, few = solve_counted(ConjugateGradient(), Scaled(), X, y, start, tol=1e-12)
    result, passes = solve_counted(TrustRegion(), geometry, X, y, start, tol=1e-12)
    assert relative_costs(result)[-1] < 1e-11
    assert passes <= 5 * few


def test_trust_region_and_cg_reach_the_same_cost_on_unscaled_data():
    X, y = load_wine(return_X_y=True)
    point = Scaled(X.T @ X / len(X)).point(np.eye(13, 3) / 100)
    results = [
        minimize(rank_one(X, y * 1.0), s, point, tol=1e-8, max_iter=300) for s in (TrustRegion(), ConjugateGradient())
    ]
    assert results[0].cost == pytest.approx(results[1].cost, rel=0.02)


def test_every_solver_is_registered():
    assert set(SOLVERS.values()) == {GradientDescent, ConjugateGradient, LBFGS, TrustRegion, Online}
    with pytest.raises(ValueError, match="model='bfgs' is unknown"):
        TrustRegion("bfgs")


def test_cost_in_float32_equals_that_of_recomputed_images(rng):
    X, y, _, start = regression(rng, 500, 10, 3, dtype=np.float32)
    problem = rank_one(X, y + rng.standard_normal(500).astype(np.float32))
    result = minimize(problem, GradientDescent(Armijo(initial=None)), Flat().point(start), max_iter=200, tol=0)
    assert result.cost == pytest.approx(problem.evaluate(result.point).value, rel=1e-5)
