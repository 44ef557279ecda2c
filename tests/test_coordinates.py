"""Coordinates: centred without a copy, in units near 1, in the span of few samples; and back."""

import numpy as np
import pytest
import scipy.sparse

from gramian import MetricLearner, PSDRegressor
from gramian.coordinates import Coordinates, Units, centre, span_of, units_of_regression
from gramian.execution import Threads
from gramian.features import Array, Centred, Identity, as_features
from gramian.losses import Huber, Linear, Logistic, Squared


@pytest.fixture(autouse=True)
def all_data_is_large(monkeypatch):
    monkeypatch.setattr("gramian.mapped.SMALL", 0)


def test_small_data_is_centred_in_a_copy(rng, monkeypatch):
    monkeypatch.setattr("gramian.mapped.SMALL", 2**20)
    features = centre(rng.standard_normal((50, 3)) + 1)
    assert isinstance(features, Array)
    assert np.abs(features.X.mean(axis=0)).max() < 1e-14


def test_centring_copies_nothing_where_rounding_does_not_tell(rng, dtype):
    X = (rng.standard_normal((3000, 4)) + 2).astype(dtype)
    features = centre(X)
    assert isinstance(features, Centred)
    assert np.shares_memory(features.features.X, X)
    B, S = rng.standard_normal((4, 2)).astype(dtype), rng.standard_normal((3000, 2)).astype(dtype)
    exact = X - X.mean(axis=0, dtype=np.float64)
    tol = 1e-12 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(features.image(B), exact @ B, atol=tol)
    np.testing.assert_allclose(features.pull(S), exact.T @ S, atol=tol * 10)
    np.testing.assert_allclose(features.take(np.arange(5)).dense(), exact[:5], atol=tol)
    assert features.image(B).dtype == features.pull(S).dtype == dtype


def test_large_numbers_are_brought_near_one_without_a_copy(rng, dtype):
    X = (2e5 * (rng.standard_normal((3000, 4)) + 2)).astype(dtype)
    units = units_of_regression(X, np.ones(3000))
    assert units.data < 1e-4
    for features in (centre(X, unit=units.data).features, Coordinates.in_units(X, units).features):
        assert np.shares_memory(features.X, X)
        assert 0.1 < np.abs(features.image(np.eye(4, dtype=dtype))).max() < 10
    columns = X * np.array([1, 2.0**-20, 1, 1], dtype)
    assert np.shares_memory(Coordinates.in_units(columns, units).equilibrated().features.X, columns)


@pytest.mark.parametrize(("dtype", "offset"), [(np.float64, 1e6), (np.float32, 100.0)])
def test_a_large_mean_is_subtracted_in_a_copy(dtype, offset, rng):
    X = (rng.standard_normal((500, 3)) + offset).astype(dtype)
    features = centre(X)
    assert isinstance(features, Array)
    assert abs(features.X.mean()) < 1e-3 * offset * np.finfo(dtype).eps ** 0.5 + 1e-2


def test_sparse_data_is_centred_and_stays_sparse(rng, dtype):
    X = scipy.sparse.csr_array((rng.random((300, 20)) * (rng.random((300, 20)) < 0.2)).astype(dtype))
    features = centre(X)
    assert np.shares_memory(features.features.X.data, X.data)
    exact = X.toarray() - X.toarray().mean(axis=0, dtype=np.float64)
    B, S = rng.standard_normal((20, 3)).astype(dtype), rng.standard_normal((300, 3)).astype(dtype)
    tol = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(features.image(B), exact @ B, atol=tol)
    np.testing.assert_allclose(features.pull(S), exact.T @ S, atol=tol)
    assert features.image(B).dtype == features.pull(S).dtype == features.mean.dtype == dtype


@pytest.mark.parametrize("rank", [2, 5])
def test_dense_and_sparse_samples_give_the_same_distance(rank, rng):
    X = (rng.standard_normal((300, 20)) + 1) * (rng.random((300, 20)) < 0.3)
    triplets = np.array([rng.choice(300, 3, replace=False) for _ in range(800)])
    near, far = (np.sum((X[triplets[:, 0], :3] - X[triplets[:, k], :3]) ** 2, axis=1) for k in (1, 2))
    triplets[near > far] = triplets[near > far][:, [0, 2, 1]]
    dense, sparse = (
        MetricLearner(rank, random_state=0).fit_triplets(samples, triplets)
        for samples in (X, scipy.sparse.csr_array(X))
    )
    assert sparse.history_["cost"][-1] == pytest.approx(dense.history_["cost"][-1], rel=1e-5)
    W, found = (model.factor_ @ model.factor_.T for model in (dense, sparse))
    np.testing.assert_allclose(found, W, atol=1e-5 * np.abs(W).max())


def test_threads_do_not_change_the_mean(rng):
    X = rng.standard_normal((20000, 3)) + 1
    np.testing.assert_array_equal(centre(X).mean, centre(X, Threads(2)).mean)


@pytest.mark.parametrize("exponent", [-60, -5, 0, 5, 60])
def test_units_are_powers_of_two_and_lead_back_exactly(exponent, rng):
    X, y, G = 2.0**exponent * rng.standard_normal((50, 3)), 4.0**exponent * rng.random(50), rng.standard_normal((3, 2))
    units = units_of_regression(X, y)
    coordinates = Coordinates.in_units(X, units)
    np.testing.assert_array_equal(coordinates.to_user(coordinates.to_solver(G)), G)
    # What is predicted in the solver's coordinates is what is predicted in the user's, in the solver's units.
    predicted = np.sum((coordinates.features.dense() @ coordinates.to_solver(G)) ** 2, axis=1)
    np.testing.assert_allclose(predicted, coordinates.targets(np.sum((X @ G) ** 2, axis=1)), rtol=1e-13)


def test_a_matrix_counts_as_the_square_of_a_vector(rng):
    X = 2.0**40 * rng.standard_normal((20, 3))
    matrices = np.einsum("ni,nj->nij", X, X)
    y = np.ones(20)
    assert units_of_regression(matrices, y).data == pytest.approx(units_of_regression(X, y).data, rel=1)
    assert isinstance(Coordinates.in_units(matrices, Units()).features, Identity)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_matrices_in_any_unit_give_the_same_fit(scale, rng):
    X = rng.standard_normal((200, 4))
    matrices, y = np.einsum("ni,nj->nij", X, X), np.sum(X[:, :2] ** 2, axis=1)
    assert PSDRegressor(2, random_state=0).fit(scale * matrices, y).score(scale * matrices, y) > 1 - 1e-7


@pytest.mark.parametrize("loss", [Squared(), Linear(), Huber(0.5), Logistic(0.5)], ids=repr)
def test_costs_are_told_in_the_user_s_units(loss, rng):
    """A linear loss on targets of 1e6 costs 1e6, not its square."""
    X, scale = rng.standard_normal((300, 4)), 2.0**20
    y = scale * np.sum(X[:, :2] ** 2, axis=1) + scale * 0.1 * rng.standard_normal(300)
    geometry = "grassmann" if isinstance(loss, Linear) else "scaled"
    model = PSDRegressor(2, loss=loss, geometry=geometry, random_state=0).fit(X, y)
    value, _, _ = loss(model.predict(X), y, np.zeros(300, np.int8))
    assert model.history_["cost"][-1] == pytest.approx(value.mean(), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
def test_a_projector_is_one_in_any_unit(scale, rng):
    X = scale * rng.standard_normal((200, 5)) * [3, 2, 1, 1, 1]
    model = PSDRegressor(2, loss="linear", geometry="grassmann", random_state=0).fit(X, np.sum(X**2, axis=1))
    np.testing.assert_allclose(model.factor_.T @ model.factor_, np.eye(2), atol=1e-12)


def test_the_parameter_of_a_loss_follows_the_targets(rng):
    """The fit to 2²⁰ y with Huber(2²⁰ δ) is that to y with Huber(δ), times 2²⁰."""
    X = rng.standard_normal((400, 4))
    y = np.sum(X[:, :2] ** 2, axis=1) + np.where(rng.random(400) < 0.1, 20.0, 0.0)
    settings = {"rank": 2, "random_state": 0, "tol": 1e-10}
    plain = PSDRegressor(loss=Huber(0.5), **settings).fit(X, y).matrix()
    scaled = PSDRegressor(loss=Huber(2.0**20 * 0.5), **settings).fit(X, 2.0**20 * y).matrix()
    squared = PSDRegressor(**settings).fit(X, y).matrix()
    np.testing.assert_allclose(scaled / 2.0**20, plain, rtol=1e-6, atol=1e-6)
    truth = np.diag([1.0, 1, 0, 0])
    assert np.abs(plain - truth).max() < 0.2 * np.abs(squared - truth).max()


def test_few_samples_are_learned_from_in_their_span(rng):
    X, y = rng.standard_normal((12, 40)), np.repeat([0, 1], 6)
    coordinates = Coordinates.of_distances(X, in_span=True)
    assert coordinates.features.shape == (12, 11)
    model = MetricLearner(2, random_state=0).fit(X, y)
    outside = np.linalg.svd(X - X.mean(axis=0))[2][11:]
    assert np.abs(outside @ model.factor_).max() < 1e-10


@pytest.mark.parametrize("centred", [False, True])
def test_sparse_samples_have_the_span_of_dense_ones(centred, rng):
    X = scipy.sparse.csr_array(rng.standard_normal((12, 40)) * (rng.random((12, 40)) < 0.3))
    dense = X.toarray() - (X.toarray().mean(axis=0) if centred else 0)
    features = centre(X) if centred else as_features(X)
    assert span_of(features) is None
    span, expected = span_of(features, sparse=True), span_of(Array(dense))
    assert span.features.shape == expected.features.shape
    np.testing.assert_allclose(span.features.X @ span.features.X.T, dense @ dense.T, atol=1e-12)
    lifted = span.lift(np.eye(span.features.shape[1]))
    np.testing.assert_allclose(dense @ lifted, span.features.X, atol=1e-12)


@pytest.mark.parametrize("constraints", ["triplets", "pairs"])
def test_features_that_are_always_zero_are_left_out(constraints, rng, monkeypatch):
    monkeypatch.setattr("gramian.columns.WIDE", 10)
    y = rng.integers(3, size=60)
    X = rng.standard_normal((60, 12)) + np.eye(3, 12)[y] * 3
    wide = scipy.sparse.lil_array((60, 40))
    places = np.sort(rng.choice(40, 12, replace=False))
    wide[:, places] = X
    learner = MetricLearner(2, constraints=constraints, random_state=0)
    small = learner.fit(scipy.sparse.csr_array(X), y).factor_
    factor = learner.fit(scipy.sparse.csr_array(wide), y).factor_
    assert factor.shape == (40, 2)
    np.testing.assert_allclose(factor[places], small, rtol=1e-8, atol=1e-10)
    assert not factor[np.setdiff1d(np.arange(40), places)].any()


def test_the_mean_of_numbers_near_the_largest_is_finite():
    X = np.full((2000, 2), 1e305)
    X[::2] *= 0.5
    units = units_of_regression(X, np.ones(2000))
    assert np.isfinite(centre(X, unit=units.data).image(np.eye(2))).all()
