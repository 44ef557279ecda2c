"""The file of a checkpoint: written at once or not at all, and read without pickled objects."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gramian.atomic import follow_link, part_prefix, replace_file

__all__ = ["CheckpointDamaged", "Stored", "check_place", "read_file", "write_file"]

#: The first words of every header, and the version of what follows.
KIND, FORMAT = "gramian checkpoint", 1
HEADER = "header"


class CheckpointDamaged(ValueError):
    """Raised if a file that should be a checkpoint cannot be read as one; the file is left as it is."""


class Stored(NamedTuple):
    """The content of a file: a header, which is a tree of JSON, and arrays by name."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def check_place(path: Path) -> None:
    """Raise an OSError that names the path unless a file can be made in its folder; that of its target, for a link."""
    target = follow_link(path)
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"checkpoint={str(path)!r}: the folder {str(folder)!r} does not exist. Make it first.")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=part_prefix(target), suffix=".part"):
            pass
    except OSError as error:
        raise type(error)(
            f"checkpoint={str(path)!r}: no file can be written in {str(folder)!r} ({error.strerror}). Choose another "
            "folder, or checkpoint=None."
        ) from error


def write_file(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a checkpoint. A write that fails leaves the file that was there, and nothing else."""
    text = json.dumps({"kind": KIND, "format": FORMAT, **header}).encode()
    # No other keyword, such as allow_pickle: older versions of NumPy would store it as one more array.
    keywords: Any = {HEADER: np.frombuffer(text, np.uint8), **arrays}
    with replace_file(path) as stream:
        np.savez(stream, **keywords)


def read_file(path: Path) -> Stored:
    """Return the content of a checkpoint; raise `CheckpointDamaged` if the file is none."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        header = json.loads(arrays.pop(HEADER).tobytes().decode())
        if header["kind"] != KIND:
            raise ValueError(f"it is a {header['kind']}")
    except OSError as error:
        if type(error) is not OSError:
            raise
        raise damage_error(path, error) from error
    except MemoryError:
        raise
    except Exception as error:
        # `zipfile`, `zlib` and `json` raise what they like on other files.
        raise damage_error(path, error) from error
    if header["format"] != FORMAT:
        raise CheckpointDamaged(
            f"checkpoint={str(path)!r} has format {header['format']}, but this version reads {FORMAT}. Delete the file "
            "to start anew, or resume with the version that wrote it."
        )
    return Stored(header, arrays)


def damage_error(path: Path, cause: Exception) -> CheckpointDamaged:
    """Return the error for a file that is no checkpoint."""
    words = (str(cause) or type(cause).__name__).rstrip(". ")
    if "pickle" in words:
        # NumPy takes any other file for a pickle, and says how to load it unsafely.
        words = "it holds no arrays"
    return CheckpointDamaged(
        f"checkpoint={str(path)!r} is not a checkpoint, or is damaged: {words}. It is left as it is. Delete it to "
        "start anew, or choose another path."
    )
