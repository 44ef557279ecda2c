"""The log-Euclidean geometry of the full-rank cone (the paper's section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

from gramian.geometries.cone import ConePoint
from gramian.geometries.cores import LogEuclideanCore, MirrorCore
from gramian.geometries.frames import orthonormal
from gramian.geometries.point import Geometry
from gramian.types import Matrix

__all__ = ["LogEuclidean"]


@dataclass(frozen=True, eq=False, repr=False)
class LogEuclidean(Geometry):
    """Positive definite W = exp(L) (d, d), with straight lines in L.

    Parameters
    ----------
    mirror : bool
        False: the true gradient of the metric tr(dL dL). True: the update exp(log W - s M) printed in the paper, which
        is mirror descent (matrix exponentiated gradient), the von Neumann update of Tsuda et al. (2005).

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
        """The point G Gᵀ."""
        orthonormal(G)  # refuses a singular factor
        return ConePoint((MirrorCore if self.mirror else LogEuclideanCore).of_root(G))


LogEuclidean.examples = (LogEuclidean(), LogEuclidean(mirror=True))
