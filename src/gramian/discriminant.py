"""First factors from class labels: linear discriminants, and the span of few samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from gramian.features import Array, Features
from gramian.objective.terms import sum_of
from gramian.types import Matrix, Vector

__all__ = ["discriminants", "principal_directions", "span"]

# The share of the identity in the covariance within classes: it keeps many features from overfitting.
RIDGE = 0.2
# Above this many features, discriminants are looked for among so many principal directions.
LARGEST_COVARIANCE = 2000
PRINCIPAL = 200
ROWS = 4096
# Squares of singular values below this share of the largest are computed from X itself.
SMALL_SQUARE = 1e-9


def principal_directions(features: Features, rank: int, rng: np.random.Generator) -> Matrix:
    """The leading right singular vectors of X, (d, r), about the origin; sparse data is never made dense."""
    n, d = features.shape
    if d <= LARGEST_COVARIANCE:
        moment = features.pull(features.dense())
        return np.ascontiguousarray(np.linalg.eigh(moment)[1][:, ::-1][:, :rank])
    # A randomised range: three rounds of products, enough for a start.
    Q = rng.standard_normal((d, min(rank + 20, n, d))).astype(features.dtype)
    for _ in range(3):
        Q = np.linalg.qr(features.pull(features.image(Q)))[0]
    right = np.linalg.svd(features.image(Q), full_matrices=False)[2]
    return np.ascontiguousarray((Q @ right.T)[:, :rank])


def discriminants(features: Features, labels: Vector, rank: int, rng: np.random.Generator) -> Matrix:
    """Fisher's discriminants (d, r), of unit variance within classes; beyond classes - 1, principal ones."""
    d = features.shape[1]
    if d > LARGEST_COVARIANCE:
        basis = principal_directions(features, max(PRINCIPAL, rank), rng)
        return basis @ discriminants(features.restrict(basis), labels, rank, rng)
    within, between = covariances(features, labels)
    # Where classes do not vary at all, a little of what varies between them.
    size = max(float(np.trace(within)), 1e-6 * float(np.trace(between))) / d
    within = (1 - RIDGE) * within + (max(RIDGE, 1e-9) * size if size > 0 else 1.0) * np.eye(d)
    found = min(rank, len(np.unique(labels)) - 1, d)
    directions = scipy.linalg.eigh(between, within, subset_by_index=[d - found, d - 1])[1][:, ::-1]
    if found < rank:
        directions = np.hstack([directions, filled(within + between, within, directions, rank - found)])
    return np.ascontiguousarray(directions.astype(features.dtype))


def covariances(features: Features, labels: Vector) -> tuple[Matrix, Matrix]:
    """Covariance matrices (d, d) within and between classes, in float64."""
    n, d = features.shape
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    indicator = np.zeros((n, len(counts)))
    indicator[np.arange(n), codes] = 1
    means = (features.pull(indicator) / counts).T
    mean = counts @ means / n
    between = ((means - mean).T * counts) @ (means - mean) / n
    within = np.zeros((d, d))
    # About the class means, some rows at a time: a difference of large moments would lose its digits.
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        away = features.take(rows).dense() - means[codes[rows]]
        within += away.T @ away / n
    return within, between


def filled(total: Matrix, within: Matrix, directions: Matrix, missing: int) -> Matrix:
    """The leading principal directions orthogonal to those given, of a third of their length within classes."""
    Q = np.linalg.qr(directions)[0]
    away = np.eye(len(Q)) - Q @ Q.T
    leading = np.linalg.eigh(away @ total @ away)[1][:, ::-1][:, :missing]
    return leading / (3 * np.sqrt(np.einsum("ij,ik,kj->j", leading, within, leading)))


class Span(NamedTuple):
    """Samples fewer than their features, in orthonormal coordinates of their span.

    With X Xᵀ = V σ² Vᵀ the basis is Xᵀ V/σ, and the samples in it are V σ: neither needs a decomposition of X.
    """

    features: Array
    whole: Array
    weights: Matrix

    def lift(self, G: Matrix) -> Matrix:
        """A factor (d, r) from that in the coordinates of the span, (k, r)."""
        return np.ascontiguousarray(self.whole.pull((self.weights @ G).astype(self.whole.dtype)))


def span(features: Features) -> Span | None:
    """The span of the samples, where they are fewer than the features and not all 0; else None."""
    n, d = features.shape
    if n >= d or not isinstance(features, Array):
        return None
    V, sigma = left_singular(features.X)
    kept = sigma > max(n, d) * float(np.finfo(features.dtype).eps) * sigma[0]
    if not kept.any():
        return None
    V, sigma = V[:, kept], sigma[kept]
    return Span(Array(np.ascontiguousarray((V * sigma).astype(features.dtype))), features, V / sigma)


def left_singular(X: Matrix) -> tuple[Matrix, Vector]:
    """Left singular vectors (n, n) and values, falling, of centred X (n, d), n < d: from X Xᵀ where that can tell."""
    n, d = X.shape
    parts = (X[:, start : start + ROWS].astype(np.float64, copy=False) for start in range(0, d, ROWS))
    values, V = np.linalg.eigh(sum_of([part @ part.T for part in parts]))
    rounding = n * float(np.finfo(np.float64).eps) * values[-1]
    # A square has half the digits: what is small in it may be rounding or not, but for the one that centring made 0.
    if X.dtype == np.float64 and values[min(1, n - 1)] < SMALL_SQUARE * values[-1]:
        V, sigma, _ = np.linalg.svd(X, full_matrices=False)
        return V, sigma
    return V[:, ::-1], np.sqrt(np.where(values > rounding, values, 0))[::-1]
