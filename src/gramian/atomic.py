"""Files that are replaced as a whole, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["expand_home", "follow_link", "part_prefix", "replace_file"]


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Yield the stream of a temporary file in the same folder, which then takes the place of the file.

    Its content is forced to the disk before. A link stays a link, and a file that was there leaves its permissions. If
    an exception is raised, what was there is unchanged, and no temporary file stays.
    """
    target = follow_link(path)
    part = target.with_name(f"{part_prefix(target)}{secrets.token_hex(8)}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            os.chmod(part, target.stat().st_mode & 0o777)
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise
    force_folder(target.parent)


def expand_home(path: str | os.PathLike[str]) -> Path:
    """Return a path in which ~ or ~user, at its beginning, is the home folder; a user that is not known stays."""
    return Path(os.path.expanduser(path))


def follow_link(path: Path) -> Path:
    """Return the target of a link; the path itself if it is none."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def part_prefix(path: Path) -> str:
    """Return the first characters of the names of temporary files of a file; the last ones are ".part".

    Those of two files differ, also where their names are long and alike at first.
    """
    name = path.name
    short = name if len(name) <= 100 else f"{name[:80]}{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return f".{short}.~"


def force_folder(folder: Path) -> None:
    """Force the new name of a file to the disk, where folders can be opened; the file itself is complete already."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
