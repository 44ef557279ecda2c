"""Sums over samples that starts are made of, through an execution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gramian.execution import Execution, Shards, execution_for
from gramian.features import Features
from gramian.types import Matrix, Vector

__all__ = ["Rows", "class_moments", "place_rows", "second_moment"]

# The number of rows that are made dense at a time.
ROWS = 4096
# The centre of a class is the mean of some of its samples: the largest number for a class, and that for all classes.
SAMPLED, MOST_SAMPLED = 64, 2**14


class Rows(NamedTuple):
    """Some samples, and what belongs to each of them."""

    features: Features
    values: Any = None


def place_rows(features: Features, execution: Execution, values: Sequence[Any] | Vector | None = None) -> Shards:
    """Place the samples in pieces of some thousand rows, with their values (n,) if there are any."""
    if hasattr(features, "place_with"):
        return features.place_with(cut_rows, values)
    return execution.place(cut_rows(features, values))


def cut_rows(features: Features, values: Any) -> list[Rows]:
    """Return the samples in pieces of some thousand rows, with their values (n,) if there are any."""
    n = features.shape[0]
    cuts = [slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]
    return [Rows(features.take(cut), None if values is None else values[cut]) for cut in cuts]


def second_moment(features: Features, execution: Execution) -> Matrix:
    """Return Xᵀ X, shape (d, d)."""
    execution = execution_for(features, execution)
    return execution.run(sum_products, place_rows(features, execution))[1]


def sum_products(rows: Rows) -> tuple[None, Matrix]:
    """Sum Xᵀ X."""
    return None, rows.features.pull(rows.features.dense())


class ClassMoments(NamedTuple):
    """The covariance (d, d) within classes, and B (d, c) with the covariance B Bᵀ between them, in float64."""

    within: Matrix
    between: Matrix


def class_moments(features: Features, labels: Vector, execution: Execution) -> ClassMoments:
    """Return the covariance within the classes of labels (n,), and a factor of that between them; one pass.

    With c the mean of some samples of a class, and s the sum of x - c over all n of them, the scatter of the class is
    Σ (x - c)(x - c)ᵀ - s sᵀ/n. As c is near the mean, the difference loses no digits.
    """
    n, execution = features.shape[0], execution_for(features, execution)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    # The centres are taken away in the dtype of the data, where they must be the same numbers.
    centres = sample_means(features, codes, counts).astype(features.dtype).astype(np.float64)
    shards = place_rows(features, execution, codes)
    sums = execution.run(sum_scatter, shards, centres=centres)[1]
    scatter, away = sums[: len(centres.T)], sums[len(centres.T) :]
    means = centres + away / counts[:, None]
    between = (means - counts @ means / n).T * np.sqrt(counts / n)
    return ClassMoments((scatter - (away / counts[:, None]).T @ away) / n, between)


def sample_means(features: Features, codes: Vector, counts: Vector) -> Matrix:
    """Return the means (c, d) of some samples of each class, in float64; codes (n,) are the numbers of the classes."""
    each = max(1, min(SAMPLED, MOST_SAMPLED // len(counts)))
    taken = np.minimum(counts, each)
    owners = np.repeat(np.arange(len(counts)), taken)
    place = np.arange(len(owners)) - np.repeat(np.cumsum(taken) - taken, taken)
    starts = np.cumsum(counts) - counts
    # Evenly spaced among the samples of a class, in their order.
    chosen = np.argsort(codes, kind="stable")[starts[owners] + place * counts[owners] // taken[owners]]
    order = np.argsort(chosen)
    rows, owners = features.take(chosen[order]).dense().astype(np.float64), owners[order]
    return (indicator_of(owners, len(counts)).T @ rows) / taken[:, None]


def indicator_of(codes: Vector, n_classes: int) -> Any:
    """Return a sparse matrix (n, c) with a 1 in the column of each code."""
    n = len(codes)
    return scipy.sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, n_classes))


def sum_scatter(rows: Rows, *, centres: Matrix) -> tuple[None, Matrix]:
    """Sum the outer products (d, d) of samples less the centres (c, d) of their classes; below, their sums (c, d)."""
    # Products of float32 data take half the time of float64, and are of few rows; the pieces are added in float64.
    away = rows.features.dense() - centres.astype(rows.features.dtype)[rows.values]
    sums = indicator_of(rows.values, len(centres)).T @ away
    return None, np.vstack([away.T @ away, sums]).astype(np.float64, copy=False)
