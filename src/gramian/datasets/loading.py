"""Data sets by name: from scikit-learn, from a file, or from OpenML."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from http.client import HTTPException
from typing import Any

import numpy as np

from gramian.datasets import store
from gramian.datasets.catalogue import CATALOGUE, Entry, found
from gramian.datasets.dataset import Dataset
from gramian.datasets.download import fetched
from gramian.datasets.planted import three_groups
from gramian.datasets.prepare import sampled

__all__ = ["NotAtHand", "at_hand", "describe", "digits_389", "gyrb", "load", "names"]


class NotAtHand(FileNotFoundError):
    """Raised where a data set is neither at hand nor to be had; the message says which file to put where.

    Examples
    --------
    >>> from gramian.datasets import NotAtHand, load
    >>> try:
    ...     samples = load("yaleb", download=False).X
    ... except NotAtHand as error:
    ...     print("Put yaleb.npz into" in str(error))
    ... else:
    ...     print(samples.shape == (2414, 1024))
    True
    """


def load(name: str, *, raw: bool = False, dtype: Any = np.float64, download: bool = True) -> Dataset:
    """A data set, prepared as in the paper but not standardised.

    It is looked for in scikit-learn, in the folder that the environment variable GRAMIAN_DATA names, and in the cache;
    where none of them has it, it is downloaded from OpenML into the cache, unless GRAMIAN_OFFLINE is set.

    Parameters
    ----------
    name : str
        One of `names()`.
    raw : bool
        True leaves the data as it was published, with its missing values (NaN) and repeated rows.
    dtype : {np.float64, np.float32}
        The type of X.
    download : bool
        False never asks the network.

    Returns
    -------
    Dataset
        See its `description` for what was prepared.

    Raises
    ------
    NotAtHand
        A FileNotFoundError, where the set is neither at hand nor to be downloaded; it says which file to put where.

    Examples
    --------
    >>> from gramian.datasets import load
    >>> wine = load("wine")
    >>> wine
    Dataset('wine': 178 x 13, float64, 3 classes)
    >>> wine.X.shape, wine.feature_names[0], wine.target_names
    ((178, 13), 'alcohol', ('class_0', 'class_1', 'class_2'))
    """
    key, entry = found(name)
    kind = checked_kind(dtype)
    dataset = stored(key, entry, download) if entry.make is None else entry.make()
    dataset = replace(dataset, name=key, X=dataset.X.astype(kind), description=entry.text)
    return dataset if raw or entry.prepare is None else entry.prepare(dataset)


def checked_kind(dtype: Any) -> np.dtype:
    """The type of X, given as one or by name."""
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = None
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype={dtype!r} is not valid. Choose np.float64 or np.float32.")
    return kind


def stored(name: str, entry: Entry, download: bool) -> Dataset:
    """A data set that has a file, downloaded if need be."""
    stem = entry.file or name
    path = store.file_of(stem)
    if path is not None:
        return store.read(path, entry.size, entry.missing)
    if entry.openml is None:
        raise NotAtHand(advice(stem, entry, "it is not on OpenML"))
    if not download:
        raise NotAtHand(advice(stem, entry, "download=False"))
    if os.environ.get("GRAMIAN_OFFLINE"):
        raise NotAtHand(advice(stem, entry, "GRAMIAN_OFFLINE is set"))
    try:
        with warnings.catch_warnings():
            # Of every attempt that fails; the error tells once.
            warnings.simplefilter("ignore")
            arrays = fetched(entry.openml[1], entry.labels, entry.test_counts, entry.span)
        dataset = store.dataset_of(arrays, entry.size, entry.missing)
    except (OSError, ValueError, HTTPException) as error:
        cause = f"OpenML's {entry.openml[0]} (id {entry.openml[1]}) could not be had: {error}"
        raise NotAtHand(advice(stem, entry, cause)) from error
    try:
        store.write(store.cache_folder() / f"{stem}.npz", arrays)
    except OSError as error:
        warnings.warn(f"{stem} was downloaded but cannot be kept: {error}. Set GRAMIAN_CACHE.", stacklevel=3)
    return dataset


def advice(stem: str, entry: Entry, cause: str) -> str:
    """Which file to put where, for a set that is not at hand."""
    n, d, classes = entry.size
    folder = store.data_folder()
    given = "which is not set" if folder is None else str(folder)
    return (
        f"{stem} is not at hand, and {cause}. Put {stem}.npz into the folder that GRAMIAN_DATA names ({given}) or into "
        f"the cache ({store.cache_folder()}), with the keys data ({n} x {d}; where sparse csr_data, csr_indices, "
        f"csr_indptr, csr_shape) and target (integers 0 .. {classes - 1}), and if you have them test_mask, "
        "feature_names, target_names."
    )


def at_hand(name: str) -> bool:
    """True where `load` needs no network.

    Examples
    --------
    >>> from gramian.datasets import at_hand
    >>> at_hand("iris")
    True
    """
    key, entry = found(name)
    return entry.make is not None or store.file_of(entry.file or key) is not None


def names() -> tuple[str, ...]:
    """The names that `load` knows, those of the paper's table first.

    Examples
    --------
    >>> from gramian.datasets import names
    >>> names()[:4]
    ('gyrb', 'digits_389', 'wine', 'ionosphere')
    """
    return tuple(CATALOGUE)


def describe(name: str | None = None) -> str:
    """What is known of a data set; without a name, a table of all, with their sizes as published.

    Examples
    --------
    >>> from gramian.datasets import describe
    >>> describe("iris")
    '150 x 4 in 3 classes. UCI Machine Learning Repository, "Iris"; R. A. Fisher, 1936; ... Licence: CC BY 4.0.'
    >>> print(describe().split("licence")[0])
    name           samples x features x classes  OpenML
    """
    if name is not None:
        return found(name)[1].text
    lines = [f"{'name':15}samples x features x classes  OpenML  {'licence':18}origin"]
    for key, entry in CATALOGUE.items():
        size = " x ".join(str(n) for n in entry.size)
        number = entry.openml[1] if entry.openml else "-"
        lines.append(f"{key:15}{size:30}{number!s:8}{entry.licence:18}{entry.origin}")
    return "\n".join(lines)


def digits_389(per_class: int = 100, *, random_state: Any = 0, dtype: Any = np.float64) -> Dataset:
    """Handwritten digits 3, 8 and 9 of pendigits, so many of each, sorted by class.

    The paper's Digits are 100 of each; which ones is not known.

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
    return sampled(pendigits, (3, 8, 9), per_class, random_state)


def gyrb(random_state: Any = 0) -> Dataset:
    """A planted 52 x 52 kernel with three groups of 10, 31 and 11 samples: **a stand-in** for the GyrB kernel.

    The kernel of Tsuda, Rätsch and Warmuth (2005) between proteins of three bacteria could not be had. This one has its
    size and its groups, a diagonal of ones and full rank; the groups overlap, so that 5 nearest neighbours get some 3
    to 5 of the 52 wrong. What is measured on it says nothing about proteins.

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
    return replace(three_groups(random_state), description=CATALOGUE["gyrb"].text)
