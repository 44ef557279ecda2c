"""One measurement a triplet of samples: how much farther one is than another."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.pairs import triplets_along, triplets_predict, triplets_weigh
from gramian.measurements.measurement import Measurement, check_range, checked_indices
from gramian.types import Matrix, Rows, Vector

__all__ = ["Triplets"]


class Triplets(Measurement):
    """Margins ‖z_a - z_f‖² - ‖z_a - z_n‖² of triplets (anchor, near, far).

    Parameters
    ----------
    triplets : array of int, shape (m, 3)
        Sample numbers: anchor, near, far. Sorted by the anchor, they are read faster.
    n_samples : int, optional
        Checked against, when given.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Triplets
    >>> Triplets([[0, 1, 2]]).predict(np.array([[0.0], [1.0], [3.0]]))
    array([8.])
    """

    def __init__(self, triplets: Any, n_samples: int | None = None) -> None:
        self.triplets = checked_indices(triplets, "triplets", 3, n_samples)

    def __len__(self) -> int:
        return len(self.triplets)

    def predict(self, Z: Matrix) -> Vector:
        """‖z_a - z_f‖² - ‖z_a - z_n‖²."""
        return triplets_predict(self.triplets, Z)

    def along(self, Z: Matrix, T: Matrix) -> tuple[Vector, Vector]:
        """The coefficients of the far pairs less those of the near ones."""
        return triplets_along(self.triplets, Z, T)

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """(L_far - L_near) Z, graph Laplacians of the weights."""
        return triplets_weigh(self.triplets, weight, Z)

    def check(self, n_samples: int) -> None:
        """Every number must be that of a sample."""
        check_range(self.triplets, "triplets", n_samples)

    def take(self, rows: Rows) -> tuple[Triplets, Rows]:
        """Some triplets, renumbered, and the samples they touch."""
        samples, numbers = np.unique(self.triplets[rows], return_inverse=True)
        return Triplets(numbers.reshape(-1, 3)), samples

    def part(self, cut: slice) -> Triplets:
        """Return consecutive triplets of the same samples, without a copy."""
        return Triplets(self.triplets[cut])
