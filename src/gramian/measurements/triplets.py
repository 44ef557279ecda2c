"""One measurement per triplet of samples: the difference of two squared distances from the same sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.pairs import triplets_along, triplets_predict, triplets_weigh
from gramian.measurements.measurement import (
    Changes,
    Example,
    Measurement,
    SampleIndices,
    Selection,
    check_indices,
    check_range,
    check_rows,
    outer_products,
)
from gramian.types import Matrix, Rows, Vector

__all__ = ["Triplets"]


class Triplets(Measurement):
    """Margins ‖z_a - z_f‖² - ‖z_a - z_n‖² of triplets (anchor, near, far).

    Parameters
    ----------
    triplets : array of int, shape (m, 3)
        The indices of the samples a (anchor), n (near) and f (far). Triplets sorted by the anchor are read faster.
    n_samples : int, optional
        The number N of samples; indices are checked against it when it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Triplets
    >>> Triplets([[0, 1, 2]]).predict(np.array([[0.0], [1.0], [3.0]]))
    array([8.])
    """

    def __init__(self, triplets: Any, n_samples: int | None = None) -> None:
        self.triplets = check_indices(triplets, "triplets", 3, n_samples)
        self.least_samples = int(self.triplets.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.triplets)

    def predict(self, Z: Matrix) -> Vector:
        """Return the margins ‖z_a - z_f‖² - ‖z_a - z_n‖², shape (m,)."""
        return triplets_predict(self.triplets, self.image(Z))

    def along(self, Z: Matrix, T: Matrix) -> Changes:
        """Return the coefficients b and c of the pairs (a, f) minus those of the pairs (a, n), shape (m,) each."""
        return Changes(*triplets_along(self.triplets, *self.images(Z, T)))

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """Return (L_far - L_near) Z, shape (N, k), with weighted graph Laplacians of the pairs (a, f) and (a, n)."""
        Z = self.image(Z)
        return triplets_weigh(self.triplets, self.weights(weight, Z.dtype), Z)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless every index is at least 0 and below n_samples."""
        if n_samples < self.least_samples:
            check_range(self.triplets, "triplets", n_samples)

    def take(self, rows: Rows) -> Selection:
        """Return some triplets, with indices into the samples they use, and the indices of these samples, ascending."""
        samples, positions = np.unique(self.triplets[check_rows(rows, len(self))], return_inverse=True)
        return Selection(Triplets(positions.reshape(-1, 3)), samples)

    def part(self, cut: slice) -> Triplets:
        """Return consecutive triplets of the same samples, without a copy."""
        return Triplets(self.triplets[cut])

    def sample_indices(self) -> SampleIndices:
        """Return the indices of the anchors, of the far and of the near samples, shape (m,) each."""
        anchor, near, far = (np.ascontiguousarray(column) for column in self.triplets.T)
        return SampleIndices(anchor, far, near)

    @classmethod
    def example(cls, rng: np.random.Generator, dtype: Any) -> Example:
        """Return 40 triplets of 12 random samples."""
        X, triplets = rng.standard_normal((12, 5)).astype(dtype), rng.integers(12, size=(40, 3))
        anchor, near, far = (X[column] for column in triplets.T)
        return Example(cls(triplets, 12), X, outer_products(anchor - far) - outer_products(anchor - near))
