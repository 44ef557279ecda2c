"""Checks of single arguments, for every layer. Errors say which argument, what came, and what to do."""

from __future__ import annotations

import math
from datetime import date, time, timedelta
from numbers import Complex, Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gramian._kernels.sparse import with_plain_indices
from gramian.extremes import largest
from gramian.types import Matrix, Vector

__all__ = [
    "as_canonical",
    "as_numbers",
    "as_random_state",
    "as_real",
    "check_csr",
    "check_kind",
    "check_number",
    "check_powers",
    "check_sparse",
    "validate_factor",
    "validate_sense",
    "validate_weight",
]

SENSES = {"at most": -1, "equal": 0, "at least": 1}
#: The types that kernels are compiled for.
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
#: Kinds of NumPy dtypes that conversions to floating point take without a word.
UNUSABLE_KINDS = {"M": "dates", "m": "time differences", "c": "complex numbers"}


def as_random_state(random_state: Any) -> np.random.RandomState:
    """Return a RandomState from a seed, None, a RandomState or a Generator; raise a ValueError for anything else."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**31 - 1))
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state={random_state!r} is not valid. Give an integer from 0 to 2**32 - 1, None, a RandomState or "
            "a Generator."
        ) from error


def check_number(
    name: str,
    value: Any,
    *,
    least: float,
    integer: bool = False,
    strict: bool = False,
    below: float | None = None,
    also: tuple[str | None, ...] = (),
) -> None:
    """Raise a ValueError unless value is a finite number of the right kind, within its bounds.

    The message names the values in `also` too: they are valid, and the caller has dealt with them.
    """
    kind = Integral if integer else Real
    wanted = f"{'an integer' if integer else 'a finite number' if least == -np.inf else 'a number'}"
    wanted += "" if least == -np.inf else f" {'above' if strict else 'of at least'} {least}"
    wanted += "" if below is None else f" and below {below}"
    fits = isinstance(value, kind) and not isinstance(value, bool) and is_finite(value)
    if not fits or value < least or (strict and value == least) or (below is not None and value >= below):
        *first, last = [wanted, *map(repr, also)]
        choices = f"{', '.join(first)} or {last}" if first else last
        raise ValueError(f"{name}={value!r} is not valid. Choose {choices}.")


def is_finite(value: Any) -> bool:
    """Return True for a finite number within the range of float64; integers of Python go beyond it."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def as_numbers(name: str, value: Any) -> Vector:
    """Return a copy of value as an array of float64; raise a ValueError if it does not hold real numbers."""
    check_kind(name, value)
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as numbers: {error}.") from error


def as_real(name: str, value: Any) -> Vector:
    """Return value as a C-contiguous array of float32 or float64, itself if it is one.

    Other real numbers become float64. Complex numbers, dates, objects and masked arrays are refused.
    """
    if type(value) is np.ndarray and value.dtype in FLOATS and value.flags.c_contiguous:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array. Fill its masked entries, or drop them.")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as an array of numbers: {error}.") from error
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {array.dtype}; expected real numbers, as float32 or float64.")
    return np.asarray(array, array.dtype if array.dtype in FLOATS else np.float64, order="C")


def check_kind(name: str, value: Any, *, labels: bool = False) -> None:
    """Raise a ValueError for masked entries, dates and complex numbers, which NumPy converts without a warning.

    With `labels` the advice is that for class labels.
    """
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        count = int(np.ma.getmaskarray(value).sum())
        raise ValueError(
            f"{name} is a masked array with {count} masked entries, and masks are not supported. Fill the entries, by "
            f"{name}.filled(...), or drop their rows."
        )
    kinds = kinds_of(value)
    if "c" in kinds:
        raise ValueError(f"Complex data not supported: {name} holds complex numbers. Give real numbers.")
    found = next((UNUSABLE_KINDS[kind] for kind in sorted(kinds) if kind in UNUSABLE_KINDS), None)
    if found is not None:
        if labels:
            raise ValueError(
                f"{name} holds {found}; expected class labels, texts or numbers. Convert them, for example by "
                f"{name}.astype(str)."
            )
        raise ValueError(f"{name} holds {found}; expected numbers. Convert them first, for example to days as floats.")


def kinds_of(value: Any) -> set[str]:
    """Return the kinds of NumPy dtypes ("f", "i", "M", ...) in an array, a data frame, or nested sequences."""
    dtypes = getattr(value, "dtypes", None)
    if dtypes is None:
        if not hasattr(value, "dtype"):
            try:
                value = np.asarray(value)
            except ValueError:  # Rows of different lengths: the checks of shapes say so.
                return set()
        dtypes = value.dtype
    kinds = {getattr(dtype, "kind", "") for dtype in (dtypes if hasattr(dtypes, "__iter__") else [dtypes])}
    return kinds | {kind_of_object(x) for x in np.asarray(value, object).ravel()} if "O" in kinds else kinds


def kind_of_object(value: Any) -> str:
    """Return the kind of the NumPy dtype that an object would have, if it is unusable; else "O"."""
    if isinstance(value, date | time | np.datetime64):
        return "M"
    if isinstance(value, timedelta | np.timedelta64):
        return "m"
    return "c" if isinstance(value, Complex) and not isinstance(value, Real) else "O"


def check_powers(name: str, X: Any, power: int, dtype: Any = np.float64) -> None:
    """Raise a ValueError if powers of the largest entry overflow or underflow in a type; NaN entries are ignored.

    X is an array or a sparse matrix. A margin of 10^±4 is left for sums and products of such powers.
    """
    check_size(name, largest(X if isinstance(X, np.ndarray) or hasattr(X, "extremes") else X.data), power, dtype)


def check_size(name: str, size: float, power: int, dtype: Any = np.float64) -> None:
    """Raise a ValueError if powers of the largest entry's size overflow or underflow in a type."""
    limits = np.finfo(dtype)
    low, high = (float(limits.tiny) * 1e4) ** (1 / power), (float(limits.max) * 1e-4) ** (1 / power)
    if size and not low <= size <= high:
        raise ValueError(
            f"the largest entry of {name} in absolute value is {size:.3g}: its powers {'over' if size > 1 else 'under'}"
            f"flow. Scale {name}, so that its entries are near 1."
        )


def validate_factor(init: Any, n_features: int, rank: int, dtype: np.dtype, rows: str = "n_features") -> Matrix:
    """Return a given start as an array (d, r) of full column rank; `rows` is the name of d in errors."""
    factor = as_numbers("init", init).astype(dtype)
    if factor.shape != (n_features, rank):
        raise ValueError(f"init has shape {factor.shape}; expected ({rows}, rank) = ({n_features}, {rank}).")
    if not np.isfinite(factor).all():
        raise ValueError("init contains NaN or infinity.")
    found = np.linalg.matrix_rank(factor)
    if found < rank:
        raise ValueError(f"init has rank {found} but {rank} columns; a start must have full column rank.")
    return factor


def validate_weight(sample_weight: Any, n_samples: int, dtype: np.dtype, unit: str = "sample") -> Vector:
    """Return weights (n,), the largest of them 1; all 1 when not given. `unit` says in errors what they weigh."""
    if sample_weight is None:
        return np.ones(n_samples, dtype)
    weight = as_numbers("sample_weight", sample_weight)
    if weight.ndim == 0:
        weight = np.full(n_samples, weight)
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}; expected ({n_samples},), one for each {unit}.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] = {weight[bad[0]]}; weights must be finite and not negative.")
    if not weight.any():
        raise ValueError(f"sample_weight is zero for every {unit}; at least one must be positive.")
    return (weight / weight.max()).astype(dtype)


def validate_sense(sense: Any, n_samples: int) -> Vector:
    """Return senses (n,) of 0, -1, +1, from numbers or words, one for all or one per sample; all 0 when not given."""
    if sense is None:
        return np.zeros(n_samples, np.int8)
    check_kind("sense", sense)
    numeric = isinstance(sense, np.ndarray) and sense.dtype.kind == "i" and sense.shape == (n_samples,)
    if numeric and sense.min(initial=0) >= -1 and sense.max(initial=0) <= 1:
        return sense.astype(np.int8)
    given = np.atleast_1d(np.asarray(sense, dtype=object))
    numbers = [SENSES.get(x, x) if isinstance(x, str) else x for x in given.ravel().tolist()]
    bad = next((i for i, x in enumerate(numbers) if x not in (-1, 0, 1)), None)
    if bad is not None:
        raise ValueError(
            f"sense[{bad}] = {numbers[bad]!r} is unknown. Choose 0 or 'equal', -1 or 'at most', +1 or 'at least'."
        )
    if given.shape not in ((1,), (n_samples,)):
        raise ValueError(f"sense has shape {given.shape}; expected ({n_samples},), one for each sample.")
    return np.broadcast_to(np.array(numbers, np.int8), (n_samples,)).copy()


def as_canonical(X: Any) -> Any:
    """Return what is given; of a CSR or CSC matrix with unsorted entries or duplicates, a copy without them.

    Indices of other types than those of SciPy are converted.

    SciPy sorts entries and sums duplicates in place, in the caller's matrix, where it takes absolute values or minima.

    Examples
    --------
    >>> import scipy.sparse
    >>> from gramian.checks import as_canonical
    >>> X = scipy.sparse.csr_array(([1.0, 2.0], [1, 0], [0, 2]), shape=(1, 2))
    >>> as_canonical(X).indices.tolist(), X.indices.tolist()
    ([0, 1], [1, 0])
    """
    X = with_plain_indices(X)
    if getattr(X, "format", None) not in ("csr", "csc") or X.has_canonical_format:
        return X
    # Small integers would overflow.
    X = X.copy() if X.dtype in FLOATS else X.astype(np.float64)
    X.sum_duplicates()
    return X


def check_sparse(X: Any, name: str = "X") -> None:
    """Raise a ValueError unless the entries of a SciPy sparse matrix lie within it.

    SciPy does not check the arrays of a sparse matrix, and a product or a conversion reads and writes where they point.
    Call this before either.

    Parameters
    ----------
    X : sparse matrix or array, shape (n, d), of any format
    name : str
        How messages call it.

    Examples
    --------
    >>> import scipy.sparse
    >>> from gramian.checks import check_sparse
    >>> X = scipy.sparse.eye_array(3, format="csr")
    >>> X.indices[1] = 7
    >>> check_sparse(X)
    Traceback (most recent call last):
        ...
    ValueError: X.indices[1] = 7 is out of range: it must be at least 0 and below 3.
    """
    if X.format == "csr":
        check_csr(X.data, X.indices, X.indptr, X.shape, prefix=f"{name}.")
    elif X.format == "csc":
        check_csr(X.data, X.indices, X.indptr, X.shape[::-1], prefix=f"{name}.")
    elif X.format == "bsr":
        (n, d), (height, width) = X.shape, X.data.shape[1:] if X.data.ndim == 3 else (0, 0)
        if not height or not width or n % height or d % width:
            raise ValueError(f"{name}.data has shape {X.data.shape}; expected blocks that fill {(n, d)}.")
        check_csr(X.data[:, 0, 0], X.indices, X.indptr, (n // height, d // width), prefix=f"{name}.")
    elif X.format == "coo":
        for part, index, size in [("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])]:
            check_length(f"{name}.{part}", index, len(X.data), "one for each entry of data")
            check_bounds(f"{name}.{part}", index, size)
    elif X.format == "dia":
        check_length(f"{name}.offsets", X.offsets, len(X.data), "one for each row of data")


def check_csr(data: Vector, indices: Vector, indptr: Vector, shape: tuple[int, ...], prefix: str = "") -> None:
    """Raise a ValueError unless the parts of a CSR matrix fit together and its entries lie within it.

    Parameters
    ----------
    data, indices : array, shape (nnz,)
        The values, and their columns, in [0, d).
    indptr : array, shape (n + 1,)
        Row i has the entries indptr[i] .. indptr[i + 1] - 1: it starts at 0, does not decrease, and ends at nnz.
    shape : tuple of int
        (n, d)
    prefix : str
        Stands before the names of the parts in messages.
    """
    n, d = shape
    if n < 0 or d < 0:
        raise ValueError(f"{prefix}shape = {tuple(shape)} is negative.")
    if np.ndim(data) != 1:
        raise ValueError(f"{prefix}data has shape {np.shape(data)}; expected one dimension.")
    check_length(f"{prefix}indices", indices, len(data), "one for each entry of data")
    check_length(f"{prefix}indptr", indptr, n + 1, "one more than rows")
    if indptr[0] != 0:
        raise ValueError(f"{prefix}indptr[0] = {indptr[0]}; it must be 0.")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        i = int(falls[0])
        raise ValueError(f"{prefix}indptr[{i + 1}] = {indptr[i + 1]} is below the one before it, {indptr[i]}.")
    if indptr[-1] != len(data):
        raise ValueError(
            f"{prefix}indptr[{n}] = {indptr[-1]}; it must be the number of entries, {len(data)}. "
            "If there are unused entries at the end, call prune()."
        )
    check_bounds(f"{prefix}indices", indices, d)


def check_length(name: str, index: Any, length: int, meaning: str) -> None:
    """Raise a ValueError unless an index is an array of integers of a given length."""
    if not isinstance(index, np.ndarray) or index.dtype.kind not in "iu" or index.shape != (length,):
        kind = getattr(index, "dtype", type(index).__name__)
        raise ValueError(
            f"{name} is {kind} of shape {np.shape(index)}; expected integers of shape ({length},), {meaning}."
        )


def check_bounds(name: str, index: Vector, size: int) -> None:
    """Raise a ValueError that names the first index outside [0, size)."""
    if index.size and (index.min() < 0 or index.max() >= size):
        i = int(np.flatnonzero((index < 0) | (index >= size))[0])
        raise ValueError(f"{name}[{i}] = {index[i]} is out of range: it must be at least 0 and below {size}.")
