"""Ctrl-C in a command: it is noticed also where compiled code loses the exception."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["noticing_interrupts"]


@contextmanager
def noticing_interrupts() -> Iterator[list[int]]:
    """Return a context manager whose value lists the numbers of the signals of Ctrl-C that came in it.

    KeyboardInterrupt is raised as usual. Inside a callback of compiled code, as of the compiler that numba uses, Python
    prints the exception and drops it, and another error follows. The list tells that Ctrl-C was the cause. The dropped
    exception is not printed.
    """
    seen: list[int] = []
    # Only the main thread may set handlers of signals.
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def raise_interrupt(number: int, frame: Any) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    def report_unless_interrupt(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            hook(dropped)

    hook, handler = sys.unraisablehook, signal.signal(signal.SIGINT, raise_interrupt)
    sys.unraisablehook = report_unless_interrupt
    try:
        yield seen
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, handler)
