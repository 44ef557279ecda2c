"""The files of a table: which they are, how their columns are stored, and their rows as batches of pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.atomic import expand_home

__all__ = [
    "Layout",
    "check_no_more_columns",
    "check_same_layout",
    "fill_widths",
    "find_files",
    "format_of",
    "is_list",
    "names_of",
    "parquet",
    "read_batches",
    "read_layout",
    "read_schema",
]

#: Endings of the names of files, and how they are read.
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}
#: The bytes of a CSV file that are read at a time.
CSV_BLOCK = 1 << 23
#: The rows that are read at a time to find the length of lists.
FIRST_ROWS = 64


class Layout(NamedTuple):
    """How the features are stored: the number of features in each column, the dtype, and the type of the target.

    The number is 0 for lists of no fixed length in a file that has none.
    """

    widths: list[int]
    dtype: np.dtype
    target: str


def find_files(path: Any) -> list[Path]:
    """Return the files of a table; raise an error if there are none, or one has another format."""
    paths = [expand_home(each) for each in ([path] if isinstance(path, str | os.PathLike) else path)]
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


def read_schema(file: Path, block_size: int | None = None) -> Any:
    """Return the names and types of the columns of a file; those of a CSV file are inferred from its first block.

    A column of a CSV file without entries in that block is one of numbers.
    """
    found = parquet()
    if format_of(file) == "parquet":
        with ErrorsNaming(file):
            return found.read_schema(file)
    import pyarrow
    import pyarrow.csv

    reading = pyarrow.csv.ReadOptions(block_size=block_size)
    with ErrorsNaming(file), pyarrow.csv.open_csv(file, reading, parse_options()) as reader:
        kinds = [pyarrow.float64() if pyarrow.types.is_null(kind) else kind for kind in reader.schema.types]
        return pyarrow.schema(zip(reader.schema.names, kinds, strict=True))


def parse_options() -> Any:
    """Return how the text of a CSV file is taken apart: a quoted cell may have several lines, in two blocks."""
    import pyarrow.csv

    return pyarrow.csv.ParseOptions(newlines_in_values=True)


def read_batches(file: Path, features: list[str], target: str | None, batch_rows: int) -> Iterator[Any]:
    """Yield record batches of the features and the target of a file, of a limited number of rows."""
    found, columns = parquet(), [*features, *([] if target is None else [target])]
    with ErrorsNaming(file):
        if format_of(file) == "parquet":
            # The pages of a memory-mapped file are no memory of this process. One thread is enough: decoding is quick.
            with found.ParquetFile(file, memory_map=True) as source:
                yield from source.iter_batches(batch_size=batch_rows, columns=columns, use_threads=False)
            return
        import pyarrow
        import pyarrow.csv

        # Integers in the first rows may be followed by other numbers; truth values stay what they are.
        schema = read_schema(file, CSV_BLOCK)
        kinds = {name: pyarrow.float64() for name in features if str(schema.field(name).type) != "bool"}
        whole = target is not None and pyarrow.types.is_integer(schema.field(target).type)
        if target is not None and whole:
            kinds[target] = pyarrow.string()
        options = pyarrow.csv.ConvertOptions(include_columns=columns, column_types=kinds, strings_can_be_null=whole)
        reading = pyarrow.csv.ReadOptions(block_size=CSV_BLOCK)
        with pyarrow.csv.open_csv(file, reading, parse_options(), options) as reader:
            for part in reader:
                part = with_numbers(part, len(features)) if whole else part
                yield from (part.slice(start, batch_rows) for start in range(0, part.num_rows, batch_rows))


def with_numbers(part: Any, position: int) -> Any:
    """Return a record batch whose column of texts at a position is one of numbers, of integers if all are whole."""
    import pyarrow
    from pyarrow import compute

    texts = compute.utf8_trim_whitespace(part.column(position))
    try:
        numbers = texts.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        try:
            numbers = texts.cast(pyarrow.float64())
        except pyarrow.ArrowInvalid as error:
            name = part.schema.names[position]
            raise pyarrow.ArrowInvalid(f"column {name!r} begins with numbers, but has others: {error}") from error
    columns = [numbers if index == position else column for index, column in enumerate(part.columns)]
    return pyarrow.RecordBatch.from_arrays(columns, names=part.schema.names)


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
    widths = [width_of(file, name, kind) for name, kind in zip(columns, kinds, strict=True)]
    text = "" if target is None else "text" if is_text(schema.field(target).type) else "number"
    return Layout(widths, np.dtype(np.float32 if single else np.float64), text)


def width_of(file: Path, name: str, kind: Any) -> int:
    """Return the number of features of a column; of lists of no fixed length, that of the first that is not empty."""
    if not is_list(kind):
        return 1
    if str(kind).startswith("fixed_size_list"):
        return kind.list_size
    for part in read_batches(file, [name], None, FIRST_ROWS):
        lengths = part.column(0).value_lengths().drop_null().to_numpy()
        if lengths.any():
            return int(lengths[lengths > 0][0])
    return 0


def fill_widths(layout: Layout, other: Layout) -> Layout:
    """Return a layout with the numbers of features that it lacks from another one."""
    pairs = zip(layout.widths, other.widths, strict=True)
    return layout._replace(widths=[own or width for own, width in pairs])


def check_no_more_columns(file: Path, names: Iterable[str], columns: Sequence[str], first: Path) -> None:
    """Raise a ValueError that names a column of a file that the first file of a table does not have."""
    known = set(columns)
    more = [name for name in names if name not in known]
    if more:
        raise ValueError(
            f"{file} has {len(more)} columns that {first} does not have, the first of them {more[0]!r}. Give all files "
            "the same columns, or name those to read by columns=."
        )


def check_same_layout(file: Path, layout: Layout, first: Layout, name: Path, any_dtype: bool) -> None:
    """Raise a ValueError that names a file whose columns are stored in another way than those of the first.

    Their dtypes may differ with `any_dtype`, or if one of the files is text.
    """
    any_dtype = any_dtype or "csv" in (format_of(file), format_of(name))
    for what, own, other in zip(Layout._fields, layout, first, strict=True):
        if own != other and not (what == "dtype" and any_dtype):
            more = ", or set dtype='float64'" if what == "dtype" else ""
            raise ValueError(f"{file} has {what} {own}, but {name} has {other}. Give tables of one kind{more}.")


def is_list(kind: Any) -> bool:
    """Return True for the types of lists, of one length or not."""
    return str(kind).startswith(("fixed_size_list", "list<", "large_list<"))


def is_number(kind: Any) -> bool:
    """Return True for the types of numbers, and of truth values."""
    return str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal"))


def is_text(kind: Any) -> bool:
    """Return True for the types of texts."""
    return str(kind).startswith(("string", "large_string", "utf8", "dictionary"))
