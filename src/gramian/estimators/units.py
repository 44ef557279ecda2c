"""Data in units far from 1, brought near to it, so that its fourth powers neither over- nor underflow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.types import Matrix, Vector

__all__ = ["Units", "units_of"]

# Numbers within this factor of 1 are left as they are, and nothing is copied.
NEAR = 2.0**10


class Units(NamedTuple):
    """Factors, powers of two, that X and y are multiplied by: nothing is rounded."""

    data: float = 1.0
    target: float = 1.0

    def scaled(self, X: Any, y: Vector) -> tuple[Any, Vector]:
        """X and y in these units."""
        return (X if self.data == 1 else X * X.dtype.type(self.data)), y * y.dtype.type(self.target)

    def factor(self, G: Matrix) -> Matrix:
        """The factor for X and y as they were given, from that in these units."""
        return G * G.dtype.type(self.data / self.target**0.5)

    def start(self, G: Matrix) -> Matrix:
        """The factor in these units, from that for X and y as given."""
        return G * G.dtype.type(self.target**0.5 / self.data)

    def cost(self, cost: Any) -> Any:
        """The squared loss for y as given."""
        return cost / self.target**2


def units_of(X: Any, y: Vector) -> Units:
    """The units in which X and y are near 1."""
    values = X if isinstance(X, np.ndarray) else X.data
    # A matrix counts as the square of a vector.
    size = largest(values) if values.ndim < 3 else largest(values) ** 0.5
    return Units(nearby(size, 1), nearby(largest(y), 2))


def largest(values: Vector) -> float:
    """max |value|."""
    return max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0


def nearby(size: float, multiple: int) -> float:
    """The power of two, of an exponent that is a multiple, that brings a size near 1; 1 where it is near already."""
    if not 0 < size < np.inf or 1 / NEAR <= size <= NEAR:
        return 1.0
    return 2.0 ** -(multiple * round(np.log2(size) / multiple))
