"""Two versions in turns: this checkout beside the commit before executions, supervision and coordinates.

`python -m benchmarks.turns [word ...]` runs the tasks that have a word in their name; `--old FOLDER` compares with
another checkout. Each version has a process of its own that stays warm. They run every task alternately, one at a time,
so that a busy machine slows both alike. Processor seconds are compared, on one BLAS thread. Tasks say what to do by
names that both versions have, and leave nothing to defaults that have changed since, but for whole fits.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

if TYPE_CHECKING:
    from benchmarks.rows import Row

ROOT = Path(__file__).parent.parent
#: The last commit before executions, supervision and coordinates were objects.
OLD = "fcc0cb4"
#: The name of the variable that tells a process where the data of whole fits are.
FOLDER = "GRAMIAN_TURNS"
#: By how many times the new version is to be faster. Up to 5 % slower counts as the same.
SAME = 0.95


class Task(NamedTuple):
    """What is timed, the least ratio of the old to the new seconds, and how often it is run after a first time."""

    run: Callable[[], Any]
    goal: float = SAME
    repeats: int = 9


def iterations() -> dict[str, Task]:
    """Return iterations of conjugate gradients and epochs of online descent, by name."""
    from gramian import Block, Problem, Term, minimize
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

    def solve(features: Any, term: Any, point: Any, solver: Any = None, max_iter: int = 10) -> None:
        problem = Problem([Block(Array(features), [term])])
        minimize(problem, solver or ConjugateGradient(), point, max_iter=max_iter, tol=0)

    found = {}
    for geometry in (Flat(), Scaled(), Polar()):
        name, point = type(geometry).__name__.lower(), geometry.point(start)
        found[f"10 iterations, n=80000 d=50 r=10, {name}"] = Task(
            lambda p=point: solve(X, Term(Each(80_000), y), p),
        )
        for r in (5, 50):
            other = geometry.point(np.random.default_rng(1).standard_normal((617, r)) / 25)
            found[f"10 iterations, 100k pairs, 6238 x 617 r={r}, {name}"] = Task(
                lambda p=other: solve(wide, Term(Pairs(pairs), apart), p),
            )
        for size in (1, 32):
            solver = Online(batch_size=size, step_size=0.1, delay=1.0)
            found[f"online epoch, p={size}, {name}"] = Task(
                lambda p=point, s=solver: solve(X, Term(Each(80_000), y), p, s, max_iter=1),
            )
    return found


def fits() -> dict[str, Task]:
    """Return fits of estimators and baselines to small sets, by name."""
    from sklearn.datasets import load_digits, load_wine
    from sklearn.metrics import pairwise_distances
    from sklearn.preprocessing import StandardScaler

    from gramian import KernelLearner, MetricLearner, PSDRegressor, SStressMDS
    from gramian.baselines import ITML, LMNN

    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((80_000, 50)), rng.standard_normal((50, 10))
    y = np.sum((X @ truth) ** 2, axis=1) + rng.standard_normal(80_000)
    wide = rng.standard_normal((300, 5000))
    digits, labels = load_digits(return_X_y=True)
    digits = StandardScaler().fit_transform(digits)
    wine, kinds = load_wine(return_X_y=True)
    wine = StandardScaler().fit_transform(wine)
    distances = pairwise_distances(digits[:1000])
    triplets = {"constraints": "triplets", "random_state": 0}
    kernel = {"kernel": "rbf", "gamma": 0.001, "ridge": 0.0, "n_pairs": 50_000, "random_state": 0}
    return {
        "PSDRegressor, n=80000 d=50 r=10": Task(lambda: PSDRegressor(10, random_state=0).fit(X, y)),
        "MetricLearner, digits, rank 5": Task(lambda: MetricLearner(5, **triplets).fit(digits, labels)),
        "MetricLearner, digits, full rank": Task(lambda: MetricLearner(**triplets).fit(digits, labels)),
        "MetricLearner, wine, rank 2": Task(lambda: MetricLearner(2, **triplets).fit(wine, kinds)),
        "MetricLearner, 300 x 5000, rank 5": Task(lambda: MetricLearner(5, **triplets).fit(wide, np.arange(300) % 3)),
        "KernelLearner, 1000 digits, rbf": Task(lambda: KernelLearner(10, **kernel).fit(digits[:1000], labels[:1000])),
        "SStressMDS, 1000 digits": Task(lambda: SStressMDS(2, max_iter=50, tol=1e-8).fit(distances)),
        "LMNN, wine": Task(lambda: LMNN().fit(wine, kinds)),
        "ITML, digits": Task(lambda: ITML(random_state=0).fit(digits, labels)),
    }


def whole_fits() -> dict[str, Task]:
    """Return fits with default settings to large sets that are in the folder, by name."""
    from gramian import MetricLearner

    folder, found = Path(os.environ[FOLDER]), {}
    for name, rank, goal, repeats in (("mnist", 32, 3.0, 3), ("newsgroups20", 20, 3.0, 3), ("tall", 5, 8.0, 0)):
        if not (folder / f"{name}.labels.npy").exists():
            continue
        labels = np.load(folder / f"{name}.labels.npy")
        sparse = folder / f"{name}.npz"
        X = scipy.sparse.load_npz(sparse) if sparse.exists() else np.load(folder / f"{name}.npy", mmap_mode="r")
        X = np.array(X) if name == "mnist" else X
        learner = MetricLearner(rank, random_state=0)
        # Kernels are loaded, or compiled, before the clock is started.
        learner.fit(X[:2000] if sparse.exists() else np.array(X[:2000]), labels[:2000])
        shape = " x ".join(str(size) for size in X.shape)
        found[f"whole fit, {name}, {shape}, rank {rank}"] = Task(
            lambda learner=learner, X=X, labels=labels: learner.fit(X, labels), goal, repeats
        )
    return found


def all_tasks() -> dict[str, Task]:
    """Return what is timed, by name."""
    return iterations() | fits() | whole_fits()


def serve() -> None:
    """Write the tasks on standard output, then answer every name on standard input with its processor seconds."""
    warnings.simplefilter("ignore")
    known = all_tasks()
    print("\t".join(f"{name}|{task.goal}|{task.repeats}" for name, task in known.items()), flush=True)
    for line in sys.stdin:
        begin = process_time()
        known[line.rstrip("\n")].run()
        print(process_time() - begin, flush=True)


class Server:
    """A process that runs the tasks with the source of a checkout, and the tasks that it has."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
        environment = os.environ | threads | {"PYTHONPATH": str(checkout / "src"), FOLDER: str(folder)}
        command = [sys.executable, str(Path(__file__)), "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.tasks = [entry.split("|") for entry in self.read().rstrip("\n").split("\t")]

    def read(self) -> str:
        """Return the next line of the process."""
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"the process of a version ended with {self.process.wait()}.")
        return line

    def seconds(self, name: str) -> float:
        """Return the processor seconds of a task."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return float(self.read())

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def checkout_of(commit: str) -> Iterator[Path | None]:
    """Yield a folder with the source of a commit; None where there is no such commit."""
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False)
        if archive.returncode == 0:
            subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder) if archive.returncode == 0 else None


def store_sets(folder: Path) -> None:
    """Store the large sets that are at hand, as both versions read them."""
    from sklearn.feature_extraction.text import TfidfTransformer

    from benchmarks.data import load_split
    from benchmarks.whole import write_tall

    if data := load_split("mnist", np.float32):
        np.save(folder / "mnist.npy", data[0] / 255)
        np.save(folder / "mnist.labels.npy", data[2])
    if data := load_split("newsgroups20"):
        scipy.sparse.save_npz(folder / "newsgroups20.npz", TfidfTransformer(sublinear_tf=True).fit_transform(data[0]))
        np.save(folder / "newsgroups20.labels.npy", data[2])
    np.save(folder / "tall.labels.npy", write_tall(folder / "tall.npy"))


def compare(servers: list[Server], wanted: list[str], beside: str) -> Iterator[Row]:
    """Print the median seconds of both versions, and yield the rows of their ratios."""
    from benchmarks.rows import Row

    print(f"{'processor seconds':58}{'old':>9}{'new':>9}{'old/new':>9}")
    for name, goal, repeats in servers[1].tasks:
        if wanted and not any(word in name for word in wanted):
            continue
        warm = min(int(repeats), 1)
        times = np.array([[each.seconds(name) for each in servers] for _ in range(int(repeats) + 1)])[warm:]
        old, new = np.median(times, axis=0)
        ratio = float(np.median(times[:, 0] / times[:, 1]))
        print(f"{name:58}{old:9.3f}{new:9.3f}{ratio:9.2f}", flush=True)
        yield Row(name, beside, ratio, float(goal), detail=f"{new:.3g} s against {old:.3g} s")


def main(old: str | None = None, wanted: list[str] | None = None) -> list[Row] | None:
    """Print the seconds of both versions; return rows of their ratios, None without the old one."""
    from harness.timing import print_heading

    print_heading("Two versions in turns")
    with ExitStack() as stack:
        checkout = Path(old).resolve() if old else stack.enter_context(checkout_of(OLD))
        if checkout is None:
            print(f"left out: commit {OLD} is not here")
            return None
        folder = Path(stack.enter_context(TemporaryDirectory()))
        if not wanted or any("whole" in word for word in wanted):
            store_sets(folder)
        servers = [stack.enter_context(closing(Server(each, folder))) for each in (checkout, ROOT)]
        return list(compare(servers, wanted or [], f"commit {OLD}" if old is None else checkout.name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Two versions in turns.")
    parser.add_argument("words", nargs="*", help="run the tasks that have one of these in their name")
    parser.add_argument("--old", help="the folder of another checkout; by default the commit is taken from git")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
    else:
        main(given.old, given.words)
