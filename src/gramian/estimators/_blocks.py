"""Data in blocks at the door of an estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import validate_data

from gramian.blocked import BlockedFeatures, gather_values, is_blocked, name_target, open_blocks, read_targets
from gramian.estimators._online import is_online
from gramian.execution import Dask
from gramian.tables import Table

__all__ = ["Opened", "close_own_cluster", "gather_beside", "name_target", "open_data", "validate_blocked"]


class Opened(NamedTuple):
    """Samples, and what belongs to each of them: targets or labels, weights, senses."""

    X: Any
    y: Any = None
    sample_weight: Any = None
    sense: Any = None


@contextmanager
def open_data(estimator: Any, X: Any, *values: Any) -> Iterator[Opened]:
    """Yield samples in blocks on workers, with their targets and weights on the driver; other data unchanged.

    After a fit from blocks the estimator has `blocks_`, which says how its measurements lie in them.
    """
    if values:
        X, y = name_target(X, values[0])
        values = gather_beside(X, y, *values[1:])
    check_batch_solver(estimator, X)
    check_jobs(estimator, X)
    with open_blocks(X, getattr(estimator, "n_jobs", None)) as samples:
        yield Opened(samples, *values)
    estimator.__dict__.pop("blocks_", None)
    if isinstance(samples, BlockedFeatures) and samples.reports:
        estimator.blocks_ = samples.reports[-1]


@contextmanager
def close_own_cluster(estimator: Any) -> Iterator[None]:
    """Return a context at whose end a cluster is closed, if the execution of the estimator started it inside."""
    execution = estimator.n_jobs
    running = not isinstance(execution, Dask) or execution.running
    try:
        yield
    finally:
        if not running:
            execution.close()


def check_batch_solver(estimator: Any, X: Any) -> None:
    """Raise a ValueError if samples in blocks are to be learned from in mini-batches."""
    solver = getattr(estimator, "solver", None)
    if is_blocked(X) and is_online(solver):
        raise ValueError(
            f"X is in blocks on workers, but solver={solver!r} reads single samples. Choose solver='cg', or call "
            "partial_fit with one block after the other in memory."
        )


def check_jobs(estimator: Any, X: Any) -> None:
    """Raise a ValueError if a number of threads is given for samples in blocks on workers."""
    n_jobs = getattr(estimator, "n_jobs", None)
    if n_jobs is not None and not isinstance(n_jobs, Dask) and is_blocked(X):
        raise ValueError(
            f"n_jobs={n_jobs!r} counts threads, but X is in blocks on the workers of a cluster. Set n_jobs=None for "
            "the cluster of the context, or a local one, or n_jobs=Dask(client)."
        )


def gather_beside(X: Any, y: Any, *values: Any) -> tuple[Any, ...]:
    """Return y and further values of samples in blocks as arrays on the driver; those of other samples unchanged.

    If y is None, and X is a table with a target, y is read from there.
    """
    if isinstance(X, Table) and X.target is not None:
        if y is not None:
            raise ValueError(f"y is given, but the table has the target {X.target!r}. Leave out one of them.")
        y = read_targets(X)
    return tuple(gather_values(value) for value in (y, *values)) if is_blocked(X) else (y, *values)


def validate_blocked(estimator: Any, X: BlockedFeatures, y: Any, options: dict[str, Any]) -> Any:
    """Return blocks of samples, whose values workers have validated, and y (n,) if given."""
    n, d = X.shape
    placeholder: Any = np.empty((0, d))
    if X.columns is not None:
        import pandas

        placeholder = pandas.DataFrame(placeholder, columns=list(X.columns))
    validate_data(estimator, placeholder, reset=options.get("reset", True), skip_check_array=True)
    least = options.get("ensure_min_samples", 1)
    if n < least:
        raise ValueError(f"Found blocks with {n} samples in all, while a minimum of {least} is required.")
    if y is None or isinstance(y, str):
        return X
    y = column_or_1d(y, warn=True)
    if options.get("y_numeric", False):
        y = y.astype(np.float64)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if len(y) != n:
        raise ValueError(f"y has {len(y)} entries, but the blocks of X have {n} samples.")
    return X, y
