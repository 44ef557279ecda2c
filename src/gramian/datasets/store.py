"""Files of data sets: where they are, and how they are read and written, as `.npz` without pickled objects.

Keys of a file: `data` (n, d), or for sparse data `csr_data`, `csr_indices`, `csr_indptr`, `csr_shape`; `target` (n,),
integers from 0. Optional keys: `test_mask` (n,) of bool, `feature_names`, `target_names`, `vocabulary_utf8` (feature
names as bytes, one per line). NaN is a missing value; the catalogue says which sets may have some.
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

__all__ = ["build_dataset", "cache_folder", "data_folder", "find_file", "read", "write"]

SPARSE = ("csr_data", "csr_indices", "csr_indptr", "csr_shape")
UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error)


def data_folder() -> Path | None:
    """Return the folder named by the environment variable GRAMIAN_DATA, or None if it is not set."""
    given = os.environ.get("GRAMIAN_DATA")
    return Path(given).expanduser() if given else None


def cache_folder() -> Path:
    """Return the folder where downloads are stored: GRAMIAN_CACHE, or the platform's cache folder.

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
        default = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        default = Path.home() / "Library" / "Caches"
    else:
        default = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(default) / "gramian"


def find_file(stem: str) -> Path | None:
    """Return the path of a data set's file, or None; GRAMIAN_DATA is searched before the cache."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return next((path for folder in folders if (path := folder / f"{stem}.npz").is_file()), None)


def read(path: Path, size: tuple[int, int, int], missing: bool = False) -> Dataset:
    """Return the data set in a file; raise a ValueError if the file is damaged or has another size."""
    try:
        # Opened here, because NumPy does not close a file that is not an archive.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return build_dataset({key: file[key] for key in file.files}, size, missing)
    except UNREADABLE as error:
        raise ValueError(
            f"{path} cannot be used: {error}. Delete it and load again, or replace it by an intact copy."
        ) from error


def build_dataset(arrays: Mapping[str, Vector], size: tuple[int, int, int], missing: bool = False) -> Dataset:
    """Return the data set of a file's arrays, with X in its stored type.

    Raise a ValueError if the number of samples, features or classes differs from `size`, or if X has NaN and `missing`
    is False.
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
        raise ValueError(f"it holds {format_size(found)} and {len(y)} labels; expected {format_size(size)}")
    if y.min() != 0 or y.max() != size[-1] - 1:
        raise ValueError(f"its labels are {y.min()} .. {y.max()}; expected 0 .. {size[-1] - 1}")
    if test is not None and (test.dtype != bool or test.shape != y.shape):
        raise ValueError(f"its test_mask is {test.dtype} of shape {test.shape}; expected bool of shape {y.shape}")
    check_values(X.data if scipy.sparse.issparse(X) else X, missing)
    return Dataset("", X, y, test, read_feature_names(arrays), to_strings(arrays.get("target_names")))


def check_values(values: Vector, missing: bool) -> None:
    """Raise a ValueError unless the values are finite numbers, or NaN if `missing` is True."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"its data is of type {values.dtype}; expected numbers")
    # Integers are always finite: skip a pass over large arrays.
    bad = 0 if values.dtype.kind != "f" else int(np.sum(np.isinf(values) if missing else ~np.isfinite(values)))
    if bad:
        raise ValueError(f"{bad} of its values are {'' if missing else 'NaN or '}infinite")


def format_size(size: tuple[int, ...]) -> str:
    """Return the numbers of samples, features and classes as text for messages."""
    return f"{' x '.join(str(n) for n in size[:-1])} in {size[-1]} classes"


def to_strings(names: Vector | None) -> tuple[str, ...]:
    """Return an array of names as a tuple of str, empty for None."""
    return () if names is None else tuple(str(name) for name in names)


def read_feature_names(arrays: Mapping[str, Vector]) -> tuple[str, ...]:
    """Return the names of the features, which a file stores as text or as bytes."""
    if "vocabulary_utf8" in arrays:
        return tuple(arrays["vocabulary_utf8"].tobytes().decode().rstrip("\n").split("\n"))
    return to_strings(arrays.get("feature_names"))


def write(path: Path, arrays: Mapping[str, Vector]) -> None:
    """Write arrays to a file atomically: a write that fails leaves no partial file."""
    for key, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{key} holds objects, which cannot be stored without pickling. Give numbers or text.")
    # No other keyword, such as allow_pickle: older versions of NumPy would store it as one more array.
    keywords: Any = arrays
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.stem, suffix=".part", delete=False) as part:
        try:
            np.savez_compressed(part, **keywords)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise
    os.replace(part.name, path)
