"""Geometries: the set in which W is learned, a metric on it, and the curves along which W moves.

To add one, write one file with a subclass of `Geometry` and a subclass of `Point`, and add one line to `GEOMETRIES`
below. Their methods are explained in `point.py`. If its curves are straight lines, `Point.curve` returns `Straight`;
otherwise subclass `Curve` too, with `point` and, to save passes, `motion`. `gramian.contracts.check_geometry` checks
the identities that every geometry must satisfy; the tests run it over `GEOMETRIES`, for every instance in a
geometry's `examples`.
"""

from gramian.geometries.affine_invariant import AffineInvariant
from gramian.geometries.flat import Flat
from gramian.geometries.grassmann import Grassmann
from gramian.geometries.images import factor_image, factor_velocity
from gramian.geometries.log_euclidean import LogEuclidean
from gramian.geometries.point import Curve, Geometry, Motion, Point, Straight
from gramian.geometries.polar import Polar
from gramian.geometries.scaled import Scaled

__all__ = [
    "GEOMETRIES",
    "AffineInvariant",
    "Curve",
    "Flat",
    "Geometry",
    "Grassmann",
    "LogEuclidean",
    "Motion",
    "Point",
    "Polar",
    "Scaled",
    "Straight",
    "factor_image",
    "factor_velocity",
]

GEOMETRIES: dict[str, type[Geometry]] = {
    "flat": Flat,
    "scaled": Scaled,
    "polar": Polar,
    "grassmann": Grassmann,
    "affine": AffineInvariant,
    "log-euclidean": LogEuclidean,
}
