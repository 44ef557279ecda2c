"""Errors of nearest neighbours and times of fits, for the benchmarks of learned distances."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from harness.timing import limit_threads


def knn_error(train: Any, labels: np.ndarray, test: Any, truth: np.ndarray, n_neighbors: int = 5) -> float:
    """Return the error of nearest neighbours on the test samples, in per cent."""
    return 100 * float(np.mean(KNeighborsClassifier(n_neighbors).fit(train, labels).predict(test) != truth))


def fit_and_time(learner: Any, X: Any, y: np.ndarray) -> tuple[Any, float]:
    """Fit a learner; return it and the seconds of the fit."""
    begin = perf_counter()
    learner.fit(X, y)
    return learner, perf_counter() - begin


@contextmanager
def run_quietly() -> Iterator[None]:
    """Limit the threads and silence warnings: NCA is stopped before it converges, on purpose."""
    with limit_threads(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
