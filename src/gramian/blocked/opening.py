"""The door: data in blocks becomes features on workers for the time of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gramian.blocked.features import BlockedFeatures
from gramian.blocked.sources import Source, check_summaries, find_sources, is_in_files, read_block, read_file
from gramian.execution.dask import Dask
from gramian.execution.held import Opaque, Placed, take_totals
from gramian.tables import Table, open_table
from gramian.types import Vector

__all__ = ["compute_values", "gather_values", "is_blocked", "name_target", "open_blocks", "read_targets"]


def is_blocked(X: Any) -> bool:
    """Return True for data in blocks: dask arrays and frames, tables, lists of files, sparse or delayed blocks.

    Examples
    --------
    >>> from gramian.blocked import is_blocked
    >>> is_blocked(["part-0.npy", "part-1.npy"]), is_blocked([[1.0, 2.0]])
    (True, False)
    """
    return isinstance(X, BlockedFeatures) or find_sources(X) is not None


@contextmanager
def open_blocks(X: Any, n_jobs: Any = None, *, allow_missing: bool = False) -> Iterator[Any]:
    """Yield data in blocks as `BlockedFeatures`, other data as it is.

    A cluster that an execution starts by itself is closed in the end.

    Parameters
    ----------
    X : array, sparse matrix, or data in blocks
    n_jobs : Dask, None or number
        The execution of a fit. None and numbers stand for `Dask()`, if X is in blocks.
    allow_missing : bool
        True if entries may be NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.blocked import open_blocks
    >>> with open_blocks(np.eye(2)) as X:
    ...     X.shape  # an array is not in blocks
    (2, 2)
    """
    sources = None if isinstance(X, BlockedFeatures) else find_sources(X)
    if sources is None and not isinstance(n_jobs, Dask):
        yield X
        return
    execution = n_jobs if isinstance(n_jobs, Dask) else Dask()
    running = execution.running
    try:
        yield X if sources is None else read_sources(sources, X, execution, allow_missing)
    finally:
        if not running:
            execution.close()


def read_sources(sources: list[Source], X: Any, execution: Dask, allow_missing: bool) -> BlockedFeatures:
    """Return the blocks, read by workers; raise a ValueError that names the first bad one."""
    workers = execution.spread(len(sources))
    if sources[0].computed:
        values, workers = compute_sources(sources, X, execution, workers)
    else:
        values = [Opaque(source.value) for source in sources]
    names = [source.name for source in sources]
    futures = execution.map(read_block, workers, names, values, [allow_missing] * len(names))
    totals = execution.gather(execution.map(take_totals, workers, futures))
    summaries = [each for total in totals for each in total.totals]
    check_summaries(summaries)
    kept = [i for i, each in enumerate(summaries) if each.n_samples]
    shards = Placed([futures[i] for i in kept], [workers[i] for i in kept])
    some, lengths = summaries[kept[0]], [summaries[i].n_samples for i in kept]
    n_bytes = sum(each.n_bytes for each in summaries)
    return BlockedFeatures(execution, shards, lengths, some.n_features, some.dtype, n_bytes, some.columns)


def compute_sources(sources: list[Source], X: Any, execution: Dask, workers: list[str]) -> tuple[list[Any], list[str]]:
    """Return the futures of blocks that Dask computes, and their workers; blocks in memory stay where they are."""
    from distributed import futures_of, wait

    client = execution.client
    if futures_of(X, client=client):
        values = client.compute([source.value for source in sources])
        wait(values)
        held = client.who_has(values)
        return values, [
            held[value.key][0] if held.get(value.key) else w for value, w in zip(values, workers, strict=True)
        ]
    values = [
        client.compute(source.value, workers=[worker], allow_other_workers=True)
        for source, worker in zip(sources, workers, strict=True)
    ]
    return values, workers


def compute_values(values: Any) -> Any:
    """Return a dask array, series or frame as an array on the driver; other values as they are.

    Examples
    --------
    >>> from gramian.blocked import compute_values
    >>> compute_values([[0, 1]])
    [[0, 1]]
    """
    if type(values).__module__.startswith("dask.") and hasattr(values, "compute"):
        return np.asarray(values.compute())
    return values


def gather_values(values: Any) -> Any:
    """Return what belongs to samples, such as labels, as one array on the driver.

    Parameters
    ----------
    values : array, dask array or series, list of files, or list of arrays, one per block

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.blocked import gather_values
    >>> gather_values([np.zeros(2), np.ones(1)])
    array([0., 0., 1.])
    """
    values = compute_values(values)
    sources = find_sources(values) if isinstance(values, list | tuple) else None
    if sources is not None and isinstance(sources[0].value, str):
        values = [np.asarray(read_file(source.value)) for source in sources]
        values = [each.ravel() if each.ndim == 2 and each.shape[1] == 1 else each for each in values]
    if isinstance(values, list | tuple) and values and all(isinstance(each, np.ndarray) for each in values):
        return np.concatenate([np.atleast_1d(each) for each in values])
    return values


def name_target(X: Any, y: Any) -> tuple[Any, Any]:
    """Return X and y. If y names a column of the Parquet files X, return a table with this target, and None.

    Examples
    --------
    >>> from gramian.blocked import name_target
    >>> name_target([[1.0]], [0])
    ([[1.0]], [0])
    """
    if not isinstance(y, str) or not is_in_files(X):
        return X, y
    if isinstance(X, Table):
        return open_table(X.files, y, columns=[name for name in X.columns if name != y], dtype=X.dtype), None
    return open_table(X, y), None


def read_targets(table: Table) -> Vector:
    """Return the targets (n,) of a table on the driver; the column of fewest features is read beside them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gramian import open_table
    >>> from gramian.blocked import read_targets
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "data.csv").write_text("a,b,label\\n1,2,0\\n3,4,1\\n")
    ...     read_targets(open_table(folder, "label"))
    array([0, 1])
    """
    beside = table.columns[int(np.argmin(table.widths))]
    some = open_table(table.files, table.target, columns=[beside], allow_missing=True)
    return np.concatenate([batch.y for batch in some if batch.y is not None])
