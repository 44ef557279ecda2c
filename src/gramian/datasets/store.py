"""Files of data sets: where they are, and how they are read and written, as `.npz` without pickled objects.

Keys of a file: `data` (n, d), or for sparse data `csr_data`, `csr_indices`, `csr_indptr`, `csr_shape`; `target` (n,),
integers from 0. Optional keys: `test_mask` (n,) of bool, `feature_names`, `target_names`, `vocabulary_utf8` (feature
names as bytes, one per line). NaN is a missing value; the catalogue says which sets may have some.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from gramian.atomic import expand_home, replace_file
from gramian.checks import check_csr
from gramian.datasets.archive import read_arrays
from gramian.datasets.dataset import Dataset
from gramian.types import Vector

__all__ = ["DatasetDamaged", "build_dataset", "cache_folder", "data_folder", "find_file", "read", "write"]

SPARSE = ("csr_data", "csr_indices", "csr_indptr", "csr_shape")
KEYS = ("data", *SPARSE, "target", "test_mask", "feature_names", "target_names", "vocabulary_utf8")
# Sparse entries and names have no size in the catalogue: they may have this many bytes, or this many times the bytes of
# the file. The files of the catalogue grow 2 to 5 times when they are unpacked.
LEAST_LIMIT, MOST_GROWTH = 1 << 24, 64


class DatasetDamaged(ValueError):
    """Raised if the file of a data set is damaged or holds other data; the message names the file and what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gramian.datasets import DatasetDamaged
    >>> from gramian.datasets.store import read
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.npz"
    ...     _ = path.write_bytes(b"half a file")
    ...     try:
    ...         read(path, (150, 4, 3))
    ...     except DatasetDamaged as error:
    ...         print(str(error).removeprefix(folder))
    /iris.npz cannot be used: File is not a zip file. Delete it and load again, or replace it by an intact copy.
    """

    @classmethod
    def for_file(cls, path: Path, cause: object) -> DatasetDamaged:
        """Return the error for a file, with its cause and what to do."""
        words = str(cause).rstrip(". ")
        return cls(f"{path} cannot be used: {words}. Delete it and load again, or replace it by an intact copy.")


def data_folder() -> Path | None:
    """Return the folder named by the environment variable GRAMIAN_DATA, or None if it is not set."""
    given = os.environ.get("GRAMIAN_DATA")
    return expand_home(given) if given else None


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
        return expand_home(given)
    if sys.platform == "win32":
        default = os.environ.get("LOCALAPPDATA") or expand_home("~/AppData/Local")
    elif sys.platform == "darwin":
        default = expand_home("~/Library/Caches")
    else:
        default = os.environ.get("XDG_CACHE_HOME") or expand_home("~/.cache")
    return Path(default) / "gramian"


def find_file(stem: str) -> Path | None:
    """Return the path of a data set's file, or None; GRAMIAN_DATA is searched before the cache."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    # A folder that may not be searched has no file for us: unlike Path.is_file, os.path.isfile does not raise.
    return next((path for folder in folders if os.path.isfile(path := folder / f"{stem}.npz")), None)


def read(path: Path, size: tuple[int, int, int], missing: bool = False) -> Dataset:
    """Return the data set in a file; raise `DatasetDamaged` if the file is damaged or has another size."""
    try:
        return build_dataset(read_arrays(path, KEYS, limits_of(path, size)), size, missing)
    except (MemoryError, PermissionError):
        # Sizes were checked before memory was reserved: the file is good, but too large for this machine, or not ours.
        raise
    except Exception as error:
        # `zipfile`, `zlib` and `struct` raise what they like on damaged files.
        raise DatasetDamaged.for_file(path, str(error) or type(error).__name__) from error


def limits_of(path: Path, size: tuple[int, int, int]) -> Callable[[str], int]:
    """Return a function from a key to the largest number of bytes its array may have."""
    n, d, _ = size
    known = {"data": 8 * n * d, "target": 8 * n, "test_mask": 8 * n, "csr_shape": 16, "csr_indptr": 8 * (n + 1)}
    other = max(LEAST_LIMIT, MOST_GROWTH * path.stat().st_size)
    return lambda key: known.get(key, other)


def build_dataset(arrays: Mapping[str, Vector], size: tuple[int, int, int], missing: bool = False) -> Dataset:
    """Return the data set of a file's arrays, with X in its stored type.

    Raise a ValueError if the number of samples, features or classes differs from `size`, if X has NaN and `missing`
    is False, or if the parts do not fit together.
    """
    needed = {"target", *(SPARSE if "csr_data" in arrays else ["data"])}
    if not needed <= set(arrays):
        raise ValueError(f"it has no key {' nor '.join(sorted(needed - set(arrays)))}")
    target, test = arrays["target"], arrays.get("test_mask")
    if target.dtype.kind not in "biu" or target.ndim != 1:
        raise ValueError(f"its target is {target.dtype} of shape {target.shape}; expected integers, one a sample")
    X, y = build_matrix(arrays, size), target.astype(np.int64)
    found = (*X.shape, len(np.unique(y)))
    if found != size or len(y) != size[0]:
        raise ValueError(f"it holds {format_size(found)} and {len(y)} labels; expected {format_size(size)}")
    if y.min() != 0 or y.max() != size[-1] - 1:
        raise ValueError(f"its labels are {y.min()} .. {y.max()}; expected 0 .. {size[-1] - 1}")
    if test is not None and (test.dtype != bool or test.shape != y.shape):
        raise ValueError(f"its test_mask is {test.dtype} of shape {test.shape}; expected bool of shape {y.shape}")
    check_values(X.data if scipy.sparse.issparse(X) else X, missing)
    features, targets = read_feature_names(arrays, size[1]), read_names(arrays, "target_names", size[2])
    return Dataset("", X, y, test, features, targets)


def build_matrix(arrays: Mapping[str, Vector], size: tuple[int, int, int]) -> Any:
    """Return X as an array, or as a CSR array whose parts were checked: SciPy reads and writes where they point."""
    if "csr_data" not in arrays:
        return arrays["data"]
    values, indices, indptr, shape = (arrays[key] for key in SPARSE)
    if shape.dtype.kind not in "iu" or shape.tolist() != list(size[:2]):
        raise ValueError(f"its csr_shape is {shape.tolist()}; expected {list(size[:2])}")
    check_values(values, missing=True)
    check_csr(values, indices, indptr, size[:2], prefix="its csr_")
    # SciPy warns of unsigned indices.
    signed = (index.astype(np.int64) if index.dtype.kind == "u" else index for index in (indices, indptr))
    return scipy.sparse.csr_array((values, *signed), shape=size[:2])


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


def read_names(arrays: Mapping[str, Vector], key: str, count: int) -> tuple[str, ...]:
    """Return an array of `count` names as a tuple of str, empty if there is none."""
    names = arrays.get(key)
    if names is None or names.shape == (0,):
        return ()
    if names.shape != (count,):
        raise ValueError(f"its {key} has shape {names.shape}; expected ({count},)")
    if names.dtype.kind == "U":
        codes = np.ascontiguousarray(names).view(np.uint32)
        # Other numbers are no characters: Python fails on the first, and printing on the second.
        if (codes > sys.maxunicode).any() or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise ValueError(f"its {key} is not text")
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in names.tolist())


def read_feature_names(arrays: Mapping[str, Vector], count: int) -> tuple[str, ...]:
    """Return the names of the features, which a file stores as text or as bytes."""
    if "vocabulary_utf8" not in arrays:
        return read_names(arrays, "feature_names", count)
    if arrays["vocabulary_utf8"].dtype != np.uint8:
        raise ValueError(f"its vocabulary_utf8 is {arrays['vocabulary_utf8'].dtype}; expected uint8")
    names = tuple(arrays["vocabulary_utf8"].tobytes().decode().rstrip("\n").split("\n"))
    if len(names) != count:
        raise ValueError(f"its vocabulary_utf8 has {len(names)} lines; expected {count}")
    return names


def write(path: Path, arrays: Mapping[str, Vector]) -> None:
    """Write arrays to a file atomically: a write that fails leaves no partial file."""
    for key, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{key} holds objects, which cannot be stored without pickling. Give numbers or text.")
    # No other keyword, such as allow_pickle: older versions of NumPy would store it as one more array.
    keywords: Any = arrays
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as stream:
        np.savez_compressed(stream, **keywords)
