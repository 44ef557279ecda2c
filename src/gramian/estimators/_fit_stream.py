"""Learning from a stream of batches, in constant memory."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple, Self

from gramian._checkpoints import StreamCheckpoint
from gramian.checks import check_number
from gramian.estimators._available import available_if
from gramian.estimators._checkpoint import has_folder, open_stream
from gramian.warn import warn_user

__all__ = ["LearnsFromStreams"]

#: Without a progress bar, a line is written whenever this number of seconds has passed.
SECONDS = 5.0
#: Attributes in which scikit-learn keeps what `set_output` and requests of metadata set.
SETTINGS = ("_sklearn_output_config", "_metadata_request")


def supports_streams(estimator: Any) -> bool:
    """Return True if the estimator has a partial_fit; else raise an AttributeError, as `available_if` expects."""
    try:
        estimator.partial_fit  # noqa: B018
    except AttributeError:
        raise AttributeError(f"streams need solver='online'; this one has solver={estimator.solver!r}.") from None
    return True


class LearnsFromStreams:
    """The method `fit_stream` of estimators that have a `partial_fit`."""

    @available_if(supports_streams)
    def fit_stream(self, batches: Any, *, n_epochs: int = 1, progress: bool | None = None) -> Self:
        """Learn anew from an iterator of batches, one after the other, by `partial_fit`.

        What was learned before is forgotten; call `partial_fit` to go on from it. A batch is dropped after it was
        learned from. One from which nothing can be learned yet, such as samples of one class, is kept until others
        come.

        With a `checkpoint`, the state is stored between batches. After an interruption, the same call goes through the
        batches that were learned from without learning again, and goes on from there.

        Parameters
        ----------
        batches : iterable, or a function that returns one
            A batch is a tuple of the positional arguments of `partial_fit`, such as (X, y) or (X, y, sample_weight); a
            dict of its arguments; or X alone, where there is no y. `gramian.tables.open_table` gives batches of files.
        n_epochs : int
            How often the batches are gone through. For more than once, `batches` is a list, a table, another iterable
            that can be gone through again, or a function.
        progress : bool, optional
            True shows a progress bar, if tqdm is installed, else some lines; by default if the estimator has a
            `verbose` of at least 1.

        Returns
        -------
        self
            If a batch is refused, or the fit is interrupted, it keeps what it learned from the batches before; if it is
            the first, what it had before.
        """
        check_number("n_epochs", n_epochs, least=1, integer=True)
        check_repeatable(batches, n_epochs)
        verbose = getattr(self, "verbose", 0)
        shown = verbose > 0 if progress is None else bool(progress)
        stream, first = look_ahead(repeat_batches(batches, n_epochs), has_folder(self))
        checkpoint = open_stream(self, n_epochs, first)
        del first  # a batch is dropped after it was learned from
        reporter = StreamReporter(*size_of(batches, n_epochs)) if shown else None
        before, learned = forget_fit(self), 0
        if shown and verbose == 1:
            # The bar tells enough; with verbose=2, every batch is reported as well.
            vars(self)["verbose"] = 0
        try:
            for batch in stream:
                learn_or_skip(self, batch, learned, checkpoint)
                learned += 1
                if reporter is not None:
                    reporter.advance(rows_of(batch))
            if not learned:
                raise ValueError("batches is empty: there is nothing to learn from.")
            if checkpoint is not None and checkpoint.seen < checkpoint.learned:
                raise ValueError(
                    f"the stream ended after {checkpoint.seen} batches, but its checkpoint has learned from "
                    f"{checkpoint.learned}. Give the whole stream again, or delete the checkpoint to start anew."
                )
        except BaseException:
            if not learned or (checkpoint is not None and learned < checkpoint.learned):
                vars(self).update(before)
            if checkpoint is not None:
                checkpoint.interrupt()
            raise
        finally:
            if hasattr(self, "verbose"):
                vars(self)["verbose"] = verbose
            if reporter is not None:
                reporter.close()
        if checkpoint is not None:
            checkpoint.remove()
        warn_of_kept(self)
        return self


def warn_of_kept(estimator: Any) -> None:
    """Warn if the last samples or tuples of a stream were kept, and nothing was learned from them."""
    kept, tuples = getattr(estimator, "kept_", None), getattr(estimator, "kept_tuples_", {})
    parts = [] if kept is None else [f"{len(kept.y)} samples"]
    parts += [f"{len(chunk.tuples)} {name}" for name, chunk in tuples.items()]
    if not parts:
        return
    fitted = "" if hasattr(estimator, "components_") else ", so that the estimator is not fitted"
    warn_user(
        f"the last {' and '.join(parts)} of the stream were kept, not learned from{fitted}: they are of one kind, or "
        "too few. Mix the classes in the stream, or go on with partial_fit.",
        UserWarning,
    )


def check_repeatable(batches: Any, n_epochs: int) -> None:
    """Raise an error unless batches can be gone through n_epochs times."""
    if callable(batches):
        return
    if not hasattr(batches, "__iter__"):
        raise TypeError(f"batches is of type {type(batches).__name__}; expected an iterable of batches, or a function.")
    if n_epochs > 1 and iter(batches) is batches:
        raise ValueError(
            f"n_epochs={n_epochs}, but batches is an iterator, which ends after one. Give a list, a table, or a "
            "function that returns an iterator."
        )


def repeat_batches(batches: Any, n_epochs: int) -> Iterator[Any]:
    """Yield the batches of all epochs."""
    for _ in range(n_epochs):
        yield from batches() if callable(batches) else batches


def look_ahead(stream: Iterator[Any], wanted: bool) -> tuple[Iterator[Any], Any]:
    """Return the batches of a stream, and the first of them, if that is wanted and there is one, else None."""
    seen = deque(islice(stream, int(wanted)))
    return drain(seen, stream), seen[0] if seen else None


def drain(seen: deque[Any], stream: Iterator[Any]) -> Iterator[Any]:
    """Yield the batches that were read ahead, of which none is kept, then the others."""
    while seen:
        yield seen.popleft()
    yield from stream


def forget_fit(estimator: Any) -> dict[str, Any]:
    """Delete the fitted attributes of an estimator, and return them."""
    before = fitted_attributes(estimator)
    for name in before:
        del vars(estimator)[name]
    return before


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the attributes of an estimator that are neither parameters nor settings of scikit-learn."""
    parameters = {*estimator.get_params(deep=False), *SETTINGS}
    return {name: value for name, value in vars(estimator).items() if name not in parameters}


def learn_batch(estimator: Any, batch: Any, number: int) -> None:
    """Learn from one batch; an error says which it is."""
    try:
        if isinstance(batch, dict):
            estimator.partial_fit(**batch)
        elif isinstance(batch, tuple):
            estimator.partial_fit(*batch)
        else:
            estimator.partial_fit(batch)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"batch {number}, counted from 0: {error}") from error


def learn_or_skip(estimator: Any, batch: Any, number: int, checkpoint: StreamCheckpoint | None) -> None:
    """Learn from one batch; or load what was learned by the end of it, if it was before an interruption."""
    if checkpoint is None:
        learn_batch(estimator, batch, number)
    elif not checkpoint.skips(batch):
        learn_batch(estimator, batch, number)
        checkpoint.advance(batch, fitted_attributes(estimator))
    elif checkpoint.reached:
        checkpoint.restore(estimator)


def rows_of(batch: Any) -> int:
    """Return the number of rows of a batch."""
    X: Any = batch["X"] if isinstance(batch, dict) else batch[0] if isinstance(batch, tuple) else batch
    return X.shape[0] if hasattr(X, "shape") else len(X)


class StreamSize(NamedTuple):
    """The number of rows, or else of batches, in all epochs; None if it is not known."""

    total: int | None
    by_rows: bool = True


def size_of(batches: Any, n_epochs: int) -> StreamSize:
    """Return how much there is in all epochs: rows, if their number is known, else batches."""
    rows = getattr(batches, "n_rows", None)
    if rows is not None:
        return StreamSize(n_epochs * int(rows))
    try:
        return StreamSize(n_epochs * len(batches), by_rows=False)
    except TypeError:
        return StreamSize(None)


class StreamReporter:
    """Shows how far a stream has come: a bar of tqdm if that is installed, else a line now and then.

    Parameters
    ----------
    total : int or None
        What is to be gone through, if that is known.
    by_rows : bool
        True counts rows, False batches.
    """

    def __init__(self, total: int | None, by_rows: bool) -> None:
        self.total, self.by_rows = total, by_rows
        self.done, self._begin = 0, perf_counter()
        self._reported = self._begin
        unit = "rows" if by_rows else "batches"
        self._unit, self._bar = unit, None
        if find_spec("tqdm") is not None:
            self._bar = import_module("tqdm").tqdm(total=total, unit=f" {unit}", unit_scale=by_rows, file=sys.stderr)

    def advance(self, rows: int) -> None:
        """Count a batch, by its number of rows."""
        step = rows if self.by_rows else 1
        self.done += step
        if self._bar is not None:
            self._bar.update(step)
        elif perf_counter() - self._reported >= SECONDS:
            self._report()

    def close(self) -> None:
        """End the bar, or write the last line."""
        if self._bar is not None:
            self._bar.close()
        else:
            self._report()

    def _report(self) -> None:
        self._reported = perf_counter()
        of = "" if self.total is None else f" of {self.total}"
        sys.stderr.write(f"{self.done}{of} {self._unit} in {self._reported - self._begin:.1f} s\n")
