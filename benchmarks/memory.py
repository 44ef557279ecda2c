"""The memory that a fit on tall data takes beyond the data: nothing the size of X is copied."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import sleep

import numpy as np

from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner
from harness.timing import print_heading


def resident() -> float:
    """Return the resident memory of this process, in GB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e9


class PeakMemory:
    """Watches the memory while it is entered; `rise` is the peak over what it was before, in GB.

    Parameters
    ----------
    measure : callable
        Returns the memory in GB; by default that of the process, with the pages of files.
    """

    def __init__(self, measure: Callable[[], float] = resident) -> None:
        self._measure = measure

    def __enter__(self) -> PeakMemory:
        self._before = self._peak = self._measure()
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._run)
        self._watch.start()
        return self

    def _run(self) -> None:
        while not self._done.is_set():
            self._peak = max(self._peak, self._measure())
            sleep(0.005)

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._watch.join()

    @property
    def rise(self) -> float:
        """The peak over what the process held before, in GB."""
        return self._peak - self._before


def make_classes(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ten Gaussian classes: samples (n, d) in float32 and labels (n,)."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    centres = 0.3 * rng.standard_normal((10, d), dtype=np.float32)
    X = np.empty((n, d), np.float32)
    for start in range(0, n, 50_000):
        part = slice(start, start + 50_000)
        X[part] = rng.standard_normal(X[part].shape, dtype=np.float32) + centres[y[part]]
    return X, y


@run_quietly()
def main(n: int = 1_000_000, d: int = 256, rank: int = 5) -> list[Row]:
    """Print the rise of the peak, and return its row."""
    print_heading(f"Memory of MetricLearner({rank}).fit, {n} x {d}, float32")
    X, y = make_classes(n, d)
    MetricLearner(rank, random_state=0).fit(X[:3000], y[:3000])
    with PeakMemory() as memory:
        MetricLearner(rank, random_state=0).fit(X, y)
    print(f"X has {X.nbytes / 1e9:.2f} GB; the peak rose by {memory.rise:.2f} GB")
    return [Row(f"memory beyond X, {n} x {d} float32", "X itself, GB", memory.rise, 0.35, at_most=True)]


if __name__ == "__main__":
    main()
