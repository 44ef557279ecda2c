"""Preparation of published data for learning. Each function takes a Dataset and returns a new one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gramian.checks import as_random_state, check_number
from gramian.datasets.dataset import Dataset
from gramian.types import Vector

__all__ = [
    "arcsinh_transform",
    "drop_constant_columns",
    "drop_missing_and_duplicates",
    "log_transform",
    "resolve_random_state",
    "sample_classes",
]


def drop_constant_columns(dataset: Dataset) -> Dataset:
    """Return the data set without the features that take a single value."""
    varies = dataset.X.max(axis=0) > dataset.X.min(axis=0)
    names = tuple(name for name, kept in zip(dataset.feature_names, varies, strict=False) if kept)
    return replace(dataset, X=dataset.X[:, varies], feature_names=names)


def drop_missing_and_duplicates(dataset: Dataset) -> Dataset:
    """Return the data set without the samples that have NaN or repeat the features and label of an earlier one."""
    complete = np.flatnonzero(~np.isnan(dataset.X).any(axis=1))
    if not complete.size:
        raise ValueError("every sample has a missing value.")
    rows = np.column_stack([dataset.X, dataset.y])[complete]
    first = np.unique(rows, axis=0, return_index=True)[1]
    return renumber_labels(dataset.take(complete[np.sort(first)]))


def renumber_labels(dataset: Dataset) -> Dataset:
    """Return the data set with labels 0 .. classes-1, without gaps for classes that have no samples."""
    left, y = np.unique(dataset.y, return_inverse=True)
    return replace(dataset, y=y, target_names=tuple(dataset.target_names[k] for k in left if dataset.target_names))


def log_transform(dataset: Dataset) -> Dataset:
    """Return the data set with log X in place of X; raise a ValueError if X has a value that is not positive."""
    if not (dataset.X > 0).all():
        raise ValueError(f"{np.sum(~(dataset.X > 0))} of its values are not positive: they have no logarithm.")
    return replace(dataset, X=np.log(dataset.X))


def arcsinh_transform(dataset: Dataset, unit: float) -> Dataset:
    """Return the data set with arcsinh(X/unit) in place of X.

    This is linear for values well below the unit and logarithmic for values well above it, of either sign.
    """
    return replace(dataset, X=np.arcsinh(dataset.X / unit))


def sample_classes(dataset: Dataset, classes: tuple[int, ...], per_class: int, random_state: Any) -> Dataset:
    """Return random samples of some classes, `per_class` of each, without replacement, sorted by class; no split."""
    check_number("per_class", per_class, least=1, integer=True)
    rng = resolve_random_state(random_state)
    draw = partial(rng.choice, size=per_class, replace=False)
    rows = np.concatenate([np.sort(draw(class_indices(dataset, label, per_class))) for label in classes])
    return renumber_labels(replace(dataset, test=None).take(rows))


def resolve_random_state(random_state: Any) -> Any:
    """Return the Generator itself if one is given, else a RandomState: seeds must keep drawing the same samples."""
    return random_state if isinstance(random_state, np.random.Generator) else as_random_state(random_state)


def class_indices(dataset: Dataset, label: int, least: int) -> Vector:
    """Return the indices of the samples of a class; raise a ValueError if there are fewer than `least`."""
    found = np.flatnonzero(dataset.y == label)
    if len(found) < least:
        raise ValueError(f"per_class={least} exceeds the {len(found)} samples of class {label} in {dataset.name!r}.")
    return found
