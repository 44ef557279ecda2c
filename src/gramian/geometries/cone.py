"""Points of a full-rank cone: the frame is the identity, the root is everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gramian.geometries.cores import Core
from gramian.geometries.point import Curve, Motion, Point
from gramian.types import Matrix

__all__ = ["ConePoint"]


class ConePoint(Point):
    """A positive definite matrix W = R Rᵀ; its metric is that of its core, and tangents are the core's coordinates."""

    def __init__(self, core: Core, frame: Matrix | None = None) -> None:
        super().__init__(np.eye(len(core.root), dtype=core.root.dtype) if frame is None else frame, core.root)
        self.core = core

    def gradient(self, MF: Matrix) -> Matrix:
        """The core's gradient; M F = M."""
        return self.core.gradient(0.5 * (MF + MF.T))

    def frame_velocity(self, tangent: Matrix) -> None:
        """The frame stands still."""

    def root_velocity(self, tangent: Matrix) -> Matrix:
        """dR/ds."""
        return self.core.velocity(tangent)

    def inner(self, a: Matrix, b: Matrix) -> float:
        """The core's metric."""
        return self.core.inner(a, b)

    def curve(self, tangent: Matrix) -> ConeCurve:
        """The core's curve."""
        return ConeCurve(self.frame, *self.core.curve(tangent))


class ConeCurve(Curve):
    """A curve in the cone: only the root moves, so images of the frame are kept as they are."""

    def __init__(self, frame: Matrix, core: Callable[[float], Core], limit: float) -> None:
        self.frame, self.core, self.limit = frame, lru_cache(maxsize=1)(core), limit

    def point(self, s: float) -> ConePoint:
        """Return the point at s."""
        return ConePoint(self.core(s), self.frame)

    def motion(self, s: float) -> Motion:
        """Return the core's root."""
        return Motion(None, None, self.core(s).root)
