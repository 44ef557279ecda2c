"""The span of samples that are fewer than their features: nothing outside of it is ever seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramian.execution import sum_totals
from gramian.features import Array, Centred, Features, Sparse
from gramian.mapped import columns_of
from gramian.types import Matrix, Vector

__all__ = [
    "LEAST_SPREAD",
    "Span",
    "complete_factor",
    "leading_factor",
    "principal_components",
    "span_of",
]

# The number of columns that are worked on at a time.
COLUMNS = 4096
# Squares of singular values below this share of the largest are computed from X itself.
SMALL_SQUARE = 1e-9
#: A direction counts if it has at least this share of the largest standard deviation.
LEAST_SPREAD = 1e-6
# The length of columns that complete a factor, beside its smallest singular value; and the largest number of features
# for which they are those of a full decomposition.
SMALL_COLUMN, LARGEST_COMPLETED = 1e-4, 5000


class Span(NamedTuple):
    """Samples fewer than their features, in orthonormal coordinates of their span.

    With X Xᵀ = V σ² Vᵀ the basis is Xᵀ V/σ, and the samples in it are V σ: neither needs a decomposition of X.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.span import span_of
    >>> from gramian.features import Array
    >>> span = span_of(Array(np.array([[3.0, 4.0]])))
    >>> np.abs(span.lift(np.eye(1))).ravel()  # one sample spans its own direction
    array([0.6, 0.8])
    """

    features: Array
    whole: Features
    weights: Matrix

    def lift(self, G: Matrix) -> Matrix:
        """Return a factor (d, r) from that in the coordinates of the span, (k, r)."""
        return np.ascontiguousarray(self.whole.pull((self.weights @ G).astype(self.whole.dtype)))


def span_of(features: Features, *, sparse: bool = False) -> Span | None:
    """Return the span of the samples, where they are fewer than the features and not all 0; else None.

    That of sparse samples is returned if `sparse` is True. In it they are dense, n numbers each.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.span import span_of
    >>> from gramian.features import Array
    >>> span_of(Array(np.array([[3.0, 4.0]]))).features.shape, span_of(Array(np.eye(2)))
    ((1, 1), None)
    """
    n, d = features.shape
    # Samples on workers stay there.
    if n >= d or not (features.sliceable or sparse) or hasattr(features, "execution"):
        return None
    V, sigma = left_singular_vectors(features) if features.sliceable else sparse_left_singular_vectors(features)
    kept = sigma > max(n, d) * float(np.finfo(features.dtype).eps) * sigma[0]
    if not kept.any():
        return None
    V, sigma = V[:, kept], sigma[kept]
    return Span(Array(np.ascontiguousarray((V * sigma).astype(features.dtype))), features, V / sigma)


class LeftVectors(NamedTuple):
    """Left singular vectors (n, n) of samples (n, d), and their singular values (n,), descending."""

    vectors: Matrix
    values: Vector


def sparse_left_singular_vectors(features: Features) -> LeftVectors:
    """Return left singular vectors (n, n) and values, descending, of sparse X (n, d), centred or not, from X Xᵀ."""
    stored = features.features if isinstance(features, Centred) else features
    assert isinstance(stored, Sparse)
    X = stored.X.astype(np.float64)
    gram = (X @ X.T).toarray()
    if isinstance(features, Centred):
        mean = features.mean.astype(np.float64)
        mixed = X @ mean
        gram += float(mean @ mean) - mixed[:, None] - mixed
    values, V = np.linalg.eigh(gram)
    rounding = len(gram) * float(np.finfo(np.float64).eps) * max(float(values[-1]), 0.0)
    return LeftVectors(V[:, ::-1], np.sqrt(np.where(values > rounding, values, 0))[::-1])


def left_singular_vectors(features: Features) -> LeftVectors:
    """Return left singular vectors (n, n) and values, descending, of centred X (n, d), n < d.

    They come from X Xᵀ, where that has the digits.
    """
    n, d = features.shape
    cuts = (slice(start, start + COLUMNS) for start in range(0, d, COLUMNS))
    parts = (columns_of(features, cut).astype(np.float64, copy=False) for cut in cuts)
    values, V = np.linalg.eigh(sum_totals(part @ part.T for part in parts))
    rounding = n * float(np.finfo(np.float64).eps) * values[-1]
    # A square has half the digits: what is small in it may be rounding or not, but for the one that centring made 0.
    if features.dtype == np.float64 and values[min(1, n - 1)] < SMALL_SQUARE * values[-1]:
        V, sigma, _ = np.linalg.svd(features.dense(), full_matrices=False)
        return LeftVectors(V, sigma)
    return LeftVectors(V[:, ::-1], np.sqrt(np.where(values > rounding, values, 0))[::-1])


def leading_factor(factor: Matrix, covariance: Matrix, rank: int | None) -> Matrix:
    """Return the factor (d, r) of the leading principal components of mapped samples X G, for G (d, k), k >= r.

    `covariance` (k, k) is that of the mapped samples. Directions in which they do not vary are replaced by small ones
    that are orthogonal to all others. None stands for r = k.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.span import leading_factor
    >>> np.abs(leading_factor(np.eye(2), np.diag([1.0, 9.0]), 1)).ravel()
    array([0., 1.])
    """
    values, reduced = principal_components(factor, covariance, rank)
    n_kept = int(np.sum(values > LEAST_SPREAD**2 * values[0])) if values[0] > 0 else 0
    return reduced if n_kept == len(values) else complete_factor(reduced[:, :n_kept], len(values))


class Components(NamedTuple):
    """Variances (r,) of principal components, descending, and the factor (d, r) that maps samples to them."""

    variances: Vector
    factor: Matrix


def principal_components(factor: Matrix, covariance: Matrix, rank: int | None) -> Components:
    """Return the leading principal components of mapped samples X G of a covariance (k, k); None stands for all k."""
    values, vectors = np.linalg.eigh(covariance)
    kept = slice(None, None, -1) if rank is None else slice(None, -rank - 1, -1)
    return Components(values[kept], np.ascontiguousarray(np.dot(factor, vectors[:, kept].astype(factor.dtype))))


def complete_factor(G: Matrix, rank: int) -> Matrix:
    """Return a factor (d, r) with further columns, orthogonal to the others and so small that they hardly matter.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.span import complete_factor
    >>> np.abs(complete_factor(np.array([[0.0], [2.0]]), 2))
    array([[0.e+00, 2.e-04],
           [2.e+00, 0.e+00]])
    """
    d, r = G.shape
    small = SMALL_COLUMN * (float(np.linalg.svd(G, compute_uv=False)[-1]) if r else 1.0)
    if d <= LARGEST_COMPLETED:
        further = np.linalg.qr(G, mode="complete")[0][:, r:rank]
    else:
        random = np.random.default_rng(0).standard_normal((d, rank - r))
        further = np.linalg.qr(np.hstack([G, random]))[0][:, r:]
    return np.hstack([G, (small * further).astype(G.dtype)])
