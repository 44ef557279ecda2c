"""How a file is read, and the table that comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gramian.types import Vector

__all__ = ["Reading", "Table"]


class Table(NamedTuple):
    """Samples, their labels or None, the numbers of their rows in the file, and how many rows the file has.

    `zero_based` is True if the columns of a file in the format of svmlight count from 0, False if from 1.
    """

    X: Any
    y: Vector | None
    rows: Vector
    n_rows: int
    zero_based: bool | None = None


@dataclass(frozen=True)
class Reading:
    """How a file is read.

    `target` is the column of labels, None for none; `columns` are the columns of samples, None for all others but those
    in `drop`; `texts` are columns that are read as text, `numbers` and `dates` columns that must be such; `max_rows` is
    the number of random rows that are kept, 0 for all. Rows without a label are left out unless `keep_unlabelled`.
    `zero_based` tells whether columns in the format of svmlight count from 0; None if the file is to show it.
    """

    target: str | None = None
    columns: list[str] | None = None
    drop: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    max_rows: int = 0
    seed: int = 0
    encoding: str = "utf8"
    quiet: bool = False
    keep_unlabelled: bool = False
    zero_based: bool | None = None
