"""How a contract fails: an AssertionError that names the identity, the numbers and what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["require", "require_close"]


def require(holds: Any, identity: str, numbers: str, meaning: str) -> None:
    """Raise an AssertionError that names the identity, its numbers and their meaning, unless the identity holds."""
    if not holds:
        raise AssertionError(f"Identity broken: {identity}.\nNumbers: {numbers}.\nMeaning: {meaning}")


def require_close(
    identity: str, found: Any, expected: Any, meaning: str, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Raise an AssertionError unless |found - expected| <= atol + rtol |expected|, element by element."""
    found, expected = np.asarray(found), np.asarray(expected)
    shapes = f"found shape {found.shape}, expected shape {expected.shape}"
    require(found.shape == expected.shape, identity, shapes, meaning)
    with np.errstate(invalid="ignore"):
        difference = np.abs(found - expected)
        wrong = ~(difference <= atol + rtol * np.abs(expected))
    if not wrong.any():
        return
    worst = np.unravel_index(np.argmax(np.where(wrong, np.nan_to_num(difference, nan=np.inf), -1)), found.shape)
    where = f" at {tuple(int(i) for i in worst)}, {wrong.sum()} of {wrong.size} entries wrong" if found.shape else ""
    numbers = f"found {found[worst]:.8g}, expected {expected[worst]:.8g}, rtol {rtol:.1e}, atol {atol:.1e}{where}"
    require(False, identity, numbers, meaning)
