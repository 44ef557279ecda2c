"""BLAS threads, and times of several functions that take turns, so that a busy machine slows all of them alike."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

__all__ = ["THREADS", "limit_threads", "median_seconds", "print_heading"]

#: BLAS threads of the benchmarks; the experiments use one.
THREADS = int(os.environ.get("GRAMIAN_BENCH_THREADS", "1"))


@contextmanager
def limit_threads(count: int = THREADS) -> Iterator[None]:
    """Limit BLAS and OpenMP to a number of threads; a context manager and a decorator."""
    with threadpool_limits(count):
        yield


def median_seconds(functions: dict[str, Callable[[], object]], repeats: int = 15) -> dict[str, float]:
    """Return the median seconds of each function over the repeats, in each of which all functions run once.

    One more round goes first and is not counted: it compiles kernels and fills caches.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    with limit_threads():
        for repeat in range(repeats + 1):
            for name, function in functions.items():
                begin = perf_counter()
                function()
                if repeat:
                    times[name].append(perf_counter() - begin)
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def print_heading(title: str) -> None:
    """Print what is measured, and the processor, threads and NumPy version it is measured with."""
    print(f"\n{title}\n{platform.processor() or platform.machine()}, {THREADS} BLAS thread(s), NumPy {np.__version__}")
