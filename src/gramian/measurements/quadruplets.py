"""One measurement per quadruplet of samples: the difference of the squared distances of two pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.pairs import pairs_along, pairs_predict, pairs_weigh
from gramian.measurements.measurement import (
    Changes,
    Example,
    Measurement,
    Selection,
    check_indices,
    check_range,
    check_rows,
    outer_products,
)
from gramian.types import Matrix, Rows, Vector

__all__ = ["Quadruplets"]


class Quadruplets(Measurement):
    """Margins ‖z_c - z_e‖² - ‖z_a - z_b‖² of quadruplets (a, b, c, e): a near pair (a, b) and a far pair (c, e).

    "At least a margin" says that a and b are nearer than c and e. A triplet (a, n, f) is the quadruplet (a, n, a, f).

    Parameters
    ----------
    quadruplets : array of int, shape (m, 4)
        The indices of the samples a, b, c and e. Quadruplets sorted by a are read faster.
    n_samples : int, optional
        The number N of samples; indices are checked against it when it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Quadruplets
    >>> Quadruplets([[0, 1, 2, 3]]).predict(np.array([[0.0], [1.0], [3.0], [6.0]]))  # 3² - 1²
    array([8.])
    """

    def __init__(self, quadruplets: Any, n_samples: int | None = None) -> None:
        self.quadruplets = check_indices(quadruplets, "quadruplets", 4, n_samples)
        self.near, self.far = (np.ascontiguousarray(pairs) for pairs in np.hsplit(self.quadruplets, 2))
        self.least_samples = int(self.quadruplets.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.quadruplets)

    def predict(self, Z: Matrix) -> Vector:
        """Return the margins ‖z_c - z_e‖² - ‖z_a - z_b‖², shape (m,)."""
        Z = self.image(Z)
        return pairs_predict(self.far, Z) - pairs_predict(self.near, Z)

    def along(self, Z: Matrix, T: Matrix) -> Changes:
        """Return the coefficients b and c of the pairs (c, e) minus those of the pairs (a, b), shape (m,) each."""
        far, near = (pairs_along(pairs, *self.images(Z, T)) for pairs in (self.far, self.near))
        return Changes(far[0] - near[0], far[1] - near[1])

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """Return (L_far - L_near) Z, shape (N, k), with weighted graph Laplacians of the pairs (c, e) and (a, b)."""
        Z = self.image(Z)
        weight = self.weights(weight, Z.dtype)
        return pairs_weigh(self.far, weight, Z) - pairs_weigh(self.near, weight, Z)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless every index is at least 0 and below n_samples."""
        if n_samples < self.least_samples:
            check_range(self.quadruplets, "quadruplets", n_samples)

    def take(self, rows: Rows) -> Selection:
        """Return some quadruplets, with indices into the samples they use, and these samples' indices, ascending."""
        samples, positions = np.unique(self.quadruplets[check_rows(rows, len(self))], return_inverse=True)
        return Selection(Quadruplets(positions.reshape(-1, 4)), samples)

    def part(self, cut: slice) -> Quadruplets:
        """Return consecutive quadruplets of the same samples, without a copy."""
        return Quadruplets(self.quadruplets[cut])

    @classmethod
    def example(cls, rng: np.random.Generator, dtype: Any) -> Example:
        """Return 40 quadruplets of 12 random samples."""
        X, quadruplets = rng.standard_normal((12, 5)).astype(dtype), rng.integers(12, size=(40, 4))
        a, b, c, e = (X[column] for column in quadruplets.T)
        return Example(cls(quadruplets, 12), X, outer_products(c - e) - outer_products(a - b))
