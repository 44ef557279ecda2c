"""One measurement per sample, with X_i = x_i x_iᵀ."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.samples import each_along, each_predict, each_weigh
from gramian.checks import check_number
from gramian.measurements.measurement import (
    Changes,
    Example,
    Measurement,
    SampleIndices,
    Selection,
    check_rows,
    outer_products,
)
from gramian.types import Matrix, Rows, Vector

__all__ = ["Each"]


class Each(Measurement):
    """Rank-one measurements x_iᵀ W x_i = ‖z_i‖², one per sample.

    Parameters
    ----------
    n_samples : int
        The number N of samples, which is also the number m of measurements.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Each
    >>> Each(2).predict(np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([25.,  1.])
    """

    separable = True

    def __init__(self, n_samples: int) -> None:
        check_number("n_samples", n_samples, least=0, integer=True)
        self.n_samples = self.least_samples = int(n_samples)

    def __len__(self) -> int:
        return self.n_samples

    def predict(self, Z: Matrix) -> Vector:
        """Return ‖z_i‖², shape (N,)."""
        return each_predict(self.image(Z))

    def along(self, Z: Matrix, T: Matrix) -> Changes:
        """Return 2 <z_i, t_i> and ‖t_i‖², shape (N,) each."""
        return Changes(*each_along(*self.images(Z, T)))

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """Return the rows weight_i z_i, shape (N, k)."""
        Z = self.image(Z)
        return each_weigh(self.weights(weight, Z.dtype), Z)

    def image(self, Z: Any, name: str = "Z") -> Matrix:
        """Return Z as an array (N, k) that kernels can read, or raise a ValueError."""
        Z = super().image(Z, name)
        if len(Z) != self.n_samples:
            raise ValueError(f"{name} has {len(Z)} rows, but there are {self.n_samples} samples.")
        return Z

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless there is one measurement per sample."""
        if n_samples != self.n_samples:
            raise ValueError(f"Each({self.n_samples}) measures {self.n_samples} samples, but there are {n_samples}.")

    def take(self, rows: Rows) -> Selection:
        """Return the measurements of some samples, and the indices of these samples."""
        rows = check_rows(rows, self.n_samples)
        n_rows = len(range(*rows.indices(self.n_samples))) if isinstance(rows, slice) else len(rows)
        return Selection(Each(n_rows), rows)

    def sample_indices(self) -> SampleIndices:
        """Return i = 0, ..., N - 1 and j = -1, shape (N,) each."""
        return SampleIndices(np.arange(self.n_samples), np.full(self.n_samples, -1))

    @classmethod
    def example(cls, rng: np.random.Generator, dtype: Any) -> Example:
        """Return the measurements of 30 random samples."""
        X = rng.standard_normal((30, 5)).astype(dtype)
        return Example(cls(30), X, outer_products(X))
