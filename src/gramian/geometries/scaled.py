"""The scaled geometry: straight lines as in the flat one, under a metric that knows the conditioning of W."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from gramian._kernels.online import Batches, Samples
from gramian._kernels.online_scaled import scaled_online
from gramian.geometries.point import Geometry, OnlineKernel, Point, Straight, inner
from gramian.types import Matrix

__all__ = ["Scaled"]


class Moment:
    """A positive definite matrix C (d, d), its Cholesky factor computed once."""

    def __init__(self, C: Matrix) -> None:
        self.C = C
        self.factor = scipy.linalg.cho_factor(C, check_finite=False)

    def solve(self, A: Matrix) -> Matrix:
        """C⁻¹ A."""
        return scipy.linalg.cho_solve(self.factor, A, check_finite=False)


class ScaledPoint(Point):
    """A factor under the metric tr(ξᵀ C ζ (GᵀCG + η I)), η = level · tr(GᵀCG)/r; C = I where there is none."""

    def __init__(self, frame: Matrix, level: float = 0.0, moment: Moment | None = None) -> None:
        super().__init__(frame)
        self.level = level
        self.moment = moment

    @cached_property
    def metric(self) -> Matrix:
        """GᵀCG + η I, (r, r)."""
        gram = self.frame.T @ (self.frame if self.moment is None else self.moment.C @ self.frame)
        r, trace = len(gram), float(np.trace(gram))
        floor = 4 * float(np.finfo(gram.dtype).eps)
        eta = max(self.level / r, floor) * trace
        return gram + eta * np.eye(r, dtype=gram.dtype)

    def gradient(self, MF: Matrix) -> Matrix:
        """2 C⁻¹ M G (GᵀCG + η I)⁻¹."""
        if self.moment is not None:
            MF = self.moment.solve(MF)
        return np.ascontiguousarray(scipy.linalg.solve(self.metric, 2 * MF.T, assume_a="pos", check_finite=False).T)

    def frame_velocity(self, tangent: Matrix) -> Matrix:
        """The tangent itself."""
        return tangent

    def inner(self, a: Matrix, b: Matrix) -> float:
        """tr(aᵀ C b (GᵀCG + η I)), through r x r products."""
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        b = b if self.moment is None else self.moment.C @ b
        return inner(a.T @ b, self.metric)

    def damped(self, level: float) -> ScaledPoint:
        """This point with another η: large far from a fit, so that columns beyond the true rank do no harm."""
        return ScaledPoint(self.frame, level, self.moment)

    def at(self, frame: Matrix) -> ScaledPoint:
        """Another point of this geometry."""
        return ScaledPoint(frame, moment=self.moment)

    def curve(self, tangent: Matrix) -> Straight:
        """G + s ξ."""
        return Straight(self, tangent)

    @property
    def online_kernel(self) -> OnlineKernel:
        """The compiled scaled descent."""
        return self.descend

    def descend(self, samples: Samples, batches: Batches) -> tuple[ScaledPoint, int]:
        """Return the point after one step a batch, and the number of steps skipped."""
        G, moment = self.G.T.copy(), self.moment
        none = np.empty((0, 0), G.dtype)
        C = none if moment is None else np.ascontiguousarray(moment.C)
        inverse = none if moment is None else np.ascontiguousarray(moment.solve(np.eye(len(C), dtype=C.dtype)))
        skipped = scaled_online(*samples, *batches, C, inverse, G)
        return self.at(np.ascontiguousarray(G.T)), skipped


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Geometry):
    """W = G Gᵀ with the metric weighted by GᵀG, so that descent does not see the conditioning of W.

    The metric of Mishra and Sepulchre (2016), known as ScaledGD (Tong, Ma and Chi, 2021); regularised as in PrecGD
    (Zhang, Fattahi and Zhang, 2021) for a rank above the true one, without units: η is a share of tr(GᵀG)/r that goes
    from 1 at the loss of W = 0 down to rounding at a perfect fit.

    Parameters
    ----------
    moment : array, shape (d, d), optional
        A positive definite matrix C, the second moment XᵀX/n of the data or near it: then descent does not see the
        conditioning of the data either, as if it had been whitened. The metric is tr(ξᵀ C ζ (GᵀCG + η I)).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Scaled
    >>> point = Scaled().point(np.array([[3.0], [4.0]]))
    >>> round(point.inner(np.ones((2, 1)), np.ones((2, 1))), 6)
    50.0
    """

    moment: Matrix | None = None

    def point(self, G: Matrix) -> ScaledPoint:
        """The point G Gᵀ."""
        return ScaledPoint(G, moment=None if self.moment is None else Moment(self.moment.astype(G.dtype)))


Scaled.examples = (Scaled(),)
