"""Moving a positive definite matrix B = R Rᵀ: the core of a polar point, or the whole of a full-rank one.

Each core has coordinates S (r, r), symmetric, in which tangents are added; `gradient` takes N = UᵀMU, the derivative
of the loss in B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from gramian._kernels.limits import LARGEST_EXPONENT
from gramian.geometries.point import inner
from gramian.types import Matrix

__all__ = ["CORES", "AffineCore", "Core", "LogEuclideanCore", "MirrorCore", "TangentCore"]


class Core(Protocol):
    """A positive definite matrix and its metric."""

    root: Matrix

    def gradient(self, N: Matrix) -> Matrix:
        """The metric's gradient, in coordinates."""

    def velocity(self, S: Matrix) -> Matrix:
        """dR/ds along S."""

    def inner(self, S: Matrix, T: Matrix) -> float:
        """The metric."""

    def curve(self, S: Matrix) -> tuple[Callable[[float], Core], float]:
        """s -> the core at s, and the longest step."""


class AffineCore:
    """The affine-invariant metric tr(ξ B⁻¹ ζ B⁻¹) in the coordinates ξ = R S Rᵀ, where it is tr(S T).

    The curve is the geodesic R exp(s S) Rᵀ. R need not be symmetric, and is not after one step.
    """

    def __init__(self, root: Matrix) -> None:
        self.root = root

    def gradient(self, N: Matrix) -> Matrix:
        """Rᵀ N R."""
        return self.root.T @ N @ self.root

    def velocity(self, S: Matrix) -> Matrix:
        """½ R S."""
        return 0.5 * (self.root @ S)

    def inner(self, S: Matrix, T: Matrix) -> float:
        """tr(S T)."""
        return inner(S, T)

    def curve(self, S: Matrix) -> tuple[Callable[[float], AffineCore], float]:
        """R exp(½ s S)."""
        w, V = np.linalg.eigh(S)
        rotated = self.root @ V

        def point(s: float) -> AffineCore:
            return type(self)((rotated * self.stretch(s * w)) @ V.T)

        return point, self.limit(w)

    @staticmethod
    def stretch(w: Matrix) -> Matrix:
        """The root of the factor by which W grows along an eigenvector of S."""
        return np.exp(0.5 * w)

    @staticmethod
    def limit(w: Matrix) -> float:
        """The longest step."""
        largest = float(np.abs(w).max())
        return LARGEST_EXPONENT / largest if largest > 0 else np.inf


class TangentCore(AffineCore):
    """The affine-invariant metric with the first-order retraction B + s ξ, which is the LogDet update.

    Positive definite only while s times the least eigenvalue of S is above -1: the limit of its steps.
    """

    @staticmethod
    def stretch(w: Matrix) -> Matrix:
        """(1 + w)^½, in place of exp(½ w)."""
        return np.sqrt(1 + w)

    @staticmethod
    def limit(w: Matrix) -> float:
        """The longest step: no eigenvalue changes by more than a factor of e²."""
        shrink, grow = -np.expm1(-LARGEST_EXPONENT), np.expm1(LARGEST_EXPONENT)
        rate = max(float(-w.min()) / float(shrink), float(w.max()) / float(grow))
        return 1 / rate if rate > 0 else np.inf


class LogEuclideanCore:
    """The Euclidean metric on L = log B: coordinates are changes of L, curves exp(L + s S)."""

    def __init__(self, log: Matrix) -> None:
        self.log = log
        self.w, self.V = np.linalg.eigh(log)
        self.root = (self.V * np.exp(0.5 * self.w)) @ self.V.T

    @classmethod
    def of_root(cls, root: Matrix) -> LogEuclideanCore:
        """The core B = R Rᵀ."""
        left, sigma, _ = np.linalg.svd(root)
        return cls((left * (2 * np.log(sigma))) @ left.T)

    def derivative_of_exp(self, N: Matrix, scale: float = 1.0) -> Matrix:
        """V (K ∘ VᵀNV) Vᵀ, the derivative of exp at scale·L along N, by divided differences K."""
        w = scale * self.w
        mean, half = (w[:, None] + w) / 2, (w[:, None] - w) / 2
        # sinh(h)/h without cancellation: K_ij = exp(mean) sinhc(half difference).
        small = np.abs(half) < 1e-4
        safe = np.where(small, 1, half)
        sinhc = np.where(small, 1 + half * half / 6, np.sinh(safe) / safe)
        return self.V @ ((np.exp(mean) * sinhc) * (self.V.T @ N @ self.V)) @ self.V.T

    def gradient(self, N: Matrix) -> Matrix:
        """The derivative of exp, which is self-adjoint, at L along N."""
        return self.derivative_of_exp(N)

    def velocity(self, S: Matrix) -> Matrix:
        """The derivative of exp(½ L) along ½ S."""
        return self.derivative_of_exp(0.5 * S, 0.5)

    def inner(self, S: Matrix, T: Matrix) -> float:
        """tr(S T)."""
        return inner(S, T)

    def curve(self, S: Matrix) -> tuple[Callable[[float], LogEuclideanCore], float]:
        """exp(L + s S)."""
        largest = float(np.linalg.norm(S, 2))
        limit = LARGEST_EXPONENT / largest if largest > 0 else np.inf
        return lambda s: type(self)(self.log + s * S), limit


class MirrorCore(LogEuclideanCore):
    """The mirror form: the gradient is N itself, so a step is exp(log B - s N), the von Neumann update.

    N is the gradient for the metric tr(S Dexp_L[T]), the Hessian of the von Neumann entropy's dual.
    """

    def gradient(self, N: Matrix) -> Matrix:
        """N."""
        return N

    def inner(self, S: Matrix, T: Matrix) -> float:
        """tr(S Dexp_L[T])."""
        return inner(S, self.derivative_of_exp(T))


CORES: dict[str, Callable[[Matrix], Core]] = {
    "affine": AffineCore,
    "log-euclidean": LogEuclideanCore.of_root,
}
