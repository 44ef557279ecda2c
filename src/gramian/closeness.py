"""The paper's closeness measures D(W, V) of two positive semidefinite matrices (section 8.1).

Each update of the paper is, to first order in the step s, W⁺ = argmin D(W, V) + s · loss(W): it trades closeness to the
present matrix V for a lower loss. Each function names the geometry whose update it belongs to, and tests verify this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from gramian.checks import as_real
from gramian.geometries.frames import polar_decompose
from gramian.geometries.polar import check_weight
from gramian.types import Matrix

__all__ = ["flat", "logdet", "polar", "von_neumann"]


def von_neumann(W: Matrix, V: Matrix) -> float:
    """Return the von Neumann divergence tr(W log W - W log V - W + V) of positive definite matrices W, V (d, d).

    Its update is that of `LogEuclidean(mirror=True)`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import von_neumann
    >>> von_neumann(np.eye(2), np.eye(2))
    0.0
    """
    W, V = read_definite(W, V)
    return float(np.trace(W @ (symmetric_log(W) - symmetric_log(V)) - W + V))


def logdet(W: Matrix, V: Matrix) -> float:
    """Return the LogDet divergence tr(W V⁻¹) - log det(W V⁻¹) - d of positive definite matrices W, V (d, d).

    Its update is that of `AffineInvariant("first-order")`. To second order in W - V it equals half the squared
    affine-invariant distance.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import logdet
    >>> logdet(np.eye(2), np.eye(2))
    0.0
    """
    W, V = read_definite(W, V)
    ratio = scipy.linalg.eigh(W, V, eigvals_only=True)
    return float(np.sum(ratio - 1 - np.log(ratio)))


def flat(G: Matrix, H: Matrix) -> float:
    """Return ½ min ‖G - H O‖² over orthogonal O (r, r), for factors G, H (d, r) of two matrices.

    It depends on G Gᵀ and H Hᵀ only. Its update is that of `Flat()`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import flat
    >>> flat(np.array([[1.0], [0.0]]), np.array([[-2.0], [0.0]]))
    0.5
    """
    G, H = read_alike("G", G, "H", H)
    left, _, right = np.linalg.svd(H.T @ G)
    return float(0.5 * np.sum((G - H @ (left @ right)) ** 2))


def polar(G: Matrix, H: Matrix, weight: float = 0.5) -> float:
    """Return ½ [(1/λ) Σ θ² + (1/(1-λ)) ‖log R_H⁻¹ R_G² R_H⁻¹‖²], for factors G, H (d, r) of two matrices.

    λ is the weight and θ are the principal angles between the two ranges. The cores R_G², R_H² are expressed in bases
    of the two ranges that are rotated to be nearest to each other. At λ = 0 matrices of different ranges are infinitely
    far apart, at λ = 1 matrices of different cores. Its update is that of `Polar(λ)`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.closeness import polar
    >>> round(polar(np.array([[1.0], [0.0]]), np.array([[np.e], [0.0]])), 6)
    4.0
    """
    G, H = read_alike("G", G, "H", H)
    check_weight(weight)
    (U, R), (V, S) = polar_decompose(G), polar_decompose(H)
    left, _, right = np.linalg.svd(U.T @ V)
    U, R = U @ (left @ right), (left @ right).T @ R
    angles = scipy.linalg.subspace_angles(U, V)
    ratio = scipy.linalg.eigh(R @ R.T, S @ S.T, eigvals_only=True)
    of_ranges = divide_by_weight(float(angles @ angles), weight)
    of_cores = divide_by_weight(float(np.sum(np.log(ratio) ** 2)), 1 - weight)
    return 0.5 * (of_ranges + of_cores)


def read_alike(name: str, first: Any, other_name: str, second: Any) -> tuple[Matrix, Matrix]:
    """Return two matrices of finite numbers of one shape as arrays, or raise a ValueError."""
    first, second = as_real(name, first), as_real(other_name, second)
    if first.ndim != 2 or first.shape != second.shape or not first.size:
        raise ValueError(
            f"{name} has shape {first.shape} and {other_name} has {second.shape}; expected matrices of one shape."
        )
    for each, matrix in ((name, first), (other_name, second)):
        if not np.isfinite(matrix).all():
            raise ValueError(f"{each} contains NaN or infinity.")
    return first, second


def read_definite(W: Any, V: Any) -> tuple[Matrix, Matrix]:
    """Return two positive definite matrices (d, d) as arrays, or raise a ValueError that names the one that is not."""
    W, V = read_alike("W", W, "V", V)
    for name, matrix in (("W", W), ("V", V)):
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"{name} has shape {matrix.shape}; expected (d, d).")
        if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-6 * float(np.abs(matrix).max())):
            raise ValueError(f"{name} is not symmetric.")
        if not np.linalg.eigvalsh(matrix)[0] > 0:
            raise ValueError(f"{name} is not positive definite: the divergence is infinite, or has no meaning.")
    return W, V


def divide_by_weight(square: float, weight: float) -> float:
    """Return square/weight; for weight 0 return 0 if the square is 0 up to rounding, else infinity."""
    if weight > 0:
        return square / weight
    return 0.0 if square < 1e-20 else float("inf")


def symmetric_log(W: Matrix) -> Matrix:
    """Return the matrix logarithm log W, (d, d), of a positive definite matrix."""
    w, V = np.linalg.eigh(W)
    return (V * np.log(w)) @ V.T
