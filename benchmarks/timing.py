"""Times of several functions, measured in turns so that what disturbs one disturbs all."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

THREADS = int(os.environ.get("GRAMIAN_BENCH_THREADS", "1"))


def medians(functions: dict[str, Callable[[], object]], repeats: int = 15) -> dict[str, float]:
    """The median seconds of each function, over repeats in which they take turns; the first turn is not counted."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    with threadpool_limits(THREADS):
        for repeat in range(repeats + 1):
            for name, function in functions.items():
                begin = perf_counter()
                function()
                if repeat:
                    times[name].append(perf_counter() - begin)
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def heading(title: str) -> None:
    """What is measured, and on what."""
    print(f"\n{title}\n{platform.processor() or platform.machine()}, {THREADS} BLAS thread(s), NumPy {np.__version__}")
