"""The checkpoint of a fit: opened for its data and parameters, written where it is interrupted, removed at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gramian
from gramian._checkpoints import Checkpoint, StreamCheckpoint, check_place, describe, differences
from gramian._checkpoints.file import Stored, read_file
from gramian._checkpoints.stream import describe_batch, state_of
from gramian.atomic import expand_home
from gramian.checks import check_number
from gramian.solvers import Journal
from gramian.warn import warn_user

__all__ = [
    "FitCheckpoint",
    "check_several_fits",
    "checkpoint_of",
    "has_folder",
    "is_folder",
    "open_stream",
    "settings_of",
]

#: Parameters that do not change the result, or, as the random state, are stored as what they were.
FREE = ("checkpoint", "checkpoint_every", "callback", "verbose", "n_jobs", "random_state")
#: Differences that a message names.
MOST_NAMED = 4
#: Libraries that compute: another version may round in another way.
LIBRARIES = ("numpy", "scipy", "numba")


class FitCheckpoint:
    """The checkpoint of one fit of an estimator, which is none until it is opened.

    Parameters
    ----------
    estimator : PSDEstimator
        Its parameters `checkpoint` and `checkpoint_every` are used.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.session: Checkpoint | None = None
        check_checkpoint(estimator)

    def open(self, journal: Journal, rng: np.random.Generator, **data: Any) -> None:
        """Open the checkpoint for a fit of this data, if one is wanted, and go on from a file that is there.

        Parameters
        ----------
        journal : Journal
        rng : Generator
            The random generator of the fit, in its first state.
        **data : Any
            What the fit learns from, and starts from.
        """
        estimator = self.estimator
        if estimator.checkpoint is None:
            return
        with journal.phase("checkpoint"):
            path, header, stored = find_place(estimator, data)
            session = Checkpoint(path, float(estimator.checkpoint_every), header, journal, rng)
            if stored is not None:
                session.load(stored, rng)
        if session.resumed:
            journal.note(f"resumed from {path}")
        self.session = journal.checkpoint = session

    def interrupt(self, error: BaseException) -> None:
        """Write the state, and say in the error where it is."""
        if self.session is not None and self.session.interrupt():
            error.add_note(
                f"The state of the fit is in {str(self.session.path)!r}: call fit again, with the same data and "
                "parameters, to go on."
            )

    def finish(self) -> None:
        """Remove the file."""
        if self.session is not None:
            self.session.remove()


@contextmanager
def checkpoint_of(estimator: Any) -> Iterator[FitCheckpoint]:
    """Return a context manager for one fit: its checkpoint is written if the fit fails, and removed at its end."""
    checkpoint = FitCheckpoint(estimator)
    try:
        yield checkpoint
    except BaseException as error:
        checkpoint.interrupt(error)
        raise
    checkpoint.finish()


def has_folder(estimator: Any) -> bool:
    """Return True if an estimator keeps its checkpoints in a folder."""
    place = getattr(estimator, "checkpoint", None)
    return isinstance(place, str | os.PathLike) and is_folder(place)


def open_stream(estimator: Any, n_epochs: int, first: Any = None) -> StreamCheckpoint | None:
    """Return the checkpoint of a stream of an estimator, with what its file has; None if none is wanted.

    Parameters
    ----------
    estimator : estimator
    n_epochs : int
    first : batch, optional
        The first batch, if a folder is to have a file for each stream.
    """
    if getattr(estimator, "checkpoint", None) is None:
        return None
    check_checkpoint(estimator)
    random = getattr(estimator, "random_state", None)
    data: dict[str, Any] = {"stream": f"{n_epochs} epochs"}
    if first is not None:
        data["first"] = describe_batch(first)
    if isinstance(random, np.random.Generator | np.random.RandomState):
        data["random_state"] = name_generator(random)
    else:
        random = None
    path, header, stored = find_place(estimator, data)
    return StreamCheckpoint(path, float(estimator.checkpoint_every), header, stored, random)


def name_generator(random: Any) -> str:
    """Return the class of a Generator or RandomState, and that of its bits."""
    return f"{type(random).__name__} {state_of(random)['bit_generator']}"


class Place(NamedTuple):
    """The path of the checkpoint of a fit, what the fit is made of, and the content of the file if there is one."""

    path: Path
    header: dict[str, Any]
    stored: Stored | None


def find_place(estimator: Any, data: dict[str, Any]) -> Place:
    """Return where the checkpoint of a fit of this data is; raise a ValueError if the file is that of another fit."""
    header = describe_fit(estimator, data)
    path = resolve_path(estimator, header)
    check_place(path)
    stored = read_file(path) if path.exists() else None
    if stored is not None:
        check_same_fit(path, stored.header, header)
    return Place(path, header, stored)


def check_checkpoint(estimator: Any) -> None:
    """Raise a ValueError unless the parameters `checkpoint` and `checkpoint_every` are valid."""
    if estimator.checkpoint is not None and not isinstance(estimator.checkpoint, str | os.PathLike):
        raise ValueError(f"checkpoint={estimator.checkpoint!r} is not valid. Give the path of a file, or None.")
    check_number("checkpoint_every", estimator.checkpoint_every, least=0)


def check_several_fits(estimator: Any) -> None:
    """Raise a ValueError if the checkpoint of an estimator that is fitted several times is one file."""
    if estimator.checkpoint is not None and not is_folder(estimator.checkpoint):
        raise ValueError(
            f"checkpoint={str(estimator.checkpoint)!r} is a file, but cross-validation makes many fits, each of which "
            "needs its own. Give a folder that exists."
        )


def describe_fit(estimator: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return what a fit is made of, as a tree of JSON."""
    parameters = {name: describe(value) for name, value in settings_of(estimator).items()}
    fit = {
        "estimator": type(estimator).__name__,
        "data": {name: describe(value) for name, value in data.items()},
        "parameters": parameters,
        "gramian": gramian.__version__,
    }
    return {"fit": fit, "libraries": {name: version(name) for name in LIBRARIES}}


def settings_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that change the result of a fit, by name."""
    found = {name: value for name, value in estimator.get_params(deep=False).items() if name not in FREE}
    if isinstance(estimator.random_state, int | np.integer):
        found["random_state"] = int(estimator.random_state)
    return found


def is_folder(place: Any) -> bool:
    """Return True if a checkpoint is a folder that exists, in which every fit has a file of its own."""
    return os.path.isdir(expand_home(place))


def resolve_path(estimator: Any, header: dict[str, Any]) -> Path:
    """Return the path of the file. In a folder, it is named by the estimator and a hash of the fit."""
    path = expand_home(estimator.checkpoint)
    if not path.is_dir():
        return path
    name = blake2b(repr(header["fit"]).encode(), digest_size=8).hexdigest()
    return path / f"{type(estimator).__name__}-{name}.npz"


def check_same_fit(path: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise a ValueError that says what differs unless two headers are of the same fit; warn of other libraries."""
    found = differences(before["fit"], now["fit"])
    if found:
        named = "; ".join(found[:MOST_NAMED]) + (f"; and {len(found) - MOST_NAMED} more" if found[MOST_NAMED:] else "")
        raise ValueError(
            f"checkpoint={str(path)!r} is that of another fit: {named}. Give the same data and parameters to resume, "
            "delete the file to start anew, or choose another path."
        )
    other = differences(before["libraries"], now["libraries"])
    if other:
        warn_user(f"checkpoint={str(path)!r}: {'; '.join(other)}. The result may differ by rounding errors.")
