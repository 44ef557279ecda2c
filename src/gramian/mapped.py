"""Features in a memory-mapped array, or in a large one: they are changed as they are read, without a copy of all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from mmap import mmap
from typing import Any

import numpy as np

from gramian._kernels.rows import StoredRows, dense_rows
from gramian.features import Array, count_pieces
from gramian.types import Matrix, Rows, Vector

__all__ = ["Mapped", "check_map", "columns_of", "is_large", "is_large_map", "is_map", "name_of_file"]

#: The number of bytes up to which data is copied without a second thought.
SMALL = 2**25
#: The number of bytes that are read at a time.
BLOCK = 2**26
#: Scales from the inverse of this to this can be applied to the other factor of a product: no number leaves its range.
LARGEST_SCALE = {np.dtype(np.float64): 2.0**300, np.dtype(np.float32): 2.0**40}


class Mapped:
    """Features x · scale - mean for the rows x of an array (N, d), which are changed as they are read.

    Without a mean, products with X itself have the same digits: the scale, powers of two, is applied to their other
    factor, or to the result.

    Parameters
    ----------
    X : array, shape (N, d)
        Memory-mapped, or large.
    scale : float or array, shape (d,)
        Powers of two.
    mean : array, shape (d,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.mapped import Mapped
    >>> Mapped(np.array([[1.0], [3.0]]), 2.0, np.array([4.0])).image(np.ones((1, 1))).ravel()
    array([-2.,  2.])
    """

    sliceable = True

    def __init__(self, X: Matrix, scale: float | Vector = 1.0, mean: Vector | None = None) -> None:
        self.X, self.scale = X, np.asarray(scale, np.float64)
        self.mean = None if mean is None else mean.astype(X.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "scale": self.scale, "mean": self.mean}

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features, (N, d)."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of X."""
        return self.X.dtype

    def change(self, rows: Matrix, columns: slice = slice(None)) -> Matrix:
        """Return rows (m, k) of X, or some of their columns, scaled and centred."""
        scale = (self.scale if self.scale.ndim == 0 else self.scale[columns]).astype(self.dtype)
        changed = rows * scale
        if self.mean is not None:
            changed -= self.mean[columns]
        return changed

    def blocks(self) -> Iterator[slice]:
        """Yield the rows that are read at a time."""
        n, d = self.shape
        length = max(1, BLOCK // max(d * self.dtype.itemsize, 1))
        yield from (slice(start, min(start + length, n)) for start in range(0, n, length))

    @cached_property
    def factor(self) -> Matrix | None:
        """The scale as a column, (d, 1) or (1, 1), that may be applied to another factor; None where it may not."""
        largest = LARGEST_SCALE[self.dtype]
        if self.mean is not None or not ((self.scale <= largest) & (self.scale >= 1 / largest)).all():
            return None
        return self.scale.reshape(-1, 1).astype(self.dtype)

    def image(self, B: Matrix) -> Matrix:
        """Return the product with B (d, k), shape (N, k)."""
        if self.factor is not None and B.dtype == self.dtype:
            return self.X @ (self.factor * B)
        Z = np.empty((self.shape[0], B.shape[1]), np.result_type(self.dtype, B.dtype))
        for rows in self.blocks():
            Z[rows] = self.change(self.X[rows]) @ B
        return Z

    def pull(self, S: Matrix) -> Matrix:
        """Return the product of the transpose with S (N, k), shape (d, k)."""
        if self.factor is not None and S.dtype == self.dtype:
            return self.factor * np.dot(S.T, self.X).T
        total = np.zeros((S.shape[1], self.shape[1]), np.result_type(self.dtype, S.dtype))
        for rows in self.blocks():
            total += np.dot(S[rows].T, self.change(self.X[rows]))
        return total.T

    @property
    def n_pieces(self) -> int:
        """The number of pieces of at least 1024 rows."""
        return count_pieces(len(self.X))

    def take(self, rows: Rows) -> Mapped | Array:
        """Return the features of some rows: a view if rows is a slice, else a copy."""
        if isinstance(rows, slice):
            return Mapped(self.X[rows], self.scale, self.mean)
        return Array(self.change(self.X[rows]))

    def dense(self) -> Matrix:
        """Return all rows as an array in memory, shape (N, d): call it on few rows."""
        return self.change(self.X)

    def stored_rows(self, *, differences: bool) -> StoredRows | None:
        """Return a copy of the rows as they are used; None for those of a file."""
        return None if is_map(self.X) else self.copied_rows

    @cached_property
    def copied_rows(self) -> StoredRows:
        """All rows, changed, in memory."""
        return dense_rows(self.dense())


def is_large(X: Any) -> bool:
    """Return True for an array of more than 32 MB.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.mapped import is_large
    >>> is_large(np.zeros((3, 2)))
    False
    """
    return isinstance(X, np.ndarray) and X.nbytes > SMALL


def is_large_map(X: Any) -> bool:
    """Return True for an array of more than 32 MB that is, or is a view of, a memory-mapped file.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.mapped import is_large_map
    >>> is_large_map(np.zeros((3, 2)))
    False
    """
    return is_large(X) and is_map(X)


def is_map(X: Any) -> bool:
    """Return True for an array that is, or is a view of, a memory-mapped file.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.mapped import is_map
    >>> is_map(np.zeros((3, 2)))
    False
    """
    base: Any = X
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap)


def whole_map(X: Any) -> np.memmap | None:
    """Return the memory-mapped array that an array is, or is a view of; None if NumPy does not know it."""
    found, base = None, X
    while isinstance(base, np.ndarray):
        found, base = base if isinstance(base, np.memmap) else found, base.base
    return found


def name_of_file(X: Any) -> str:
    """Return the path of the file of a memory-mapped array; "a memory-mapped file" if it is not known."""
    whole = whole_map(X)
    return "a memory-mapped file" if whole is None or not whole.filename else str(whole.filename)


def check_map(X: Matrix, *, allow_missing: bool = False) -> None:
    """Raise a ValueError that names file, row and column of the first entry that is infinite, or NaN unless allowed.

    Parameters
    ----------
    X : array, shape (N, d), of float32 or float64
        A memory-mapped array; it is read in blocks.
    allow_missing : bool

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.mapped import check_map
    >>> check_map(np.array([[1.0, np.nan]]))
    Traceback (most recent call last):
        ...
    ValueError: a memory-mapped file: row 0, column 1 is nan. Fill or drop it: samples must be finite.
    """
    for rows in Mapped(X).blocks():
        block = X[rows]
        # A sum that is finite spares a second array of the size of the block.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum()):
                continue
        bad = np.argwhere(np.isinf(block) if allow_missing else ~np.isfinite(block))
        if len(bad):
            row, column = rows.start + int(bad[0][0]), int(bad[0][1])
            in_file = place_in_file(X, row, column)
            where = f"row {in_file[0]}, column {in_file[1]} is {X[row, column]}"
            where += "" if in_file == (row, column) else f", which is row {row} of X"
            raise ValueError(f"{name_of_file(X)}: {where}. Fill or drop it: samples must be finite.")


def place_in_file(X: Matrix, row: int, column: int) -> tuple[int, int]:
    """Return the row and the column in the whole file of an entry of a view of its array."""
    whole = whole_map(X)
    if whole is None or whole.ndim != 2:
        return row, column
    start = X.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    entry = (start + row * X.strides[0] + column * X.strides[1]) // whole.itemsize
    place = np.unravel_index(entry, whole.shape, order="C" if whole.flags.c_contiguous else "F")
    return int(place[0]), int(place[1])


def columns_of(features: Any, cut: slice) -> Matrix:
    """Return some columns of dense features, (N, k), without a copy of the others where that is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array, Centred
    >>> from gramian.mapped import columns_of
    >>> columns_of(Centred(Array(np.eye(2)), np.array([1.0, 2.0])), slice(1, 2)).ravel()
    array([-2., -1.])
    """
    if isinstance(features, Mapped):
        return features.change(features.X[:, cut], cut)
    if isinstance(features, Array):
        return features.X[:, cut]
    inner, mean = getattr(features, "features", None), getattr(features, "mean", None)
    return features.dense()[:, cut] if inner is None or mean is None else columns_of(inner, cut) - mean[cut]
