"""The polar geometry: a subspace and a positive definite core in it (the paper's section 6.2)."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from gramian.geometries.cores import CORES, Core
from gramian.geometries.frames import RETRACTIONS, orthonormal, project
from gramian.geometries.grassmann import check_retraction
from gramian.geometries.point import Curve, Geometry, Point
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


class PolarCurve(Curve):
    """U(s) and R(s)."""

    def __init__(self, start: PolarPoint, tangent: Matrix) -> None:
        self.start = start
        _, S = start.split(tangent)
        self.core, self.limit = start.core.curve(S)
        self.direction = start.frame_velocity(tangent)
        if self.direction is not None:
            self.retract = RETRACTIONS[start.settings.retraction](start.frame, self.direction)
            self.limit = min(self.limit, self.retract.limit)

    def point(self, s: float) -> PolarPoint:
        """The point at s."""
        start = self.start
        core = self.core(s) if start.settings.weight < 1 else start.core
        return PolarPoint(self.carry(s, start.frame, self.direction), core, start.settings)

    def blend(self, s: float, F: Matrix, T: Matrix | None) -> Matrix:
        """The retraction's, where the frame moves."""
        return F if T is None else self.retract.blend(s, F, T)

    def normaliser(self, s: float) -> Matrix | None:
        """The retraction's, where the frame moves."""
        return None if self.direction is None else self.retract.normaliser(s)


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

    def __init__(self, weight: float = 0.5, retraction: str = "uf", core: str = "affine") -> None:
        if not 0 <= weight <= 1:
            raise ValueError(f"weight={weight} is not in [0, 1]; 0 fixes the subspace, 1 moves nothing else.")
        if core not in CORES:
            raise ValueError(f"core={core!r} is unknown. Choose one of {', '.join(CORES)}.")
        check_retraction(retraction)
        self.weight, self.retraction, self.core = weight, retraction, core

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
