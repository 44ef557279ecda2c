"""Blocks of data on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np

from gramian.execution.execution import Shards, Work, returned_by
from gramian.execution.held import (
    FAN_IN,
    Held,
    Opaque,
    Placed,
    Traffic,
    collect,
    count_bytes,
    cut_beside,
    merge,
    merge_totals,
    run_on_pieces,
    take_totals,
    unwrap,
)
from gramian.execution.serial import Serial
from gramian.execution.waiting import gather_patiently

__all__ = ["Dask"]

#: The largest number of shards for blocks of the driver: their number must not depend on that of the workers.
MOST_SHARDS = 16
#: Small arguments of up to the first number of bytes are part of each task, up to the second they are one task, which
#: can be repeated after the loss of a worker. Larger ones are copied to all workers.
PER_TASK, ONE_TASK = 2**15, 2**20
#: The scheduler keeps blocks of the driver of up to this number of bytes in all, and sends them again after a loss.
KEPT_BY_SCHEDULER = 2**28
MISSING = "Dask is not installed. Install it by: pip install 'gramian[dask]'."


class Dask:
    """Works on blocks on the workers of a Dask cluster. Blocks stay where they are; only small arrays are sent.

    Totals are added in the order of the blocks, so that the number of workers does not change a bit. A lost worker
    costs time only: what it held is computed again elsewhere. If the others do not go on within minutes, an error
    says so.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of the context; if there is none, a local cluster of one process per core is started when
        first needed, and closed by `close`, or at the end of a fit.

    Attributes
    ----------
    traffic : Traffic
    refresh_every : int
        The iterations after which images are computed afresh: those carried along are a chain of tasks that would have
        to be repeated after the loss of a worker.

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
        self._used: set[str] = set()
        self._settings: Any = None
        self.traffic = Traffic()

    def __repr__(self) -> str:
        return "Dask()" if self._given is None else f"Dask({self._given!r})"

    def __deepcopy__(self, memo: Any) -> Dask:
        # Clones of an estimator share its cluster.
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_given": None, "_own": None, "_used": set(), "_settings": None, "traffic": Traffic()}

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
            options = {"threads_per_worker": 1, "dashboard_address": ":0"}
            self._settings = patient_settings()
            self._own = distributed.Client(set_as_default=False, **options)
        return self._own

    @property
    def running(self) -> bool:
        """True while a local cluster of this execution is open."""
        return self._own is not None

    def close(self) -> None:
        """Close the local cluster, if this execution started one."""
        if self._own is not None:
            self._own.close()
            self._settings.__exit__(None, None, None)
            self._own = None

    @property
    def workers(self) -> dict[str, Any]:
        """What the scheduler knows of the workers, by address; of at least one."""
        client = self.client
        found = client.scheduler_info(n_workers=-1)["workers"]
        if not found:
            client.wait_for_workers(1, timeout=60)
            found = client.scheduler_info(n_workers=-1)["workers"]
        return found

    def spread(self, count: int) -> list[str]:
        """Return the addresses of workers for `count` shards: consecutive shards share a worker."""
        addresses = sorted(self.workers)
        self._used = set(addresses)
        return [addresses[i * len(addresses) // count] for i in range(count)]

    def place(self, blocks: Sequence[Any]) -> Shards:
        """Send blocks to workers; return handles.

        Blocks that say how they are made on a worker, by a method `submit(execution)`, are made there; those of one
        `slot` share a shard, and blocks without `submit` join the first slot. If no block has `submit`, consecutive
        ones share a shard if there are many. None of this depends on the number of workers.
        """
        made = [block for block in blocks if hasattr(block, "submit")]
        sent = [block for block in blocks if not hasattr(block, "submit")]
        if not made:
            groups = np.array_split(np.arange(len(sent)), min(len(sent), MOST_SHARDS))
            workers = self.spread(len(groups))
            copied = count_bytes(sent) > KEPT_BY_SCHEDULER
            held = [Held([sent[i] for i in group]) for group in groups]
            futures = [self.send(each, worker, copied) for each, worker in zip(held, workers, strict=True)]
            return self.bundle(futures, workers)
        slots: dict[int, list[Any]] = {}
        workers_of: dict[int, str] = {}
        for block in made:
            slots.setdefault(block.slot, []).append(block.submit(self))
            workers_of.setdefault(block.slot, block.worker)
        workers = list(workers_of.values())
        if sent:
            next(iter(slots.values())).append(self.send(Held(sent), workers[0], copied=False))
        merged = [
            parts[0] if len(parts) == 1 else self.submit(merge, *parts, worker=worker)
            for parts, worker in zip(slots.values(), workers, strict=True)
        ]
        return self.bundle(merged, workers)

    def bundle(self, futures: list[Any], workers: list[str]) -> Placed:
        """Return shards with one future for each thread of a worker: a call is then one task for each of them."""
        threads = {address: info["nthreads"] for address, info in self.workers.items()}
        bundles: list[tuple[str, list[int]]] = []
        for address in dict.fromkeys(workers):
            own = [i for i, worker in enumerate(workers) if worker == address]
            parts = np.array_split(own, min(len(own), threads.get(address, 1)))
            bundles += [(address, part.tolist()) for part in parts]
        bundled = [self.submit(collect, *(futures[i] for i in own), worker=address) for address, own in bundles]
        return Placed(bundled, [address for address, _ in bundles], [own for _, own in bundles])

    def place_beside(self, cut: Callable[..., list[Any]], shards: Placed, parts: Sequence[Any]) -> Placed:
        """Return shards of the pieces cut(features, values) of blocks, and of values that are sent to each block."""
        self.traffic.sent += sum(count_bytes(part) for part in parts if part is not None)
        packages = [Opaque(part) for part in parts]
        return Placed(self.map(partial(cut_beside, cut), shards.workers, shards.futures, packages), shards.workers)

    def send(self, held: Held, worker: str, copied: bool) -> Any:
        """Return the future of something of the driver on a worker; `copied` if the scheduler is not to keep it."""
        self.traffic.sent += count_bytes(held.pieces)
        if copied:
            return self.client.scatter(held, workers=[worker], hash=False)
        return self.submit(unwrap, Opaque(held), worker=worker)

    def submit(self, function: Callable[..., Any], *arguments: Any, worker: str) -> Any:
        """Return the future of function(*arguments) on a worker, or on another one if that is lost."""
        with quiet_about_size():
            key = f"gramian-{function.__name__}-{uuid4().hex}"
            return self.client.submit(function, *arguments, key=key, workers=[worker], allow_other_workers=True)

    def map(self, function: Callable[..., Any], workers: Sequence[str], *arguments: Sequence[Any]) -> list[Any]:
        """Return the futures of function(a, b, ...) for the items of the arguments, each on its worker."""
        import dask

        name = getattr(function, "__name__", "") or function.func.__name__  # type: ignore[attr-defined]
        keys = [f"gramian-{name}-{uuid4().hex}" for _ in workers]
        pinned = {key: [worker] for key, worker in zip(keys, workers, strict=True)}
        with quiet_about_size(), dask.annotate(workers=pinned.__getitem__, allow_other_workers=True):
            return self.client.map(function, *arguments, key=keys)

    def run(self, work: Work, shards: Shards, *held: Shards, **small: Any) -> tuple[Shards, Any]:
        """Run work on every block; return handles of what stays beside each, and the sum of the totals."""
        numbers, workers = shards.shards, shards.workers
        count = sum(len(own) for own in numbers)
        package = self.pack(small, workers)
        function = partial(run_on_pieces, work, np.geterr(), count)
        arguments = ([package] * len(workers), numbers, shards.futures, *(each.futures for each in held))
        outcomes = self.map(function, workers, *arguments)
        kept = Placed(outcomes, workers, numbers)
        returned = returned_by(work)
        if not returned.sums:
            # Nothing to wait for.
            return kept, None
        # What keeps nothing is its total, without another task that leaves the rest behind.
        totals = outcomes if not returned.keeps else self.map(take_totals, workers, outcomes)
        while len(totals) > FAN_IN:
            # Neighbours add up what they have in common, so that the driver receives few sums.
            groups, workers = [totals[i : i + FAN_IN] for i in range(0, len(totals), FAN_IN)], workers[::FAN_IN]
            totals = self.map(partial(merge_totals, count), workers, groups)
        return kept, next(iter(merge_totals(count, self.gather(totals)).totals.values()))

    def gather(self, futures: list[Any]) -> list[Any]:
        """Return the results of futures; raise a RuntimeError if data of the driver is lost with a worker."""
        from concurrent.futures import CancelledError

        try:
            results = gather_patiently(self.client, futures, self._used)
        except CancelledError as error:
            raise RuntimeError(
                "data on a worker was lost, and only the driver has it. Call fit again; give large data as blocks "
                "that workers read themselves (dask arrays, files), which they can read again."
            ) from error
        self.traffic.calls += 1
        self.traffic.received += sum(count_bytes(result) for result in results)
        return results

    def pack(self, small: dict[str, Any], workers: list[str]) -> Any:
        """Return small arguments as they travel best: in the task of each worker, in one task, or copied to workers."""
        size, package = count_bytes(small), Opaque(small)
        if size <= PER_TASK:
            self.traffic.sent += size * len(workers)
            return package
        self.traffic.sent += size * len(set(workers))
        if size <= ONE_TASK:
            return self.submit(unwrap, package, worker=workers[0])
        return self.client.scatter(package, broadcast=True, hash=False)


def quiet_about_size() -> Any:
    """Return a context in which Dask does not warn of arrays in tasks: they are sent once, and kept for a loss."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": 8 * KEPT_BY_SCHEDULER})


def patient_settings() -> Any:
    """Set that a worker that is lost may take minutes to come back, and return a context at whose end this is undone.

    By default a local cluster gives a worker up that takes 15 s to start, as many do on a busy machine.
    """
    import dask

    return dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})


def import_distributed() -> Any:
    """Return the module `distributed`; raise an ImportError that says how to install it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(MISSING) from error
    return distributed
