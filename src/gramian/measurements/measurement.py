"""What every kind of measurement does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from gramian.types import Matrix, Rows, Vector

__all__ = ["Measurement", "check_range", "checked_indices"]


class Measurement(ABC):
    """m numbers trace(W X_i), seen through the image Z = X G of the samples.

    The matrices X_i are never formed. `predict` and `weigh` are adjoint to each other:
    `weight @ predict(Z) == sum(Z * weigh(weight, Z))`.
    """

    #: True if measurement i is made of sample i alone, so that rows of samples can be worked on apart.
    separable: ClassVar[bool] = False

    @abstractmethod
    def __len__(self) -> int:
        """The number m of measurements."""

    @abstractmethod
    def predict(self, Z: Matrix) -> Vector:
        """The predictions trace(W X_i), (m,)."""

    @abstractmethod
    def along(self, Z: Matrix, T: Matrix) -> tuple[Vector, Vector]:
        """b and c, (m,) each: the predictions of Z + s T are predict(Z) + b s + c s², exactly."""

    @abstractmethod
    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """S of the shape of Z, such that Xᵀ S = (Σ weight_i X_i) G; linear in Z."""

    @abstractmethod
    def check(self, n_samples: int) -> None:
        """A ValueError unless the measurements can be made of so many samples."""

    @abstractmethod
    def take(self, rows: Rows) -> tuple[Measurement, Rows | None]:
        """Some of the measurements, and the samples they touch (None: all), in the order they are now numbered."""

    def part(self, cut: slice) -> Measurement | None:
        """Return consecutive measurements of the same samples, for threads; None if they stay together."""
        return None

    def sample_indices(self) -> tuple[Vector, Vector] | None:
        """Return i and j (m,) with X = (x_i - x_j)(x_i - x_j)ᵀ, j = -1 for x_i alone; None if X is not of that form.

        Measurements of that form have a compiled online path.
        """
        return None


def checked_indices(indices: Any, name: str, columns: int, n_samples: int | None) -> Vector:
    """Sample numbers as a contiguous (m, columns) array, or a ValueError that names the first bad row."""
    array = np.asarray(indices)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} has shape {array.shape}; expected (m, {columns}), sample numbers in each row.")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} has dtype {array.dtype}; expected integers, the numbers of samples.")
    check_range(array, name, n_samples)
    return np.ascontiguousarray(array, dtype=np.intp)


def check_range(indices: Vector, name: str, n_samples: int | None) -> None:
    """A ValueError that names the first row of indices below 0 or not below n_samples."""
    upper = np.inf if n_samples is None else n_samples
    if not indices.size or (indices.min() >= 0 and indices.max() < upper):
        return
    bad = np.flatnonzero(((indices < 0) | (indices >= upper)).any(axis=1))[0]
    row = tuple(int(i) for i in indices[bad])
    known = "must not be negative" if n_samples is None else f"samples are numbered 0 to {n_samples - 1}"
    raise ValueError(f"{name}[{bad}] = {row} is out of range; {known}.")
