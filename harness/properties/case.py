"""What a property is: a function of a `Draw` that generates data, fits, and compares with a slow explicit reference.

A case ends in one of three ways. It is *passed*; it is *refused*, by an error of the library that names an argument; or
it is a *fault*: any other exception, a warning of NumPy, a number that is not finite, a difference from the reference.

A property draws everything from its `Draw`. `SeededDraw` draws from a seed, for `harness.soak`; the tests draw from
hypothesis, which also looks for the smallest case that fails.
"""

from __future__ import annotations

import inspect
import re
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse
import sklearn

import gramian

__all__ = [
    "PROPERTIES",
    "Case",
    "Draw",
    "Fault",
    "Outcome",
    "Property",
    "Refusal",
    "SeededDraw",
    "call",
    "property_of",
    "require",
    "require_close",
    "require_finite",
    "run_case",
]

T = TypeVar("T")
#: Other names of X and y in messages: scikit-learn speaks of features and samples, and X may be a kernel.
SPOKEN = {"data", "dissimilarities", "dissimilarity", "features", "kernel", "labels", "sample", "samples"}


class Outcome(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    REFUSED = "refused"
    FAULT = "fault"


class Fault(AssertionError):
    """A result that is wrong, or an error that is not a clear refusal."""


class Refusal(Exception):
    """A clear refusal of the library: it names an argument, and comes from a check."""


class Draw(ABC):
    """The source of all choices of a case, and what is known of it: notes, size, seconds spent in fits."""

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}
        self.size: tuple[int, ...] = ()
        self.seconds = 0.0

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """Return an integer in [low, high]; small ones are simpler."""

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options; earlier ones are simpler."""
        return options[self.integer(0, len(options) - 1)]

    def flag(self, chance: float = 0.5) -> bool:
        """Return True with the given chance, in hundredths; False is simpler."""
        return self.integer(0, 99) >= 100 - round(100 * chance)

    @cached_property
    def rng(self) -> np.random.Generator:
        """The generator of the numbers in arrays: their values matter less than their shapes and kinds."""
        return np.random.default_rng(self.integer(0, 2**31 - 1))

    def note(self, **facts: Any) -> None:
        """Keep facts that a message on a fault shows."""
        self.notes |= facts


class SeededDraw(Draw):
    """Choices by a seed."""

    def __init__(self, seed: int | Sequence[int]) -> None:
        super().__init__()
        self.choices = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return int(self.choices.integers(low, high + 1))


@dataclass(frozen=True)
class Property:
    """A property by its name, for example "regressor: predictions"."""

    name: str
    check: Callable[[Draw], None]


class Case(NamedTuple):
    """One case that was run: outcome, message, size (for the comparison of times), and seconds in fits."""

    outcome: Outcome
    message: str
    size: tuple[int, ...]
    seconds: float


#: Every property by its name.
PROPERTIES: dict[str, Property] = {}


def property_of(name: str) -> Callable[[Callable[[Draw], None]], Callable[[Draw], None]]:
    """Return a decorator that registers a function of a `Draw` as a property."""

    def register(check: Callable[[Draw], None]) -> Callable[[Draw], None]:
        if name in PROPERTIES:
            raise ValueError(f"name={name!r} is taken by another property. Choose another name.")
        PROPERTIES[name] = Property(name, check)
        return check

    return register


def run_case(known: Property, draw: Draw) -> Case:
    """Return how a case of a property ended; no exception of the property leaves this function."""
    try:
        with strict_warnings():
            known.check(draw)
    except Refusal as refusal:
        return Case(Outcome.REFUSED, str(refusal), draw.size, draw.seconds)
    except Exception as error:
        where = "" if isinstance(error, Fault) else "".join(traceback.format_exception(error)[-4:])
        message = f"{type(error).__name__}: {error}\n{where}drawn: {draw.notes}"
        return Case(Outcome.FAULT, message, draw.size, draw.seconds)
    return Case(Outcome.PASSED, "", draw.size, draw.seconds)


@contextmanager
def strict_warnings() -> Iterator[None]:
    """Make errors of all warnings but those in which the library advises its user."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        # scikit-learn looks for NaN and infinity by a sum, before it refuses them.
        warnings.filterwarnings("ignore", "invalid value encountered in reduce")
        yield


def call(draw: Draw, method: Callable[..., T], *args: Any, legal: bool = False, **kwargs: Any) -> T:
    """Return the result of a method of an estimator, and add its time to the case.

    Raises
    ------
    Refusal
        If the method refuses its arguments clearly.
    Fault
        If the error is of another kind or unclear, or if the arguments are legal, so that none may be refused.
    """
    begin = time.perf_counter()
    try:
        return method(*args, **kwargs)
    except (ValueError, TypeError) as error:
        if legal:
            raise Fault(
                f"legal arguments were refused: {type(error).__name__}: {error}; drawn: {draw.notes}"
            ) from error
        if not is_clear(error, method):
            raise
        raise Refusal(str(error)) from error
    finally:
        draw.seconds += time.perf_counter() - begin


def is_clear(error: Exception, method: Callable[..., Any]) -> bool:
    """Return True if an error was raised by a check of gramian or scikit-learn and names an argument."""
    last = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    names = set(inspect.signature(method).parameters)
    owner = getattr(method, "__self__", None)
    names |= set(owner.get_params(deep=False)) if hasattr(owner, "get_params") else set()
    words = set(re.findall(r"\w+", str(error)))
    # The folder of a checkout may be called gramian too.
    known = any(last.is_relative_to(Path(module.__file__).parent) for module in (gramian, sklearn))
    return known and bool(words & (names | SPOKEN))


def require(condition: Any, message: str) -> None:
    """Raise a Fault with the message unless the condition holds."""
    if not condition:
        raise Fault(message)


def require_finite(name: str, value: Any) -> None:
    """Raise a Fault unless all numbers are finite."""
    values = value.data if scipy.sparse.issparse(value) else np.asarray(value)
    require(np.isfinite(values).all(), f"{name} is not finite")


def require_close(name: str, value: Any, wanted: Any, tolerance: float, scale: float | None = None) -> None:
    """Raise a Fault unless |value - wanted| <= tolerance · scale everywhere; the scale is the largest wanted value."""
    value, wanted = np.asarray(value, np.float64), np.asarray(wanted, np.float64)
    require(value.shape == wanted.shape, f"{name} has shape {value.shape}; the reference has {wanted.shape}")
    if not value.size:
        return
    require_finite(name, value)
    scale = float(np.abs(wanted).max()) if scale is None else scale
    apart = float(np.abs(value - wanted).max())
    require(apart <= tolerance * scale, f"{name} differs from the reference by {apart:.3e}, on a scale of {scale:.3e}")
