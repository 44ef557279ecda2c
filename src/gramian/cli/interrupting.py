"""Ctrl-C in a command: it is noticed also where compiled code loses the exception."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["noticing_interrupts"]

#: An interruption that was dropped is repeated after this number of seconds, when the callback that lost it has ended.
SECONDS = 0.1


@contextmanager
def noticing_interrupts() -> Iterator[list[int]]:
    """Return a context manager whose value lists the numbers of the signals of Ctrl-C that came in it.

    KeyboardInterrupt is raised as usual. Inside a callback of compiled code, as of the compiler that numba uses, Python
    prints the exception and drops it. Then another error follows, and the list tells that Ctrl-C was its cause; or the
    program goes on, and the interruption is repeated. The dropped exception is not printed.
    """
    seen: list[int] = []
    # Only the main thread may set handlers of signals.
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return
    ended = threading.Event()
    repetitions: list[threading.Timer] = []

    def raise_interrupt(number: int, frame: Any) -> None:
        if not ended.is_set():
            seen.append(number)
            raise KeyboardInterrupt

    def repeat_interrupt(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            hook(dropped)
        elif not ended.is_set():
            repetitions.append(threading.Timer(SECONDS, _thread.interrupt_main))
            repetitions[-1].start()

    hook, handler = sys.unraisablehook, signal.signal(signal.SIGINT, raise_interrupt)
    sys.unraisablehook = repeat_interrupt
    try:
        yield seen
    finally:
        ended.set()
        for repetition in repetitions:
            repetition.cancel()
            repetition.join()
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, handler)
