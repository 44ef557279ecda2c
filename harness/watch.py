"""A watch over what Python does during a load: what it runs, imports, opens and starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Watch"]

# Events of Python's audit hooks that a load must not cause.
FORBIDDEN = (
    *("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pty.spawn"),
    *(
        "os.remove",
        "os.rename",
        "os.mkdir",
        "os.rmdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "os.chmod",
        "os.putenv",
    ),
    *("pickle.find_class", "marshal.loads", "ctypes.dlopen", "mmap.__new__", "shutil.rmtree", "webbrowser.open"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request", "code.__new__"),
)
LIBRARIES = ("gramian", "numpy", "scipy", "sklearn", "skops", "skrub", "pandas", "joblib", "numba", "llvmlite")


class Watch:
    """Notes what happens while a file is loaded. Python never removes an audit hook, so it rests between loads."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.events: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an event that a load must not cause."""
        if self.path is None:
            return
        if event in FORBIDDEN:
            self.events.append(f"{event}{arguments}"[:200])
        elif event == "open":
            path, mode, _ = arguments
            harmless = str(path) == str(self.path) or (
                mode in ("r", "rb") and str(path).endswith((".py", ".pyc", ".so"))
            )
            if not harmless:
                self.events.append(f"open{arguments}"[:200])
        elif event == "import" and arguments[0].partition(".")[0] not in (*LIBRARIES, *sys.stdlib_module_names):
            self.events.append(f"import of {arguments[0]}")
        elif event == "exec" and not is_library(getattr(arguments[0], "co_filename", "")):
            self.events.append(f"exec of {getattr(arguments[0], 'co_filename', '?')}")

    @contextmanager
    def during_load_of(self, path: Path) -> Iterator[None]:
        """Watch while a file is loaded."""
        self.events, self.path = [], path
        try:
            yield
        finally:
            self.path = None

    def seen(self) -> list[str]:
        """Return what happened that must not."""
        return self.events


def is_library(filename: str) -> bool:
    """Return True for code of an installed library, which runs when it is imported."""
    return any(f"/{name}/" in filename for name in LIBRARIES) or filename.startswith("<frozen")
