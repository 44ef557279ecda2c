"""The header of a model file: what it holds, and which versions wrote it."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from os import PathLike
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import gramian
from gramian.atomic import expand_home
from gramian.files.archive import HEADER, check_members, check_regular
from gramian.files.errors import FileError

__all__ = ["FORMAT", "Header", "describe", "find_learner", "parse_header", "rank_of", "read_header"]

#: The version of the format that `save` writes; `load` reads this one and all before it.
FORMAT = 1
NAME = "gramian model"
LARGEST_HEADER = 1 << 24
NEWER = "Upgrade gramian, or save the model again with this version."


class Header(NamedTuple):
    """What a model file says about itself.

    Attributes
    ----------
    format_version : int
    versions : dict of str to str
        The versions of gramian, scikit-learn, numpy, scipy and skops that wrote the file.
    class_name : str
        The class of the model, with its module.
    steps : tuple of str
        The classes of the steps of a pipeline, else ().
    n_features : int or None
        The number of features of a sample; None before a fit, or where the model counts none.
    rank : int or None
        The rank of the matrix that was learned; None before a fit.
    digests : dict of str to str
        The SHA-256 digest of each other member of the file.

    Examples
    --------
    >>> import gramian
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     gramian.save(gramian.MetricLearner(2), Path(folder) / "model.skops")
    ...     header = gramian.files.read_header(Path(folder) / "model.skops")
    >>> header.class_name, header.format_version, header.rank
    ('gramian.estimators.metric.MetricLearner', 1, None)
    """

    format_version: int
    versions: dict[str, str]
    class_name: str
    steps: tuple[str, ...]
    n_features: int | None
    rank: int | None
    digests: dict[str, str]

    def to_json(self) -> bytes:
        """Return the header as it is stored."""
        return json.dumps({"format": NAME, **self._asdict()}, indent=1).encode()


def describe(estimator: BaseEstimator, members: Mapping[str, bytes]) -> Header:
    """Return the header of a file with an estimator, whose other members are given."""
    names = ("gramian", "scikit-learn", "numpy", "scipy", "skops")
    learner = find_learner(estimator)
    steps = tuple(name_of(part) for _, part in estimator.steps) if isinstance(estimator, Pipeline) else ()
    return Header(
        format_version=FORMAT,
        versions={name: version_of(name) for name in names},
        class_name=name_of(estimator),
        steps=steps,
        n_features=count_features(estimator),
        rank=None if learner is None else rank_of(learner),
        digests={name: hashlib.sha256(member).hexdigest() for name, member in members.items()},
    )


def version_of(name: str) -> str:
    """Return the version of a package; that of gramian is the one that is running."""
    return gramian.__version__ if name == "gramian" else version(name)


def name_of(part: Any) -> str:
    """Return the class of a part of a model, with its module; "passthrough" stays as it is."""
    return part if isinstance(part, str) else f"{type(part).__module__}.{type(part).__qualname__}"


def count_features(estimator: BaseEstimator) -> int | None:
    """Return the number of features that a fitted estimator was given, or None."""
    try:
        count: Any = getattr(estimator, "n_features_in_", None)
    except Exception:
        # A property of a pipeline, which asks its first step.
        return None
    return int(count) if isinstance(count, int) or hasattr(count, "__index__") else None


def find_learner(estimator: Any) -> BaseEstimator | None:
    """Return the last estimator of gramian in an estimator or in the steps of a pipeline, or None."""
    if type(estimator).__module__.startswith("gramian."):
        return estimator
    steps = [part for _, part in estimator.steps] if isinstance(estimator, Pipeline) else []
    inner = [getattr(estimator, name) for name in ("best_estimator_", "estimator") if hasattr(estimator, name)]
    found = (find_learner(part) for part in [*reversed(steps), *inner[:1]])
    return next((learner for learner in found if learner is not None), None)


def rank_of(learner: Any) -> int | None:
    """Return the rank of the matrix that an estimator of gramian has learned, or None before a fit."""
    held = vars(learner)
    if "components_" in held:
        return len(held["components_"])
    arrays = [held[name] for name in ("factor_", "embedding_") if name in held]
    return int(arrays[0].shape[1]) if arrays else None


def read_header(path: str | PathLike[str]) -> Header:
    """Return what a model file says about itself; the model is not loaded.

    Raises a FileError if the file is damaged, was not written by `gramian.save`, or is of a newer format.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Header

    Examples
    --------
    >>> import gramian
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     gramian.save(gramian.SStressMDS(2), Path(folder) / "model.skops")
    ...     gramian.files.read_header(Path(folder) / "model.skops").class_name
    'gramian.estimators.mds.SStressMDS'
    """
    path = expand_home(path)
    check_regular(path)
    try:
        with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
            check_members(archive.infolist(), path.stat().st_size)
            known = HEADER in archive.namelist() and archive.getinfo(HEADER).file_size <= LARGEST_HEADER
            return parse_header(archive.read(HEADER) if known else None)
    except OSError:
        raise
    except FileError as error:
        raise FileError.for_file(path, error, NEWER) from None
    except Exception as error:
        raise FileError.for_file(path, error) from error


def parse_header(member: bytes | None) -> Header:
    """Return the header of a file; a FileError says that its format is newer, a ValueError that it is damaged."""
    if member is None:
        raise ValueError(f"it has no {HEADER}")
    if len(member) > LARGEST_HEADER:
        raise ValueError(f"its {HEADER} has {len(member)} bytes")
    stored = json.loads(member.decode())
    if not isinstance(stored, dict) or stored.get("format") != NAME:
        raise ValueError(f"its {HEADER} is not the header of a {NAME}")
    number: Any = stored.get("format_version")
    versions: Any = stored.get("versions")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1 or not is_texts(versions):
        raise ValueError(f"its {HEADER} has no version of the format")
    if number > FORMAT:
        writer, own = versions.get("gramian", "of an unknown version"), version_of("gramian")
        raise FileError(f"it has format {number}, of gramian {writer[:40]}; gramian {own} reads formats up to {FORMAT}")
    parts: dict[str, Any] = {name: stored.get(name) for name in Header._fields}
    header = Header(**parts)
    counts = (header.n_features, header.rank)
    if not (
        isinstance(header.class_name, str)
        and isinstance(header.steps, list)
        and all(isinstance(step, str) for step in header.steps)
        and all(count is None or (isinstance(count, int) and count >= 0) for count in counts)
        and is_texts(header.digests)
    ):
        raise ValueError(f"its {HEADER} lacks a part, or has one of another type")
    return header._replace(steps=tuple(header.steps))


def is_texts(value: Any) -> bool:
    """Return True for a dict of str to str."""
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
