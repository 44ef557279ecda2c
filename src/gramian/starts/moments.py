"""Sums over samples that starts are made of, through an execution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gramian.execution import Execution, Shards, beside
from gramian.features import Features
from gramian.types import Matrix, Vector

__all__ = ["Rows", "class_moments", "place_rows", "second_moment"]

# So many rows are made dense at a time.
ROWS = 4096


class Rows(NamedTuple):
    """Some samples, and what belongs to each of them."""

    features: Features
    values: Any = None


def place_rows(features: Features, execution: Execution, values: Sequence[Any] | Vector | None = None) -> Shards:
    """Place the samples in pieces of some thousand rows, with their values (n,) if there are any."""
    if hasattr(features, "place_with"):
        return features.place_with(cut_rows, values)
    return execution.place(cut_rows(features, values))


def cut_rows(features: Features, values: Any = None) -> list[Rows]:
    """Return the samples in pieces of some thousand rows, with their values (n,) if there are any."""
    n = features.shape[0]
    cuts = [slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]
    return [Rows(features.take(cut), None if values is None else values[cut]) for cut in cuts]


def second_moment(features: Features, execution: Execution) -> Matrix:
    """Return Xᵀ X, shape (d, d)."""
    execution = beside(features, execution)
    return execution.run(sum_products, place_rows(features, execution))[1]


def sum_products(rows: Rows) -> tuple[None, Matrix]:
    """Sum Xᵀ X."""
    return None, rows.features.pull(rows.features.dense())


class ClassMoments(NamedTuple):
    """The covariance (d, d) within classes, and B (d, c) with the covariance B Bᵀ between them, in float64."""

    within: Matrix
    between: Matrix


def class_moments(features: Features, labels: Vector, execution: Execution) -> ClassMoments:
    """Return the covariance within the classes of labels (n,), and a factor of that between them; two passes."""
    n, execution = features.shape[0], beside(features, execution)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shards = place_rows(features, execution, codes)
    means = execution.run(sum_classes, shards, n_classes=len(counts))[1].T / counts[:, None]
    mean = counts @ means / n
    between = (means - mean).T * np.sqrt(counts / n)
    # About the class means: a difference of large moments would lose its digits.
    within = execution.run(sum_scatter, shards, means=means)[1] / n
    return ClassMoments(within, between)


def sum_classes(rows: Rows, *, n_classes: int) -> tuple[None, Matrix]:
    """Sum the samples of each class, (d, c)."""
    indicator = np.zeros((len(rows.values), n_classes))
    indicator[np.arange(len(rows.values)), rows.values] = 1
    return None, rows.features.pull(indicator)


def sum_scatter(rows: Rows, *, means: Matrix) -> tuple[None, Matrix]:
    """Sum the outer products of the samples less the means (c, d) of their classes."""
    away = rows.features.dense() - means[rows.values]
    return None, away.T @ away
