"""Coordinates in which a problem is solved: centred, in units near 1, in the span of few samples.

Distances do not see a translation, but rounding does. Fourth powers of numbers far from 1 over- and underflow. And
with fewer samples than features, nothing outside their span is ever seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gramian._kernels.sparse import to_csr
from gramian.checks import check_powers
from gramian.columns import Columns, fewer_columns, present_columns
from gramian.execution import Execution, Serial, execution_for
from gramian.extremes import extremes_of, largest
from gramian.features import Array, Centred, Features, Identity, Sparse, as_features
from gramian.losses import Loss
from gramian.mapped import Mapped, is_large, is_map
from gramian.span import Span, span_of
from gramian.types import Matrix, Vector

__all__ = [
    "Coordinates",
    "Span",
    "Units",
    "centre",
    "column_spread",
    "data_unit_of",
    "span_of",
    "unit_of",
    "units_of_regression",
]

# Numbers within this factor of 1 are left as they are, and nothing is copied.
NEAR = 2.0**10
# Costs are reported in the user's units if these change them by no more than this factor.
SMALLEST_COST = 1e-280
#: Units have inverses, and squares of their roots, that are numbers.
LEAST_EXPONENT = -1020
LARGEST_UNIT = {np.dtype(np.float64): 2.0**1000, np.dtype(np.float32): 2.0**120}
# The number of rows or columns that are worked on at a time.
ROWS = 4096
# A mean of this many times the spread is subtracted in a copy: rounding of the mean would cost digits of what is left.
LARGEST_MEAN = {np.dtype(np.float64): 1e3, np.dtype(np.float32): 8.0}
# Rows from which the spread is estimated.
SPREAD_ROWS = 1000


class Units(NamedTuple):
    """Factors of the samples and of the targets: powers of two and of four, which add no rounding error.

    A matrix (d, d) counts as the square of a sample.

    Examples
    --------
    >>> from gramian.coordinates import Units
    >>> Units(data=0.25)
    Units(data=0.25, target=1.0)
    """

    data: float = 1.0
    target: float = 1.0


UNCHANGED = Units()


@dataclass(frozen=True)
class Coordinates:
    """Where a problem is solved, and how to get there and back.

    Parameters
    ----------
    features : Features
        The samples in the solver's coordinates.
    units : Units
    span : Span, Columns or None
        The span, or the features, that the solver works in.
    columns : array, shape (d,), or None
        Powers of two that the columns of the samples are multiplied by, beside the unit.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.coordinates import Coordinates, units_of_regression
    >>> X, y = np.full((2, 2), 2.0**20), np.full(2, 2.0**20)
    >>> coordinates = Coordinates.in_units(X, units_of_regression(X, y))
    >>> coordinates.features.dense()[0], coordinates.units.target
    (array([1., 1.]), 9.5367431640625e-07)
    >>> coordinates.to_user(np.ones((2, 1))).ravel()  # data / √target
    array([0.00097656, 0.00097656])
    """

    features: Features
    units: Units = UNCHANGED
    span: Span | Columns | None = None
    columns: Vector | None = None

    @classmethod
    def in_units(cls, X: Any, units: Units) -> Coordinates:
        """Return coordinates of vectors (n, d) or matrices (n, d, d) in given units."""
        return cls(scale_data(X, units.data), units)

    @classmethod
    def with_same_matrix(cls, X: Any) -> Coordinates:
        """Return coordinates of vectors (n, d) near 1 in which W is the same: targets take the square of their unit."""
        unit = data_unit_of(X)
        return cls.in_units(X, Units(unit, unit**2))

    def without_zero_columns(self, least: int) -> Coordinates:
        """Return coordinates of sparse samples without features that are 0 in all of them; the same, if few are left.

        `least` is the smallest number of features that the solver needs.
        """
        columns = present_columns_of(self.features)
        if columns is None or len(columns.indices) < least:
            return self
        return replace(self, features=columns.features, span=columns)

    def equilibrated(self, sizes: Vector | None = None) -> Coordinates:
        """Return coordinates in which all columns are near 1; the same, if their sizes differ little.

        `sizes` are max |x| of every column of the features, (d,), if known.
        """
        columns = column_units(self.features, sizes)
        if columns is None:
            return self
        X = samples_of(self.features)
        if isinstance(self.features, Mapped) or is_large(X):
            scale = columns * getattr(self.features, "scale", 1.0)
            return replace(self, features=Mapped(X, scale), columns=columns)
        units = columns.astype(X.dtype)
        scaled = X.multiply(units).tocsr() if scipy.sparse.issparse(X) else X * units
        return replace(self, features=as_features(scaled), columns=columns)

    @classmethod
    def of_distances(
        cls, X: Any, *, in_span: bool, execution: Execution | None = None, unit: float | None = None
    ) -> Coordinates:
        """Return centred coordinates of samples (n, d) in units near 1; in their span if `in_span` is True.

        Sparse samples are not made dense by their span: features that are 0 in all of them are left out, and those that
        occur once are joined. `unit` is the unit of the samples, if known.
        """
        data = data_unit_of(X) if unit is None else unit
        if in_span and (scipy.sparse.issparse(X) or hasattr(X, "fewer_columns")):
            columns = columns_of_distances(X, data)
            samples = X if columns is None else samples_of(columns.features)
            return cls(centre(samples, execution, data), Units(data), columns)
        features = centre(X, execution, data)
        span = span_of(features) if in_span else None
        return cls(features if span is None else span.features, Units(data), span)

    @classmethod
    def of_nodes(cls, n: int, dtype: Any, squared: Vector) -> Coordinates:
        """Return coordinates of n nodes whose squared distances have a mean near 1."""
        top = largest(squared)
        mean = top * float(np.mean(squared / top, dtype=np.float64)) if 0 < top < np.inf else 0.0
        return cls(Identity(n, dtype), Units(1.0, 4.0 ** -round(0.5 * np.log2(mean)) if mean > 0 else 1.0))

    def with_target_unit(self, unit: float) -> Coordinates:
        """Return the same coordinates with another unit of the targets."""
        return replace(self, units=self.units._replace(target=unit))

    def targets(self, y: Vector, dtype: Any = None, name: str = "y") -> Vector:
        """Return targets in the solver's units, in a dtype, by default their own.

        Raises a ValueError if they leave its range, as those of later calls on a stream may; `name` is what it says.
        """
        with np.errstate(over="ignore", under="ignore"):
            scaled = (y * y.dtype.type(self.units.target)).astype(y.dtype if dtype is None else dtype)
        if not np.isfinite(scaled).all():
            raise ValueError(
                f"the largest entry of {name} in absolute value is {largest(y):.3g}: in the units of the fit it is "
                f"outside the range of {scaled.dtype} numbers. Scale {name}, or give X as float64."
            )
        return scaled

    def to_solver(self, G: Matrix, dtype: Any = None) -> Matrix:
        """Return the factor for the solver, in a dtype, by default its own, from that for the user's data."""
        dtype = G.dtype if dtype is None else dtype
        with np.errstate(over="ignore", under="ignore"):
            factor = G * np.float64(self.units.target**0.5 / self.units.data)
            factor = factor if self.columns is None else factor / self.columns[:, None]
            factor = factor.astype(dtype)
        if not np.isfinite(factor).all() or (G.any() and not factor.any()):
            raise ValueError(
                f"in the units of the data, the start (init, or the current factor) is outside the range of {dtype} "
                "numbers. Scale the data or the start, or give X as float64."
            )
        return factor

    def to_user(self, G: Matrix) -> Matrix:
        """Return the factor for the user's data, (d, r), from the solver's."""
        lifted = G if self.span is None else self.span.lift(G)
        columns = self.columns
        if columns is not None and self.span is not None:
            columns = self.span.lift(columns[:, None])[:, 0]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            factor = lifted * lifted.dtype.type(self.units.data / self.units.target**0.5)
            factor = factor if columns is None else factor * columns[:, None].astype(G.dtype)
        if np.isfinite(lifted).all() and (not np.isfinite(factor).all() or (lifted.any() and not factor.any())):
            raise ValueError(
                f"in the units of the data, W is outside the range of {factor.dtype} numbers. Scale the data."
            )
        return factor

    def cost_scale(self, loss: Loss) -> float:
        """Return what the solver's costs are multiplied by, for targets as the user gave them.

        It is 1 where costs in the user's units would leave the range of numbers.
        """
        with np.errstate(over="ignore"):
            scale = float(np.float64(self.units.target) ** -loss.degree)
        return scale if SMALLEST_COST < scale < 1 / SMALLEST_COST else 1.0


def present_columns_of(features: Any) -> Columns | None:
    """Return sparse features, in memory or on workers, without their zero columns; None for others."""
    if hasattr(features, "fewer_columns"):
        return features.fewer_columns(join=False)
    return present_columns(features.X) if isinstance(features, Sparse) else None


def columns_of_distances(X: Any, unit: float) -> Columns | None:
    """Return sparse X (n, d), in memory or on workers, in fewer features of which distances are the same; else None."""
    # The norm of several features is a number of the type, too.
    join = unit * LARGEST_UNIT[X.dtype] > X.shape[1]
    return X.fewer_columns(join=join) if hasattr(X, "fewer_columns") else fewer_columns(to_csr(X), join=join)


def units_of_regression(X: Any, y: Vector, *, scale_free: bool = False, size: float | None = None) -> Units:
    """Return the units in which vectors (n, d) or matrices (n, d, d), and targets (n,), are near 1.

    Where W has no scale of its own (`scale_free`), targets take the square of the data's unit: then W is the same.
    `size` is max |x| of all entries of X, if known.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.coordinates import units_of_regression
    >>> units_of_regression(np.full((2, 2), 2.0**20), np.ones(2))
    Units(data=9.5367431640625e-07, target=1.0)
    """
    if scale_free:
        check_powers("X", X, 2 if X.ndim == 2 else 1)
    data = data_unit_of(X, size)
    return Units(data, data**2 if scale_free else unit_of(largest(y), 2))


def data_unit_of(X: Any, size: float | None = None) -> float:
    """Return the power of two that brings samples near 1; a matrix counts as the square of a vector.

    `size` is max |x| of all entries of X, if known.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.coordinates import data_unit_of
    >>> data_unit_of(np.ones((2, 2))), data_unit_of(np.full((2, 2), 2.0**20)) * 2.0**20
    (1.0, 1.0)
    """
    size = largest(X.data if scipy.sparse.issparse(X) else X) if size is None else size
    unit = unit_of(size if X.ndim == 2 else size**0.5, 1)
    # A unit, and its inverse, are numbers of the data's type.
    limit = LARGEST_UNIT[X.dtype]
    return min(max(unit, 1 / limit), limit)


def scale_data(X: Any, unit: float) -> Features:
    """Return the features of vectors (n, d) times a unit; those of matrices (n, d, d) are the unit vectors."""
    if X.ndim == 3:
        return Identity(X.shape[1], X.dtype)
    if unit != 1 and is_large(X) and 1 / LARGEST_UNIT[X.dtype] <= unit <= LARGEST_UNIT[X.dtype]:
        return Mapped(X, unit)
    # The unit of a stream may be none of the numbers of a later call's type.
    dtype = X.dtype if 1 / LARGEST_UNIT[X.dtype] <= unit <= LARGEST_UNIT[X.dtype] else np.dtype(np.float64)
    return as_features(X if unit == 1 else X.astype(dtype, copy=False) * dtype.type(unit))


def unit_of(size: float, multiple: int) -> float:
    """Return the power of two that brings a size near 1; its exponent is a multiple of `multiple`.

    Examples
    --------
    >>> from gramian.coordinates import unit_of
    >>> unit_of(5.0, 1), unit_of(2.0**21, 1) * 2.0**21, unit_of(2.0**21, 2) * 2.0**21
    (1.0, 1.0, 2.0)
    """
    if not 0 < size < np.inf or 1 / NEAR <= size <= NEAR:
        return 1.0
    # The inverse of a number below the normal range would be infinite.
    return 2.0 ** -max(multiple * round(np.log2(size) / multiple), LEAST_EXPONENT)


def column_units(features: Features, sizes: Vector | None = None) -> Vector | None:
    """Return powers of two (d,) that bring columns near 1; None if their sizes differ by less than a factor of 1024."""
    sizes = column_sizes(features) if sizes is None else sizes
    if column_spread(features, sizes) <= NEAR:
        return None
    return np.where(sizes > 0, 2.0 ** -np.round(np.log2(np.where(sizes > 0, sizes, 1))), 1.0)


def column_spread(features: Features, sizes: Vector | None = None) -> float:
    """Return how many times larger the largest column is than the smallest that is not zero.

    `sizes` are max |x| of every column, (d,), if known. Matrices have no columns, and a spread of 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.coordinates import column_spread
    >>> from gramian.features import Array
    >>> column_spread(Array(np.array([[1.0, 8.0], [2.0, 4.0]])))
    4.0
    """
    if isinstance(features, Identity):
        return 1.0
    sizes = column_sizes(features) if sizes is None else sizes
    present = sizes[sizes > 0]
    return float(present.max() / present.min()) if present.size else 1.0


def column_sizes(features: Features) -> Vector:
    """Return max |x| of every column of features that are not centred, (d,), in float64; none for matrices."""
    if isinstance(features, Identity):
        return np.zeros(0)
    sizes = extremes_of(samples_of(features)).sizes
    return sizes * features.scale if isinstance(features, Mapped) else sizes


def samples_of(features: Any) -> Any:
    """Return the array or sparse matrix (N, d) of features that are not centred; blocks on workers themselves."""
    assert not isinstance(features, Centred | Identity)
    return features.X if isinstance(features, Array | Sparse | Mapped) else features


def centre(X: Any, execution: Execution | None = None, unit: float = 1.0) -> Features:
    """Return features times a unit, less their mean.

    Large data is not copied, unless rounding would tell. Small data is: that saves the correction of every product.
    Sparse data never is: it would be dense. Neither is large data in a memory-mapped file.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.coordinates import centre
    >>> centre(np.array([[1.0], [3.0]])).dense().ravel()
    array([-1.,  1.])
    """
    if hasattr(X, "centred"):
        return (X if unit == 1 else X * unit).centred()
    if unit != 1 and not is_large(X):
        X, unit = X * X.dtype.type(unit), 1.0
    if scipy.sparse.issparse(X):
        features = as_features(X)
        return Centred(features, features.pull(np.ones((X.shape[0], 1))).ravel() / max(X.shape[0], 1))
    execution = Serial() if execution is None else execution_for(X, execution)
    tiles = execution.place([X[start : start + ROWS] for start in range(0, len(X), ROWS)])
    mean = execution.run(sum_rows, tiles, unit=unit)[1] / len(X)
    if not is_large(X):
        return Array(X - mean.astype(X.dtype))
    scaled = Mapped(X, unit, mean)
    if mean_outweighs_spread(Mapped(X, unit).change(some_rows(X)), mean):
        return scaled if is_map(X) else Array(scaled.dense())
    return Centred(Array(X) if unit == 1 else Mapped(X, unit), mean)


def some_rows(X: Matrix) -> Matrix:
    """Return at most 1000 rows of X (n, d), evenly spaced."""
    return X[:: -(-len(X) // SPREAD_ROWS)]


def mean_outweighs_spread(X: Matrix, mean: Vector) -> bool:
    """Return True if the mean (d,) of data is so large that products with it would lose digits, from some rows X."""
    some = X - mean
    spread = np.mean(some**2, axis=0)
    # A constant feature has no digits to lose, but its mean would cost those of others.
    large = mean**2 > LARGEST_MEAN[X.dtype] ** 2 * np.maximum(spread, float(spread.mean()) * (spread == 0))
    return bool(large.any())


def sum_rows(tile: Matrix, *, unit: float) -> tuple[None, Vector]:
    """Sum the rows of a tile times a unit, in float64."""
    scaled = tile if unit == 1 else tile * tile.dtype.type(unit)
    return None, scaled.sum(axis=0, dtype=np.float64)
