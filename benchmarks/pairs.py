"""ROC AUC of held-out pairs, after learning from 1000 pairs that are near or far, on every labelled set.

    python -m benchmarks.pairs --sets digits spambase

Half of at most 3000 samples have the pairs that are learned from; the pairs of the other half are held out. The AUC is
the mean over several draws of samples and pairs: that of one draw has a standard error of up to 0.01.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load_samples
from benchmarks.metric import LEFT_OUT
from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner, datasets
from gramian.baselines import ITML
from gramian.supervision import labelled_pairs
from harness.timing import print_heading

#: Sets with more features than this are left out: ITML takes too long.
MOST_FEATURES = 300
SAMPLES, PAIRS, HELD_OUT = 3000, 1000, 5000
#: The number of draws, and of those of sets with more features than WIDE, where ITML takes long.
DRAWS, FEWER_DRAWS, WIDE = 5, 2, 100
PEERS = ("ITML", "no penalty", "penalty d/m")


def make_learners(n_features: int) -> dict[str, Callable[[], Any]]:
    """Return how to make each learner, by name."""
    return {
        "ITML": lambda: ITML(random_state=0),
        "no penalty": lambda: MetricLearner(regularisation=0, shrinkage=0, random_state=0),
        "penalty d/m": lambda: MetricLearner(regularisation=n_features / PAIRS, shrinkage=0, random_state=0),
        "ours": lambda: MetricLearner(random_state=0),
    }


def compare(name: str) -> dict[str, float] | None:
    """Print the mean ROC AUC of each learner on a set, and return them; None if the set is not stored, or too wide."""
    data = load_samples(name)
    if data is None or data[0].shape[1] > MOST_FEATURES:
        return None
    X, y = np.asarray(data[0], np.float64), np.unique(data[1], return_inverse=True)[1]
    draws = [score_draw(X, y, seed) for seed in range(FEWER_DRAWS if X.shape[1] > WIDE else DRAWS)]
    scores = {method: float(np.mean([draw[method] for draw in draws])) for method in draws[0]}
    print(f"{name:18}" + "".join(f"{score:14.3f}" for score in scores.values()), flush=True)
    return scores


def score_draw(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    """Return the ROC AUC of each learner for one draw of samples and pairs."""
    keep = np.random.default_rng(seed).permutation(len(X))[:SAMPLES]
    A, B = np.array_split(keep, 2)
    scaler = StandardScaler().fit(X[A])
    known, unknown = scaler.transform(X[A]), scaler.transform(X[B])
    pairs, same = labelled_pairs(y[A], PAIRS, balanced=True, random_state=2 * seed)
    others, truth = labelled_pairs(y[B], HELD_OUT, balanced=True, random_state=2 * seed + 1)
    scores = {"Euclid": roc_auc_score(truth, -np.linalg.norm(unknown[others[:, 0]] - unknown[others[:, 1]], axis=1))}
    for method, make in make_learners(X.shape[1]).items():
        learner = make().fit_pairs(known, pairs, np.where(same, 1, -1))
        scores[method] = roc_auc_score(truth, -learner.pair_distance(unknown, others))
    return scores


@run_quietly()
def main(sets: tuple[str, ...] = ()) -> list[Row]:
    """Print the table, and return the row of the set where ours is farthest below its best peer."""
    print_heading(f"ROC AUC of held-out pairs after learning from {PAIRS} near or far pairs")
    print(f"{'':18}" + "".join(f"{name:>14}" for name in ("Euclid", *make_learners(1))))
    names = sets or tuple(name for name in datasets.names() if name not in LEFT_OUT)
    found = {name: scores for name in names if (scores := compare(name)) is not None}
    if not found:
        return []
    short = {name: max(scores[peer] for peer in PEERS) - scores["ours"] for name, scores in found.items()}
    worst = max(short, key=short.__getitem__)
    mean = {method: float(np.mean([scores[method] for scores in found.values()])) for method in ("ours", *PEERS)}
    detail = f"largest on {worst}; mean AUC " + ", ".join(f"{method} {value:.3f}" for method, value in mean.items())
    return [
        Row(f"AUC of pairs below the best, {len(found)} sets", "/".join(PEERS), short[worst], 0.01, True, detail=detail)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=[])
    main(tuple(parser.parse_args().sets))
