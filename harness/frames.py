"""Records, a list of dicts: rows selected by their entries, and pandas DataFrames of them."""

from __future__ import annotations

from typing import Any

import pandas as pd

__all__ = ["Records", "select_frame", "select_rows", "unique_values"]

Records = list[dict[str, Any]]


def select_rows(records: Records, **entries: Any) -> Records:
    """Return the rows that have these entries."""
    return [row for row in records if all(row.get(name) == value for name, value in entries.items())]


def select_frame(records: Records, **entries: Any) -> pd.DataFrame:
    """Return the rows that have these entries as a DataFrame; None in a numeric column becomes NaN."""
    return pd.DataFrame(select_rows(records, **entries))


def unique_values(records: Records, column: str, **entries: Any) -> list[Any]:
    """Return the different values of a column among the rows that have these entries, ascending."""
    return sorted({row[column] for row in select_rows(records, **entries)})
