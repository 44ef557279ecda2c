"""A model of the time of an iteration on a Dask cluster, against measured runs; and what it says of large problems.

    T = a + b W + n c / (W g(W)) + traffic

a + b W is what the cluster costs for W workers, from iterations on blocks of ten samples. n c is the time of work on n
measurements with one worker, from one run. g(W) is the share of its speed that a worker keeps if W of them work on
one machine, from bare products. The traffic is that of arrays (d, r), a direction to all workers and a pull from each,
over a network; on one machine it is too small to be seen.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
import scipy.sparse

from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from benchmarks.scale import Task, Timing, local_cluster, time_iterations
from gramian.execution.held import FAN_IN
from gramian.features import Sparse
from gramian.measurements import Pairs
from harness.timing import limit_threads, print_heading

# Runs that the model is held against: measurements and workers. The first is the one it is fitted to.
SIZES, WORKERS = (1_000_000, 10_000_000, 100_000), (1, 2, 4)
# Iterations that are timed of each run, of those of more measurements than the first fewer.
TIMED, TIMED_LARGE = 6, 3
# The goal of the largest relative error.
ERROR = 0.25
# Arrays (d, r) that go to every worker in an iteration, and that come back: a direction, and the pull.
DOWN, UP = 1, 1
# The large problem: pairs, samples, entries of a sample, features, rank; and the network, in bytes a second.
PAIRS, SAMPLES, ENTRIES, FEATURES, RANK, NETWORK = 10**9, 10**8, 100, 10**6, 100, 1.25e9


class Model(NamedTuple):
    """The parts of the time of an iteration, in seconds, and the shares of speed by number of workers."""

    fixed: float
    per_worker: float
    per_measurement: float
    shares: dict[int, float]

    def overhead(self, n_workers: int) -> float:
        """Return the seconds of an iteration that the cluster takes."""
        return self.fixed + self.per_worker * n_workers

    def seconds(self, n: int, n_workers: int) -> float:
        """Return the seconds of an iteration on n measurements."""
        share = self.shares.get(n_workers, 1.0)
        return self.overhead(n_workers) + n * self.per_measurement / (n_workers * share)


def fit_overhead(n_blocks: int) -> tuple[float, float]:
    """Return the seconds of an iteration on tiny blocks: without workers, and for each worker."""
    seconds = []
    for count in WORKERS:
        with local_cluster(count) as client:
            seconds.append(time_iterations(client, Task(10 * n_blocks, 5, 2, n_blocks), 20).seconds)
    slope = max(float(np.polyfit(WORKERS, seconds, 1)[0]), 0.0)
    return max(float(np.mean(seconds)) - slope * float(np.mean(WORKERS)), 0.0), slope


def measure(task: Task, sizes: tuple[int, ...]) -> dict[tuple[int, int], Timing]:
    """Return the timings of all sizes and numbers of workers."""
    found = {}
    for count in WORKERS:
        with local_cluster(count) as client:
            for n in sizes:
                timed = TIMED if n <= sizes[0] else TIMED_LARGE
                found[n, count] = time_iterations(client, task._replace(n=n), timed)
    return found


def replay(task: Task, sizes: tuple[int, ...]) -> tuple[Model, float]:
    """Print measured and modelled seconds of all runs; return the model, and its largest relative error."""
    fixed, per_worker = fit_overhead(task.n_blocks)
    print(f"cluster: {1e3 * fixed:.1f} ms an iteration and {1e3 * per_worker:.2f} ms for each worker")
    timings, largest = measure(task, sizes), sizes[0]
    products = {count: timings[largest, count].products for count in WORKERS}
    shares = {count: products[1] / (count * products[count]) for count in WORKERS}
    work = max(timings[largest, 1].seconds - fixed - per_worker, 0.0)
    model = Model(fixed, per_worker, work / largest, shares)
    kept = ", ".join(f"{count} workers {share:.2f}" for count, share in shares.items())
    print(f"work: {1e9 * model.per_measurement:.0f} ns a measurement; shares of their speed that workers keep: {kept}")
    print(f"{'measurements':>14}{'workers':>9}{'measured':>12}{'model':>12}{'error':>9}")
    errors = []
    for (n, count), timing in timings.items():
        modelled = model.seconds(n, count)
        errors.append(abs(modelled / timing.seconds - 1))
        fitted = "  (fitted)" if (n, count) == (largest, 1) else ""
        print(f"{n:14d}{count:9d}{1e3 * timing.seconds:9.1f} ms{1e3 * modelled:9.1f} ms{errors[-1]:9.1%}{fitted}")
    print(f"largest error {max(errors):.1%}, median {np.median(errors):.1%}")
    return model, max(errors)


def seconds_a_column(n: int = 20_000, m: int = 200_000, d: int = 100_000, r: int = 50) -> tuple[float, float]:
    """Return the seconds of a stored entry and of a pair for each column of an image, of one iteration on one thread.

    An iteration has a product with X, one with its transpose, and three sums over pairs.
    """
    rng = np.random.default_rng(0)
    X = Sparse(scipy.sparse.random_array((n, d), density=ENTRIES / d, format="csr", dtype=np.float32, rng=rng))
    pairs, Z = Pairs(rng.integers(n, size=(m, 2))), np.ones((n, r), np.float32)
    B, weight = np.ones((d, r), np.float32), np.ones(m, np.float32)
    with limit_threads(1):
        for _ in range(2):
            begin = perf_counter()
            X.pull(X.image(B))
            middle = perf_counter()
            pairs.predict(Z), pairs.along(Z, Z), pairs.weigh(weight, Z)
            end = perf_counter()
    return (middle - begin) / (X.X.nnz * r), (end - middle) / (m * r)


def received(n_workers: int) -> int:
    """Return the number of arrays that the busiest processes receive, one after the other, for a sum over workers."""
    total = 0
    while n_workers > FAN_IN:
        total, n_workers = total + FAN_IN, -(-n_workers // FAN_IN)
    return total + n_workers


def extrapolate(model: Model, entry: float, pair: float) -> list[float]:
    """Print the parts of an iteration of the large problem for numbers of workers; return the seconds."""
    size = 4 * FEATURES * RANK
    work = RANK * (SAMPLES * ENTRIES * entry + PAIRS * pair)
    print(
        f"\n{PAIRS:.0e} pairs of {SAMPLES:.0e} samples, {ENTRIES} entries each, of {FEATURES:.0e} features; "
        f"rank {RANK}, float32\nwork of a worker {work:.0f} s an iteration; an array (d, r) {size / 1e9:.2f} GB; "
        f"network {8 * NETWORK / 1e9:.0f} Gbit/s"
    )
    print(f"{'workers':>8}{'work':>11}{'down':>11}{'up':>11}{'cluster':>11}{'iteration':>12}{'efficiency':>12}")
    totals = []
    for count in (1, 4, 16, 64, 256, 1024, 4096):
        # A copy to all workers goes along a tree of two branches; totals come back along one of eight.
        down, up = DOWN * size * np.ceil(np.log2(count + 1)) / NETWORK, UP * size * received(count) / NETWORK
        cluster = model.overhead(count)
        total = work / count + down + up + cluster
        totals.append(float(total))
        numbers = f"{work / count:9.1f} s{down:9.1f} s{up:9.1f} s{cluster:9.1f} s{total:10.1f} s"
        print(f"{count:8d}{numbers}{work / count / total:12.0%}")
    return totals


@run_quietly()
def main(task: Task = Task(d=50, n_blocks=4), sizes: tuple[int, ...] = SIZES) -> list[Row]:  # noqa: B008
    """Print the model beside measured runs, and what it says of a large problem; return the row of its error."""
    print_heading("A model of an iteration on a Dask cluster")
    model, error = replay(task, sizes)
    entry, pair = seconds_a_column()
    print(f"one thread: {1e9 * entry:.2f} ns an entry of X, {1e9 * pair:.2f} ns a pair, for each column of an image")
    extrapolate(model, entry, pair)
    beside = f"runs of {min(sizes)} to {max(sizes)} measurements, {', '.join(map(str, WORKERS))} workers"
    return [Row("largest relative error of the model", beside, error, ERROR, at_most=True)]


if __name__ == "__main__":
    main()
