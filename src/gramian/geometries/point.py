"""What every geometry gives: points, their tangents, and the curves that leave them.

A point is held as W = G Gᵀ with **G = F R**: a *frame* F (d, k) that carries the features, and a *root* R (k, r) that
is small. Flat geometries have no root (R = I), a polar point has an orthonormal frame, a full-rank cone the frame I.

Along every curve the new frame is made of the old one and of one direction T, column by column:
F(s) = F A(s) + T C(s), with small matrices A and C. So its image is X F(s) = (X F) A(s) + (X T) C(s): **a whole line
search costs one product with the data, whatever the geometry and however many steps it tries.**
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gramian._kernels.online import Batches, Samples
from gramian._kernels.samples import add_scaled
from gramian.types import Matrix

__all__ = ["Curve", "Geometry", "Motion", "OnlineKernel", "Point", "factor_image", "factor_velocity"]

#: (samples, batches) -> the point after one step a batch, and the number of steps skipped because they were not finite.
OnlineKernel = Callable[[Samples, Batches], tuple["Point", int]]


class Geometry(ABC):
    """The settings of a geometry, a frozen dataclass; `point` puts a factor on it."""

    #: Instances that the conformance tests run on: every setting that changes a formula.
    examples: ClassVar[tuple[Geometry, ...]]
    #: True for the full-rank cones, whose factors are square.
    full_rank: ClassVar[bool] = False
    #: True if W is bounded, so that a loss without a lower bound has a minimum.
    bounded: ClassVar[bool] = False

    @abstractmethod
    def point(self, G: Matrix) -> Point:
        """The point W = G Gᵀ for a factor of shape (d, r) and of full column rank."""

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
    """A matrix W = G Gᵀ, immutable, with its factorisations. Tangents are arrays, and opaque to solvers."""

    def __init__(self, frame: Matrix, root: Matrix | None = None) -> None:
        self.frame = frame
        self.root = root

    @property
    def G(self) -> Matrix:
        """The factor, (d, r)."""
        return self.frame if self.root is None else self.frame @ self.root

    @abstractmethod
    def gradient(self, MF: Matrix) -> Any:
        """The tangent that is the metric's gradient, from M F = (Σ slope_i X_i) F."""

    @abstractmethod
    def frame_velocity(self, tangent: Any) -> Matrix | None:
        """dF/ds (d, k) along a tangent; None if the frame stands still."""

    def root_velocity(self, tangent: Any) -> Matrix | None:
        """dR/ds (k, r) along a tangent; None if the root stands still."""
        return None

    def velocity(self, tangent: Any) -> Matrix:
        """Return dG/ds (d, r) along a tangent."""
        return factor_velocity(self.frame, self.frame_velocity(tangent), self.root, self.root_velocity(tangent))

    def inner(self, a: Any, b: Any) -> float:
        """The metric; here for tangents in orthonormal coordinates."""
        return inner(a, b)

    def transport(self, tangent: Any, target: Point) -> Any:
        """A tangent carried to a point further on along a curve from here."""
        return tangent

    def at(self, frame: Matrix) -> Point:
        """Another point of the same geometry, where a point is no more than its frame."""
        return type(self)(frame)

    def damped(self, level: float) -> Point:
        """This point with its metric regularised; level in [0, 1], 0 at a perfect fit and 1 at that of W = 0."""
        return self

    @property
    def online_kernel(self) -> OnlineKernel | None:
        """The compiled online descent from this point; None if there is none."""
        return None

    @abstractmethod
    def curve(self, tangent: Any) -> Curve:
        """The curve that leaves this point along a tangent."""


def inner(a: Matrix, b: Matrix) -> float:
    """tr(aᵀ b), in float64: squares of float32 numbers overflow early."""
    return float(np.vdot(a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)))


def factor_image(XF: Matrix, root: Matrix | None) -> Matrix:
    """Return X F R from X F; the root None stands for the identity."""
    return XF if root is None else XF @ root


def factor_velocity(XF: Matrix, XT: Matrix | None, root: Matrix | None, root_velocity: Matrix | None) -> Matrix:
    """Return d(X F R)/ds from X F, X dF/ds, R and dR/ds; a velocity None stands for zero."""
    if XT is None and root_velocity is None:
        return np.zeros_like(factor_image(XF, root))
    if XT is None:
        return XF @ root_velocity
    moved = factor_image(XT, root)
    return moved if root_velocity is None else moved + XF @ root_velocity


class Motion(NamedTuple):
    """A step along a curve in small matrices: the frame moves to F A + T C, the root to `root`.

    A (k, k) may be None for the identity. C (k, k) may be a number c for c A, which saves a product, or None where the
    frame stands still. The same matrices move images: X F to (X F) A + (X T) C.
    """

    A: Matrix | None
    C: Matrix | float | None
    root: Matrix | None

    def blend(self, F: Matrix, T: Matrix | None) -> Matrix:
        """Return Y with F A + T C = Y Q, Q = `normaliser`; or the image of Y from the images of F and T."""
        if self.C is None or T is None:
            return F
        if isinstance(self.C, float):
            return add_scaled(F, T, self.C)
        return F @ self.A + T @ self.C

    @property
    def normaliser(self) -> Matrix | None:
        """Q (k, k), the factor that `blend` leaves to apply; None for the identity."""
        return self.A if isinstance(self.C, float) else None

    @property
    def remaining_factor(self) -> Matrix | None:
        """Q R (k, r), which takes `blend` to the factor; None for the identity."""
        Q = self.normaliser
        return self.root if Q is None else Q if self.root is None else Q @ self.root

    def carry(self, F: Matrix, T: Matrix | None) -> Matrix:
        """Return F A + T C, the new frame; or its image from the images of F and T."""
        return factor_image(self.blend(F, T), self.normaliser)


class Curve(ABC):
    """Points s -> point(s), s from 0 to `limit`."""

    #: True if F(s) = F + s T with no root: then predictions along the curve are polynomials in s.
    straight: bool = False
    #: The direction T (d, k) that the frame moves in; None if it stands still.
    direction: Matrix | None = None
    #: Steps above this are not taken.
    limit: float = np.inf

    @abstractmethod
    def point(self, s: float) -> Point:
        """Return the point at s."""

    def motion(self, s: float) -> Motion | None:
        """Return the step to s in small matrices; None if the curve has none: then images are computed afresh."""
        return None


class Straight(Curve):
    """F(s) = F + s T."""

    straight = True

    def __init__(self, start: Point, direction: Matrix) -> None:
        self.start = start
        self.direction = direction

    def point(self, s: float) -> Point:
        """Return the point at s."""
        return self.start.at(self.motion(s).carry(self.start.frame, self.direction))

    def motion(self, s: float) -> Motion:
        """Return F + s T."""
        return Motion(None, float(s), None)
