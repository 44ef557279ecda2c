"""Recall of a rare class at rank 2: two in a hundred samples are positive.

    python -m benchmarks.rare

The samples are drawn by scikit-learn's `make_classification`; half of them are for training. The recall is that of 5
nearest neighbours among the positive test samples, and the error that among all, both as means over several draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner
from harness.timing import print_heading

RANK, DRAWS, SAMPLES, SHARE = 2, 8, 4000, 0.02


class Judged(NamedTuple):
    """The recall of the rare class and the error among all, both in per cent."""

    recall: float
    error: float


LEARNERS: dict[str, Callable[[], Any]] = {
    "LDA": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    "NCA": lambda: NeighborhoodComponentsAnalysis(RANK, max_iter=50, random_state=0),
    "ours": lambda: MetricLearner(RANK, random_state=0),
    "ours, balanced weights": lambda: MetricLearner(RANK, class_weight="balanced", random_state=0),
}


def draw_samples(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return standardised training and test samples, training and test labels."""
    settings = {"n_informative": 6, "n_redundant": 4, "weights": [1 - SHARE], "flip_y": 0.0}
    X, y = make_classification(SAMPLES, 20, random_state=seed, **settings)
    A, B, labels, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(A)
    return scaler.transform(A), scaler.transform(B), labels, truth


def judge(learner: Any, seed: int) -> Judged:
    """Return recall and error of nearest neighbours in the images of a learner; None stands for the samples."""
    A, B, labels, truth = draw_samples(seed)
    if learner is not None:
        learner.fit(A, labels)
        A, B = learner.transform(A), learner.transform(B)
    predicted = KNeighborsClassifier(5).fit(A, labels).predict(B)
    return Judged(100 * float(recall_score(truth, predicted)), 100 * float(np.mean(predicted != truth)))


@run_quietly()
def main() -> list[Row]:
    """Print recalls and errors, and return the row of ours beside the best peer."""
    print_heading(f"{SHARE:.0%} positive samples, rank {RANK}: means over {DRAWS} draws")
    found = {}
    for name, make in {"Euclid, all features": lambda: None, **LEARNERS}.items():
        found[name] = Judged(*np.mean([judge(make(), seed) for seed in range(DRAWS)], axis=0))
        print(f"{name:24} recall {found[name].recall:5.1f} %   error {found[name].error:5.2f} %", flush=True)
    peer = max(("LDA", "NCA"), key=lambda name: found[name].recall)
    detail = f"recall {found['ours'].recall:.1f} % against {found[peer].recall:.1f} %"
    return [Row("recall of 2 % positives, rank 2", peer, found["ours"].recall / found[peer].recall, 1, detail=detail)]


if __name__ == "__main__":
    main()
