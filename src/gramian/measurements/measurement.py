"""The base class of measurements, and checks of sample indices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gramian.checks import as_real
from gramian.types import Matrix, Rows, Vector

__all__ = [
    "Changes",
    "Example",
    "Measurement",
    "SampleIndices",
    "Selection",
    "check_indices",
    "check_range",
    "check_rows",
    "outer_products",
]


class SampleIndices(NamedTuple):
    """The samples of measurements (x_i - x_j)(x_i - x_j)ᵀ, shape (m,) each; second is -1 for x_i alone.

    If `third` is given, with indices k, then (x_i - x_k)(x_i - x_k)ᵀ is subtracted from each.
    """

    first: Vector
    second: Vector
    third: Vector | None = None

    def columns(self) -> Matrix:
        """Return the indices as one array, shape (m, 2) or (m, 3)."""
        return np.column_stack([each for each in self if each is not None])


class Changes(NamedTuple):
    """How predictions change along Z + s T: they are predict(Z) + b s + c s², arrays (m,) each."""

    b: Vector
    c: Vector


class Selection(NamedTuple):
    """Some of the measurements, and the samples that they touch; None stands for all samples."""

    measurement: Measurement
    samples: Rows | None


class Example(NamedTuple):
    """Measurements of random samples X (N, d), and their explicit matrices X_i (m, d, d).

    X is None for measurements of W itself: their samples are the unit vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Each, Example
    >>> X = np.eye(2)
    >>> example = Example(Each(2), X, X[:, :, None] * X[:, None, :])
    >>> example.matrices.shape
    (2, 2, 2)
    """

    measurement: Measurement
    X: Matrix | None
    matrices: Matrix


class Measurement(ABC):
    """m linear functions trace(W X_i) of W = G Gᵀ, computed from the image Z = X G, shape (N, r).

    X_i (d, d) need not be formed, and only its symmetric part matters. Every method returns arrays of the dtype of Z
    and leaves Z unchanged. `predict` and `weigh` are adjoint: `weight @ predict(Z) == sum(Z * weigh(weight, Z))`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Measurement, Pairs
    >>> pairs = Pairs([[0, 1]])
    >>> isinstance(pairs, Measurement), pairs.predict(np.array([[1.0], [3.0]]))
    (True, array([4.]))
    """

    #: True if measurement i depends on sample i alone. The samples can then be split into blocks of rows.
    separable: ClassVar[bool] = False
    #: The least number N of rows of an image, one more than the largest index; compiled loops do not check it again.
    least_samples: int = 0

    @abstractmethod
    def __len__(self) -> int:
        """Return the number m of measurements."""

    @abstractmethod
    def predict(self, Z: Matrix) -> Vector:
        """Return the predictions trace(W X_i), shape (m,).

        Parameters
        ----------
        Z : array, shape (N, r)
            The image X G of the factor.
        """

    @abstractmethod
    def along(self, Z: Matrix, T: Matrix) -> Changes:
        """Return b and c, shape (m,) each, such that predict(Z + s T) = predict(Z) + b s + c s² for every s.

        Parameters
        ----------
        Z : array, shape (N, r)
            The image X G of the factor.
        T : array, shape (N, r)
            The image of the direction in which the factor moves.
        """

    @abstractmethod
    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """Return S, shape (N, k), such that Xᵀ S = (Σ weight_i X_i) B for Z = X B. It is linear in Z.

        Parameters
        ----------
        weight : array, shape (m,)
            One coefficient per measurement, for example the slope of its loss.
        Z : array, shape (N, k)
            The image of a factor, a frame or a direction B.
        """

    @abstractmethod
    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless the measurements fit `n_samples` samples.

        Parameters
        ----------
        n_samples : int
            The number N of rows of X.
        """

    @abstractmethod
    def take(self, rows: Rows) -> Selection:
        """Return some of the measurements, and the indices of the samples that they use.

        The measurements returned refer to the samples by their position in the second value. None stands for all
        samples, in the order they have.

        Parameters
        ----------
        rows : slice or array of int
            Indices of the measurements, in their new order. An index may occur several times.
        """

    @classmethod
    def example(cls, rng: np.random.Generator, dtype: Any) -> Example:
        """Return some measurements of random samples, for the tests of this package, which run over the registry.

        Parameters
        ----------
        rng : numpy.random.Generator
        dtype : dtype
            That of the samples and matrices, float32 or float64.
        """
        raise NotImplementedError(f"{cls.__name__} has no example. Registered measurements need one for the tests.")

    def image(self, Z: Any, name: str = "Z") -> Matrix:
        """Return Z as an array (N, k) that kernels can read, or raise a ValueError. The check does not read the data.

        Parameters
        ----------
        Z : array, shape (N, k)
        name : str
            The name of the argument, for the error message.
        """
        Z = as_real(name, Z)
        if Z.ndim != 2 or len(Z) < self.least_samples:
            raise ValueError(
                f"{name} has shape {Z.shape}; expected (N, k) with a row for each sample, N >= {self.least_samples}."
            )
        return Z

    def images(self, Z: Any, T: Any) -> tuple[Matrix, Matrix]:
        """Return Z and T (N, k) as arrays of one shape and dtype that kernels can read, or raise a ValueError."""
        Z, T = self.image(Z), as_real("T", T)
        if T.shape != Z.shape:
            raise ValueError(f"T has shape {T.shape} but Z has shape {Z.shape}; they must be the same.")
        return Z, T.astype(Z.dtype, copy=False)

    def weights(self, weight: Any, dtype: np.dtype) -> Vector:
        """Return weight as an array (m,) of a dtype, or raise a ValueError."""
        weight = as_real("weight", weight)
        if weight.shape != (len(self),):
            raise ValueError(f"weight has shape {weight.shape}; expected ({len(self)},), one for each measurement.")
        return weight.astype(dtype, copy=False)

    def part(self, cut: slice) -> Measurement | None:
        """Return consecutive measurements of the same N samples, to be computed by one thread.

        None, the default, says that the measurements cannot be split.

        Parameters
        ----------
        cut : slice
            The indices of the measurements, with a step of 1.
        """
        return None

    def sample_indices(self) -> SampleIndices | None:
        """Return indices i and j, shape (m,) each, if every X is (x_i - x_j)(x_i - x_j)ᵀ, or x_i x_iᵀ where j = -1.

        With a third array of indices k, (x_i - x_k)(x_i - x_k)ᵀ is subtracted. None, the default, says that the
        matrices have another form. Only measurements of this form have compiled online descent.
        """
        return None


def outer_products(V: Matrix) -> Matrix:
    """Return the matrices v_i v_iᵀ, shape (m, d, d), of the rows of V (m, d)."""
    return V[:, :, None] * V[:, None, :]


def check_indices(indices: Any, name: str, columns: int, n_samples: int | None) -> Vector:
    """Return sample indices as a contiguous array, shape (m, columns), or raise a ValueError.

    Parameters
    ----------
    indices : array-like of int, shape (m, columns)
    name : str
        The name of the argument, for the error message.
    columns : int
        The number of samples in a measurement.
    n_samples : int or None
        Indices must be below it; None sets no upper bound.
    """
    if isinstance(indices, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array. Drop the rows with masked entries.")
    try:
        array = np.asarray(indices)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as an array of indices: {error}.") from error
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} has shape {array.shape}; expected (m, {columns}), sample indices in each row.")
    if array.dtype == object and all(type(index) is int for index in array.flat):
        # Columns of a data frame that may have missing entries. A number beyond int64 is no index.
        with suppress(OverflowError):
            array = array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} has dtype {array.dtype}; expected integers, the indices of samples.")
    check_range(array, name, n_samples)
    return np.ascontiguousarray(array, dtype=np.intp)


def check_range(indices: Vector, name: str, n_samples: int | None) -> None:
    """Raise a ValueError that names the first row with an index below 0 or not below n_samples."""
    upper = np.iinfo(np.intp).max if n_samples is None else n_samples
    if not indices.size or (indices.min() >= 0 and indices.max() < upper):
        return
    bad = np.flatnonzero(((indices < 0) | (indices >= upper)).any(axis=1))[0]
    row = tuple(int(i) for i in indices[bad])
    allowed = "must not be negative" if n_samples is None else f"samples are numbered 0 to {n_samples - 1}"
    raise ValueError(f"{name}[{bad}] = {row} is out of range; {allowed}.")


def check_rows(rows: Rows, m: int) -> Rows:
    """Return rows, a slice or an array of indices of m measurements, or raise a ValueError."""
    if isinstance(rows, slice):
        return rows
    rows = np.asarray(rows)
    if rows.ndim != 1 or not (rows.dtype.kind in "iu" or rows.size == 0):
        raise ValueError(f"rows has shape {rows.shape} and dtype {rows.dtype}; expected a slice, or indices (n,).")
    if rows.size and not (-m <= rows.min() and rows.max() < m):
        raise ValueError(f"rows has indices from {rows.min()} to {rows.max()}, but there are {m} measurements.")
    return rows.astype(np.intp, copy=False)
