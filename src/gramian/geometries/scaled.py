"""The scaled geometry: straight lines, as in the flat one, in a metric that adapts to the conditioning of W."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from gramian._kernels.online import Batches, Samples, as_batches
from gramian._kernels.online_scaled import scaled_online
from gramian._kernels.rows import as_kernel_input
from gramian._kernels.tall import inner_products
from gramian.checks import as_real
from gramian.geometries.point import Geometry, OnlineKernel, Point, Straight, inner, regularise
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
    """A factor G with the metric tr(ξᵀ C ζ S), where S = GᵀCG + η I and η = level · tr(GᵀCG)/r.

    If it is `gaussian`, the metric is tr(ξᵀ C ζ S) + tr(AᵀS⁻¹B S) + tr(A) tr(B), with A = GᵀCξ and B = GᵀCζ.

    Parameters
    ----------
    frame : array, shape (d, r)
        The factor G.
    level : float
        The regularisation, from 0 (rounding only) to 1.
    moment : Moment, optional
        The matrix C; the identity if omitted.
    gaussian : bool
        True for the metric of Gaussian samples.
    """

    def __init__(self, frame: Matrix, level: float = 0.0, moment: Moment | None = None, gaussian: bool = False) -> None:
        super().__init__(frame)
        self.level = level
        self.moment = moment
        self.gaussian = self.second_order = gaussian

    @cached_property
    def moment_times_frame(self) -> Matrix:
        """The matrix C G, shape (d, r)."""
        return self.frame if self.moment is None else self.moment.C @ self.frame

    @cached_property
    def gram(self) -> Matrix:
        """The matrix GᵀCG, shape (r, r)."""
        return inner_products([self.frame], self.moment_times_frame)[0]

    @cached_property
    def metric(self) -> Matrix:
        """The matrix S = GᵀCG + η I, shape (r, r)."""
        return regularise(self.gram, self.level)

    @cached_property
    def inverse(self) -> Matrix:
        """The matrix S⁻¹, shape (r, r). A solve with d right-hand sides costs 15 times as much at large d."""
        return np.linalg.inv(self.metric)

    def gradient(self, MF: Matrix) -> Matrix:
        """Return 2 C⁻¹ M G S⁻¹, shape (d, r); if Gaussian, the inverse of the metric applied to 2 M G."""
        if self.moment is not None:
            MF = self.moment.solve(MF)
        try:
            gradient = MF @ (self.inverse + self.inverse.T)
            return self.correct(gradient) if self.gaussian else gradient
        except np.linalg.LinAlgError:
            # The factor is zero, or its squares leave the range of the type: there is no gradient in this metric.
            return np.full_like(MF, np.nan)

    def correct(self, gradient: Matrix) -> Matrix:
        """Return the gradient (d, r) in the Gaussian metric from that in the metric tr(ξᵀ C ζ S).

        By the formula of Woodbury, the second part of the metric takes G (S + GᵀCG)⁻¹ GᵀCξ away from ξ, and the third
        a multiple of the tangent G · turn that represents tr(GᵀCξ).
        """
        coupled = np.linalg.inv(self.metric + self.gram)
        small = -coupled @ (self.moment_times_frame.T @ gradient)
        turn = self.inverse - coupled @ self.gram @ self.inverse
        trace = np.vdot(self.moment_times_frame, gradient) + np.vdot(self.gram, small)
        small -= (trace / (1 + np.vdot(self.gram, turn))) * turn
        return gradient + self.frame @ small

    def frame_velocity(self, tangent: Matrix) -> Matrix:
        """Return the tangent itself, shape (d, r)."""
        return tangent

    def inner(self, a: Matrix, b: Matrix) -> float:
        """Return the inner product of two tangents, computed from (r, r) matrices."""
        same = a is b
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        (product,) = inner_products([a], b if self.moment is None else self.moment.C @ b)
        plain = inner(product, self.metric)
        if not self.gaussian:
            return plain
        A = self.moment_times_frame.T @ a
        B = A if same else self.moment_times_frame.T @ b
        try:
            return plain + inner(A.T @ (self.inverse @ B), self.metric) + float(A.trace() * B.trace())
        except np.linalg.LinAlgError:
            # As of `gradient`: the factor is zero.
            return float("nan")

    def slope(self, gradient: Matrix, MF: Matrix, tangent: Matrix) -> float:
        """Return the inner product of the gradient with a tangent; without a moment it is the sum 2 tr(MFᵀ ξ)."""
        return 2 * inner(MF, tangent) if self.moment is None else self.inner(gradient, tangent)

    def damped(self, level: float) -> ScaledPoint:
        """Return this point with another level. A large η far from a fit helps if r exceeds the true rank."""
        return ScaledPoint(self.frame, level, self.moment, self.gaussian)

    def at(self, frame: Matrix) -> ScaledPoint:
        """Return the point with the factor `frame`, the same C, and level 0."""
        return ScaledPoint(frame, moment=self.moment, gaussian=self.gaussian)

    def curve(self, tangent: Matrix) -> Straight:
        """Return the straight line G + s ξ."""
        return Straight(self, tangent)

    @property
    def online_kernel(self) -> OnlineKernel | None:
        """The compiled online descent of the scaled geometry; there is none in the Gaussian metric."""
        return None if self.gaussian else self.descend

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
    gaussian : bool
        True adds what the Hessian of a regression has beside this metric. It is then, for η = 0 and horizontal
        tangents, a quarter of E (xᵀ dW x)² with Gaussian samples x of mean 0 and second moment C: gradient descent is
        a method of Newton, up to the fluctuations of the data. Other samples and other losses only change its speed.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Scaled
    >>> point = Scaled().point(np.array([[3.0], [4.0]]))
    >>> round(point.inner(np.ones((2, 1)), np.ones((2, 1))), 6)
    50.0
    """

    moment: Matrix | None = None
    gaussian: bool = False

    def point(self, G: Matrix) -> ScaledPoint:
        """Return the point W = G Gᵀ."""
        G = self.factor(G)
        if self.moment is None:
            return ScaledPoint(G, gaussian=self.gaussian)
        moment, d = as_real("moment", self.moment), len(G)
        if moment.shape != (d, d):
            raise ValueError(f"moment has shape {moment.shape}, but the factor has {d} rows; expected ({d}, {d}).")
        return ScaledPoint(G, moment=Moment(moment.astype(G.dtype)), gaussian=self.gaussian)


Scaled.examples = (Scaled(), Scaled(gaussian=True))
