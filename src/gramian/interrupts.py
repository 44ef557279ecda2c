"""Ctrl-C in a minimisation: the first ends it at the best point so far, a second one is raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

__all__ = ["INTERRUPTED", "interrupts_raised", "may_end_quietly"]

#: The message of a minimisation that ended so.
INTERRUPTED = "interrupted by Ctrl-C"

#: A second Ctrl-C within this number of seconds is raised, so that a program with many fits can be ended.
SECONDS = 3.0
_raised: ContextVar[bool] = ContextVar("gramian_interrupts_raised", default=False)
_last: list[float] = []


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Return a context manager in which Ctrl-C is raised at once, as around fits that are a part of something larger.

    Examples
    --------
    >>> from gramian.interrupts import interrupts_raised, may_end_quietly
    >>> with interrupts_raised():
    ...     may_end_quietly()
    False
    """
    token = _raised.set(True)
    try:
        yield
    finally:
        _raised.reset(token)


def may_end_quietly() -> bool:
    """Return True if a Ctrl-C that came just now ends a minimisation; False if it is to be raised."""
    if _raised.get():
        return False
    now = monotonic()
    second = bool(_last) and now - _last[-1] < SECONDS
    _last[:] = [now]
    return not second
