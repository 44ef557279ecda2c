"""Models saved to files and loaded from them, on skops, without pickling."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from gramian.atomic import expand_home
from gramian.files.archive import HEADER, SCHEMA, SPARSE, pack, read_bytes, unpack
from gramian.files.arrays import repack_sparse
from gramian.files.atomic import write_atomically
from gramian.files.audit import Audit
from gramian.files.consistency import check_parts
from gramian.files.errors import FileError, words_of
from gramian.files.header import NEWER, Header, describe, parse_header
from gramian.files.tree import normalise_tree

__all__ = ["check_ending", "load", "save"]

#: Endings of names of pickles.
PICKLES = (".pkl", ".pickle", ".joblib")


def save(estimator: BaseEstimator, path: str | PathLike[str]) -> None:
    """Save an estimator or a pipeline to a file, from which `gramian.load` returns it, equal to the last bit.

    The file is a zip archive of arrays in NumPy's format and of JSON, by skops; nothing in it is pickled. Estimators of
    gramian, of scikit-learn and the encoders of skrub can be saved, fitted or not. Functions, such as a callback or a
    kernel of your own, decision trees, and classes of your own cannot.

    The write is atomic: if it fails, what was at the path before is unchanged.

    Parameters
    ----------
    estimator : estimator or pipeline
    path : str or path
        The file, by custom `.skops`; one that exists is replaced. ~ is the home folder, in `load` and
        `export_map` too. Endings of pickles, such as `.pkl`, are refused.

    Raises
    ------
    ValueError
        If the path ends like that of a pickle.
    FileError
        If a part of the estimator cannot be stored; the message names it.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import gramian
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from tempfile import TemporaryDirectory
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), gramian.MetricLearner(2, random_state=0)).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     gramian.save(model, Path(folder) / "iris.skops")
    ...     same = gramian.load(Path(folder) / "iris.skops")
    >>> bool((same.transform(X) == model.transform(X)).all())
    True
    """
    check_ending(path)
    write_atomically(path, to_bytes(estimator))


def check_ending(path: str | PathLike[str]) -> None:
    """Raise a ValueError if a path has the ending of a pickle, which programs would try to load as one."""
    if Path(path).suffix.lower() in PICKLES:
        raise ValueError(
            f"path={str(path)!r} ends in {Path(path).suffix!r}, as pickles do, but the file is none and is loaded by "
            "gramian.load. Choose a name that ends in .skops."
        )


def load(path: str | PathLike[str]) -> Any:
    """Return the estimator or pipeline of a file that `gramian.save` has written.

    Nothing in the file is run. The sizes of its arrays, its digests, and the names of all types are checked before
    anything is built, and only estimators and their parts from gramian, scikit-learn, NumPy, SciPy and skrub are built.
    So a file from a stranger can be opened. What it predicts is another matter: a stranger chose its numbers.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator

    Raises
    ------
    FileError
        If the file is damaged, unsafe, of a newer format, or was not written by `gramian.save`.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import gramian
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     gramian.save(gramian.MetricLearner(3), Path(folder) / "model.skops")
    ...     gramian.load(Path(folder) / "model.skops")
    MetricLearner(n_components=3)
    """
    import_skops()
    path = expand_home(path)
    content = read_bytes(path)
    header: Header | None = None
    try:
        members = unpack(content)
        header = parse_header(members.get(HEADER))
        check_digests(header, members)
        return build(content, members)
    except FileError as error:
        raise FileError.for_file(path, error, NEWER) from None
    except MemoryError:
        # Sizes were compared with that of the file before: it is intact, but too large for this machine.
        raise
    except Exception as error:
        raise FileError.for_file(path, error, "" if header is None else describe_origin(header)) from error


def import_skops() -> Any:
    """Return the module skops.io; an ImportError says how to install it."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("files of models need skops. Install it by: pip install 'gramian[files]'") from error
    return skops.io


def to_bytes(estimator: Any) -> bytes:
    """Return the content of the file of an estimator, after reading it back."""
    import_skops()
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(f"estimator is of type {type(estimator).__name__}; give an estimator or a pipeline to save.")
    name = type(estimator).__name__
    try:
        schema, members = normalise_tree(*dump(estimator))
        members = {key: repack_sparse(part, key) if SPARSE.fullmatch(key) else part for key, part in members.items()}
        members = {SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **members}
        content = pack({HEADER: describe(estimator, members).to_json(), **members})
        build(content, unpack(content))
    except MemoryError:
        raise
    except Exception as error:
        raise FileError(f"{name} cannot be saved: {words_of(error)}. {advice_for(error)}") from error
    return content


def advice_for(error: Exception) -> str:
    """Return what to do if an estimator cannot be saved."""
    if "the function" in str(error) or "partial" in str(error):
        return "Functions are not stored: set the parameter to None, or to a name, by set_params before saving."
    if "DataFrame" in str(error):
        return "Data frames are not stored: give an array in its place, by its method to_numpy, or None."
    return (
        "Estimators and parts of gramian, scikit-learn and skrub are stored, without decision trees. Store others by "
        "pickle, or store the map alone by gramian.export_map."
    )


class Members:
    """Takes the members that skops writes, in place of an archive, whose list of names it would search for each."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}

    def writestr(self, name: str, content: Any) -> None:
        """Keep a member."""
        self.parts[name] = bytes(content)

    def namelist(self) -> dict[str, bytes]:
        """Return the names of the members, in a container that finds one at once."""
        return self.parts


def dump(estimator: BaseEstimator) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the tree of an estimator by skops, and its members."""
    skops = import_skops()
    try:
        from skops.io._utils import SaveContext, get_state
    except ImportError:
        # Another version of skops: the same, by way of an archive.
        with zipfile.ZipFile(io.BytesIO(skops.dumps(estimator))) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        schema = json.loads(members.pop(SCHEMA).decode())
        # The header has the version.
        schema.pop("_skops_version", None)
        return schema, members
    context = SaveContext(zip_file=Members())
    schema = get_state(estimator, context) | {"protocol": context.protocol}
    return json.loads(json.dumps(schema)), context.zip_file.parts


def check_digests(header: Header, members: Mapping[str, bytes]) -> None:
    """Raise a ValueError unless the file has the members that its header names, unchanged."""
    others = members.keys() - {HEADER}
    if others != header.digests.keys() or SCHEMA not in others:
        raise ValueError("it has other members than its header names")
    for name in others:
        if hashlib.sha256(members[name]).hexdigest() != header.digests[name]:
            raise ValueError(f"its {name} has changed since it was written")


def build(content: bytes, members: Mapping[str, bytes]) -> Any:
    """Return the estimator of an archive, after the audit of its tree."""
    schema = json.loads(members[SCHEMA].decode())
    audit = Audit({name: member for name, member in members.items() if name not in (HEADER, SCHEMA)})
    audit.check(schema)
    estimator = import_skops().loads(content, trusted=sorted(audit.names))
    if not isinstance(estimator, BaseEstimator):
        raise ValueError("it holds no estimator")
    check_parts(estimator)
    return estimator


def describe_origin(header: Header) -> str:
    """Return advice that names the versions which wrote a file."""
    names = ("gramian", "scikit-learn", "skops")
    written = ", ".join(f"{name} {header.versions.get(name, '?')[:20]}" for name in names)
    return f"It was written by {written}: it is damaged, unsafe, or needs those versions."
