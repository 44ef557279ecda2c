"""Checks of the arrays in a model file, before NumPy or SciPy reads them."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import numpy as np
import scipy.sparse

from gramian.checks import check_csr
from gramian.datasets.archive import Layout, read_layout
from gramian.files.archive import pack
from gramian.types import Vector

__all__ = ["check_array", "check_sparse", "repack_sparse"]

LONGEST_HEADER = 10_000
# The nodes of the trees of scikit-learn's nearest neighbours are the one type that has fields.
FIELDS = re.compile(
    r"\{'descr': \[\('idx_start', '<i8'\), \('idx_end', '<i8'\), \('is_leaf', '<i8'\), \('radius', '<f8'\)\], "
    r"'fortran_order': False, 'shape': \((\d{1,18}),\), \} *\n"
)
# Times are integers; in the header the type of these takes their place, with spaces up to the same length.
TIMES = re.compile(rb"'<[Mm]8\[(ns|us|ms|s|m|h|D)\]'")
PARTS = {"data.npy", "indices.npy", "indptr.npy", "format.npy", "shape.npy"}
#: The formats of sparse matrices that can be stored.
FORMATS = ("csr", "csc")


def check_array(member: bytes, name: str) -> Vector:
    """Return the array of a member in NumPy's format; raise a ValueError if it is damaged, or holds objects.

    Its header is matched, never evaluated, and its size is that of the member.
    """
    layout = fields_layout(member) or read_layout(io.BytesIO(plain_header(member)), name)
    if len(member) != layout.start + layout.n_bytes:
        raise ValueError(
            f"its {name} has shape {layout.shape} and type {layout.dtype}, {layout.n_bytes} bytes, but stores "
            f"{len(member) - layout.start}"
        )
    values = np.frombuffer(member, np.uint8, layout.n_bytes, layout.start)
    # Other bytes are neither False nor True, and other numbers are no characters.
    if layout.dtype.kind == "b" and (values > 1).any():
        raise ValueError(f"its {name} has values that are neither True nor False")
    array = values.view(layout.dtype).reshape(layout.shape, order="F" if layout.fortran else "C")
    if layout.dtype.kind == "U":
        codes = values.view(np.dtype(np.uint32).newbyteorder(layout.dtype.byteorder))
        if (codes > sys.maxunicode).any():
            raise ValueError(f"its {name} is not text")
    return array


def plain_header(member: bytes) -> bytes:
    """Return the header of an array, in which times are integers."""
    return TIMES.sub(lambda found: b"'<i8'".ljust(len(found[0])), member[: LONGEST_HEADER + 12])


def fields_layout(member: bytes) -> Layout | None:
    """Return the layout of an array of tree nodes, or None if it is another array."""
    start = 10 + int.from_bytes(member[8:10], "little")
    found = FIELDS.fullmatch(member[10 : min(start, LONGEST_HEADER)].decode("latin1"))
    if not member.startswith(b"\x93NUMPY\x01\x00") or found is None:
        return None
    kinds = [("idx_start", "<i8"), ("idx_end", "<i8"), ("is_leaf", "<i8"), ("radius", "<f8")]
    return Layout(np.dtype(kinds), (int(found[1]),), False, start)


def check_sparse(members: dict[str, bytes], name: str) -> None:
    """Raise a ValueError unless the members of a sparse matrix fit together: SciPy reads where its indices point."""
    if not members.keys() >= PARTS or not members.keys() <= {*PARTS, "_is_array.npy"}:
        raise ValueError(f"its {name} has the members {', '.join(sorted(members))[:200]}; expected a sparse matrix")
    parts = {key.removesuffix(".npy"): check_array(member, f"{name}: {key}") for key, member in members.items()}
    kind, shape = parts["format"], parts["shape"]
    if kind.shape != () or kind.dtype.kind not in "SU" or as_text(kind.item()) not in FORMATS:
        raise ValueError(f"its {name} is a sparse matrix of another format than {' or '.join(FORMATS)}")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or any(parts[i].dtype.kind != "i" for i in INDICES):
        raise ValueError(f"its {name} has a shape or indices that are not integers")
    rows = tuple(int(size) for size in (shape if as_text(kind.item()) == "csr" else shape[::-1]))
    check_csr(parts["data"], parts["indices"], parts["indptr"], rows, prefix=f"its {name}: ")


INDICES = ("indices", "indptr")


def as_text(value: Any) -> str:
    """Return text that may be stored as bytes."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def repack_sparse(member: bytes, name: str) -> bytes:
    """Return a sparse matrix as SciPy stores it, uncompressed."""
    with np.load(io.BytesIO(member), allow_pickle=False) as stored:
        parts = {f"{key}.npy": to_npy(stored[key]) for key in stored.files}
    if "format.npy" not in parts or as_text(scipy.sparse.load_npz(io.BytesIO(member)).format) not in FORMATS:
        raise ValueError(f"{name} is a sparse matrix of another format than {' or '.join(FORMATS)}. Convert it.")
    return pack(parts)


def to_npy(array: Vector) -> bytes:
    """Return an array in NumPy's format."""
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getvalue()
