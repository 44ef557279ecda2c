"""The affine-invariant geometry of the full-rank cone (the paper's section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from gramian.geometries.cone import ConePoint
from gramian.geometries.cores import AffineCore, TangentCore
from gramian.geometries.frames import polar_decompose
from gramian.geometries.point import Geometry
from gramian.types import Matrix

__all__ = ["AffineInvariant"]


@dataclass(frozen=True, eq=False, repr=False)
class AffineInvariant(Geometry):
    """Positive definite matrices W (d, d) with the metric tr(ξ W⁻¹ ζ W⁻¹).

    Parameters
    ----------
    retraction : {"exponential", "first-order"}
        "exponential" moves along the geodesic W^½ exp(s W^-½ ξ W^-½) W^½. "first-order" moves along W + s ξ, with
        steps short enough that W stays positive definite; gradient descent is then the LogDet update of Davis et al.
        (2007).

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
        """Return the point W = G Gᵀ."""
        G = self.factor(G)
        polar_decompose(G)  # raises a ValueError if G is singular
        return ConePoint((AffineCore if self.retraction == "exponential" else TangentCore)(G))


AffineInvariant.examples = (AffineInvariant(), AffineInvariant("first-order"))
