"""Checks of single arguments, for every layer. Errors say which argument, what came, and what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from gramian.types import Matrix, Vector

__all__ = ["as_numbers", "as_real", "checked_factor", "checked_number", "checked_sense", "checked_weight"]

SENSES = {"at most": -1, "equal": 0, "at least": 1}
#: The types that kernels are compiled for.
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def checked_number(
    name: str, value: Any, *, least: float, integer: bool = False, strict: bool = False, below: float | None = None
) -> None:
    """Raise a ValueError unless value is a finite number of the right kind, within its bounds."""
    kind = Integral if integer else Real
    wanted = f"{'an integer' if integer else 'a number'} {'above' if strict else 'of at least'} {least}"
    wanted += "" if below is None else f" and below {below}"
    fits = isinstance(value, kind) and not isinstance(value, bool) and np.isfinite(float(value))
    if not fits or value < least or (strict and value == least) or (below is not None and value >= below):
        raise ValueError(f"{name}={value!r} is not valid. Choose {wanted}.")


def as_numbers(name: str, value: Any) -> Vector:
    """Return a copy of value as an array of float64."""
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


def checked_factor(init: Any, n_features: int, rank: int, dtype: np.dtype) -> Matrix:
    """Return a given start as an array (d, r) of full column rank."""
    factor = as_numbers("init", init).astype(dtype)
    if factor.shape != (n_features, rank):
        raise ValueError(f"init has shape {factor.shape}; expected (n_features, rank) = ({n_features}, {rank}).")
    if not np.isfinite(factor).all():
        raise ValueError("init contains NaN or infinity.")
    found = np.linalg.matrix_rank(factor)
    if found < rank:
        raise ValueError(f"init has rank {found} but {rank} columns; a start must have full column rank.")
    return factor


def checked_weight(sample_weight: Any, n_samples: int, dtype: np.dtype) -> Vector:
    """Return weights (n,), the largest of them 1; all 1 when not given."""
    if sample_weight is None:
        return np.ones(n_samples, dtype)
    weight = as_numbers("sample_weight", sample_weight)
    if weight.ndim == 0:
        weight = np.full(n_samples, weight)
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}; expected ({n_samples},), one for each sample.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] = {weight[bad[0]]}; weights must be finite and not negative.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
    return (weight / weight.max()).astype(dtype)


def checked_sense(sense: Any, n_samples: int) -> Vector:
    """Return senses (n,) of 0, -1, +1, from numbers or words, one for all or one a sample; all 0 when not given."""
    if sense is None:
        return np.zeros(n_samples, np.int8)
    if isinstance(sense, np.ma.MaskedArray):
        raise ValueError("sense is a masked array. Fill its masked entries, or drop them.")
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
