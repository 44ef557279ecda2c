"""One measurement per entry of a matrix: W_ij on Identity features, x_iᵀ W x_j on samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.entries import entries_along, entries_predict, entries_weigh
from gramian.measurements.measurement import (
    Changes,
    Example,
    Measurement,
    Selection,
    check_indices,
    check_range,
    check_rows,
)
from gramian.types import Matrix, Rows, Vector

__all__ = ["Entries"]


class Entries(Measurement):
    """Inner products <z_i, z_j> of pairs (i, j): the entries W_ij if the features are `Identity`.

    This is the completion of a positive semidefinite matrix. On samples x the predictions are x_iᵀ W x_j, the entries
    of a kernel matrix. The matrix of a measurement is ½ (x_i x_jᵀ + x_j x_iᵀ), so the order of i and j does not matter.

    Parameters
    ----------
    entries : array of int, shape (m, 2)
        The row i and the column j of each entry; they may be equal. Entries sorted by i are read faster.
    n_samples : int, optional
        The number N of rows of the matrix; indices are checked against it when it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.measurements import Entries
    >>> G = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> Entries([[0, 0], [0, 1]]).predict(G)
    array([5., 1.])
    >>> (G @ G.T)[[0, 0], [0, 1]]
    array([5., 1.])

    A matrix of rank 1 from four of its six different entries:

    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Identity
    >>> from gramian.geometries import Flat
    >>> from gramian.solvers import ConjugateGradient, minimize
    >>> term = Term(Entries([[0, 0], [0, 1], [1, 2], [2, 2]]), np.array([4.0, 2.0, 3.0, 9.0]))
    >>> problem = Problem([Block(Identity(3), [term])])
    >>> result = minimize(problem, ConjugateGradient(), Flat().point(np.ones((3, 1))), tol=1e-12)
    >>> (result.point.G @ result.point.G.T).round(3)
    array([[4., 2., 6.],
           [2., 1., 3.],
           [6., 3., 9.]])
    """

    def __init__(self, entries: Any, n_samples: int | None = None) -> None:
        self.entries = check_indices(entries, "entries", 2, n_samples)
        self.least_samples = int(self.entries.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.entries)

    def predict(self, Z: Matrix) -> Vector:
        """Return the inner products <z_i, z_j>, shape (m,)."""
        return entries_predict(self.entries, self.image(Z))

    def along(self, Z: Matrix, T: Matrix) -> Changes:
        """Return <z_i, t_j> + <t_i, z_j> and <t_i, t_j>, shape (m,) each."""
        return Changes(*entries_along(self.entries, *self.images(Z, T)))

    def weigh(self, weight: Vector, Z: Matrix) -> Matrix:
        """Return ½ (A + Aᵀ) Z, shape (N, k), where A is the sparse matrix of the weights."""
        Z = self.image(Z)
        return entries_weigh(self.entries, self.weights(weight, Z.dtype), Z)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless every index is at least 0 and below n_samples."""
        if n_samples < self.least_samples:
            check_range(self.entries, "entries", n_samples)

    def take(self, rows: Rows) -> Selection:
        """Return some entries, with indices into the rows they use, and the indices of these rows, ascending."""
        samples, positions = np.unique(self.entries[check_rows(rows, len(self))], return_inverse=True)
        return Selection(Entries(positions.reshape(-1, 2)), samples)

    def part(self, cut: slice) -> Entries:
        """Return consecutive entries of the same matrix, without a copy."""
        return Entries(self.entries[cut])

    @classmethod
    def example(cls, rng: np.random.Generator, dtype: Any) -> Example:
        """Return 25 entries of a matrix (5, 5)."""
        i, j = (entries := rng.integers(5, size=(25, 2))).T
        matrices = np.zeros((25, 5, 5), dtype)
        matrices[np.arange(25), i, j] = 1
        return Example(cls(entries, 5), None, (matrices + matrices.transpose(0, 2, 1)) / 2)
