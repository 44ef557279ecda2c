"""The span of samples that are fewer than their features, and features that occur: nothing outside is ever seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gramian.execution import sum_totals
from gramian.features import Array, Centred, Features, Sparse
from gramian.mapped import columns_of
from gramian.types import Matrix, Vector

__all__ = ["Columns", "Span", "present_columns", "span_of"]

# So many columns are worked on at a time.
COLUMNS = 4096
# Squares of singular values below this share of the largest are computed from X itself.
SMALL_SQUARE = 1e-9
# Sparse data with more features than this is rid of those that are always 0, unless they are few.
WIDE, MOST_PRESENT = 2000, 0.9


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


class Columns(NamedTuple):
    """Sparse samples without the features that are 0 in all of them.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from gramian.span import Columns, present_columns
    >>> X = scipy.sparse.csr_array(np.eye(1, 5000, k=7))
    >>> columns = present_columns(X)
    >>> columns.features.shape, np.flatnonzero(columns.lift(np.ones((1, 1))))
    ((1, 1), array([7]))
    """

    features: Sparse
    indices: Vector
    n_features: int

    def lift(self, G: Matrix) -> Matrix:
        """Return a factor (d, r) from that of the present features, (k, r): 0 for the others."""
        lifted = np.zeros((self.n_features, G.shape[1]), G.dtype)
        lifted[self.indices] = G
        return lifted


def present_columns(X: Any) -> Columns | None:
    """Return sparse X (n, d) without its zero columns; None if it has few features, or few of them are zero.

    The entries themselves are not copied.

    Examples
    --------
    >>> import scipy.sparse
    >>> from gramian.span import present_columns
    >>> present_columns(scipy.sparse.eye_array(5000, format="csr")) is None
    True
    """
    d = X.shape[1]
    if d <= WIDE:
        return None
    present = np.zeros(d, bool)
    present[X.indices] = True
    indices = np.flatnonzero(present)
    if len(indices) > MOST_PRESENT * d or not len(indices):
        return None
    places = np.cumsum(present, dtype=X.indices.dtype) - 1
    smaller = scipy.sparse.csr_array((X.data, places[X.indices], X.indptr), shape=(X.shape[0], len(indices)))
    return Columns(Sparse.of_checked(smaller), indices, d)


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


def sparse_left_singular_vectors(features: Features) -> tuple[Matrix, Vector]:
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
    return V[:, ::-1], np.sqrt(np.where(values > rounding, values, 0))[::-1]


def left_singular_vectors(features: Features) -> tuple[Matrix, Vector]:
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
        return V, sigma
    return V[:, ::-1], np.sqrt(np.where(values > rounding, values, 0))[::-1]
