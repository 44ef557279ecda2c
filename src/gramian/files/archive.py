"""Members of a model file, a zip archive. None is compressed, so that a file cannot grow when it is read."""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

from gramian.files.errors import FileError

__all__ = [
    "ARRAY",
    "HEADER",
    "SCHEMA",
    "SPARSE",
    "check_members",
    "check_regular",
    "pack",
    "read_bytes",
    "unpack",
    "unpack_parts",
]

HEADER, SCHEMA = "gramian.json", "schema.json"
ARRAY, SPARSE = re.compile(r"\d{1,20}\.npy"), re.compile(r"\d{1,20}\.npz")
# The time of every member: files of equal models are equal.
TIME = (1980, 1, 1, 0, 0, 0)


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return an archive of the members, uncompressed, in their order."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name, TIME), member)
    return content.getvalue()


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raise a FileError if the path is not a regular file, such as a device."""
    check_regular(path)
    return path.read_bytes()


def check_regular(path: Path) -> None:
    """Raise a FileError if a path is neither a file nor a folder, before it is opened: a pipe would wait."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FileError.for_file(path, "it is not a regular file")


def unpack(content: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name, after `check_members`; raise a ValueError for invalid ones."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        check_members(infos, len(content))
        return {info.filename: archive.read(info) for info in infos}


def unpack_parts(content: bytes) -> dict[str, bytes]:
    """Return the parts of a sparse matrix by name; raise a ValueError for invalid ones."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        check_sizes(infos, len(content))
        return {info.filename: archive.read(info) for info in infos}


def check_members(infos: list[zipfile.ZipInfo], size: int) -> None:
    """Raise a ValueError unless an archive of `size` bytes has members that `save` writes, and none twice."""
    for info in infos:
        name = info.filename
        if not (name in (HEADER, SCHEMA) or ARRAY.fullmatch(name) or SPARSE.fullmatch(name)):
            raise ValueError(f"it has a member {name[:80]!r}, which gramian.save does not write")
    check_sizes(infos, size)


def check_sizes(infos: list[zipfile.ZipInfo], size: int) -> None:
    """Raise a ValueError unless an archive of `size` bytes has members that `pack` writes, and none twice.

    Nothing is compressed, and the members together are not larger than the file: reading them takes no more memory
    than the file has bytes.
    """
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        raise ValueError("it has several members of one name")
    for info in infos:
        if info.flag_bits & 1 or info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"its {info.filename} is encrypted or compressed, which gramian.save does not do")
    if sum(info.file_size for info in infos) > size:
        raise ValueError("its members claim more bytes than the file has")
