"""One measurement a pair of samples: X = (x_i - x_j)(x_i - x_j)ᵀ."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.pairs import pairs_along, pairs_predict, pairs_weigh
from gramian.measurements.measurement import Measurement, check_range, checked_indices
from gramian.types import Matrix, Rows, Vector

__all__ = ["Pairs"]


class Pairs(Measurement):
    """Squared distances ‖z_i - z_j‖² of pairs (i, j) of samples.

    The gradient is that of a graph Laplacian which is never formed: O(r) a pair, no d-vector a pair.

    Parameters
    ----------
    pairs : array of int, shape (m, 2)
        Sample numbers. Sorted by the first, they are read faster.
    n_samples : int, optional
        Checked against, when given.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Pairs
    >>> Pairs([[0, 1]]).predict(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([25.])
    """

    def __init__(self, pairs: Any, n_samples: int | None = None) -> None:
        self.pairs = checked_indices(pairs, "pairs", 2, n_samples)

    def __len__(self) -> int:
        return len(self.pairs)

    def predict(self, Z: Matrix) -> Vector:
        """‖z_i - z_j‖²."""
        return pairs_predict(self.pairs, Z)

    def along(self, Z: Matrix, T: Matrix) -> tuple[Vector, Vector]:
        """2 <z_i - z_j, t_i - t_j> and ‖t_i - t_j‖²."""
        return pairs_along(self.pairs, Z, T)

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """L Z, with L the graph Laplacian of the weights."""
        return pairs_weigh(self.pairs, weight, Z)

    def check(self, n_samples: int) -> None:
        """Every number must be that of a sample."""
        check_range(self.pairs, "pairs", n_samples)

    def take(self, rows: Rows) -> tuple[Pairs, Rows]:
        """Some pairs, renumbered, and the samples they touch."""
        samples, numbers = np.unique(self.pairs[rows], return_inverse=True)
        return Pairs(numbers.reshape(-1, 2)), samples

    def part(self, cut: slice) -> Pairs:
        """Return consecutive pairs of the same samples, without a copy."""
        return Pairs(self.pairs[cut])

    def sample_indices(self) -> tuple[Vector, Vector]:
        """Return the two samples of each pair."""
        first, second = (np.ascontiguousarray(column) for column in self.pairs.T)
        return first, second
