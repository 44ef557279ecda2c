"""The log-Euclidean geometry of the full-rank cone (the paper's section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

from gramian.geometries.cone import ConePoint
from gramian.geometries.cores import LogEuclideanCore, MirrorCore
from gramian.geometries.frames import polar_decompose
from gramian.geometries.point import Geometry
from gramian.types import Matrix

__all__ = ["LogEuclidean"]


@dataclass(frozen=True, eq=False, repr=False)
class LogEuclidean(Geometry):
    """Positive definite matrices W = exp(L) (d, d), which move along straight lines in L = log W.

    Parameters
    ----------
    mirror : bool
        False uses the gradient of the metric tr(dL dL). True uses the update exp(log W - s M) that the paper prints.
        It is mirror descent (matrix exponentiated gradient), the von Neumann update of Tsuda et al. (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import LogEuclidean
    >>> point = LogEuclidean(mirror=True).point(np.eye(2))
    >>> W = lambda p: p.G @ p.G.T
    >>> W(point.curve(np.diag([1.0, 0.0])).point(1.0)).round(3)
    array([[2.718, 0.   ], [0.   , 1.   ]])
    """

    mirror: bool = False

    full_rank = True

    def point(self, G: Matrix) -> ConePoint:
        """Return the point W = G Gᵀ."""
        G = self.factor(G)
        polar_decompose(G)  # raises a ValueError if G is singular
        return ConePoint((MirrorCore if self.mirror else LogEuclideanCore).from_root(G))


LogEuclidean.examples = (LogEuclidean(), LogEuclidean(mirror=True))
