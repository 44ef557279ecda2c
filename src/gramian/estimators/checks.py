"""Input, checked once, at the estimators' door. Errors say which argument, what came, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from gramian.checks import checked_number
from gramian.geometries import GEOMETRIES, Geometry
from gramian.types import Matrix, Vector

__all__ = [
    "check_scale",
    "checked_callback",
    "checked_factor",
    "checked_rank",
    "checked_sense",
    "checked_weight",
    "chosen",
    "unchanged_on_failure",
]

Kind = TypeVar("Kind")
SENSES = {"at most": -1, "equal": 0, "at least": 1}


def chosen(name: str, value: Any, registry: Mapping[str, type[Kind]], kind: type[Kind]) -> Kind:
    """An object given as itself or by its name in a registry."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in registry:
        return registry[value]()
    if isinstance(value, type) and issubclass(value, kind):
        raise ValueError(f"{name}={value.__name__} is a class. Give an object: {value.__name__}().")
    names = ", ".join(repr(known) for known in registry)
    raise ValueError(f"{name}={value!r} is unknown. Choose one of {names}, or a {kind.__name__} object.")


def check_scale(geometry: Geometry) -> None:
    """A ValueError for geometries whose matrices have no scale, where distances need one."""
    if geometry.bounded:
        raise ValueError(f"geometry={geometry!r} has no scale. Choose 'scaled', 'flat' or 'polar'.")


def checked_callback(callback: Any) -> None:
    """A ValueError unless it can be called, or is None."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r} cannot be called. Give a function of one argument, or None.")


def checked_rank(rank: Any, n_features: int, geometry: Geometry) -> int:
    """The rank, None being full rank."""
    if rank is None:
        return n_features
    checked_number("rank", rank, least=1, integer=True)
    if rank > n_features:
        raise ValueError(f"rank={rank} exceeds n_features={n_features}. Choose rank <= {n_features}.")
    if geometry.full_rank and rank != n_features:
        name = next((key for key, known in GEOMETRIES.items() if type(geometry) is known), repr(geometry))
        raise ValueError(
            f"geometry={name!r} learns full-rank matrices, but rank={rank} and n_features={n_features}. "
            "Choose rank=None, or geometry='scaled', 'flat' or 'polar'."
        )
    return int(rank)


def checked_factor(init: Any, n_features: int, rank: int, dtype: np.dtype) -> Matrix:
    """A given start, (d, r)."""
    factor = as_numbers("init", init).astype(dtype)
    if factor.shape != (n_features, rank):
        raise ValueError(f"init has shape {factor.shape}; expected (n_features, rank) = ({n_features}, {rank}).")
    if not np.isfinite(factor).all():
        raise ValueError("init contains NaN or infinity.")
    found = np.linalg.matrix_rank(factor)
    if found < rank:
        raise ValueError(f"init has rank {found} but {rank} columns; a start must have full column rank.")
    return factor


def as_numbers(name: str, value: Any) -> Vector:
    """A copy of value as an array of float64."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as numbers: {error}.") from error


def checked_weight(sample_weight: Any, n_samples: int, dtype: np.dtype) -> Vector:
    """Weights (n,), the largest of them 1; one each when not given."""
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
    """Senses (n,) of 0, -1, +1, from numbers or words, one or one for each sample; all equal when not given."""
    if sense is None:
        return np.zeros(n_samples, np.int8)
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


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Whatever interrupts the block, the estimator is left as it was before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
