"""Growing samples: the same minimum from a better start, with fewer passes over the data."""

import numpy as np
import pytest
import scipy.sparse

from gramian import PSDRegressor, minimize
from gramian.geometries import GEOMETRIES, Scaled
from gramian.solvers import ConjugateGradient, GradientDescent, Growing, TrustRegion

from helpers import rank_one


@pytest.fixture
def data(rng):
    X, truth = rng.standard_normal((6000, 6)), rng.standard_normal((6, 2))
    return X, np.sum((X @ truth) ** 2, axis=1) + 0.1 * rng.standard_normal(6000)


def fit_regressor(data, growing, **settings):
    return PSDRegressor(2, growing=growing, tol=1e-10, random_state=0, **settings).fit(*data)


@pytest.mark.parametrize("solver", [ConjugateGradient(), TrustRegion()], ids=["cg", "trust-region"])
@pytest.mark.parametrize("geometry", ["scaled", "flat"])
def test_growing_keeps_the_minimum_and_lowers_the_cost_of_the_start(data, solver, geometry):
    with_subsets, without = (fit_regressor(data, g, solver=solver, geometry=geometry) for g in (True, False))
    np.testing.assert_allclose(with_subsets.matrix(), without.matrix(), atol=1e-5)
    assert with_subsets.history_["cost"][0] < 0.1 * without.history_["cost"][0]


def test_growing_halves_the_passes_over_the_data(data):
    def passes_to_cost(model, within):
        cost = model.history_["cost"]
        return model.history_["passes"][np.flatnonzero(cost <= within)[0]]

    grown, plain = (fit_regressor(data, g, geometry="flat") for g in (True, False))
    within = 1.01 * min(grown.history_["cost"].min(), plain.history_["cost"].min())
    assert passes_to_cost(grown, within) < 0.5 * passes_to_cost(plain, within)


def test_passes_over_subsets_count_in_proportion_to_their_sizes(data):
    seen = []

    class Counting(ConjugateGradient):
        def step(self, evaluation, memory):
            step = super().step(evaluation, memory)
            seen.append(evaluation.problem)
            return step

    problem = rank_one(*data)
    result = minimize(problem, Counting(), Scaled().point(np.eye(6)[:, :2]), growing=Growing(factor=4))
    subsets = {id(p): p for p in seen if p is not problem}.values()
    assert [len(p.sampled.measurement) for p in subsets] == [1500]
    read = sum(p.passes * len(p.sampled.measurement) for p in subsets)
    assert result.history["passes"][0] == pytest.approx(read / 6000 + 2)


def test_subsets_are_nested_and_equally_weighted(data):
    problem = rank_one(*data)
    large, small = Growing().subsets(problem, [50, 1000])
    assert set(map(tuple, small.blocks[0].features.X)) <= set(map(tuple, large.blocks[0].features.X))
    for subset in (large, small):
        weight = subset.sampled.weight
        np.testing.assert_allclose(weight, 1 / len(weight))


def test_sizes_are_ascending_and_empty_for_small_problems():
    assert Growing(factor=10, least=2).sizes(1_000_000, 500) == [1000, 10_000, 100_000]
    assert Growing().sizes(4999, 1) == []
    assert Growing().sizes(10_000, 1000) == []


@pytest.mark.parametrize("name", sorted(GEOMETRIES))
def test_growing_ends_at_no_higher_cost_on_every_geometry(data, name):
    X, y = data
    full = name in ("affine", "log-euclidean")
    # A singular W is on the border of the cone and cannot be reached.
    y = y + np.sum(X**2, axis=1) if full else y
    settings = {"geometry": name, "loss": "linear" if name == "grassmann" else "squared", "max_iter": 2000}
    models = [PSDRegressor(None if full else 2, growing=g, random_state=0, **settings).fit(X, y) for g in (True, False)]
    values = [m.history_["cost"][-1] for m in models]
    assert values[0] <= values[1] + 1e-3 * abs(values[1])


def test_growing_accepts_sparse_data_float32_weights_and_matrices(data, rng):
    X, y = data
    sparse = fit_regressor((scipy.sparse.csr_array(X), y), True)
    np.testing.assert_allclose(sparse.matrix(), fit_regressor(data, True).matrix(), atol=1e-8)
    single = PSDRegressor(2, random_state=0).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.matrix(), sparse.matrix(), atol=1e-3)
    weight = rng.integers(1, 4, len(y)).astype(float)
    models = [PSDRegressor(2, growing=g, tol=1e-10, random_state=0).fit(X, y, weight) for g in (True, False)]
    np.testing.assert_allclose(models[0].matrix(), models[1].matrix(), atol=1e-5)
    matrices = fit_regressor((X[:, :, None] * X[:, None, :], y), True)
    np.testing.assert_allclose(matrices.matrix(), sparse.matrix(), atol=1e-5)


def test_a_seed_makes_the_result_reproducible(data):
    first, second = (fit_regressor(data, True) for _ in range(2))
    np.testing.assert_array_equal(first.factor_, second.factor_)


def test_a_given_start_is_not_replaced(data):
    first = PSDRegressor(2, random_state=0).fit(*data)
    again = PSDRegressor(2, init=first.factor_, random_state=0).fit(*data)
    assert again.history_["cost"][0] == pytest.approx(first.history_["cost"][-1], rel=1e-12)
    assert again.history_["cost"][-1] <= first.history_["cost"][-1]


def test_max_iter_0_returns_the_start(data):
    start = np.eye(6)[:, :2]
    model = PSDRegressor(2, init=start, max_iter=0, tol=0)
    with pytest.warns(UserWarning, match="max_iter=0"):
        model.fit(*data)
    np.testing.assert_array_equal(model.factor_, start)


def test_bad_settings_raise_an_error(data):
    with pytest.raises(ValueError, match=r"growing='often' is not valid\. Give True, False, or a Growing"):
        PSDRegressor(2, growing="often").fit(*data)
    with pytest.raises(ValueError, match="factor=1 is not valid"):
        Growing(factor=1)
    model = PSDRegressor(2, growing=Growing(seed=3), solver=GradientDescent(), random_state=0).fit(*data)
    assert model.score(*data) > 0.99
