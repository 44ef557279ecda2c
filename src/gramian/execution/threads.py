"""Blocks and pieces of blocks shared out over threads, one BLAS thread in each."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, cached_property, partial
from threading import Lock, local
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from gramian.checks import check_number
from gramian.execution.execution import Shards, Work, sum_totals

__all__ = ["ThreadTeam", "Threads", "one_blas_thread", "threads_of_process"]

# Work that takes a processor fewer seconds is done before another thread has woken up; and fewer than these, before it
# is handed over to a thread that is idle while the calling one is busy with a larger block.
SHORT, SHORTEST = 6e-4, 1e-4
# On Windows the processor's time of a thread has ticks of 16 ms.
clock = perf_counter if sys.platform == "win32" else thread_time


class Threads:
    """Works on several blocks, or several pieces of one block, at a time.

    Products and compiled kernels release Python's lock. The cut into pieces does not depend on the number of threads,
    and sums are taken in the order of the pieces: every number of threads gives the same bits.

    Parameters
    ----------
    n : int
        The number of threads; -1 for one per core, -2 for all cores but one.

    Examples
    --------
    >>> from gramian.execution import Threads
    >>> def double(block, *, factor):
    ...     return factor * block, block
    >>> execution = Threads(2)
    >>> execution.run(double, execution.place([1, 2, 3]), factor=2)
    ([2, 4, 6], 6)
    """

    #: What is held beside the blocks is in the memory of this process.
    local = True

    def __init__(self, n: int = -1) -> None:
        check_number("n", n, least=-(2**31), integer=True)
        if n == 0:
            raise ValueError("n=0 leaves no thread to work. Choose 1 or more, or -1 for one a core.")
        self.n = n
        self._pool: Pool | None = None

    def __repr__(self) -> str:
        return f"Threads({self.n})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Threads) and other.n == self.n

    def __hash__(self) -> int:
        return hash((Threads, self.n))

    def __getstate__(self) -> dict[str, Any]:
        return {"n": self.n, "_pool": None}

    @property
    def pool(self) -> Pool | None:
        """The threads, started when first needed; None where one is enough, the calling one."""
        if self._pool is None or self._pool.process != os.getpid():
            others = effective_n_jobs(self.n) - 1
            self._pool = Pool(others) if others else None
        return self._pool

    @cached_property
    def durations(self) -> Durations:
        """The seconds of work on blocks beside larger ones."""
        return Durations(SHORTEST)

    @cached_property
    def postponed(self) -> Postponed:
        """The small blocks that wait until threads are idle."""
        return Postponed()

    def place(self, blocks: Sequence[Any]) -> Shards:
        """Return the blocks; those that are worked on in pieces share them out over these threads."""
        return [block.shared(ThreadTeam(self)) if hasattr(block, "shared") else block for block in blocks]

    def run(self, work: Work, shards: Shards, *held: Shards, **small: Any) -> tuple[Shards, Any]:
        """Run work on every block; return what stays beside each, and the sum of the totals."""
        items = list(zip(shards, *held, strict=True))
        # A block that shares its own pieces out stays in the calling thread: it must not wait inside the pool.
        here = [i for i, item in enumerate(items) if getattr(item[0], "in_pieces", False)]
        with one_blas_thread():
            results = self.share(partial(work, **small), items, here, self.durations if here else None)
        return [kept for kept, _ in results], sum_totals(total for _, total in results)

    def share(
        self,
        function: Callable[..., Any],
        items: list[Any],
        here: Sequence[int] = (),
        durations: Durations | None = None,
    ) -> list[Any]:
        """Return function(*item) for every item, in their order; those numbered in `here` stay in the calling thread.

        The calling thread takes items from the front and the others from the back. So each meets much the same items
        every time. Small blocks beside one that stays in the calling thread are for threads that find no more pieces of
        it; if it is not shared out, they come after it. Work that was short the last time, by its `durations`, stays in
        the calling thread: seconds decide where work is done, never what comes out.
        """
        pool = self.pool if len(items) > 1 else None
        if pool is None:
            return [function(*item) for item in items]
        durations = Durations() if durations is None else durations
        if durations.is_short(function):
            return durations.time(function, items, here)
        sharing = Sharing(function, items, deque(i for i in range(len(items)) if i not in here))
        try:
            if here:
                self.postponed.waiting.append(sharing)
            else:
                sharing.hand_over(pool)
                while self.postponed.waiting:
                    self.postponed.waiting.pop().hand_over(pool)
            for i in here:
                sharing.do(i)
            if sharing in self.postponed.waiting and len(sharing.waiting) > 1:
                sharing.hand_over(pool)
            sharing.work_off(sharing.waiting.popleft)
        finally:
            # After an interruption, no thread goes on with what the caller has left.
            sharing.waiting.clear()
            if sharing in self.postponed.waiting:
                self.postponed.waiting.remove(sharing)
            begun = wait_for([future for future in sharing.futures if not future.cancel()])
        for future in begun:
            future.result()
        durations.note(function, sharing.seconds)
        return sharing.outcome()


class Postponed(local):
    """What a thread has begun to share out, and does not hand over to others yet."""

    def __init__(self) -> None:
        self.waiting: list[Sharing] = []


class Pool(ThreadPoolExecutor):
    """Threads of one process: one that is forked off has none of them."""

    def __init__(self, count: int) -> None:
        super().__init__(count, thread_name_prefix="gramian")
        self.count, self.process = count, os.getpid()


def wait_for(futures: list[Future]) -> list[Future]:
    """Wait until all futures have ended, and return them. An interruption is raised after that."""
    try:
        for future in futures:
            future.exception()
    except BaseException:
        wait(futures)
        raise
    return futures


class Durations:
    """The seconds that work took the last time, by its function, summed over the items that threads may take.

    Parameters
    ----------
    least : float, optional
        Work of fewer seconds stays in the calling thread; SHORT by default.
    """

    def __init__(self, least: float | None = None) -> None:
        self.least = SHORT if least is None else least
        self._seconds: dict[Any, float] = {}

    def is_short(self, function: Callable[..., Any]) -> bool:
        """Return True if the work is known to take less than the least time."""
        return self._seconds.get(getattr(function, "func", function), np.inf) < self.least

    def time(self, function: Callable[..., Any], items: list[Any], left_out: Sequence[int]) -> list[Any]:
        """Return function(*item) for every item, and remember its seconds, without those of the items left out."""
        results, seconds = [], 0.0
        for i, item in enumerate(items):
            begin = clock()
            results.append(function(*item))
            if i not in left_out:
                seconds += clock() - begin
        self.note(function, seconds)
        return results

    def note(self, function: Callable[..., Any], seconds: float) -> None:
        """Remember the seconds of a function; of a `partial`, those of what it calls."""
        self._seconds[getattr(function, "func", function)] = seconds


class Sharing:
    """Items that several threads work off, with the results and failures so far.

    Parameters
    ----------
    function : callable
        It is called with the parts of an item.
    items : list of tuple
    waiting : deque of int
        The numbers of the items that a thread may take.
    """

    def __init__(self, function: Callable[..., Any], items: list[Any], waiting: deque[int]) -> None:
        self.function, self.items, self.waiting = function, items, waiting
        self.results: list[Any] = [None] * len(items)
        self.failures: dict[int, Exception] = {}
        self.errors = np.geterr()
        self.seconds = 0.0
        self.futures: list[Future] = []

    def hand_over(self, pool: Pool) -> None:
        """Let idle threads of a pool work on the items that are waiting."""
        for _ in range(min(pool.count, len(self.waiting))):
            self.futures.append(pool.submit(self.work_off, self.waiting.pop))

    def do(self, i: int) -> None:
        """Work on one item. Those before a failure are worked on still, so that the first failure is known."""
        if self.failures and i > min(self.failures):
            return
        try:
            self.results[i] = self.function(*self.items[i])
        except Exception as error:
            self.failures[i] = error

    def work_off(self, take: Callable[[], int]) -> None:
        """Work on items until none is waiting, under the calling thread's treatment of floating-point errors."""
        begin = clock()
        with np.errstate(**self.errors):
            while self.waiting:
                try:
                    i = take()
                except IndexError:  # another thread has taken the last one
                    break
                self.do(i)
        self.seconds += clock() - begin

    def outcome(self) -> list[Any]:
        """Return the results in the order of the items, or raise the failure that comes first in this order."""
        if not self.failures:
            return self.results
        error, self.failures = self.failures[min(self.failures)], {}
        try:
            raise error
        finally:
            del error  # else its traceback would keep the items alive


class ThreadTeam:
    """Shares the pieces of one block out over threads."""

    def __init__(self, threads: Threads) -> None:
        self.threads, self._durations = threads, Durations()

    def map(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Return function(a, b, ...) for the items of the arguments, in their order."""
        return self.threads.share(function, list(zip(*arguments, strict=False)), durations=self._durations)


@cache
def blas() -> ThreadpoolController:
    """Return the controller of the BLAS libraries of NumPy and SciPy; finding them takes a millisecond."""
    import scipy.linalg  # noqa: F401 (SciPy loads its own when first needed)

    return ThreadpoolController()


def count_blas_threads() -> int:
    """Return the number of threads that BLAS uses, the largest of its libraries; 1 if none is known."""
    return max((each.num_threads for each in blas().select(user_api="blas").lib_controllers), default=1)


def threads_of_process() -> int:
    """Return the number of threads that BLAS may use, by the environment or threadpoolctl, but not more than cores.

    Examples
    --------
    >>> from threadpoolctl import threadpool_limits
    >>> from gramian.execution.threads import threads_of_process
    >>> with threadpool_limits(1):
    ...     threads_of_process()
    1
    """
    return min(LIMIT.before, effective_n_jobs(-1))


def one_blas_thread() -> BlasLimit:
    """Return a context in which BLAS uses one thread.

    Examples
    --------
    >>> from gramian.execution import one_blas_thread
    >>> with one_blas_thread():
    ...     total = sum(range(3))
    >>> total
    3
    """
    return LIMIT


class BlasLimit:
    """A context in which BLAS uses one thread, until the last of those who entered it has left.

    To set and restore the number takes as long as an evaluation on some hundred samples; to enter again is free.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limiter: Any = None
        self._before = 1

    @property
    def before(self) -> int:
        """The number of threads that BLAS uses outside of the context."""
        with self._lock:
            return self._before if self._inside else count_blas_threads()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = count_blas_threads()
                self._limiter = blas().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            # A process that was forked off inside of the context has left it already.
            self._inside = max(self._inside - 1, 0)
            if self._inside == 0 and self._limiter is not None:
                self._limiter.restore_original_limits()

    def reset(self) -> None:
        """Leave the context in a process that is forked off: those who entered it are in the other one."""
        inside, self._lock, self._inside = self._inside, Lock(), 0
        if inside and self._limiter is not None:
            self._limiter.restore_original_limits()


LIMIT = BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LIMIT.reset)
