"""The error of files that cannot be used."""

from __future__ import annotations

from os import PathLike
from typing import Any

__all__ = ["FileError"]


class FileError(ValueError):
    """Raised if a model cannot be stored safely, or if a file is damaged, of a newer format, or unsafe.

    Nothing in such a file was run, and nothing was written. The message names the file or the part of the model, what
    is wrong, and what to do.

    Examples
    --------
    >>> import gramian
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.skops"
    ...     _ = path.write_bytes(b"half a file")
    ...     try:
    ...         gramian.load(path)
    ...     except gramian.files.FileError as error:
    ...         print(str(error).removeprefix(folder))
    /model.skops cannot be loaded: File is not a zip file. It is damaged, or was not written by gramian.save.
    """

    @classmethod
    def for_file(cls, path: str | PathLike[str], cause: object, advice: str = "") -> FileError:
        """Return the error for a file, with its cause and what to do."""
        advice = advice or "It is damaged, or was not written by gramian.save."
        return cls(f"{path} cannot be loaded: {words_of(cause)}. {words_of(advice)}.")


def words_of(cause: Any) -> str:
    """Return the words of an error, without a full stop; its type if it has none.

    A file may hold characters that would control a terminal: they are left out.
    """
    words = (str(cause).strip() or type(cause).__name__).rstrip(". ")[:500]
    return "".join(letter if letter.isprintable() else " " for letter in words)
