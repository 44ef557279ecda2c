"""The polar geometry: a subspace and a positive definite core in it (the paper's section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from gramian._kernels.online import Batches, Samples, polar_online
from gramian.geometries.cores import CORES, AffineCore, Core
from gramian.geometries.frames import RETRACTIONS, orthonormal, project
from gramian.geometries.grassmann import check_retraction
from gramian.geometries.point import Curve, Geometry, Motion, OnlineKernel, Point
from gramian.types import Matrix

__all__ = ["Polar"]


class Settings(NamedTuple):
    """What a polar point hands on to the next."""

    weight: float
    retraction: str


class PolarPoint(Point):
    """W = U B Uᵀ, UᵀU = I, B = R Rᵀ, under (1/λ) tr(ξ_Uᵀ ζ_U) + (1/(1-λ)) g_B(ξ_B, ζ_B).

    A tangent is [ξ_U/√λ; S/√(1-λ)] (d + r, r), S the core's coordinates: orthonormal, and finite at λ = 0 and 1.
    """

    def __init__(self, U: Matrix, core: Core, settings: Settings) -> None:
        super().__init__(U, core.root)
        self.core, self.settings = core, settings
        self.scales = sqrt(settings.weight), sqrt(1 - settings.weight)

    def split(self, tangent: Matrix) -> tuple[Matrix, Matrix]:
        """ξ_U (d, r) and S (r, r)."""
        d = len(self.frame)
        return self.scales[0] * tangent[:d], self.scales[1] * tangent[d:]

    def gradient(self, MF: Matrix) -> Matrix:
        """2 λ (I - U Uᵀ) M U B and (1-λ) times the core's gradient, in the tangent's coordinates."""
        N = self.frame.T @ MF
        along_frame = (2 * self.scales[0]) * project(self.frame, MF @ (self.core.root @ self.core.root.T))
        along_core = self.scales[1] * self.core.gradient(0.5 * (N + N.T))
        return np.concatenate([along_frame, along_core])

    def frame_velocity(self, tangent: Matrix) -> Matrix | None:
        """ξ_U."""
        return self.split(tangent)[0] if self.settings.weight > 0 else None

    def root_velocity(self, tangent: Matrix) -> Matrix | None:
        """dR/ds."""
        return self.core.velocity(self.split(tangent)[1]) if self.settings.weight < 1 else None

    def transport(self, tangent: Matrix, target: Point) -> Matrix:
        """ξ_U projected; S kept, which is parallel transport along the core's own curve."""
        d = len(self.frame)
        return np.concatenate([project(target.frame, tangent[:d]), tangent[d:]])

    def curve(self, tangent: Matrix) -> PolarCurve:
        """The frame's retraction and the core's curve, side by side."""
        return PolarCurve(self, tangent)

    @property
    def online_kernel(self) -> OnlineKernel | None:
        """The compiled polar descent, for the paper's core and the retraction uf."""
        return self.descend if type(self.core) is AffineCore and self.settings.retraction == "uf" else None

    def descend(self, samples: Samples, batches: Batches) -> tuple[PolarPoint, int]:
        """Return the point after one step a batch, and the number of steps skipped."""
        U, R = self.frame.T.copy(), self.core.root.copy()
        skipped = polar_online(*samples, *batches, self.settings.weight, U, R)
        return PolarPoint(np.ascontiguousarray(U.T), AffineCore(R), self.settings), skipped


class PolarCurve(Curve):
    """U(s) and R(s)."""

    def __init__(self, start: PolarPoint, tangent: Matrix) -> None:
        self.start = start
        core, self.limit = start.core.curve(start.split(tangent)[1])
        # Point and motion at the same s share their small matrices.
        self.core = lru_cache(maxsize=1)(core)
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
        """Return the retraction's matrices, where the frame moves, and the core's root."""
        root = self.core_at(s).root
        return Motion(None, None, root) if self.direction is None else Motion(*self.matrices(s), root)


@dataclass(frozen=True, eq=False, repr=False)
class Polar(Geometry):
    """W = U B Uᵀ: the subspace and the distance in it are learned together, λ of the one and 1-λ of the other.

    Parameters
    ----------
    weight : float
        λ in [0, 1]. At 0 the subspace is fixed, at 1 only the subspace moves.
    retraction : {"uf", "qf", "exp"}
        How the frame moves: polar factor (independent of the representative), QR factor with positive diagonal
        (the paper's), or geodesic of the Grassmann manifold.
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
        if not 0 <= self.weight <= 1:
            raise ValueError(f"weight={self.weight} is not in [0, 1]; 0 fixes the subspace, 1 moves nothing else.")
        if self.core not in CORES:
            raise ValueError(f"core={self.core!r} is unknown. Choose one of {', '.join(CORES)}.")
        check_retraction(self.retraction)

    def point(self, G: Matrix) -> PolarPoint:
        """The point G Gᵀ."""
        U, R = orthonormal(G)
        return PolarPoint(U, CORES[self.core](R), Settings(self.weight, self.retraction))


Polar.examples = (
    Polar(),
    Polar(0.2, retraction="qf"),
    Polar(0.8, retraction="exp"),
    Polar(core="log-euclidean"),
    Polar(0.0),
    Polar(1.0),
)
