"""The dialect of a CSV file: what separates its cells, and what precedes the decimals of its numbers."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from gramian.cli.mistakes import Mistake

__all__ = ["Dialect", "dialect_of", "is_compressed"]

DELIMITERS = ",;\t|"
#: The bytes of a file that its dialect is found from, and the number of its rows that show the separator.
HEAD, FIRST_ROWS = 1 << 20, 20
DECIMAL = re.compile(r"\s*[+-]?\d+,\d+\s*")


class Dialect(NamedTuple):
    """The character that separates the cells of a CSV file, and the one before the decimals of its numbers."""

    delimiter: str
    decimal_point: str


def dialect_of(path: Path, encoding: str) -> Dialect:
    """Return the dialect of a CSV file, as its first rows show it.

    Where the separator is not a comma, and a cell is a number such as 2,5, decimals follow a comma.
    """
    text = read_head(path, encoding)
    if not re.split("[\r\n]", text, maxsplit=1)[0].strip():
        raise Mistake(f"{path} is empty, or begins with an empty line. Its first line should name the columns.")
    delimiter = max(DELIMITERS, key=lambda each: rate_delimiter(text, each))
    return Dialect(delimiter, "," if has_decimal_commas(read_rows(text, delimiter), delimiter) else ".")


def is_compressed(path: Path) -> bool:
    """Return True for files that are compressed by gzip, by their names."""
    return path.name.lower().endswith(".gz")


def read_head(path: Path, encoding: str) -> str:
    """Return the first lines of a file as text."""
    opened = gzip.open if is_compressed(path) else open
    try:
        with opened(path, "rb") as file:
            head = file.read(HEAD)
        text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    except LookupError as error:
        raise Mistake(f"--encoding {encoding} is not known. Give for example utf8, latin1 or cp1252.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Mistake(f"{path} is not compressed by gzip, or was cut while it was written: {error}.") from error
    # The last line may be cut.
    return text[: text.rfind("\n") + 1] or text if len(head) == HEAD else text


def read_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of a text, up to one that is too long to be read."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    while True:
        try:
            yield next(rows)
        except (StopIteration, csv.Error):
            return


def rate_delimiter(text: str, delimiter: str) -> tuple[bool, int, bool]:
    """Return how well a character separates cells; of two, the one with the larger tuple does.

    All first rows should have the same number of cells, two or more; then more cells are better, then decimal commas.
    """
    rows = [row for row in islice(read_rows(text, delimiter), FIRST_ROWS) if row]
    count = len(rows[0]) if rows else 0
    alike = count > 1 and all(len(row) == count for row in rows)
    return alike, count, has_decimal_commas(iter(rows), delimiter)


def has_decimal_commas(rows: Iterator[list[str]], delimiter: str) -> bool:
    """Return True if a cell below the first row is a number such as 2,5, and commas do not separate cells."""
    if delimiter == ",":
        return False
    return any("," in cell and DECIMAL.fullmatch(cell) for row in islice(rows, 1, None) for cell in row)
