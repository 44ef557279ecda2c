"""Measurements trace(W X_i) by given matrices X_i, shape (m, d, d)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.checks import as_real
from gramian.measurements.measurement import (
    Changes,
    Example,
    Measurement,
    Selection,
    check_rows,
)
from gramian.types import Matrix, Rows, Vector

__all__ = ["Dense"]


class Dense(Measurement):
    """Measurements trace(W X_i) by given matrices X_i. They are used with `Identity` features, where Z = G.

    Only the symmetric part of X_i matters, and it is not formed: predictions need none because W is symmetric, and
    `weigh` makes one (d, d) sum symmetric instead of m matrices. `predict` reads the matrices once, whatever the rank.

    Parameters
    ----------
    matrices : array, shape (m, d, d)
        They need not be symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Dense
    >>> Dense(np.ones((1, 2, 2))).predict(np.array([[1.0], [2.0]]))
    array([9.])
    """

    def __init__(self, matrices: Any) -> None:
        matrices = as_real("matrices", matrices)
        if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not matrices.shape[1]:
            raise ValueError(f"matrices has shape {matrices.shape}; expected (m, d, d).")
        self.d = self.least_samples = matrices.shape[1]
        self.flat = matrices.reshape(len(matrices), self.d**2)

    def __len__(self) -> int:
        return len(self.flat)

    def predict(self, Z: Matrix) -> Vector:
        """Return trace(W X_i), shape (m,)."""
        Z = self.image(Z)
        return (self.flat @ (Z @ Z.T).ravel()).astype(Z.dtype, copy=False)

    def along(self, Z: Matrix, T: Matrix) -> Changes:
        """Return trace((Z Tᵀ + T Zᵀ) X_i) and trace(T Tᵀ X_i), shape (m,) each."""
        Z, T = self.images(Z, T)
        mixed = Z @ T.T
        b, c = np.stack([(mixed + mixed.T).ravel(), (T @ T.T).ravel()]) @ self.flat.T
        return Changes(b.astype(Z.dtype, copy=False), c.astype(Z.dtype, copy=False))

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """Return the symmetric part of Σ weight_i X_i, times Z, shape (d, k)."""
        Z = self.image(Z)
        total = (self.weights(weight, Z.dtype) @ self.flat).reshape(self.d, self.d)
        return (0.5 * ((total + total.T) @ Z)).astype(Z.dtype, copy=False)

    def image(self, Z: Any, name: str = "Z") -> Matrix:
        """Return Z as an array (d, k), or raise a ValueError."""
        Z = super().image(Z, name)
        if len(Z) != self.d:
            raise ValueError(f"{name} has {len(Z)} rows, but the matrices are {self.d} x {self.d}.")
        return Z

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless n_samples is d."""
        if n_samples != self.d:
            raise ValueError(f"matrices are {self.d} x {self.d}, but there are {n_samples} coordinates.")

    def take(self, rows: Rows) -> Selection:
        """Return the measurements by some of the matrices, and None: they use all coordinates."""
        return Selection(Dense(self.flat[check_rows(rows, len(self))].reshape(-1, self.d, self.d)), None)

    def part(self, cut: slice) -> Dense:
        """Return the measurements by consecutive matrices, without a copy."""
        return Dense(self.flat[cut].reshape(-1, self.d, self.d))

    @classmethod
    def example(cls, rng: np.random.Generator, dtype: Any) -> Example:
        """Return the measurements by 30 random matrices, which are not symmetric."""
        matrices = rng.standard_normal((30, 5, 5)).astype(dtype)
        return Example(cls(matrices), None, (matrices + matrices.transpose(0, 2, 1)) / 2)
