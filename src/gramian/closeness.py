"""How far apart two positive semidefinite matrices are: the closeness measures of the paper's section 8.1.

Each update of the paper solves, to first order in the step s, the problem of staying close while fitting better:
W⁺ = argmin D(W, V) + s · loss(W). Which D belongs to which update is said with each function, and tested.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from gramian.geometries.frames import orthonormal
from gramian.types import Matrix

__all__ = ["flat", "logdet", "polar", "von_neumann"]


def von_neumann(W: Matrix, V: Matrix) -> float:
    """tr(W log W - W log V - W + V) of positive definite matrices; the update `LogEuclidean(mirror=True)`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import von_neumann
    >>> von_neumann(np.eye(2), np.eye(2))
    0.0
    """
    return float(np.trace(W @ (symmetric_log(W) - symmetric_log(V)) - W + V))


def logdet(W: Matrix, V: Matrix) -> float:
    """tr(W V⁻¹) - log det(W V⁻¹) - d of positive definite matrices; the update `AffineInvariant("first-order")`.

    Up to second order it is half the squared affine-invariant distance.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import logdet
    >>> logdet(np.eye(2), np.eye(2))
    0.0
    """
    ratio = scipy.linalg.eigh(W, V, eigvals_only=True)
    return float(np.sum(ratio - 1 - np.log(ratio)))


def flat(G: Matrix, H: Matrix) -> float:
    """½ min over rotations O of ‖G - H O‖², for factors (d, r) of two matrices; the update `Flat()`.

    A function of G Gᵀ and H Hᵀ alone.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import flat
    >>> flat(np.array([[1.0], [0.0]]), np.array([[-2.0], [0.0]]))
    0.5
    """
    left, _, right = np.linalg.svd(H.T @ G)
    return float(0.5 * np.sum((G - H @ (left @ right)) ** 2))


def polar(G: Matrix, H: Matrix, weight: float = 0.5) -> float:
    """½ [(1/λ) Σ θ² + (1/(1-λ)) ‖log R_H⁻¹ R_G² R_H⁻¹‖²], for factors (d, r) of two matrices; the update `Polar(λ)`.

    θ are the principal angles of the two subspaces; the cores are compared in frames turned onto each other. At
    λ = 0 matrices of different range are infinitely far apart, at λ = 1 those of different cores.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import polar
    >>> round(polar(np.array([[1.0], [0.0]]), np.array([[np.e], [0.0]])), 6)
    4.0
    """
    (U, R), (V, S) = orthonormal(G), orthonormal(H)
    left, _, right = np.linalg.svd(U.T @ V)
    U, R = U @ (left @ right), (left @ right).T @ R
    angles = scipy.linalg.subspace_angles(U, V)
    ratio = scipy.linalg.eigh(R @ R.T, S @ S.T, eigvals_only=True)
    return 0.5 * (over(float(angles @ angles), weight) + over(float(np.sum(np.log(ratio) ** 2)), 1 - weight))


def over(square: float, weight: float) -> float:
    """square/weight, where 0/0 is 0; rounding counts as 0."""
    if weight > 0:
        return square / weight
    return 0.0 if square < 1e-20 else float("inf")


def symmetric_log(W: Matrix) -> Matrix:
    """log W of a positive definite matrix."""
    w, V = np.linalg.eigh(W)
    return (V * np.log(w)) @ V.T
