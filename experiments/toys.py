"""The paper's toy data (section 10.1), for several experiments: normal samples, and y = xᵀWx (1 + ν)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian import Block, Problem, Term
from gramian.features import Array
from gramian.measurements import Each
from gramian.solvers import Armijo, GradientDescent

#: The variance of ν; the paper's N(0, 0.01) is read so.
NOISE = 0.01
#: The paper's batch algorithm to the letter, but for the sign in its Armijo rule.
PAPER_SOLVER = GradientDescent(Armijo(growth=None))
#: Colours that the colour-blind can tell apart: blue, orange, green, purple, sky blue, dark red.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#882255")


def simulate_targets(X: np.ndarray, G: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return targets (n,) of samples (n, d) under W = G Gᵀ, with multiplicative noise."""
    return np.sum((X @ G) ** 2, axis=1) * (1 + NOISE**0.5 * rng.standard_normal(len(X)))


def regression_problem(X: np.ndarray, y: np.ndarray) -> Problem:
    """Return the regression problem of targets (n,) on samples (n, d)."""
    return Problem([Block(Array(X), [Term(Each(len(y)), y)])])


def relative_error(G: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return Σ(ŷ - y)²/Σy²: 1 at W = 0, close to the variance of the noise at the true W."""
    return float(np.sum((np.sum((X @ G) ** 2, axis=1) - y) ** 2) / np.sum(y**2))


def set_ticks(axis: Any, ticks: Sequence[float]) -> None:
    """Set the ticks of an axis to these numbers alone, for logarithmic axes of short range."""
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)
