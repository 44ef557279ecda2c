"""Points of the cone of positive definite matrices: the frame is the identity, so the root is the factor."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gramian.geometries.cores import Core, CoreCurve
from gramian.geometries.point import Curve, Motion, Point
from gramian.types import Matrix

__all__ = ["ConePoint"]


class ConePoint(Point):
    """A positive definite matrix W = R Rᵀ with the metric and the tangents of a `Core`; tangents have shape (d, d)."""

    geometry_name = "a full-rank cone"

    def __init__(self, core: Core, frame: Matrix | None = None) -> None:
        super().__init__(np.eye(len(core.root), dtype=core.root.dtype) if frame is None else frame, core.root)
        self.core = core

    def gradient(self, MF: Matrix) -> Matrix:
        """Return the gradient of the core, shape (d, d); M F is M because F is the identity."""
        return self.core.gradient(0.5 * (MF + MF.T))

    def frame_velocity(self, tangent: Matrix) -> None:
        """Return None: the frame does not move."""

    def root_velocity(self, tangent: Matrix) -> Matrix:
        """Return dR/ds, shape (d, d)."""
        return self.core.velocity(tangent)

    def inner(self, a: Matrix, b: Matrix) -> float:
        """Return the inner product of two tangents in the metric of the core."""
        return self.core.inner(a, b)

    def precondition(self, tangent: Matrix, level: float) -> Matrix:
        """Return the tangent as the core preconditions it, shape (d, d)."""
        return self.core.precondition(tangent, level)

    def curve(self, tangent: Matrix) -> ConeCurve:
        """Return the curve of the core."""
        return ConeCurve(self.frame, self.core.curve(tangent))


class ConeCurve(Curve):
    """A curve in the cone. Only the root moves, so the image of the frame stays the same."""

    def __init__(self, frame: Matrix, cores: CoreCurve) -> None:
        # Point and motion at the same s share their core.
        self.frame, self.core, self.limit = frame, lru_cache(maxsize=1)(cores.core), cores.limit

    def point(self, s: float) -> ConePoint:
        """Return the point at s."""
        return ConePoint(self.core(s), self.frame)

    def motion(self, s: float) -> Motion:
        """Return the motion that changes the root only."""
        return Motion(None, None, self.core(s).root)
