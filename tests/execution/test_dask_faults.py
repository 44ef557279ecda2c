"""Faults on a cluster: a lost worker changes nothing in the answer, and bad blocks are named."""

import os
import signal
import time
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from gramian import MetricLearner, PSDRegressor
from gramian.blocked import open_blocks
from gramian.execution import Dask, waiting

da = pytest.importorskip("dask.array", reason="dask is not installed: pip install 'gramian[dask]'")
distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'gramian[dask]'")


@contextmanager
def time_limit(seconds):
    """Raise a TimeoutError in the block after a number of seconds."""

    def expire(number, frame):
        raise TimeoutError(f"nothing came back for {seconds} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class KillWorker:
    """A callback that kills a worker's process, without a word to anyone, after an iteration."""

    def __init__(self, client, iteration):
        self.client, self.iteration, self.killed = client, iteration, None

    def __call__(self, record):
        if record.iteration == self.iteration and self.killed is None:
            self.killed = next(iter(self.client.run(os.getpid).values()))
            os.kill(self.killed, signal.SIGKILL)


@pytest.mark.parametrize(("blocked", "iteration"), [(True, 3), (False, 0)], ids=["blocks", "array"])
def test_a_killed_worker_changes_nothing(rng, client, blocked, iteration):
    X = rng.standard_normal((2000, 5))
    y = np.sum(X[:, :2] ** 2, axis=1) + rng.random(2000)
    data = da.from_array(X, chunks=(600, 5)) if blocked else X
    settings = {"tol": 1e-10, "growing": False, "random_state": 0, "n_jobs": Dask(client)}
    model = PSDRegressor(2, **settings).fit(data, y)
    kill = KillWorker(client, iteration)
    with time_limit(200):
        other = PSDRegressor(2, callback=kill, **settings).fit(data, y)
    assert kill.killed is not None
    assert len(other.history_["cost"]) > iteration + 2
    np.testing.assert_array_equal(other.history_["cost"], model.history_["cost"])
    np.testing.assert_array_equal(other.factor_, model.factor_)
    client.wait_for_workers(2, timeout=60)


def test_a_killed_worker_changes_nothing_of_pairs_across_blocks(rng, client):
    X = rng.standard_normal((900, 5))
    pairs = rng.integers(900, size=(3000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    target = (X[pairs[:, 0], 0] - X[pairs[:, 1], 0]) ** 2
    data = da.from_array(X, chunks=(300, 5))
    settings = {"tol": 1e-10, "max_iter": 15, "random_state": 0, "n_jobs": Dask(client)}
    kill = KillWorker(client, 4)
    with warnings.catch_warnings(), time_limit(200):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MetricLearner(2, **settings).fit_pairs(data, pairs, target=target)
        other = MetricLearner(2, callback=kill, **settings).fit_pairs(data, pairs, target=target)
    assert kill.killed is not None
    assert other.blocks_.n_across > 1000
    assert len(other.history_["cost"]) > 6
    np.testing.assert_array_equal(other.history_["cost"], model.history_["cost"])
    np.testing.assert_array_equal(other.factor_, model.factor_)
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("join", [True, False], ids=["joined", "left out"])
def test_a_killed_worker_changes_nothing_of_fewer_columns(rng, client, join):
    # Each of 2500 samples has 60 features of its own, and one that all have: too many for one small argument.
    n, own, d = 2500, 60, 200_000
    indices = np.column_stack([np.arange(n * own).reshape(n, own), np.full(n, d - 1)]).ravel()
    entries = rng.standard_normal(len(indices)).astype(np.float32)
    X = scipy.sparse.csr_array((entries, indices, np.arange(0, len(indices) + 1, own + 1)), shape=(n, d))
    with open_blocks([X[:1000], X[1000:]], Dask(client)) as blocks:
        execution = blocks.execution
        before = execution.traffic.sent
        features = blocks.fewer_columns(join=join).features
        # Two bits for each feature, for each worker, and the numbers of the samples.
        assert execution.traffic.sent - before < 2 * d / 4 + 8 * n + 1000
        assert features.shape[1] == (n + 1 if join else n * own + 1)
        B = rng.standard_normal((features.shape[1], 1)).astype(features.dtype)
        expected = features.image(B)
        KillWorker(client, 0)(SimpleNamespace(iteration=0))
        with time_limit(100):
            np.testing.assert_array_equal(features.image(B), expected)
    client.wait_for_workers(2, timeout=60)


class StallWorkers(KillWorker):
    """A callback that kills a worker, and takes its threads from the other, which then begins no task."""

    def __call__(self, record):
        if record.iteration == self.iteration and self.killed is None:
            others = list(self.client.run(os.getpid))[1:]
            self.client.run(take_threads, workers=others)
            super().__call__(record)


def take_threads(dask_worker):
    dask_worker.state.nthreads = 0


@pytest.fixture
def impatient(monkeypatch):
    for name, seconds in (("SLICE", 0.5), ("QUIET", 3.0), ("GIVE_UP", 8.0)):
        monkeypatch.setattr(waiting, name, seconds)
    return monkeypatch


@pytest.mark.usefixtures("impatient")
def test_workers_that_do_nothing_after_a_loss_are_restarted(rng, client):
    X = rng.standard_normal((2000, 5))
    y = np.sum(X[:, :2] ** 2, axis=1) + rng.random(2000)
    data = da.from_array(X, chunks=(600, 5))
    settings = {"tol": 1e-10, "growing": False, "random_state": 0, "n_jobs": Dask(client)}
    model = PSDRegressor(2, **settings).fit(data, y)
    stall = StallWorkers(client, 3)
    with time_limit(150):
        other = PSDRegressor(2, callback=stall, **settings).fit(data, y)
    assert stall.killed is not None
    np.testing.assert_array_equal(other.factor_, model.factor_)
    client.wait_for_workers(2, timeout=60)


def test_a_fit_that_cannot_go_on_ends_and_keeps_its_state(rng, client, impatient, tmp_path):
    X = rng.standard_normal((2000, 5))
    y = np.sum(X[:, :2] ** 2, axis=1) + rng.random(2000)
    impatient.setattr(waiting, "restart_stuck", lambda client: None)
    settings = {"tol": 1e-10, "growing": False, "random_state": 0, "n_jobs": Dask(client)}
    model = PSDRegressor(2, **settings).fit(X, y)
    stalled = PSDRegressor(2, checkpoint=tmp_path / "state.npz", callback=StallAll(client, 3), **settings)
    with (
        time_limit(150),
        pytest.raises(RuntimeError, match=r"workers were lost .*, and the others have executed nothing") as caught,
    ):
        stalled.fit(X, y)
    assert "state.npz': call fit again" in caught.value.__notes__[0]
    client.restart(timeout=60)
    np.testing.assert_allclose(stalled.set_params(callback=None).fit(X, y).factor_, model.factor_, rtol=1e-8)


class StallAll(StallWorkers):
    """A callback that also takes the threads of the worker that comes for the one that was killed."""

    def __call__(self, record):
        first, before = self.killed is None, waiting.find_workers(self.client)
        super().__call__(record)
        if first and self.killed is not None:
            while len(waiting.find_workers(self.client) - before) < 1:
                time.sleep(0.1)
            self.client.run(take_threads)


def fit(data, n=30):
    return PSDRegressor(1, n_init=1, tol=0.5, n_jobs=Dask()).fit(data, np.ones(n))


@pytest.fixture(autouse=True)
def context(client):
    with client.as_current():
        yield client


def test_a_bad_value_is_named_by_file_and_row(rng, tmp_path):
    files = [tmp_path / f"{i}.npy" for i in range(3)]
    for i, path in enumerate(files):
        X = rng.standard_normal((10, 3))
        X[7, 1] = np.nan if i == 2 else X[7, 1]
        np.save(path, X)
    with pytest.raises(ValueError, match=r"file .*2\.npy: row 7, column 1 is nan\. Fill or drop it"):
        fit(files)
    sparse = [scipy.sparse.csr_array(np.eye(10, 3)) for _ in range(3)]
    sparse[1].data[2] = np.inf
    with pytest.raises(ValueError, match=r"block 1 of X: row 2, column 2 is inf"):
        fit(sparse)
    with pytest.raises(ValueError, match=r"file .*missing\.npy: .*No such file"):
        fit([files[0], tmp_path / "missing.npy"])


def test_blocks_that_are_unlike_are_named(rng, tmp_path):
    wide, single, text = (tmp_path / f"{name}.npy" for name in ("wide", "single", "text"))
    np.save(tmp_path / "first.npy", rng.standard_normal((10, 3)))
    np.save(wide, rng.standard_normal((10, 4)))
    np.save(single, rng.standard_normal((10, 3)).astype(np.float32))
    np.save(text, np.full((10, 3), "a"))
    for path, words in (
        (wide, r"wide\.npy has 4 features, but file .*first\.npy has 3"),
        (single, r"single\.npy is float32, but file .*first\.npy is float64; convert one of them"),
        (text, r"text\.npy: it has dtype <U1; expected real numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            fit([tmp_path / "first.npy", path], 20)
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    for name, columns in (("a", ["u", "v"]), ("b", ["v", "u"])):
        pd.DataFrame(rng.standard_normal((10, 2)), columns=columns).to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet has other column names than"):
        fit([str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")], 20)


def test_lengths_shapes_and_empty_blocks(rng):
    X = da.from_array(rng.standard_normal((30, 3)), chunks=(10, 3))
    with pytest.raises(ValueError, match="y has 29 entries, but the blocks of X have 30 samples"):
        fit(X, 29)
    with pytest.raises(ValueError, match=r"X is a dask array of shape \(30,\)"):
        fit(X[:, 0])
    with pytest.raises(ValueError, match="all of its blocks are empty"):
        fit([scipy.sparse.csr_array((0, 3))])
    model = fit(X, 30)
    with pytest.raises(ValueError, match="X has 2 features, but PSDRegressor is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="every entry of X is 0"):
        fit(da.zeros((30, 3), chunks=(10, 3)))


def test_streams_over_blocks_are_refused(rng):
    X = da.from_array(rng.standard_normal((30, 3)), chunks=(10, 3))
    with pytest.raises(ValueError, match="X is in blocks on workers, but solver='online' reads single samples"):
        PSDRegressor(1, solver="online").fit(X, np.ones(30))
    with pytest.raises(ValueError, match=r"partial_fit takes one block at a time, in memory\. Call fit"):
        MetricLearner(1).partial_fit(X, np.arange(30) % 2)
