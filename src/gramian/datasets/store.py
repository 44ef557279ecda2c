"""Where the files of data sets lie, and how they are read and written: `.npz` without pickled objects.

Keys of a file: `data` (n, d), or `csr_data`, `csr_indices`, `csr_indptr`, `csr_shape`; `target` (n,), integers from 0;
and where there are some `test_mask` (n,) of bool, `feature_names`, `target_names`, `vocabulary_utf8` (feature names as
bytes, one a line). NaN is a missing value, which few sets may have.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from gramian.datasets.dataset import Dataset
from gramian.types import Vector

__all__ = ["cache_folder", "data_folder", "dataset_of", "file_of", "read", "write"]

SPARSE = ("csr_data", "csr_indices", "csr_indptr", "csr_shape")
UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error)


def data_folder() -> Path | None:
    """The folder that the environment variable GRAMIAN_DATA names, None where it names none."""
    given = os.environ.get("GRAMIAN_DATA")
    return Path(given).expanduser() if given else None


def cache_folder() -> Path:
    """The folder that downloads are kept in: GRAMIAN_CACHE, or the platform's own place for caches.

    Examples
    --------
    >>> from gramian.datasets import cache_folder
    >>> cache_folder().name  # doctest: +SKIP
    'gramian'
    """
    given = os.environ.get("GRAMIAN_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        habit = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        habit = Path.home() / "Library" / "Caches"
    else:
        habit = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(habit) / "gramian"


def file_of(stem: str) -> Path | None:
    """The file of a data set, GRAMIAN_DATA before the cache; None where neither has it."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return next((path for folder in folders if (path := folder / f"{stem}.npz").is_file()), None)


def read(path: Path, size: tuple[int, int, int], missing: bool = False) -> Dataset:
    """The data set in a file, if it is whole and has so many samples, features and classes."""
    try:
        # Opened here, for NumPy leaves files open that are no archives.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return dataset_of({key: file[key] for key in file.files}, size, missing)
    except UNREADABLE as error:
        raise ValueError(
            f"{path} cannot be used: {error}. Delete it and load again, or put a whole copy in its place."
        ) from error


def dataset_of(arrays: Mapping[str, Vector], size: tuple[int, int, int], missing: bool = False) -> Dataset:
    """The data set that the arrays of a file hold, X in its own type, if it has the size that it should have.

    NaN is refused unless values may be missing.
    """
    needed = {"target", *(SPARSE if "csr_data" in arrays else ["data"])}
    if not needed <= set(arrays):
        raise ValueError(f"it has no key {' nor '.join(sorted(needed - set(arrays)))}")
    if "csr_data" in arrays:
        values, indices, indptr, shape = (arrays[key] for key in SPARSE)
        X = scipy.sparse.csr_array((values, indices, indptr), shape=tuple(shape))
    else:
        X = arrays["data"]
    y, test = arrays["target"].astype(np.int64), arrays.get("test_mask")
    found = (*X.shape, len(np.unique(y)))
    if found != size or len(y) != size[0]:
        raise ValueError(f"it holds {in_words(found)} and {len(y)} labels; expected {in_words(size)}")
    if y.min() != 0 or y.max() != size[-1] - 1:
        raise ValueError(f"its labels are {y.min()} .. {y.max()}; expected 0 .. {size[-1] - 1}")
    if test is not None and (test.dtype != bool or test.shape != y.shape):
        raise ValueError(f"its test_mask is {test.dtype} of shape {test.shape}; expected bool of shape {y.shape}")
    check_values(X.data if scipy.sparse.issparse(X) else X, missing)
    return Dataset("", X, y, test, feature_names(arrays), texts(arrays.get("target_names")))


def check_values(values: Vector, missing: bool) -> None:
    """A ValueError unless they are numbers and finite, or NaN where values may be missing."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"its data is of type {values.dtype}; expected numbers")
    # Integers are finite, and may be many.
    bad = 0 if values.dtype.kind != "f" else int(np.sum(np.isinf(values) if missing else ~np.isfinite(values)))
    if bad:
        raise ValueError(f"{bad} of its values are {'' if missing else 'NaN or '}infinite")


def in_words(size: tuple[int, ...]) -> str:
    """Samples, features and classes, for messages."""
    return f"{' x '.join(str(n) for n in size[:-1])} in {size[-1]} classes"


def texts(names: Vector | None) -> tuple[str, ...]:
    """An array of text, or nothing, as a tuple."""
    return () if names is None else tuple(str(name) for name in names)


def feature_names(arrays: Mapping[str, Vector]) -> tuple[str, ...]:
    """The names of features, kept as text or as bytes."""
    if "vocabulary_utf8" in arrays:
        return tuple(arrays["vocabulary_utf8"].tobytes().decode().rstrip("\n").split("\n"))
    return texts(arrays.get("feature_names"))


def write(path: Path, arrays: Mapping[str, Vector]) -> None:
    """Arrays in a file that appears whole or not at all."""
    for key, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{key} holds objects, which only pickles could keep. Give numbers or text.")
    # No setting beside them: to older NumPy that is one more array.
    kept: Any = arrays
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.stem, suffix=".part", delete=False) as part:
        try:
            np.savez_compressed(part, **kept)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise
    os.replace(part.name, path)
