"""The base class of measurements, and checks of sample indices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from gramian.types import Matrix, Rows, Vector

__all__ = ["Measurement", "check_indices", "check_range"]


class Measurement(ABC):
    """m linear functions trace(W X_i) of W = G Gᵀ, computed from the image Z = X G, shape (N, r).

    X_i (d, d) need not be formed, and only its symmetric part matters. Every method returns arrays of the dtype of Z
    and leaves Z unchanged. `predict` and `weigh` are adjoint: `weight @ predict(Z) == sum(Z * weigh(weight, Z))`.
    """

    #: True if measurement i depends on sample i alone. The samples can then be split into blocks of rows.
    separable: ClassVar[bool] = False

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
    def along(self, Z: Matrix, T: Matrix) -> tuple[Vector, Vector]:
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
    def take(self, rows: Rows) -> tuple[Measurement, Rows | None]:
        """Return some of the measurements, and the indices of the samples that they use.

        The measurements returned refer to the samples by their position in the second value. None stands for all
        samples, in the order they have.

        Parameters
        ----------
        rows : slice or array of int
            Indices of the measurements, in their new order. An index may occur several times.
        """

    def part(self, cut: slice) -> Measurement | None:
        """Return consecutive measurements of the same N samples, to be computed by one thread.

        None, the default, says that the measurements cannot be split.

        Parameters
        ----------
        cut : slice
            The indices of the measurements, with a step of 1.
        """
        return None

    def sample_indices(self) -> tuple[Vector, Vector] | None:
        """Return indices i and j, shape (m,) each, if every X is (x_i - x_j)(x_i - x_j)ᵀ, or x_i x_iᵀ where j = -1.

        None, the default, says that the matrices have another form. Only measurements of this form have compiled
        online descent.
        """
        return None


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
    array = np.asarray(indices)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} has shape {array.shape}; expected (m, {columns}), sample indices in each row.")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} has dtype {array.dtype}; expected integers, the indices of samples.")
    check_range(array, name, n_samples)
    return np.ascontiguousarray(array, dtype=np.intp)


def check_range(indices: Vector, name: str, n_samples: int | None) -> None:
    """Raise a ValueError that names the first row with an index below 0 or not below n_samples."""
    upper = np.inf if n_samples is None else n_samples
    if not indices.size or (indices.min() >= 0 and indices.max() < upper):
        return
    bad = np.flatnonzero(((indices < 0) | (indices >= upper)).any(axis=1))[0]
    row = tuple(int(i) for i in indices[bad])
    allowed = "must not be negative" if n_samples is None else f"samples are numbered 0 to {n_samples - 1}"
    raise ValueError(f"{name}[{bad}] = {row} is out of range; {allowed}.")
