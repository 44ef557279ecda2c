"""One measurement per pair of samples, with the matrix (x_i - x_j)(x_i - x_j)ᵀ."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.pairs import pairs_along, pairs_predict, pairs_weigh
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

__all__ = ["Pairs"]


class Pairs(Measurement):
    """Squared distances ‖z_i - z_j‖² of pairs (i, j) of samples.

    The gradient is a product with a graph Laplacian that is never formed. Every method costs O(r) per pair.

    Parameters
    ----------
    pairs : array of int, shape (m, 2)
        The indices i and j of the two samples. Pairs sorted by i are read faster.
    n_samples : int, optional
        The number N of samples; indices are checked against it when it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Pairs
    >>> Pairs([[0, 1]]).predict(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([25.])
    """

    def __init__(self, pairs: Any, n_samples: int | None = None) -> None:
        self.pairs = check_indices(pairs, "pairs", 2, n_samples)
        self.least_samples = int(self.pairs.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.pairs)

    def predict(self, Z: Matrix) -> Vector:
        """Return the squared distances ‖z_i - z_j‖² of the pairs, shape (m,)."""
        return pairs_predict(self.pairs, self.image(Z))

    def along(self, Z: Matrix, T: Matrix) -> Changes:
        """Return 2 <z_i - z_j, t_i - t_j> and ‖t_i - t_j‖², shape (m,) each."""
        return Changes(*pairs_along(self.pairs, *self.images(Z, T)))

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """Return L Z, shape (N, k), where L is the Laplacian of the graph with the pairs as weighted edges."""
        Z = self.image(Z)
        return pairs_weigh(self.pairs, self.weights(weight, Z.dtype), Z)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless every index is at least 0 and below n_samples."""
        if n_samples < self.least_samples:
            check_range(self.pairs, "pairs", n_samples)

    def take(self, rows: Rows) -> Selection:
        """Return some pairs, with indices into the samples they use, and the indices of these samples, ascending."""
        samples, positions = np.unique(self.pairs[check_rows(rows, len(self))], return_inverse=True)
        return Selection(Pairs(positions.reshape(-1, 2)), samples)

    def part(self, cut: slice) -> Pairs:
        """Return consecutive pairs of the same samples, without a copy."""
        return Pairs(self.pairs[cut])

    def sample_indices(self) -> SampleIndices:
        """Return the indices of the first and of the second samples, shape (m,) each."""
        first, second = (np.ascontiguousarray(column) for column in self.pairs.T)
        return SampleIndices(first, second)

    @classmethod
    def example(cls, rng: np.random.Generator, dtype: Any) -> Example:
        """Return 40 pairs of 12 random samples."""
        X, pairs = rng.standard_normal((12, 5)).astype(dtype), rng.integers(12, size=(40, 2))
        return Example(cls(pairs, 12), X, outer_products(X[pairs[:, 0]] - X[pairs[:, 1]]))
