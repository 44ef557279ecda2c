"""The decorator that compiles every kernel.

- `nogil=True`: a kernel reads and writes arrays only, never Python objects, so it releases the GIL. Threads that work
  on different blocks of data then run at the same time. Two threads must not give a kernel the same array to write to.
- `fastmath={"reassoc", "contract"}`: sums may be reordered and products fused, which lets loops use vector
  instructions. The other fast-math flags would assume that there is no NaN or infinity, and kernels test for both.
- `error_model="numpy"`: a division by zero gives infinity or NaN, as in NumPy, not an exception.

The machine code is kept on disk, so a kernel is compiled once per machine, not once per process. numba's own
`cache=True` fails where no folder is writable, and on damaged files; the caches here do not.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from weakref import WeakSet

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
SEAL = hashlib.sha256
SEAL_BYTES = SEAL().digest_size


#: Objects with a method `note(text)`, which is called before every long compilation; they are held weakly.
WATCHERS: WeakSet[Any] = WeakSet()


def compiled(function: Callable) -> Any:
    """Return a kernel: a function of arrays that is compiled at its first call for each combination of dtypes."""
    return compiled_slowly(0)(function)


def compiled_slowly(seconds: float) -> Callable[[Callable], Any]:
    """Return a decorator for a kernel that takes a number of seconds to compile; 1 or more are announced."""

    def decorate(function: Callable) -> Any:
        kernel = njit(**OPTIONS)(function)
        # With NUMBA_DISABLE_JIT=1 the kernel is the function itself.
        if hasattr(kernel, "enable_caching"):
            kernel._cache = find_cache(function)
            kernel._cache.announcement = Announcement(function.__name__, seconds)
        return kernel

    return decorate


class Announcement(NamedTuple):
    """What is reported when a kernel is about to be compiled."""

    name: str = ""
    seconds: float = 0.0

    def make(self, sig: Any) -> None:
        """Log that a kernel is compiled for the types of a signature, and tell the watchers."""
        if self.seconds < 1:
            return
        dtype = "float32" if "float32" in str(sig) else "float64"
        text = f"compiling {self.name} for {dtype}, once: about {self.seconds:.0f} s"
        logging.getLogger("gramian").info(text)
        for watcher in list(WATCHERS):
            watcher.note(text)


def helper(function: Callable) -> Any:
    """Return a function that kernels call, and Python does not: without the code that converts Python's arguments.

    Its machine code is part of that of the kernels. It is inlined: a call hands over every array as seven numbers and
    counts a reference to it, which takes longer than the short loops inside.
    """
    return njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)(function)


def find_cache(function: Callable) -> SealedCache | NoCache:
    """Return the cache of a function on disk, or one that keeps nothing if no folder for it is writable."""
    try:
        return SealedCache(function)
    except (RuntimeError, OSError) as error:
        return NoCache(error)


class SealedCache(FunctionCache):
    """numba's cache on disk, where damaged files count as missing and a failed write is a warning."""

    announcement = Announcement()

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file: Any = SealedFile(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None if there is none that can be used."""
        try:
            found = super().load_overload(sig, target_context)
        except Exception:
            # An intact file of another build of numba or LLVM: compile again.
            found = None
        if found is None:
            self.announcement.make(sig)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the machine code for a signature."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warn_once(error)


class SealedFile(IndexDataCacheFile):
    """The files of a cache, each of which ends with a digest of what is before it.

    numba unpickles a file and runs the machine code in it. One that was cut, or changed by a bad disk, would end the
    process. Unpickling ignores what follows a pickle, so numba still reads these files.
    """

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + SEAL(content.getvalue()).digest())

    def _load_index(self) -> dict:
        return super()._load_index() if is_intact(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not is_intact(self._data_path(name)):
            # To the caller, an OSError is a file that was removed: it compiles again and replaces the file.
            raise OSError(f"{name} is damaged")
        return super()._load_data(name)


class NoCache(NullCache):
    """A cache that keeps nothing, and warns when the first kernel is compiled."""

    announcement = Announcement()

    def __init__(self, cause: Exception) -> None:
        self.cause = cause

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Return None: there is nothing."""
        self.announcement.make(sig)

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Warn that the machine code is lost with this process."""
        warn_once(self.cause)


def is_intact(path: str) -> bool:
    """Return True if a file ends with the digest of what is before it."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return False
    return SEAL(content[:-SEAL_BYTES]).digest() == content[-SEAL_BYTES:]


def warn_once(cause: Exception) -> None:
    """Warn, once in a process, that machine code cannot be stored."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"Compiled kernels cannot be stored, so every process compiles them again, which takes seconds: {cause}. "
            "Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
            RuntimeWarning,
            stacklevel=3,
        )


_warned = False
