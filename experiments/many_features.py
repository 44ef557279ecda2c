"""Distances of low rank where features far outnumber samples.

Two sets stand in for the paper's Prostate spectra (322 x 15,154): arcene, mass spectra, 200 x 10,000, and gordon_lung,
a microarray, 181 x 12,533, each in two classes. Two folds, ten random partitions, errors of 5 nearest neighbours;
features are standardised on each training half. As on Isolet, but with 10,000 random pairs: the paper's algorithms
learn in all features, from the principal directions; its competitors learn a distance of full rank after a projection
on as many principal directions. Lines are means, bars standard deviations over partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from experiments.experiment import Records
from experiments.low_rank import LowRank, compare_methods
from experiments.low_rank_claims import make_claims, plot_errors
from experiments.neighbours import two_fold_splits
from gramian import datasets
from harness.progress import Progress

CAVEATS = (
    "Stand-ins: what is measured is not what the paper measured. A training half has about 90 samples, so that 10,000 "
    "pairs are nearly all there are, and an error is known to some points only.",
    "ITML is stopped after 10 cycles, LMNN after 5 rounds, batch algorithms after 200 iterations; online ones go "
    "through the pairs five times, in mini-batches of 256, as chosen on Isolet.",
    "NCA and triplets (MetricLearner as it comes) are beyond the paper, and so is polar with λ = 0, which stays in the "
    "principal subspace.",
)


@dataclass(frozen=True)
class Config(LowRank):
    """Settings: those of `LowRank`, data sets, and partitions."""

    pairs: int = 10_000
    iterations: int = 200
    sets: tuple[str, ...] = ("arcene", "gordon_lung")
    partitions: int = 10


QUICK = Config(
    sets=("digits",),
    partitions=1,
    ranks=(2, 5),
    pairs=200,
    gammas=(1.0,),
    etas=(1e-7,),
    iterations=10,
    epochs=1,
    cycles=2,
    rounds=1,
    examples=100,
)
PAPER = Config()


def run(config: Config, progress: Progress) -> Records:
    """Return a row per partition, data set, rank and method: the mean error of both folds."""
    cases = product(range(config.partitions), config.sets, config.ranks)
    return progress.rows(cases, lambda case: measure_rank(config, *case))


def measure_rank(config: Config, seed: int, name: str, rank: int) -> Records:
    """Return the rows of all methods at one rank, on one partition of a data set."""
    data = datasets.load(name)
    folds = [compare_methods(config, split, rank, seed) for split in two_fold_splits(data.X, data.y, seed)]
    rows = []
    for both in zip(*folds, strict=True):
        together = {key: [row[key] for row in both] for key in ("chosen", "seconds")}
        rows.append({**both[0], "dataset": name, "error": np.mean([row["error"] for row in both]), **together})
    return rows


def plot(records: Records) -> Any:
    """Plot errors against the rank, a panel per data set."""
    return plot_errors(records)


CLAIMS = make_claims("many-features")
