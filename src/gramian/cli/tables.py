"""Samples and labels from files, whole or a random sample of the rows."""

from __future__ import annotations

import warnings
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.cli.arrays import load_arrays, load_svmlight
from gramian.cli.formats import column_names, index_names, kind_of, read_blocks
from gramian.cli.mistakes import Mistake
from gramian.cli.reading import Reading, Table
from gramian.cli.screen import note
from gramian.types import Vector

__all__ = ["Kept", "Sampler", "check_labels", "knows_labels", "load_table", "mend_columns", "parse_labels"]

#: A column of text in which at least this share of the cells are numbers is a column of numbers with a mistake.
MOSTLY = 0.9
#: The largest number of a column: columns are prepared as float32.
LARGEST = float(np.finfo(np.float32).max)
#: Numbers with decimals are classes if they have at most this number of values.
FEW_CLASSES = 10
#: From this number of whole numbers on, it is said that they are taken as classes.
MANY_CLASSES = 50
#: The type of columns of dates: it holds those of all years.
DAYS = "datetime64[s]"


def load_table(path: Path, reading: Reading) -> Table:
    """Return the samples and labels of a file of any kind; rows without a label are left out."""
    kind = kind_of(path)
    named = "--drop" if reading.drop else "--text" if reading.texts else None
    if named is not None and knows_labels(path):
        raise Mistake(f"{named} names columns, of which {path} has none. Leave it out.")
    if reading.target is not None and kind == "svmlight":
        raise Mistake(f"--target names a column, but the labels of {path} begin its lines. Leave it out.")
    if kind == "npz":
        table = load_arrays(path, reading)
    elif kind == "svmlight":
        table = load_svmlight(path, reading)
    else:
        table = load_frame(path, reading)
    if table.n_rows == 0:
        raise Mistake(f"{path} has a header and no rows. Add the data below the header.")
    return table if reading.keep_unlabelled else drop_unlabelled(path, table)


class Kept(NamedTuple):
    """Rows of a stream that are kept, None if there are none, and their numbers."""

    frame: Any
    rows: Vector


class Sampler:
    """Keeps a random sample of at most `size` rows of a stream, 0 for all rows, in their order."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.rng = size, np.random.default_rng(seed)
        self.parts: list[Any] = []
        self.numbers: list[Vector] = []
        self.keys: list[Vector] = []
        self.n_rows = 0

    def add(self, frame: Any, rows: Vector) -> None:
        """Add rows and their numbers; of more than twice `size`, those of the smallest random keys stay."""
        self.n_rows += len(frame)
        self.parts.append(frame)
        self.numbers.append(rows)
        self.keys.append(self.rng.random(len(frame)))
        if self.size and sum(map(len, self.parts)) > 2 * self.size:
            self._prune()

    def _prune(self) -> None:
        import pandas as pd

        keys, numbers = np.concatenate(self.keys), np.concatenate(self.numbers)
        frame = self.parts[0] if len(self.parts) == 1 else pd.concat(self.parts, ignore_index=True)
        if self.size and len(keys) > self.size:
            kept = np.sort(np.argpartition(keys, self.size - 1)[: self.size])
            frame, keys, numbers = frame.iloc[kept], keys[kept], numbers[kept]
        self.parts, self.keys, self.numbers = [frame], [keys], [numbers]

    def result(self) -> Kept:
        """Return the rows that are kept, and their numbers."""
        if not self.parts:
            return Kept(None, np.empty(0, int))
        self._prune()
        return Kept(self.parts[0].reset_index(drop=True), self.numbers[0])


def load_frame(path: Path, reading: Reading) -> Table:
    """Return the rows of a CSV or Parquet file as a DataFrame."""
    sampler, decimal_point = Sampler(reading.max_rows, reading.seed), "."
    target = reading.target
    own = [] if target is None else [target]
    columns, texts = columns_to_read(path, reading), [*reading.texts, *own]
    for block in read_blocks(path, columns=columns, texts=texts, encoding=reading.encoding, quiet=reading.quiet):
        sampler.add(block.frame, block.rows)
        decimal_point = block.decimal_point
    frame, rows = sampler.result()
    if frame is None or len(frame) == 0:
        return Table(None, None, rows, 0)
    labels = None if target is None else parse_labels(frame[target])
    frame = frame[reading.columns or [name for name in frame.columns if name != target]]
    if frame.shape[1] == 0:
        raise Mistake(f"{path} has no column besides {target!r}. Samples need at least one.")
    return Table(mend_columns(path, frame, rows, reading, decimal_point), labels, rows, sampler.n_rows)


def columns_to_read(path: Path, reading: Reading) -> list[str] | None:
    """Return the columns of samples and labels, None for all of the file; raise a Mistake if one is missing.

    An index of pandas names the rows: it is left out, unless an option names it.
    """
    own = [] if reading.target is None else [reading.target]
    if reading.columns is not None:
        return list(dict.fromkeys([*reading.columns, *own]))
    names = column_names(path, reading.encoding)
    missing = next((name for name in [*own, *reading.drop] if name not in names), None)
    if missing is not None:
        raise Mistake(f"{path} has no column {missing!r}. Its columns are: {', '.join(names[:30])}.")
    if reading.target in reading.drop:
        raise Mistake(f"--drop {reading.target} is the column of --target. Leave one of them out.")
    unnamed = {*index_names(path)} - {*own, *reading.texts}
    left_out = {*reading.drop, *unnamed}
    return [name for name in names if name not in left_out] if left_out else None


def mend_columns(path: Path, frame: Any, rows: Vector, reading: Reading, decimal_point: str = ".") -> Any:
    """Return a DataFrame whose columns of numbers and dates are such; raise a Mistake if one has cells of text.

    Columns that must be numbers may have none, others a few: those are mistakes too.
    """
    import pandas as pd

    for name in frame.columns:
        column = frame[name]
        is_text = column.dtype == object or isinstance(column.dtype, pd.StringDtype)
        if name not in reading.texts and is_text and not column.isna().all():
            frame[name] = mend_column(path, column, rows, reading, decimal_point)
    for name in frame.columns:
        check_range(path, name, frame[name], rows, needed=reading.columns is not None)
    return frame


def mend_column(path: Path, column: Any, rows: Vector, reading: Reading, decimal_point: str) -> Any:
    """Return a column of texts and objects as one of numbers or of dates, if it is; else as it came."""
    import pandas as pd

    name, known = column.name, column.dropna()
    if all(isinstance(cell, bool) for cell in known):
        # pandas has truth values with missing ones as objects.
        return column.astype("boolean").to_numpy(dtype=np.float64, na_value=np.nan)
    if all(type(cell) is date for cell in known):
        return np.array([None if gone else day for day, gone in zip(column, column.isna(), strict=True)], DAYS)
    if name in reading.dates:
        check_dates(path, name, known, rows[column.notna().to_numpy()])
        return column
    texts = column if decimal_point == "." else column.str.replace(decimal_point, ".", regex=False)
    numbers = pd.to_numeric(texts, errors="coerce")
    wrong = numbers.isna() & column.notna()
    if not wrong.any():
        return numbers
    if 1 - wrong.sum() / len(known) < MOSTLY and name not in reading.numbers:
        return column
    position = int(np.argmax(wrong.to_numpy()))
    raise Mistake(
        f"Column {name!r} of {path} holds numbers, but {column.iloc[position]!r} in line {int(rows[position]) + 2}. "
        f"Mend the cell (an empty one is missing), or read the column as text: --text {name}"
    )


def check_range(path: Path, name: str, column: Any, rows: Vector, *, needed: bool) -> None:
    """Raise a Mistake if a column of numbers has one that is infinite, or beyond the range of float32.

    A column that is `needed` by a model cannot be left out.
    """
    if column.dtype.kind != "f":
        return
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    beyond = np.abs(values) > LARGEST
    if beyond.any():
        first = int(np.argmax(beyond))
        advice = "." if needed else f", or leave the column out: --drop {name}"
        raise Mistake(
            f"Column {name!r} of {path} has {values[first]:g} in line {int(rows[first]) + 2}; numbers may have a size "
            f"of up to {LARGEST:.1e}. Mend the cell (an empty one is missing){advice}"
        )


def check_dates(path: Path, name: str, known: Any, rows: Vector) -> None:
    """Raise a Mistake unless all texts of a column are dates; `rows` are their numbers in the file."""
    import pandas as pd

    with warnings.catch_warnings():
        # Dates of several formats are slower to read, and still dates.
        warnings.simplefilter("ignore", UserWarning)
        wrong = pd.to_datetime(known, errors="coerce", format="mixed").isna().to_numpy()
    if wrong.any():
        first = int(np.argmax(wrong))
        raise Mistake(
            f"Column {name!r} of {path} holds dates, but {known.iloc[first]!r} in line {int(rows[first]) + 2}. Mend "
            "the cell; an empty one is missing."
        )


def parse_labels(column: Any) -> Vector:
    """Return labels as whole numbers, if all are and no two texts are one number; else as texts. None: it is missing.

    The texts 007 and 7 are two labels, and remain texts. So do numbers of more digits than an integer has.
    """
    import pandas as pd

    missing = column.isna().to_numpy()
    labels = np.array([None if gone else str(label) for label, gone in zip(column, missing, strict=True)], dtype=object)
    numbers = pd.to_numeric(column[~missing], errors="coerce")
    whole = len(numbers) and numbers.notna().all() and (numbers.abs() < 2**53).all() and (numbers % 1 == 0).all()
    if whole and numbers.nunique() == len(set(labels[~missing])):
        labels[~missing] = numbers.astype(np.int64).to_numpy()
    return labels


def drop_unlabelled(path: Path, table: Table) -> Table:
    """Return a table without the rows that have no label."""
    if table.y is None:
        return table
    known = np.array([label is not None for label in table.y])
    if known.all():
        return table._replace(y=plain_labels(table.y))
    if not known.any():
        raise Mistake(f"No row of {path} has a label. Check --target.")
    note(f"{np.count_nonzero(~known)} rows without a label are left out.")
    X = table.X[known].reset_index(drop=True) if hasattr(table.X, "iloc") else table.X[known]
    return table._replace(X=X, y=plain_labels(table.y[known]), rows=table.rows[known])


def plain_labels(labels: Vector) -> Vector:
    """Return labels as an array of whole numbers, or of texts."""
    if labels.dtype != object:
        return labels
    whole = all(isinstance(label, int | np.integer) for label in labels)
    return labels.astype(np.int64) if whole else labels.astype(str)


def check_labels(path: Path, y: Vector) -> None:
    """Raise a Mistake unless the labels are those of two or more classes, with samples that share one."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) == 1:
        raise Mistake(f"All rows of {path} have the label {classes[0]!s}. Two or more classes are needed.")
    decimal = len(classes) > FEW_CLASSES and has_decimals(classes)
    if decimal or counts.max() == 1 or (len(classes) > 100 and len(classes) > len(y) / 3):
        raise Mistake(
            f"The labels of {path} have {len(classes)} different values in {len(y)} rows: they are no classes. For "
            "numbers, use gramian.MetricLearner().fit_targets in Python."
        )
    if len(classes) > MANY_CLASSES and classes.dtype.kind in "iu":
        note(f"The labels have {len(classes)} different whole numbers. Each is taken as a class.")


def has_decimals(classes: Vector) -> bool:
    """Return True if labels are numbers, and some of them are not whole."""
    try:
        numbers = classes.astype(np.float64)
    except ValueError:
        return False
    return bool((numbers != np.round(numbers)).any())


def knows_labels(path: Path) -> bool:
    """Return True for kinds of files that hold labels without naming them."""
    return kind_of(path) in ("npz", "svmlight")
