"""Errors of methods in the records of the experiments on distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.experiment import Records
from harness.frames import select_rows

__all__ = ["dataset_names", "error_spread", "error_values", "mean_error"]


def dataset_names(records: Records) -> list[str]:
    """Return the names of the data sets, in the order of the records."""
    return list(dict.fromkeys(row["dataset"] for row in records))


def error_values(records: Records, **entries: Any) -> list[float]:
    """Return the errors of the rows that have these entries, one per partition or draw."""
    return [row["error"] for row in select_rows(records, **entries) if "error" in row]


def mean_error(records: Records, **entries: Any) -> float:
    """Return the mean error of the rows that have these entries; NaN where there is none."""
    errors = error_values(records, **entries)
    return float(np.mean(errors)) if errors else float("nan")


def error_spread(records: Records, **entries: Any) -> float:
    """Return the standard deviation of the errors of the rows that have these entries; 0 for a single row."""
    errors = error_values(records, **entries)
    return float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
