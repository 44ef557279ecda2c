"""The flat geometry: the factor moves in straight lines (the paper's sections 5.1 and 6.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._kernels.online import Batches, Samples, flat_online
from gramian.geometries.point import Geometry, OnlineKernel, Point, Straight
from gramian.types import Matrix

__all__ = ["Flat"]


class FlatPoint(Point):
    """A factor under the Euclidean metric tr(ξᵀ ζ)."""

    def gradient(self, MF: Matrix) -> Matrix:
        """2 M G."""
        return 2 * MF

    def frame_velocity(self, tangent: Matrix) -> Matrix:
        """The tangent itself."""
        return tangent

    def curve(self, tangent: Matrix) -> Straight:
        """G + s ξ."""
        return Straight(self, tangent)

    @property
    def online_kernel(self) -> OnlineKernel:
        """The compiled flat descent."""
        return self.descend

    def descend(self, samples: Samples, batches: Batches) -> tuple[FlatPoint, int]:
        """Return the point after one step a batch, and the number of steps skipped."""
        G = self.G.T.copy()
        skipped = flat_online(*samples, *batches, G)
        return FlatPoint(np.ascontiguousarray(G.T)), skipped


@dataclass(frozen=True, eq=False, repr=False)
class Flat(Geometry):
    """W = G Gᵀ with G in the Euclidean space of (d, r) matrices, modulo rotations G -> G O.

    Gradient descent is the paper's equations (online flat) and (batch flat). Its steps depend on the units and on
    the conditioning of W; `Scaled` costs the same and does not.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Flat
    >>> point = Flat().point(np.array([[1.0], [2.0]]))
    >>> point.curve(np.array([[1.0], [0.0]])).point(0.5).G.ravel()
    array([1.5, 2. ])
    """

    def point(self, G: Matrix) -> FlatPoint:
        """The point G Gᵀ."""
        return FlatPoint(G)


Flat.examples = (Flat(),)
