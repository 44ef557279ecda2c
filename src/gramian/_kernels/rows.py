"""Rows of a data matrix as flat arrays: one form for dense and for sparse data, so that kernels are written once.

A kernel is compiled for each combination of types, and to numba an array that is read-only, or of another memory order,
is another type. `as_kernel_input` makes all of them one.

Kernels work with two vectors at a time, each x_i or x_i - x_j, in three arrays. V (2, d) has their entries. The columns
of vector k that were written are at[k, :count], with count = at[k, d], and listed[k, j] is True if column j is among
them. For dense rows `at` and `listed` are None: numba leaves out the branches for sparse rows, which took an eighth
of the time. The arrays are arguments of their own, because to count references to arrays in a tuple takes longer than
the loops.
"""

from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.compiled import helper


class StoredRows(NamedTuple):
    """The rows of X, shape (n, d).

    Dense rows are the rows of `values` (n, d), and `columns` and `edges` are None. The entries of sparse row i (CSR)
    are those from `edges[i]` to `edges[i + 1]`, of the one row of `values` (1, m) and of `columns` (m,).
    """

    values: Any
    columns: Any
    edges: Any


def as_kernel_input(array: Any, dtype: Any = None) -> Any:
    """Return an array as a read-only C-contiguous view; a copy only where its dtype or its order is another."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def dense_rows(X: Any) -> StoredRows:
    """Return the rows of an array (n, d), without a copy if it is C-contiguous."""
    return StoredRows(as_kernel_input(X), None, None)


def sparse_rows(X: Any) -> StoredRows | None:
    """Return the rows of a CSR array (n, d); None if it has too many columns for 32-bit indices."""
    if X.shape[1] > np.iinfo(np.int32).max:
        return None
    parts = as_kernel_input(X.data[None]), as_kernel_input(X.indices, np.int32), as_kernel_input(X.indptr, np.int64)
    return StoredRows(*parts)


@helper
def row_workspace(edges: Any, d: Any, like: Any) -> Any:
    """Return V, at and listed for two vectors of d entries, of the dtype of an array."""
    V = np.zeros((2, d), like.dtype)
    if edges is None:
        return V, None, None
    return V, np.zeros((2, d + 1), np.int32), np.zeros((2, d), np.bool_)


@helper
def add_sparse_row(X: Any, columns: Any, edges: Any, i: Any, sign: Any, V: Any, at: Any, listed: Any, k: Any) -> None:
    """Add ±x_i to vector k, and list its columns."""
    d = V.shape[1]
    for e in range(edges[i], edges[i + 1]):
        j = columns[e]
        if not listed[k, j]:
            listed[k, j] = True
            at[k, at[k, d]] = j
            at[k, d] += 1
        V[k, j] += sign * X[0, e]


@helper
def read_vector(X: Any, columns: Any, edges: Any, i: Any, j: Any, V: Any, at: Any, listed: Any, k: Any) -> None:
    """Write x_i - x_j into vector k, or x_i if j < 0."""
    d = V.shape[1]
    if edges is None:
        if j < 0:
            for e in range(d):
                V[k, e] = X[i, e]
        else:
            for e in range(d):
                V[k, e] = X[i, e] - X[j, e]
    else:
        for e in range(at[k, d]):
            V[k, at[k, e]] = 0
            listed[k, at[k, e]] = False
        at[k, d] = 0
        one = V.dtype.type(1)
        add_sparse_row(X, columns, edges, i, one, V, at, listed, k)
        if j >= 0:
            add_sparse_row(X, columns, edges, j, -one, V, at, listed, k)


@helper
def project(F: Any, V: Any, at: Any, k: Any, u: Any) -> Any:
    """Write F v into u[k], for vector k and a transposed factor F (r, d), and return its squared length."""
    square = F.dtype.type(0)
    for i in range(F.shape[0]):
        total = F.dtype.type(0)
        if at is None:
            for j in range(F.shape[1]):
                total += F[i, j] * V[k, j]
        else:
            for e in range(at[k, F.shape[1]]):
                total += F[i, at[k, e]] * V[k, at[k, e]]
        u[k, i] = total
        square += total * total
    return square


@helper
def add_outer(scale: Any, w: Any, V: Any, at: Any, k: Any, A: Any) -> None:
    """Add scale · w[k] vᵀ to A (r, d), for vector k."""
    for i in range(A.shape[0]):
        c = A.dtype.type(scale * w[k, i])
        if at is None:
            for j in range(A.shape[1]):
                A[i, j] += c * V[k, j]
        else:
            for e in range(at[k, A.shape[1]]):
                A[i, at[k, e]] += c * V[k, at[k, e]]


@helper
def squared_length(V: Any, at: Any) -> Any:
    """Return ‖v‖² of the first vector."""
    total = V.dtype.type(0)
    if at is None:
        for j in range(V.shape[1]):
            total += V[0, j] * V[0, j]
    else:
        for e in range(at[0, V.shape[1]]):
            total += V[0, at[0, e]] * V[0, at[0, e]]
    return total
