"""Kernel PCA as a start, from the kernel that samples come with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.preprocessing import KernelCenterer

from gramian.measurements import Pairs
from gramian.situation import Situation
from gramian.starts.signs import align_signs
from gramian.types import Matrix, Vector

__all__ = ["DecomposedKernel", "kernel_pca", "kernel_start"]

# A distance so many times the error of the kernel's entries is a difference of them.
FAR = 1e6
# Ridges to choose from, as shares of the largest eigenvalue, ascending. The smallest one is taken whose leave-one-out
# error exceeds the lowest by at most this share.
RIDGES, NEAR = (0.0, *(10.0**power for power in range(-12, 0))), 0.02
# No ridge is needed if the image of no sample can be so many times as far from the mean as those of the samples.
OUTSIDE = 5.0


class DecomposedKernel(NamedTuple):
    """A kernel and the eigendecomposition of its centred form.

    Attributes
    ----------
    kernel : array, shape (n, n)
        Of the samples less `origin`.
    origin : array, shape (d,), or None
        What was subtracted from the samples.
    centerer : KernelCenterer
        The column means that centre the kernel.
    values, vectors : arrays, shape (k,) and (n, k)
        The eigenvalues of the centred kernel, descending, above rounding; and their eigenvectors.
    least : float
        The smallest eigenvalue of all.
    rounding : float
        Eigenvalues up to this are rounding.
    n_features : int
    centred : bool
        True if kernel PCA centres the kernel, False if it centres only what comes out.
    settings : InputKernel, optional
        The parameters from which the kernel was computed.
    """

    kernel: Matrix
    origin: Vector | None
    centerer: KernelCenterer
    values: Vector
    vectors: Matrix
    least: float
    rounding: float
    n_features: int
    centred: bool = True
    settings: Any = None

    def distances(self, pairs: Matrix) -> Vector:
        """Return the squared distances of pairs, (m,): K_ii + K_jj - 2 K_ij; from eigenvectors if that cancels."""
        (i, j), diagonal = pairs.T, np.diag(self.kernel)
        distances = diagonal[i] + diagonal[j] - 2 * self.kernel[i, j]
        near = np.flatnonzero(distances <= FAR * max(self.rounding, -self.least))
        if near.size:
            distances[near] = Pairs(pairs[near]).predict(self.vectors * np.sqrt(self.values))
        return distances

    def solve(self, G: Matrix, ridge: float) -> Matrix:
        """Return (K₀ + ridge)⁺ G, on the range of the centred kernel K₀."""
        return (self.vectors / (self.values + ridge)) @ (self.vectors.T @ G)

    def choose_ridge(self, G: Matrix) -> float:
        """Return the ridge of the map to G (n, r), as a share of the largest eigenvalue.

        It is 0 if that is safe: an image is at most √k(x, x) times the norm of K₀^(-½) G. Otherwise it is the one with
        the lowest leave-one-out error.

        The map is a kernel ridge regression. The residual of a sample that is left out is its residual over 1 - h,
        where h is its entry of the diagonal of V diag(s/(s + ridge)) Vᵀ, plus 1/n for the mean.
        """
        if not len(self.values):
            return 0.0
        # Only ratios of errors matter: squares of numbers near 1 stay in range.
        G = G / max(float(np.abs(G).max()), np.finfo(float).tiny)
        parts, squares, n = self.vectors.T @ G, self.vectors**2, len(G)
        own = float((squares @ self.values).max())
        farthest = own**0.5 * float(np.linalg.norm(parts / np.sqrt(self.values)[:, None], 2))
        if farthest <= OUTSIDE * float(np.linalg.norm(G, axis=1).max()):
            return 0.0
        errors = []
        # Where the eigenvectors span everything but the mean, residuals and 1 - h are both multiples of the ridge.
        outside = 0.0 if len(self.values) == n - 1 else G - self.vectors @ parts
        rest = 0.0 if len(self.values) == n - 1 else 1 - 1 / n - squares.sum(axis=1)
        for ridge in RIDGES:
            scale = self.values[0] * (1.0 if len(self.values) == n - 1 else ridge)
            lost = scale / (self.values + ridge * self.values[0])
            residual, left = outside + self.vectors @ (lost[:, None] * parts), rest + squares @ lost
            # A sample that determines its own image alone has no leave-one-out error.
            safe = np.where(left > np.finfo(float).eps, left, np.nan)
            error = float(np.sum((residual / safe[:, None]) ** 2))
            errors.append(error if np.isfinite(error) else np.inf)
        if not np.isfinite(min(errors)):
            return RIDGES[-1]
        return next(ridge for ridge, error in zip(RIDGES, errors, strict=True) if error <= (1 + NEAR) * min(errors))


def kernel_start(situation: Situation, rank: int) -> Matrix:
    """Return the kernel PCA of the samples, (n, r); it has their scale, and is centred."""
    return situation.to_solver(kernel_pca(situation.kernel, rank, advice=", or init='random'"))


def kernel_pca(kernel: DecomposedKernel, rank: int, *, advice: str = "") -> Matrix:
    """Return the r leading directions of a kernel, (n, r), centred before or after; errors may add an advice."""
    check_varies(kernel, advice)
    values, vectors = kernel.values[:rank], kernel.vectors[:, :rank]
    if not kernel.centred:
        n = len(kernel.kernel)
        values, vectors = scipy.linalg.eigh(kernel.kernel, subset_by_index=[n - rank, n - 1])
    G = align_signs(vectors) * np.sqrt(np.maximum(values, 0))
    G = G - G.mean(axis=0)
    found = int(np.linalg.matrix_rank(G, tol=kernel.rounding**0.5))
    if found < rank:
        raise ValueError(
            f"rank={rank} exceeds the rank {found} of the centred kernel (n_features={kernel.n_features}). "
            f"Choose rank <= {found}{advice}."
        )
    return G


def check_varies(kernel: DecomposedKernel, advice: str = "") -> None:
    """Raise a ValueError if the centred kernel is zero."""
    if not len(kernel.values):
        raise ValueError(f"the kernel is constant: all samples coincide. Give samples that differ{advice}.")
