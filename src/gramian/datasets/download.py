"""Data sets from OpenML, through scikit-learn; needs a network and no pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml

from gramian.types import Matrix, Vector

__all__ = ["fetched"]


def fetched(
    openml_id: int,
    labels: tuple[str, ...] = (),
    test_counts: tuple[int, ...] = (),
    span: tuple[float, float] | None = None,
) -> dict[str, Vector]:
    """The arrays of a file of `gramian.datasets`, from OpenML.

    Values are kept in float32, or in a small integer type where they are whole; categories are numbered as OpenML
    lists them, missing values are NaN.

    Parameters
    ----------
    openml_id : int
        Which names one version of one set.
    labels : tuple of str
        OpenML's labels in the order of the numbers that they get; sorted by default.
    test_counts : tuple of int
        How many of each class the standard test set has. It is taken to be the last rows where these have just so many,
        else there is none.
    span : tuple of float, optional
        The least and the greatest value; what has others is brought to them by one affine map of all values.
    """
    # liac-arff is slow on large sets but numbers categories, and is part of scikit-learn.
    found = fetch_openml(data_id=openml_id, as_frame=False, parser="liac-arff", cache=False)
    target, names = numbered(found.target, labels)
    X = np.asarray(found.data, dtype=np.float64)
    if span is not None:
        X = np.interp(X, [X.min(), X.max()], span)
    arrays = {"data": compact(X), "target": target, "target_names": names}
    if found.get("feature_names"):
        arrays["feature_names"] = np.array(found.feature_names, dtype=str)
    test = np.arange(len(target)) >= len(target) - sum(test_counts)
    if test_counts and np.bincount(target[test], minlength=len(names)).tolist() == list(test_counts):
        arrays["test_mask"] = test
    return arrays


def numbered(labels: Any, order: tuple[str, ...] = ()) -> tuple[Vector, Vector]:
    """Labels as integers from 0, and the text of each: in the order given, else sorted, numbers as numbers."""
    words = np.char.strip(np.asarray(labels).astype(str), "'\" ")
    names = np.array(order or sorted(set(words.tolist()), key=by_value))
    if not np.isin(words, names).all():
        strange = str(words[~np.isin(words, names)][0])
        raise ValueError(f"OpenML's label {strange!r} is none of {', '.join(names)}")
    rank = np.argsort(names)
    return rank[np.searchsorted(names, words, sorter=rank)].astype(np.uint8), names


def by_value(word: str) -> tuple[float, str]:
    """A key that sorts numbers by their value, and other words after them."""
    try:
        return float(word), word
    except ValueError:
        return np.inf, word


def compact(X: Matrix) -> Matrix:
    """X in the smallest unsigned type that holds it, float32 where none does."""
    whole = np.isfinite(X).all() and X.min() >= 0 and bool((np.rint(X) == X).all())
    return X.astype(np.min_scalar_type(int(X.max())) if whole else np.float32)
