"""Arrays of an `.npz` file, read without trust in what the file claims.

A file may be damaged, or made to do harm. So the header of an array is matched, never evaluated; arrays are numbers or
text, never objects; and no memory is reserved before a size was compared with a limit and with the bytes stored.
"""

from __future__ import annotations

import io
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from gramian.types import Vector

__all__ = ["read_arrays"]

MAGIC = b"\x93NUMPY"
# The bytes of the header's length, by the version of the format.
LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
LONGEST_HEADER = 10_000
HEADER = re.compile(
    r"\{\s*'descr'\s*:\s*'([<>|=]?)([biufUS])(\d{1,9})'\s*,\s*'fortran_order'\s*:\s*(True|False)\s*,"
    r"\s*'shape'\s*:\s*\(([\d, ]{0,200})\)\s*,?\s*\}\s*"
)
NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
MOST_DIMENSIONS = 3
CHUNK = 1 << 20


class Layout(NamedTuple):
    """What the header of an array says; `start` is the position of the first value in the member."""

    dtype: np.dtype
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def n_bytes(self) -> int:
        """The size of the values. Python's integers do not overflow."""
        return math.prod(self.shape) * self.dtype.itemsize


class BoundedReader(io.BufferedReader):
    """A file whose `read` reserves no more memory than the file has bytes, whatever size is asked for."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self.size = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to `size` bytes, or all if it is None or negative."""
        return super().read(self.size if size is None or size < 0 else min(size, self.size))


def read_arrays(path: Path, keys: Iterable[str], limit: Callable[[str], int]) -> dict[str, Vector]:
    """Return the arrays of a file by their keys, those of other keys left out.

    Parameters
    ----------
    path : Path
    keys : iterable of str
        The keys that are read if the file has them.
    limit : callable
        Returns the largest number of bytes that the array of a key may have.

    Raises
    ------
    Exception
        If the file is damaged. Its type depends on the damage: `zipfile` and `zlib` have their own.
    """
    with BoundedReader(path) as stream, zipfile.ZipFile(stream) as archive:
        members = find_members(archive)
        return {key: read_member(archive, members[key], key, limit(key)) for key in keys if key in members}


def find_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by their keys, which are their names without .npy."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        key = info.filename.removesuffix(".npy")
        if key in members:
            raise ValueError(f"it has the key {key!r} twice")
        members[key] = info
    return members


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, key: str, limit: int) -> Vector:
    """Return the array of one member, writable and in the byte order of this machine."""
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its {key} is encrypted, or compressed in another way than by np.savez_compressed")
    with archive.open(info) as member:
        layout = read_layout(member, key)
        claim = f"its {key} has shape {layout.shape} and type {layout.dtype}, {layout.n_bytes} bytes"
        if layout.n_bytes > limit:
            raise ValueError(f"{claim}; at most {limit} were expected")
        if info.file_size != layout.start + layout.n_bytes:
            raise ValueError(f"{claim}, but stores {info.file_size - layout.start}")
        values = np.empty(layout.n_bytes, np.uint8)
        fill(values, member, key)
    array = values.view(layout.dtype).reshape(layout.shape, order="F" if layout.fortran else "C")
    return array.astype(layout.dtype.newbyteorder("="), copy=False)


def fill(values: Vector, member: IO[bytes], key: str) -> None:
    """Fill an array of bytes from a member. Its last byte makes `zipfile` compare the checksum."""
    at = 0
    while at < len(values):
        chunk = member.read(min(CHUNK, len(values) - at))
        if not chunk:
            raise ValueError(f"its {key} ends after {at} of {len(values)} bytes")
        values[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
        at += len(chunk)
    # An empty array has nothing to read, and its checksum is compared here.
    if member.read(1):
        raise ValueError(f"its {key} has more bytes than it claims")


def read_layout(member: IO[bytes], key: str) -> Layout:
    """Return what the header of an array says, after checking that it is one that NumPy writes for numbers or text."""
    start = member.read(len(MAGIC) + 2)
    if len(start) < len(MAGIC) + 2 or not start.startswith(MAGIC) or start[-2] not in LENGTH_BYTES:
        raise ValueError(f"its {key} is not an array in NumPy's format")
    width = LENGTH_BYTES[start[-2]]
    length = int.from_bytes(member.read(width), "little")
    header = member.read(min(length, LONGEST_HEADER))
    found = HEADER.fullmatch(header.decode("latin1"))
    if len(header) < length or found is None:
        shown = header[:80].decode("ascii", "replace").strip()
        raise ValueError(f"its {key} is not an array of numbers or text, or its header is damaged: {shown!r}")
    order, kind, size, fortran, dimensions = found.groups()
    dtype = to_dtype(order, kind, int(size), key)
    return Layout(dtype, to_shape(dimensions, key), fortran == "True", len(start) + width + length)


def to_dtype(order: str, kind: str, size: int, key: str) -> Any:
    """Return the dtype of a header; text has at least one character."""
    if f"{kind}{size}" not in NUMBERS and (kind not in "US" or not 0 < size <= LONGEST_HEADER):
        raise ValueError(f"its {key} is of type {kind}{size}; expected numbers of at most 8 bytes, or text")
    return np.dtype(f"{order}{kind}{size}")


def to_shape(dimensions: str, key: str) -> tuple[int, ...]:
    """Return the shape of a header, such as "3, 4" or "3,"."""
    words = [word.strip() for word in dimensions.split(",")]
    words = words[:-1] if words[-1] == "" else words
    if len(words) > MOST_DIMENSIONS or not all(word.isdecimal() for word in words):
        raise ValueError(f"its {key} has the shape ({dimensions}); expected at most {MOST_DIMENSIONS} numbers")
    shape = tuple(int(word) for word in words)
    # An empty array has no bytes, whatever its other dimensions claim.
    if max(shape, default=0) > np.iinfo(np.int32).max:
        raise ValueError(f"its {key} has shape {shape}, which is too large")
    return shape
