"""Whole fits, as a user calls them: beside peers, beside their own products, on tall and on wide data.

The peers of the regression are timed until they first reach 1 % above the best test error; ours until `fit` returns.
Fits on tall and wide data run in processes of their own, so that the peak of their memory can be told.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.data import load_split
from benchmarks.neighbours import knn_error, run_quietly
from benchmarks.paths import measure_paths, median_time_to, run_lbfgs, run_pymanopt
from benchmarks.regression import make_data
from benchmarks.rows import Row, speedup_row
from gramian import MetricLearner, PSDRegressor
from harness.timing import print_heading

#: The samples of the tall set.
TALL = 2_000_000
#: Seconds that a peer is given.
CAP = 5.0


def processor_seconds(function: Any, repeats: int = 5) -> float:
    """Return the median of the processor seconds of some calls."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return float(np.median(times))


def measure_regression(n: int = 80_000, d: int = 50, r: int = 10) -> list[Row]:
    """Measure the whole call of PSDRegressor beside the time of peers to 1 % above the best test error."""
    print_heading(f"Regression, n = {n}, d = {d}, r = {r}: the whole call, beside peers to 1 % of the best test error")
    X, G, start, unseen = make_data(n, d, r, None)
    rng = np.random.default_rng(1)
    y, truth = (np.sum((A @ G) ** 2, axis=1) + 0.1 * rng.standard_normal(len(A)) for A in (X, unseen))

    def error(factor: np.ndarray) -> float:
        return float(np.sqrt(np.mean((np.sum((unseen @ factor) ** 2, axis=1) - truth) ** 2)))

    model = PSDRegressor(r, random_state=0)
    model.fit(X[: n // 8], y[: n // 8])
    ours = processor_seconds(lambda: model.fit(X, y))
    peers = {
        "SciPy L-BFGS": partial(run_lbfgs, enough=None, seconds=CAP, clock=time.process_time),
        "Pymanopt CG": partial(
            run_pymanopt, "ConjugateGradient", True, enough=None, seconds=CAP, clock=time.process_time
        ),
    }
    curves = measure_paths(peers, (X, y, start), error)
    best = min([error(model.factor_), *(float(errors.min()) for paths in curves.values() for _, errors in paths)])
    print(f"ours: {ours:.3f} s, {model.history_['passes'][-1]:.1f} passes, test error {error(model.factor_):.5f}")
    rows = []
    for name, goal in (("Pymanopt CG", 8.0), ("SciPy L-BFGS", 5.0)):
        peer = median_time_to(curves[name], 1.01 * best)
        print(f"{name}: {peer:.3f} s to {1.01 * best:.5f}")
        rows.append(
            speedup_row("whole call of PSDRegressor, to 1 % of the best test error", name, ours, peer, goal, CAP)
        )
    return rows


def measure_products(name: str, rank: int, goal: float, most_error: float) -> list[Row]:
    """Measure a whole fit from labels over the bare products with the data, as many as its iterations make."""
    data = load_split(name, np.float32 if name == "mnist" else np.float64)
    if data is None:
        print(f"left out: {name} is not at hand")
        return []
    A, B, labels, truth = data
    if scipy.sparse.issparse(A):
        tfidf = TfidfTransformer(sublinear_tf=True).fit(A)
        A, B = tfidf.transform(A), tfidf.transform(B)
    else:
        A, B = A / 255, B / 255
    learner = MetricLearner(rank, random_state=0)
    # The first fit compiles kernels, some of which are for many samples only.
    learner.fit(A, labels)
    begin = time.process_time()
    learner.fit(A, labels)
    seconds = time.process_time() - begin
    G = learner.factor_.astype(A.dtype)
    Z = A @ G
    pair = processor_seconds(lambda: (A @ G, A.T @ Z))
    passes = float(learner.history_["passes"][-1])
    e = knn_error(learner.transform(A), labels, learner.transform(B), truth)
    print_heading(f"{name}, rank {rank}: a whole fit over its own products")
    print(
        f"plan {learner.choice_.plan!r}: {seconds:.1f} s of processor time, {passes:.0f} passes; 5-NN error {e:.2f} %"
    )
    print("outside the iterations: " + ", ".join(f"{key} {value:.1f} s" for key, value in learner.timings_.items()))
    over = seconds / (0.5 * passes * pair)
    detail = f"{seconds:.3g} s against {0.5 * passes * pair:.3g} s of products"
    return [
        Row(f"whole fit, {name}, rank {rank}", "its own products", over, goal, at_most=True, detail=detail),
        Row(f"whole fit, {name}, rank {rank}", "error in %", e, most_error, at_most=True),
    ]


def run_apart(*arguments: Any) -> dict[str, float]:
    """Return what a part of this module prints last, run in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.whole", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def read_status(name: str) -> float:
    """Return what Linux tells of the memory of this process under a name, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1e6


def anonymous_memory() -> float:
    """Return the memory of this process that belongs to no file, in GB."""
    return read_status("RssAnon")


class Screen:
    """A standard error that takes down the seconds without a word."""

    def __init__(self) -> None:
        self.last = time.perf_counter()
        self.silence: list[float] = []

    def write(self, text: str) -> None:
        """Take down the seconds since the last line."""
        now = time.perf_counter()
        self.silence.append(now - self.last)
        self.last = now

    def flush(self) -> None:
        """Do nothing: there is no file."""


def write_tall(path: Path, n: int = TALL, d: int = 50, classes: int = 10) -> np.ndarray:
    """Write n samples of d features to a file, and return their labels."""
    rng = np.random.default_rng(0)
    y, centres = rng.integers(classes, size=n), rng.standard_normal((classes, d)) * (np.arange(d) < 10)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    for first in range(0, n, 100_000):
        part = slice(first, first + 100_000)
        X[part] = 0.8 * centres[y[part]] + rng.standard_normal(X[part].shape) * np.linspace(0.5, 3, d)
    X.flush()
    return y


def fit_tall(n: int) -> dict[str, float]:
    """Fit a distance of rank 5 to a memory-mapped file, and return seconds, memory and the longest silence."""
    from benchmarks.memory import PeakMemory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "tall.npy"
        y = write_tall(path, n)
        X = np.load(path, mmap_mode="r")
        MetricLearner(5, random_state=0).fit(np.array(X[:3000]), y[:3000])
        screen, told = Screen(), sys.stderr
        begin, sys.stderr = time.process_time(), screen
        try:
            with PeakMemory(anonymous_memory) as memory:
                MetricLearner(5, random_state=0, verbose=1).fit(X, y)
            # From the last line to the end, too.
            screen.write("")
        finally:
            sys.stderr = told
        seconds = time.process_time() - begin
    first, longest = screen.silence[0], max(screen.silence)
    return {"seconds": seconds, "memory": memory.rise, "first": first, "silence": longest}


def fit_wide(power: int, words: int = 120, n: int = 3000) -> dict[str, float]:
    """Fit a distance of rank 5 to texts of some words, hashed to 2^power features; return seconds and the peak."""
    rng, d = np.random.default_rng(0), 2**power
    y = rng.integers(10, size=n)
    common, own = rng.zipf(1.3, (n, words - 20)) % d, ((y[:, None] * 977 + rng.zipf(1.5, (n, 20))) * 7919) % d
    columns, rows = np.hstack([common, own]).ravel(), np.repeat(np.arange(n), words)
    X = scipy.sparse.csr_array((np.ones(len(columns)), (rows, columns)), shape=(n, d))
    X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    # Kernels are loaded, or compiled, before the clock is started.
    MetricLearner(5, random_state=0).fit(X[:300], y[:300])
    begin = time.process_time()
    MetricLearner(5, random_state=0).fit(X, y)
    seconds = time.process_time() - begin
    # The peak that `resource` tells begins with that of the process that started this one.
    return {"seconds": seconds, "memory": read_status("VmHWM"), "entries": X.nnz}


def measure_tall(n: int = TALL) -> list[Row]:
    """Measure a fit on a memory-mapped file of n samples of 50 features."""
    found = run_apart("tall", n)
    print_heading(f"{n} x 50 float32 in a memory-mapped file, rank 5, from labels")
    print(f"{found['seconds']:.1f} s of processor time; first word after {found['first']:.1f} s")
    task = f"tall data, {n} x 50"
    return [
        Row(task, "GB beyond the file", found["memory"], 0.6, at_most=True),
        Row(task, "seconds to the first word", found["first"], 2.0, at_most=True),
        Row(task, "longest silence, s", found["silence"], 5.0, at_most=True),
    ]


def measure_wide(goals: dict[int, float]) -> list[Row]:
    """Measure fits on hashed text of 2^18 and 2^20 features: memory, and the growth of time beside that of entries."""
    rows, seconds, entries = [], [], []
    for power, goal in goals.items():
        found = run_apart("wide", power)
        print_heading(f"3000 x 2^{power} sparse, {found['entries']:.0f} entries, rank 5")
        print(f"{found['seconds']:.1f} s of processor time, peak of the process {found['memory']:.2f} GB")
        task = f"wide sparse data, 3000 x 2^{power}"
        rows.append(Row(task, "GB, the process", found["memory"], goal, at_most=True))
        seconds.append(found["seconds"])
        entries.append(found["entries"])
    low, *_, high = goals
    detail = f"{seconds[-1]:.3g} s against {seconds[0]:.3g} s; entries grow {entries[-1] / entries[0]:.2f} times"
    task = f"time of wide sparse data, 2^{high} against 2^{low} features"
    rows.append(Row(task, "kernels warm", seconds[-1] / seconds[0], 1.5, at_most=True, detail=detail))
    longer = run_apart("wide", low, 480)
    growth, more = longer["seconds"] / seconds[0], longer["entries"] / entries[0]
    detail = f"{longer['seconds']:.3g} s against {seconds[0]:.3g} s"
    print(f"texts of four times as many words: {more:.2f} times the entries, {growth:.2f} times the time")
    task = f"time of wide sparse data, {more:.2f} times the entries in 2^{low} features"
    return [*rows, Row(task, "times the time", growth, more, at_most=True, detail=detail)]


@run_quietly()
def main() -> list[Row]:
    """Print times and memory of whole fits; return their rows."""
    rows = measure_regression()
    rows += measure_products("mnist", 32, 1.8, 2.37)
    rows += measure_products("newsgroups20", 20, 1.8, 18.8)
    rows += measure_tall()
    return rows + measure_wide({18: 0.5, 20: 1.5})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        part = {"tall": fit_tall, "wide": fit_wide}[sys.argv[1]]
        with run_quietly():
            print(json.dumps(part(*map(int, sys.argv[2:]))))
    else:
        main()
