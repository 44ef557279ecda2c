"""The affine-invariant geometry of the full-rank cone (the paper's section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from gramian.geometries.cone import ConePoint
from gramian.geometries.cores import AffineCore, TangentCore
from gramian.geometries.frames import orthonormal
from gramian.geometries.point import Geometry
from gramian.types import Matrix

__all__ = ["AffineInvariant"]


@dataclass(frozen=True, eq=False, repr=False)
class AffineInvariant(Geometry):
    """Positive definite W (d, d) under tr(ξ W⁻¹ ζ W⁻¹).

    Parameters
    ----------
    retraction : {"exponential", "first-order"}
        The geodesic W^½ exp(W^-½ ξ W^-½) W^½, or W + s ξ, which makes gradient descent the LogDet update of Davis
        et al. (2007); its steps are limited to those that stay positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import AffineInvariant
    >>> point = AffineInvariant().point(np.eye(2))
    >>> point.gradient(np.diag([1.0, 2.0]))
    array([[1., 0.], [0., 2.]])
    """

    retraction: str = "exponential"

    full_rank = True

    def __post_init__(self) -> None:
        if self.retraction not in ("exponential", "first-order"):
            raise ValueError(f"retraction={self.retraction!r} is unknown. Choose 'exponential' or 'first-order'.")

    def point(self, G: Matrix) -> ConePoint:
        """The point G Gᵀ."""
        orthonormal(G)  # refuses a singular factor
        return ConePoint((AffineCore if self.retraction == "exponential" else TangentCore)(G))


AffineInvariant.examples = (AffineInvariant(), AffineInvariant("first-order"))
