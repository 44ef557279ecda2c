"""Names for array types in signatures: a vector (m,), a matrix, and what selects some rows."""

from typing import Any

from numpy.typing import NDArray

Vector = NDArray[Any]
Matrix = NDArray[Any]
Rows = NDArray[Any] | slice
#: A tangent vector of a geometry: an array that solvers add and scale, and otherwise hand back to its point.
Tangent = NDArray[Any]
