"""Tables in Parquet and CSV files, read in batches of rows; larger than memory, if need be.

This needs pyarrow: `pip install gramian[tables]`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.checks import FLOATS, check_number
from gramian.types import Matrix, Vector

__all__ = ["Batch", "Table", "open_table"]

#: Endings of the names of files, and how they are read.
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}
#: So many rows are turned from columns into rows at a time: they stay in the cache.
TILE = 512
#: The bytes of a CSV file that are read at a time.
CSV_BLOCK = 1 << 23


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
    batch_rows: int = 65536,
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
        The columns of the features; all but the target by default. A column of lists of one length, as of embeddings,
        stands for as many features.
    batch_rows : int
        The largest number of rows in a batch.
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
    check_number("batch_rows", batch_rows, least=1, integer=True)
    if dtype is not None and np.dtype(dtype) not in FLOATS:
        raise ValueError(f"dtype={dtype!r} is not valid. Choose float32 or float64.")
    files = find_files(path)
    columns = list(names_of(read_schema(files[0]), files[0], target)) if columns is None else list(columns)
    layout = read_layout(files[0], columns, target)
    kind = np.dtype(layout.dtype if dtype is None else dtype)
    for file in files[1:]:
        check_same_layout(file, read_layout(file, columns, target), layout, files[0])
    return Table(files, columns, target, layout.widths, int(batch_rows), kind, bool(allow_missing))


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
                write_rows(X, [self.read_column(file, part, name) for name in self.columns])
                if not self.allow_missing:
                    self.check_finite(file, first_row, X)
                y = None if self.target is None else read_target(file, first_row, part, self.target)
                first_row += part.num_rows
                yield Batch(X, y)

    def read_column(self, file: Path, part: Any, name: str) -> Vector:
        """Return a column of a record batch as an array (n,), or (n, k) if it has lists of k numbers."""
        column = part.column(name)
        width = self.widths[self.columns.index(name)]
        if not is_list(column.type):
            return column.to_numpy(zero_copy_only=False).astype(self.dtype, copy=False)
        values = column.flatten().to_numpy(zero_copy_only=False)
        if len(values) != width * len(column):
            raise ValueError(f"{file}: column {name!r} has a missing list. Fill it, or drop its row.")
        return values.reshape(len(column), width).astype(self.dtype, copy=False)

    def check_finite(self, file: Path, first_row: int, X: Matrix) -> None:
        """Raise a ValueError that names the first entry that is missing, NaN or infinite."""
        finite = np.isfinite(X)
        if finite.all():
            return
        row, position = (int(index) for index in np.argwhere(~finite)[0])
        name = np.repeat(np.arange(len(self.columns)), self.widths)[position]
        raise ValueError(
            f"{file}: row {first_row + row}, counted from 0, has {X[row, position]} in column {self.columns[name]!r}. "
            "Fill or drop it, or set allow_missing=True where missing entries are allowed."
        )

    def to_npy(self, folder: Any) -> Batch:
        """Write X.npy, and y.npy if there is a target, into a folder; return them memory-mapped.

        A batch solver reads its data many times: from an .npy file that costs a fraction of the time that decoding a
        table takes. At no time is more than a batch in memory, and the targets.

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
        part, targets, start = Path(folder, "X.npy.part"), [], 0
        try:
            X = np.lib.format.open_memmap(part, "w+", self.dtype, (n, self.n_features))
            for batch in self:
                X[start : start + len(batch.X)] = batch.X
                start += len(batch.X)
                targets.append(batch.y)
            X.flush()
            os.replace(part, names[0])
        finally:
            part.unlink(missing_ok=True)
        y = None if self.target is None else np.concatenate([values for values in targets if values is not None])
        if y is not None:
            np.save(names[1], y)
        return Batch(np.load(names[0], mmap_mode="r"), y)


class Layout(NamedTuple):
    """How the features are stored: the number of features in each column, the dtype, and the type of the target."""

    widths: list[int]
    dtype: np.dtype
    target: str


def write_rows(X: Matrix, columns: list[Vector]) -> None:
    """Write columns (n,) and (n, k) side by side into X (n, d), some rows at a time."""
    for start in range(0, len(X), TILE):
        rows, position = slice(start, start + TILE), 0
        for column in columns:
            width = 1 if column.ndim == 1 else column.shape[1]
            X[rows, position : position + width] = column[rows].reshape(-1, width)
            position += width


def find_files(path: Any) -> list[Path]:
    """Return the files of a table; raise an error if there are none, or one has another format."""
    paths = [Path(each) for each in ([path] if isinstance(path, str | os.PathLike) else path)]
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0]
        paths = sorted(each for each in folder.iterdir() if each.is_file() and ending_of(each) in FORMATS)
        if not paths:
            raise FileNotFoundError(f"the folder {folder} has no files that end with {', '.join(FORMATS)}.")
    if not paths:
        raise ValueError(f"path={path!r} names no file.")
    for each in paths:
        if not each.is_file():
            raise FileNotFoundError(f"there is no file {each}.")
        format_of(each)
    return paths


def ending_of(file: Path) -> str:
    """Return the ending of the name of a file, in lower case; of a compressed one, the last two."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def format_of(file: Path) -> str:
    """Return "parquet" or "csv"; raise a ValueError for files of other names."""
    found = FORMATS.get(ending_of(file))
    if found is None:
        raise ValueError(f"{file} has an unknown ending. Tables end with {', '.join(FORMATS)}.")
    return found


def parquet() -> Any:
    """Return the module pyarrow.parquet; raise an ImportError that says how to install it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'gramian[tables]'.") from error
    return pyarrow.parquet


def read_schema(file: Path) -> Any:
    """Return the names and types of the columns of a file; those of a CSV file are inferred from its first rows."""
    found = parquet()
    if format_of(file) == "parquet":
        with ErrorsNaming(file):
            return found.read_schema(file)
    import pyarrow.csv

    with ErrorsNaming(file), pyarrow.csv.open_csv(file) as reader:
        return reader.schema


def read_batches(file: Path, features: list[str], target: str | None, batch_rows: int) -> Iterator[Any]:
    """Yield record batches of the features and the target of a file, of at most so many rows."""
    found, columns = parquet(), [*features, *([] if target is None else [target])]
    with ErrorsNaming(file):
        if format_of(file) == "parquet":
            # The pages of a memory-mapped file are no memory of this process.
            with found.ParquetFile(file, memory_map=True) as source:
                yield from source.iter_batches(batch_size=batch_rows, columns=columns)
            return
        import pyarrow
        import pyarrow.csv

        # Integers in the first rows may be followed by other numbers.
        kinds = {name: pyarrow.float64() for name in features}
        options = pyarrow.csv.ConvertOptions(include_columns=columns, column_types=kinds)
        reading = pyarrow.csv.ReadOptions(block_size=CSV_BLOCK)
        with pyarrow.csv.open_csv(file, read_options=reading, convert_options=options) as reader:
            for part in reader:
                yield from (part.slice(start, batch_rows) for start in range(0, part.num_rows, batch_rows))


class ErrorsNaming:
    """A context in which errors of pyarrow become ValueErrors that name a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        import pyarrow

        if isinstance(error, pyarrow.ArrowException) and not isinstance(error, MemoryError | KeyError):
            raise ValueError(f"{self.file} cannot be read: {error}") from error


def names_of(schema: Any, file: Path, target: str | None) -> list[str]:
    """Return the names of the columns but the target; raise a ValueError if there are none."""
    names = [name for name in schema.names if name != target]
    if not names:
        raise ValueError(f"{file} has no column but the target {target!r}.")
    return names


def read_layout(file: Path, columns: list[str], target: str | None) -> Layout:
    """Return how a file stores the columns; raise a ValueError that names one that is missing or has no numbers."""
    schema = read_schema(file)
    for name in [*columns, *([] if target is None else [target])]:
        if schema.get_field_index(name) < 0:
            raise ValueError(f"{file} has no column {name!r}, or several. Its columns are {', '.join(schema.names)}.")
    kinds = [schema.field(name).type for name in columns]
    for name, kind in zip(columns, kinds, strict=True):
        if not is_number(kind.value_type if is_list(kind) else kind):
            raise ValueError(
                f"{file}: column {name!r} is of type {kind}; expected numbers. Name the columns of the features by "
                "columns=[...]."
            )
    single = all(str(kind.value_type if is_list(kind) else kind) in ("float", "halffloat") for kind in kinds)
    widths = [kind.list_size if is_list(kind) else 1 for kind in kinds]
    text = "" if target is None else "text" if is_text(schema.field(target).type) else "number"
    return Layout(widths, np.dtype(np.float32 if single else np.float64), text)


def check_same_layout(file: Path, layout: Layout, first: Layout, name: Path) -> None:
    """Raise a ValueError that names a file whose columns are stored in another way than those of the first."""
    for what, own, other in zip(Layout._fields, layout, first, strict=True):
        if own != other and not (what == "dtype" and format_of(file) == "csv"):
            raise ValueError(f"{file} has {what} {own}, but {name} has {other}. Give tables of one kind.")


def is_list(kind: Any) -> bool:
    """Return True for the type of lists of one length."""
    return str(kind).startswith("fixed_size_list")


def is_number(kind: Any) -> bool:
    """Return True for the types of numbers, and of truth values."""
    return str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal"))


def is_text(kind: Any) -> bool:
    """Return True for the types of texts."""
    return str(kind).startswith(("string", "large_string", "utf8", "dictionary"))


def read_target(file: Path, first_row: int, part: Any, name: str) -> Vector:
    """Return the target column of a record batch; raise a ValueError that names a row without a target."""
    column = part.column(name)
    if column.null_count:
        row = first_row + column.is_null().to_pylist().index(True)
        raise ValueError(f"{file}: row {row}, counted from 0, has no target {name!r}. Fill or drop it.")
    if str(column.type).startswith("dictionary"):
        column = column.dictionary_decode()
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype == object else values
