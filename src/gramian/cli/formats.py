"""Files of tables: which kinds there are, and their rows in blocks."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.cli.dialects import dialect_of, is_compressed
from gramian.cli.mistakes import Mistake
from gramian.cli.screen import counting

__all__ = ["KINDS", "Block", "column_names", "index_names", "kind_of", "open_parquet", "plain_type", "read_blocks"]

KINDS = {
    "csv": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".svm.gz", ".svmlight.gz"),
}
BLOCK_BYTES, BLOCK_ROWS = 1 << 22, 1 << 16
#: Cells that stand for missing values, besides empty ones.
MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?"]


class Block(NamedTuple):
    """Consecutive rows of a file as a DataFrame, and the number of the first of them.

    `decimal_point` is the character before the decimals of numbers that were read as text.
    """

    frame: Any
    start: int
    decimal_point: str = "."

    @property
    def rows(self) -> Any:
        """The numbers of the rows in the file."""
        return np.arange(self.start, self.start + len(self.frame))


def kind_of(path: Path) -> str:
    """Return the kind of a file by its name; raise a Mistake if it is missing or of an unknown kind."""
    if not path.exists():
        raise Mistake(f"There is no file {path}. Check its name and the folder: {Path.cwd()}")
    if path.is_dir():
        raise Mistake(f"{path} is a folder. Give a file.")
    for kind, endings in KINDS.items():
        if path.name.lower().endswith(endings):
            return kind
    known = ", ".join(ending for endings in KINDS.values() for ending in endings if not ending.endswith(".gz"))
    raise Mistake(f"{path} is of an unknown kind. Its name should end with one of {known}.")


def column_names(path: Path, encoding: str = "utf8") -> list[str]:
    """Return the names of the columns of a CSV or Parquet file."""
    if kind_of(path) == "parquet":
        return open_parquet(path).schema_arrow.names
    with open_csv(path, encoding) as reader:
        return reader.schema.names


def index_names(path: Path) -> list[str]:
    """Return the names of the columns that are the index of a DataFrame of pandas; of a CSV file there are none."""
    if kind_of(path) != "parquet":
        return []
    metadata = open_parquet(path).schema_arrow.pandas_metadata or {}
    # A range is stored as a dict, not as a column.
    return [name for name in metadata.get("index_columns", []) if isinstance(name, str)]


def read_blocks(
    path: Path,
    *,
    columns: list[str] | None = None,
    texts: list[str] | None = None,
    encoding: str = "utf8",
    quiet: bool = False,
    as_written: bool = False,
) -> Iterator[Block]:
    """Yield the rows of a CSV or Parquet file in blocks, with a bar.

    Parameters
    ----------
    columns : list of str, optional
        The columns that are read; all by default.
    texts : list of str, optional
        Columns that are read as text, whatever is in them.
    as_written : bool
        Cells are to be copied: those of a CSV file are texts, of which empty ones alone are missing; columns of a
        Parquet file have their own types, by pandas' ArrowDtype.
    """
    kind = kind_of(path)
    names = column_names(path, encoding)
    check_names(path, names, [*(columns or []), *(texts or [])])
    if kind == "parquet":
        yield from parquet_blocks(path, columns, texts or [], quiet, as_written)
    elif as_written:
        yield from csv_blocks(path, columns, columns or names, encoding, quiet, [""])
    else:
        yield from csv_blocks(path, columns, texts or [], encoding, quiet, MISSING)


def check_names(path: Path, names: list[str], wanted: list[str] | None) -> None:
    """Raise a Mistake if a column occurs twice, or a column that is wanted is missing."""
    counts = Counter(names)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise Mistake(f"{path} has two columns of the name {twice!r}. Rename one of them.")
    missing = [name for name in wanted or [] if name not in counts]
    if missing:
        raise Mistake(f"{path} has no column {missing[0]!r}. Its columns are: {', '.join(map(str, names[:30]))}.")


def open_parquet(path: Path) -> Any:
    """Return an open Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise Mistake(f"{path} is not a Parquet file, or was cut while it was written: {error}.") from error


def parquet_blocks(
    path: Path, columns: list[str] | None, texts: list[str], quiet: bool, as_written: bool
) -> Iterator[Block]:
    """Yield the rows of a Parquet file in blocks."""
    file, start = open_parquet(path), 0
    with counting(f"reading {path.name}", file.metadata.num_rows, " rows", quiet=quiet) as bar:
        for batch in file.iter_batches(BLOCK_ROWS, columns=columns):
            yield Block(exact_frame(batch) if as_written else frame_to_learn(batch, texts), start)
            start += batch.num_rows
            bar.reach(start)


def exact_frame(batch: Any) -> Any:
    """Return the rows of a batch of pyarrow as a DataFrame that loses nothing, by pandas' ArrowDtype."""
    import pandas as pd
    import pyarrow as pa

    schema = pa.schema({field.name: plain_type(field.type) for field in batch.schema})
    return pa.Table.from_batches([batch]).cast(schema).to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)


def frame_to_learn(batch: Any, texts: list[str]) -> Any:
    """Return the rows of a batch of pyarrow as a DataFrame; columns in `texts`, and times of day, are texts."""
    import pyarrow as pa

    times = [field.name for field in batch.schema if pa.types.is_time(field.type)]
    for index, field in enumerate(batch.schema):
        if field.name in texts and pa.types.is_integer(plain_type(field.type)):
            # In pandas, whole numbers become floats where one is missing: 1 would be "1.0" in such blocks.
            cells = batch.column(index).cast(plain_type(field.type)).cast(pa.string())
            batch = batch.set_column(index, field.name, cells)
    # With pandas' own metadata some columns would be an index, and names of others integers.
    frame = batch.to_pandas(ignore_metadata=True)
    for name in {*texts, *times} & set(frame.columns):
        frame[name] = frame[name].astype(object).where(frame[name].isna(), frame[name].astype(str))
    return frame


def plain_type(kind: Any) -> Any:
    """Return the type of the values of an Arrow type: of a dictionary, those that it holds."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


@contextlib.contextmanager
def open_csv(
    path: Path,
    encoding: str,
    types: dict[str, Any] | None = None,
    columns: list[str] | None = None,
    missing: list[str] = MISSING,
) -> Any:
    """Return a context with a reader of blocks of a CSV file; `reader.raw.tell()` is the number of bytes read."""
    import pyarrow as pa
    from pyarrow import csv

    dialect = dialect_of(path, encoding)
    options = {
        "read_options": csv.ReadOptions(block_size=BLOCK_BYTES, encoding=encoding, use_threads=False),
        "parse_options": csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            null_values=missing,
            strings_can_be_null=True,
            decimal_point=dialect.decimal_point,
        ),
    }
    with pa.OSFile(str(path)) as raw:
        stream = pa.CompressedInputStream(raw, "gzip") if is_compressed(path) else raw
        try:
            yield Reader(csv.open_csv(stream, **options), raw, dialect.decimal_point)
        except pa.ArrowInvalid as error:
            raise explain_csv(path, str(error), encoding) from error
        except UnicodeError as error:
            raise Mistake(f"--encoding {encoding} does not fit {path}: {error}.") from error


class Reader(NamedTuple):
    """A reader of blocks, the file it reads from, and the character before the decimals of its numbers."""

    blocks: Any
    raw: Any
    decimal_point: str

    @property
    def schema(self) -> Any:
        """The names and types of the columns."""
        return self.blocks.schema


def csv_blocks(
    path: Path, columns: list[str] | None, texts: list[str], encoding: str, quiet: bool, missing: list[str]
) -> Iterator[Block]:
    """Yield the rows of a CSV file in blocks; the first block decides the types of the columns.

    Cells in `missing` stand for missing values.
    """
    import pyarrow as pa

    with open_csv(path, encoding) as reader:
        types = {field.name: type_of(field.type) for field in reader.schema}
    types |= dict.fromkeys(texts, pa.string())
    start = 0
    with (
        counting(f"reading {path.name}", path.stat().st_size, "B", quiet=quiet) as bar,
        open_csv(path, encoding, types, columns, missing) as reader,
    ):
        for batch in reader.blocks:
            yield Block(batch.to_pandas(), start, reader.decimal_point)
            start += batch.num_rows
            bar.reach(reader.raw.tell())


def type_of(found: Any) -> Any:
    """Return the type of a column whose first block has some type: whole numbers may be followed by others.

    Times of day stay texts, as they are read for a model: else 08:15 and 08:15:00 would be one at the fit, two later.
    """
    import pyarrow as pa

    if pa.types.is_integer(found) or pa.types.is_floating(found):
        return pa.float64()
    return pa.string() if pa.types.is_null(found) or pa.types.is_time(found) else found


def explain_csv(path: Path, text: str, encoding: str) -> Mistake:
    """Return the mistake behind an error of the reader of CSV files."""
    if "invalid UTF8" in text or "UTF" in text:
        return Mistake(f"{path} is not UTF-8 text. Name its encoding, for example: --encoding latin1")
    if "Empty CSV" in text:
        return Mistake(f"{path} has no rows. Its first line should name the columns, the others hold the data.")
    if "straddling" in text:
        return Mistake(f'A quoted cell of {path} does not end, or a row exceeds 4 MB. Close cells by a second ".')
    cells = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text)
    if cells:
        return Mistake(
            f"Line {cells[1]} of {path} has {cells[3]} cells; expected {cells[2]}, as in the first line. Mend it, or "
            "quote cells that contain the separator."
        )
    value = re.search(r"column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+).*?: invalid value '(.*?)'", text)
    if value:
        with contextlib.suppress(Mistake, IndexError):
            # The number is that of the column in the file, also if only some are read.
            name = column_names(path, encoding)[int(value[1])]
            line = f" in line {value[2]}" if value[2] else ""
            return Mistake(
                f"Column {name!r} of {path} holds {value[4]!r}{line}, but its first rows have the type {value[3]}. "
                f"Mend the cell, or read the column as text: --text {name}"
            )
    return Mistake(f"{path} cannot be read as CSV: {text}")
