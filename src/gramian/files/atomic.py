"""Writes that either succeed or leave what was there before."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that a reader, or a failure at any moment, finds the old content or the new one.

    The content goes to a temporary file in the same folder, is forced to the disk, and then takes the place of the
    file. A link stays a link. Raises an OSError if the folder is missing, may not be written to, or is full; what was
    there is then unchanged, and no temporary file stays.
    """
    given = Path(path)
    target = Path(os.path.realpath(given))
    if target.exists() and not target.is_file():
        raise IsADirectoryError(f"{given} is a folder or a device; give the path of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} of {given} does not exist. Make it first.")
    part = target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}.part"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            os.chmod(part, target.stat().st_mode & 0o777)
        os.replace(part, target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        if isinstance(error, OSError):
            error.add_note(f"{given} was not written; what was there before is unchanged.")
        raise
    force_folder(target.parent)


def force_folder(folder: Path) -> None:
    """Force the new name of a file to the disk, where folders can be opened; the file itself is complete already."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
