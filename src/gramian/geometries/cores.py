"""Cores: positive definite matrices B = R Rᵀ (r, r) with a metric and curves.

A core is the matrix B of a polar point W = U B Uᵀ, or the whole W of a full-rank cone. A tangent is given by
coordinates S, a symmetric (r, r) matrix; what S means depends on the metric.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from gramian._kernels.limits import LARGEST_EXPONENT
from gramian.geometries.point import inner, regularise
from gramian.types import Matrix

__all__ = ["CORES", "AffineCore", "Core", "CoreCurve", "LogEuclideanCore", "MirrorCore", "TangentCore"]


class Core(Protocol):
    """The interface of a positive definite matrix B = R Rᵀ (r, r) with a metric; `root` is R."""

    root: Matrix

    def gradient(self, N: Matrix) -> Matrix:
        """Return the gradient in the metric, as coordinates (r, r).

        Parameters
        ----------
        N : array, shape (r, r), symmetric
            The derivative of the loss in B: UᵀMU for a polar point, M for a full-rank cone.
        """

    def velocity(self, S: Matrix) -> Matrix:
        """Return dR/ds, shape (r, r), at s = 0 of the curve along the tangent with coordinates S (r, r)."""

    def inner(self, S: Matrix, T: Matrix) -> float:
        """Return the inner product of the tangents with coordinates S and T, (r, r) each."""

    def precondition(self, S: Matrix, level: float) -> Matrix:
        """Return the inverse Hessian of ½ ‖dB‖², regularised by the level, applied to coordinates S (r, r)."""

    def curve(self, S: Matrix) -> CoreCurve:
        """Return the curve along the tangent with coordinates S (r, r)."""


class CoreCurve(Protocol):
    """The interface of a curve of cores; `limit` is the largest s allowed."""

    limit: float

    def core(self, s: float) -> Core:
        """Return the core at s."""


class AffineCore:
    """A core with the affine-invariant metric tr(ξ B⁻¹ ζ B⁻¹). In the coordinates ξ = R S Rᵀ it is tr(S T).

    The curve is the geodesic R exp(s S) Rᵀ. R need not be symmetric. It is not symmetric after one step.
    """

    def __init__(self, root: Matrix) -> None:
        self.root = root

    def gradient(self, N: Matrix) -> Matrix:
        """Return Rᵀ N R, shape (r, r)."""
        return self.root.T @ N @ self.root

    def velocity(self, S: Matrix) -> Matrix:
        """Return ½ R S, shape (r, r)."""
        return 0.5 * (self.root @ S)

    def inner(self, S: Matrix, T: Matrix) -> float:
        """Return tr(S T)."""
        return inner(S, T)

    def precondition(self, S: Matrix, level: float) -> Matrix:
        """Return (RᵀR + η I)⁻¹ S (RᵀR + η I)⁻¹, shape (r, r)."""
        inverse = np.linalg.inv(regularise(self.root.T @ self.root, level))
        return inverse @ S @ inverse.T

    def curve(self, S: Matrix) -> AffineCurve:
        """Return the curve of the roots R exp(½ s S)."""
        return AffineCurve(self, S)

    @staticmethod
    def root_scales(w: Matrix) -> Matrix:
        """Return the factors (r,) by which R grows along the eigenvectors of s S, given its eigenvalues w (r,)."""
        return np.exp(0.5 * w)

    @staticmethod
    def step_limit(w: Matrix) -> float:
        """Return the largest s allowed, given the eigenvalues w (r,) of S."""
        largest = float(np.abs(w).max())
        return LARGEST_EXPONENT / largest if largest > 0 else np.inf


class AffineCurve:
    """The curve of cores with the roots R V f(s w) Vᵀ, where S = V w Vᵀ and f is `root_scales` of the core at s = 0."""

    def __init__(self, start: AffineCore, S: Matrix) -> None:
        self.start = start
        self.w, self.V = np.linalg.eigh(S)
        self.rotated = start.root @ self.V
        self.limit = start.step_limit(self.w)

    def core(self, s: float) -> AffineCore:
        """Return the core at s."""
        return type(self.start)((self.rotated * self.start.root_scales(s * self.w)) @ self.V.T)


class TangentCore(AffineCore):
    """A core with the affine-invariant metric and the first-order retraction B + s ξ, which is the LogDet update.

    B + s ξ is positive definite only if s times the least eigenvalue of S is above -1. This limits the steps.
    """

    @staticmethod
    def root_scales(w: Matrix) -> Matrix:
        """Return (1 + w)^½, shape (r,), in place of exp(½ w)."""
        return np.sqrt(1 + w)

    @staticmethod
    def step_limit(w: Matrix) -> float:
        """Return the largest s for which no eigenvalue of B changes by more than a factor of e²."""
        shrink, grow = -np.expm1(-LARGEST_EXPONENT), np.expm1(LARGEST_EXPONENT)
        rate = max(float(-w.min()) / float(shrink), float(w.max()) / float(grow))
        return 1 / rate if rate > 0 else np.inf


class LogEuclideanCore:
    """A core with the Euclidean metric on L = log B. Coordinates are changes of L; the curve is exp(L + s S)."""

    def __init__(self, log: Matrix) -> None:
        self.log = log
        self.w, self.V = np.linalg.eigh(log)
        self.root = (self.V * np.exp(0.5 * self.w)) @ self.V.T

    @classmethod
    def from_root(cls, root: Matrix) -> LogEuclideanCore:
        """Return the core B = R Rᵀ for a root R (r, r)."""
        left, sigma, _ = np.linalg.svd(root)
        return cls((left * (2 * np.log(sigma))) @ left.T)

    def derivative_of_exp(self, N: Matrix, scale: float = 1.0) -> Matrix:
        """Return V (K ∘ VᵀNV) Vᵀ, the derivative of exp at scale · L along N (r, r), with divided differences K."""
        return self.V @ (self.differences(scale) * (self.V.T @ N @ self.V)) @ self.V.T

    def differences(self, scale: float = 1.0) -> Matrix:
        """Return the divided differences of exp at the eigenvalues of scale · L, shape (r, r)."""
        w = scale * self.w
        mean, half = (w[:, None] + w) / 2, (w[:, None] - w) / 2
        # sinh(h)/h without cancellation: K_ij = exp(mean) sinhc(half difference).
        small = np.abs(half) < 1e-4
        safe = np.where(small, 1, half)
        sinhc = np.where(small, 1 + half * half / 6, np.sinh(safe) / safe)
        return np.exp(mean) * sinhc

    def gradient(self, N: Matrix) -> Matrix:
        """Return the derivative of exp at L along N, shape (r, r). It is the gradient because it is self-adjoint."""
        return self.derivative_of_exp(N)

    def velocity(self, S: Matrix) -> Matrix:
        """Return the derivative of exp at ½ L along ½ S, shape (r, r)."""
        return self.derivative_of_exp(0.5 * S, 0.5)

    def inner(self, S: Matrix, T: Matrix) -> float:
        """Return tr(S T)."""
        return inner(S, T)

    def precondition(self, S: Matrix, level: float) -> Matrix:
        """Return S with the derivative of exp inverted twice, regularised, shape (r, r)."""
        return self.V @ ((self.V.T @ S @ self.V) / self.damped_differences(level) ** 2) @ self.V.T

    def damped_differences(self, level: float) -> Matrix:
        """Return K + η, shape (r, r), with the divided differences K and η = level · tr(B)/r, at least rounding."""
        K = self.differences()
        return K + max(level / len(K), 4 * float(np.finfo(K.dtype).eps)) * float(np.trace(K))

    def curve(self, S: Matrix) -> LogEuclideanCurve:
        """Return the curve exp(L + s S)."""
        return LogEuclideanCurve(self, S)


class LogEuclideanCurve:
    """The curve of cores exp(L + s S)."""

    def __init__(self, start: LogEuclideanCore, S: Matrix) -> None:
        self.start, self.S = start, S
        largest = float(np.linalg.norm(S, 2))
        self.limit = LARGEST_EXPONENT / largest if largest > 0 else np.inf

    def core(self, s: float) -> LogEuclideanCore:
        """Return the core at s."""
        return type(self.start)(self.start.log + s * self.S)


class MirrorCore(LogEuclideanCore):
    """A core in which the gradient is N itself, so that a descent step is exp(log B - s N), the von Neumann update.

    This is mirror descent. N is the gradient in the metric tr(S Dexp_L[T]), the Hessian of the dual of the von Neumann
    entropy.
    """

    def gradient(self, N: Matrix) -> Matrix:
        """Return N itself."""
        return N

    def precondition(self, S: Matrix, level: float) -> Matrix:
        """Return S with the derivative of exp inverted once, regularised, shape (r, r)."""
        return self.V @ ((self.V.T @ S @ self.V) / self.damped_differences(level)) @ self.V.T

    def inner(self, S: Matrix, T: Matrix) -> float:
        """Return tr(S Dexp_L[T])."""
        return inner(S, self.derivative_of_exp(T))


CORES: dict[str, Callable[[Matrix], Core]] = {
    "affine": AffineCore,
    "log-euclidean": LogEuclideanCore.from_root,
}
