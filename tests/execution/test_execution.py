"""Executions: the same bits wherever the work is done, totals in order, one BLAS thread inside."""

import _thread
import os
import pickle
import threading
from time import sleep

import numpy as np
import pytest
import scipy.sparse
from joblib import Parallel, cpu_count, delayed, parallel_backend
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from gramian import (
    Block,
    KernelLearner,
    MetricLearner,
    Problem,
    PSDRegressor,
    SStressMDS,
    SubspaceTracker,
    Term,
    minimize,
)
from gramian.baselines import ITML, LEGO, LMNN, POLA, KernelSpectralRegression, LogDetKL
from gramian.execution import Serial, Threads, add_totals, resolve_execution, sum_totals
from gramian.execution import one_blas_thread as limit_blas
from gramian.execution.threads import LIMIT
from gramian.features import Array, Centred, Identity, Sparse
from gramian.geometries import Flat, Polar, Scaled
from gramian.measurements import Dense, Each, Pairs, Triplets
from gramian.penalties import Toward
from gramian.solvers import ConjugateGradient
from gramian.starts import discriminants, principal_directions
from gramian.supervision import nearest_triplets
from gramian.supervision.sampling import search_triplets

EXECUTIONS = [Serial(), Threads(1), Threads(2), Threads(3)]
executions = pytest.mark.parametrize("execution", EXECUTIONS, ids=repr)


@pytest.fixture(autouse=True)
def one_blas_thread():
    """Serial leaves threads to BLAS: its bits are those of one thread where BLAS has one."""
    with threadpool_limits(1, "blas"):
        yield


def blocks_of(kind, rng):
    """Blocks that are large enough to be worked on in several pieces."""
    X = rng.standard_normal((20000, 6))
    if kind == "each":
        return [Block(Array(X), [Term(Each(20000), rng.random(20000))])]
    if kind == "sparse":
        return [Block(Sparse(scipy.sparse.csr_array(X)), [Term(Each(20000), rng.random(20000))])]
    if kind == "dense":
        return [Block(Identity(6), [Term(Dense(rng.standard_normal((40000, 6, 6))), rng.random(40000))])]
    X, m = X[:5000], 70000
    if kind == "triplets":
        index = rng.integers(5000, size=(m, 3))
        near = Term(Pairs(index[:, :2]), np.zeros(m), sense=np.full(m, -1))
        terms = [Term(Triplets(index), np.ones(m), sense=np.full(m, 1)), near]
    else:
        terms = [Term(Pairs(rng.integers(5000, size=(m, 2))), rng.random(m), sense=rng.integers(-1, 2, m))]
    features = Centred(Array(X + 3), X.mean(axis=0) + 3) if kind == "centred" else Array(X)
    return [Block(features, terms), Block(Identity(6), [Toward(np.eye(6)[:, :2], 0.1)])]


KINDS = ["each", "sparse", "dense", "pairs", "triplets", "centred"]


@pytest.mark.parametrize("geometry", [Flat(), Scaled(), Polar(), Polar(0.5, "exp")], ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_every_execution_gives_the_same_bits(kind, geometry):
    found = []
    for execution in EXECUTIONS:
        rng = np.random.default_rng(0)
        problem = Problem(blocks_of(kind, rng), execution)
        evaluation = problem.evaluate(geometry.point(rng.standard_normal((6, 2))))
        tangent = evaluation.gradient
        result = minimize(problem, ConjugateGradient(), evaluation.point, max_iter=4, tol=0)
        numbers = (problem.value_at_zero, evaluation.value, evaluation.line(-tangent).guess, result.cost)
        operators = (evaluation.apply(evaluation.point.G), evaluation.gauss_newton(tangent))
        found.append([*numbers, *operators, tangent, result.point.G, result.history["passes"]])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_the_problems_above_are_worked_on_in_pieces(kind, rng):
    problem = Problem(blocks_of(kind, rng), Threads(2))
    assert len(problem.shards) > 1 or problem.shards[0].in_pieces


def test_starts_and_the_search_for_triplets_give_the_same_bits(rng):
    X, labels = rng.standard_normal((9000, 5)), rng.integers(3, size=9000)
    anchors = np.arange(0, 9000, 9)
    found = [
        (
            discriminants(Array(X), labels, 2, np.random.default_rng(0), execution),
            principal_directions(Array(X), 2, np.random.default_rng(0), execution),
            search_triplets(X, labels, 2, 3, anchors, execution),
        )
        for execution in EXECUTIONS
    ]
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


PAIRS = np.random.default_rng(0).integers(3000, size=(40_000, 2))
PAIRS = PAIRS[PAIRS[:, 0] != PAIRS[:, 1]]
FITS = {
    "regressor": (PSDRegressor(2, random_state=0), lambda m, X, y: m.fit(X, np.sum(X[:, :2] ** 2, axis=1)).factor_),
    "metric": (MetricLearner(2, random_state=0), lambda m, X, y: m.fit(X, y).factor_),
    "pairs": (
        MetricLearner(2, random_state=0),
        lambda m, X, y: m.fit_pairs(X, PAIRS, y=np.where(y[PAIRS[:, 0]] == y[PAIRS[:, 1]], 1, -1)).factor_,
    ),
    "few pairs": (
        MetricLearner(2, random_state=0, init="pairs"),
        lambda m, X, y: m.fit_pairs(X, PAIRS, y=np.where(y[PAIRS[:, 0]] == y[PAIRS[:, 1]], 1, -1)).factor_,
    ),
    "triplets": (
        MetricLearner(2, random_state=0),
        lambda m, X, y: m.fit_triplets(X[:600], nearest_triplets(X[:600], y[:600])).factor_,
    ),
    "targets": (MetricLearner(2, random_state=0), lambda m, X, y: m.fit_targets(X[:600], X[:600, 0]).factor_),
    "kernel": (KernelLearner(2, random_state=0, n_pairs=40000), lambda m, X, y: m.fit(X[:200], y[:200]).factor_),
    "map": (SStressMDS(2, metric="euclidean"), lambda m, X, y: m.fit(X[:300]).embedding_),
    "lmnn": (LMNN(2, max_iter=3), lambda m, X, y: m.fit(X[:300], y[:300]).components_),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_n_jobs_does_not_change_a_bit_of_a_fit(name, rng):
    y = rng.integers(3, size=3000)
    X = rng.standard_normal((3000, 6)) + y[:, None]
    model, fit = FITS[name]
    results = [fit(clone(model).set_params(n_jobs=jobs), X, y) for jobs in (None, 1, 2, Threads(3))]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def double(block, *, factor=2):
    return factor * block, block


def fail_on_three(block):
    if block == 3:
        raise ValueError("three")
    return None, block


def count_blas_threads(block):
    return None, sum(info["num_threads"] > 1 for info in threadpool_info() if info["user_api"] == "blas")


def divide_by_zero(block):
    return None, np.float64(1) / np.float64(block - block)


def name_thread(block):
    sleep(0.01)
    return threading.current_thread().name, 0


@executions
def test_work_stays_beside_its_block_and_totals_are_summed(execution):
    shards = execution.place(list(range(10)))
    kept, total = execution.run(double, shards, factor=3)
    assert (kept, total) == ([3 * k for k in range(10)], 45)
    assert execution.run(double, execution.place([7]))[1] == 7


@executions
def test_a_failure_reaches_the_caller(execution):
    with pytest.raises(ValueError, match="three"):
        execution.run(fail_on_three, execution.place(list(range(10))))


def test_no_thread_works_on_after_a_failure():
    done = []

    def fail_or_work(k):
        if k == 0:
            raise ValueError("first")
        sleep(0.05)
        done.append(k)

    with pytest.raises(ValueError, match="first"):
        Threads(2).share(fail_or_work, [(k,) for k in range(8)])
    before = list(done)
    sleep(0.2)
    assert done == before


def test_the_first_failure_is_raised_whichever_thread_met_it():
    def fail_slowly(k):
        if k in (2, 5):
            sleep(0.05 if k == 2 else 0)
            raise ValueError(f"item {k}")

    for _ in range(5):
        with pytest.raises(ValueError, match="item 2"):
            Threads(3).share(fail_slowly, [(k,) for k in range(8)])


def test_small_blocks_are_worked_on_beside_a_large_one_that_shares_its_pieces():
    execution, done = Threads(2), threading.Event()

    def work_on(block):
        if block == "small":
            done.set()
        else:
            assert execution.share(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]
            assert done.wait(10)
        return threading.current_thread() is threading.main_thread()

    assert execution.share(work_on, [("small",), ("large",)], here=[1]) == [False, True]


def test_small_blocks_beside_one_that_shares_nothing_come_after_it():
    execution, seen = Threads(2), []
    assert execution.share(seen.append, [("small",), ("large",)], here=[1]) == [None, None]
    assert seen == ["large", "small"]
    assert not execution.postponed.waiting


def test_several_blocks_beside_one_that_shares_nothing_are_shared_out_after_it():
    execution, both = Threads(2), threading.Barrier(2)

    def meet(block):
        if block == "small":
            both.wait(10)

    # Each of the small blocks waits for the other one.
    execution.share(meet, [("small",), ("large",), ("small",)], here=[1])


def test_nothing_stays_postponed_after_a_failure():
    def fail(block):
        raise KeyboardInterrupt if block == "large" else ValueError

    execution = Threads(2)
    with pytest.raises(KeyboardInterrupt):
        execution.share(fail, [("small",), ("large",)], here=[1])
    assert not execution.postponed.waiting
    assert execution.share(abs, [(-1,), (-2,)]) == [1, 2]


@executions
def test_floating_point_errors_are_treated_as_the_caller_asks(execution):
    with np.errstate(divide="ignore"):
        assert execution.run(divide_by_zero, execution.place([1.0] * 8))[1] == np.inf
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        execution.run(divide_by_zero, execution.place([1.0] * 8))


def test_threads_work_side_by_side_with_one_blas_thread_each():
    execution = Threads(2)
    with threadpool_limits(2, "blas"):
        assert execution.run(count_blas_threads, execution.place([0] * 8))[1] == 0
    names = execution.run(name_thread, execution.place([0] * 8))[0]
    assert {name.startswith("gramian") for name in names} == {True, False}  # the calling thread works too


def test_the_limit_of_blas_is_restored_by_the_last_who_leaves():
    with threadpool_limits(2, "blas"):
        with limit_blas():
            with limit_blas():
                assert count_blas_threads(0)[1] == 0
            assert count_blas_threads(0)[1] == 0
        assert count_blas_threads(0)[1] != 0


def test_totals_are_added_field_by_field_and_none_makes_none():
    assert add_totals((1, np.ones(2))[:1], (2,)) == (3,)
    assert sum_totals([1.5]) == 1.5
    parts = [(np.full(2, k), [k]) for k in (1.0, 2.0, 4.0)]
    total, names = sum_totals(parts)
    assert (total.tolist(), names) == ([7.0, 7.0], [1.0, 2.0, 4.0])
    assert [part.tolist() for part, _ in parts] == [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]  # none was added to in place
    assert sum_totals([1, None, 2]) is None
    assert add_totals((1, None), (2, 3)) == (3, None)


def test_threads_are_equal_by_number_and_can_be_pickled():
    execution = Threads(2)
    execution.run(double, execution.place([1, 2]))
    assert pickle.loads(pickle.dumps(execution)) == execution == Threads(2) != Threads(3)
    assert hash(execution) == hash(Threads(2))


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_bad_numbers_of_jobs_are_refused(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs=.* is not valid. Choose None, a number of threads, or an Execution"):
        resolve_execution(n_jobs)


def test_n_jobs_has_scikit_learn_s_meaning():
    with threadpool_limits(1, "blas"):
        assert isinstance(resolve_execution(None), Serial)
    assert resolve_execution(-1) == Threads(-1)
    execution = Serial()
    assert resolve_execution(execution) is execution
    with parallel_backend("threading", n_jobs=2):
        assert resolve_execution(None) == Threads(2)
        assert resolve_execution(1) == Threads(1)
    with parallel_backend("threading", n_jobs=1):
        assert isinstance(resolve_execution(None), Serial)


@pytest.mark.skipif(cpu_count() < 2, reason="one core has one thread")
def test_none_stands_for_the_threads_of_blas_and_for_one_in_threads_of_joblib():
    with threadpool_limits(2, "blas"):
        assert resolve_execution(None) == Threads(2)
        with limit_blas():
            assert resolve_execution(None) == Threads(2)
        inside = Parallel(2, backend="threading")(delayed(resolve_execution)(None) for _ in range(2))
        assert [repr(each) for each in inside] == ["Serial()"] * 2


DEFAULTS = {
    "metric": lambda X, y, c: MetricLearner(3, max_iter=5, random_state=0).fit(X, c),
    "regressor": lambda X, y, c: PSDRegressor(3, max_iter=5, random_state=0).fit(X, y),
    "kernel": lambda X, y, c: KernelLearner(3, max_iter=5, random_state=0).fit(X, c),
    "mds": lambda X, y, c: SStressMDS(3, metric="euclidean", max_iter=5, random_state=0).fit(X),
    "subspace": lambda X, y, c: SubspaceTracker(3, random_state=0).fit(X),
    "lmnn": lambda X, y, c: LMNN(3, max_iter=5, random_state=0).fit(X, c),
    "itml": lambda X, y, c: ITML(max_iter=3, random_state=0).fit(X, c),
    "pola": lambda X, y, c: POLA(random_state=0).fit(X, c),
    "lego": lambda X, y, c: LEGO(random_state=0).fit(X, c),
    "logdet kernel": lambda X, y, c: LogDetKL(3, random_state=0).fit(X, c),
    "spectral regression": lambda X, y, c: KernelSpectralRegression(3, random_state=0).fit(X, c),
}


LEARNED = ("factor_", "components_", "basis_", "embedding_")


@pytest.mark.parametrize("fit", DEFAULTS.values(), ids=DEFAULTS)
@pytest.mark.filterwarnings("ignore")
def test_the_threads_of_blas_change_no_bit_of_a_fit(fit, rng):
    X = rng.standard_normal((500, 150))
    y = np.sum(X[:, :2] ** 2, axis=1)
    found = []
    for count in (1, 2):
        with threadpool_limits(count, "blas"):
            fitted = vars(fit(X, y, y > 1.4))
            assert (count_blas_threads(0)[1] == 0) == (count == 1)  # the limit is restored
        found.append(next(fitted[name] for name in LEARNED if name in fitted))
    np.testing.assert_array_equal(*found)


def test_an_exit_in_another_thread_reaches_the_caller():
    def leave(k):
        sleep(0.02)
        if k == 3:
            raise SystemExit("item 3")

    with pytest.raises(SystemExit, match="item 3"):
        Threads(2).share(leave, [(k,) for k in range(4)])


def test_no_thread_works_on_after_an_interruption():
    ended = []

    def interrupt_or_work(k):
        if k == 0:
            threading.Timer(0.1, _thread.interrupt_main).start()
            return
        sleep(0.5)
        ended.append(k)

    with pytest.raises(KeyboardInterrupt):
        Threads(2).share(interrupt_or_work, [(0,), (1,)])
    assert ended == [1]  # the caller has waited for it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_is_forked_off_has_its_own_threads_and_limit():
    execution = Threads(2)
    execution.run(name_thread, execution.place([0] * 8))
    with limit_blas():
        child = os.fork()
        if child == 0:
            names = execution.run(name_thread, execution.place([0] * 8))[0]
            os._exit(len({name.startswith("gramian") for name in names}) + 4 * LIMIT._inside)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_fits_in_a_parallel_config_have_the_bits_of_threads(rng):
    X = rng.standard_normal((500, 8))
    y = np.sum(X[:, :2] ** 2, axis=1)
    with parallel_backend("threading", n_jobs=2):
        model = PSDRegressor(2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.factor_, PSDRegressor(2, random_state=0, n_jobs=2).fit(X, y).factor_)
