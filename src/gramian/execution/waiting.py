"""Waiting for the workers of a Dask cluster, which may be lost: what is stuck is started anew, or given up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Any

__all__ = ["WorkersLost", "gather_patiently"]

#: How often the workers are looked at, in seconds. Most results come before that.
SLICE = 5.0
#: If a worker was lost, and the others have executed nothing for so long, those that should are restarted. A worker
#: that calls a lost one waits for 30 s by itself.
QUIET = 45.0
#: If nothing is executed for so long after that, the fit ends.
GIVE_UP = 120.0
#: The names of all tasks begin so.
PREFIX = "gramian-"


class WorkersLost(RuntimeError):
    """Raised if workers of a cluster were lost, and the others do not go on with their work."""


def gather_patiently(client: Any, futures: list[Any], used: set[str]) -> list[Any]:
    """Return the results of futures; raise `WorkersLost` if they do not come because of a lost worker.

    As long as any worker executes something, or all are there, results are waited for. Else workers that do not begin
    with their tasks are restarted once: what they hold is computed again.

    Parameters
    ----------
    client : distributed.Client
    futures : list of Future
    used : set of str
        The addresses of the workers that the work was given to.
    """

    async def gather() -> list[Any]:
        return await client.gather(futures, asynchronous=True)

    waiting = asyncio.run_coroutine_threadsafe(gather(), client.loop.asyncio_loop)
    active, restarted = monotonic(), False
    try:
        while True:
            with suppress(TimeoutError):
                return waiting.result(SLICE)
            if waiting.done():
                return waiting.result()
            missing = used - find_workers(client)
            if not missing or is_executing(client):
                active = monotonic()
            elif not restarted and monotonic() - active > QUIET:
                restart_stuck(client)
                active, restarted = monotonic(), True
            elif monotonic() - active > GIVE_UP:
                raise WorkersLost(describe_loss(missing, find_workers(client)))
    finally:
        waiting.cancel()


def find_workers(client: Any) -> set[str]:
    """Return the addresses of the workers of a cluster."""
    return set(client.scheduler_info(n_workers=-1)["workers"])


def is_executing(client: Any) -> bool:
    """Return True if a worker executes a task, or is too busy to say."""
    try:
        return bool(client.sync(client.scheduler.call_stack, keys=None, callback_timeout=SLICE))
    except (TimeoutError, OSError):
        return True


def restart_stuck(client: Any) -> None:
    """Restart the workers that have tasks of this library to do, where something watches over them."""
    stuck = [worker for worker, keys in client.processing().items() if any(str(key).startswith(PREFIX) for key in keys)]
    # Workers without a nanny cannot be restarted.
    with suppress(ValueError, RuntimeError, OSError, TimeoutError):
        client.restart_workers(stuck, timeout=60, raise_for_error=False)


def describe_loss(missing: set[str], left: set[str]) -> str:
    """Return the message for lost workers, beside those that are left."""
    lost = ", ".join(sorted(missing)[:4])
    others = "the others have executed nothing" if left else "no other has come"
    return (
        f"workers were lost ({lost}), and {others} for {GIVE_UP:.0f} s. Restart the cluster, and call fit again. With "
        "checkpoint=..., a fit goes on from where it was."
    )
