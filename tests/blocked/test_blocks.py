"""Data in blocks on workers: the answers are those of the same data in memory."""

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gramian import KernelLearner, MetricLearner, MetricLearnerCV, PSDRegressor, SubspaceTracker, open_table
from gramian.blocked import BlockedFeatures, is_blocked, open_blocks
from gramian.blocked import features as blocked_features
from gramian.coordinates import Coordinates
from gramian.execution import Dask
from gramian.objective import Problem

da = pytest.importorskip("dask.array", reason="dask is not installed: pip install 'gramian[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'gramian[dask]'")
distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'gramian[dask]'")
pd = pytest.importorskip("pandas", reason="pandas is not installed")


pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
LISTS = pyarrow.schema([("v", pyarrow.list_(pyarrow.float64())), ("y", pyarrow.float64())])


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


KINDS = ["npy", "parquet", "frame", "sparse", "float32"]
NAMES = [f"f{i}" for i in range(6)]


def in_blocks(X, kind, folder):
    """Return samples (n, 6) in three blocks of a kind."""
    parts = np.array_split(X, 3)
    frames = [pd.DataFrame(part, columns=NAMES) for part in parts]
    if kind == "npy":
        data = [folder / f"{i}.npy" for i in range(3)]
        for path, part in zip(data, parts, strict=True):
            np.save(path, part)
    elif kind == "parquet":
        data = [str(folder / f"{i}.parquet") for i in range(3)]
        for path, frame in zip(data, frames, strict=True):
            frame.to_parquet(path)
    elif kind == "frame":
        data = dd.from_pandas(pd.concat(frames, ignore_index=True), npartitions=3, sort=False)
    elif kind == "sparse":
        data = [scipy.sparse.csr_array(part) for part in parts]
    else:
        data = da.from_array(X, chunks=(300, 6))
    return data


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_every_kind_are_read(rng, tmp_path, kind):
    X, y = regression(rng, 900, dtype=np.float32 if kind == "float32" else np.float64)
    data, frame = in_blocks(X, kind, tmp_path), pd.DataFrame(X, columns=NAMES)
    settings = {"tol": 1e-3, "random_state": 0}
    own = frame if kind in ("parquet", "frame") else scipy.sparse.csr_array(X) if kind == "sparse" else X
    model, blocked = PSDRegressor(2, **settings).fit(own, y), PSDRegressor(2, **settings).fit(data, y)
    assert_same_fit(model, blocked, rtol=1e-4 if kind == "float32" else 1e-10)
    assert blocked.factor_.dtype == X.dtype
    np.testing.assert_allclose(blocked.predict(data), blocked.predict(own), rtol=1e-4 if kind == "float32" else 1e-10)
    assert blocked.blocks_.n_blocks == 3
    if kind in ("parquet", "frame"):
        assert list(blocked.feature_names_in_) == NAMES


@pytest.mark.parametrize("single", [False, True], ids=["mixed", "float32"])
@pytest.mark.parametrize("form", ["frame", "parquet"])
def test_columns_of_several_types_become_numbers(rng, tmp_path, form, single):
    X = rng.standard_normal((60, 4)).round(1)
    kinds = ["Float32"] * 4 if single else ["float64", "Float64", "bool", "Int64"]
    X[:, 2:] = np.abs(X[:, 2:]) > 0.5
    frame = pd.DataFrame(
        {name: pd.array(column, dtype=kind) for name, column, kind in zip("abcd", X.T, kinds, strict=True)}
    )
    frame.loc[45, "b"] = pd.NA
    if form == "parquet" and not single:
        # Dask turns such a column into one of texts.
        frame["e"] = np.array([True, False] * 29 + [None, None])
        X = np.column_stack([X, [1, 0] * 29 + [np.nan] * 2])
    X[45, 1] = np.nan
    data = dd.from_pandas(frame, npartitions=2, sort=False)
    if form == "parquet":
        data = [str(tmp_path / f"{i}.parquet") for i in range(2)]
        for i, path in enumerate(data):
            frame.iloc[30 * i : 30 * i + 30].to_parquet(path)
    with open_blocks(data, allow_missing=True) as blocks:
        assert blocks.dtype == (np.float32 if single else np.float64)
        np.testing.assert_array_equal(blocks.dense(), X.astype(blocks.dtype))
    with pytest.raises(ValueError, match=r"row 15, column 1 is nan\. Fill or drop it"):
        PSDRegressor(1).fit(data, np.ones(60))


def test_a_column_without_numbers_is_named(rng):
    frame = pd.DataFrame({"a": rng.random(20), "b": 0, "c": rng.random(20)})
    texts = pd.Series(["x", "y"] * 10)
    for column in (texts, texts.astype("category"), pd.date_range("2020", periods=20), 1j * frame["a"]):
        data = dd.from_pandas(frame.assign(b=column), npartitions=2)
        with pytest.raises(ValueError, match=r"^block 0 of X: column 'b' is of type \w+.*; expected numbers"):
            PSDRegressor(1).fit(data, np.ones(20))


@pytest.mark.parametrize("kind", KINDS)
def test_distances_and_subspaces_of_blocks_of_every_kind(rng, tmp_path, kind):
    X = regression(rng, 900, dtype=np.float32 if kind == "float32" else np.float64)[0]
    X[:, :2] *= 5
    data, tolerance = in_blocks(X, kind, tmp_path), 2e-2 if kind == "float32" else 1e-6
    own = scipy.sparse.csr_array(X) if kind == "sparse" else X
    pairs, triplets = distinct(rng, 900, 400, 2), distinct(rng, 900, 400, 3)
    target, learner = (X[pairs[:, 0], 0] - X[pairs[:, 1], 0]) ** 2, MetricLearner(2, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, index, more in (("fit_pairs", pairs, {"target": target}), ("fit_triplets", triplets, {})):
            one, other = (getattr(clone(learner), name)(given, index, **more) for given in (own, data))
            assert other.blocks_.n_blocks == 3
            np.testing.assert_allclose(other.factor_, one.factor_, rtol=tolerance, atol=tolerance)
    # A stream visits the blocks in their order, and the samples of a block in an order of their own.
    tracker = SubspaceTracker(2, n_epochs=5, random_state=0).fit(data)
    frame = pd.DataFrame(X, columns=NAMES) if kind in ("parquet", "frame") else X
    expected = SubspaceTracker(2, n_epochs=5, random_state=0).fit(frame)
    angles = scipy.linalg.subspace_angles(tracker.components_.T, expected.components_.T)
    assert angles.max() < 0.3
    np.testing.assert_allclose(tracker.transform(data), tracker.transform(frame), rtol=1e-3, atol=1e-4)


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


def no_client(*arguments, **settings):
    raise ValueError("there is no client in the context")


def test_a_local_cluster_is_started_for_a_fit_and_closed_after_it(rng, monkeypatch):
    started = []
    own = distributed.Client

    def start(*arguments, **settings):
        started.append(own(*arguments, n_workers=1, processes=False, **settings))
        return started[-1]

    monkeypatch.setattr(distributed, "get_client", no_client)
    monkeypatch.setattr(distributed, "Client", start)
    X, y = regression(rng, 300)
    execution = Dask()
    model = PSDRegressor(2, tol=0.1, n_jobs=execution).fit(da.from_array(X, chunks=(150, 6)), y)
    assert model.blocks_.n_blocks == 2
    assert [client.status for client in started] == ["closed"]
    assert not execution.running


@pytest.fixture
def parquet_files(rng, tmp_path):
    X, y = regression(rng, 900)
    names, paths = [f"f{i}" for i in range(6)], [tmp_path / f"{i}.parquet" for i in range(3)]
    for i, path in enumerate(paths):
        rows = slice(300 * i, 300 * i + 300)
        frame = pd.DataFrame(X[rows], columns=names)
        frame.insert(2, "y", y[rows])
        frame.insert(0, "label", np.where(y[rows] > np.median(y), "far", "near"))
        frame.to_parquet(path)
    return X, y, names, paths


def test_tables_of_lists_are_blocks(rng, tmp_path):
    X = rng.standard_normal((30, 4))
    for i, rows in enumerate((slice(0), slice(10), slice(10, 30))):
        # Spark writes files without rows.
        frame = pd.DataFrame({"v": pd.Series(X[rows].tolist(), dtype=object), "y": np.ones(len(X[rows]))})
        frame.to_parquet(tmp_path / f"{i}.parquet", schema=LISTS)
    with open_blocks(open_table(tmp_path, "y")) as blocks:
        assert blocks.n_blocks == 2
        np.testing.assert_array_equal(blocks.dense(), X)


@pytest.mark.filterwarnings("ignore:not converged")
def test_tables_are_blocks_and_their_targets_can_be_named(parquet_files):
    X, y, names, paths = parquet_files
    settings = {"tol": 1e-4, "random_state": 0}
    model = PSDRegressor(2, **settings).fit(X, y)
    table = open_table(paths, "y", columns=names)
    assert is_blocked(table)
    for data, target in ((table, None), (open_table(paths, columns=names), "y"), (open_table(paths, columns=names), y)):
        other = PSDRegressor(2, **settings).fit(data, target)
        assert_same_fit(model, other)
        assert other.feature_names_in_.tolist() == names
        assert other.blocks_.n_blocks == 3
    np.testing.assert_allclose(other.predict(table), other.predict(pd.DataFrame(X, columns=names)))
    labels = np.where(y > np.median(y), "far", "near")
    settings = {"constraints": "triplets", "n_rounds": 1, "max_iter": 3, "random_state": 0}
    learner = MetricLearner(2, **settings).fit(X, labels)
    for data, target in (
        (open_table(paths, columns=names), "label"),
        (open_table(paths, "label", columns=names), None),
    ):
        np.testing.assert_allclose(MetricLearner(2, **settings).fit(data, target).factor_, learner.factor_, atol=1e-8)
    with pytest.raises(ValueError, match="y is given, but the table has the target 'y'"):
        PSDRegressor(2).fit(table, y)
    with pytest.raises(ValueError, match=r"0\.parquet has no column 'z'"):
        PSDRegressor(2).fit(paths, "z")


def test_a_list_of_parquet_files_has_its_target_named(rng, tmp_path):
    X, y = regression(rng, 400)
    paths = [tmp_path / f"{i}.parquet" for i in range(2)]
    for i, path in enumerate(paths):
        pd.DataFrame(X[200 * i : 200 * i + 200], columns=list("abcdef")).assign(
            y=y[200 * i : 200 * i + 200]
        ).to_parquet(path)
    settings = {"tol": 1e-4, "random_state": 0}
    assert_same_fit(PSDRegressor(2, **settings).fit(X, y), PSDRegressor(2, **settings).fit(paths, "y"))


def test_a_bad_value_of_a_table_is_named(rng, tmp_path):
    X = rng.standard_normal((40, 3))
    X[33, 1] = np.nan
    pd.DataFrame(X, columns=list("abc")).assign(y=1.0).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet: row 33, column 1 is nan"):
        PSDRegressor(1).fit(open_table(tmp_path / "a.parquet", "y"))


def test_what_blocks_cannot_do_is_refused(parquet_files):
    X, y, names, paths = parquet_files
    blocks, table = da.from_array(X, chunks=(300, 6)), open_table(paths, columns=names)
    with pytest.raises(ValueError, match=r"n_jobs=4 counts threads, but X is in blocks.*Set n_jobs=None"):
        PSDRegressor(2, n_jobs=4).fit(blocks, y)
    for data in (blocks, table):
        with pytest.raises(ValueError, match="fit_targets takes samples in memory, or a memory-mapped file"):
            MetricLearner(2).fit_targets(data, y)
    for model in (KernelLearner(2), MetricLearnerCV([1, 2])):
        with pytest.raises(ValueError, match=r"X is a table, which .* does not read here.*to_npy"):
            model.fit(table, y > 1)


def wide_blocks(rng, n=600, d=5000, present=40):
    """Return sparse samples few of whose features occur, and the indices of these."""
    indices = np.sort(rng.choice(d, present, replace=False))
    dense = rng.standard_normal((n, present)) * (rng.random((n, present)) < 0.3)
    places = scipy.sparse.csr_array((np.ones(present), (np.arange(present), indices)), (present, d))
    return scipy.sparse.csr_array(scipy.sparse.csr_array(dense) @ places), indices


@pytest.mark.filterwarnings("ignore:not converged")
def test_features_that_never_occur_are_left_out(rng, monkeypatch):
    X, indices = wide_blocks(rng)
    y, labels = X[:, indices[:2]].power(2).sum(axis=1) + 0.1, np.arange(600) % 2
    widths, evaluate = [], Problem.evaluate

    def note(problem, point):
        widths.append(problem.n_features)
        return evaluate(problem, point)

    monkeypatch.setattr(Problem, "evaluate", note)
    for model, target in (
        (PSDRegressor(2, max_iter=5, random_state=0), y),
        (MetricLearner(2, constraints="pairs", max_iter=3, random_state=0), labels),
    ):
        for data in (X, [X[:250], X[250:]]):
            widths.clear()
            found = clone(model).fit(data, target)
            assert found.factor_.shape == (5000, 2)
            assert set(np.flatnonzero(found.factor_.any(axis=1))) <= set(indices)
            assert max(widths) == len(indices)
    narrow = scipy.sparse.csr_array(X[:, indices])
    settings = {"growing": False, "tol": 1e-9, "random_state": 0}
    wide = PSDRegressor(2, **settings).fit(X, y)
    expected = PSDRegressor(2, **settings).fit(narrow, y)
    np.testing.assert_allclose(wide.predict(X), expected.predict(narrow), rtol=1e-4, atol=1e-4)
    # Columns of different sizes, and ranks beyond the features that occur.
    scaled = PSDRegressor(2, **settings).fit(scipy.sparse.csr_array(X * np.logspace(-3, 3, 5000)), y)
    np.testing.assert_allclose(scaled.history_["cost"][-1], wide.history_["cost"][-1], rtol=1e-3)
    assert PSDRegressor(50, max_iter=1, n_init=1, random_state=0).fit(X, y).factor_.shape == (5000, 50)


@pytest.mark.filterwarnings("ignore:not converged")
def test_features_that_occur_once_are_joined_alike_in_blocks_and_in_memory(rng, monkeypatch):
    monkeypatch.setattr("gramian.columns.FEWEST", 0)
    X, _ = wide_blocks(rng, n=200)
    alone = scipy.sparse.csr_array((np.ones(1000), np.arange(1000), np.arange(0, 1001, 5)), shape=(200, 1000))
    X, y = scipy.sparse.csr_array(scipy.sparse.hstack([X, alone])), np.arange(200) % 2
    settings = {"constraints": "triplets", "max_iter": 3, "random_state": 0}
    whole = Coordinates.of_distances(X, in_span=True)
    assert whole.features.shape[1] == 40 + 200
    with open_blocks([X[:90], X[90:]]) as features:
        parts = Coordinates.of_distances(features, in_span=True)
        np.testing.assert_allclose(
            parts.features.image(np.eye(240)), whole.features.image(np.eye(240)), atol=1e-12, rtol=1e-12
        )
        np.testing.assert_array_equal(parts.span.lift(np.eye(240)), whole.span.lift(np.eye(240)))
    assert_same_fit(MetricLearner(2, **settings).fit(X, y), MetricLearner(2, **settings).fit([X[:90], X[90:]], y))


def test_an_empty_file_is_named(tmp_path):
    (tmp_path / "a.npy").touch()
    with pytest.raises(ValueError, match=r"file .*a\.npy: No data left in file"):
        SubspaceTracker(1).fit([tmp_path / "a.npy"])
