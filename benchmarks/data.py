"""Data sets of the benchmarks: from scikit-learn, or from the folder that GRAMIAN_DATA names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

SHIPPED = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
FILES = {"balance": "balance_scale"}


def arrays(name: str) -> Any | None:
    """The file of a data set; None where it is not at hand."""
    folder = os.environ.get("GRAMIAN_DATA")
    path = Path(folder or ".") / f"{FILES.get(name, name)}.npz"
    return np.load(path, allow_pickle=False) if folder and path.exists() else None


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Samples and labels of a small set, prepared as in the paper; None where it is not at hand."""
    if name in SHIPPED:
        return SHIPPED[name](return_X_y=True)
    file = arrays(name)
    if file is None:
        return None
    X, y = file["data"].astype(np.float64), file["target"]
    if name == "ionosphere":
        X = X[:, X.std(axis=0) > 0]
    if name == "soybean":
        complete = ~np.isnan(X).any(axis=1)
        rows = np.unique(np.column_stack([X, y])[complete], axis=0, return_index=True)[1]
        X, y = X[complete][np.sort(rows)], y[complete][np.sort(rows)]
    return X, y


def split(name: str, dtype: Any = np.float64) -> tuple[Any, Any, Any, Any] | None:
    """Training and test samples and labels of a set with a standard split, centred; None where it is not at hand."""
    file = arrays(name)
    if file is None:
        return None
    test, y = file["test_mask"], file["target"]
    if "csr_data" in file:
        parts = (file["csr_data"].astype(dtype), file["csr_indices"], file["csr_indptr"])
        X = scipy.sparse.csr_array(parts, shape=tuple(file["csr_shape"]))
        return X[~test], X[test], y[~test], y[test]
    X = file["data"].astype(dtype)
    mean = X[~test].mean(axis=0)
    return X[~test] - mean, X[test] - mean, y[~test], y[test]
