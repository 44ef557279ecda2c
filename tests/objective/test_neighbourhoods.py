"""Neighbourhoods against explicit sums over all pairs of samples."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from gramian import MetricLearner, Problem
from gramian._kernels.compiled import compiled
from gramian._kernels.exponential import exponential
from gramian._kernels.neighbourhoods import NEGLIGIBLE32, NEGLIGIBLE64, curvature_tile, neighbourhood_tile
from gramian._kernels.reference_neighbourhoods import neighbour_probabilities, neighbourhood_gradient
from gramian._kernels.targets import regression_tile
from gramian.execution import Serial, Threads, one_blas_thread
from gramian.features import Array
from gramian.geometries import GEOMETRIES, Flat, Scaled
from gramian.objective import Block, Neighbourhoods
from gramian.solvers import ConjugateGradient, Exact, Wolfe, minimize
from gramian.supervision import LabelNeighbourhoods

TOLERANCE = {np.float64: 1e-11, np.float32: 2e-4}


@compiled
def exponentials(x, out):
    for i in range(len(x)):
        out[i] = exponential(x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exponential_is_right_to_rounding(dtype):
    x = -np.linspace(0, 80, 100_001).astype(dtype)
    out = np.empty_like(x)
    exponentials(x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=4 * np.finfo(dtype).eps)


def separate(rng, dtype):
    """Return samples of four classes that are far apart, sorted by class, and their products with all samples."""
    Z = (np.repeat(np.eye(4, 3) * 6, 50, axis=0) + 0.3 * rng.standard_normal((200, 3))).astype(dtype)
    return Z, Z @ Z.T


def subnormal(array):
    """Return how many entries are neither 0 nor normal numbers."""
    return int(np.count_nonzero((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_no_tile_has_subnormal_numbers_which_are_slow(dtype, power, rng):
    Z, products = separate(rng, dtype)
    # In float64 exponentials are that small for longer distances only.
    Z, products = (Z, products) if dtype == np.float32 else (Z * 4, products * 16)
    norms, anchors, n = np.sum(Z * Z, axis=1), np.arange(200), 200
    starts, weight = anchors // 50 * 50, np.full(n, 1 / n)
    tile, loss, columns = products.copy(), np.empty(n), np.zeros(n, dtype)
    neighbourhood_tile(tile, norms, anchors, starts, starts + 50, weight, power, loss, columns)
    # Some derivatives beside those of anchors with themselves are 0.
    assert n < np.count_nonzero(tile) < tile.size - n
    assert subnormal(tile) == 0
    speeds = rng.standard_normal((n, n)).astype(dtype)
    for compute in (
        lambda tile: curvature_tile(tile, speeds, norms, anchors, weight, columns),
        lambda tile: regression_tile(tile, norms, speeds[0].copy(), anchors, weight, loss, columns),
    ):
        tile = products.copy()
        compute(tile)
        assert tile.any()
        assert subnormal(tile) == 0


@pytest.mark.parametrize(("dtype", "negligible"), [(np.float32, NEGLIGIBLE32), (np.float64, NEGLIGIBLE64)])
def test_only_negligible_derivatives_are_left_out(dtype, negligible, rng):
    Z, products = separate(rng, dtype)
    Z, products = (Z, products) if dtype == np.float32 else (Z * 4, products * 16)
    labels, weight = np.repeat(np.arange(4), 50), np.full(200, 1 / 200)
    tile, starts = products.copy(), np.arange(200) // 50 * 50
    norms, columns = np.sum(Z * Z, axis=1), np.zeros(200, dtype)
    neighbourhood_tile(tile, norms, np.arange(200), starts, starts + 50, weight, 0.0, np.empty(200), columns)
    others = labels[:, None] != labels
    expected = neighbourhood_gradient(Z.astype(np.float64), labels, weight)[others]
    small = np.abs(expected) < negligible
    assert 0 < np.count_nonzero(small) < small.size
    rtol = 1e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(tile[others], expected, rtol=rtol, atol=2 * negligible)


@pytest.fixture
def labels(rng):
    return rng.integers(0, 4, size=60)


def images(rng, dtype=np.float64, r=3, scale=1.0):
    return (scale * rng.standard_normal((60, r))).astype(dtype)


def explicit_value(Z, labels, anchors=None, power=0.0):
    of_all = neighbour_probabilities(Z.astype(np.float64), labels).of_all
    p = np.sum(of_all * (labels[:, None] == labels), axis=1)
    value = (1 - p**power) / power if power else -np.log(p)
    return float(np.mean(value if anchors is None else value[anchors]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 4.0, 12.0])
def test_value_and_slopes_are_those_of_all_pairs(dtype, scale, labels, rng):
    Z = images(rng, dtype, scale=scale)
    term = Neighbourhoods(labels)
    assessed = term.value_and_slopes(term.predict(Z))
    assert assessed.value == pytest.approx(explicit_value(Z, labels), rel=TOLERANCE[dtype])
    slopes = neighbourhood_gradient(Z.astype(np.float64), labels, np.full(60, 1 / 60))
    laplacian = np.diag((slopes + slopes.T).sum(axis=1)) - slopes - slopes.T
    expected = laplacian @ Z
    np.testing.assert_allclose(term.weigh(assessed.slopes, Z), expected, atol=TOLERANCE[dtype] * np.abs(expected).max())
    other = images(rng, dtype, r=2)
    expected = laplacian @ other
    result = term.weigh(assessed.slopes, other)
    np.testing.assert_allclose(result, expected, atol=TOLERANCE[dtype] * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_samples_neither_overflow_nor_vanish(dtype, labels, rng):
    Z = images(rng, dtype, scale=100.0)
    term = Neighbourhoods(labels)
    value = term.value_and_slopes(Z).value
    distance = np.sum((Z[:, None].astype(float) - Z[None]) ** 2, axis=2)
    np.fill_diagonal(distance, np.inf)
    same = labels[:, None] == labels
    gap = np.where(same, distance, np.inf).min(axis=1) - np.where(same, np.inf, distance).min(axis=1)
    assert value == pytest.approx(np.mean(np.maximum(gap, 0)), rel=1e-3)
    assert not np.isfinite(Neighbourhoods(labels).value_and_slopes(Z * np.sqrt(np.finfo(dtype).max)).value)


@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 2e4), (np.float32, 1e5), (np.float64, 1e9)])
def test_images_far_from_the_origin_have_the_same_value_at_a_point_and_along_a_line(dtype, offset, labels, rng):
    # Rounding then lifts scores above the squared norm, to more than an exponential can be of.
    Z = images(rng, dtype) + dtype(offset)
    term = Neighbourhoods(labels)
    along = term.along(term.line(term.predict(Z), Z, np.ones_like(Z)), 0.0)
    assert term.value_and_slopes(term.predict(Z)).value == pytest.approx(along.value, rel=1e-3)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_lines_have_the_derivatives_of_the_value(power, labels, rng):
    Z, T, h = images(rng), images(rng, scale=0.3), 1e-4
    term = Neighbourhoods(labels, anchors=np.arange(0, 60, 2), power=power)
    line = term.line(Z, Z, T)
    value, slope, curvature = term.along(line, 0.5)
    low, middle, high = (explicit_value(Z + s * T, labels, term.anchors, power) for s in (0.5 - h, 0.5, 0.5 + h))
    assert value == pytest.approx(middle, rel=1e-12)
    assert slope == pytest.approx((high - low) / (2 * h), rel=1e-6)
    assert curvature == pytest.approx((high - 2 * middle + low) / h**2, rel=1e-4)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_slopes_are_the_derivative_of_the_value(power, labels, rng):
    Z, T, h = images(rng), images(rng, scale=0.3), 1e-5
    term = Neighbourhoods(labels, power=power)
    assessed = term.value_and_slopes(Z)
    assert assessed.value == pytest.approx(explicit_value(Z, labels, power=power), rel=1e-12)
    low, high = (explicit_value(Z + s * T, labels, power=power) for s in (-h, h))
    assert 2 * np.vdot(term.weigh(assessed.slopes, Z), T) == pytest.approx((high - low) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_the_gauss_newton_operator_is_the_curvature_of_the_softmax_over_all(power, labels, rng):
    Z, V = images(rng), images(rng)
    term = Neighbourhoods(labels, power=power)
    weights, form = term.gauss_newton(Z, Z, V)
    of_all = neighbour_probabilities(Z, labels).of_all
    outer = np.sum(of_all * (labels[:, None] == labels), axis=1) ** power
    speed = 2 * np.sum((Z[:, None] - Z[None]) * (V[:, None] - V[None]), axis=2)
    mean = np.sum(of_all * speed, axis=1)
    assert form == pytest.approx(np.mean(outer * (np.sum(of_all * speed**2, axis=1) - mean**2)), rel=1e-10)
    # The operator and its form agree: the derivative of d along V is 2 <z_i - z_j, v_i - v_j>.
    assert 2 * np.vdot(term.weigh(weights, Z), V) == pytest.approx(form, rel=1e-10)


@pytest.mark.parametrize("geometry", [kind() for name, kind in GEOMETRIES.items() if name != "grassmann"], ids=str)
def test_descent_on_every_geometry(geometry, labels, rng):
    X = rng.standard_normal((60, 4)) + labels[:, None]
    G = np.eye(4) if geometry.full_rank else np.eye(4)[:, :2] + 0.1
    problem = Problem([Block(Array(X), [Neighbourhoods(labels)])])
    result = minimize(problem, ConjugateGradient(), geometry.point(G), max_iter=20)
    assert np.all(np.diff(result.history["cost"]) <= 1e-12)
    value = explicit_value(X @ result.point.G, labels)
    assert result.history["cost"][-1] == pytest.approx(value, rel=1e-8)
    assert value < 0.95 * explicit_value(X @ G, labels)


@pytest.mark.parametrize("search", [Wolfe(), Wolfe(flatness=0.01), Exact()], ids=str)
def test_searches_reach_the_same_minimum(search, labels, rng):
    X = rng.standard_normal((60, 3)) + 0.5 * labels[:, None]
    problem = Problem([Block(Array(X), [Neighbourhoods(labels)])])
    result = minimize(
        problem, ConjugateGradient(search=search), Scaled().point(0.3 * np.eye(3)), max_iter=300, tol=1e-10
    )
    assert result.converged
    assert result.history["gradient_norm"][-1] < 1e-3 * result.history["gradient_norm"][0]


def test_pieces_and_threads_give_the_same_bits(rng):
    labels = rng.integers(0, 5, size=3000)
    X = rng.standard_normal((3000, 6)) + labels[:, None]
    term = Neighbourhoods(labels)
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


def test_no_matrix_of_all_pairs_is_in_memory(rng):
    n = 4000
    labels = rng.integers(0, 5, size=n)
    problem = Problem([Block(Array(rng.standard_normal((n, 6))), [Neighbourhoods(labels)])])
    problem.evaluate(Flat().point(np.eye(6)[:, :2]))
    tracemalloc.start()
    evaluation = problem.evaluate(Flat().point(np.eye(6)[:, 1:3]))
    evaluation.line(-evaluation.gradient).take(1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n**2 / 4


def test_anchors_grow_from_round_to_round():
    sizes = LabelNeighbourhoods(np.arange(20_000) % 3).round_sizes
    assert len(sizes) > 1
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] < 20_000


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_the_value_at_zero_is_that_of_an_evaluation_there(labels, power, rng):
    anchors = rng.permutation(60)[:40]
    term = Neighbourhoods(labels, anchors=anchors, weight=rng.random(40), power=power)
    Z = np.zeros((60, 2))
    assert term.value_at_zero(Z) == pytest.approx(term.value_and_slopes(term.predict(Z)).value, rel=1e-13)
    assert Problem([Block(Array(rng.standard_normal((60, 3))), [term])]).value_at_zero == term.value_at_zero(Z)


def test_mistakes_are_named(labels):
    with pytest.raises(ValueError, match="at least two classes"):
        Neighbourhoods(np.zeros(5, int))
    with pytest.raises(ValueError, match="alone in its class"):
        Neighbourhoods(np.array([0, 0, 1]), anchors=[2])
    with pytest.raises(ValueError, match="anchors must be indices of the 60 samples"):
        Neighbourhoods(labels, anchors=[60])
    with pytest.raises(ValueError, match="anchors has 4 more than once"):
        Neighbourhoods(labels, anchors=[5, 4, 0, 4])
    with pytest.raises(ValueError, match="dtype float64; expected integers"):
        Neighbourhoods(labels, anchors=[0.0, 1.0])
    with pytest.raises(ValueError, match="weight has shape"):
        Neighbourhoods(labels, weight=np.ones(3))
    with pytest.raises(ValueError, match="60 entries, but there are 59 samples"):
        Block(Array(np.ones((59, 2))), [Neighbourhoods(labels)])


def test_the_learner_beats_triplets_at_rank_two(rng):
    from sklearn.datasets import load_digits
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    errors = {}
    for constraints in ("auto", "neighbourhoods", "triplets"):
        learner = MetricLearner(2, constraints=constraints, random_state=0).fit(X[::2], y[::2])
        knn = KNeighborsClassifier(5).fit(learner.transform(X[::2]), y[::2])
        errors[constraints] = 1 - knn.score(learner.transform(X[1::2]), y[1::2])
    assert errors["neighbourhoods"] < errors["triplets"] - 0.03
    assert errors["auto"] < errors["triplets"] - 0.03


def test_a_brief_supervision_has_a_round_for_any_number_of_labels():
    brief = LabelNeighbourhoods(np.arange(3000) % 3).brief()
    assert brief.round_sizes == [3000]
    assert replace(brief, labels=np.arange(600) % 3).round_sizes == [600]
