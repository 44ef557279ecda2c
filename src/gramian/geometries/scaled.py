"""The scaled geometry: straight lines as in the flat one, under a metric that knows the conditioning of W."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg

from gramian.geometries.point import Geometry, Point, Straight
from gramian.types import Matrix

__all__ = ["Scaled"]


class ScaledPoint(Point):
    """A factor under the metric tr(ξᵀ ζ (GᵀG + η I)), η = level · tr(GᵀG)/r."""

    def __init__(self, frame: Matrix, root: Matrix | None = None, level: float = 0.0) -> None:
        super().__init__(frame, root)
        self.level = level

    @cached_property
    def metric(self) -> Matrix:
        """GᵀG + η I, (r, r)."""
        gram = self.frame.T @ self.frame
        r, trace = len(gram), float(np.trace(gram))
        floor = 4 * float(np.finfo(gram.dtype).eps)
        eta = max(self.level / r, floor) * trace
        return gram + eta * np.eye(r, dtype=gram.dtype)

    def gradient(self, MF: Matrix) -> Matrix:
        """2 M G (GᵀG + η I)⁻¹."""
        return np.ascontiguousarray(scipy.linalg.solve(self.metric, 2 * MF.T, assume_a="pos").T)

    def frame_velocity(self, tangent: Matrix) -> Matrix:
        """The tangent itself."""
        return tangent

    def inner(self, a: Matrix, b: Matrix) -> float:
        """tr(aᵀ b (GᵀG + η I)), through r x r products."""
        return float(np.vdot(a.T @ b, self.metric))

    def damped(self, level: float) -> ScaledPoint:
        """This point with another η: large far from a fit, so that columns beyond the true rank do no harm."""
        return ScaledPoint(self.frame, level=level)

    def curve(self, tangent: Matrix) -> Straight:
        """G + s ξ."""
        return Straight(self, tangent)


class Scaled(Geometry):
    """W = G Gᵀ with the metric weighted by GᵀG, so that descent does not see the conditioning of W.

    The metric of Mishra and Sepulchre (2016), known as ScaledGD (Tong, Ma and Chi, 2021); regularised as in PrecGD
    (Zhang, Fattahi and Zhang, 2021) for a rank above the true one, without units: η is a share of tr(GᵀG)/r that goes
    from 1 at the loss of W = 0 down to rounding at a perfect fit.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Scaled
    >>> point = Scaled().point(np.array([[3.0], [4.0]]))
    >>> round(point.inner(np.ones((2, 1)), np.ones((2, 1))), 6)
    50.0
    """

    def point(self, G: Matrix) -> ScaledPoint:
        """The point G Gᵀ."""
        return ScaledPoint(G)


Scaled.examples = (Scaled(),)
