"""Dask: the same histories as in one process, totals in order, small messages, one BLAS thread on workers."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from gramian import Block, MetricLearner, Problem, PSDRegressor, Term, minimize
from gramian.execution import Dask, Serial, Threads
from gramian.execution.held import Held, Placed, add_nodes, merge_totals
from gramian.features import Array, Identity, Sparse
from gramian.geometries import Flat, Polar, Scaled
from gramian.measurements import Each, Pairs, Triplets
from gramian.objective import Neighbourhoods
from gramian.penalties import Toward
from gramian.solvers import ConjugateGradient


@pytest.fixture
def execution(client):
    return Dask(client)


def add_index(block, *, factor):
    return factor * block, (block, [block], 0.1 * block)


def add_held(block, held):
    return None, block + held


def blas_threads(block):
    counts = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return None, max(counts, default=1)


def divide_by_zero(block):
    return None, float(np.ones(1)[0] / np.zeros(1)[0])


def fail(block):
    raise np.linalg.LinAlgError(f"block {block}")


def largest_of(block, *, frame):
    return None, float(frame.max())


def test_totals_are_summed_in_order_and_what_is_kept_stays(execution):
    blocks = list(range(40))
    (shards, placed) = (Serial().place(blocks), execution.place(blocks))
    expected, total = Serial().run(add_index, shards, factor=3)
    kept, found = execution.run(add_index, placed, factor=3)
    assert found[:2] == total[:2]
    assert found[2] == pytest.approx(total[2], rel=1e-15)
    assert execution.run(add_held, placed, kept)[1] == sum(blocks) + sum(expected)


def test_numbers_of_workers_change_no_bit(client, rng):
    blocks = list(rng.standard_normal((40, 5)))
    one = Dask(client)
    one.spread = lambda count: [sorted(client.scheduler_info()["workers"])[0]] * count
    totals = [each.run(add_index, each.place(blocks), factor=1.0)[1][2] for each in (Dask(client), one)]
    np.testing.assert_array_equal(*totals)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 150])
def test_sums_have_the_same_bits_whoever_adds(rng, count):
    totals = {(0, i): value for i, value in enumerate(rng.standard_normal(count))}
    (at_once,) = add_nodes(totals, count).values()
    assert at_once == pytest.approx(sum(totals.values()))
    for n_parts in (2, 5):
        parts = np.array_split(rng.permutation(count), n_parts)
        held = [Held([], add_nodes({(0, i): totals[0, i] for i in part}, count)) for part in parts]
        (in_parts,) = merge_totals(count, [merge_totals(count, held[:2]), *held[2:]]).totals.values()
        assert in_parts == at_once


def test_many_shards_are_added_on_workers(client, monkeypatch, rng):
    blocks, execution = list(rng.standard_normal((16, 5))), Dask(client)
    bundled = execution.run(add_index, execution.place(blocks), factor=1.0)[1][2]
    monkeypatch.setattr(Dask, "bundle", lambda self, futures, workers: Placed(futures, workers))
    placed = execution.place(blocks)
    assert len(placed.futures) == 16
    np.testing.assert_array_equal(execution.run(add_index, placed, factor=1.0)[1][2], bundled)


def test_workers_have_one_blas_thread_and_the_drivers_errors(execution):
    shards = execution.place([0, 1])
    assert execution.run(blas_threads, shards)[1] == 2
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        execution.run(divide_by_zero, shards)
    with np.errstate(divide="ignore"):
        assert execution.run(divide_by_zero, shards)[1] == np.inf
    with pytest.raises(np.linalg.LinAlgError, match=r"block [01]"):
        execution.run(fail, shards)


@pytest.mark.parametrize("size", [10, 10_000, 300_000], ids=["in each task", "in one task", "copied"])
def test_small_arguments_of_every_size_arrive(execution, size):
    shards, before = execution.place([0, 1]), execution.traffic.sent
    assert execution.run(largest_of, shards, frame=np.arange(float(size)))[1] == 2 * (size - 1)
    assert execution.traffic.sent - before == 2 * 8 * size


def problem_of(kind, execution):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((20000, 6)) if kind in ("each", "sparse") else rng.standard_normal((600, 6))
    n, m = len(X), 3000
    if kind in ("each", "sparse"):
        features = Array(X) if kind == "each" else Sparse(scipy.sparse.csr_array(X))
        truth = rng.standard_normal((6, 2))
        return Problem([Block(features, [Term(Each(n), np.sum((X @ truth) ** 2, axis=1) + rng.random(n))])], execution)
    penalty = Block(Identity(6), [Toward(np.eye(6)[:, :2], 0.1)])
    if kind == "pairs":
        term = Term(Pairs(rng.integers(n, size=(m, 2))), rng.random(m), sense=rng.integers(-1, 2, m))
    elif kind == "triplets":
        term = Term(Triplets(rng.integers(n, size=(m, 3))), np.ones(m), sense=np.full(m, 1))
    else:
        term = Neighbourhoods((X[:, 0] > 0).astype(int))
    return Problem([Block(Array(X), [term]), penalty], execution)


@pytest.mark.parametrize("geometry", [Flat(), Scaled(), Polar()], ids=repr)
@pytest.mark.parametrize("kind", ["each", "sparse", "pairs", "triplets", "neighbourhoods"])
def test_histories_are_those_of_one_process(kind, geometry, client):
    start = geometry.point(np.random.default_rng(0).standard_normal((6, 2)))
    costs = []
    for execution in (Serial(), Threads(2), Dask(client)):
        result = minimize(problem_of(kind, execution), ConjugateGradient(), start, max_iter=3, tol=0)
        costs.append(result.history["cost"])
    assert len(costs[0]) == 4
    np.testing.assert_allclose(costs[1], costs[0], rtol=1e-10)
    np.testing.assert_allclose(costs[2], costs[0], rtol=1e-10)


def test_estimators_take_it_by_n_jobs(client, rng):
    X = rng.standard_normal((300, 5))
    y = np.sum(X[:, :2] ** 2, axis=1)
    serial = PSDRegressor(2, random_state=0).fit(X, y)
    model = PSDRegressor(2, random_state=0, n_jobs=Dask(client))
    other = clone(model).fit(X, y)
    assert other.n_jobs is model.n_jobs
    np.testing.assert_allclose(other.matrix(), serial.matrix(), atol=1e-8)
    assert repr(pickle.loads(pickle.dumps(other)).n_jobs) == "Dask()"
    labels = (X[:, 0] > 0).astype(int)
    settings = {"constraints": "neighbourhoods", "random_state": 0, "max_iter": 3}
    costs = []
    for n_jobs in (None, Dask(client)):
        with pytest.warns(ConvergenceWarning, match="max_iter=3 reached"):
            learner = MetricLearner(2, n_jobs=n_jobs, **settings).fit(X[:100], labels[:100])
        costs.append(learner.history_["cost"])
    np.testing.assert_allclose(*costs, rtol=1e-10)


def test_the_client_of_the_context_is_used(client):
    with client.as_current(), Dask() as execution:
        assert execution.client is client
        assert execution.run(largest_of, execution.place([0]), frame=np.ones(2))[1] == 1


def test_bytes_of_an_iteration_do_not_depend_on_the_samples(client):
    bytes_sent = {}
    for n in (4000, 16000):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 8))
        execution = Dask(client)
        blocks = [Block(Array(part), [Term(Each(len(part)), part[:, 0] ** 2)]) for part in np.array_split(X, 4)]
        problem = Problem(blocks, execution)
        start = Scaled().point(rng.standard_normal((8, 2)))
        problem.evaluate(start)
        before = execution.traffic.sent + execution.traffic.received
        result = minimize(problem, ConjugateGradient(), start, max_iter=4, tol=0)
        bytes_sent[n] = (execution.traffic.sent + execution.traffic.received - before) / result.n_iter
    print(f"bytes an iteration, by samples: {bytes_sent}")  # noqa: T201
    assert bytes_sent[4000] == bytes_sent[16000] < 20_000


class TrafficClock:
    """A callback that notes the bytes so far after every iteration."""

    def __init__(self, execution):
        self.execution, self.notes = execution, []

    def __call__(self, record):
        self.notes.append(self.execution.traffic.sent + self.execution.traffic.received)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_bytes_of_an_iteration_do_not_depend_on_the_constraints(kind, client):
    da = pytest.importorskip("dask.array")
    found = {}
    for n in (400, 1600):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 6))
        execution = Dask(client)
        clock = TrafficClock(execution)
        learner = MetricLearner(2, n_jobs=execution, max_iter=5, tol=0.0, random_state=0, callback=clock)
        blocks = da.from_array(X, chunks=(n // 4, 6))
        # Three different samples in each.
        tuples = (rng.integers(n, size=(2 * n, 1)) + np.array([0, n // 3, n // 2])) % n
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "pairs":
                near = np.abs(X[tuples[:, 0], 0] - X[tuples[:, 1], 0]) < 1
                learner.fit_pairs(blocks, tuples[:, :2], np.where(near, 1, -1))
            else:
                learner.fit_triplets(blocks, tuples)
        steps = np.diff(clock.notes)
        assert len(steps) >= 3
        found[n] = float(np.median(steps))
    # The numbers of a line search are a few bytes for each of its trials.
    assert abs(found[1600] - found[400]) < 200
    assert found[400] < 2_000
