"""Rounds over all samples: which samples and anchors a round has, the scale of its start, and its penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.penalties import squared_norm
from gramian.situation import Situation
from gramian.supervision.triplets import bring_near_one
from gramian.types import Matrix, Vector

__all__ = [
    "FEW",
    "MOST_ANCHORS",
    "TRIED",
    "anchor_counts",
    "draw_anchors",
    "draw_samples",
    "largest_count",
    "scale_start",
    "trace_penalty_weight",
]

#: The largest numbers of samples and of anchors of a round.
MOST_SAMPLES, MOST_ANCHORS = 8_000, 4_000
#: From more samples than this on, the first rounds have fewer anchors than the last.
FEW = 1_000
#: At high rank a round has fewer anchors, at least FEW: their number times the rank is at most this.
MOST_WORK = 2**18
#: The scales tried for the start are 2 to the power of half these numbers; TRIED anchors compare them.
SCALES, TRIED = range(-12, 13), 500
#: The largest number of features whose variance is computed; of more, that of as many combinations. And its samples.
COMBINATIONS, SAMPLED = 64, 2_000
#: The number of coefficients of combinations that are held at a time.
LARGEST_TILE = 2**23


def largest_count(rank: int) -> int:
    """Return the largest number of anchors of a round, whose products with all samples cost as much as the rank."""
    return int(np.clip(MOST_WORK // rank, FEW, MOST_ANCHORS))


def anchor_counts(n_samples: int, divisors: Sequence[int], largest: int = MOST_ANCHORS) -> list[int]:
    """Return the number of anchors of each round: `largest` over each divisor; two rounds of all samples if few."""
    if n_samples <= FEW:
        return [n_samples, n_samples]
    return [min(n_samples, largest) // divisor for divisor in divisors]


def draw_samples(n_samples: int, rng: np.random.Generator) -> Vector | None:
    """Return the indices of the samples of a round; None for all, if they are few."""
    return None if n_samples <= MOST_SAMPLES else rng.choice(n_samples, MOST_SAMPLES, replace=False)


def draw_anchors(able: Vector, count: int, seed: list[int]) -> Vector:
    """Return at most `count` of the indices of samples that can be anchors, ascending."""
    if len(able) <= count:
        return able
    return np.sort(np.random.default_rng(seed).choice(able, count, replace=False))


def scale_start(situation: Situation, start: Matrix, rows: Vector | None, term: Any) -> Matrix:
    """Return the start (d, r) at the scale with the lowest value of a term of these samples; None stands for all."""
    start = bring_near_one(start)
    features = situation.features if rows is None else situation.features.take(rows)
    Z = situation._replace(features=features).image(start)
    Z = Z - Z.mean(axis=0)
    typical = float(np.sqrt(np.mean(np.sum(Z.astype(np.float64) ** 2, axis=1))))
    unit = 1 / typical if 0 < typical < np.inf else 1.0
    steps = [start.dtype.type(unit * 2.0 ** (power / 2)) for power in SCALES]
    values = [term.value_and_slopes(Z * step).value for step in steps]
    return start * steps[int(np.argmin(values))]


def trace_penalty_weight(situation: Situation, start: Matrix, price: float) -> float:
    """Return the weight of tr(W)/tr(W₀) that penalises tr(W) by price · d/n · the mean variance of a feature."""
    n, d = situation.features.shape[0], len(start)
    return price * d / n * mean_variance(situation) * squared_norm(start)


def mean_variance(situation: Situation) -> float:
    """Return the mean variance of a feature of some samples; with many features, from random combinations of them."""
    (n, d), dtype = situation.features.shape, situation.features.dtype
    some, rng = situation.features.take(np.arange(0, n, -(-n // SAMPLED))), np.random.default_rng(0)
    if d <= COMBINATIONS:
        return float(np.sum(np.var(some.image(np.eye(d, dtype=dtype)), axis=0, dtype=np.float64))) / d
    total, drawn = 0.0, 0
    while drawn < COMBINATIONS:
        count = min(COMBINATIONS - drawn, max(1, LARGEST_TILE // d))
        B = rng.standard_normal((d, count)).astype(dtype) / dtype.type(COMBINATIONS**0.5)
        total += float(np.sum(np.var(some.image(B), axis=0, dtype=np.float64)))
        drawn += count
    return total / d
