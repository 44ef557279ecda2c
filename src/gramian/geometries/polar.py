"""The polar geometry: W is a subspace and a positive definite matrix on it (the paper's section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.online import Batches, Samples, as_batches
from gramian._kernels.online_polar import polar_online
from gramian.checks import check_number
from gramian.geometries.cores import CORES, AffineCore, Core
from gramian.geometries.frames import RETRACTIONS, polar_decompose, project
from gramian.geometries.grassmann import check_retraction
from gramian.geometries.point import Curve, Geometry, Motion, OnlineKernel, Point, regularise
from gramian.types import Matrix

__all__ = ["Polar", "check_weight"]


class Settings(NamedTuple):
    """The settings that all polar points of a curve share: the weight λ and the name of the retraction."""

    weight: float
    retraction: str


class TangentParts(NamedTuple):
    """The parts of a tangent: ξ_U (d, r) of the frame, and coordinates S (r, r) of the core."""

    frame: Matrix
    core: Matrix


class PolarPoint(Point):
    """W = U B Uᵀ with UᵀU = I and B = R Rᵀ, and the metric (1/λ) tr(ξ_Uᵀ ζ_U) + (1/(1-λ)) g_B(ξ_B, ζ_B).

    A tangent is the array [ξ_U/√λ; S/√(1-λ)], shape (d + r, r), where S are the coordinates of the core. In these
    coordinates the metric is tr(aᵀ b), and they are finite at λ = 0 and λ = 1.
    """

    geometry_name = "Polar"

    def __init__(self, U: Matrix, core: Core, settings: Settings) -> None:
        super().__init__(U, core.root)
        self.core, self.settings = core, settings
        self.scales = sqrt(settings.weight), sqrt(1 - settings.weight)

    def split(self, tangent: Matrix) -> TangentParts:
        """Return the parts ξ_U (d, r) and S (r, r) of a tangent (d + r, r)."""
        d = len(self.frame)
        return TangentParts(self.scales[0] * tangent[:d], self.scales[1] * tangent[d:])

    def gradient(self, MF: Matrix) -> Matrix:
        """Return the tangent (d + r, r) of ξ_U = 2 λ (I - U Uᵀ) M U B and S = (1-λ) times the gradient of the core."""
        N = self.frame.T @ MF
        along_frame = (2 * self.scales[0]) * project(self.frame, MF @ (self.core.root @ self.core.root.T))
        along_core = self.scales[1] * self.core.gradient(0.5 * (N + N.T))
        return np.concatenate([along_frame, along_core])

    def frame_velocity(self, tangent: Matrix) -> Matrix | None:
        """Return ξ_U, shape (d, r); None if λ = 0."""
        return self.split(tangent).frame if self.settings.weight > 0 else None

    def root_velocity(self, tangent: Matrix) -> Matrix | None:
        """Return dR/ds, shape (r, r); None if λ = 1."""
        return self.core.velocity(self.split(tangent).core) if self.settings.weight < 1 else None

    def precondition(self, tangent: Matrix, level: float) -> Matrix:
        """Return the tangent of ξ_U (B + η I)⁻²/(2λ) and of S, as the core preconditions it, over 1-λ; (d + r, r).

        For measurements that see all changes of W alike, the objective changes by ‖dW‖² = 2 ‖ξ_U B‖² + ‖dB‖².
        """
        d, weight = len(self.frame), self.settings.weight
        inverse = np.linalg.inv(regularise(self.core.root @ self.core.root.T, level))
        along_frame = tangent[:d] @ (inverse @ inverse) / (2 * weight) if weight > 0 else tangent[:d]
        along_core = self.core.precondition(tangent[d:], level) / (1 - weight) if weight < 1 else tangent[d:]
        return np.concatenate([along_frame, along_core])

    def transport(self, tangent: Matrix, target: Point) -> Matrix:
        """Return the tangent with ξ_U projected and S unchanged, shape (d + r, r)."""
        # Keeping S is parallel transport along the curve of the core.
        d = len(self.frame)
        return np.concatenate([project(target.frame, tangent[:d]), tangent[d:]])

    def curve(self, tangent: Matrix) -> PolarCurve:
        """Return the curve on which U follows the retraction and R the curve of the core."""
        return PolarCurve(self, tangent)

    @property
    def online_kernel(self) -> OnlineKernel | None:
        """The compiled online descent, for the affine-invariant core and the retraction "uf"; else None."""
        return self.descend if type(self.core) is AffineCore and self.settings.retraction == "uf" else None

    def descend(self, samples: Samples, batches: Batches) -> tuple[PolarPoint, int]:
        """Return the point after one step per batch, and the number of steps skipped because they were not finite."""
        U, R = np.ascontiguousarray(self.frame.T).copy(), np.ascontiguousarray(self.core.root).copy()
        skipped = polar_online(*samples, *as_batches(batches), float(self.settings.weight), U, R)
        return PolarPoint(np.ascontiguousarray(U.T), AffineCore(R), self.settings), skipped


class PolarCurve(Curve):
    """A curve of frames U(s) and roots R(s)."""

    def __init__(self, start: PolarPoint, tangent: Matrix) -> None:
        self.start = start
        cores = start.core.curve(start.split(tangent).core)
        # Point and motion at the same s share their small matrices.
        self.core, self.limit = lru_cache(maxsize=1)(cores.core), cores.limit
        self.direction = start.frame_velocity(tangent)
        if self.direction is not None:
            retraction = RETRACTIONS[start.settings.retraction](start.frame, self.direction)
            self.matrices = lru_cache(maxsize=1)(retraction.matrices)
            self.limit = min(self.limit, retraction.limit)

    def core_at(self, s: float) -> Core:
        """Return the core at s."""
        return self.core(s) if self.start.settings.weight < 1 else self.start.core

    def point(self, s: float) -> PolarPoint:
        """Return the point at s."""
        frame = self.motion(s).carry(self.start.frame, self.direction)
        return PolarPoint(frame, self.core_at(s), self.start.settings)

    def motion(self, s: float) -> Motion:
        """Return the motion with the matrices of the retraction, if the frame moves, and the root at s."""
        root = self.core_at(s).root
        return Motion(None, None, root) if self.direction is None else Motion(*self.matrices(s), root)


@dataclass(frozen=True, eq=False, repr=False)
class Polar(Geometry):
    """Matrices W = U B Uᵀ of rank r: a subspace, spanned by U, and a positive definite matrix B on it.

    The weight λ divides a gradient step between the two: the part of U is multiplied by λ, the part of B by 1-λ.

    Parameters
    ----------
    weight : float
        The weight λ in [0, 1]. At 0 only B is learned, at 1 only the subspace.
    retraction : {"uf", "qf", "exp"}
        The curve of the frame U: polar factor, with which W(s) does not depend on the basis U of the subspace; QR
        factor with positive diagonal (the paper's); or geodesic of the Grassmann manifold.
    core : {"affine", "log-euclidean"}
        The metric of B: affine-invariant (the paper's) or log-Euclidean.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Polar
    >>> point = Polar(weight=0.5).point(np.array([[3.0], [4.0]]))
    >>> point.frame.ravel(), point.root.ravel()
    (array([0.6, 0.8]), array([5.]))
    """

    weight: float = 0.5
    retraction: str = "uf"
    core: str = "affine"

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if self.core not in CORES:
            raise ValueError(f"core={self.core!r} is unknown. Choose one of {', '.join(CORES)}.")
        check_retraction(self.retraction)

    def point(self, G: Matrix) -> PolarPoint:
        """Return the point W = G Gᵀ."""
        U, R = polar_decompose(self.factor(G))
        return PolarPoint(U, CORES[self.core](R), Settings(self.weight, self.retraction))


def check_weight(weight: Any) -> None:
    """Raise a ValueError unless the weight λ is a number from 0 to 1."""
    check_number("weight", weight, least=0)
    if weight > 1:
        raise ValueError(
            f"weight={weight} is above 1. Choose a number from 0 to 1; at 0 only B is learned, at 1 only the subspace."
        )


Polar.examples = (
    Polar(),
    Polar(0.2, retraction="qf"),
    Polar(0.8, retraction="exp"),
    Polar(core="log-euclidean"),
    Polar(0.0),
    Polar(1.0),
)
