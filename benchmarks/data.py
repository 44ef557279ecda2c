"""Data sets of the benchmarks; sets that are not stored locally are skipped, as a benchmark downloads nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from gramian import datasets


def load_samples(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return samples and labels of a small set, prepared as in the paper; None where it is not stored."""
    if not datasets.is_available(name):
        return None
    dataset = datasets.load(name)
    return dataset.X, dataset.y


def load_split(name: str, dtype: Any = np.float64) -> tuple[Any, Any, Any, Any] | None:
    """Return training and test samples, training and test labels of a set's standard split.

    None where the set is not stored. Dense samples are centred by the mean of the training samples.
    """
    if not datasets.is_available(name):
        return None
    A, B, labels, truth = datasets.load(name, dtype=dtype).split()
    if scipy.sparse.issparse(A):
        return A, B, labels, truth
    mean = A.mean(axis=0)
    return A - mean, B - mean, labels, truth
