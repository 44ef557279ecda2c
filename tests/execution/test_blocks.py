"""Data in blocks on workers: the answers are those of the same data in memory."""

import numpy as np
import pytest
import scipy.sparse

from gramian import MetricLearner, PSDRegressor, SubspaceTracker
from gramian.blocked import BlockedFeatures, is_blocked, open_blocks
from gramian.blocked import features as blocked_features
from gramian.execution import Dask

da = pytest.importorskip("dask.array", reason="dask is not installed: pip install 'gramian[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'gramian[dask]'")
pd = pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture(autouse=True)
def context(client):
    with client.as_current():
        yield client


def regression(rng, n=3000, d=6, dtype=np.float64):
    X = rng.standard_normal((n, d)).astype(dtype)
    return X, np.sum((X @ rng.standard_normal((d, 2))) ** 2, axis=1) + rng.random(n)


def assert_same_fit(model, other, rtol=1e-10):
    np.testing.assert_allclose(other.history_["cost"], model.history_["cost"], rtol=rtol)
    np.testing.assert_array_equal(other.history_["passes"], model.history_["passes"])
    np.testing.assert_allclose(other.factor_, model.factor_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("geometry", ["scaled", "flat", "polar"])
def test_a_dask_array_is_fitted_as_an_array(rng, geometry):
    X, y = regression(rng)
    settings = {"geometry": geometry, "tol": 1e-4, "random_state": 0}
    model = PSDRegressor(2, **settings).fit(X, y)
    blocked = PSDRegressor(2, **settings).fit(da.from_array(X, chunks=(800, 4)), da.from_array(y, chunks=500))
    assert_same_fit(model, blocked)
    assert blocked.blocks_.n_blocks == 4
    assert blocked.blocks_.share_inside == 1


def test_weights_senses_and_samples_of_weight_zero_are_split_with_the_rows(rng):
    X, y = regression(rng, 1000)
    weight, sense = rng.integers(0, 3, 1000).astype(float), rng.integers(-1, 2, 1000)
    settings = {"tol": 1e-3, "growing": False, "random_state": 0}
    model = PSDRegressor(2, **settings).fit(X, y, weight, sense)
    chunks = da.from_array(X, chunks=(300, 6))
    assert_same_fit(model, PSDRegressor(2, **settings).fit(chunks, y, da.from_array(weight, chunks=300), sense))


@pytest.mark.parametrize("kind", ["npy", "parquet", "frame", "sparse", "float32"])
def test_blocks_of_every_kind_are_read(rng, tmp_path, kind):
    X, y = regression(rng, 900, dtype=np.float32 if kind == "float32" else np.float64)
    parts, names = np.array_split(X, 3), [f"f{i}" for i in range(6)]
    frames = [pd.DataFrame(part, columns=names) for part in parts]
    if kind == "npy":
        data = [tmp_path / f"{i}.npy" for i in range(3)]
        for path, part in zip(data, parts, strict=True):
            np.save(path, part)
    elif kind == "parquet":
        data = [str(tmp_path / f"{i}.parquet") for i in range(3)]
        for path, frame in zip(data, frames, strict=True):
            frame.to_parquet(path)
    elif kind == "frame":
        data = dd.from_pandas(pd.concat(frames), npartitions=1, sort=False)
    elif kind == "sparse":
        data = [scipy.sparse.csr_array(part) for part in parts]
    else:
        data = da.from_array(X, chunks=(300, 6))
    settings = {"tol": 1e-3, "random_state": 0}
    own = pd.concat(frames) if kind in ("parquet", "frame") else scipy.sparse.csr_array(X) if kind == "sparse" else X
    model, blocked = PSDRegressor(2, **settings).fit(own, y), PSDRegressor(2, **settings).fit(data, y)
    assert_same_fit(model, blocked, rtol=1e-4 if kind == "float32" else 1e-10)
    assert blocked.factor_.dtype == X.dtype
    np.testing.assert_allclose(blocked.predict(data), blocked.predict(own), rtol=1e-4 if kind == "float32" else 1e-10)
    if kind in ("parquet", "frame"):
        assert list(blocked.feature_names_in_) == names


def test_further_settings_of_a_regression(rng):
    X, y = regression(rng, 400)
    settings = {"tol": 1e-3, "random_state": 0, "init": "pca", "certificate": True}
    model = PSDRegressor(1, **settings).fit(X, y)
    blocked = PSDRegressor(1, **settings).fit(da.from_array(X, chunks=(150, 6)), y)
    assert_same_fit(model, blocked)
    assert blocked.certificate_.gap == pytest.approx(model.certificate_.gap, rel=1e-6)


def test_subsets_too_large_for_the_driver_stay_on_workers(rng, monkeypatch):
    monkeypatch.setattr(blocked_features, "GATHERED", 10_000)
    X, y = regression(rng, 6000)
    settings = {"tol": 1e-3, "random_state": 0}
    model = PSDRegressor(2, **settings).fit(X, y)
    assert_same_fit(model, PSDRegressor(2, **settings).fit(da.from_array(X, chunks=(2000, 6)), y))


def distinct(rng, n, m, size):
    index = rng.integers(n, size=(m, size))
    return np.unique(index[[len(set(row)) == size for row in index.tolist()]], axis=0)


@pytest.mark.parametrize("kind", ["pairs", "signs", "triplets"])
def test_given_tuples_inside_and_across_blocks(rng, kind):
    X = rng.standard_normal((240, 5)) + 10
    D, settings = da.from_array(X, chunks=(100, 5)), {"tol": 1e-2, "random_state": 0}
    index = distinct(rng, 240, 700, 3 if kind == "triplets" else 2)
    models = []
    for data, tuples in ((X, index), (D, da.from_array(index, chunks=(300, -1)))):
        learner = MetricLearner(2, **settings)
        if kind == "triplets":
            models.append(learner.fit_triplets(data, tuples))
        elif kind == "signs":
            near = np.abs(X[index[:, 0], 0] - X[index[:, 1], 0]) < 1
            models.append(learner.fit_pairs(data, tuples, y=np.where(near, 1, -1)))
        else:
            target = (X[index[:, 0], 0] - X[index[:, 1], 0]) ** 2
            models.append(learner.fit_pairs(data, tuples, target=target))
    assert_same_fit(*models)
    report = models[1].blocks_
    assert report.n_inside + report.n_across == len(index)
    assert 0 < report.share_inside < 1
    assert report.n_copied <= 240
    assert not hasattr(models[0], "blocks_")
    if kind == "signs":
        assert models[1].threshold_ == pytest.approx(models[0].threshold_, rel=1e-8)


@pytest.mark.parametrize("constraints", ["pairs", "triplets", "neighbourhoods"])
def test_labels(rng, constraints):
    X = rng.standard_normal((200, 5))
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    settings = {"constraints": constraints, "n_rounds": 1, "tol": 2e-2, "random_state": 0}
    models = [MetricLearner(2, **settings).fit(data, y) for data in (X, da.from_array(X, chunks=(70, 5)))]
    assert_same_fit(*models)
    np.testing.assert_allclose(models[1].transform(da.from_array(X, chunks=50)), models[0].transform(X), atol=1e-8)


def test_what_is_blocked_and_what_is_not(rng):
    assert is_blocked(da.zeros((2, 2)))
    for X in (np.zeros((2, 2)), [[0.0, 1.0]], scipy.sparse.eye_array(2), "X.npy", [], ["a.txt"], None):
        assert not is_blocked(X)


def test_samples_come_in_any_order_and_repeatedly(rng, client):
    X = rng.standard_normal((50, 3))
    with open_blocks(da.from_array(X, chunks=(20, 3)), Dask(client)) as features:
        assert isinstance(features, BlockedFeatures)
        rows = np.array([40, 3, 3, 21, -1, 0])
        np.testing.assert_array_equal(features.take(rows).dense(), X[rows])
        np.testing.assert_array_equal(features.take(slice(10, 45, 7)).dense(), X[10:45:7])
        np.testing.assert_array_equal(features.dense(), X)
        S = rng.standard_normal((50, 2))
        np.testing.assert_allclose(features.pull(S), X.T @ S)
        np.testing.assert_allclose(features.centred().dense(), X - X.mean(axis=0), atol=1e-14)
        np.testing.assert_array_equal(features.extremes.sizes, np.abs(X).max(axis=0))


@pytest.mark.parametrize("step", ["greedy", "averaged"])
def test_a_subspace_follows_the_samples_where_they_are(rng, step):
    truth = np.linalg.qr(rng.standard_normal((12, 2)))[0]
    X = rng.standard_normal((900, 2)) @ truth.T
    X[rng.random(X.shape) < 0.2] = np.nan
    D = da.from_array(X, chunks=(250, 12))
    settings = {"step": step, "center": False, "n_epochs": 2, "random_state": 0}
    model = SubspaceTracker(2, **settings).fit(D)
    projector = model.components_.T @ model.components_
    np.testing.assert_allclose(projector, truth @ truth.T, atol=1e-6 if step == "greedy" else 0.05)
    assert model.n_samples_seen_ == 1800
    np.testing.assert_allclose(model.transform(D), model.transform(X), atol=1e-12)
    streams = [SubspaceTracker(2, **settings).partial_fit(data) for data in (X, D)]
    np.testing.assert_array_equal(streams[1].components_, streams[0].components_)
    with pytest.raises(ValueError, match=r"X\[:, 3\] has no observed entry"):
        SubspaceTracker(2).fit(da.from_array(np.where(np.arange(12) == 3, np.nan, X), chunks=(250, 12)))
