"""Methods of the experiments on distances of low rank: in all features, or after a projection by PCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from experiments.experiment import Records
from experiments.neighbours import Split, evaluate_learner
from gramian import MetricLearner
from gramian.baselines import ITML, LEGO, LMNN
from gramian.geometries import Polar
from gramian.solvers import GradientDescent

__all__ = ["DETERMINISTIC", "FIXED", "LowRank", "compare_methods", "full_feature_learners"]

FIXED = "polar, λ = 0"
#: Methods that draw no pairs.
DETERMINISTIC = ("Euclid", "PCA", "LMNN", "NCA", "triplets")


@dataclass(frozen=True)
class LowRank:
    """Settings: ranks, pairs, the grids of tuned parameters, and iteration limits.

    `online` names the geometries with an online curve; NCA learns from at most `examples` samples.
    """

    ranks: tuple[int, ...] = (2, 5, 10, 20, 50)
    pairs: int = 100_000
    gammas: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
    etas: tuple[float, ...] = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
    tolerance: float = 1e-5
    iterations: int = 300
    online: tuple[str, ...] = ("flat", "polar")
    epochs: int = 5
    batch: int = 256
    cycles: int = 10
    rounds: int = 5
    examples: int = 1500


def full_feature_learners(settings: LowRank, rank: int, seed: int) -> dict[str, Any]:
    """Return, by name, the learners that see every feature: the paper's, and MetricLearner with default settings."""
    start = {"n_components": rank, "constraints": "pairs", "init": "pca", "regularisation": 0, "random_state": seed}
    pairs = start | {"n_constraints": settings.pairs, "tol": settings.tolerance}
    batch = pairs | {"solver": GradientDescent(), "max_iter": settings.iterations}
    online = pairs | {"solver": "online", "n_epochs": settings.epochs, "batch_size": settings.batch}
    return {
        "flat": MetricLearner(geometry="flat", **batch),
        "polar": MetricLearner(geometry="polar", **batch),
        FIXED: MetricLearner(geometry=Polar(0.0), **batch),
        **{f"{geometry}, online": MetricLearner(geometry=geometry, **online) for geometry in settings.online},
        "triplets": MetricLearner(rank, random_state=seed),
    }


def projected_learners(settings: LowRank, seed: int) -> dict[str, tuple[Any, dict[str, tuple[float, ...]] | None]]:
    """Return, by name, the full-rank learners for projected samples, each with its grid of a tuned parameter."""
    pairs = {"n_constraints": settings.pairs, "random_state": seed}
    return {
        "PCA": (None, None),
        "LEGO": (LEGO(**pairs), {"eta": settings.etas}),
        "LMNN": (LMNN(max_iter=settings.rounds, random_state=seed), None),
        "ITML": (ITML(max_iter=settings.cycles, **pairs), {"gamma": settings.gammas}),
        "NCA": (NeighborhoodComponentsAnalysis(max_iter=30, random_state=seed), None),
    }


def compare_methods(settings: LowRank, split: Split, rank: int, seed: int, without: tuple[str, ...] = ()) -> Records:
    """Return a row per method: its error at a rank, and its seconds."""
    found = {"Euclid": evaluate_learner(None, split)} if "Euclid" not in without else {}
    for name, learner in full_feature_learners(settings, rank, seed).items():
        if name not in without:
            found[name] = evaluate_learner(learner, split)
    small = project_split(split, rank)
    for name, (learner, grid) in projected_learners(settings, seed).items():
        if name not in without:
            seen = subsample(small, settings.examples, seed) if name == "NCA" else None
            found[name] = evaluate_learner(learner, small, grid, seed, seen)
    return [{"method": name, "rank": rank, "seed": seed, **row} for name, row in found.items()]


def project_split(split: Split, rank: int) -> Split:
    """Return the samples projected on the leading principal directions of the training samples."""
    n, d = split.train.shape
    solver = "covariance_eigh" if n > d else "full"
    return split.through(PCA(rank, svd_solver=solver).fit(split.train).transform)


def subsample(split: Split, most: int, seed: int) -> Split:
    """Return the split with at most `most` training samples, drawn at random."""
    rows = np.random.default_rng(seed).permutation(len(split.labels))[:most]
    return split._replace(train=split.train[rows], labels=split.labels[rows])
