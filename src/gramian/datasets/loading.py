"""Loading of data sets by name, from scikit-learn, from a file, or from OpenML."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from http.client import HTTPException
from typing import Any

import numpy as np
import scipy.sparse

from gramian.datasets import store
from gramian.datasets.catalogue import CATALOGUE, Entry, find_entry
from gramian.datasets.dataset import Dataset
from gramian.datasets.download import fetch_arrays
from gramian.datasets.planted import make_three_groups
from gramian.datasets.prepare import sample_classes
from gramian.warn import warn_user

__all__ = ["DatasetNotFound", "describe", "digits_389", "gyrb", "is_available", "load", "names"]


class DatasetNotFound(FileNotFoundError):
    """Raised if a data set has no local file and cannot be downloaded; the message says which file to put where.

    Examples
    --------
    >>> from gramian.datasets import DatasetNotFound, load
    >>> try:
    ...     samples = load("yaleb", download=False).X
    ... except DatasetNotFound as error:
    ...     print("Put yaleb.npz into" in str(error))
    ... else:
    ...     print(samples.shape == (2414, 1024))
    True
    """


def load(name: str, *, raw: bool = False, dtype: Any = np.float64, download: bool = True) -> Dataset:
    """Return a data set by name, prepared as in the paper but not standardised.

    The set is searched for in scikit-learn, in the folder named by the environment variable GRAMIAN_DATA, and in the
    cache. If none of them has it, it is downloaded from OpenML into the cache, unless GRAMIAN_OFFLINE is set.

    Parameters
    ----------
    name : str
        One of `names()`.
    raw : bool
        True returns the data as published, with missing values (NaN) and repeated rows.
    dtype : {np.float64, np.float32}
        The type of X.
    download : bool
        False never uses the network.

    Returns
    -------
    Dataset
        Its `description` says how it was prepared.

    Raises
    ------
    DatasetNotFound
        A FileNotFoundError, if the set has no local file and cannot be downloaded.
    DatasetDamaged
        A ValueError, if its file is damaged or holds other data.

    Examples
    --------
    >>> from gramian.datasets import load
    >>> wine = load("wine")
    >>> wine
    Dataset('wine': 178 x 13, float64, 3 classes)
    >>> wine.X.shape, wine.feature_names[0], wine.target_names
    ((178, 13), 'alcohol', ('class_0', 'class_1', 'class_2'))
    """
    key, entry = find_entry(name)
    kind = check_dtype(dtype)
    dataset = load_file(key, entry, download) if entry.make is None else entry.make()
    dataset = replace(dataset, name=key, X=convert(dataset.X, kind), description=entry.description)
    return dataset if raw or entry.prepare is None else prepare(dataset, entry)


def convert(X: Any, dtype: np.dtype) -> Any:
    """Return X in another type; raise a ValueError if that makes a value infinite."""
    # Some NaN of a file are signalling ones, of which NumPy warns. Whether X may have NaN was checked before.
    with np.errstate(over="ignore", invalid="ignore"):
        converted = X.astype(dtype)
    before, after = (M.data if scipy.sparse.issparse(M) else M for M in (X, converted))
    if before.dtype.itemsize > dtype.itemsize and np.isinf(after).any():
        raise ValueError(f"dtype={dtype}: some values are too large for it. Choose np.float64.")
    return converted


def prepare(dataset: Dataset, entry: Entry) -> Dataset:
    """Return the data set as the catalogue prepares it; raise `DatasetDamaged` if its file has other data."""
    assert entry.prepare is not None
    try:
        return entry.prepare(dataset)
    except ValueError as error:
        path = store.find_file(entry.file or dataset.name)
        if path is None:
            raise
        raise store.DatasetDamaged.for_file(path, error) from error


def check_dtype(dtype: Any) -> np.dtype:
    """Return the dtype of X; raise a ValueError unless it is float64 or float32."""
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = None
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype={dtype!r} is not valid. Choose np.float64 or np.float32.")
    return kind


def load_file(name: str, entry: Entry, download: bool) -> Dataset:
    """Return a data set from its file, which is downloaded first if there is none."""
    stem = entry.file or name
    path = store.find_file(stem)
    if path is not None:
        return store.read(path, entry.size, entry.missing)
    if entry.openml is None:
        raise DatasetNotFound(missing_file_message(stem, entry, "it is not on OpenML"))
    if not download:
        raise DatasetNotFound(missing_file_message(stem, entry, "download=False"))
    if os.environ.get("GRAMIAN_OFFLINE"):
        raise DatasetNotFound(missing_file_message(stem, entry, "GRAMIAN_OFFLINE is set"))
    try:
        with warnings.catch_warnings():
            # scikit-learn warns of each failed attempt; the error below reports the failure once.
            warnings.simplefilter("ignore")
            arrays = fetch_arrays(entry.openml.number, entry.labels, entry.test_counts, entry.span)
        dataset = store.build_dataset(arrays, entry.size, entry.missing)
    except (OSError, ValueError, HTTPException) as error:
        cause = f"OpenML's {entry.openml.name} (id {entry.openml.number}) could not be downloaded: {error}"
        raise DatasetNotFound(missing_file_message(stem, entry, cause)) from error
    try:
        store.write(store.cache_folder() / f"{stem}.npz", arrays)
    except OSError as error:
        warn_user(
            f"{stem} was downloaded but cannot be stored: {error}. Set GRAMIAN_CACHE to a writable folder.",
        )
    return dataset


def missing_file_message(stem: str, entry: Entry, cause: str) -> str:
    """Return the error message for a set without a local file: the cause, and which file to put where."""
    n, d, classes = entry.size
    folder = store.data_folder()
    given = "which is not set" if folder is None else str(folder)
    return (
        f"{stem} has no local file, and {cause}. Put {stem}.npz into the folder named by GRAMIAN_DATA ({given}) or "
        f"into the cache ({store.cache_folder()}), with the keys data ({n} x {d}; if sparse: csr_data, csr_indices, "
        f"csr_indptr, csr_shape) and target (integers 0 .. {classes - 1}), and optionally test_mask, feature_names, "
        "target_names."
    )


def is_available(name: str) -> bool:
    """Return True if `load` needs no network for this data set.

    Examples
    --------
    >>> from gramian.datasets import is_available
    >>> is_available("iris")
    True
    """
    key, entry = find_entry(name)
    return entry.make is not None or store.find_file(entry.file or key) is not None


def names() -> tuple[str, ...]:
    """Return the names that `load` knows, those of the paper's table first.

    Examples
    --------
    >>> from gramian.datasets import names
    >>> names()[:4]
    ('gyrb', 'digits_389', 'wine', 'ionosphere')
    """
    return tuple(CATALOGUE)


def describe(name: str | None = None) -> str:
    """Return the description of a data set, or without a name a table of all sets with their published sizes.

    Examples
    --------
    >>> from gramian.datasets import describe
    >>> describe("iris")
    '150 x 4 in 3 classes. UCI Machine Learning Repository, "Iris"; R. A. Fisher, 1936; ... Licence: CC BY 4.0.'
    >>> print(describe().split("licence")[0])
    name           samples x features x classes  OpenML
    """
    if name is not None:
        return find_entry(name)[1].description
    lines = [f"{'name':15}samples x features x classes  OpenML  {'licence':18}origin"]
    for key, entry in CATALOGUE.items():
        size = " x ".join(str(n) for n in entry.size)
        number = entry.openml.number if entry.openml else "-"
        lines.append(f"{key:15}{size:30}{number!s:8}{entry.licence:18}{entry.origin}")
    return "\n".join(lines)


def digits_389(per_class: int = 100, *, random_state: Any = 0, dtype: Any = np.float64) -> Dataset:
    """Return random samples of the digits 3, 8 and 9 of pendigits, `per_class` of each, sorted by class.

    The paper's Digits are 100 of each; which ones it used is not known.

    Parameters
    ----------
    per_class : int
        At most 1055.
    random_state : int, RandomState, Generator or None
    dtype : {np.float64, np.float32}

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from gramian.datasets import digits_389
    >>> digits_389(50, random_state=1)  # doctest: +SKIP
    Dataset('digits_389': 150 x 16, float64, 3 classes)
    """
    pendigits = load("digits_389", raw=True, dtype=dtype)
    return sample_classes(pendigits, (3, 8, 9), per_class, random_state)


def gyrb(random_state: Any = 0) -> Dataset:
    """Return a synthetic 52 x 52 kernel of three groups of 10, 31 and 11 samples, **a stand-in** for the GyrB kernel.

    The kernel of Tsuda, Rätsch and Warmuth (2005) between proteins of three bacteria species is not available. This
    kernel has the same size and groups, a diagonal of ones and full rank. The groups overlap: 5 nearest neighbours
    misclassify some 3 to 5 of the 52 samples. Results on it say nothing about proteins.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Dataset
        X is the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.datasets import gyrb
    >>> kernel = gyrb()
    >>> kernel.X.shape, np.bincount(kernel.y).tolist()
    ((52, 52), [10, 31, 11])
    """
    return replace(make_three_groups(random_state), description=CATALOGUE["gyrb"].description)
