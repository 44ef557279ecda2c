"""What a fit is made of, in words and hashes that can be compared: its data and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["describe", "differences", "hash_array", "hash_texts"]

#: The number of bytes of an array that are hashed at a time: one that is memory-mapped is never read as a whole.
BLOCK = 1 << 24


def describe(value: Any) -> Any:
    """Return what a value is, as JSON can store it: arrays by dtype, shape and hash, objects by class and fields.

    An object that is no dataclass is described by its class, or its name if it is a function.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hash_array(value)}"
    if scipy.sparse.issparse(value):
        parts = [hash_array(part) for part in (value.data, value.indices, value.indptr)]
        return f"sparse {value.dtype} {value.shape} {' '.join(parts)}"
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: describe(getattr(value, field.name)) for field in fields(value)}
        return {"class": type(value).__qualname__, **own}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        # Samples on workers are hashed there.
        hashes = [value.fingerprint] if hasattr(value, "fingerprint") else []
        return " ".join([type(value).__qualname__, str(value.dtype), str(tuple(value.shape)), *hashes])
    return getattr(value, "__qualname__", type(value).__qualname__)


def hash_array(array: np.ndarray) -> str:
    """Return a hash of the entries of an array, in the order of C."""
    found = blake2b(digest_size=12)
    if array.dtype.hasobject:
        found.update(repr(array.tolist()).encode())
        return found.hexdigest()
    rows = array.reshape(1) if array.ndim == 0 else array
    length = max(1, BLOCK // max(rows[:1].nbytes, 1))
    for start in range(0, len(rows), length):
        found.update(np.ascontiguousarray(rows[start : start + length]).view(np.uint8).data)
    return found.hexdigest()


def hash_texts(texts: Iterable[str]) -> str:
    """Return a hash of some texts, in their order."""
    return blake2b("\n".join(texts).encode(), digest_size=12).hexdigest()


def differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Return sentences that say which parts of two descriptions differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [*before, *(key for key in now if key not in before)]
        prefix = f"{name}." if name else ""
        found = [differences(before.get(key), now.get(key), f"{prefix}{key}") for key in keys]
        return [sentence for part in found for sentence in part]
    same = before == now or (before != before and now != now)
    return [] if same else [f"{name} was {before!r} and is {now!r}"]
