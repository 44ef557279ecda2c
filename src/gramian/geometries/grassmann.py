"""The Grassmann manifold: subspaces, represented by projections W = U Uᵀ (the paper's section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gramian.geometries.frames import RETRACTIONS, polar_decompose, project
from gramian.geometries.point import Curve, Geometry, Motion, Point
from gramian.types import Matrix

__all__ = ["Grassmann"]


class Subspace(Point):
    """The span of an orthonormal frame U (d, r), with the metric tr(ξᵀ ζ). A tangent ξ (d, r) has Uᵀξ = 0."""

    geometry_name = "Grassmann"

    def __init__(self, U: Matrix, retraction: str) -> None:
        super().__init__(U)
        self.retraction = retraction

    def gradient(self, MF: Matrix) -> Matrix:
        """Return 2 (I - U Uᵀ) M U, shape (d, r)."""
        return 2 * project(self.frame, MF)

    def frame_velocity(self, tangent: Matrix) -> Matrix:
        """Return the tangent itself, shape (d, r)."""
        return tangent

    def transport(self, tangent: Matrix, target: Point) -> Matrix:
        """Return the projection of the tangent on the tangent space at the target, shape (d, r)."""
        return project(target.frame, tangent)

    def curve(self, tangent: Matrix) -> SubspaceCurve:
        """Return the curve that the retraction makes of U + s ξ."""
        return SubspaceCurve(self, tangent)


class SubspaceCurve(Curve):
    """A curve of orthonormal frames U(s)."""

    def __init__(self, start: Subspace, direction: Matrix) -> None:
        self.start, self.direction = start, direction
        retraction = RETRACTIONS[start.retraction](start.frame, direction)
        # Point and motion at the same s share their small matrices.
        self.matrices, self.limit = lru_cache(maxsize=1)(retraction.matrices), retraction.limit

    def point(self, s: float) -> Subspace:
        """Return the point at s."""
        return Subspace(self.motion(s).carry(self.start.frame, self.direction), self.start.retraction)

    def motion(self, s: float) -> Motion:
        """Return the motion with the matrices A(s) and C(s) of the retraction."""
        return Motion(*self.matrices(s), None)


@dataclass(frozen=True, eq=False, repr=False)
class Grassmann(Geometry):
    """Subspaces of dimension r, as W = U Uᵀ with UᵀU = I. With the loss `Linear`, online descent is Oja's rule.

    Parameters
    ----------
    retraction : {"uf", "qf", "exp"}
        The curve of the frame: polar factor, QR factor with positive diagonal (the paper's), or geodesic.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Grassmann
    >>> Grassmann().point(np.array([[3.0], [4.0]])).G.ravel()
    array([0.6, 0.8])
    """

    retraction: str = "uf"

    bounded = True

    def __post_init__(self) -> None:
        check_retraction(self.retraction)

    def point(self, G: Matrix) -> Subspace:
        """Return the span of G."""
        return Subspace(polar_decompose(self.factor(G)).U, self.retraction)


def check_retraction(retraction: str) -> None:
    """Raise a ValueError unless retraction is a name in RETRACTIONS."""
    if retraction not in RETRACTIONS:
        raise ValueError(f"retraction={retraction!r} is unknown. Choose one of {', '.join(RETRACTIONS)}.")


Grassmann.examples = tuple(Grassmann(name) for name in RETRACTIONS)
