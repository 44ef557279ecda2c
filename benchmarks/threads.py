"""Whole fits with one and with two threads, in turns.

Two limits are timed beside them. The bare products of the same data, each thread on its rows; and products of small
matrices in two processes that share nothing, which says how much the machine gives for two of its cores at all. Two
cores that are threads of one physical core give about 1.0 for work that is bound by arithmetic, and 1.7 or more for
work that waits for memory.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import load_split
from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner, PSDRegressor
from gramian.datasets import DatasetNotFound
from gramian.supervision import labelled_pairs
from harness.timing import median_seconds, print_heading

GOAL = 1.7


def make_regression(n: int = 400_000, d: int = 50, r: int = 10) -> tuple[Callable[[int], Any], np.ndarray, int]:
    """Return the fit of a regression for a number of threads, its samples and its rank."""
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((n, d)), rng.standard_normal((d, r))
    y = np.sum((X @ truth) ** 2, axis=1) + rng.standard_normal(n)
    return lambda jobs: PSDRegressor(r, n_jobs=jobs, random_state=0).fit(X, y), X, r


def make_mnist(rank: int = 32) -> tuple[Callable[[int], Any], np.ndarray, int]:
    """Return the fit of a metric from the labels of MNIST for a number of threads, its samples and its rank."""
    data = load_split("mnist", np.float32)
    if data is None:
        raise DatasetNotFound("mnist is not stored")
    X, labels = data[0] / 255, data[2]
    settings = {"constraints": "triplets", "random_state": 0}
    return lambda jobs: MetricLearner(rank, n_jobs=jobs, **settings).fit(X, labels), X, rank


def make_pairs(rank: int = 50, m: int = 100_000) -> tuple[Callable[[int], Any], np.ndarray, int]:
    """Return the fit of a metric from pairs of Isolet for a number of threads, its samples and its rank."""
    data = load_split("isolet")
    if data is None:
        raise DatasetNotFound("isolet is not stored")
    X, labels = data[0], data[2]
    pairs, same = labelled_pairs(labels, m, balanced=True, random_state=0)
    y = np.where(same, 1, -1)
    return lambda jobs: MetricLearner(rank, n_jobs=jobs, random_state=0).fit_pairs(X, pairs, y=y), X, rank


def multiply(X: np.ndarray, rank: int, threads: int) -> None:
    """Compute X B and Xᵀ S, each thread on its share of the rows."""
    B, S = np.ones((X.shape[1], rank), X.dtype), np.ones((len(X), rank), X.dtype)
    edges = np.linspace(0, len(X), threads + 1).astype(int)
    cuts = [slice(start, stop) for start, stop in pairwise(edges)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(np.dot, [X[cut] for cut in cuts], [B] * threads))
        list(pool.map(np.dot, [S[cut].T for cut in cuts], [X[cut] for cut in cuts]))


def multiply_small(results: Any, repeats: int = 150, size: int = 512) -> None:
    """Put the products per second of a matrix (size, size) with another into a queue."""
    A = np.ones((size, size))
    with threadpool_limits(1):
        np.dot(A, A)
        begin = perf_counter()
        for _ in range(repeats):
            np.dot(A, A)
    results.put(repeats / (perf_counter() - begin))


def machine_gain(repeats: int = 5) -> float:
    """Return the rate of products of two processes over that of one, the median of some turns."""
    context = get_context("spawn")
    gains = []
    for _ in range(repeats):
        rates = []
        for count in (1, 2):
            results = context.Queue()
            processes = [context.Process(target=multiply_small, args=(results,)) for _ in range(count)]
            for process in processes:
                process.start()
            rates.append(sum(results.get() for _ in processes))
            for process in processes:
                process.join()
        gains.append(rates[1] / rates[0])
    return float(np.median(gains))


def compare(task: str, make: Callable[[], tuple[Callable[[int], Any], np.ndarray, int]], repeats: int) -> Row | None:
    """Print the seconds with one and two threads of a fit and of bare products, and return the row of the fit."""
    try:
        fit, X, rank = make()
    except DatasetNotFound as error:
        print(f"{task}: left out, {error}")
        return None
    fits = median_seconds({str(jobs): partial(fit, jobs) for jobs in (1, 2)}, repeats)
    bare = median_seconds({str(jobs): partial(multiply, X, rank, jobs) for jobs in (1, 2)}, 9)
    ratio, limit = fits["1"] / fits["2"], bare["1"] / bare["2"]
    print(f"{task:44}{fits['1']:8.2f} s{fits['2']:8.2f} s{ratio:8.2f}   bare products{limit:8.2f}")
    detail = f"{fits['1']:.3g} s against {fits['2']:.3g} s; bare products {limit:.2f}"
    return Row(task, "ours with one thread", ratio, GOAL, detail=detail)


@run_quietly()
def main() -> list[Row]:
    """Print the table, and return its rows."""
    print_heading("Whole fits with one and two threads, one BLAS thread in each")
    print(f"{'':44}{'one':>10}{'two':>10}{'ratio':>8}")
    print(f"{'products in two processes that share nothing':64}{machine_gain():8.2f}")
    rows = [
        compare("regression, n=400000 d=50 r=10", make_regression, 15),
        compare("metric from 100000 pairs, 6238 x 617, rank 50", make_pairs, 7),
        compare("metric from labels, MNIST, rank 32, float32", make_mnist, 3),
    ]
    return [row for row in rows if row is not None]


if __name__ == "__main__":
    main()
