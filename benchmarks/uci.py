"""5-NN errors of learned distances on small sets, beside Euclid and scikit-learn's NCA.

Sets that are not stored locally are skipped, and named.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load_samples
from benchmarks.neighbours import knn_error, run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner
from harness.timing import print_heading

UCI = ("iris", "wine", "balance_scale", "ionosphere", "soybean", "breast_cancer", "digits", "optdigits")


def make_learners() -> dict[str, Any]:
    """Return the learners of the table, by name, with their default settings."""
    return {
        "Euclid": None,
        "NCA": NeighborhoodComponentsAnalysis(random_state=0),
        "triplets": MetricLearner(constraints="triplets", random_state=0),
        "pairs": MetricLearner(constraints="pairs", random_state=0),
    }


@run_quietly()
def main(partitions: int = 10) -> list[Row]:
    """Print errors over random partitions, two standardised folds each, and return the row of their ratio."""
    print_heading(f"5-NN error in %, {partitions} partitions x 2 folds, default settings, full rank")
    names = list(make_learners())
    print(f"{'':16}" + "".join(f"{name:>12}" for name in names) + "   triplets/NCA")
    ratios = []
    for name in UCI:
        data = load_samples(name)
        if data is None:
            print(f"{name:16} left out: not at hand")
            continue
        means = {method: np.mean(errors) for method, errors in partition_errors(*data, partitions).items()}
        ratios.append(means["triplets"] / means["NCA"])
        print(f"{name:16}" + "".join(f"{means[n]:12.2f}" for n in names) + f"{ratios[-1]:15.2f}", flush=True)
    mean = float(np.mean(ratios))
    print(f"mean of triplets/NCA: {mean:.2f}")
    return [Row(f"5-NN errors on {len(ratios)} sets, full rank", "scikit-learn NCA", mean, 0.9, at_most=True)]


def partition_errors(X: np.ndarray, y: np.ndarray, partitions: int) -> dict[str, list[float]]:
    """Return the errors of every method, one per fold."""
    errors: dict[str, list[float]] = {name: [] for name in make_learners()}
    for seed in range(partitions):
        for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
            scaler = StandardScaler().fit(X[train])
            A, B = scaler.transform(X[train]), scaler.transform(X[test])
            for name, learner in make_learners().items():
                if learner is None:
                    errors[name].append(knn_error(A, y[train], B, y[test]))
                else:
                    learner.fit(A, y[train])
                    errors[name].append(knn_error(learner.transform(A), y[train], learner.transform(B), y[test]))
    return errors


if __name__ == "__main__":
    main()
