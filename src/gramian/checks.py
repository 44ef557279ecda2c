"""Checks of single settings, for every layer. Errors say which argument, what came, and what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["checked_number"]


def checked_number(
    name: str, value: Any, *, least: float, integer: bool = False, strict: bool = False, below: float | None = None
) -> None:
    """A ValueError unless value is a finite number of the right kind, within its bounds."""
    kind = Integral if integer else Real
    wanted = f"{'an integer' if integer else 'a number'} {'above' if strict else 'of at least'} {least}"
    wanted += "" if below is None else f" and below {below}"
    fits = isinstance(value, kind) and not isinstance(value, bool) and np.isfinite(float(value))
    if not fits or value < least or (strict and value == least) or (below is not None and value >= below):
        raise ValueError(f"{name}={value!r} is not valid. Choose {wanted}.")
