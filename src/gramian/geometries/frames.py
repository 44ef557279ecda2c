"""Retractions: curves U(s) = U A(s) + ξ C(s) of orthonormal frames, with A(s) and C(s) of shape (r, r).

A(s) and C(s) are computed from the Gram matrices that U and ξ have with rounding, not from their exact values
UᵀU = I and Uᵀξ = 0. So each step corrects the rounding error in U instead of adding to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from gramian._kernels.limits import LONGEST
from gramian.types import Matrix

__all__ = ["RETRACTIONS", "Retraction", "polar_decompose", "project"]


def project(U: Matrix, D: Matrix) -> Matrix:
    """Return (I - U Uᵀ) D, shape (d, k), the projection of D (d, k) on the complement of the span of U (d, r)."""
    # Projecting once leaves a rounding error of the size of UᵀD.
    D = D - U @ (U.T @ D)
    return D - U @ (U.T @ D)


def inverse_square_root(gram: Matrix) -> Matrix:
    """Return the symmetric matrix gram^(-1/2), shape (r, r); one that is not finite if gram is singular."""
    w, V = np.linalg.eigh(gram)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (V / np.sqrt(w)) @ V.T


class PolarDecomposition(NamedTuple):
    """The factors of G = U R: U (d, r) with UᵀU = I, and R (r, r), symmetric."""

    U: Matrix
    R: Matrix


def polar_decompose(G: Matrix) -> PolarDecomposition:
    """Return U (d, r) and R (r, r) of the polar decomposition G = U R, with UᵀU = I and R symmetric.

    Raises a ValueError if G does not have full column rank.
    """
    left, sigma, right = np.linalg.svd(G, full_matrices=False)
    r = G.shape[1]
    if len(sigma) < r or not sigma[-1] > np.finfo(G.dtype).eps * sigma[0]:
        rank = int(np.sum(sigma > np.finfo(G.dtype).eps * max(sigma[0], np.finfo(G.dtype).tiny)))
        raise ValueError(
            f"the factor has rank {rank} but {r} columns, and this geometry needs full column rank. Choose rank <= "
            f"{max(rank, 1)}, or scale the data (or the start, if you gave one) so that its columns are independent."
        )
    return PolarDecomposition(left @ right, (right.T * sigma) @ right)


class FrameMatrices(NamedTuple):
    """The matrices A and C (r, r) of a frame U(s) = U A + ξ C; C is the float s if C = s A."""

    A: Matrix
    C: Matrix | float


class Retraction:
    """A curve U(s) = (U + s ξ) Q(s) of orthonormal frames (d, r), for a frame U and a velocity ξ.

    Parameters
    ----------
    U : array, shape (d, r)
        The frame at s = 0.
    xi : array, shape (d, r)
        The velocity ξ at s = 0.
    """

    #: The largest value of s ‖ξ‖, which bounds the tangents of the angles by which the frame turns.
    longest = LONGEST

    def __init__(self, U: Matrix, xi: Matrix) -> None:
        self.uu, self.ux, self.xx = U.T @ U, U.T @ xi, xi.T @ xi

    @property
    def limit(self) -> float:
        """The largest s allowed."""
        speed = float(np.sqrt(np.trace(self.xx)))
        return self.longest / speed if speed > 0 else np.inf

    def gram(self, s: float) -> Matrix:
        """Return the Gram matrix of U + s ξ, shape (r, r)."""
        return self.uu + s * (self.ux + self.ux.T) + (s * s) * self.xx

    def matrices(self, s: float) -> FrameMatrices:
        """Return A (r, r) and C (r, r) with U(s) = U A + ξ C; C is the float s if C = s A."""
        return FrameMatrices(self.normaliser(s), float(s))

    def normaliser(self, s: float) -> Matrix:
        """Return Q(s), shape (r, r)."""
        raise NotImplementedError


class PolarFactor(Retraction):
    """The retraction "uf": the orthonormal matrix nearest to U + s ξ. From U O and ξ O it gives U(s) O."""

    def normaliser(self, s: float) -> Matrix:
        """Return Gram^(-1/2), shape (r, r)."""
        return inverse_square_root(self.gram(s))


class TriangularFactor(Retraction):
    """The retraction "qf" of the paper: the factor Q of the QR decomposition of U + s ξ with positive diagonal."""

    def normaliser(self, s: float) -> Matrix:
        """Return the inverse of the upper triangular Cholesky factor of the Gram matrix, shape (r, r)."""
        gram = self.gram(s)
        upper = np.linalg.cholesky(gram).T
        # No check: a Gram matrix that overflowed has a normaliser of NaN, and the step is rejected for its value.
        return scipy.linalg.solve_triangular(upper, np.eye(len(gram), dtype=gram.dtype), check_finite=False)


class Geodesic(Retraction):
    """The retraction "exp": the geodesic U V cos(sΣ) Vᵀ + Q sin(sΣ) Vᵀ of the Grassmann manifold, for ξ = Q Σ Vᵀ."""

    # On a geodesic s ‖ξ‖ bounds the angles themselves.
    longest = float(np.pi / 2)

    def __init__(self, U: Matrix, xi: Matrix) -> None:
        super().__init__(U, xi)
        square, self.V = np.linalg.eigh(self.xx)
        self.sigma = np.sqrt(np.maximum(square, 0))

    def matrices(self, s: float) -> FrameMatrices:
        """Return V cos(sΣ) Vᵀ and V (sin(sΣ)/Σ) Vᵀ, (r, r) each, corrected so that U(s) is orthonormal."""
        angle = s * self.sigma
        A = (self.V * np.cos(angle)) @ self.V.T
        C = (self.V * (s * np.sinc(angle / np.pi))) @ self.V.T
        mixed = A.T @ self.ux @ C
        correction = inverse_square_root(A.T @ self.uu @ A + mixed + mixed.T + C.T @ self.xx @ C)
        return FrameMatrices(A @ correction, C @ correction)


RETRACTIONS: dict[str, Callable[[Matrix, Matrix], Retraction]] = {
    "uf": PolarFactor,
    "qf": TriangularFactor,
    "exp": Geodesic,
}
