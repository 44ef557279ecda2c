"""The scaled geometry: straight lines, as in the flat one, in a metric that adapts to the conditioning of W."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from gramian._kernels.online import Batches, Samples, as_batches
from gramian._kernels.online_scaled import scaled_online
from gramian._kernels.rows import as_kernel_input
from gramian.checks import as_real
from gramian.geometries.point import Geometry, OnlineKernel, Point, Straight, inner, regularised
from gramian.types import Matrix

__all__ = ["Scaled"]


class Moment:
    """A positive definite matrix C (d, d) with its Cholesky factor, which is computed once."""

    def __init__(self, C: Matrix) -> None:
        self.C = C
        try:
            self.factor = scipy.linalg.cho_factor(C)
        except (ValueError, np.linalg.LinAlgError) as error:
            raise ValueError(f"moment is not positive definite: {error}.") from error

    def solve(self, A: Matrix) -> Matrix:
        """Return C⁻¹ A, shape (d, k)."""
        return scipy.linalg.cho_solve(self.factor, A, check_finite=False)


class ScaledPoint(Point):
    """A factor G with the metric tr(ξᵀ C ζ (GᵀCG + η I)), where η = level · tr(GᵀCG)/r.

    Parameters
    ----------
    frame : array, shape (d, r)
        The factor G.
    level : float
        The regularisation, from 0 (rounding only) to 1.
    moment : Moment, optional
        The matrix C; the identity if omitted.
    """

    def __init__(self, frame: Matrix, level: float = 0.0, moment: Moment | None = None) -> None:
        super().__init__(frame)
        self.level = level
        self.moment = moment

    @cached_property
    def metric(self) -> Matrix:
        """The matrix GᵀCG + η I, shape (r, r)."""
        gram = self.frame.T @ (self.frame if self.moment is None else self.moment.C @ self.frame)
        return regularised(gram, self.level)

    def gradient(self, MF: Matrix) -> Matrix:
        """Return 2 C⁻¹ M G (GᵀCG + η I)⁻¹, shape (d, r)."""
        if self.moment is not None:
            MF = self.moment.solve(MF)
        try:
            # The (r, r) matrix is inverted once: a solve with d right-hand sides costs 15 times as much at large d.
            inverse = np.linalg.inv(self.metric)
        except np.linalg.LinAlgError:
            # The factor is zero, or its squares leave the range of the type: there is no gradient in this metric.
            return np.full_like(MF, np.nan)
        return MF @ (inverse + inverse.T)

    def frame_velocity(self, tangent: Matrix) -> Matrix:
        """Return the tangent itself, shape (d, r)."""
        return tangent

    def inner(self, a: Matrix, b: Matrix) -> float:
        """Return tr(aᵀ C b (GᵀCG + η I)), computed from (r, r) matrices."""
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        b = b if self.moment is None else self.moment.C @ b
        return inner(a.T @ b, self.metric)

    def damped(self, level: float) -> ScaledPoint:
        """Return this point with another level. A large η far from a fit helps if r exceeds the true rank."""
        return ScaledPoint(self.frame, level, self.moment)

    def at(self, frame: Matrix) -> ScaledPoint:
        """Return the point with the factor `frame`, the same C, and level 0."""
        return ScaledPoint(frame, moment=self.moment)

    def curve(self, tangent: Matrix) -> Straight:
        """Return the straight line G + s ξ."""
        return Straight(self, tangent)

    @property
    def online_kernel(self) -> OnlineKernel:
        """The compiled online descent of the scaled geometry."""
        return self.descend

    def descend(self, samples: Samples, batches: Batches) -> tuple[ScaledPoint, int]:
        """Return the point after one step per batch, and the number of steps skipped because they were not finite."""
        G, moment = self.G.T.copy(), self.moment
        none = as_kernel_input(np.empty((0, 0), G.dtype))
        C = none if moment is None else as_kernel_input(moment.C)
        inverse = none if moment is None else as_kernel_input(moment.solve(np.eye(len(C), dtype=C.dtype)))
        skipped = scaled_online(*samples, *as_batches(batches), C, inverse, G)
        return self.at(np.ascontiguousarray(G.T)), skipped


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Geometry):
    """Matrices W = G Gᵀ of rank r, with the metric tr(ξᵀ ζ (GᵀG + η I)).

    The speed of descent does not depend on the conditioning of W. The metric is that of Mishra and Sepulchre (2016);
    gradient descent in it is ScaledGD (Tong, Ma and Chi, 2021). As in PrecGD (Zhang, Fattahi and Zhang, 2021), η > 0
    regularises it for a rank above the true one. η is a fraction of tr(GᵀG)/r, so it needs no units. The fraction is 1
    at the loss of W = 0 and decreases to rounding at a perfect fit.

    Parameters
    ----------
    moment : array, shape (d, d), optional
        A positive definite matrix C, equal or close to the second moment XᵀX/N of the data. The metric is then
        tr(ξᵀ C ζ (GᵀCG + η I)), and the speed does not depend on the conditioning of the data either.

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
        """Return the point W = G Gᵀ."""
        G = self.factor(G)
        if self.moment is None:
            return ScaledPoint(G)
        moment, d = as_real("moment", self.moment), len(G)
        if moment.shape != (d, d):
            raise ValueError(f"moment has shape {moment.shape}, but the factor has {d} rows; expected ({d}, {d}).")
        return ScaledPoint(G, moment=Moment(moment.astype(G.dtype)))


Scaled.examples = (Scaled(),)
