"""Files of arrays that are written row by row, and are put in place when all of them are complete."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

__all__ = ["Parts"]

#: What a file system says that cannot reserve space: it is written without.
UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
#: What it says if there is no room.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Parts:
    """The .npy files of one copy in a folder; a context after which there are all of them, or none.

    Rows are written, not mapped: a write to a full disk raises an error, where one to mapped memory kills the process.

    Parameters
    ----------
    folder : Path
        A folder that exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_bytes = 0
        self._placed: list[Path] = []
        self._written: list[Path] = []

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for path in [*self._written, *(self._placed if error is not None else [])]:
            path.unlink(missing_ok=True)

    def write(self, name: str, dtype: np.dtype, shape: tuple[int, ...], rows: Iterable[np.ndarray]) -> None:
        """Write an array, given by consecutive rows, to a part; its space is reserved first, where that is possible."""
        part = self.folder / f"{name}.part"
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        size = int(np.prod(shape)) * dtype.itemsize
        try:
            with open(part, "wb") as file:
                self._written.append(part)
                np.lib.format.write_array_header_1_0(file, header)
                start = file.tell()
                self.n_bytes += start + size
                reserve(file, start + size)
                for each in rows:
                    file.write(np.ascontiguousarray(each, dtype).data)
                file.flush()
                if file.tell() != start + size:
                    raise ValueError(f"the table has another number of rows than {shape[0]}: it changed meanwhile.")
                os.fsync(file.fileno())
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise OSError(
                error.errno,
                f"the copy of the table needs at least {self.n_bytes:,} bytes in {self.folder}: {error.strerror}. "
                "Make room, or choose another folder. Nothing was left behind",
            ) from error

    def put_in_place(self, names: Sequence[str]) -> None:
        """Give the parts their names, in this order."""
        for name in names:
            os.replace(self.folder / f"{name}.part", self.folder / name)
            self._placed.append(self.folder / name)


def reserve(file: BinaryIO, size: int) -> None:
    """Reserve `size` bytes for a file, where the system can; raise an OSError if there is no room."""
    if not hasattr(os, "posix_fallocate"):
        return
    file.flush()
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
