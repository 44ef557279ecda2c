"""Moving an orthonormal frame: retractions U, ξ -> U(s) that stay orthonormal, as U A(s) + ξ C(s).

The small matrices come from the *actual* Gram matrices of U and ξ, not from those they would have without rounding:
so an error in the frame is mended by the next step instead of growing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from gramian._kernels.limits import LONGEST
from gramian.types import Matrix

__all__ = ["RETRACTIONS", "Retraction", "orthonormal", "project"]


def project(U: Matrix, D: Matrix) -> Matrix:
    """(I - U Uᵀ) D, twice over: one projection leaves rounding of the size of UᵀD."""
    D = D - U @ (U.T @ D)
    return D - U @ (U.T @ D)


def inverse_root(gram: Matrix) -> Matrix:
    """gram^(-1/2), symmetric."""
    w, V = np.linalg.eigh(gram)
    return (V / np.sqrt(w)) @ V.T


def orthonormal(G: Matrix) -> tuple[Matrix, Matrix]:
    """U, R of the polar decomposition G = U R, UᵀU = I, R symmetric; a ValueError where G has not full rank."""
    left, sigma, right = np.linalg.svd(G, full_matrices=False)
    r = G.shape[1]
    if len(sigma) < r or not sigma[-1] > np.finfo(G.dtype).eps * sigma[0]:
        rank = int(np.sum(sigma > np.finfo(G.dtype).eps * max(sigma[0], np.finfo(G.dtype).tiny)))
        raise ValueError(f"the factor has rank {rank} but {r} columns; this geometry needs full column rank.")
    return left @ right, (right.T * sigma) @ right


class Retraction:
    """s -> U(s) = (U + s ξ) Q(s) for one frame and one velocity; its small matrices carry images along too."""

    #: The longest step, as a tangent of the angles.
    longest = LONGEST

    def __init__(self, U: Matrix, xi: Matrix) -> None:
        self.uu, self.ux, self.xx = U.T @ U, U.T @ xi, xi.T @ xi

    @property
    def limit(self) -> float:
        """The longest step."""
        speed = float(np.sqrt(np.trace(self.xx)))
        return self.longest / speed if speed > 0 else np.inf

    def gram(self, s: float) -> Matrix:
        """The Gram matrix of U + s ξ."""
        return self.uu + s * (self.ux + self.ux.T) + (s * s) * self.xx

    def matrices(self, s: float) -> tuple[Matrix, Matrix | float]:
        """Return A(s) and C(s) of U(s) = U A + ξ C; C as the number s where it is s A."""
        return self.normaliser(s), float(s)

    def normaliser(self, s: float) -> Matrix:
        """Return Q(s)."""
        raise NotImplementedError


class PolarFactor(Retraction):
    """uf: the orthonormal matrix nearest to U + s ξ. Independent of the representative of the subspace."""

    def normaliser(self, s: float) -> Matrix:
        """Gram^(-1/2)."""
        return inverse_root(self.gram(s))


class TriangularFactor(Retraction):
    """qf: the orthonormal factor of the QR decomposition with positive diagonal, the paper's retraction."""

    def normaliser(self, s: float) -> Matrix:
        """The inverse of the Cholesky factor of the Gram matrix, upper triangular."""
        gram = self.gram(s)
        return scipy.linalg.solve_triangular(np.linalg.cholesky(gram).T, np.eye(len(gram), dtype=gram.dtype))


class Geodesic(Retraction):
    """exp: the geodesic of the Grassmann manifold, U V cos(sΣ) Vᵀ + Q sin(sΣ) Vᵀ for ξ = Q Σ Vᵀ."""

    longest = float(np.pi / 2)

    def __init__(self, U: Matrix, xi: Matrix) -> None:
        super().__init__(U, xi)
        square, self.V = np.linalg.eigh(self.xx)
        self.sigma = np.sqrt(np.maximum(square, 0))

    def matrices(self, s: float) -> tuple[Matrix, Matrix | float]:
        """Return V cos(sΣ) Vᵀ and V (sin(sΣ)/Σ) Vᵀ, with the rounding of their Gram matrix taken out."""
        angle = s * self.sigma
        A = (self.V * np.cos(angle)) @ self.V.T
        C = (self.V * (s * np.sinc(angle / np.pi))) @ self.V.T
        mixed = A.T @ self.ux @ C
        correction = inverse_root(A.T @ self.uu @ A + mixed + mixed.T + C.T @ self.xx @ C)
        return A @ correction, C @ correction


RETRACTIONS: dict[str, Callable[[Matrix, Matrix], Retraction]] = {
    "uf": PolarFactor,
    "qf": TriangularFactor,
    "exp": Geodesic,
}
