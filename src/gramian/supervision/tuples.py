"""Tuples of points: pairs, triplets and quadruplets, given as points or as indices of samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from gramian.blocked import compute_values, is_blocked
from gramian.checks import check_kind
from gramian.supervision.checks import validate_order
from gramian.types import Matrix

__all__ = [
    "TUPLES",
    "SignedTuples",
    "holds_tuples",
    "put_near_first",
    "read_tuples",
    "samples_of_indices",
    "tuples_of_points",
    "validate_points",
]

#: The kinds of tuples, by their number of points.
TUPLES = {2: "pairs", 3: "triplets", 4: "quadruplets"}
#: The points of triplets and quadruplets with near and far exchanged.
EXCHANGED = {3: [0, 2, 1], 4: [2, 3, 0, 1]}


class SignedTuples(NamedTuple):
    """Samples (n, d), tuples (m, k) of their indices, and signs (m,) or None, as the user gave them.

    Where `tuples` is None, X holds tuples of points (m, k, d).
    """

    X: Any
    tuples: Any
    y: Any


def dimensions_of(X: Any) -> int:
    """Return the number of dimensions of an array, a sparse matrix, a data frame or nested lists; -1 if ragged."""
    if hasattr(X, "ndim") or is_blocked(X):
        return int(getattr(X, "ndim", 2))
    try:
        return int(np.asarray(X).ndim)
    except ValueError:  # Rows of different lengths: the checks of samples say so.
        return -1


def holds_tuples(X: Any, preprocessor: Any) -> bool:
    """Return True for tuples of points (m, k, d) and, if there is a preprocessor, for tuples of indices (m, k)."""
    dimensions = dimensions_of(X)
    return dimensions == 3 or (preprocessor is not None and dimensions == 2)


def read_tuples(X: Any, tuples: Any, y: Any, preprocessor: Any = None) -> SignedTuples:
    """Return the arguments (X, tuples, y), (points, y), or (indices, y) with a preprocessor, by name.

    Points (m, k, d) have tuples=None. Raises a ValueError if index tuples are given beside points.
    """
    tuples, y = compute_values(tuples), compute_values(y)
    if dimensions_of(X) == 3:
        if tuples is not None and (y is not None or np.ndim(tuples) > 1):
            raise ValueError(
                "X holds pairs of points (m, 2, d), or other tuples: `pairs` must not be given. Name y=, target= or "
                "sense=."
            )
        return SignedTuples(X, None, y if tuples is None else tuples)
    if preprocessor is None or not (tuples is None or np.ndim(tuples) == 1):
        return SignedTuples(X, tuples, y)
    check_preprocessor(preprocessor)
    return SignedTuples(preprocessor, read_indices(X), y if tuples is None else tuples)


def check_preprocessor(preprocessor: Any) -> None:
    """Raise a ValueError unless a preprocessor is an array or a sparse matrix (n, d)."""
    if callable(preprocessor):
        raise ValueError("preprocessor is a function. Give samples (n, d), an array or a sparse matrix.")
    if dimensions_of(preprocessor) != 2:
        shape = getattr(preprocessor, "shape", None)
        came = f"has shape {shape}" if shape is not None else f"is {preprocessor!r:.60}"
        raise ValueError(f"preprocessor {came}; expected samples (n, d), an array or a sparse matrix.")


def read_indices(X: Any) -> Matrix:
    """Return tuples (m, k) of whole numbers as integers; raise a ValueError unless X holds these."""
    wanted = (
        "with a preprocessor X holds tuples of indices into it, 2 (pairs), 3 (triplets) or 4 (quadruplets) columns of "
        "integers. For samples with labels, set preprocessor=None"
    )
    check_kind("X", X)
    indices = X if issparse(X) else np.asarray(X)
    if issparse(X) or indices.ndim != 2 or indices.shape[1] not in TUPLES:
        raise ValueError(f"X has shape {indices.shape}, but {wanted}.")
    return as_integers(indices, wanted)


def as_integers(indices: Any, wanted: str) -> Any:
    """Return whole numbers as integers; raise a ValueError that says what is wanted for other ones."""
    if indices.dtype.kind in "iu":
        return indices
    whole = indices.dtype.kind == "f" and bool(np.all(np.isfinite(indices) & (np.floor(indices) == indices)))
    if not whole:
        raise ValueError(f"X holds other numbers than integers (dtype {indices.dtype}), but {wanted}.")
    return indices.astype(np.intp)


def samples_of_indices(X: Any, preprocessor: Any) -> Any:
    """Return rows of the preprocessor if X holds their indices (n,); else X itself, samples (n, d)."""
    if preprocessor is None or dimensions_of(X) != 1:
        return X
    check_preprocessor(preprocessor)
    rows = as_integers(np.asarray(X), "with a preprocessor a vector X holds indices of its samples")
    n = preprocessor.shape[0] if hasattr(preprocessor, "shape") else len(preprocessor)
    bad = np.flatnonzero((rows < 0) | (rows >= n))
    if bad.size:
        raise ValueError(f"X[{bad[0]}] = {rows[bad[0]]} is out of range: preprocessor has {n} samples.")
    if hasattr(preprocessor, "iloc"):
        return preprocessor.iloc[rows]
    return preprocessor.tocsr()[rows] if issparse(preprocessor) else np.asarray(preprocessor)[rows]


def validate_points(points: Any, size: int | None = 2) -> Matrix:
    """Return tuples of `size` points as an array (m, size, d); None stands for two, three or four."""
    check_kind("X", points)
    array = check_array(points, allow_nd=True, dtype=[np.float64, np.float32], input_name="X")
    if array.ndim != 3 or (array.shape[1] not in TUPLES if size is None else array.shape[1] != size):
        name = "pairs" if size is None else TUPLES[size]
        more = " Triplets are (m, 3, d), quadruplets (m, 4, d)." if size is None else ""
        raise ValueError(
            f"X has shape {array.shape}; expected {name} of points (m, {size or 2}, d), or samples with `{name}`.{more}"
        )
    return array


def tuples_of_points(X: Any, tuples: Any, y: Any, preprocessor: Any = None, size: int = 2) -> SignedTuples:
    """Return samples, index tuples (m, size) and signs; tuples of points (m, size, d) become samples and indices."""
    X, tuples, y = read_tuples(X, tuples, y, preprocessor)
    if tuples is not None:
        return SignedTuples(X, tuples, y)
    points = validate_points(X, size)
    m, _, d = points.shape
    return SignedTuples(points.reshape(size * m, d), np.arange(size * m).reshape(m, size), y)


def put_near_first(tuples: Any, y: Any) -> Any:
    """Return index triplets (m, 3) or quadruplets (m, 4) in which near and far are exchanged where y is -1.

    y=None exchanges none. Raises a ValueError unless y holds +1 and -1 only.
    """
    if y is None:
        return tuples
    index = np.asarray(tuples)
    if index.ndim != 2 or index.shape[1] not in EXCHANGED:
        return tuples  # The checks of tuples say what is wrong.
    signs = validate_order(y, len(index), TUPLES[index.shape[1]])
    return np.where(signs[:, None] > 0, index, index[:, EXCHANGED[index.shape[1]]])
