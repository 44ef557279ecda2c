"""What the kernel of sparse products computes, row by row."""

from __future__ import annotations

from typing import Any

__all__ = ["sparse_times"]


def sparse_times(values: Any, columns: Any, edges: Any, B: Any, Z: Any) -> None:
    """Write X B into Z (n, k), for X (n, d) in CSR form and B (d, k)."""
    for i in range(len(Z)):
        row = slice(edges[i], edges[i + 1])
        Z[i] = values[row] @ B[columns[row]]
