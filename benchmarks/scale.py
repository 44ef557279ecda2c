"""A regression on the workers of a local Dask cluster: one worker of one thread against two, in turns.

The samples are made on the workers and never leave them. Beside the ratio stand the bare products of the same blocks in
one and in two workers, which is all that this machine gives; the bytes that an iteration sends and receives; and the
milliseconds of an iteration on blocks of ten samples, which is what the cluster costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner, PSDRegressor
from gramian.blocked import open_blocks
from gramian.execution import Dask, Threads
from harness.timing import print_heading

# The goals: of the ratio, of the bytes an iteration, and of the milliseconds an iteration on tiny blocks.
RATIO, BYTES, OVERHEAD = 1.7, 1e6, 100.0
# Iterations that are timed, after the first two.
ITERATIONS = 6
# Histories of costs agree to this.
AGREEMENT = 1e-10


class Task(NamedTuple):
    """A regression: samples, features, rank, and the number of blocks."""

    n: int = 4_000_000
    d: int = 200
    r: int = 10
    n_blocks: int = 8

    @property
    def length(self) -> int:
        """The samples of a block."""
        return self.n // self.n_blocks


class Timing(NamedTuple):
    """The median seconds of an iteration, the bytes it sends and receives, its calls, and seconds of bare products."""

    seconds: float
    n_bytes: float
    calls: float
    products: float


@contextmanager
def local_cluster(n_workers: int) -> Iterator[Any]:
    """Yield the client of a cluster of a number of processes of one thread, without a limit of memory."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "memory_limit": None, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
        yield client


def make_samples(seed: int, n: int, d: int) -> np.ndarray:
    """Return normal samples (n, d) of float32."""
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)


def make_targets(X: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the targets (n,) of samples, with noise."""
    return np.sum((X @ truth) ** 2, axis=1) + np.random.default_rng(len(X)).standard_normal(len(X), dtype=np.float32)


def make_blocks(task: Task) -> tuple[list[Any], np.ndarray]:
    """Return blocks of samples that workers make, and the targets (n,), which they send."""
    import dask

    truth = np.random.default_rng(0).standard_normal((task.d, task.r)).astype(np.float32)
    blocks = [dask.delayed(make_samples)(i, task.length, task.d) for i in range(task.n_blocks)]
    targets = dask.compute(*[dask.delayed(make_targets)(block, truth) for block in blocks])
    return blocks, np.concatenate(targets)


def multiply_block(features: Any, *, B: np.ndarray, repeats: int) -> tuple[None, float]:
    """Compute X B and Xᵀ (X B) of a block so often; sum the number of products."""
    for _ in range(repeats):
        features.pull(features.image(B))
    return None, 2.0 * repeats


class Clock:
    """A callback that notes time and traffic after every iteration."""

    def __init__(self, execution: Dask) -> None:
        self.execution = execution
        self.notes: list[tuple[float, int, int]] = []

    def __call__(self, record: Any) -> None:
        """Note the time, the bytes and the calls so far."""
        traffic = self.execution.traffic
        self.notes.append((record.time, traffic.sent + traffic.received, traffic.calls))


def time_iterations(client: Any, task: Task, iterations: int = ITERATIONS) -> Timing:
    """Return what an iteration of a regression takes on a cluster."""
    from time import perf_counter

    execution = Dask(client)
    clock = Clock(execution)
    start = np.random.default_rng(1).standard_normal((task.d, task.r)).astype(np.float32)
    settings = {"init": start, "n_init": 1, "growing": False, "max_iter": iterations + 2, "tol": 0.0}
    blocks, y = make_blocks(task)
    PSDRegressor(task.r, n_jobs=execution, callback=clock, **settings).fit(blocks, y)
    seconds, n_bytes, calls = np.median(np.diff(np.array(clock.notes), axis=0)[2:], axis=0)
    with open_blocks(blocks, execution) as X:
        execution.run(multiply_block, X.shards, B=start, repeats=1)
        begin = perf_counter()
        execution.run(multiply_block, X.shards, B=start, repeats=3)
        products = (perf_counter() - begin) / 3
    return Timing(float(seconds), float(n_bytes), float(calls), products)


def compare(task: Task, repeats: int = 3) -> dict[int, Timing]:
    """Return the timings of one and of two workers, medians of a number of turns."""
    found: dict[int, list[Timing]] = {1: [], 2: []}
    for _ in range(repeats):
        for count, timings in found.items():
            with local_cluster(count) as client:
                timings.append(time_iterations(client, task))
    return {count: Timing(*np.median(np.array(timings), axis=0)) for count, timings in found.items()}


def fit_kinds(geometry: str, n_jobs: Any, n: int = 36_000, d: int = 8) -> dict[str, np.ndarray]:
    """Return the histories of costs of fits from rank-one measurements, pairs, triplets and neighbourhoods.

    Workers of Dask have the samples in blocks, so that most pairs and triplets are across blocks.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    X = rng.standard_normal((n, d)) + 2 * rng.standard_normal((3, d))[y]
    pairs, triplets = rng.permutation(n).reshape(-1, 2), rng.permutation(n).reshape(-1, 3)
    target, given = np.sum((X[pairs[:, 0], :2] - X[pairs[:, 1], :2]) ** 2, axis=1), np.sum(X[:, :2] ** 2, axis=1)
    samples: Any = X
    if isinstance(n_jobs, Dask):
        import dask.array

        samples = dask.array.from_array(X, chunks=(n // 4, d))
    own = {"geometry": geometry, "n_jobs": n_jobs, "max_iter": 8, "random_state": 0}
    fits = {
        "rank one": PSDRegressor(2, growing=False, n_init=1, **own).fit(samples, given + rng.random(n)),
        "pairs": MetricLearner(2, **own).fit_pairs(samples, pairs, target=target),
        "triplets": MetricLearner(2, **own).fit_triplets(samples, triplets),
        "neighbourhoods": MetricLearner(2, constraints="neighbourhoods", **own).fit(samples, y),
    }
    return {kind: model.history_["cost"] for kind, model in fits.items()}


def compare_histories() -> Row:
    """Print the largest relative differences of costs between executions; return the row of the largest."""
    print_heading("Costs of all iterations: serial, two threads, two workers of Dask")
    largest = 0.0
    with local_cluster(2) as client:
        for geometry in ("flat", "scaled", "polar"):
            serial = fit_kinds(geometry, None)
            execution = Dask(client)
            for name, n_jobs in (("threads", Threads(2)), ("Dask", execution)):
                found = fit_kinds(geometry, n_jobs)
                worst = {kind: relative_difference(found[kind], serial[kind]) for kind in serial}
                largest = max(largest, *worst.values())
                print(f"{geometry:8}{name:9}" + ", ".join(f"{kind} {value:.1e}" for kind, value in worst.items()))
            print(f"{geometry:8}{execution.traffic.calls} calls of the cluster")
    task = "costs of all iterations: rank one, pairs, triplets, neighbourhoods; flat, scaled, polar"
    return Row(task, "serial against threads and Dask", largest, AGREEMENT, at_most=True)


def relative_difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest relative difference of two histories; infinite if they have different lengths."""
    return float(np.max(np.abs(found / expected - 1))) if len(found) == len(expected) else float("inf")


def compare_traffic(task: Task) -> Row:
    """Return the row of the bytes of an iteration on four times as many samples."""
    with local_cluster(2) as client:
        few, many = (time_iterations(client, task._replace(n=n), 3).n_bytes for n in (task.n // 16, task.n // 4))
    print(f"bytes an iteration: {few:.0f} for {task.n // 16} samples, {many:.0f} for {task.n // 4}")
    detail = f"{many:.0f} against {few:.0f} bytes"
    beside = f"n={task.n // 4} against n={task.n // 16}"
    return Row("bytes an iteration do not grow with n", beside, many / few, 1.01, at_most=True, detail=detail)


@run_quietly()
def main(task: Task = Task(), repeats: int = 3) -> list[Row]:  # noqa: B008
    """Print what one and two workers take, and return the rows."""
    print_heading("A regression on one and on two workers of a local Dask cluster")
    n, d, r, n_blocks = task
    timings = compare(task, repeats)
    for count, each in timings.items():
        print(
            f"{count} worker(s): {each.seconds:8.3f} s an iteration, bare products {each.products:8.3f} s, "
            f"{each.calls:4.0f} calls, {each.n_bytes / 1e3:8.1f} kB"
        )
    ratio, limit = (getattr(timings[1], name) / getattr(timings[2], name) for name in ("seconds", "products"))
    print(f"ratio {ratio:.2f}; of bare products {limit:.2f}; samples {4 * n * d / 1e9:.2f} GB in {n_blocks} blocks")
    with local_cluster(2) as client:
        tiny = time_iterations(client, Task(10 * n_blocks, 5, 2, n_blocks), 20)
    print(f"blocks of ten samples: {1e3 * tiny.seconds:.1f} ms an iteration of {tiny.calls:.0f} calls")
    name, detail = f"regression, n={n} d={d} r={r}, float32", f"bare products {limit:.2f}"
    times = f"{timings[1].seconds:.3g} s against {timings[2].seconds:.3g} s an iteration; {detail}"
    beside = f"{n_blocks} blocks, two workers"
    return [
        compare_histories(),
        compare_traffic(task),
        Row(name, "one worker against two", ratio, RATIO, detail=times),
        Row("bytes an iteration", beside, timings[2].n_bytes, BYTES, at_most=True),
        Row("milliseconds an iteration on tiny blocks", beside, 1e3 * tiny.seconds, OVERHEAD, at_most=True),
    ]


if __name__ == "__main__":
    main()
