"""Features: classes that store the data matrix X, shape (N, d), with one row per sample.

An algorithm reads the data through two products only: `image`, which is X B, and `pull`, which is Xᵀ S. Each is one
**pass** over the data. All other work is done on the image Z = X G, which has r columns instead of d.

To add a way to store data, write a class with the methods of `Features`. It needs no base class and no registration.

Legend, here and elsewhere: d features, r rank, m measurements, N samples, W = G Gᵀ, Z = X G, M = Σ slope_i X_i.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse

from gramian._kernels.rows import StoredRows, dense_rows, sparse_rows
from gramian._kernels.sparse import LEAST_COLUMNS, multiply_sparse, to_csr
from gramian.checks import as_canonical, check_sparse
from gramian.types import Matrix, Rows, Vector

__all__ = ["Array", "Centred", "Features", "Identity", "Sparse", "as_features"]


class Features(Protocol):
    """The interface of a data matrix X, shape (N, d), as the objective uses it.

    Examples
    --------
    >>> from gramian.features import Features, Identity  # Identity(2) has the methods of Features
    >>> Identity(2).shape
    (2, 2)
    """

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features, (N, d)."""

    @property
    def dtype(self) -> np.dtype:
        """The dtype of X, float32 or float64."""

    def image(self, B: Matrix) -> Matrix:
        """Return X B, shape (N, k); one pass.

        Parameters
        ----------
        B : array, shape (d, k)
            One row per feature, for example a factor, a frame or a direction. k is small.
        """

    def pull(self, S: Matrix) -> Matrix:
        """Return Xᵀ S, shape (d, k); one pass.

        Parameters
        ----------
        S : array, shape (N, k)
            One row per sample, for example what `Measurement.weigh` returns.
        """

    @property
    def n_pieces(self) -> int:
        """The number of pieces of rows into which a product is split for threads; 1 if splitting does not pay."""

    @property
    def sliceable(self) -> bool:
        """True if `take` with a slice copies no data."""

    def take(self, rows: Rows) -> Features:
        """Return the features of some samples, shape (n_rows, d).

        Parameters
        ----------
        rows : slice or array of int
            Indices of the samples, in the order of the new rows. An index may occur several times.
        """

    def dense(self) -> Matrix:
        """Return X as a dense array, shape (N, d). Sparse features are made dense, so call it on few rows."""

    def stored_rows(self, *, differences: bool) -> StoredRows | None:
        """Return the rows as flat arrays for compiled loops, or None if they are not stored.

        Parameters
        ----------
        differences : bool
            True if the caller reads only differences of rows. The rows may then differ from X by a constant row.
        """


# The least number of rows for which a thread is worth starting, and the largest number of pieces.
ROWS_PER_PIECE, MOST_PIECES = 1024, 16
# The pull of a sparse piece returns a dense (d, k) array. It pays if the piece has this many entries per feature.
ENTRIES_PER_FEATURE = 8
# The entries of a sparse matrix at the most, of which the transposed matrix is kept too.
MOST_TRANSPOSED = 2**25


def count_pieces(n_rows: int) -> int:
    """Return the number of pieces into which `n_rows` rows are split."""
    return max(1, min(MOST_PIECES, n_rows // ROWS_PER_PIECE))


class Array:
    """Features stored as a dense array, shape (N, d).

    Parameters
    ----------
    X : array, shape (N, d)

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> Array(np.eye(3)).image(np.ones((3, 1))).ravel()
    array([1., 1., 1.])
    """

    #: A slice of an array is a view.
    sliceable = True

    def __init__(self, X: Matrix) -> None:
        if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray) or X.ndim != 2:
            kind, shape = type(X).__name__, np.shape(X)
            raise ValueError(f"X is a {kind} of shape {shape}; expected an array (N, d) without a mask.")
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def image(self, B: Matrix) -> Matrix:
        """Return X B, shape (N, k)."""
        return self.X @ B

    def pull(self, S: Matrix) -> Matrix:
        """Return Xᵀ S, shape (d, k)."""
        # BLAS computes (Sᵀ X)ᵀ 5 to 25 % faster than Xᵀ S if S has few columns. Unlike @, np.dot releases Python's lock
        # for small results too.
        return np.dot(S.T, self.X).T

    @property
    def n_pieces(self) -> int:
        """The number of pieces of at least 1024 rows."""
        return count_pieces(len(self.X))

    def take(self, rows: Rows) -> Array:
        """Return the features of some rows; a view if rows is a slice."""
        # Where X is in C order, `take` needs half the time on rows of some ten entries; elsewhere it copies all of X.
        if isinstance(rows, slice) or not self.X.flags.c_contiguous:
            return Array(self.X[rows])
        return Array(self.X.take(rows, axis=0))

    def dense(self) -> Matrix:
        """Return X itself, not a copy."""
        return self.X

    def stored_rows(self, *, differences: bool) -> StoredRows:
        """Return the rows of X, without a copy if X is C-contiguous."""
        return dense_rows(self.X)


class Sparse:
    """Features stored as a SciPy CSR array, shape (N, d). Products never make it dense.

    Parameters
    ----------
    X : sparse matrix or array, shape (N, d)
        Its parts are checked: a ValueError names an entry that lies outside X, where a product would read and write.
        Its entries must not change after the first `pull`, which keeps the transposed matrix.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from gramian.features import Sparse
    >>> Sparse(scipy.sparse.eye_array(3, format="csr")).pull(np.ones((3, 1))).ravel()
    array([1., 1., 1.])
    """

    def __init__(self, X: Any) -> None:
        if scipy.sparse.issparse(X):
            check_sparse(X)
        self.X = to_csr(as_canonical(X))

    @classmethod
    def of_checked(cls, X: Any) -> Sparse:
        """Return the features of a CSR array made from one that was checked, without another pass over its indices."""
        features = cls.__new__(cls)
        features.X = X
        return features

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features, (N, d)."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of X."""
        return self.X.dtype

    def image(self, B: Matrix) -> Matrix:
        """Return X B as a dense array, shape (N, k)."""
        return multiply_sparse(self.X, B)

    def pull(self, S: Matrix) -> Matrix:
        """Return Xᵀ S as a dense array, shape (d, k)."""
        many = S.ndim == 2 and S.shape[1] >= LEAST_COLUMNS
        return multiply_sparse(self.transposed, S) if many and self.X.nnz <= MOST_TRANSPOSED else self.X.T @ S

    @cached_property
    def transposed(self) -> Any:
        """The matrix Xᵀ as a CSR array: a row of a product is then complete before the next one, and in the cache."""
        return self.X.T.tocsr()

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X}

    @property
    def n_pieces(self) -> int:
        """The number of pieces with at least 1024 rows and 8 entries per feature."""
        n, d = self.shape
        return max(1, min(count_pieces(n), self.X.nnz // (ENTRIES_PER_FEATURE * d)))

    @property
    def sliceable(self) -> bool:
        """False, so that a separable problem on sparse data stays one block."""
        return False

    def take(self, rows: Rows) -> Sparse:
        """Return some rows as sparse features. A slice of step 1 copies no entries."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            return Sparse.of_checked(self.X[rows])
        X = self.X
        start, stop, _ = rows.indices(X.shape[0])
        first, last = X.indptr[start], X.indptr[stop]
        parts = (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first)
        return Sparse.of_checked(scipy.sparse.csr_array(parts, shape=(stop - start, X.shape[1])))

    def dense(self) -> Matrix:
        """Return X as a dense array, shape (N, d)."""
        return self.X.toarray()

    def stored_rows(self, *, differences: bool) -> StoredRows | None:
        """Return the rows of X, without a copy of its entries; None if X has 2³¹ columns or more."""
        return sparse_rows(self.X)


class Centred:
    """Centred features X - 1 μᵀ, shape (N, d), without a copy of X. Products add a correction of rank one.

    Parameters
    ----------
    features : Features
        The matrix X.
    mean : array, shape (d,)
        The vector μ that is subtracted from every row.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array, Centred
    >>> Centred(Array(np.array([[1.0], [3.0]])), np.array([2.0])).image(np.ones((1, 1))).ravel()
    array([-1.,  1.])
    """

    def __init__(self, features: Features, mean: Vector) -> None:
        self.features = features
        self.mean = mean.astype(features.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features, (N, d)."""
        return self.features.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of X."""
        return self.features.dtype

    def image(self, B: Matrix) -> Matrix:
        """Return X B - 1 (μᵀ B), shape (N, k)."""
        Z = self.features.image(B)
        Z -= self.mean @ B
        return Z

    def pull(self, S: Matrix) -> Matrix:
        """Return Xᵀ S - μ (1ᵀ S), shape (d, k)."""
        return subtract_outer(self.features.pull(S), self.mean, S.sum(axis=0))

    @property
    def n_pieces(self) -> int:
        """The number of pieces of X."""
        return self.features.n_pieces

    @property
    def sliceable(self) -> bool:
        """True if X is sliceable."""
        return self.features.sliceable

    def take(self, rows: Rows) -> Centred:
        """Return the centred features of some rows, with the same μ."""
        return Centred(self.features.take(rows), self.mean)

    def dense(self) -> Matrix:
        """Return X - 1 μᵀ as a new array, shape (N, d)."""
        return self.features.dense() - self.mean

    def stored_rows(self, *, differences: bool) -> StoredRows | None:
        """Return the rows of X if differences is True, since they have the same differences; else None."""
        return self.features.stored_rows(differences=True) if differences else None


def subtract_outer(P: Matrix, x: Vector, y: Vector) -> Matrix:
    """Return P - x yᵀ, shape (d, k), for a P that nothing else uses: it is overwritten where BLAS can do so."""
    (ger,) = scipy.linalg.get_blas_funcs(("ger",), (P,))
    if P.dtype != x.dtype or P.dtype != y.dtype or not P.flags.writeable:
        return P - np.outer(x, y)
    if P.flags.c_contiguous:
        return ger(-1.0, y, x, a=P.T, overwrite_x=0, overwrite_y=0, overwrite_a=1).T
    return ger(-1.0, x, y, a=P, overwrite_x=0, overwrite_y=0, overwrite_a=1)


class Identity:
    """Features X = I, shape (n, n): every sample is a unit vector. Used for kernels, embeddings and `Dense`.

    `image` and `pull` return their argument, not a copy. This is safe because images are never changed in place.

    Parameters
    ----------
    n : int
    dtype : dtype

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Identity
    >>> Identity(2).image(np.array([[1.0], [2.0]])).ravel()
    array([1., 2.])
    """

    #: There is no product to split, and no row is stored.
    n_pieces, sliceable = 1, False

    def __init__(self, n: int, dtype: Any = np.float64) -> None:
        self.shape = (n, n)
        self.dtype = np.dtype(dtype)

    def image(self, B: Matrix) -> Matrix:
        """Return B itself."""
        return B

    def pull(self, S: Matrix) -> Matrix:
        """Return S itself."""
        return S

    def take(self, rows: Rows) -> Sparse:
        """Return unit vectors as sparse features, shape (n_rows, n)."""
        return Sparse.of_checked(scipy.sparse.eye_array(self.shape[0], dtype=self.dtype, format="csr")[rows])

    def dense(self) -> Matrix:
        """Return the identity matrix, shape (n, n)."""
        return np.eye(self.shape[0], dtype=self.dtype)

    def stored_rows(self, *, differences: bool) -> StoredRows | None:
        """Return None: the rows are not stored."""
        return None


def as_features(X: Any) -> Any:
    """Return X as `Features`: `Sparse` if it is a SciPy sparse matrix, itself if it has their products, else `Array`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import as_features
    >>> as_features(np.zeros((3, 2))).shape
    (3, 2)
    """
    if hasattr(X, "image") and hasattr(X, "pull"):
        return X
    return Sparse(X) if scipy.sparse.issparse(X) else Array(X)
