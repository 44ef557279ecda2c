"""Executions: where the work on blocks of data is done, in this thread, in several, or on a cluster.

To add one, write one file with `place` and `run`. Solvers, geometries and measurements never see it.
"""

from __future__ import annotations

from typing import Any

from joblib import effective_n_jobs

from gramian.execution.dask import Dask
from gramian.execution.execution import Execution, Shards, Team, Work, add_totals, execution_for, sum_totals
from gramian.execution.serial import Serial
from gramian.execution.threads import Threads, one_blas_thread

__all__ = [
    "Dask",
    "Execution",
    "Serial",
    "Shards",
    "Team",
    "Threads",
    "Work",
    "add_totals",
    "execution_for",
    "one_blas_thread",
    "resolve_execution",
    "sum_totals",
]


def resolve_execution(n_jobs: Any) -> Execution:
    """Return the execution that `n_jobs` stands for.

    Parameters
    ----------
    n_jobs : int, None or Execution
        As in scikit-learn, a number of `Threads`; None for that of joblib's `parallel_config`, and for `Serial` outside
        of one. Or an execution.

    Examples
    --------
    >>> from gramian.execution import resolve_execution
    >>> resolve_execution(None), resolve_execution(2)
    (Serial(), Threads(2))
    """
    if n_jobs is None:
        count = effective_n_jobs(None)
        return Threads(count) if count > 1 else Serial()
    if hasattr(n_jobs, "place") and hasattr(n_jobs, "run"):
        return n_jobs
    try:
        return Threads(n_jobs)
    except ValueError as error:
        raise ValueError(
            f"n_jobs={n_jobs!r} is not valid. Choose None, a number of threads, or an Execution."
        ) from error
