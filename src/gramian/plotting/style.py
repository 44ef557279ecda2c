"""Colours, markers and axes of all pictures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.files.header import find_learner
from gramian.types import Matrix

__all__ = ["COLOURS", "SIZES", "Look", "learned_matrix", "learner_of", "look_of", "make_axes", "place_legend"]

#: The colours of Okabe and Ito, which colour-blind readers can tell apart, a grey and a dark red; neighbours differ in
#: lightness too.
COLOURS = (
    *("#0072B2", "#E69F00", "#000000", "#56B4E9", "#D55E00", "#F0E442", "#009E73", "#CC79A7"),
    *("#771155", "#BBBBBB"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "p")
#: Markers of little area are drawn larger.
SIZES = {"*": 1.7, "P": 1.3, "X": 1.3, "p": 1.2, "^": 1.1, "v": 1.1, "<": 1.1, "D": 0.8}
LINES = ("-", "--", "-.", ":")
MOST_IN_A_COLUMN = 12


class Look(NamedTuple):
    """The colour, the marker and the line of one of several kinds."""

    colour: str
    marker: str
    line: str


def look_of(index: int) -> Look:
    """Return the look of a kind by its number; 100 kinds differ in their colour or their marker."""
    turn = index // len(COLOURS)
    return Look(COLOURS[index % len(COLOURS)], MARKERS[(index + turn) % len(MARKERS)], LINES[index % len(LINES)])


def make_axes(ax: Any, width: float = 6.0, height: float = 4.0) -> Any:
    """Return the axes, or those of a new figure if None; an ImportError says how to install matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib. Install it by: pip install 'gramian[plot]'") from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def place_legend(ax: Any, count: int, title: str | None = None) -> None:
    """Add a legend: within the axes if it is short, else beside them."""
    if count > MOST_IN_A_COLUMN // 2:
        columns = -(-count // MOST_IN_A_COLUMN)
        ax.legend(
            title=title, loc="upper left", bbox_to_anchor=(1.01, 1), ncols=columns, frameon=False, fontsize="small"
        )
    else:
        ax.legend(title=title, fontsize="small")


def learner_of(estimator: Any, *needed: str) -> Any:
    """Return the estimator of gramian, which may be a step of a pipeline; raise an error if it lacks an attribute."""
    learner = find_learner(estimator)
    if learner is None:
        raise TypeError(f"estimator is of type {type(estimator).__name__}; give an estimator of gramian or a pipeline.")
    if not any(hasattr(learner, name) for name in needed):
        raise ValueError(f"{type(learner).__name__} has no {' nor '.join(needed)}. Fit it first, or give another one.")
    return learner


def learned_matrix(learner: Any) -> Matrix:
    """Return the matrix (r, d) whose Gram matrix is W (d, d), in float64; raise a TypeError if W is not of features."""
    if hasattr(learner, "embedding_"):
        raise TypeError(f"{type(learner).__name__} learns a matrix of samples, not of features. Draw its embedding.")
    rows = learner.components_ if hasattr(learner, "components_") else learner.factor_.T
    return np.asarray(rows, np.float64)
