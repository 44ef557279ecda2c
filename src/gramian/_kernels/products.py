"""Products of small matrices for other kernels. Each is compiled for one memory order, which NumPy's `@` is not."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import helper


@helper
def multiply(A: Any, B: Any, out: Any) -> None:
    """Write A B into out, by BLAS; all are C-contiguous."""
    np.dot(A, B, out)


@helper
def row_products(A: Any, B: Any, K: Any) -> None:
    """Write A Bᵀ into K (r, r), for A and B of shape (r, d)."""
    for k in range(A.shape[0]):
        for i in range(B.shape[0]):
            total = A.dtype.type(0)
            for j in range(A.shape[1]):
                total += A[k, j] * B[i, j]
            K[k, i] = total


@helper
def subtract(A: Any, c: Any, B: Any) -> None:
    """Subtract c B from A, in place."""
    # Loops compile several times faster than expressions and assignments of arrays.
    for k in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[k, j] -= c * B[k, j]
