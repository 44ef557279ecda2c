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

from gramian.types import Matrix, Rows

__all__ = ["Array", "Features", "Identity", "Sparse", "as_features"]


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

    def take(self, rows: Rows) -> Features:
        """The features of some samples only."""

    def restrict(self, basis: Matrix) -> Features:
        """The features in the coordinates of a basis (d, k): X basis, shape (N, k)."""

    def dense(self) -> Matrix:
        """X as an array (N, d); for few rows of it, where it is sparse."""


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
        return (S.T @ self.X).T

    def take(self, rows: Rows) -> Array:
        """A copy of some rows."""
        return Array(self.X[rows])

    def restrict(self, basis: Matrix) -> Array:
        """X basis."""
        return Array(self.X @ basis)

    def dense(self) -> Matrix:
        """X itself, not a copy."""
        return self.X


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

    def take(self, rows: Rows) -> Sparse:
        """Some rows, still sparse."""
        return Sparse(self.X[rows])

    def restrict(self, basis: Matrix) -> Array:
        """X basis, dense."""
        return Array(self.X @ basis)

    def dense(self) -> Matrix:
        """X, made dense."""
        return self.X.toarray()


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

    def take(self, rows: Rows) -> Sparse:
        """Unit rows, as sparse features."""
        return Sparse(scipy.sparse.eye_array(self.shape[0], dtype=self.dtype, format="csr")[rows])

    def restrict(self, basis: Matrix) -> Array:
        """The basis itself."""
        return Array(basis)

    def dense(self) -> Matrix:
        """I."""
        return np.eye(self.shape[0], dtype=self.dtype)


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
