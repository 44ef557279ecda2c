"""Kernel regression against explicit sums over all pairs of samples."""

import numpy as np
import pytest

from gramian import Problem
from gramian._kernels.reference_neighbourhoods import neighbour_probabilities
from gramian.execution import Serial, Threads, one_blas_thread
from gramian.features import Array
from gramian.geometries import GEOMETRIES, Flat
from gramian.objective import Block, KernelRegression
from gramian.solvers import ConjugateGradient, TrustRegion, minimize

TOLERANCE = {np.float64: 1e-11, np.float32: 2e-4}


@pytest.fixture
def y(rng):
    return rng.standard_normal(60)


def images(rng, dtype=np.float64, r=3, scale=1.0):
    return (scale * rng.standard_normal((60, r))).astype(dtype)


def probabilities(Z):
    return neighbour_probabilities(Z.astype(np.float64), np.zeros(len(Z), int)).of_all


def explicit_value(Z, y, weight=None):
    squares = (probabilities(Z) @ y - y) ** 2
    return float(np.average(squares, weights=weight))


def explicit_laplacian(Z, y):
    """The Laplacian of ∂f/∂d_ij = -2 (p_i - y_i) q_ij (y_j - p_i) / N."""
    q = probabilities(Z)
    predicted = q @ y
    slopes = -2 * (predicted - y)[:, None] * q * (y - predicted[:, None]) / len(y)
    return np.diag((slopes + slopes.T).sum(axis=1)) - slopes - slopes.T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-2, 1.0, 3.0])
def test_value_and_slopes_are_those_of_all_pairs(dtype, scale, y, rng):
    Z = images(rng, dtype, scale=scale)
    term = KernelRegression(y)
    assessed = term.value_and_slopes(term.predict(Z))
    assert assessed.value == pytest.approx(explicit_value(Z, y), rel=TOLERANCE[dtype])
    laplacian = explicit_laplacian(Z, y)
    for target in (Z, images(rng, dtype, r=2)):
        expected = laplacian @ target
        result = term.weigh(assessed.slopes, target)
        np.testing.assert_allclose(result, expected, atol=5 * TOLERANCE[dtype] * np.abs(expected).max())


def test_slopes_are_the_derivative_of_the_value(y, rng):
    Z, V, h = images(rng), images(rng), 1e-6
    term = KernelRegression(y)
    slope = 2 * np.vdot(term.weigh(term.value_and_slopes(Z).slopes, Z), V)
    assert slope == pytest.approx((explicit_value(Z + h * V, y) - explicit_value(Z - h * V, y)) / (2 * h), rel=1e-6)


def test_lines_have_the_derivatives_of_the_value(y, rng):
    Z, T, h = images(rng), images(rng, scale=0.3), 1e-4
    weight = np.where(np.arange(60) % 2, 0.0, 1.0)
    term = KernelRegression(y, anchors=np.arange(0, 60, 2))
    value, slope, curvature = term.along(term.line(Z, Z, T), 0.5)
    low, middle, high = (explicit_value(Z + s * T, y, weight) for s in (0.5 - h, 0.5, 0.5 + h))
    assert value == pytest.approx(middle, rel=1e-12)
    assert slope == pytest.approx((high - low) / (2 * h), rel=1e-6)
    assert curvature == pytest.approx((high - 2 * middle + low) / h**2, rel=1e-4)


def test_the_gauss_newton_operator_linearises_the_predictions(y, rng):
    Z, V, h = images(rng), images(rng), 1e-6
    term = KernelRegression(y)
    weights, form = term.gauss_newton(Z, Z, V)
    speed = (probabilities(Z + h * V) @ y - probabilities(Z - h * V) @ y) / (2 * h)
    assert form == pytest.approx(2 * np.mean(speed**2), rel=1e-6)
    assert 2 * np.vdot(term.weigh(weights, Z), V) == pytest.approx(form, rel=1e-10)


def test_far_samples_do_not_overflow(y, rng):
    Z = images(rng, np.float32, scale=100.0)
    distance = np.sum((Z[:, None].astype(float) - Z[None]) ** 2, axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = y[distance.argmin(axis=1)]
    assert KernelRegression(y).value_and_slopes(Z).value == pytest.approx(np.mean((nearest - y) ** 2), rel=0.05)
    assert not np.isfinite(KernelRegression(y).value_and_slopes(Z * np.float32(1e18)).value)


@pytest.mark.parametrize("geometry", [kind() for name, kind in GEOMETRIES.items() if name != "grassmann"], ids=str)
def test_descent_on_every_geometry(geometry, rng):
    X = rng.standard_normal((60, 4))
    y = np.sin(X[:, 0]) + X[:, 1]
    G = np.eye(4) if geometry.full_rank else np.eye(4)[:, :2] + 0.1
    problem = Problem([Block(Array(X), [KernelRegression(y)])])
    result = minimize(problem, ConjugateGradient(), geometry.point(G), max_iter=20)
    assert np.all(np.diff(result.history["cost"]) <= 1e-12)
    assert result.history["cost"][-1] == pytest.approx(explicit_value(X @ result.point.G, y), rel=1e-8)
    assert result.history["cost"][-1] < 0.9 * result.history["cost"][0]


def test_trust_regions_reach_the_same_minimum(rng):
    X = rng.standard_normal((60, 2))
    problem = Problem([Block(Array(X), [KernelRegression(X[:, 0])])])
    results = [
        minimize(problem, solver, Flat().point(np.eye(2)), max_iter=300, tol=1e-10)
        for solver in (ConjugateGradient(), TrustRegion())
    ]
    costs = [result.history["cost"][-1] for result in results]
    assert costs[1] == pytest.approx(costs[0], rel=1e-3)


def test_pieces_and_threads_give_the_same_bits(rng):
    X = rng.standard_normal((3000, 6))
    term = KernelRegression(X[:, 0])
    assert len(term.pieces(3000).fine) > 1
    # Serial leaves BLAS the threads of the process, and their number may change the last bits of a product.
    with one_blas_thread():
        evaluations = [
            Problem([Block(Array(X), [term])], execution).evaluate(Flat().point(np.eye(6)[:, :2]))
            for execution in (Serial(), Threads(1), Threads(2))
        ]
        for evaluation in evaluations[1:]:
            assert evaluation.value == evaluations[0].value
            np.testing.assert_array_equal(evaluation.gradient, evaluations[0].gradient)


def test_the_value_at_zero_is_that_of_an_evaluation_there(y, rng):
    term = KernelRegression(y, anchors=rng.permutation(60)[:40], weight=rng.random(40))
    Z = np.zeros((60, 2))
    expected = term.value_and_slopes(term.predict(Z)).value
    assert term.value_at_zero(Z) == pytest.approx(expected, rel=1e-13)


def test_mistakes_are_named(y):
    with pytest.raises(ValueError, match="expected finite numbers"):
        KernelRegression([0.0, np.nan])
    with pytest.raises(ValueError, match="anchors must be indices of the 60 samples"):
        KernelRegression(y, anchors=[60])
    with pytest.raises(ValueError, match="anchors has 0 more than once"):
        KernelRegression(y, anchors=[0, 0])
    with pytest.raises(ValueError, match="weight has shape"):
        KernelRegression(y, weight=np.ones(3))
    with pytest.raises(ValueError, match="60 entries, but there are 59 samples"):
        Block(Array(np.ones((59, 2))), [KernelRegression(y)])
