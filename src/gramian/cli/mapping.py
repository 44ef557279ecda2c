"""`gramian transform` and `gramian neighbours`: new rows in a learned distance."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.cli.formats import kind_of, open_parquet, plain_type, read_blocks
from gramian.cli.mistakes import Mistake, check_folder
from gramian.cli.models import load_model, reading_of, report_unseen
from gramian.cli.reading import Reading
from gramian.cli.screen import print_table, say
from gramian.cli.tables import load_table, mend_columns
from gramian.types import Matrix, Vector

__all__ = ["OUTPUTS", "find_neighbours", "map_file"]

OUTPUTS = (".csv", ".parquet", ".npz")
#: The largest number of queries that are shown as a table; more need a file.
MOST_SHOWN = 20


def map_file(model_path: Path, path: Path, out: Path, keep: list[str], reading: Reading) -> int:
    """Write the rows of a file in the learned distance, and return their number."""
    if out.suffix not in OUTPUTS:
        raise Mistake(f"--out {out} is of an unknown kind. Its name should end with one of {', '.join(OUTPUTS)}.")
    taken = next((name for name in keep if re.fullmatch(r"z\d+|Z|file", name)), None)
    if taken is not None:
        raise Mistake(f"--keep {taken} has the name of a column that is written. Rename it in {path}.")
    check_folder(out, model_path, path)
    model, keep = load_model(model_path), list(dict.fromkeys(keep))
    reading = reading_of(model, path, reading)
    types = kept_types(path, keep)
    with replaced_at_the_end(out) as part, open_writer(part, out.suffix, types) as writer:
        for mapped in map_blocks(model, path, keep, reading):
            writer.write(name_columns(mapped))
    say(f"{writer.n_rows:,} rows, {writer.n_columns} columns: {out}")
    return writer.n_rows


def kept_types(path: Path, keep: list[str]) -> dict[str, Any]:
    """Return the Arrow types of columns that are copied: those of a Parquet file, else texts."""
    import pyarrow as pa

    if kind_of(path) != "parquet":
        return dict.fromkeys(keep, pa.string())
    schema = open_parquet(path).schema_arrow
    return {each.name: plain_type(each.type) for each in schema if each.name in keep}


class Mapped(NamedTuple):
    """Rows in the learned distance, (n, r), and a DataFrame of columns that are kept, or None."""

    Z: Matrix
    kept: Any


def map_blocks(model: Any, path: Path, keep: list[str], reading: Reading) -> Iterator[Mapped]:
    """Yield the rows of a file in the learned distance, some at a time."""
    if kind_of(path) in ("npz", "svmlight"):
        if keep:
            raise Mistake(f"--keep copies columns, of which {path} has none. Leave it out.")
        table = load_table(path, replace(reading, keep_unlabelled=True))
        yield Mapped(model.transform(check_width(model, path, table.X)), None)
        return
    assert reading.columns is not None
    cells, told = Cells(path, keep, reading), set[str]()
    for block in read_blocks(path, columns=reading.columns, texts=reading.texts, encoding=reading.encoding):
        frame = mend_columns(path, block.frame[reading.columns].copy(), block.rows, reading, block.decimal_point)
        report_unseen(model, frame, told)
        yield Mapped(model.transform(frame), cells.take(len(frame)) if keep else None)


class Cells:
    """Columns of a file as they are written, though a model reads them as numbers or dates, and NA as missing.

    The file is read a second time, beside the first. Without columns nothing is read.
    """

    def __init__(self, path: Path, columns: list[str], reading: Reading) -> None:
        self._held = list[Any]()
        options = {"columns": columns, "encoding": reading.encoding, "quiet": True, "as_written": True}
        self._blocks = read_blocks(path, **options) if columns else iter(())  # type: ignore[arg-type]

    def take(self, n_rows: int) -> Any:
        """Return the next rows of the file, a DataFrame with these columns."""
        import pandas as pd

        while sum(map(len, self._held)) < n_rows:
            self._held.append(next(self._blocks).frame)
        held = pd.concat(self._held, ignore_index=True)
        self._held = [held.iloc[n_rows:]]
        return held.iloc[:n_rows]


def check_width(model: Any, path: Path, X: Any) -> Any:
    """Return samples; raise a Mistake unless they have as many features as the model has learned from."""
    wanted = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] > wanted or (X.shape[1] < wanted and isinstance(X, np.ndarray)):
        raise Mistake(f"{path} has {X.shape[1]} features; the model has learned from {wanted}.")
    if X.shape[1] < wanted:
        # The last columns of a sparse file may be empty.
        X = X.copy()
        X.resize((X.shape[0], wanted))
    return X


def name_columns(mapped: Mapped) -> Any:
    """Return a DataFrame: the columns that are kept, then z1, z2, ..."""
    import pandas as pd

    frame = pd.DataFrame(np.asarray(mapped.Z), columns=[f"z{index + 1}" for index in range(mapped.Z.shape[1])])
    return frame if mapped.kept is None else pd.concat([mapped.kept.reset_index(drop=True), frame], axis=1)


@contextlib.contextmanager
def replaced_at_the_end(out: Path) -> Iterator[Path]:
    """Return a context with a temporary file, which takes the place of `out` at its end; nothing stays on failure."""
    handle, part = tempfile.mkstemp(dir=Path(os.path.realpath(out)).parent, prefix=f".{out.name}.", suffix=".part")
    os.close(handle)
    try:
        yield Path(part)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, out.stat().st_mode & 0o777 if out.exists() else 0o666 & ~mask)
        os.replace(part, os.path.realpath(out))
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


class Writer:
    """Writes DataFrames, one after the other, to a CSV, Parquet or NPZ file.

    `types` are the Arrow types of columns that the first DataFrame does not tell: all of its cells may be missing.
    """

    def __init__(self, path: Path, suffix: str, types: dict[str, Any]) -> None:
        self.path, self.suffix, self.types = path, suffix, types
        self.n_rows = self.n_columns = 0
        self._file: Any = None
        self._held: list[Any] = []

    def write(self, frame: Any) -> None:
        """Write the rows of a DataFrame."""
        import pyarrow as pa
        from pyarrow import csv
        from pyarrow import parquet as pq

        self.n_rows, self.n_columns = self.n_rows + len(frame), frame.shape[1]
        if self.suffix == ".npz":
            self._held.append(frame)
            return
        types = {name: self.types.get(name) or pa.from_numpy_dtype(frame[name].dtype) for name in frame.columns}
        table = pa.Table.from_pandas(frame, schema=pa.schema(types), preserve_index=False)
        if self._file is None:
            open_file = pq.ParquetWriter if self.suffix == ".parquet" else csv.CSVWriter
            self._file = open_file(str(self.path), table.schema)
        self._file.write_table(table)

    def close(self) -> None:
        """End the file."""
        if self._held:
            import pandas as pd

            frame = pd.concat(self._held, ignore_index=True)
            own = [name for name in frame.columns if str(name)[0] == "z" and str(name)[1:].isdigit()]
            others = {str(name): plain_cells(column) for name, column in frame.drop(columns=own).items()}
            with open(self.path, "wb") as file:
                np.savez(file, Z=frame[own].to_numpy(), **others)
        if self._file is not None:
            self._file.close()


def plain_cells(column: Any) -> Any:
    """Return a column of a DataFrame as numbers, dates or texts, (n,); a text that is missing is empty.

    Whole numbers of which some are missing become floats, or texts where floats would lose digits.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.ArrowDtype):
        whole = pa.types.is_integer(column.dtype.pyarrow_dtype) and column.isna().any()
        loses = whole and not column.dropna().between(-(2**53), 2**53).all()
        column = column.astype(object) if loses else pa.array(column).to_pandas()
    cells = column.to_numpy()
    return np.where(column.isna(), "", cells).astype(str) if cells.dtype == object else cells


@contextlib.contextmanager
def open_writer(path: Path, suffix: str, types: dict[str, Any]) -> Iterator[Writer]:
    """Return a context with a writer of rows."""
    writer = Writer(path, suffix, types)
    try:
        yield writer
    finally:
        writer.close()
    if writer.n_rows == 0:
        raise Mistake("The file has no rows: there is nothing to map.")


class Found(NamedTuple):
    """Row numbers of queries (m,), of their nearest rows (m, k), and the distances (m, k)."""

    queries: Vector
    rows: Matrix
    distances: Matrix


def find_neighbours(
    model_path: Path, path: Path, queries: Path | None, rows: list[int], count: int, out: Path | None, reading: Reading
) -> Found:
    """Show or write the nearest rows of a file for queries: rows of another file, or of the same one."""
    from sklearn.neighbors import NearestNeighbors

    if out is not None:
        if out.suffix != ".csv":
            raise Mistake(f"--out {out}: neighbours are written as CSV. Its name should end with .csv.")
        check_folder(out, model_path, path, queries)
    model = load_model(model_path)
    Z = map_all(model, path, reading)
    asked = Z if queries is None else map_all(model, queries, reading)
    wrong = next((row for row in rows if not 0 <= row < len(asked)), None)
    if wrong is not None:
        raise Mistake(f"--row {wrong} is not a row of {queries or path}: its rows are 0 to {len(asked) - 1}.")
    chosen = np.array(rows, dtype=int) if rows else np.arange(len(asked))
    own = queries is None
    if count < 1 or count > len(Z) - own:
        raise Mistake(f"--count {count} is not possible: {path} has {len(Z)} rows. Choose 1 to {len(Z) - own}.")
    if out is None and len(chosen) > MOST_SHOWN:
        raise Mistake(f"{len(chosen):,} queries are too many to show. Give some by --row, or write all: --out near.csv")
    found = search(NearestNeighbors(n_neighbors=count + own).fit(Z), asked[chosen], chosen, own, count)
    if out is None:
        show_neighbours(found)
    else:
        write_neighbours(found, out)
        say(f"{len(chosen):,} queries, {count} neighbours each: {out}")
    return found


def map_all(model: Any, path: Path, reading: Reading) -> Matrix:
    """Return all rows of a file in the learned distance."""
    return np.vstack([mapped.Z for mapped in map_blocks(model, path, [], reading_of(model, path, reading))])


def search(index: Any, Z: Matrix, chosen: Vector, own: bool, count: int) -> Found:
    """Return the nearest rows; a query that is itself a row is not its own neighbour."""
    distances, rows = index.kneighbors(Z)
    if own:
        # The query itself may not be the first, where rows are equal.
        others = rows != chosen[:, None]
        others[others.all(axis=1), -1] = False
        rows, distances = rows[others].reshape(-1, count), distances[others].reshape(-1, count)
    return Found(chosen, rows, distances)


def show_neighbours(found: Found) -> None:
    """Show the nearest rows as a table."""
    columns = ["query", *[f"{index + 1}." for index in range(found.rows.shape[1])]]
    lines = [
        [str(query), *[f"{row} ({distance:.3g})" for row, distance in zip(near, far, strict=True)]]
        for query, near, far in zip(found.queries, found.rows, found.distances, strict=True)
    ]
    print_table(columns, lines, "Nearest rows, with their distances")


def write_neighbours(found: Found, out: Path) -> None:
    """Write a line for each query and neighbour: query, rank, row, distance."""
    import pandas as pd

    m, k = found.rows.shape
    frame = pd.DataFrame(
        {
            "query": np.repeat(found.queries, k),
            "rank": np.tile(np.arange(1, k + 1), m),
            "row": found.rows.ravel(),
            "distance": found.distances.ravel(),
        }
    )
    with replaced_at_the_end(out) as part:
        frame.to_csv(part, index=False)
