"""Samples and labels from files without names of columns: NPZ, and the format of svmlight."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gramian.cli.dialects import is_compressed
from gramian.cli.mistakes import Mistake, words_of
from gramian.cli.reading import Reading, Table
from gramian.cli.screen import note
from gramian.types import Vector

__all__ = ["load_arrays", "load_svmlight"]


def sample_rows(n: int, reading: Reading) -> Vector:
    """Return the random rows that are kept of n, in their order."""
    if not reading.max_rows or n <= reading.max_rows:
        return np.arange(n)
    return np.sort(np.random.default_rng(reading.seed).permutation(n)[: reading.max_rows])


def load_arrays(path: Path, reading: Reading) -> Table:
    """Return the arrays X and y of an NPZ file; another name of y is `--target`."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        why = words_of(error)
        raise Mistake(f"{path} is not a file of plain arrays, or was cut while it was written: {why}.") from error
    if "X" not in arrays:
        raise Mistake(f"{path} has no array X, but {', '.join(arrays) or 'none'}. Save it by np.savez(path, X=X, y=y).")
    X, name = arrays["X"], reading.target or "y"
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise Mistake(f"X in {path} has shape {X.shape} and type {X.dtype}; expected numbers in rows and columns.")
    if reading.target and name not in arrays:
        raise Mistake(f"{path} has no array {name!r}. It has: {', '.join(arrays)}.")
    labels = arrays.get(name)
    if labels is not None and labels.shape != (len(X),):
        raise Mistake(f"{name} in {path} has shape {labels.shape}; expected ({len(X)},), a label for each row of X.")
    rows = sample_rows(len(X), reading)
    return Table(X[rows], None if labels is None else labels[rows], rows, len(X))


def load_svmlight(path: Path, reading: Reading) -> Table:
    """Return the sparse samples and the labels of a file in the format of svmlight."""
    from sklearn.datasets import load_svmlight_file

    opened = gzip.open if is_compressed(path) else open
    try:
        with opened(path, "rb") as file:
            X, y = load_svmlight_file(file, zero_based=True)
    except (ValueError, OverflowError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise Mistake(f"{path} is not in svmlight's format, 'label column:value ...': {error}.") from error
    zero_based = find_base(path, X, reading)
    X = X if zero_based else X[:, 1:]
    if (y == np.round(y)).all():
        y = y.astype(np.int64)
    rows = sample_rows(X.shape[0], reading)
    return Table(X[rows], y[rows], rows, X.shape[0], zero_based)


def find_base(path: Path, X: Any, reading: Reading) -> bool:
    """Return whether columns count from 0: as the model has learned it, else whether the file has a column 0."""
    least = int(X.indices.min(initial=X.shape[1]))
    if reading.zero_based is not None:
        if least == 0 and not reading.zero_based:
            raise Mistake(
                f"{path} has a column 0, but columns count from 1 in the file that the model has learned from. Give a "
                "file whose columns count from 1."
            )
        return reading.zero_based
    note(f"The columns of {path} count from {min(least, 1)}: it has {'a' if least == 0 else 'no'} column 0.")
    return least == 0
