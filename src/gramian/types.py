"""Names for array types in signatures: a vector (m,), a matrix, and what selects some rows."""

from typing import Any

from numpy.typing import NDArray

Vector = NDArray[Any]
Matrix = NDArray[Any]
Rows = NDArray[Any] | slice
