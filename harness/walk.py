"""The walk of a fit through the source: how many files and functions it enters, and how often it changes the file.

A reader who follows a fit opens these files and functions. Run `python -m harness.walk`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import gramian
from gramian import MetricLearner

__all__ = ["Walk", "main", "walk"]

SOURCE = str(Path(gramian.__file__).parent)


class Walk(NamedTuple):
    """The files and functions of the package that a call enters, and the changes of file from one call to the next.

    A change is counted once for each pair of a calling and a called function.
    """

    files: int
    functions: int
    changes: int


class Watcher:
    """Notes the functions of the package that are called, and by which function of the package, in this thread."""

    def __init__(self) -> None:
        self.entered: set[CodeType] = set()
        self.calls: set[tuple[CodeType, CodeType]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call; comprehensions and lambdas count as their function."""
        code = frame.f_code
        if event != "call" or not is_own(code):
            return
        self.entered.add(code)
        caller = frame.f_back
        while caller is not None and not is_own(caller.f_code):
            caller = caller.f_back
        if caller is not None:
            self.calls.add((caller.f_code, code))

    @property
    def walk(self) -> Walk:
        """What was noted."""
        files = {code.co_filename for code in self.entered}
        changes = sum(caller.co_filename != called.co_filename for caller, called in self.calls)
        return Walk(len(files), len(self.entered), changes)


def is_own(code: CodeType) -> bool:
    """Return True for named functions of the package."""
    return code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<")


def walk(function: Callable[..., Any], *arguments: Any) -> Walk:
    """Return the walk of function(*arguments)."""
    watcher = Watcher()
    before = sys.getprofile()
    sys.setprofile(watcher)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return watcher.walk


def main() -> None:
    """Print the walk of MetricLearner(5).fit on 300 samples of three classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    X = rng.standard_normal((300, 10)) + y[:, None]
    learners = {
        "MetricLearner(5).fit": MetricLearner(5, n_jobs=1, random_state=0),
        "the same, triplets only": MetricLearner(5, constraints="triplets", n_jobs=1, random_state=0),
    }
    for name, learner in learners.items():
        # The first fit compiles and imports.
        learner.fit(X, y)
        found = walk(learner.fit, X, y)
        print(f"{name}: {found.files} files, {found.functions} functions, {found.changes} changes of file")


if __name__ == "__main__":
    main()
