"""Where the blocks of data come from, and how a worker reads one."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gramian.checks import FLOATS, check_sparse
from gramian.execution.held import Held
from gramian.features import Array, Sparse
from gramian.tables import Table, open_table

__all__ = ["FILES", "Source", "Summary", "TableFile", "find_sources", "is_in_files", "read_block", "read_file"]

#: The endings of files that workers read.
FILES = (".npy", ".parquet")


#: What pandas calls columns of objects that are numbers or truth values, some of them missing.
NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal", "empty")


class Source(NamedTuple):
    """A block of samples: its name in errors, and its origin, a path, a matrix or an object that Dask computes."""

    name: str
    value: Any
    computed: bool = False


class TableFile(NamedTuple):
    """A file of a table, and how it is read: its columns of features, its target, which is left out, and the dtype."""

    path: str
    columns: tuple[str, ...]
    target: str | None
    dtype: str
    named: bool

    def read(self) -> Any:
        """Return the features (n, d) of all rows, NaN where missing; as a data frame if each column is a feature."""
        table = open_table(self.path, self.target, columns=self.columns, dtype=self.dtype, allow_missing=True)
        X = np.concatenate([np.empty((0, table.n_features), self.dtype), *(batch.X for batch in table)])
        if not self.named:
            return X
        import pandas

        return pandas.DataFrame(X, columns=list(self.columns), copy=False)


class Summary(NamedTuple):
    """What the driver knows of a block; `error` says why it cannot be used, and is "" if it can."""

    name: str
    n_samples: int = 0
    n_features: int = 0
    dtype: str = ""
    n_bytes: int = 0
    columns: tuple[str, ...] | None = None
    error: str = ""


def find_sources(X: Any) -> list[Source] | None:
    """Return the blocks of X; None if X is not in blocks."""
    if type(X).__module__.startswith("dask.") and hasattr(X, "to_delayed"):
        if hasattr(X, "chunks"):
            if X.ndim != 2:
                raise ValueError(f"X is a dask array of shape {X.shape}; expected samples (n, d).")
            X = X.rechunk({1: -1})
        delayed = np.ravel(X.to_delayed())
        return [Source(f"block {i} of X", part, computed=True) for i, part in enumerate(delayed)]
    if isinstance(X, Table):
        how = (tuple(X.columns), X.target, str(X.dtype), max(X.widths) == 1)
        return [Source(f"file {file}", TableFile(str(file), *how)) for file in X.files]
    if not isinstance(X, list | tuple) or not X:
        return None
    if is_in_files(X):
        return [Source(f"file {fspath(part)}", fspath(part)) for part in X]
    if all(scipy.sparse.issparse(part) for part in X):
        return [Source(f"block {i} of X", part) for i, part in enumerate(X)]
    if all(type(part).__name__ == "Delayed" for part in X):
        return [Source(f"block {i} of X", part, computed=True) for i, part in enumerate(X)]
    return None


def is_in_files(X: Any) -> bool:
    """Return True for a table, and for a list of files.

    Examples
    --------
    >>> from gramian.blocked import is_in_files
    >>> is_in_files(["part-0.parquet"]), is_in_files([[1.0, 2.0]])
    (True, False)
    """
    if not isinstance(X, list | tuple):
        return isinstance(X, Table)
    return bool(X) and all(isinstance(part, str | PathLike) and Path(part).suffix in FILES for part in X)


def read_file(path: Any) -> Any:
    """Return the array of a .npy file, the data frame of a .parquet file, or the features of the file of a table."""
    if isinstance(path, TableFile):
        return path.read()
    if Path(path).suffix == ".npy":
        return np.load(path)
    import pandas

    return pandas.read_parquet(path)


def read_block(name: str, value: Any, allow_missing: bool) -> Held:
    """Read a block on a worker: its features, and a summary for the driver, which reports errors with their block."""
    try:
        value = value.content if hasattr(value, "content") else value
        value = read_file(value) if isinstance(value, str | TableFile) else value
        columns = tuple(value.columns) if hasattr(value, "columns") else None
        features = as_block(value, allow_missing)
    except (ValueError, TypeError, OSError, EOFError, MemoryError) as error:
        return Held([None], [Summary(name, error=f"{name}: {error}")])
    (n, d), dtype = features.shape, str(features.dtype)
    named = columns is not None and all(isinstance(column, str) for column in columns)
    return Held([features], [Summary(name, n, d, dtype, count_data(features), columns if named else None)])


def as_block(value: Any, allow_missing: bool) -> Array | Sparse:
    """Return a block as features of float32 or float64; raise a ValueError that names the first row of bad values."""
    if scipy.sparse.issparse(value):
        check_sparse(value)
        value = scipy.sparse.csr_array(value)
    elif hasattr(value, "iloc") and value.ndim == 2:
        value = columns_to_array(value)
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if not scipy.sparse.issparse(value):
        value = np.asarray(value)
    if value.ndim != 2:
        raise ValueError(f"it has shape {value.shape}; expected samples (n, d).")
    if value.dtype.kind not in "fiub":
        raise ValueError(f"it has dtype {value.dtype}; expected real numbers, as float32 or float64.")
    if value.dtype not in FLOATS:
        value = value.astype(np.float64)
    check_finite(value, allow_missing)
    return Sparse(value) if scipy.sparse.issparse(value) else Array(np.ascontiguousarray(value))


def columns_to_array(frame: Any) -> Any:
    """Return a data frame as an array (n, d), of float32 if all columns are, else of float64 where they differ."""
    types = [str(kind).lower() for kind in frame.dtypes]
    if all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in frame.dtypes):
        return frame.to_numpy()
    dtype = np.float32 if set(types) == {"float32"} else np.float64
    X = np.empty(frame.shape, dtype)
    for position, name in enumerate(frame.columns):
        X[:, position] = column_to_array(frame.iloc[:, position], name, dtype)
    return X


def column_to_array(column: Any, name: Any, dtype: Any) -> Any:
    """Return a column of a data frame (n,), NaN where an entry is missing; raise a ValueError if it has no numbers."""
    from pandas.api.types import infer_dtype, is_complex_dtype, is_numeric_dtype

    kind = column.dtype
    # Categories may be numbers.
    own = getattr(getattr(kind, "categories", None), "dtype", kind)
    numeric = is_numeric_dtype(own) and not is_complex_dtype(own)
    if numeric or infer_dtype(column, skipna=True) in NUMBERS:
        return column.to_numpy(dtype=dtype, na_value=np.nan)
    raise ValueError(f"column {name!r} is of type {kind}; expected numbers. Leave it out, or encode it as numbers.")


def check_finite(value: Any, allow_missing: bool) -> None:
    """Raise a ValueError that names the first entry that is infinite, or NaN unless that is allowed."""
    entries = value.data if scipy.sparse.issparse(value) else value
    # A sum that is finite spares a second array of the size of the data.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(entries.sum()):
            return
    bad = np.isinf(entries) if allow_missing else ~np.isfinite(entries)
    if not bad.any():
        return
    if scipy.sparse.issparse(value):
        k = int(np.argmax(bad))
        row, column = int(np.searchsorted(value.indptr, k, side="right")) - 1, int(value.indices[k])
        found = entries[k]
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        found = value[row, column]
    raise ValueError(f"row {row}, column {column} is {found}. Fill or drop it: samples must be finite.")


def count_data(features: Any) -> int:
    """Return the bytes of the samples of a block."""
    X = features.X
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if isinstance(features, Sparse) else int(X.nbytes)


def check_summaries(summaries: Sequence[Summary]) -> None:
    """Raise a ValueError that names the first block that cannot be used, or is unlike the first one."""
    for each in summaries:
        if each.error:
            raise ValueError(each.error)
    kept = [each for each in summaries if each.n_samples]
    if not kept:
        raise ValueError("X has no samples: all of its blocks are empty.")
    first = kept[0]
    for each in kept[1:]:
        if each.n_features != first.n_features:
            raise ValueError(
                f"{each.name} has {each.n_features} features, but {first.name} has {first.n_features}; all blocks "
                "must have the same."
            )
        if each.dtype != first.dtype:
            raise ValueError(
                f"{each.name} is {each.dtype}, but {first.name} is {first.dtype}; convert one of them, so that all "
                "blocks are of one type."
            )
        if each.columns != first.columns:
            raise ValueError(f"{each.name} has other column names than {first.name}, or another order of them.")
