"""Mistakes of users: each is reported in a sentence or two, without a traceback."""

from __future__ import annotations

import errno
from pathlib import Path

__all__ = ["Mistake", "check_folder", "explain", "words_of"]


class Mistake(Exception):
    """Something the user can mend: the message says what, where, and what to do."""


def check_folder(path: Path, *inputs: Path | None, option: str = "--out") -> None:
    """Raise a Mistake unless a file can be made at the path: better before a long fit than after it.

    It must not take the place of one of the `inputs`, files that are read.
    """
    folder = path.absolute().parent
    for other in inputs:
        if other is not None and other.resolve() == path.resolve():
            raise Mistake(f"{option} {path} is the file that is read: it would be replaced. Choose another name.")
    if path.is_dir():
        raise Mistake(f"{option} {path} is a folder. Give the name of a file in it.")
    if not folder.is_dir():
        raise Mistake(f"The folder {folder} of {option} {path} does not exist. Make it first: mkdir -p {folder}")
    probe = folder / f".{path.name}.writable"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Mistake(f"{option} {path} cannot be written: {error.strerror}. Choose another folder.") from error


def words_of(error: Exception) -> str:
    """Return the words of an error on a file of arrays, without NumPy's advice on how to load pickles."""
    return "it holds no plain arrays" if "pickle" in str(error) else str(error).rstrip(".")


def explain(error: Exception) -> str:
    """Return what went wrong as a sentence, with what to do where that is known."""
    notes = " ".join(getattr(error, "__notes__", []))
    if isinstance(error, Mistake):
        return str(error)
    if isinstance(error, MemoryError):
        return "The memory of this machine is too small. Give fewer rows by --max-rows, or use --stream."
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return (
                f"The disk is full: {error.filename or 'a file'} was not written. Free some space, or write elsewhere."
            )
        if error.errno == errno.EACCES or error.errno == errno.EPERM:
            return f"{error.filename or error} may not be read or written: permission denied. Choose another path."
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{where}. {notes}".strip()
    text = str(error).strip() or type(error).__name__
    return f"{text} {notes}".strip()
