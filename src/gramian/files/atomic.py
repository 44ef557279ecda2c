"""Writes that either succeed or leave what was there before."""

from __future__ import annotations

import os

from gramian.atomic import expand_home, follow_link, replace_file

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that a reader, or a failure at any moment, finds the old content or the new one.

    A link stays a link. Raises an OSError if the folder is missing, may not be written to, or is full; what was there
    is then unchanged, and no temporary file stays.
    """
    given = expand_home(path)
    target = follow_link(given)
    if target.exists() and not target.is_file():
        raise IsADirectoryError(f"{given} is a folder or a device; give the path of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} of {given} does not exist. Make it first.")
    try:
        with replace_file(target) as stream:
            stream.write(content)
    except OSError as error:
        error.add_note(f"{given} was not written; what was there before is unchanged.")
        raise
