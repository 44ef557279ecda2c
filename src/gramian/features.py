"""Features: the sole owners of the data matrix X, one row a sample.

The data is touched by two products only, `image` (X B) and `pull` (Xᵀ S): the **passes**, whose number is the
cost of an algorithm. Everything else happens on the image Z = X G, one short row a sample.

Legend, here and in measurements, geometries and kernels: d features, r rank, m measurements, N samples,
W = G Gᵀ, Z = X G, M = Σ slope_i X_i.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse

from gramian.types import Matrix, Rows, Vector

__all__ = ["Array", "Centred", "Features", "Identity", "Sparse", "as_features"]


class Features(Protocol):
    """What an objective asks of a data matrix: two products, two ways to make it smaller, and itself."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (N, d)."""

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""

    def image(self, B: Matrix) -> Matrix:
        """X B, shape (N, k), for B of shape (d, k)."""

    def pull(self, S: Matrix) -> Matrix:
        """Xᵀ S, shape (d, k), for S of shape (N, k)."""

    @property
    def n_pieces(self) -> int:
        """The number of pieces of rows in which products are shared out over threads; 1 where that does not pay."""

    @property
    def sliceable(self) -> bool:
        """True if `take` of a slice copies nothing."""

    def take(self, rows: Rows) -> Features:
        """The features of some samples only."""

    def restrict(self, basis: Matrix) -> Features:
        """The features in the coordinates of a basis (d, k): X basis, shape (N, k)."""

    def dense(self) -> Matrix:
        """X as an array (N, d); for few rows of it, where it is sparse."""

    def contiguous(self, *, differences: bool) -> Matrix | None:
        """An array (N, d) for compiled loops, or None; X shifted will do where only differences of rows are read."""


# Rows of a product that are worth a thread of their own, and the most pieces.
ROWS_PER_PIECE, MOST_PIECES = 1024, 16
# A pull of sparse rows makes a dense (d, k) sum, worth so many entries a feature.
ENTRIES_PER_FEATURE = 8


def count_pieces(rows: int) -> int:
    """Return the number of pieces of so many rows."""
    return max(1, min(MOST_PIECES, rows // ROWS_PER_PIECE))


class Array:
    """Features held as a dense array (N, d).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> Array(np.eye(3)).image(np.ones((3, 1))).ravel()
    array([1., 1., 1.])
    """

    def __init__(self, X: Matrix) -> None:
        self.X = X

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (N, d)."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The data's own type."""
        return self.X.dtype

    def image(self, B: Matrix) -> Matrix:
        """X B."""
        return self.X @ B

    def pull(self, S: Matrix) -> Matrix:
        """Xᵀ S; as (Sᵀ X)ᵀ, which BLAS does 5 to 25 % faster for a thin S."""
        # Unlike @, np.dot releases Python's lock for small results too.
        return np.dot(S.T, self.X).T

    @property
    def n_pieces(self) -> int:
        """Pieces of at least 1024 rows."""
        return count_pieces(len(self.X))

    @property
    def sliceable(self) -> bool:
        """True."""
        return True

    def take(self, rows: Rows) -> Array:
        """Some rows; a view, where they are a slice."""
        return Array(self.X[rows])

    def restrict(self, basis: Matrix) -> Array:
        """X basis."""
        return Array(self.X @ basis)

    def dense(self) -> Matrix:
        """X itself, not a copy."""
        return self.X

    def contiguous(self, *, differences: bool) -> Matrix | None:
        """X itself, if its rows are contiguous."""
        return self.X if self.X.flags.c_contiguous else None


class Sparse:
    """Features held as a SciPy CSR matrix (N, d), never made dense.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from gramian.features import Sparse
    >>> Sparse(scipy.sparse.eye_array(3, format="csr")).pull(np.ones((3, 1))).ravel()
    array([1., 1., 1.])
    """

    def __init__(self, X: Any) -> None:
        self.X = scipy.sparse.csr_array(X)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (N, d)."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The data's own type."""
        return self.X.dtype

    def image(self, B: Matrix) -> Matrix:
        """X B, dense."""
        return self.X @ B

    def pull(self, S: Matrix) -> Matrix:
        """Xᵀ S, dense."""
        return self.X.T @ S

    @property
    def n_pieces(self) -> int:
        """Pieces whose entries outweigh the dense sums of a pull."""
        n, d = self.shape
        return max(1, min(count_pieces(n), self.X.nnz // (ENTRIES_PER_FEATURE * d)))

    @property
    def sliceable(self) -> bool:
        """False: a separable problem on sparse data is one block."""
        return False

    def take(self, rows: Rows) -> Sparse:
        """Some rows, still sparse; consecutive ones without a copy of their entries."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            return Sparse(self.X[rows])
        X = self.X
        start, stop, _ = rows.indices(X.shape[0])
        first, last = X.indptr[start], X.indptr[stop]
        parts = (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first)
        return Sparse(scipy.sparse.csr_array(parts, shape=(stop - start, X.shape[1])))

    def restrict(self, basis: Matrix) -> Array:
        """X basis, dense."""
        return Array(self.X @ basis)

    def dense(self) -> Matrix:
        """X, made dense."""
        return self.X.toarray()

    def contiguous(self, *, differences: bool) -> Matrix | None:
        """None."""
        return None


class Centred:
    """Features less a row vector, X - 1 μᵀ, without a copy of X: each product is corrected by one of rank one.

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
        """Samples and features, (N, d)."""
        return self.features.shape

    @property
    def dtype(self) -> np.dtype:
        """The data's own type."""
        return self.features.dtype

    def image(self, B: Matrix) -> Matrix:
        """X B - 1 (μᵀ B)."""
        Z = self.features.image(B)
        Z -= self.mean @ B
        return Z

    def pull(self, S: Matrix) -> Matrix:
        """Xᵀ S - μ (1ᵀ S)."""
        return self.features.pull(S) - np.outer(self.mean, S.sum(axis=0))

    @property
    def n_pieces(self) -> int:
        """As X has it."""
        return self.features.n_pieces

    @property
    def sliceable(self) -> bool:
        """As X is."""
        return self.features.sliceable

    def take(self, rows: Rows) -> Centred:
        """Some rows, less the same vector."""
        return Centred(self.features.take(rows), self.mean)

    def restrict(self, basis: Matrix) -> Array:
        """(X - 1 μᵀ) basis."""
        return Array(self.image(basis))

    def dense(self) -> Matrix:
        """X - 1 μᵀ, a copy."""
        return self.features.dense() - self.mean

    def contiguous(self, *, differences: bool) -> Matrix | None:
        """X, whose rows have the same differences."""
        return self.features.contiguous(differences=True) if differences else None


class Identity:
    """Features X = I: the samples are the nodes themselves (kernels, embeddings, dense measurements).

    Its image is the factor itself, not a copy: images are never changed in place.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Identity
    >>> Identity(2).image(np.array([[1.0], [2.0]])).ravel()
    array([1., 2.])
    """

    def __init__(self, n: int, dtype: Any = np.float64) -> None:
        self.shape = (n, n)
        self.dtype = np.dtype(dtype)

    def image(self, B: Matrix) -> Matrix:
        """B itself."""
        return B

    def pull(self, S: Matrix) -> Matrix:
        """S itself."""
        return S

    @property
    def n_pieces(self) -> int:
        """One: there is no product."""
        return 1

    @property
    def sliceable(self) -> bool:
        """False."""
        return False

    def take(self, rows: Rows) -> Sparse:
        """Unit rows, as sparse features."""
        return Sparse(scipy.sparse.eye_array(self.shape[0], dtype=self.dtype, format="csr")[rows])

    def restrict(self, basis: Matrix) -> Array:
        """The basis itself."""
        return Array(basis)

    def dense(self) -> Matrix:
        """I."""
        return np.eye(self.shape[0], dtype=self.dtype)

    def contiguous(self, *, differences: bool) -> Matrix | None:
        """None: rows are never formed."""
        return None


def as_features(X: Any) -> Array | Sparse:
    """Features of a dense array or of a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import as_features
    >>> as_features(np.zeros((3, 2))).shape
    (3, 2)
    """
    return Sparse(X) if scipy.sparse.issparse(X) else Array(X)
