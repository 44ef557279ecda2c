"""Blocks of data on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from gramian.execution.execution import Shards, Work, sum_totals
from gramian.execution.serial import Serial
from gramian.execution.threads import one_blas_thread

__all__ = ["Dask", "Held", "Placed", "Traffic", "count_bytes"]

#: Blocks of the driver are placed in at most so many shards: their number must not depend on that of the workers.
MOST_SHARDS = 16
#: So many totals are added on a worker before the driver asks for them.
FAN_IN = 8
#: Small arguments of up to so many bytes are part of each task, of up to the second so many are one task, which can be
#: repeated after the loss of a worker. Larger ones are copied to all workers.
PER_TASK, ONE_TASK = 2**15, 2**20
#: The scheduler keeps blocks of the driver of up to so many bytes in all, and sends them again after a loss.
KEPT_BY_SCHEDULER = 2**28
MISSING = "Dask is not installed. Install it by: pip install 'gramian[dask]'."


class Placed(NamedTuple):
    """Handles of what is held on workers, one a shard: futures, and the addresses of the workers they are pinned to."""

    futures: list[Any]
    workers: list[str]


@dataclass
class Traffic:
    """Bytes of arguments and totals that an execution has sent and received, and the number of its calls.

    Messages of the scheduler about tasks, about a kilobyte each, do not count.

    Examples
    --------
    >>> from gramian.execution.dask import Traffic
    >>> Traffic().sent
    0
    """

    sent: int = 0
    received: int = 0
    calls: int = 0


class Held:
    """What a worker holds of a shard: the pieces, or what work left beside each of them, and the total of that work.

    Examples
    --------
    >>> from gramian.execution.dask import Held
    >>> Held([1, 2], 3).total
    3
    """

    def __init__(self, pieces: list[Any], total: Any = None) -> None:
        self.pieces, self.total = pieces, total

    def __sizeof__(self) -> int:
        # Dask moves and spills by this number.
        return 64 + count_bytes(self.pieces)


class Dask:
    """Works on blocks on the workers of a Dask cluster. Blocks stay where they are; only small arrays are sent.

    Totals are added in the order of the blocks, so that the number of workers does not change a bit. A lost worker
    costs time only: what it held is computed again elsewhere.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of the context; if there is none, a local cluster of one process a core is started when
        first needed, and closed by `close`, or at the end of a fit.

    Attributes
    ----------
    traffic : Traffic
    refresh_every : int
        Images are computed afresh after so many iterations: those carried along are a chain of tasks that would have to
        be repeated after the loss of a worker.

    Examples
    --------
    >>> from gramian import PSDRegressor
    >>> from gramian.execution import Dask
    >>> PSDRegressor(2, n_jobs=Dask())  # or Dask(client)
    PSDRegressor(n_jobs=Dask())
    """

    refresh_every = 32

    def __init__(self, client: Any = None) -> None:
        self._given, self._own = client, None
        self.traffic = Traffic()

    def __repr__(self) -> str:
        return "Dask()" if self._given is None else f"Dask({self._given!r})"

    def __deepcopy__(self, memo: Any) -> Dask:
        # Clones of an estimator share its cluster.
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_given": None, "_own": None, "traffic": Traffic()}

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def nearby(self) -> Serial:
        """The execution of work on data in the driver's memory that is too small for the network."""
        return Serial()

    @property
    def client(self) -> Any:
        """The client: the given one, that of the context, or one of a local cluster of this execution."""
        if self._given is not None:
            return self._given
        distributed = import_distributed()
        if self._own is None:
            with suppress(ValueError):
                return distributed.get_client()
            self._own = distributed.Client(threads_per_worker=1, dashboard_address=None)
        return self._own

    def close(self) -> None:
        """Close the local cluster, if this execution started one."""
        if self._own is not None:
            self._own.close()
            self._own = None

    @property
    def addresses(self) -> list[str]:
        """The addresses of the workers, sorted; at least one."""
        client = self.client
        found = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not found:
            client.wait_for_workers(1, timeout=60)
            found = sorted(client.scheduler_info(n_workers=-1)["workers"])
        return found

    def spread(self, count: int) -> list[str]:
        """Return the addresses of workers for so many shards: consecutive shards share a worker."""
        addresses = self.addresses
        return [addresses[i * len(addresses) // count] for i in range(count)]

    def place(self, blocks: Sequence[Any]) -> Shards:
        """Send blocks to workers; return handles.

        Blocks that say how they are made on a worker, by a method `submit(execution)`, are made there. Consecutive
        others share a shard if there are many.
        """
        blocks = list(blocks)
        own = [i for i, block in enumerate(blocks) if not hasattr(block, "submit")]
        groups = np.array_split(own, min(len(own), MOST_SHARDS)) if own else []
        # Blocks keep their order: a group stands where its first block does.
        sent = {int(group[0]): [blocks[i] for i in group] for group in groups}
        workers = dict(zip(sent, self.spread(len(sent)), strict=True)) if sent else {}
        copied = sum(count_bytes(group) for group in sent.values()) > KEPT_BY_SCHEDULER
        futures, addresses = [], []
        for i, block in enumerate(blocks):
            if i in sent:
                futures.append(self.send(Held(sent[i]), workers[i], copied))
                addresses.append(workers[i])
            elif hasattr(block, "submit"):
                future, worker = block.submit(self)
                futures.append(future)
                addresses.append(worker)
        return Placed(futures, addresses)

    def send(self, held: Held, worker: str, copied: bool) -> Any:
        """Return the future of something of the driver on a worker; `copied` if the scheduler is not to keep it."""
        self.traffic.sent += count_bytes(held.pieces)
        if copied:
            return self.client.scatter(held, workers=[worker], hash=False)
        return self.submit(hand_over, Opaque(held), worker=worker)

    def submit(self, function: Callable[..., Any], *arguments: Any, worker: str) -> Any:
        """Return the future of function(*arguments) on a worker, or on another one if that is lost."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": 2 * KEPT_BY_SCHEDULER}):
            key = f"gramian-{function.__name__}-{uuid4().hex}"
            return self.client.submit(function, *arguments, key=key, workers=[worker], allow_other_workers=True)

    def map(self, function: Callable[..., Any], workers: Sequence[str], *arguments: Sequence[Any]) -> list[Any]:
        """Return the futures of function(a, b, ...) for the items of the arguments, each on its worker."""
        import dask

        name = getattr(function, "__name__", "perform")
        keys = [f"gramian-{name}-{uuid4().hex}" for _ in workers]
        pinned = {key: [worker] for key, worker in zip(keys, workers, strict=True)}
        with dask.annotate(workers=pinned.__getitem__, allow_other_workers=True):
            return self.client.map(function, *arguments, key=keys)

    def run(self, work: Work, shards: Shards, *held: Shards, **small: Any) -> tuple[Shards, Any]:
        """Run work on every block; return handles of what stays beside each, and the sum of the totals."""
        count = len(shards.futures)
        package = self.pack(small, shards.workers)
        function = partial(perform, work, np.geterr())
        outcomes = self.map(
            function, shards.workers, [package] * count, shards.futures, *(each.futures for each in held)
        )
        totals, workers = self.map(take_total, shards.workers, outcomes), list(shards.workers)
        while len(totals) > FAN_IN:
            groups = [totals[i : i + FAN_IN] for i in range(0, len(totals), FAN_IN)]
            workers = workers[::FAN_IN]
            totals = self.map(add_up, workers, groups)
        return Placed(outcomes, list(shards.workers)), sum_totals(part.content for part in self.gather(totals))

    def gather(self, futures: list[Any]) -> list[Any]:
        """Return the results of futures; what is lost for good is said so."""
        from concurrent.futures import CancelledError

        try:
            results = self.client.gather(futures)
        except CancelledError as error:
            raise RuntimeError(
                "data on a worker was lost, and only the driver has it. Call fit again; give large data as blocks "
                "that workers read themselves (dask arrays, files), which they can read again."
            ) from error
        self.traffic.calls += 1
        self.traffic.received += sum(count_bytes(getattr(result, "content", result)) for result in results)
        return results

    def pack(self, small: dict[str, Any], workers: list[str]) -> Any:
        """Return small arguments as they travel best: in the task of each worker, in one task, or copied to workers."""
        size, package = count_bytes(small), Opaque(small)
        if size <= PER_TASK:
            self.traffic.sent += size * len(workers)
            return package
        self.traffic.sent += size * len(set(workers))
        if size <= ONE_TASK:
            return self.submit(hand_over, package, worker=workers[0])
        return self.client.scatter(package, broadcast=True, hash=False)


class Opaque:
    """A value that Dask does not look into for tasks and futures."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __sizeof__(self) -> int:
        return 64 + count_bytes(self.content)


def import_distributed() -> Any:
    """Return the module `distributed`; raise an ImportError that says how to install it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(MISSING) from error
    return distributed


def count_bytes(value: Any) -> int:
    """Return the bytes of the arrays in a value, and 8 for every other part of it.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution.dask import count_bytes
    >>> count_bytes({"frame": np.zeros((10, 2)), "s": 0.5})
    168
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(count_bytes(part) for part in value.values())
    if isinstance(value, list | tuple):
        return sum(count_bytes(part) for part in value)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return sum(count_bytes(part) for part in vars(value).values())
    return 8


# What is done on workers.


def hand_over(value: Any) -> Any:
    """Return what a task carries."""
    return value.content if isinstance(value, Opaque) and isinstance(value.content, Held) else value


def perform(work: Work, errors: Any, small: Opaque, shard: Held, *held: Held) -> Held:
    """Run work on the pieces of a shard, under the driver's treatment of floating-point errors."""
    with np.errstate(**errors), one_blas_thread():
        rows = zip(shard.pieces, *(each.pieces for each in held), strict=True)
        results = [work(*items, **small.content) for items in rows]
    return Held([kept for kept, _ in results], sum_totals(total for _, total in results))


def take_total(outcome: Held) -> Opaque:
    """Return the total of a shard."""
    return Opaque(outcome.total)


def add_up(totals: list[Opaque]) -> Opaque:
    """Return the sum of totals, in their order."""
    return Opaque(sum_totals(total.content for total in totals))
