"""Rounds over all samples: which samples and anchors a round has, the scale of its start, and its penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gramian.execution import execution_for
from gramian.images import total_variance
from gramian.objective import Block, Problem
from gramian.penalties import squared_norm
from gramian.situation import Situation
from gramian.types import Matrix, Vector

__all__ = [
    "FEW",
    "MOST_ANCHORS",
    "TRIED",
    "anchor_counts",
    "draw_anchors",
    "draw_samples",
    "largest_count",
    "sample_problem",
    "scale_start",
    "trace_penalty_weight",
]

#: The largest numbers of samples and of anchors of a round.
MOST_SAMPLES, MOST_ANCHORS = 8_000, 4_000
#: From more samples than this on, the first rounds have fewer anchors than the last.
FEW = 1_000
#: At high rank a round has fewer anchors, at least FEW: their number times the rank is at most this.
MOST_WORK = 2**18
#: The scales tried for the start are 2 to half a power. Each search has a spacing of powers, and a number of them on
#: each side of the best one so far. TRIED anchors compare the scales.
SEARCHES, TRIED = ((4, 3), (2, 1), (1, 1)), 500
#: The largest number of features whose variance is computed; of more, that of as many combinations. And its samples.
COMBINATIONS, SAMPLED = 64, 2_000
#: The number of coefficients of combinations that are held at a time.
LARGEST_TILE = 2**23


def largest_count(rank: int) -> int:
    """Return the largest number of anchors of a round: the higher the rank, the more each costs."""
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


def sample_problem(situation: Situation, rows: Vector | None, term: Any) -> Problem:
    """Return the problem of a term of some samples, by index; None stands for all."""
    features = situation.features if rows is None else situation.features.take(rows)
    return Problem([Block(features, [term])], execution_for(features, situation.execution))


def scale_start(problem: Problem, start: Matrix, penalty: float = 0.0) -> Matrix:
    """Return the start (d, r), of entries near 1, at the scale with the lowest value of softmax terms; one pass.

    `penalty` is the weight of tr(W)/tr(W₀), which is added; W₀ is that of the given start. Without it, a start that
    separates the classes has no best scale: the larger, the lower the value.
    """
    images, sums = problem.run(map_samples, factor=start)
    images, squares = problem.run(centre_image, images, mean=sums.total / sums.n_rows)
    typical = float(np.sqrt(squares / sums.n_rows))
    unit = 1 / typical if 0 < typical < np.inf else 1.0
    best, known = 0, dict[int, float]()
    for spacing, count in SEARCHES:
        powers = sorted({best + spacing * index for index in range(-count, count + 1)} - set(known))
        scales = [scale_of(unit, power, start.dtype) for power in powers]
        values = problem.run(try_scales, images, scales=scales)[1]
        penalties = penalty * np.square(scales, dtype=np.float64) if penalty else 0.0
        known.update(zip(powers, (values + penalties).tolist(), strict=True))
        best = min(sorted(known), key=known.__getitem__)
    return start * scale_of(unit, best, start.dtype)


def scale_of(unit: float, power: int, dtype: np.dtype) -> np.floating:
    """Return the unit times 2 to half a power, as a number of a dtype."""
    return dtype.type(unit * 2.0 ** (power / 2))


class ImageSums(NamedTuple):
    """The number of rows of an image, and their sum (r,) in float64."""

    n_rows: int
    total: Vector


def map_samples(block: Block, *, factor: Matrix) -> tuple[Matrix, ImageSums]:
    """Keep the image of the samples; count and sum its rows."""
    Z = block.image(factor)
    return Z, ImageSums(len(Z), Z.sum(axis=0, dtype=np.float64))


def centre_image(block: Block, Z: Matrix, *, mean: Vector) -> tuple[Matrix, float]:
    """Keep the image less its mean; sum the squares of its entries."""
    Z = Z - mean.astype(Z.dtype)
    return Z, float(np.sum(Z.astype(np.float64) ** 2))


def try_scales(block: Block, Z: Matrix, *, scales: Sequence[float]) -> tuple[None, Vector]:
    """Sum the values of the terms at the image times each scale, shape (len(scales),)."""
    images = (Z * scale for scale in scales)
    return None, np.array([block.assess(image, block.predict(image))[1].value for image in images])


def trace_penalty_weight(situation: Situation, start: Matrix, price: float) -> float:
    """Return the weight of tr(W)/tr(W₀) that penalises tr(W) by price · d/n · the mean variance of a feature."""
    if price == 0:
        return 0.0
    n, d = situation.features.shape[0], len(start)
    return price * d / n * mean_variance(situation) * squared_norm(start)


def mean_variance(situation: Situation) -> float:
    """Return the mean variance of a feature of some samples; with many features, from random combinations of them."""
    (n, d), dtype = situation.features.shape, situation.features.dtype
    some, rng = situation.features.take(np.arange(0, n, -(-n // SAMPLED))), np.random.default_rng(0)
    if d <= COMBINATIONS:
        return total_variance(some, np.eye(d, dtype=dtype), situation.execution) / d
    total, drawn = 0.0, 0
    while drawn < COMBINATIONS:
        count = min(COMBINATIONS - drawn, max(1, LARGEST_TILE // d))
        B = rng.standard_normal((d, count)).astype(dtype) / dtype.type(COMBINATIONS**0.5)
        total += total_variance(some, B, situation.execution)
        drawn += count
    return total / d
