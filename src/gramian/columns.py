"""Fewer features for sparse samples: those that never occur are left out, those that occur once are joined.

The features that only one sample has matter through a single number: their weighted sum in that sample. So they are
joined into one feature, whose value is their norm. Products of samples stay the same, and a factor is lifted exactly.
More than half of the words of a collection of texts occur once. Defaults that depend on the number of features count
the fewer ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gramian.features import Sparse
from gramian.types import Matrix, Vector

__all__ = [
    "WIDE",
    "Columns",
    "Joined",
    "fewer_columns",
    "join_columns",
    "joins_columns",
    "keep_columns",
    "present_columns",
    "should_drop_absent",
]

#: Sparse data with more features than this has fewer of them, unless only a small share would be saved.
WIDE, MOST_PRESENT = 2000, 0.9
#: Features are joined if there are at most this number of entries for each: joining copies the entries. More than the
#: second number of features must be left: starts among fewer form a dense matrix of their moments, which takes longer.
MOST_ENTRIES, FEWEST = 32, 2000


class Columns(NamedTuple):
    """Sparse samples in fewer features.

    Attributes
    ----------
    features : Features
        The samples (n, k).
    indices : array of int, shape (m,)
        The features of the user that occur.
    n_features : int
        The number of features of the user, d.
    places : array of int, shape (m,), or None
        Which of the k features each of them belongs to; by default they are in this order.
    weights : array, shape (m,), or None
        The share of each in its place, by default 1.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from gramian.columns import Columns, present_columns
    >>> X = scipy.sparse.csr_array(np.eye(1, 5000, k=7))
    >>> columns = present_columns(X)
    >>> columns.features.shape, np.flatnonzero(columns.lift(np.ones((1, 1))))
    ((1, 1), array([7]))
    """

    features: Any
    indices: Vector
    n_features: int
    places: Vector | None = None
    weights: Vector | None = None

    def lift(self, G: Matrix) -> Matrix:
        """Return a factor (d, r) from that of the fewer features, (k, r): 0 for features that never occur."""
        lifted = np.zeros((self.n_features, G.shape[1]), G.dtype)
        if self.places is None or self.weights is None:
            lifted[self.indices] = G
        else:
            lifted[self.indices] = G[self.places] * self.weights[:, None].astype(G.dtype)
        return lifted


def present_columns(X: Any) -> Columns | None:
    """Return sparse X (n, d) without its zero columns; None if it has few features, or few of them are zero.

    The entries themselves are not copied.

    Examples
    --------
    >>> import scipy.sparse
    >>> from gramian.columns import present_columns
    >>> present_columns(scipy.sparse.eye_array(5000, format="csr")) is None
    True
    """
    d = X.shape[1]
    if d <= WIDE:
        return None
    present = np.zeros(d, bool)
    present[X.indices] = True
    indices = np.flatnonzero(present)
    return Columns(keep_columns(X, indices), indices, d) if should_drop_absent(indices, d) else None


def should_drop_absent(indices: Vector, n_features: int) -> bool:
    """Return True if features that never occur are worth leaving out: there are many of them."""
    return n_features > WIDE and 0 < len(indices) <= MOST_PRESENT * n_features


def keep_columns(X: Any, indices: Vector) -> Sparse:
    """Return CSR X (n, d) with the columns of ascending indices alone, which have all of its entries."""
    present = np.zeros(X.shape[1], bool)
    present[indices] = True
    places = np.cumsum(present, dtype=X.indices.dtype) - 1
    smaller = scipy.sparse.csr_array((X.data, places[X.indices], X.indptr), shape=(X.shape[0], len(indices)))
    return Sparse.of_checked(smaller)


def fewer_columns(X: Any, *, join: bool = True) -> Columns | None:
    """Return sparse X (n, d) with features that occur once joined, or without its zero columns; None if few are saved.

    With `join=False` they are not joined.

    Examples
    --------
    Each sample has three features of its own:

    >>> import numpy as np, scipy.sparse
    >>> from gramian.columns import fewer_columns
    >>> X = scipy.sparse.kron(scipy.sparse.eye_array(3000), np.ones((1, 3)), format="csr")
    >>> columns = fewer_columns(X)
    >>> columns.features.shape, columns.lift(np.ones((3000, 1))).shape
    ((3000, 3000), (9000, 1))
    >>> np.allclose(X @ columns.lift(np.ones((3000, 1))), columns.features.image(np.ones((3000, 1))))
    True
    """
    n, d = X.shape
    if join and n < d and X.nnz <= MOST_ENTRIES * d:
        counts = np.bincount(X.indices, minlength=d)
        if joins_columns(counts, n):
            return join_columns(X, counts, np.arange(n), n).columns(counts)
    return present_columns(X)


def joins_columns(counts: Vector, n_samples: int) -> bool:
    """Return True if features are worth joining, by the number of entries (d,) of each: many occur once."""
    present, fewer = np.count_nonzero(counts), np.count_nonzero(counts > 1) + n_samples
    return bool(FEWEST < fewer <= MOST_PRESENT * present and counts.sum() <= MOST_ENTRIES * present)


class Joined(NamedTuple):
    """Sparse samples with joined features, and which features were joined.

    Attributes
    ----------
    features : Sparse or BlockedFeatures
        The samples (n, k): the features that occur more often, then one for each sample of all blocks.
    indices, places, weights : array, shape (m,)
        As in `Columns`, of the features that are joined.
    """

    features: Any
    indices: Vector
    places: Vector
    weights: Vector

    def columns(self, counts: Vector) -> Columns:
        """Return the samples in fewer features, for the number of entries (d,) of each feature."""
        several = np.flatnonzero(counts > 1)
        return Columns(
            self.features,
            np.concatenate([several, self.indices]),
            len(counts),
            np.concatenate([np.arange(len(several)), self.places]),
            np.concatenate([np.ones(len(several)), self.weights]),
        )


def join_columns(X: Any, counts: Vector, numbers: Vector, n_samples: int) -> Joined:
    """Return CSR X (n, d) with the features that occur once joined into one for each sample.

    Parameters
    ----------
    X : sparse array, shape (n, d)
    counts : array of int, shape (d,)
        The number of entries of each feature, in all blocks of samples.
    numbers : array of int, shape (n,)
        The numbers of the samples among those of all blocks.
    n_samples : int
        The number of samples of all blocks.
    """
    n, n_several = X.shape[0], np.count_nonzero(counts > 1)
    rows, once = np.repeat(np.arange(n), np.diff(X.indptr)), counts[X.indices] == 1
    norms, shares = row_norms(X.data[once], rows[once], n)
    # Entries of other features keep their order; the joined one is the last of its row.
    edges = np.concatenate([[0], np.cumsum(np.bincount(rows[~once], minlength=n) + (norms > 0))])
    last = edges[1:][norms > 0] - 1
    data, indices = np.empty(edges[-1], X.dtype), np.empty(edges[-1], X.indices.dtype)
    others = np.ones(len(data), bool)
    others[last] = False
    data[others], data[last] = X.data[~once], norms[norms > 0]
    indices[others] = (np.cumsum(counts > 1) - 1)[X.indices[~once]]
    indices[last] = n_several + numbers[norms > 0]
    smaller = scipy.sparse.csr_array((data, indices, edges.astype(X.indptr.dtype)), shape=(n, n_several + n_samples))
    return Joined(Sparse.of_checked(smaller), X.indices[once], n_several + numbers[rows[once]], shares)


def row_norms(values: Vector, rows: Vector, n: int) -> tuple[Vector, Vector]:
    """Return the norms (n,) of the values (m,) of each row, and each value over that of its row, in float64."""
    # The unit, a power of two, changes no digit, and keeps squares in range.
    exponent = int(np.frexp(np.abs(values).max(initial=0))[1])
    values = np.ldexp(values.astype(np.float64), -exponent)
    norms = np.sqrt(np.bincount(rows, values**2, minlength=n))
    own = norms[rows]
    shares = np.divide(values, own, out=np.zeros_like(values), where=own > 0)
    return np.ldexp(norms, exponent), shares
