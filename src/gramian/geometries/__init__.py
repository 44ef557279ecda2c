"""Geometries: where the matrix W lives, and how it moves.

To add one, write one file with a `Geometry` and its `Point`, and one line here. The conformance tests, run over
`GEOMETRIES` and over every instance in a geometry's `examples`, say whether it is right.
"""

from gramian.geometries.affine_invariant import AffineInvariant
from gramian.geometries.flat import Flat
from gramian.geometries.grassmann import Grassmann
from gramian.geometries.log_euclidean import LogEuclidean
from gramian.geometries.point import Curve, Geometry, Motion, Point, factor_image, factor_velocity
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
