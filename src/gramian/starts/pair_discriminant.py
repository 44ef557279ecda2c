"""Discriminants from pairs: the directions in which far pairs differ more than near ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from gramian.execution import Execution, Serial, execution_for
from gramian.features import Array, Features
from gramian.situation import SignedPairs, Situation
from gramian.starts.discriminant import PRINCIPAL
from gramian.starts.principal import LARGEST_MOMENT, principal_components
from gramian.types import Matrix

__all__ = ["pair_discriminants", "pair_start"]

#: The share of the identity in the second moment of near pairs: it keeps many features from overfitting.
RIDGE = 0.1
#: The number of pairs that are enough for a start, and the number whose differences are held at a time.
MOST_PAIRS, AT_A_TIME = 5_000, 1_024


def pair_start(situation: Situation, rank: int) -> Matrix:
    """Return discriminants from pairs, (d, r)."""
    if situation.signed is None:
        raise ValueError("init='pairs' needs pairs with signs. Choose 'pca', 'identity' or 'random', or give y.")
    return pair_discriminants(situation.features, situation.signed, rank, situation.rng, situation.execution)


def pair_discriminants(
    features: Features, signed: SignedPairs, rank: int, rng: np.random.Generator, execution: Execution | None = None
) -> Matrix:
    """Return the leading generalised eigenvectors (d, r) of the second moments of far and of near pairs.

    With many features they are looked for among some principal directions.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.situation import SignedPairs
    >>> from gramian.starts.pair_discriminant import pair_discriminants
    >>> X = np.array([[0.0, 0.0], [0.0, 5.0], [3.0, 0.0], [3.0, 5.0]])
    >>> signed = SignedPairs(np.array([[0, 1], [2, 3], [0, 2], [1, 3]]), np.array([1, 1, -1, -1]), np.ones(4))
    >>> G = pair_discriminants(Array(X), signed, 1, np.random.default_rng(0))
    >>> bool(abs(G[0, 0]) > 4 * abs(G[1, 0]))
    True
    """
    d, execution = features.shape[1], Serial() if execution is None else execution_for(features, execution)
    if d > LARGEST_MOMENT:
        count = max(PRINCIPAL, rank)
        components = principal_components(features, count, rng, execution)
        inside = Array(np.ascontiguousarray(components.scores[:, :count]))
        combinations = np.zeros((components.scores.shape[1], rank))
        combinations[: inside.shape[1]] = pair_discriminants(inside, signed, rank, rng, execution)
        return np.ascontiguousarray(components.lift(combinations, execution).astype(features.dtype))
    if len(signed.pairs) > MOST_PAIRS:
        signed = signed.part(np.sort(rng.choice(len(signed.pairs), MOST_PAIRS, replace=False)))
    near, far = (difference_moment(features, signed.part(signed.signs * sign > 0), execution) for sign in (1, -1))
    size = float(np.trace(near)) or float(np.trace(far)) or 1.0
    near = (1 - RIDGE) * near + RIDGE * size / d * np.eye(d)
    directions = scipy.linalg.eigh(far, near, subset_by_index=[d - rank, d - 1])[1]
    return np.ascontiguousarray(directions[:, ::-1].astype(features.dtype))


class PairRows(NamedTuple):
    """Some pairs, and the samples that they are of."""

    features: Features
    signed: SignedPairs


def difference_moment(features: Features, signed: SignedPairs, execution: Execution) -> Matrix:
    """Return the weighted mean of (x_i - x_j)(x_i - x_j)ᵀ over pairs, shape (d, d), in float64."""
    # The samples of a pair may be on two workers: the driver collects them.
    execution = Serial() if hasattr(features, "execution") else getattr(execution, "nearby", execution)
    cuts = [slice(start, start + AT_A_TIME) for start in range(0, len(signed.pairs), AT_A_TIME)]
    if not cuts:
        return np.zeros((features.shape[1],) * 2)
    moment = execution.run(sum_differences, execution.place([PairRows(features, signed.part(cut)) for cut in cuts]))[1]
    return moment / max(float(signed.weight.sum()), np.finfo(np.float64).tiny)


def sum_differences(rows: PairRows) -> tuple[None, Matrix]:
    """Sum the weighted outer products of the differences of pairs."""
    ends = [rows.features.take(end).dense().astype(np.float64) for end in rows.signed.pairs.T]
    difference = ends[0] - ends[1]
    return None, difference.T @ (rows.signed.weight[:, None] * difference)
