"""Data sets of the benchmarks; sets that are not stored locally are skipped, as a benchmark downloads nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

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


def load_half(name: str, samples: int, seed: int = 0) -> tuple[Any, Any, Any, Any] | None:
    """Return training and test samples, training and test labels: halves of some samples, drawn with a seed.

    None where the set is not stored. The features are standardised by the training samples.
    """
    data = load_samples(name)
    if data is None:
        return None
    X, y = np.asarray(data[0], np.float64), np.unique(data[1], return_inverse=True)[1]
    keep = np.random.default_rng(seed).permutation(len(X))[:samples]
    keep = keep[np.bincount(y[keep])[y[keep]] > 3]
    A, B, labels, truth = train_test_split(X[keep], y[keep], test_size=0.5, random_state=seed, stratify=y[keep])
    scaler = StandardScaler().fit(A)
    return scaler.transform(A), scaler.transform(B), labels, truth
