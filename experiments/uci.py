"""Distances of full rank on five UCI sets.

The error of 5 nearest neighbours by a learned distance, two folds, 10 random partitions; features are standardised on
each training half. Flat and polar are the paper's batch algorithms (Armijo's rule with its sign mended, ε = 1e-5, at
most 1000 iterations) from W₀ = I, without any regularisation. They, ITML and LEGO see 40 c (c - 1) random pairs of the
training half, POLA the same number; at most the 5th percentile of squared distances apart for one class, at least the
95th for two. ITML's γ and LEGO's η are chosen among 10^k, k = -3 .. 3, by two-fold validation on the training half; the
others have nothing to tune. Bars are means, lines standard deviations over partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from experiments.errors import dataset_names, error_spread, error_values, mean_error
from experiments.experiment import Claim, Records, Verdict, fails, holds, in_part
from experiments.neighbours import evaluate_learner, two_fold_splits
from gramian import MetricLearner, datasets
from gramian.baselines import ITML, LEGO, LMNN, POLA
from gramian.solvers import GradientDescent
from harness.progress import Progress

CAVEATS = (
    "POLA has no step size, though the paper tunes one. At full rank polar has no subspace to weigh: λ is the paper's "
    "0.5. LMNN has its authors' μ = 0.5.",
    "ITML is stopped after 100 cycles, LMNN after 10 rounds, NCA at its default of 50 iterations. Soybean's 532 rows "
    "have 15 classes, not the paper's 17; Wine has 3, not 13.",
    "NCA and triplets (MetricLearner as it comes) are beyond the paper, which compares with neither, nor with Euclid. "
    "They see all labels of the training half, as LMNN does, and no pairs.",
)


@dataclass(frozen=True)
class Config:
    """Settings: data sets, partitions, the grid of tuned parameters, and iteration limits."""

    sets: tuple[str, ...] = ("iris", "wine", "balance_scale", "ionosphere", "soybean")
    partitions: int = 10
    grid: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
    tolerance: float = 1e-5
    iterations: int = 1000
    cycles: int = 100
    rounds: int = 10


QUICK = Config(sets=("iris", "wine"), partitions=1, grid=(1e-3, 1.0), iterations=50, cycles=10, rounds=2)
PAPER = Config()

#: Colours that the colour-blind tell apart: the paper's algorithms, its competitors, and others.
OURS, RIVALS, BEYOND = "#0072B2", "#E69F00", "#999999"
PROPOSED = ("flat", "polar")
COMPETITORS = ("ITML", "LMNN", "LEGO", "POLA")
OTHERS = ("Euclid", "NCA", "triplets")
FIXED = {"ITML": "ITML, γ = 1", "LEGO": "LEGO, η = 0.001"}
#: Means in per cent of a prototype, written before this library, with fixed settings; its partitions were others.
PROTOTYPE = {
    "Euclid": (5.60, 4.44, 15.73, 17.12, 13.16),
    "flat": (3.20, 3.76, 11.02, 12.94, 9.90),
    "polar": (3.20, 3.71, 10.96, 12.65, 10.09),
    FIXED["ITML"]: (3.33, 3.15, 9.90, 14.99, 9.15),
    FIXED["LEGO"]: (4.53, 3.09, 12.19, 15.56, 11.78),
}


#: A mean that is worse by no more is as good. Partitions share their samples, so it errs on the side of differences.
MARGIN = "two standard errors of the mean difference over partitions"
#: What the competitors have that flat and polar, fitted to few pairs without regularisation, have not.
ADVANTAGES = {
    "ITML": "ITML is tuned and stays near the identity",
    "LMNN": "LMNN sees all labels",
    "LEGO": "LEGO is tuned and stays near the identity",
}


def make_learners(config: Config, seed: int) -> dict[str, tuple[Any, dict[str, tuple[float, ...]] | None]]:
    """Return, by name, each learner with the grid of its tuned parameter; no learner for Euclid."""
    paper = {"constraints": "pairs", "init": "identity", "regularisation": 0, "solver": GradientDescent()}
    stop = {"tol": config.tolerance, "max_iter": config.iterations, "random_state": seed}
    itml, lego = ITML(max_iter=config.cycles, random_state=seed), LEGO(random_state=seed)
    return {
        "flat": (MetricLearner(geometry="flat", **paper, **stop), None),
        "polar": (MetricLearner(geometry="polar", **paper, **stop), None),
        "ITML": (itml, {"gamma": config.grid}),
        "LMNN": (LMNN(max_iter=config.rounds, random_state=seed), None),
        "LEGO": (lego, {"eta": config.grid}),
        "POLA": (POLA(random_state=seed), None),
        "Euclid": (None, None),
        "NCA": (NeighborhoodComponentsAnalysis(random_state=seed), None),
        "triplets": (MetricLearner(random_state=seed), None),
        FIXED["ITML"]: (itml, None),
        FIXED["LEGO"]: (lego, None),
    }


def run(config: Config, progress: Progress) -> Records:
    """Return a row per partition, data set and method: the mean error of both folds."""
    cases = product(range(config.partitions), config.sets)
    return progress.rows(cases, lambda case: measure_partition(config, *case))


def measure_partition(config: Config, seed: int, name: str) -> Records:
    """Return the rows of all methods on one partition of a data set."""
    data = datasets.load(name)
    splits = list(two_fold_splits(data.X, data.y, seed))
    rows = []
    for method, (learner, grid) in make_learners(config, seed).items():
        folds = [evaluate_learner(learner, split, grid, seed) for split in splits]
        row = {"dataset": name, "seed": seed, "method": method, "error": np.mean([fold["error"] for fold in folds])}
        rows.append(row | {key: [fold[key] for fold in folds] for key in ("chosen", "seconds")})
    return rows


def plot(records: Records) -> Any:
    """Plot errors, a panel per data set and a bar per method."""
    from matplotlib.figure import Figure

    sets = dataset_names(records)
    figure = Figure(figsize=(9.5, 3.1), layout="constrained")
    panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    groups = ((PROPOSED, OURS, "the paper's"), (COMPETITORS, RIVALS, "its competitors"), (OTHERS, BEYOND, "others"))
    methods = [method for group, *_ in groups for method in group]
    for axes, name in zip(panels, sets, strict=True):
        for group, colour, label in groups:
            means = [mean_error(records, dataset=name, method=method) for method in group]
            spreads = [error_spread(records, dataset=name, method=method) for method in group]
            heights = [methods.index(method) for method in group]
            axes.barh(heights, means, xerr=spreads, color=colour, label=label, error_kw={"lw": 1, "ecolor": "0.25"})
        axes.set_title(name.replace("_", " "), fontsize=10)
        axes.grid(axis="x", color="0.9")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(methods)), methods)
    panels[0].invert_yaxis()
    figure.supxlabel("5-NN error, %", fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    return figure


def least_error(records: Records, name: str, methods: tuple[str, ...]) -> tuple[float, str]:
    """Return the least mean error on a data set and its method, the first one in a tie."""
    found = [(mean_error(records, dataset=name, method=method), method) for method in methods]
    return min(found, key=lambda pair: pair[0])


def is_worse(records: Records, name: str, method: str, rival: str) -> bool:
    """Return whether a mean error exceeds another by more than two standard errors, paired by partition."""
    pairs = zip(*(error_values(records, dataset=name, method=m) for m in (method, rival)), strict=True)
    differences = [a - b for a, b in pairs]
    error = np.std(differences, ddof=1) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
    return bool(np.mean(differences) > 2 * error)


def check_competes(records: Records) -> Verdict:
    """Check that flat and polar are not worse than the best competitor by more than two standard errors."""
    behind, parts = [], []
    for name in dataset_names(records):
        least, rival = least_error(records, name, COMPETITORS)
        ours = {method: mean_error(records, dataset=name, method=method) for method in PROPOSED}
        parts.append(f"{name} {' and '.join(f'{value:.1f}' for value in ours.values())} ({rival} {least:.1f})")
        behind += [f"{method} on {name}" for method in PROPOSED if is_worse(records, name, method, rival)]
    measured = f"errors of flat and polar, in % (best competitor): {', '.join(parts)}"
    if not behind:
        return holds(measured, f"Never behind by more than {MARGIN}.")
    why = f"Behind by more than {MARGIN}: {', '.join(behind)}."
    return (in_part if len(behind) < len(PROPOSED) * len(parts) else fails)(measured, why)


def check_minimal(records: Records) -> Verdict:
    """Count the sets where flat or polar has the least mean error: 4 for the claim, most of them for a part."""
    found = {name: least_error(records, name, PROPOSED + COMPETITORS) for name in dataset_names(records)}
    won = [name for name, (_, method) in found.items() if method in PROPOSED]
    winners = ", ".join(f"{name} {method} {value:.1f}" for name, (value, method) in found.items())
    beyond = [n for n, (value, _) in found.items() if mean_error(records, dataset=n, method="triplets") < value]
    measured = f"least on {len(won)} of {len(found)}: {winners} %; triplets are below on {len(beyond)}"
    if len(won) >= min(4, len(found)):
        return holds(measured)
    most = 2 * len(won) > len(found)
    why = "On most sets, not on 4 of 5." if most else "Not on most sets."
    reasons = [words for rival, words in ADVANTAGES.items() if rival in {method for _, method in found.values()}]
    if reasons:
        why += f" Perhaps because flat and polar have few pairs and no regularisation, while {', '.join(reasons)}."
    if check_competes(records).status == "holds":
        why += f" Nowhere are they behind by more than {MARGIN}, so the order may be chance."
    return (in_part if most else fails)(measured, why)


def check_prototype(records: Records) -> Verdict:
    """Check that errors with fixed settings are within two standard deviations of the prototype's."""
    off, furthest = [], 0.0
    order = Config().sets
    for name, method in product(dataset_names(records), PROTOTYPE):
        wanted = PROTOTYPE[method][order.index(name)]
        found, sigma = (of(records, dataset=name, method=method) for of in (mean_error, error_spread))
        furthest = max(furthest, abs(found - wanted))
        if abs(found - wanted) > 2 * sigma:
            off.append(f"{name}, {method}: {found:.1f} against {wanted:.1f} ± {sigma:.1f}")
    total = len(dataset_names(records)) * len(PROTOTYPE)
    measured = (
        f"{total - len(off)} of {total} within two standard deviations, none off by more than {furthest:.1f} points"
    )
    if not off:
        return holds(measured)
    return (in_part if len(off) < total / 2 else fails)(measured, f"Not so: {'; '.join(off)}.")


CLAIMS = [
    Claim(
        "uci-competes",
        "10.3",
        "The batch algorithms compete with state-of-the-art full-rank Mahalanobis distance learning on UCI sets.",
        check_competes,
    ),
    Claim(
        "uci-minimal",
        "10.3",
        "The two algorithms achieve the minimal average error for 4 of the 5 data sets.",
        check_minimal,
    ),
    Claim(
        "uci-prototype",
        "10.3",
        "Not the paper's: a prototype by other code, with fixed settings and otherwise alike, found the same errors.",
        check_prototype,
    ),
]
