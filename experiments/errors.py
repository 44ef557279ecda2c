"""Errors of methods in the records of the experiments on distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.experiment import Records

__all__ = ["datasets_of", "mean", "spread", "values"]


def datasets_of(records: Records) -> list[str]:
    """The data sets, in their order."""
    return list(dict.fromkeys(row["dataset"] for row in records))


def values(records: Records, **wanted: Any) -> list[float]:
    """The errors of the rows with some entries, one for each partition or draw."""
    return [
        row["error"]
        for row in records
        if "error" in row and all(row.get(name) == value for name, value in wanted.items())
    ]


def mean(records: Records, **wanted: Any) -> float:
    """Their mean, NaN where there are none."""
    found = values(records, **wanted)
    return float(np.mean(found)) if found else float("nan")


def spread(records: Records, **wanted: Any) -> float:
    """Their standard deviation, 0 for a single one."""
    found = values(records, **wanted)
    return float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
