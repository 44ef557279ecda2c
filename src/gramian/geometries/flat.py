"""The flat geometry: the factor moves along straight lines (the paper's sections 5.1 and 6.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from gramian._kernels.online import Batches, Samples, as_batches, flat_online
from gramian.geometries.point import Geometry, OnlineKernel, Point, Straight, regularise
from gramian.types import Matrix

__all__ = ["Flat"]


class FlatPoint(Point):
    """A factor G with the Euclidean metric tr(ξᵀ ζ). Its frame is G; a tangent is a (d, r) array."""

    def gradient(self, MF: Matrix) -> Matrix:
        """Return 2 M G, shape (d, r)."""
        return 2 * MF

    def frame_velocity(self, tangent: Matrix) -> Matrix:
        """Return the tangent itself, shape (d, r)."""
        return tangent

    def precondition(self, tangent: Matrix, level: float) -> Matrix:
        """Return ξ (GᵀG + η I)⁻¹, shape (d, r): the gradient in the scaled metric."""
        gram = regularise(self.frame.T @ self.frame, level)
        return np.ascontiguousarray(scipy.linalg.solve(gram, tangent.T, assume_a="pos", check_finite=False).T)

    def curve(self, tangent: Matrix) -> Straight:
        """Return the straight line G + s ξ."""
        return Straight(self, tangent)

    @property
    def online_kernel(self) -> OnlineKernel:
        """The compiled online descent of the flat geometry."""
        return self.descend

    def descend(self, samples: Samples, batches: Batches) -> tuple[FlatPoint, int]:
        """Return the point after one step per batch, and the number of steps skipped because they were not finite."""
        G = self.G.T.copy()
        skipped = flat_online(*samples, *as_batches(batches), G)
        return FlatPoint(np.ascontiguousarray(G.T)), skipped


@dataclass(frozen=True, eq=False, repr=False)
class Flat(Geometry):
    """Matrices W = G Gᵀ of rank r, with the Euclidean metric on the factor G (d, r).

    G and G O give the same W for every orthogonal O. Gradient descent is given by the paper's equations (online flat)
    and (batch flat). The number of iterations depends on the units and on the conditioning of W; `Scaled` costs the
    same per iteration and does not depend on them.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Flat
    >>> point = Flat().point(np.array([[1.0], [2.0]]))
    >>> point.curve(np.array([[1.0], [0.0]])).point(0.5).G.ravel()
    array([1.5, 2. ])
    """

    def point(self, G: Matrix) -> FlatPoint:
        """Return the point W = G Gᵀ."""
        return FlatPoint(self.factor(G))


Flat.examples = (Flat(),)
