"""The base classes of geometries: `Geometry`, `Point`, `Curve` and `Motion`.

A point is a matrix W = G Gᵀ with the factor **G = F R**. The *frame* F (d, k) has one row per feature. The *root* R
(k, r) is small. Flat and scaled points have no root: R = I. A polar point has an orthonormal frame. A point of a
full-rank cone has the frame I.

Along every curve the frame is F(s) = F A(s) + T C(s), with one direction T (d, k) and small matrices A and C (k, k).
Its image is X F(s) = (X F) A(s) + (X T) C(s). **So a whole line search costs one product with the data, X T, whatever
the geometry and the number of trial steps.**
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gramian._kernels.online import Batches, Samples
from gramian._kernels.samples import add_scaled
from gramian.checks import as_real
from gramian.geometries.images import factor_image, factor_velocity
from gramian.types import Matrix, Tangent

__all__ = ["Curve", "Geometry", "Motion", "OnlineKernel", "Point", "Straight"]

#: A function of samples and batches that returns the point after one step per batch, and the number of steps skipped
#: because they were not finite.
OnlineKernel = Callable[[Samples, Batches], tuple["Point", int]]


class Geometry(ABC):
    """The settings of a geometry. Subclasses are frozen dataclasses; two with equal settings are equal.

    Examples
    --------
    >>> from gramian.geometries import GEOMETRIES, Geometry, Polar
    >>> all(issubclass(kind, Geometry) for kind in GEOMETRIES.values()), Polar(0.5) == Polar()
    (True, True)
    """

    #: The instances that the tests run on; together they cover every setting that changes a formula.
    examples: ClassVar[tuple[Geometry, ...]]
    #: True for a full-rank cone, whose factors are square, (d, d).
    full_rank: ClassVar[bool] = False
    #: True if W is bounded. Then every loss has a minimum, even one without a lower bound.
    bounded: ClassVar[bool] = False

    @abstractmethod
    def point(self, G: Matrix) -> Point:
        """Return the point W = G Gᵀ of this geometry.

        Parameters
        ----------
        G : array, shape (d, r)
            A factor of full column rank, r = d if `full_rank`.
        """

    def factor(self, G: Any) -> Matrix:
        """Return G as an array of float32 or float64 that is a factor of this geometry, or raise a ValueError.

        Every `point` begins with it. Integers become float64.

        Parameters
        ----------
        G : array, shape (d, r)
        """
        G, name = as_real("the factor", G), type(self).__name__
        if G.ndim != 2 or not G.size:
            raise ValueError(f"the factor has shape {G.shape}; expected (d, r), a row for each feature, r >= 1.")
        if self.full_rank and G.shape[0] != G.shape[1]:
            raise ValueError(f"the factor has shape {G.shape}; {name} is of full rank and needs one of shape (d, d).")
        if not np.isfinite(G).all():
            raise ValueError("the factor contains NaN or infinity.")
        return G

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(np.array_equal(value, vars(other)[name]) for name, value in vars(self).items())

    def __hash__(self) -> int:
        return hash((type(self), *(value for value in vars(self).values() if not isinstance(value, np.ndarray))))


class Point(ABC):
    """An immutable matrix W = G Gᵀ, stored as G = F R, with the metric and the curves of its geometry.

    A tangent is an array of a shape that the subclass chooses. Solvers add and scale tangents of the same point, and
    otherwise only pass them to the methods of the point.

    Parameters
    ----------
    frame : array, shape (d, k)
        The frame F.
    root : array, shape (k, r), optional
        The root R; None stands for the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Polar
    >>> point = Polar().point(np.array([[3.0], [4.0]]))
    >>> point.frame.ravel(), point.root.ravel(), point.G.ravel()
    (array([0.6, 0.8]), array([5.]), array([3., 4.]))
    """

    #: The name of the geometry in error messages; that of the class if empty.
    geometry_name: ClassVar[str] = ""
    #: True if the metric approximates the Hessian of the objective, up to a factor.
    second_order: bool = False

    def __init__(self, frame: Matrix, root: Matrix | None = None) -> None:
        self.frame = frame
        self.root = root

    @property
    def G(self) -> Matrix:
        """The factor F R, shape (d, r)."""
        return self.frame if self.root is None else self.frame @ self.root

    @abstractmethod
    def gradient(self, MF: Matrix) -> Tangent:
        """Return the gradient of the objective in the metric, as a tangent.

        It is the tangent `grad` with inner(grad, t) = 2 tr((M G)ᵀ velocity(t)) for every tangent t.

        Parameters
        ----------
        MF : array, shape (d, k)
            The product M F, where M = Σ slope_i X_i (d, d), symmetric, is the derivative of the objective in W.
        """

    @abstractmethod
    def frame_velocity(self, tangent: Tangent) -> Matrix | None:
        """Return dF/ds, shape (d, k), at s = 0 of the curve along a tangent; None if the frame does not move.

        Parameters
        ----------
        tangent : array
            A tangent at this point.
        """

    def root_velocity(self, tangent: Tangent) -> Matrix | None:
        """Return dR/ds, shape (k, r), at s = 0 of the curve along a tangent; None if the root does not move."""
        return None

    def velocity(self, tangent: Tangent) -> Matrix:
        """Return dG/ds, shape (d, r), at s = 0 of the curve along a tangent."""
        return factor_velocity(self.frame, self.frame_velocity(tangent), self.root, self.root_velocity(tangent))

    def inner(self, a: Tangent, b: Tangent) -> float:
        """Return the inner product of two tangents in the metric.

        The default, tr(aᵀ b), is right for tangents in orthonormal coordinates.

        Parameters
        ----------
        a, b : array
            Tangents at this point.
        """
        return inner(a, b)

    def slope(self, gradient: Tangent, MF: Matrix, tangent: Tangent) -> float:
        """Return inner(gradient, tangent), the derivative of the objective along a tangent.

        Override it where 2 tr(MFᵀ velocity(tangent)), which is the same, costs less.

        Parameters
        ----------
        gradient : array
            The gradient at this point.
        MF : array, shape (d, k)
            The product M F that `gradient` was made of.
        tangent : array
            A tangent at this point.
        """
        return self.inner(gradient, tangent)

    def transport(self, tangent: Tangent, target: Point) -> Tangent:
        """Return a tangent at `target` that corresponds to a tangent at this point.

        Conjugate gradients and L-BFGS compare directions at two points by it. The default is the tangent itself.

        Parameters
        ----------
        tangent : array
            A tangent at this point.
        target : Point
            A point on a curve that starts here.
        """
        return tangent

    def at(self, frame: Matrix) -> Point:
        """Return the point of the same geometry with another frame; used along straight lines only.

        Override it if a point stores more than its frame.

        Parameters
        ----------
        frame : array, shape (d, k)
        """
        return type(self)(frame)

    def damped(self, level: float) -> Point:
        """Return this point with a regularised metric. The default returns the point itself.

        Parameters
        ----------
        level : float
            How far the objective is from a perfect fit: 0 at a perfect fit, 1 at the objective of W = 0.
        """
        return self

    def precondition(self, tangent: Tangent, level: float) -> Tangent:
        """Return an approximation of the inverse Hessian, up to a factor, applied to a tangent.

        It is the inverse of the Gauss-Newton operator for measurements that see all changes of W alike. It must be
        self-adjoint and positive definite in the metric. The default returns the tangent unchanged.

        Parameters
        ----------
        tangent : array
            A tangent at this point.
        level : float
            How far the objective is from a perfect fit, as in `damped`; it regularises the inverse.
        """
        return tangent

    @property
    def online_kernel(self) -> OnlineKernel | None:
        """The function for compiled online descent from this point; None if there is none."""
        return None

    @abstractmethod
    def curve(self, tangent: Tangent) -> Curve:
        """Return the curve that starts at this point with the velocity of a tangent.

        Parameters
        ----------
        tangent : array
            A tangent at this point. Its length sets the speed of the curve.
        """


def inner(a: Matrix, b: Matrix) -> float:
    """Return tr(aᵀ b), computed in float64 because squares overflow early in float32."""
    return float(np.vdot(a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)))


def regularise(gram: Matrix, level: float) -> Matrix:
    """Return B + η I for a positive semidefinite matrix B (r, r), with η = level · tr(B)/r, at least rounding."""
    floor = 4 * float(np.finfo(gram.dtype).eps)
    eta = max(level / len(gram), floor) * float(np.trace(gram))
    return gram + eta * np.eye(len(gram), dtype=gram.dtype)


class Motion(NamedTuple):
    """A step along a curve, as small matrices: the frame moves to F A + T C, the root to `root`.

    The same matrices move images: X F moves to (X F) A + (X T) C.

    Attributes
    ----------
    A : array, shape (k, k), or None
        None stands for the identity.
    C : array, shape (k, k), float or None
        A float c stands for c A, which saves a product. None says that the frame does not move.
    root : array, shape (k, r), or None
        The root at the end of the step; None stands for the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Flat
    >>> motion = Flat().point(np.ones((2, 1))).curve(np.array([[1.0], [0.0]])).motion(0.5)
    >>> motion.C, motion.carry(np.ones((2, 1)), np.array([[1.0], [0.0]])).ravel()
    (0.5, array([1.5, 1. ]))
    """

    A: Matrix | None
    C: Matrix | float | None
    root: Matrix | None

    def blend(self, F: Matrix, T: Matrix | None) -> Matrix:
        """Return Y (d, k) with F A + T C = Y Q, where Q is `normaliser`; from images of F and T, the image of Y."""
        if self.C is None or T is None:
            return F
        if isinstance(self.C, float):
            if F.shape != T.shape:
                raise ValueError(f"the direction has shape {T.shape}, but what it moves has shape {F.shape}.")
            return add_scaled(F, T, self.C)
        return F @ self.A + T @ self.C

    @property
    def normaliser(self) -> Matrix | None:
        """The matrix Q (k, k) by which the result of `blend` must be multiplied; None for the identity."""
        return self.A if isinstance(self.C, float) else None

    @property
    def remaining_factor(self) -> Matrix | None:
        """The matrix Q R (k, r) that maps the result of `blend` to the factor; None for the identity."""
        Q = self.normaliser
        return self.root if Q is None else Q if self.root is None else Q @ self.root

    def carry(self, F: Matrix, T: Matrix | None) -> Matrix:
        """Return the new frame F A + T C, shape (d, k); from images of F and T, the image of the new frame."""
        return factor_image(self.blend(F, T), self.normaliser)


class Curve(ABC):
    """A curve of points, point(s) for 0 <= s <= `limit`, that starts at a point with the velocity of a tangent.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import Flat
    >>> curve = Flat().point(np.ones((2, 1))).curve(np.array([[1.0], [0.0]]))
    >>> curve.straight, curve.point(2.0).G.ravel()
    (True, array([3., 1.]))
    """

    #: True if F(s) = F + s T and there is no root. Predictions along the curve are then quadratic polynomials in s.
    straight: bool = False
    #: The direction T (d, k) of F(s) = F A(s) + T C(s); None if the frame does not move.
    direction: Matrix | None = None
    #: The largest step s allowed.
    limit: float = np.inf

    @abstractmethod
    def point(self, s: float) -> Point:
        """Return the point at s.

        Parameters
        ----------
        s : float
            The step, 0 <= s <= `limit`. point(0) is the start of the curve.
        """

    def motion(self, s: float) -> Motion | None:
        """Return the matrices A(s), C(s) and R(s), which move images to s without a pass.

        None, the default, says that the curve has no such matrices. Every trial step then costs one pass.

        Parameters
        ----------
        s : float
            The step, 0 <= s <= `limit`.
        """
        return None


class Straight(Curve):
    """The straight line F(s) = F + s T, without a root.

    Parameters
    ----------
    start : Point
        Has the frame F. Its method `at` makes the points of the line.
    direction : array, shape (d, k)
        The direction T.

    Examples
    --------
    >>> from gramian.geometries import Flat, Straight
    >>> isinstance(Flat().point([[1.0]]).curve([[1.0]]), Straight)
    True
    """

    straight = True

    def __init__(self, start: Point, direction: Matrix) -> None:
        self.start, self.direction = start, direction

    def point(self, s: float) -> Point:
        """Return the point at s."""
        return self.start.at(self.motion(s).carry(self.start.frame, self.direction))

    def motion(self, s: float) -> Motion:
        """Return the motion to F + s T."""
        return Motion(None, float(s), None)
