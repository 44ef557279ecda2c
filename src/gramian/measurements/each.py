"""One measurement a sample: X_i = x_i x_iᵀ."""

from __future__ import annotations

import numpy as np

from gramian._kernels.samples import each_along, each_predict, each_weigh
from gramian.measurements.measurement import Measurement
from gramian.types import Matrix, Rows, Vector

__all__ = ["Each"]


class Each(Measurement):
    """Rank-one measurements x_iᵀ W x_i = ‖z_i‖², one of each of n samples.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Each
    >>> Each(2).predict(np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([25.,  1.])
    """

    separable = True

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples

    def __len__(self) -> int:
        return self.n_samples

    def predict(self, Z: Matrix) -> Vector:
        """‖z_i‖²."""
        return each_predict(Z)

    def along(self, Z: Matrix, T: Matrix) -> tuple[Vector, Vector]:
        """2 <z_i, t_i> and ‖t_i‖²."""
        return each_along(Z, T)

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """weight_i z_i."""
        return each_weigh(weight, Z)

    def check(self, n_samples: int) -> None:
        """One of each sample."""
        if n_samples != self.n_samples:
            raise ValueError(f"Each({self.n_samples}) measures {self.n_samples} samples, but there are {n_samples}.")

    def take(self, rows: Rows) -> tuple[Each, Rows]:
        """The measurements of some samples, and those samples."""
        taken = len(range(*rows.indices(self.n_samples))) if isinstance(rows, slice) else len(rows)
        return Each(taken), rows

    def sample_indices(self) -> tuple[Vector, Vector]:
        """Return every sample, alone."""
        return np.arange(self.n_samples), np.full(self.n_samples, -1)
