"""Two checkouts in turns: `python -m benchmarks.turns OLD [task ...]` times OLD/src beside this one.

Each checkout has a process of its own that stays warm. They run every task alternately, one at a time, so that a busy
machine slows both alike. Processor seconds are compared, on one BLAS thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
REPEATS = 9


def tasks() -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name, through names that both checkouts have."""
    from sklearn.datasets import load_digits, load_wine
    from sklearn.metrics import pairwise_distances
    from sklearn.preprocessing import StandardScaler

    from gramian import Block, KernelLearner, MetricLearner, Problem, PSDRegressor, SStressMDS, Term, minimize
    from gramian.baselines import ITML, LMNN
    from gramian.features import Array
    from gramian.geometries import Flat, Polar, Scaled
    from gramian.measurements import Each, Pairs
    from gramian.solvers import ConjugateGradient, Online

    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((80_000, 50)), rng.standard_normal((50, 10))
    y = np.sum((X @ truth) ** 2, axis=1) + rng.standard_normal(80_000)
    start = rng.standard_normal((50, 10))
    wide = rng.standard_normal((6238, 617))
    pairs = rng.integers(6238, size=(100_000, 2))
    pairs = pairs[np.argsort(pairs[:, 0])]
    apart = np.sum((wide[pairs[:, 0], :5] - wide[pairs[:, 1], :5]) ** 2, axis=1)
    digits, labels = load_digits(return_X_y=True)
    digits = StandardScaler().fit_transform(digits)
    wine, kinds = load_wine(return_X_y=True)
    wine = StandardScaler().fit_transform(wine)
    distances = pairwise_distances(digits[:1000])

    def iterate(features: Any, term: Any, geometry: Any, factor: Any) -> None:
        problem = Problem([Block(Array(features), [term])])
        minimize(problem, ConjugateGradient(), geometry.point(factor), max_iter=10, tol=0)

    found: dict[str, Callable[[], Any]] = {}
    for geometry in (Flat(), Scaled(), Polar()):
        name = type(geometry).__name__.lower()
        found[f"10 iterations, n=80000 d=50 r=10, {name}"] = lambda g=geometry: iterate(
            X, Term(Each(80_000), y), g, start
        )
        for r in (5, 50):
            factor = np.random.default_rng(1).standard_normal((617, r)) / 25
            found[f"10 iterations, 100k pairs, 6238 x 617 r={r}, {name}"] = lambda g=geometry, f=factor: iterate(
                wide, Term(Pairs(pairs), apart), g, f
            )
        for p in (1, 32):
            solver = Online(batch_size=p, step_size=0.1, delay=1.0)
            found[f"online epoch, p={p}, {name}"] = lambda g=geometry, s=solver: minimize(
                Problem([Block(Array(X), [Term(Each(80_000), y)])]), s, g.point(start), max_iter=1
            )
    found |= {
        "PSDRegressor, n=80000 d=50 r=10": lambda: PSDRegressor(10, random_state=0).fit(X, y),
        "MetricLearner, digits, rank 5": lambda: MetricLearner(5, constraints="triplets", random_state=0).fit(
            digits, labels
        ),
        "MetricLearner, digits, full rank": lambda: MetricLearner(constraints="triplets", random_state=0).fit(
            digits, labels
        ),
        "MetricLearner, wine, rank 2": lambda: MetricLearner(2, constraints="triplets", random_state=0).fit(
            wine, kinds
        ),
        "MetricLearner, 300 x 5000, rank 5": lambda: MetricLearner(5, random_state=0).fit(
            np.resize(wide, (300, 5000)), np.arange(300) % 3
        ),
        "KernelLearner, 1000 digits, rbf": lambda: KernelLearner(
            10, kernel="rbf", gamma=0.001, n_pairs=50_000, random_state=0
        ).fit(digits[:1000], labels[:1000]),
        "SStressMDS, 1000 digits": lambda: SStressMDS(2, max_iter=50, tol=1e-8).fit(distances),
        "LMNN, wine": lambda: LMNN().fit(wine, kinds),
        "ITML, wine": lambda: ITML(random_state=0).fit(wine, kinds),
    }
    return found


def serve() -> None:
    """Answer every task number on standard input with the processor seconds that it took."""
    warnings.simplefilter("ignore")
    known = list(tasks().values())
    print("ready", flush=True)
    for line in sys.stdin:
        begin = process_time()
        known[int(line)]()
        print(process_time() - begin, flush=True)


def start_server(checkout: Path) -> subprocess.Popen[str]:
    """Return a process that serves the tasks with the source of a checkout."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
    environment = os.environ | threads | {"PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, str(Path(__file__)), "serve"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    return server


def ask(server: subprocess.Popen[str], number: int) -> float:
    """Return the processor seconds of a task."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{number}\n")
    server.stdin.flush()
    return float(server.stdout.readline())


def main(old: str, wanted: list[str]) -> None:
    """Print the median seconds of both checkouts, and the median ratio of turns, new to old."""
    servers = [start_server(Path(old).resolve()), start_server(ROOT)]
    print(f"{'processor seconds, median of ' + str(REPEATS):58}{'old':>9}{'new':>9}{'new/old':>9}")
    for number, name in enumerate(tasks()):
        if wanted and not any(word in name for word in wanted):
            continue
        times = np.array([[ask(server, number) for server in servers] for _ in range(REPEATS + 1)])[1:]
        middle = np.median(times, axis=0)
        print(f"{name:58}{middle[0]:9.3f}{middle[1]:9.3f}{np.median(times[:, 1] / times[:, 0]):9.2f}", flush=True)
    for server in servers:
        server.kill()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        main(sys.argv[1], sys.argv[2:])
