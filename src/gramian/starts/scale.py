"""The scale of a start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramian.objective import Block, Problem, Term
from gramian.types import Matrix

__all__ = ["fit_scale"]


class FitSums(NamedTuple):
    """Weighted sums of prediction², prediction · target and target²."""

    predicted: float
    mixed: float
    target: float


def fit_scale(problem: Problem, G: Matrix) -> Matrix:
    """Return √c G with the c > 0 that fits predictions to targets by least squares; a small c where they disagree.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Array
    >>> from gramian.measurements import Each
    >>> from gramian.starts import fit_scale
    >>> problem = Problem([Block(Array(np.eye(2)), [Term(Each(2), np.array([9.0, 9.0]))])])
    >>> fit_scale(problem, np.ones((2, 1))).ravel()
    array([3., 3.])
    """
    sums: FitSums = problem.run(sum_fit, passes=1, G=G)[1]
    if not sums.predicted > 0 or not np.isfinite(sums.predicted):
        return G
    c = max(sums.mixed / sums.predicted, 1e-3 * (sums.target / sums.predicted) ** 0.5)
    with np.errstate(over="ignore"):
        scaled = G.dtype.type(c**0.5) * G if 0 < c < np.inf else G
    return scaled if np.isfinite(scaled).all() else G


def sum_fit(block: Block, *, G: Matrix) -> tuple[None, FitSums]:
    """Sum prediction², prediction · target and target² over the terms of a block."""
    total = np.zeros(3)
    predictions = block.predict(block.image(G))
    # Predictions that are infinite leave the start as it is.
    with np.errstate(over="ignore", invalid="ignore"):
        for term, p in zip(block.terms, predictions, strict=True):
            if isinstance(term, Term):
                p, target = p.astype(np.float64, copy=False), term.target.astype(np.float64, copy=False)
                products = (p**2, p * target, target**2)
                total += [float(np.sum(term.weight * product, dtype=np.float64)) for product in products]
    return None, FitSums(*(float(part) for part in total))
