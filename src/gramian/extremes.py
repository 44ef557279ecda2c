"""The smallest and the largest value of every column, in one pass over the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gramian.types import Matrix, Vector

__all__ = ["Extremes", "extremes_of", "largest"]

# The number of entries read at a time: they stay in the cache between the two searches. And the least of a row.
TILE_ENTRIES, ROW_ENTRIES = 2**17, 2**11


@dataclass(frozen=True)
class Extremes:
    """The smallest and the largest value of every column, (d,) each; `missing` is True if an entry is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.extremes import extremes_of
    >>> extremes_of(np.array([[1.0, 5.0], [-3.0, 4.0]])).sizes
    array([3., 5.])
    """

    low: Vector
    high: Vector
    missing: bool = False

    @property
    def finite(self) -> bool:
        """True if no entry is NaN or infinite."""
        return not self.missing and bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())

    @property
    def sizes(self) -> Vector:
        """Max |x| of every column, (d,), in float64."""
        return np.fmax(np.abs(self.low), np.abs(self.high)).astype(np.float64)

    @property
    def largest(self) -> float:
        """Max |x| of all entries; 0 if there are none."""
        return float(np.fmax.reduce(self.sizes, initial=0))

    @property
    def constant(self) -> bool:
        """True if no column has two values."""
        return not (self.low != self.high).any()


def extremes_of(X: Any, execution: Any = None) -> Extremes:
    """Return the extremes of the columns of an array or sparse matrix (n, d); NaN entries are ignored.

    An array of another dimension is read as one column, matrices (n, d, d) as d² columns. An `execution` shares the
    rows of an array out.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.extremes import extremes_of
    >>> extremes = extremes_of(np.array([[1.0, -8.0], [2.0, 4.0]]))
    >>> extremes.low, extremes.high, extremes.largest
    (array([ 1., -8.]), array([2., 4.]), 8.0)
    """
    if hasattr(X, "extremes"):
        return X.extremes
    if scipy.sparse.issparse(X):
        low, high = (np.asarray(end.toarray()).ravel() for end in (X.min(axis=0), X.max(axis=0)))
        return Extremes(low, high, bool(np.isnan(high).any()))
    rows = X.reshape(len(X), -1) if X.ndim > 1 else X.reshape(-1, 1)
    if not rows.size:
        return Extremes(np.zeros(0), np.zeros(0))
    if not rows.flags.c_contiguous:
        return column_extremes(rows)
    # Several rows side by side are one long row: NumPy is slow on short ones.
    n, d = rows.shape
    beside = min(n, max(1, ROW_ENTRIES // d))
    even = n - n % beside
    long = rows[:even].reshape(-1, beside * d)
    length = max(1, TILE_ENTRIES // long.shape[1])
    tiles = [long[start : start + length] for start in range(0, len(long), length)]
    if execution is None:
        parts = [column_extremes(tile) for tile in tiles]
    else:
        parts, _ = execution.run(keep_extremes, execution.place(tiles))
    ends = [column_extremes(np.reshape([getattr(part, end) for part in parts], (-1, d))) for end in ("low", "high")]
    ends += [column_extremes(rows[even:])] if even < n else []
    low, high = np.fmin.reduce([end.low for end in ends]), np.fmax.reduce([end.high for end in ends])
    return Extremes(low, high, any(part.missing for part in [*parts, *ends]))


def column_extremes(rows: Matrix) -> Extremes:
    """Return the extremes of the columns of rows; those that ignore NaN take longer."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    missing = bool(np.isnan(high).any())
    if missing:
        low, high = np.fmin.reduce(rows), np.fmax.reduce(rows)
    return Extremes(low, high, missing)


def keep_extremes(rows: Matrix) -> tuple[Extremes, None]:
    """Keep the extremes of the columns of rows."""
    return column_extremes(rows), None


def largest(values: Any) -> float:
    """Return max |value|; NaN is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.extremes import largest
    >>> largest(np.array([1.0, -3.0]))
    3.0
    """
    return extremes_of(values).largest
