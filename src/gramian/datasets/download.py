"""Download of data sets from OpenML through scikit-learn, without pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml

from gramian.types import Matrix, Vector

__all__ = ["fetch_arrays"]


def fetch_arrays(
    openml_id: int,
    labels: tuple[str, ...] = (),
    test_counts: tuple[int, ...] = (),
    span: tuple[float, float] | None = None,
) -> dict[str, Vector]:
    """Download a data set from OpenML and return the arrays of its file, as described in `store.py`.

    Values are stored as float32, or in a small integer type if they are non-negative integers. Categories are encoded
    as integers, in the order that OpenML lists them. Missing values are NaN.

    Parameters
    ----------
    openml_id : int
        The id of one version of one data set.
    labels : tuple of str
        OpenML's labels: label k is encoded as the integer k. Sorted by default.
    test_counts : tuple of int
        The number of samples of each class in the standard test set. The last rows are taken as the test set if they
        have exactly these counts; otherwise the result has no test set.
    span : tuple of float, optional
        The smallest and the largest value. One affine map brings all values to this range.
    """
    # The parser liac-arff is slow on large sets, but it encodes categories and is part of scikit-learn.
    bunch = fetch_openml(data_id=openml_id, as_frame=False, parser="liac-arff", cache=False)
    target, names = encode_labels(bunch.target, labels)
    X = np.asarray(bunch.data, dtype=np.float64)
    if span is not None:
        X = np.interp(X, [X.min(), X.max()], span)
    arrays = {"data": shrink_dtype(X), "target": target, "target_names": names}
    if bunch.get("feature_names"):
        arrays["feature_names"] = np.array(bunch.feature_names, dtype=str)
    test = np.arange(len(target)) >= len(target) - sum(test_counts)
    if test_counts and np.bincount(target[test], minlength=len(names)).tolist() == list(test_counts):
        arrays["test_mask"] = test
    return arrays


def encode_labels(labels: Any, order: tuple[str, ...] = ()) -> tuple[Vector, Vector]:
    """Return labels as integers from 0, shape (n,), and the text of each class.

    Classes are in the given order, else sorted, numbers by their value.
    """
    words = np.char.strip(np.asarray(labels).astype(str), "'\" ")
    names = np.array(order or sorted(set(words.tolist()), key=numeric_sort_key))
    if not np.isin(words, names).all():
        unknown = str(words[~np.isin(words, names)][0])
        raise ValueError(f"OpenML's label {unknown!r} is none of {', '.join(names)}")
    rank = np.argsort(names)
    return rank[np.searchsorted(names, words, sorter=rank)].astype(np.uint8), names


def numeric_sort_key(word: str) -> tuple[float, str]:
    """Return a key that sorts numbers by value and other words after them."""
    try:
        return float(word), word
    except ValueError:
        return np.inf, word


def shrink_dtype(X: Matrix) -> Matrix:
    """Return X in the smallest unsigned integer type that represents it exactly, else in float32."""
    whole = np.isfinite(X).all() and X.min() >= 0 and bool((np.rint(X) == X).all())
    return X.astype(np.min_scalar_type(int(X.max())) if whole else np.float32)
