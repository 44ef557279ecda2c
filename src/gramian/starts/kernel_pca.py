"""Kernel PCA as a start, from the kernel that samples come with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from sklearn.preprocessing import KernelCenterer

from gramian.measurements import Pairs
from gramian.situation import Situation
from gramian.starts.signs import align_signs
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["DecomposedKernel", "TooFewDirections", "eigendecompose", "kernel_pca", "kernel_start"]

# A squared distance above this multiple of the error of the kernel's entries is computed as a difference of them.
FAR = 1e6
# Ridges to choose from, as shares of the largest eigenvalue, ascending. The smallest one is taken whose leave-one-out
# error exceeds the lowest by at most this share.
RIDGES, NEAR = (0.0, *(10.0**power for power in range(-12, 0))), 0.1
# The largest number of residuals in memory at a time.
MOST_RESIDUALS = 2**21
# The largest negative eigenvalue, as a share of the largest eigenvalue, with which a matrix is accepted as a kernel.
LARGEST_NEGATIVE = 0.01
# The Lanczos method is used for at least LARGE samples, if at most one in SHARE eigenvectors is wanted. RESTARTS is its
# largest number of restarts.
LARGE, SHARE, RESTARTS = 500, 20, 20
#: The largest kernel that is decomposed by divide and conquer.
LARGEST_EVD = 10_000
# A kernel that is not centred is decomposed into this number of directions at first.
FIRST = 16
# No ridge is needed if images are at most this multiple of the largest distance of a sample's image from the mean.
OUTSIDE = 5.0


class TooFewDirections(ValueError):
    """A kernel has fewer directions than a start needs."""


class Leading(NamedTuple):
    """Leading eigenvalues (k,), descending, and their eigenvectors (n, k)."""

    values: Vector
    vectors: Matrix


class Spectrum(NamedTuple):
    """Eigenvalues (k,) above rounding, descending, their eigenvectors (n, k), and a lower bound of all eigenvalues.

    It is complete if there are no other eigenvalues above rounding.
    """

    values: Vector
    vectors: Matrix
    least: float
    complete: bool = True


@dataclass(frozen=True, eq=False)
class DecomposedKernel:
    """A kernel and the eigendecomposition of its centred form.

    Parameters
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
        The smallest eigenvalue of all, or a lower bound of it.
    rounding : float
        Eigenvalues up to this are rounding.
    n_features : int
    centred : bool
        True if kernel PCA centres the kernel, False if it centres only what comes out.
    settings : InputKernel, optional
        The parameters from which the kernel was computed.
    complete : bool
        True if all eigenvalues above rounding are there, False if the leading ones are.
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
    complete: bool = True

    @property
    def centred_kernel(self) -> Matrix:
        """The kernel less its row and column means, (n, n)."""
        return self.centerer.transform(self.kernel)

    @cached_property
    def spectrum(self) -> Spectrum:
        """All eigenvalues of the centred kernel above rounding."""
        if self.complete:
            return Spectrum(self.values, self.vectors, self.least)
        return eigendecompose(self.centred_kernel, self.rounding)

    @cached_property
    def uncentred(self) -> list[Leading]:
        """The last decomposition of the kernel itself; empty at first."""
        return []

    def leading_uncentred(self, count: int) -> Leading:
        """Return the leading eigenvalues (count,) of the kernel itself, descending, and their eigenvectors."""
        held = self.uncentred
        if not held or len(held[0].values) < count:
            # A path of ranks asks for one more each time.
            held[:] = [leading_eigenvectors(self.kernel, min(max(2 * count, FIRST), len(self.kernel)))]
        return Leading(held[0].values[:count], held[0].vectors[:, :count])

    def distances(self, pairs: Matrix) -> Vector:
        """Return the squared distances of pairs, (m,): K_ii + K_jj - 2 K_ij; from eigenvectors if that cancels."""
        (i, j), diagonal = pairs.T, np.diag(self.kernel)
        distances = diagonal[i] + diagonal[j] - 2 * self.kernel[i, j]
        near = np.flatnonzero(distances <= FAR * max(self.rounding, -self.least))
        if near.size:
            whole = self.spectrum
            distances[near] = Pairs(pairs[near]).predict(whole.vectors * np.sqrt(whole.values))
        return distances

    def solve(self, G: Matrix, ridge: float) -> Matrix:
        """Return (K₀ + ridge)⁺ G, on the range of the centred kernel K₀.

        Without all eigenvectors it is (K₀ + ridge)⁻¹ G: what that adds is mapped to 0 by the kernel of any sample.
        Raises a ValueError if it is out of range.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            solution = self.solve_regular(G, ridge)
        if not np.isfinite(solution).all():
            raise ValueError(
                "the map of new samples is out of range: the kernel is too small beside the distances. Multiply the "
                "kernel, or give a larger ridge."
            )
        return solution

    def solve_regular(self, G: Matrix, ridge: float) -> Matrix:
        """Return the solution of `solve`; infinite or NaN where it is out of range."""
        if self.complete:
            return (self.vectors / (self.values + ridge)) @ (self.vectors.T @ G)
        regular = self.centred_kernel
        # A kernel of samples that all coincide is 0 up to rounding.
        regular.flat[:: len(regular) + 1] += max(ridge, self.rounding)
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(regular, lower=True, overwrite_a=True), G)

    def choose_ridge(self, G: Matrix) -> float:
        """Return the ridge of the map to G (n, r), as a share of the largest eigenvalue.

        It is 0 if that is safe: an image is at most √k(x, x) times the norm of K₀^(-½) G. Otherwise it is the smallest
        whose leave-one-out error is near the lowest.

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
        # Where the eigenvectors span everything but the mean, residuals and 1 - h are both multiples of the ridge.
        spans_all, ridges, largest = len(self.values) == n - 1, np.array(RIDGES), self.values[0]
        outside = 0.0 if spans_all else (G - self.vectors @ parts)[:, None]
        rest = 0.0 if spans_all else (1 - 1 / n - squares.sum(axis=1))[:, None]
        lost = largest * (1.0 if spans_all else ridges) / (self.values[:, None] + ridges * largest)
        left = rest + squares @ lost
        # A sample that determines its own image alone has no leave-one-out error.
        safe = np.where(left > np.finfo(float).eps, left, np.nan)
        errors, together = np.empty(len(ridges)), max(1, MOST_RESIDUALS // G.size)
        for start in range(0, len(ridges), together):
            # Several ridges in one product: residuals (n, ridges, r).
            some = slice(start, start + together)
            sought = (lost[:, some, None] * parts[:, None]).reshape(len(lost), -1)
            residual = outside + (self.vectors @ sought).reshape(n, -1, G.shape[1])
            errors[some] = np.sum((residual / safe[:, some, None]) ** 2, axis=(0, 2))
        errors = np.where(np.isfinite(errors), errors, np.inf)
        if not np.isfinite(errors.min()):
            return RIDGES[-1]
        return RIDGES[int(np.argmax(errors <= (1 + NEAR) * errors.min()))]


def kernel_start(situation: Situation, rank: int) -> Matrix:
    """Return the kernel PCA of the samples, (n, r); it has their scale, and is centred."""
    return situation.to_solver(kernel_pca(situation.kernel, rank, advice=", or init='random'"))


def kernel_pca(kernel: DecomposedKernel, rank: int, *, advice: str = "") -> Matrix:
    """Return the r leading directions of a kernel, (n, r), centred before or after; errors may add an advice."""
    check_varies(kernel, advice)
    n, limit = len(kernel.kernel), kernel.rounding**0.5
    if kernel.centred:
        leading = Leading(kernel.values[:rank], kernel.vectors[:, :rank])
    else:
        leading = kernel.leading_uncentred(min(rank + 1, n))
    G = align_signs(leading.vectors) * np.sqrt(np.maximum(leading.values, 0))
    G = G - G.mean(axis=0)
    found = int(np.linalg.matrix_rank(G[:, :rank], tol=limit))
    if found < min(rank, G.shape[1]):
        # The mean can be a leading direction of a kernel that is not centred: the next one takes its place.
        left, sigma, _ = np.linalg.svd(G, full_matrices=False)
        G, found = align_signs(left[:, :rank]) * sigma[:rank], int(np.sum(sigma[:rank] > limit))
    if found < rank:
        raise TooFewDirections(
            f"rank={rank} exceeds the rank {found} of the centred kernel (n_features={kernel.n_features}). "
            f"Choose rank <= {found}{advice}."
        )
    return G[:, :rank]


def eigendecompose(K: Matrix, rounding: float, count: int | None = None) -> Spectrum:
    """Return the eigenvalues (k,) of a centred kernel above rounding, descending, and their eigenvectors (n, k).

    With a count, these are the leading ones only, if no eigenvalue is negative. Raises a ValueError if a negative one
    is not small.
    """
    if count is not None and is_semidefinite(K, rounding):
        values, vectors = leading_eigenvectors(K, count)
        k = int(np.sum(values > rounding))
        return Spectrum(values[:k], vectors[:, :k], -rounding, complete=False)
    # By "evd" eigenvectors are orthogonal to 1e-15, by "evr" to 1e-12; but its workspace has 2 n² numbers.
    values, vectors = scipy.linalg.eigh(K, driver="evd" if len(K) <= LARGEST_EVD else "evr")
    least, largest = float(values[0]), float(values[-1])
    if least < -max(rounding, LARGEST_NEGATIVE * largest):
        raise ValueError(
            f"the centred kernel is not positive semidefinite: its eigenvalues go from {least:.3g} to {largest:.3g}. "
            "Choose another kernel. Distances are no kernel: SStressMDS takes them."
        )
    if least < -rounding:
        warn_user(
            f"the centred kernel has negative eigenvalues, down to {least:.3g} where the largest is {largest:.3g}; "
            "they are taken as 0.",
        )
    kept = np.flatnonzero(values > rounding)[::-1]
    return Spectrum(values[kept], vectors[:, kept], least)


def leading_eigenvectors(K: Matrix, count: int) -> Leading:
    """Return the `count` leading eigenvalues of a symmetric K (n, n), descending, and their eigenvectors (n, count)."""
    n = len(K)
    if n >= LARGE and count <= n // SHARE:
        start = np.random.default_rng(0).standard_normal(n)
        try:
            found = scipy.sparse.linalg.eigsh(K, count, which="LA", v0=start, maxiter=RESTARTS)
            order = np.argsort(-found[0])
            return Leading(found[0][order], np.ascontiguousarray(found[1][:, order]))
        except scipy.sparse.linalg.ArpackNoConvergence:
            pass  # Many eigenvalues are nearly equal, as those of a kernel of lower rank are.
    values, vectors = scipy.linalg.eigh(K, subset_by_index=[n - count, n - 1])
    return Leading(values[::-1], np.ascontiguousarray(vectors[:, ::-1]))


def is_semidefinite(K: Matrix, rounding: float) -> bool:
    """Return True if no eigenvalue of K (n, n) is below -rounding."""
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += rounding
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True)
    except np.linalg.LinAlgError:
        return False
    return True


def check_varies(kernel: DecomposedKernel, advice: str = "") -> None:
    """Raise a ValueError if the centred kernel is zero."""
    if not len(kernel.values):
        raise ValueError(f"the kernel is constant: all samples coincide. Give samples that differ{advice}.")
