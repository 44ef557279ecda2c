"""JSON files of results: written atomically, one row a line, and read with an error that names the file."""

from __future__ import annotations

import json
import os
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["format_json", "read_json", "to_plain", "write_json", "write_text"]


def write_text(file: Path, text: str) -> None:
    """Write a file atomically: a reader finds the old text or the new one, never a part of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def write_json(file: Path, value: Any) -> None:
    """Write a value as JSON, atomically, in the layout of `format_json`."""
    write_text(file, format_json(to_plain(value)) + "\n")


def read_json(file: Path, advice: str) -> Any:
    """Return the value in a JSON file.

    Raises
    ------
    ValueError
        If the file is damaged; the message names the file and ends with `advice`.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} cannot be read: {error}. {advice}") from error


def format_json(value: Any, depth: int = 0) -> str:
    """Return JSON whose rows take one line each, so that a diff shows which rows changed.

    A row is a dict in a list; it starts at the margin. Entries of other dicts take a line each, indented by their
    depth. All other lists take one line.
    """
    if isinstance(value, dict) and value:
        space = " " * (depth + 1)
        entries = [f"{space}{encode(name)}: {format_json(entry, depth + 1)}" for name, entry in value.items()]
        return "{\n" + ",\n".join(entries) + f"\n{' ' * depth}}}"
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        return "[\n" + ",\n".join(encode(row) for row in value) + "\n]"
    return encode(value)


def encode(value: Any) -> str:
    """Return JSON on one line, with letters such as λ as they are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def to_plain(value: Any) -> Any:
    """Return a value as JSON holds it.

    NumPy numbers and arrays become Python numbers and lists, tuples become lists, NaN and infinity become None.
    """
    if isinstance(value, dict):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_plain(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{value!r} is a {type(value).__name__}. Rows and cases are numbers, text, lists and dicts.")
