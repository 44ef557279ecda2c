"""Columns that only name the rows, such as numbers of persons: no distance can be learned from them."""

from __future__ import annotations

import re
import shlex
import warnings
from typing import Any

import numpy as np

from gramian.cli.screen import note

__all__ = ["looks_like_identifier", "point_out_identifiers"]

#: In fewer rows than this, values may all be different by chance.
LEAST_ROWS = 5
#: Integers of a column with chance values in so small a range would all be different with probability exp(-10).
CHANCE = 10
DATE = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*")


def point_out_identifiers(X: Any) -> None:
    """Write a note on each column of a DataFrame that looks like the numbers or the names of its rows."""
    for name in X.columns if hasattr(X, "columns") else []:
        if looks_like_identifier(X[name]):
            note(
                f"Column {str(name)!r} has a different value in every row, as numbers and names of rows have. A "
                "distance that is learned from such a column is worse on new rows. Leave it out by --drop "
                f"{shlex.quote(str(name))}"
            )


def looks_like_identifier(column: Any) -> bool:
    """Return True if the cells of a column are all different, and whole numbers in a row or texts.

    Whole numbers are in order, or so close together that values of a measurement would occur twice. Dates are none.
    """
    import pandas as pd

    n = len(column)
    if column.dtype == object and not all(isinstance(cell, str) for cell in column):
        return False
    if n < LEAST_ROWS or column.isna().any() or not column.is_unique:
        return False
    if pd.api.types.is_numeric_dtype(column):
        return not pd.api.types.is_bool_dtype(column) and are_numbers_of_rows(column.to_numpy(dtype=np.float64))
    is_text = column.dtype == object or isinstance(column.dtype, pd.StringDtype)
    return is_text and not are_dates(column)


def are_numbers_of_rows(values: Any) -> bool:
    """Return True if different numbers are whole, and in order or close together."""
    if not np.array_equal(values, np.round(values)):
        return False
    steps, n, span = np.diff(values), len(values), float(np.ptp(values))
    return bool((steps > 0).all() or (steps < 0).all() or span == n - 1 or n * n > 2 * CHANCE * span)


def are_dates(column: Any) -> bool:
    """Return True if the first texts of a column are dates, in any order of day, month and year."""
    import pandas as pd

    texts = [str(cell) for cell in column[:100]]
    if not all(DATE.match(text) for text in texts):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        read = [pd.to_datetime(texts, errors="coerce", format="mixed", dayfirst=first) for first in (False, True)]
    return any(bool(dates.notna().all()) for dates in read)
