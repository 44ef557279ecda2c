"""What every geometry gives: points, their tangents, and the curves that leave them.

A point is held as W = G Gᵀ with **G = F R**: a *frame* F (d, k) that carries the features, and a *root* R (k, r) that
is small. Flat geometries have no root (R = I), a polar point has an orthonormal frame, a full-rank cone the frame I.

Along every curve the new frame is made of the old one and of one direction T, column by column:
F(s) = F A(s) + T C(s), with small matrices A and C. So its image is X F(s) = (X F) A(s) + (X T) C(s): **a whole line
search costs one product with the data, whatever the geometry and however many steps it tries.**
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from gramian._kernels.samples import add_scaled
from gramian.types import Matrix

__all__ = ["Curve", "Geometry", "Point"]


class Geometry(ABC):
    """The settings of a geometry; `point` puts a factor on it."""

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
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Point(ABC):
    """A matrix W = G Gᵀ, immutable, with its factorisations. Tangents are arrays, and opaque to solvers."""

    def __init__(self, frame: Matrix, root: Matrix | None = None) -> None:
        self.frame = frame
        self.root = root

    @property
    def G(self) -> Matrix:
        """The factor, (d, r)."""
        return self.frame if self.root is None else self.frame @ self.root

    def image(self, frame_image: Matrix) -> Matrix:
        """Z = X G from the image X F of the frame."""
        return frame_image if self.root is None else frame_image @ self.root

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
        """dG/ds (d, r) along a tangent."""
        return self.image_velocity(self.frame, self.frame_velocity(tangent), self.root_velocity(tangent))

    def image_velocity(self, XF: Matrix, XT: Matrix | None, dR: Matrix | None) -> Matrix:
        """dZ/ds from the images of the frame and of its velocity, and the root's velocity."""
        Z = 0 if XT is None else self.image(XT)
        Z = Z if dR is None else Z + XF @ dR
        return np.zeros_like(self.image(XF)) if isinstance(Z, int) else Z

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

    @abstractmethod
    def curve(self, tangent: Any) -> Curve:
        """The curve that leaves this point along a tangent."""


def inner(a: Matrix, b: Matrix) -> float:
    """tr(aᵀ b), in float64: squares of float32 numbers overflow early."""
    return float(np.vdot(a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)))


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
        """The point at s."""

    def blend(self, s: float, F: Matrix, T: Matrix | None) -> Matrix:
        """Y, the new frame but for `normaliser`, from the frame and the direction; or its image from theirs."""
        return F

    def normaliser(self, s: float) -> Matrix | None:
        """The small matrix Q (k, k) of F(s) = Y Q; None for the identity."""
        return None

    def carry(self, s: float, F: Matrix, T: Matrix | None) -> Matrix:
        """The new frame F(s) from the frame and the direction, or its image from theirs."""
        Y, Q = self.blend(s, F, T), self.normaliser(s)
        return Y if Q is None else Y @ Q


class Straight(Curve):
    """F(s) = F + s T."""

    straight = True

    def __init__(self, start: Point, direction: Matrix) -> None:
        self.start = start
        self.direction = direction

    def point(self, s: float) -> Point:
        """The point at s."""
        return self.start.at(self.carry(s, self.start.frame, self.direction))

    def blend(self, s: float, F: Matrix, T: Matrix | None) -> Matrix:
        """F + s T."""
        assert T is not None
        return add_scaled(F, T, s)
