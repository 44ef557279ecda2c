"""From the data as it was published to the data as it is learned from: one function a deed, Dataset to Dataset."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gramian.checks import checked_number
from gramian.datasets.dataset import Dataset
from gramian.types import Vector

__all__ = ["arcsinh", "complete_and_distinct", "logarithm", "sampled", "source", "without_constant_columns"]


def without_constant_columns(dataset: Dataset) -> Dataset:
    """The features that take more than one value."""
    varies = np.ptp(dataset.X, axis=0) > 0
    names = tuple(name for name, kept in zip(dataset.feature_names, varies, strict=False) if kept)
    return replace(dataset, X=dataset.X[:, varies], feature_names=names)


def complete_and_distinct(dataset: Dataset) -> Dataset:
    """The samples without NaN, once each: of those with the same features and label the first stays."""
    complete = np.flatnonzero(~np.isnan(dataset.X).any(axis=1))
    rows = np.column_stack([dataset.X, dataset.y])[complete]
    first = np.unique(rows, axis=0, return_index=True)[1]
    return renumbered(dataset.take(complete[np.sort(first)]))


def renumbered(dataset: Dataset) -> Dataset:
    """Labels 0 .. classes-1 again, where some classes are gone."""
    left, y = np.unique(dataset.y, return_inverse=True)
    return replace(dataset, y=y, target_names=tuple(dataset.target_names[k] for k in left if dataset.target_names))


def logarithm(dataset: Dataset) -> Dataset:
    """log X."""
    return replace(dataset, X=np.log(dataset.X))


def arcsinh(dataset: Dataset, unit: float) -> Dataset:
    """arcsinh(X/unit): linear well below the unit, logarithmic well above, whatever the sign."""
    return replace(dataset, X=np.arcsinh(dataset.X / unit))


def sampled(dataset: Dataset, classes: tuple[int, ...], per_class: int, random_state: Any) -> Dataset:
    """So many samples of each of some classes, drawn without replacement, class by class; no split."""
    checked_number("per_class", per_class, least=1, integer=True)
    rng = source(random_state)
    draw = partial(rng.choice, size=per_class, replace=False)
    rows = np.concatenate([np.sort(draw(members(dataset, label, per_class))) for label in classes])
    return renumbered(replace(dataset, test=None).take(rows))


def source(random_state: Any) -> Any:
    """What to draw from: a Generator as it is, else a RandomState, by which seeds have always been drawn here."""
    return random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)


def members(dataset: Dataset, label: int, least: int) -> Vector:
    """The numbers of a class's samples, if there are enough."""
    found = np.flatnonzero(dataset.y == label)
    if len(found) < least:
        raise ValueError(f"per_class={least} exceeds the {len(found)} samples of class {label} in {dataset.name!r}.")
    return found
