"""A table: batches of its rows as arrays, and its rows as a memory-mapped array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.checks import FLOATS, check_number
from gramian.tables.files import (
    check_no_more_columns,
    check_same_layout,
    fill_widths,
    find_files,
    format_of,
    is_list,
    names_of,
    parquet,
    read_batches,
    read_layout,
    read_schema,
)
from gramian.tables.parts import Parts
from gramian.types import Matrix, Vector

__all__ = ["Batch", "Table", "open_table"]

#: The bytes and the rows of a batch, by default.
BATCH, MOST_ROWS = 1 << 24, 1 << 16
#: The number of rows that are turned from columns into rows at a time: they stay in the cache.
TILE = 4096


class Batch(NamedTuple):
    """Consecutive rows of a table: features (n, d), and targets (n,) if the table has a target column, else None.

    Examples
    --------
    >>> from gramian.tables import Batch
    >>> Batch._fields
    ('X', 'y')
    """

    X: Matrix
    y: Vector | None


def open_table(
    path: Any,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int | None = None,
    dtype: Any = None,
    allow_missing: bool = False,
) -> Table:
    """Return a table in Parquet or CSV files. No rows are read yet.

    Parameters
    ----------
    path : path, or list of paths
        A file, a folder, whose Parquet and CSV files are read in the order of their names, or several files.
    target : str, optional
        The column of the targets or class labels.
    columns : sequence of str, optional
        The columns of the features; all but the target by default. A column of lists, as of embeddings, stands for as
        many features as each list has numbers; all must have the same number.
    batch_rows : int, optional
        The largest number of rows in a batch; by default as many as 16 MB hold, and at most 65536.
    dtype : dtype, optional
        float32 or float64; by default float32 if all features are stored so, else float64.
    allow_missing : bool
        True leaves missing entries as NaN; False raises a ValueError that names the file, the row and the column.

    Returns
    -------
    Table

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gramian.tables import open_table
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "data.csv").write_text("a,b,label\\n1,2,0\\n3,4,1\\n5,6,0\\n")
    ...     table = open_table(Path(folder, "data.csv"), target="label", batch_rows=2)
    ...     for X, y in table:
    ...         print(X.tolist(), y.tolist())
    [[1.0, 2.0], [3.0, 4.0]] [0, 1]
    [[5.0, 6.0]] [0]
    """
    if batch_rows is not None:
        check_number("batch_rows", batch_rows, least=1, integer=True)
    if dtype is not None and np.dtype(dtype) not in FLOATS:
        raise ValueError(f"dtype={dtype!r} is not valid. Choose float32 or float64.")
    if columns is not None:
        check_columns(columns, target)
    files = find_files(path)
    given = columns is not None
    columns = list(columns) if columns is not None else list(names_of(read_schema(files[0]), files[0], target))
    layout = read_layout(files[0], columns, target)
    kind = np.dtype(layout.dtype if dtype is None else dtype)
    for file in files[1:]:
        if not given:
            check_no_more_columns(file, names_of(read_schema(file), file, target), columns, files[0])
        own = read_layout(file, columns, target)
        layout = fill_widths(layout, own)
        check_same_layout(file, fill_widths(own, layout), layout, files[0], any_dtype=dtype is not None)
        kind = np.promote_types(kind, own.dtype) if dtype is None else kind
    if batch_rows is None:
        batch_rows = min(MOST_ROWS, max(1, BATCH // (kind.itemsize * max(1, sum(layout.widths)))))
    return Table(files, columns, target, layout.widths, int(batch_rows), kind, bool(allow_missing))


def check_columns(columns: Sequence[str], target: str | None) -> None:
    """Raise a ValueError unless the columns to read are one or more names, each given once, without the target."""
    if isinstance(columns, str) or not len(columns):
        raise ValueError(f"columns={columns!r} is not valid. Give a list of at least one name.")
    counts = Counter(columns)
    twice = next((name for name, count in counts.items() if count > 1 or name == target), None)
    if twice is not None:
        why = "the target" if twice == target else "named twice"
        raise ValueError(f"columns has {twice!r}, which is {why}. Leave it out.")


class Table:
    """A table in files, which is iterated over in batches, as often as wanted.

    The next batch is read while the last one is worked on. `open_table` makes one.

    Attributes
    ----------
    files : list of Path
    columns : list of str
        The columns of the features.
    target : str or None
    n_features : int
    dtype : dtype

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gramian.tables import Table, open_table
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "data.csv").write_text("a,b\\n1,2\\n3,4\\n")
    ...     table: Table = open_table(folder)
    ...     X, _ = table.to_npy(folder)
    ...     table.n_features, table.n_rows, X.tolist()
    (2, None, [[1.0, 2.0], [3.0, 4.0]])
    """

    def __init__(
        self,
        files: list[Path],
        columns: list[str],
        target: str | None,
        widths: list[int],
        batch_rows: int,
        dtype: np.dtype,
        allow_missing: bool,
    ) -> None:
        self.files, self.columns, self.target, self.widths = files, columns, target, widths
        self.batch_rows, self.dtype, self.allow_missing = batch_rows, dtype, allow_missing

    def __repr__(self) -> str:
        """Return the file, or the number of files, the number of features and the target."""
        place = repr(str(self.files[0])) if len(self.files) == 1 else f"{len(self.files)} files"
        target = "no target" if self.target is None else f"target {self.target!r}"
        return f"<Table: {place}, {self.n_features} features, {target}>"

    @property
    def n_features(self) -> int:
        """The number of features."""
        return sum(self.widths)

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None for CSV files, which do not tell."""
        if any(format_of(file) == "csv" for file in self.files):
            return None
        return sum(parquet().ParquetFile(file).metadata.num_rows for file in self.files)

    def __iter__(self) -> Iterator[Batch]:
        """Return an iterator over the batches; another thread reads one batch ahead."""
        batches = self.read()
        with ThreadPoolExecutor(1, thread_name_prefix="gramian-table") as pool:
            future = pool.submit(next, batches, None)
            while (batch := future.result()) is not None:
                future = pool.submit(next, batches, None)
                yield batch

    def read(self) -> Iterator[Batch]:
        """Yield the batches, each read when it is asked for."""
        for file in self.files:
            first_row = 0
            for part in read_batches(file, self.columns, self.target, self.batch_rows):
                X = np.empty((part.num_rows, self.n_features), self.dtype)
                write_rows(X, self.read_columns(file, first_row, part))
                if not self.allow_missing:
                    self.check_finite(file, first_row, X)
                y = None if self.target is None else read_target(file, first_row, part, self.target)
                first_row += part.num_rows
                yield Batch(X, y)

    def read_columns(self, file: Path, first_row: int, part: Any) -> list[Vector]:
        """Return the columns of a record batch as arrays (n,), or (n, k) of those that have lists of k numbers."""
        found = []
        # Types are few: to tell of each column whether it has lists takes longer than to read it.
        listed = {kind: is_list(kind) for kind in set(part.schema.types)}
        for name, width in zip(self.columns, self.widths, strict=True):
            column = part.column(name)
            if listed[column.type]:
                check_lists(file, first_row, column, name, width)
                values = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), width)
            else:
                values = column.to_numpy(zero_copy_only=False)
            # A number beyond the range becomes infinite, and is told as such.
            with np.errstate(over="ignore"):
                found.append(values.astype(self.dtype, copy=False))
        return found

    def check_finite(self, file: Path, first_row: int, X: Matrix) -> None:
        """Raise a ValueError that names the first entry that is missing, NaN or infinite."""
        finite = np.isfinite(X)
        if finite.all():
            return
        row, position = (int(index) for index in np.argwhere(~finite)[0])
        name = np.repeat(np.arange(len(self.columns)), self.widths)[position]
        if np.isinf(X[row, position]):
            raise ValueError(
                f"{file}: row {first_row + row}, counted from 0, has a number that is infinite, or beyond the range of "
                f"{X.dtype}, in column {self.columns[name]!r}. Mend it, or drop the row."
            )
        raise ValueError(
            f"{file}: row {first_row + row}, counted from 0, has {X[row, position]} in column {self.columns[name]!r}. "
            "Fill or drop it, or set allow_missing=True where missing entries are allowed."
        )

    def to_npy(self, folder: Any) -> Batch:
        """Write X.npy, and y.npy if there is a target, into a folder; return them memory-mapped.

        A batch solver reads its data many times: from an .npy file that costs a fraction of the time that decoding a
        table takes. At no time is more than a batch in memory, and the targets. If the disk is full, an OSError says
        how many bytes are needed; a copy that fails leaves nothing behind.

        Parameters
        ----------
        folder : path
            An existing folder. Files of these names in it are not overwritten, but refused.

        Returns
        -------
        Batch
            X (n, d) is memory-mapped; y (n,) is in memory, None without a target.
        """
        names = [Path(folder, "X.npy"), *([] if self.target is None else [Path(folder, "y.npy")])]
        for name in names:
            if name.exists():
                raise FileExistsError(f"{name} exists already. Remove it, or choose another folder.")
        n = self.n_rows if self.n_rows is not None else sum(len(batch.X) for batch in self)
        if not n:
            raise ValueError(f"{self.files[0]}: the table has no rows.")
        targets: list[Vector] = []
        with Parts(Path(folder)) as parts:
            parts.write("X.npy", self.dtype, (n, self.n_features), self._rows_of(targets))
            y = np.concatenate(targets) if targets else None
            if y is not None:
                parts.write("y.npy", y.dtype, y.shape, [y])
            # Samples without their targets would be of no use: the targets are put in place first.
            parts.put_in_place(["X.npy"] if y is None else ["y.npy", "X.npy"])
        return Batch(np.load(names[0], mmap_mode="r"), y)

    def _rows_of(self, targets: list[Vector]) -> Iterator[Matrix]:
        """Yield the features of the batches, and append their targets to a list."""
        for batch in self:
            if batch.y is not None:
                targets.append(batch.y)
            yield batch.X


def write_rows(X: Matrix, columns: list[Vector]) -> None:
    """Write columns (n,) and (n, k) side by side into X (n, d), some rows at a time."""
    for start in range(0, len(X), TILE):
        rows, position = slice(start, start + TILE), 0
        for column in columns:
            if column.ndim == 1:
                X[rows, position] = column[rows]
                position += 1
            else:
                X[rows, position : position + column.shape[1]] = column[rows]
                position += column.shape[1]


def check_lists(file: Path, first_row: int, column: Any, name: str, width: int) -> None:
    """Raise a ValueError that names the first row of a column that has no list, or one of another length."""
    if column.null_count:
        row = first_row + column.is_null().to_pylist().index(True)
        raise ValueError(f"{file}: row {row}, counted from 0, has no list in column {name!r}. Fill or drop it.")
    lengths = column.value_lengths().to_numpy()
    if (lengths != width).any():
        bad = int(np.argmax(lengths != width))
        raise ValueError(
            f"{file}: row {first_row + bad}, counted from 0, has a list of {lengths[bad]} numbers in column {name!r}, "
            f"where others have {width}. All lists of a column must have one length."
        )


def read_target(file: Path, first_row: int, part: Any, name: str) -> Vector:
    """Return the target column of a record batch; raise a ValueError that names a row without a target."""
    column = part.column(name)
    if column.null_count:
        row = first_row + column.is_null().to_pylist().index(True)
        raise ValueError(f"{file}: row {row}, counted from 0, has no target {name!r}. Fill or drop it.")
    if str(column.type).startswith("dictionary"):
        column = column.dictionary_decode()
    if str(column.type).startswith("decimal"):
        column = column.cast("float64")
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        row = first_row + bad
        raise ValueError(f"{file}: row {row}, counted from 0, has the target {values[bad]}. Fill or drop it.")
    if values.dtype != object:
        return values
    values = values.astype(str)
    # An empty cell of a CSV file is an empty text.
    if (values == "").any():
        row = first_row + int(np.argmax(values == ""))
        raise ValueError(f"{file}: row {row}, counted from 0, has no target {name!r}. Fill or drop it.")
    return values
