"""Names of array types in signatures."""

from typing import Any

from numpy.typing import NDArray

#: An array of one axis, for example (m,).
Vector = NDArray[Any]
#: An array of two axes, for example (d, r).
Matrix = NDArray[Any]
#: Indices of rows, or a slice of them.
Rows = NDArray[Any] | slice
#: A tangent vector at a point of a geometry. Solvers add and scale it; only the point knows what its entries mean.
Tangent = NDArray[Any]
