"""Memory-mapped arrays: never copied as a whole, and the same bits as arrays."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from gramian import MetricLearner, PSDRegressor, SubspaceTracker
from gramian.features import Array, Centred
from gramian.mapped import Mapped, columns_of, is_large_map, name_of_file


def save(path, X):
    np.save(path, X)
    return np.load(path, mmap_mode="r")


@pytest.fixture
def no_size_is_small(monkeypatch):
    monkeypatch.setattr("gramian.mapped.SMALL", 0)


@pytest.mark.parametrize("scale", [2.0**-12, 2.0 ** np.arange(-2, 2), 2.0**90])
def test_products_with_scaled_rows_have_the_bits_of_a_copy(scale, rng, dtype):
    X = (rng.standard_normal((50, 4)) / scale).astype(dtype)
    B, S = rng.standard_normal((4, 2)).astype(dtype), rng.standard_normal((50, 2)).astype(dtype)
    features, copied = Mapped(X, scale), Array(X * np.asarray(scale).astype(dtype))
    np.testing.assert_array_equal(features.image(B), copied.image(B))
    np.testing.assert_array_equal(features.pull(S), copied.pull(S))
    # Products of other types are computed in theirs, block by block.
    wide = features.image(B.astype(np.float64))
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, copied.dense() @ B.astype(np.float64), rtol=1e-6)


@pytest.mark.parametrize("solver", ["cg", "online"])
def test_a_large_array_of_large_numbers_is_fitted_as_a_small_one(solver, rng, monkeypatch):
    X = 1e5 * (rng.standard_normal((300, 4)) + 1)
    y, target = rng.integers(3, size=300), (X[:, 0] / 1e5) ** 2
    found = []
    for small in (2**25, 0):
        monkeypatch.setattr("gramian.mapped.SMALL", small)
        metric = MetricLearner(2, constraints="triplets", solver=solver, random_state=0).fit(X, y)
        regressor = PSDRegressor(1, solver=solver, random_state=0).fit(X, target)
        found.append((metric.components_, regressor.factor_))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8 * np.abs(one).max())


def test_products_of_blocks(rng, dtype, monkeypatch):
    X = rng.standard_normal((50, 4)).astype(dtype)
    scale, mean = 2.0 ** np.arange(4), rng.standard_normal(4)
    features, B, S = Mapped(X, scale, mean), rng.standard_normal((4, 2)), rng.standard_normal((50, 3))
    changed = X * scale.astype(dtype) - mean.astype(dtype)
    np.testing.assert_array_equal(features.dense(), changed)
    np.testing.assert_array_equal(features.take(np.array([3, 1])).dense(), changed[[3, 1]])
    np.testing.assert_array_equal(columns_of(features, slice(1, 3)), changed[:, 1:3])
    np.testing.assert_array_equal(columns_of(Centred(Array(X), mean), slice(1, 3)), (X - mean.astype(dtype))[:, 1:3])
    for block in (2**26, 7 * X[0].nbytes):
        monkeypatch.setattr("gramian.mapped.BLOCK", block)
        np.testing.assert_allclose(features.image(B), changed @ B, rtol=1e-5)
        np.testing.assert_allclose(features.take(slice(5, 50)).pull(S[5:]), changed[5:].T @ S[5:], rtol=1e-4, atol=1e-4)
    assert features.shape == (50, 4)
    assert features.dtype == dtype


def test_maps_are_found_behind_views(rng, tmp_path, monkeypatch):
    X = save(tmp_path / "X.npy", rng.standard_normal((50, 4)))
    assert not is_large_map(X)
    monkeypatch.setattr("gramian.mapped.SMALL", 0)
    assert is_large_map(X)
    assert is_large_map(np.asarray(X)[5:, ::2])
    assert not is_large_map(np.array(X))
    assert not is_large_map(X[[1, 2]])
    assert not is_large_map(X * 2)


@pytest.mark.usefixtures("no_size_is_small")
@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1e-5, 0), (1e5, 0), (1, 1e4), (1e5, 1e4)])
@pytest.mark.filterwarnings("ignore:not converged", "ignore:the columns of X differ")
def test_maps_equal_arrays_bit_for_bit(rng, tmp_path, dtype, scale, shift):
    X = (scale * (rng.standard_normal((3000, 6)) + shift)).astype(dtype)
    X[:, 1] *= 4096
    y = rng.standard_normal(3000) ** 2
    labels = (X[:, 0] > X[:, 0].mean()).astype(int)
    mapped = save(tmp_path / "X.npy", X)
    for model, target in (
        (PSDRegressor(2, max_iter=5, random_state=0), y),
        (PSDRegressor(2, max_iter=5, geometry="flat", growing=False, random_state=0), y),
        (MetricLearner(2, constraints="triplets", n_rounds=1, max_iter=3, random_state=0), labels),
        (SubspaceTracker(2, n_epochs=1, random_state=0), None),
    ):
        expected, found = clone(model).fit(X, target), clone(model).fit(mapped, target)
        np.testing.assert_array_equal(fitted(found), fitted(expected))


def fitted(model):
    return model.factor_ if isinstance(model, PSDRegressor) else model.components_


@pytest.mark.usefixtures("no_size_is_small")
def test_few_samples_of_many_features(rng, tmp_path):
    X, labels = rng.standard_normal((40, 90)), np.arange(40) % 2
    model = MetricLearner(2, constraints="triplets", n_rounds=1, random_state=0)
    found = clone(model).fit(save(tmp_path / "X.npy", X), labels)
    np.testing.assert_array_equal(found.factor_, clone(model).fit(X, labels).factor_)


@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.filterwarnings("ignore:not converged")
def test_a_map_is_not_copied(tmp_path, scale):
    n, d = 110_000, 80
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (n, d))
    rng = np.random.default_rng(0)
    for start in range(0, n, 10_000):
        X[start : start + 10_000] = scale * rng.standard_normal((10_000, d), dtype=np.float32)
    y = (X[:, 0] / scale) ** 2
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert is_large_map(mapped)
    model = PSDRegressor(1, max_iter=2, tol=1e-2, random_state=0).fit(np.array(X[:2000]), y[:2000])
    tracemalloc.start()
    try:
        model.fit(mapped, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.8 * mapped.nbytes


def test_a_map_of_another_kind_is_copied_with_a_warning(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("gramian.mapped.SMALL", 0)
    X = rng.integers(-3, 4, (60, 4))
    y = (X[:, 0] ** 2).astype(float)
    with pytest.warns(UserWarning, match=r"X is memory-mapped as int64, and is copied whole"):
        PSDRegressor(1, random_state=0).fit(save(tmp_path / "X.npy", X), y)
    with pytest.warns(UserWarning, match=r"as float64, not in C order, and is copied whole"):
        PSDRegressor(1, random_state=0).fit(save(tmp_path / "F.npy", np.asfortranarray(X.astype(float))), y)


@pytest.mark.parametrize("block", [2**26, 7 * 32], ids=["one block", "many blocks"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_value_is_named_by_file_row_and_column(rng, tmp_path, monkeypatch, block, value):
    monkeypatch.setattr("gramian.mapped.BLOCK", block)
    X = rng.standard_normal((60, 4))
    X[33, 2] = value
    mapped, y = save(tmp_path / "X.npy", X), np.arange(60) % 2
    for model in (PSDRegressor(1), MetricLearner(1)):
        with pytest.raises(ValueError, match=rf"X\.npy: row 33, column 2 is {value}\. Fill or drop it"):
            model.fit(mapped, y)
    with pytest.raises(ValueError, match=rf"X\.npy: row 33, column 2 is {value}, which is row 23 of X"):
        PSDRegressor(1).fit(mapped[10:], y[10:])
    if np.isnan(value):
        SubspaceTracker(1).fit(mapped)
    else:
        with pytest.raises(ValueError, match=r"X\.npy: row 33, column 2 is inf"):
            SubspaceTracker(1).fit(mapped)


def test_sums_that_overflow_are_no_bad_values(tmp_path):
    X = np.full((50, 3), 1e38, np.float32)
    X[:, 1] *= -1
    X[::2] *= 0.5
    name = tmp_path / "X.npy"
    model = SubspaceTracker(1).fit(save(name, X * np.float32(1e-30)))
    np.testing.assert_array_equal(model.transform(save(tmp_path / "large.npy", X)).shape, (50, 1))
    assert name_of_file(np.asarray(save(tmp_path / "b.npy", X))[3:]) == str(tmp_path / "b.npy")
