"""Checks of the parts of a model after it was built: what compiled code reads must have the sizes that it expects."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree

from gramian.execution import Threads

__all__ = ["check_parts", "walk"]

# States of bit generators that are positions: the name and the largest value.
POSITIONS = {"pos": 624, "buffer_pos": 4}


def check_parts(estimator: BaseEstimator) -> None:
    """Raise a ValueError if a part of an estimator does not fit the others."""
    for part in walk(estimator):
        if isinstance(part, np.random.Generator):
            check_positions(dict(part.bit_generator.state))
        elif isinstance(part, np.random.RandomState):
            check_positions(dict(part.get_state(legacy=False)))
        elif isinstance(part, KDTree | BallTree):
            check_tree(part)
        elif type(part).__module__.startswith("gramian."):
            check_own(part)


def walk(root: Any) -> list[Any]:
    """Return the objects that an object is made of, itself included; arrays and plain values are left out."""
    found, waiting, seen = [], [root], set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, np.ndarray | np.generic | str | bytes | int | float | type | None) or id(part) in seen:
            continue
        seen.add(id(part))
        found.append(part)
        if isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif not scipy.sparse.issparse(part):
            waiting += getattr(part, "__dict__", {}).values()
    return found


def check_positions(state: dict[str, Any]) -> None:
    """Raise a ValueError if a position in the state of a random generator lies outside: NumPy reads there."""
    for values in (state, state.get("state", {})):
        for name, largest in POSITIONS.items():
            if name in values and not 0 <= int(values[name]) <= largest:
                raise ValueError(f"a random generator has the position {values[name]}")


def check_tree(tree: Any) -> None:
    """Raise a ValueError unless a tree of nearest neighbours is the one that its data gives."""
    data, order, nodes, bounds, leaf_size, n_levels, n_nodes, *_, metric, weights = tree.__getstate__()
    own = [order, nodes, bounds, n_levels, n_nodes]
    if weights is not None:
        raise ValueError("a tree of nearest neighbours has weights, which are not stored")
    _, order, nodes, bounds, _, n_levels, n_nodes, *_ = type(tree)(
        data, leaf_size=leaf_size, metric=metric
    ).__getstate__()
    pairs = zip(own, [order, nodes, bounds, n_levels, n_nodes], strict=True)
    if not all(np.array_equal(left, right) for left, right in pairs):
        raise ValueError("a tree of nearest neighbours does not fit its samples")


def check_own(part: Any) -> None:
    """Raise a ValueError if an object of gramian has a setting or an array that does not fit."""
    if isinstance(part, BaseEstimator):
        check_settings(part)
        check_shapes(part)
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        fill_fields(part)
        # The constructor checks them.
        dataclasses.replace(part)
    elif isinstance(part, Threads) and (vars(part).keys() != {"n", "_pool"} or part._pool is not None):
        raise ValueError("a Threads has other settings than it takes")


def fill_fields(part: Any) -> None:
    """Give a dataclass of an earlier version the fields that are new, and refuse those that are not known."""
    name, held = type(part).__name__, vars(part)
    fields = {field.name: field for field in dataclasses.fields(part)}
    if held.keys() - fields.keys():
        raise ValueError(f"a {name} has other settings than it takes")
    for key, field in fields.items():
        if not field.init or key in held:
            continue
        if field.default is not dataclasses.MISSING:
            default = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        else:
            raise ValueError(f"a {name} lacks the setting {key}")
        # Frozen dataclasses refuse assignments.
        object.__setattr__(part, key, default)


def check_settings(estimator: BaseEstimator) -> None:
    """Give an estimator of an earlier version the settings that are new, and refuse those that are not known."""
    parameters = inspect.signature(type(estimator).__init__).parameters
    known = {name: value.default for name, value in parameters.items() if name != "self"}
    held = vars(estimator)
    unknown = [name for name in held if name not in known and not name.endswith("_") and not name.startswith("_")]
    if unknown:
        raise ValueError(f"{type(estimator).__name__} has the setting {unknown[0][:80]!r}, which this version has not")
    for name, default in known.items():
        if name not in held:
            if default is inspect.Parameter.empty:
                raise ValueError(f"{type(estimator).__name__} lacks the setting {name}")
            setattr(estimator, name, default)


def check_shapes(estimator: BaseEstimator) -> None:
    """Raise a ValueError if learned arrays are not numbers, or do not fit together or the number of features."""
    held = vars(estimator)
    d = held.get("n_features_in_")
    name = type(estimator).__name__
    if d is not None and (not isinstance(d, int | np.integer) or d < 1):
        told = d if isinstance(d, int | np.integer) else f"of type {type(d).__name__}"
        raise ValueError(f"{name} has n_features_in_ {told}")
    arrays = {key: held[key] for key in ("components_", "factor_", "embedding_", "coefficients_") if key in held}
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.ndim != 2:
            raise ValueError(f"{name} has {key} that is no matrix of numbers")
    if "components_" in arrays and d is not None and arrays["components_"].shape[1] != d:
        raise ValueError(f"{name} has components_ of shape {arrays['components_'].shape}, but {d} features")
    if {"components_", "factor_"} <= arrays.keys() and arrays["components_"].shape != arrays["factor_"].shape[::-1]:
        raise ValueError(f"{name} has components_ and factor_ of different shapes")
    samples = held.get("_samples")
    if samples is not None and (getattr(samples, "ndim", 0) != 2 or (d is not None and samples.shape[1] != d)):
        raise ValueError(f"{name} has samples of other features")
    if samples is not None and "coefficients_" in arrays and len(arrays["coefficients_"]) != samples.shape[0]:
        raise ValueError(f"{name} has coefficients of other samples")
    stream = held.get("_stream")
    if stream is not None and hasattr(stream, "frame"):
        check_subspace(stream, name)


def check_subspace(stream: Any, name: str) -> None:
    """Raise a ValueError unless the arrays of a stream of samples fit together: a compiled kernel updates them."""
    if not all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in stream):
        raise ValueError(f"{name} has a stream that is not numbers")
    d, r = stream.frame.shape if stream.frame.ndim == 2 else (0, 0)
    expected = ((d, r), (r, r), (d,), (d,), (3,))
    if tuple(array.shape for array in stream) != expected or d < 1:
        raise ValueError(f"{name} has a stream whose parts do not fit together")
