"""What the benchmarks of learned distances share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks.timing import THREADS


def error(train: Any, labels: np.ndarray, test: Any, truth: np.ndarray) -> float:
    """The 5-NN error on test samples, in per cent."""
    return 100 * float(np.mean(KNeighborsClassifier(5).fit(train, labels).predict(test) != truth))


def timed(learner: Any, X: Any, y: np.ndarray) -> tuple[Any, float]:
    """A learner, fitted, and the seconds it took."""
    begin = perf_counter()
    learner.fit(X, y)
    return learner, perf_counter() - begin


@contextmanager
def fixed() -> Iterator[None]:
    """So many threads, and no word of NCA's that is stopped early on purpose."""
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
