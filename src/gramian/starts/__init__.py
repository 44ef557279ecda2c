"""Starts: the first factor of a minimisation, by name.

To add one, write a function (situation, rank) -> factor (d, r) and one line in `STARTS`; estimators name those
that they accept. `resolve_start` turns a user's `init` into a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.checks import validate_factor
from gramian.coordinates import Coordinates
from gramian.features import Identity
from gramian.objective import Problem
from gramian.situation import Situation
from gramian.starts.classical_scaling import classical_start
from gramian.starts.discriminant import discriminants, lda_start
from gramian.starts.kernel_pca import kernel_start
from gramian.starts.pair_discriminant import pair_start
from gramian.starts.principal import pca_start, principal_directions
from gramian.starts.scale import fit_scale
from gramian.starts.simple import frame_start, identity_start, random_start
from gramian.starts.spectral import spectral_start
from gramian.types import Matrix

__all__ = [
    "STARTS",
    "Situation",
    "Start",
    "discriminants",
    "fit_scale",
    "initial_factor",
    "principal_directions",
    "resolve_start",
]

# The numbers of measurements a feature, and in all, that are enough for a start.
MEASUREMENTS_PER_FEATURE, MEASUREMENTS = 20, 5000

Start = Callable[[Situation, int], Matrix]

STARTS: dict[str, Start] = {
    "identity": identity_start,
    "random": random_start,
    "frame": frame_start,
    "pca": pca_start,
    "lda": lda_start,
    "pairs": pair_start,
    "spectral": spectral_start,
    "kernel": kernel_start,
    "classical": classical_start,
}


#: Starts of a regression: matrices (n, d, d) have no principal directions.
STARTS_OF_MATRICES = ("spectral", "random", "identity")
STARTS_OF_SAMPLES = (*STARTS_OF_MATRICES, "pca")


def initial_factor(
    init: Any, problem: Problem, rank: int, rng: np.random.Generator, coordinates: Coordinates | None = None
) -> Matrix:
    """Return a factor (d, r) for a problem of one term; a named one is scaled so that its predictions fit the targets.

    Parameters
    ----------
    init : {"auto", "spectral", "random", "pca", "identity"} or array of shape (d, r)
        "auto" is "spectral", and "identity" where the rank is full.
    problem : Problem
    rank : int
    rng : numpy.random.Generator
    coordinates : Coordinates, optional
        Those of the problem; the user's by default.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Array
    >>> from gramian.measurements import Each
    >>> from gramian.starts import initial_factor
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> problem = Problem([Block(Array(X), [Term(Each(500), X[:, 0] ** 2)])])
    >>> np.abs(initial_factor("spectral", problem, 1, np.random.default_rng(0))).round(0).ravel()
    array([1., 0., 0.])
    """
    features = problem.blocks[0].features
    part = sample_measurements(problem, rng) if isinstance(init, str) else problem
    situation = Situation(features, rng, problem.execution, coordinates, part)
    choices = STARTS_OF_MATRICES if isinstance(features, Identity) else STARTS_OF_SAMPLES
    auto = "identity" if rank == problem.n_features else "spectral"
    G = resolve_start(init, situation, rank, choices=choices, auto=auto)
    return fit_scale(part, G) if isinstance(init, str) else G


def sample_measurements(problem: Problem, rng: np.random.Generator) -> Problem:
    """Return the problem of a random subset of the measurements that is enough for a start; all if there are few."""
    m, enough = len(problem.sampled.measurement), max(MEASUREMENTS_PER_FEATURE * problem.n_features, MEASUREMENTS)
    if m > enough:
        return problem.take(rng.choice(m, enough, replace=False))
    # Few samples on workers come to the driver.
    return problem.take(np.arange(m)) if hasattr(problem.blocks[0].features, "split_block") else problem


def resolve_start(
    init: Any,
    situation: Situation,
    rank: int,
    *,
    choices: tuple[str, ...],
    auto: str = "",
    rows: str = "n_features",
) -> Matrix:
    """Return the first factor (d, r), from a name or an array.

    Parameters
    ----------
    init : str or array, shape (d, r)
        An array is a factor for the user's data.
    situation : Situation
        What is known at the start.
    rank : int
    choices : tuple of str
        The names in `STARTS` that the estimator accepts.
    auto : str
        What init="auto" stands for; "" if the estimator has no such setting.
    rows : str
        The name of d in errors; "n_samples" where the factor has a row for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.starts import Situation, resolve_start
    >>> situation = Situation(Array(np.diag([1.0, 2.0, 3.0])), np.random.default_rng(0))
    >>> resolve_start("pca", situation, 1, choices=("pca", "random")).ravel()
    array([0., 0., 1.])
    """
    d, dtype = situation.features.shape[1], situation.features.dtype
    if not isinstance(init, str):
        return situation.to_solver(validate_factor(init, d, rank, dtype, rows))
    name = auto if init == "auto" and auto else init
    if name not in choices:
        names = ", ".join(repr(known) for known in (*(("auto",) if auto else ()), *choices))
        raise ValueError(f"init={init!r} is unknown. Choose one of {names}, or an array.")
    start = STARTS[name](situation, rank)
    with np.errstate(over="ignore"):
        cast = np.ascontiguousarray(start.astype(dtype, copy=False))
    if not np.isfinite(cast).all() and np.isfinite(start).all():
        raise ValueError(
            f"the start of init={init!r} is outside the range of {dtype} numbers. Scale X, or give float64."
        )
    return cast
