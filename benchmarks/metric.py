"""Nearest neighbours with learned distances: errors and times beside Euclid and scikit-learn's NCA.

`python -m benchmarks.metric [uci] [isolet] [mnist] [news]`; all of them without arguments. Sets that are not at
hand (`gramian.datasets.at_hand`) are left out, and said to be.
"""

from __future__ import annotations

import resource
import sys
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.data import load, split
from benchmarks.timing import THREADS, heading
from gramian import MetricLearner

UCI = ("iris", "wine", "balance_scale", "ionosphere", "soybean", "breast_cancer", "digits", "optdigits")


def error(train: Any, labels: np.ndarray, test: Any, truth: np.ndarray) -> float:
    """The 5-NN error on test samples, in per cent."""
    return 100 * float(np.mean(KNeighborsClassifier(5).fit(train, labels).predict(test) != truth))


def methods() -> dict[str, Any]:
    """The learners of the table, with their default settings."""
    return {
        "Euclid": None,
        "NCA": NeighborhoodComponentsAnalysis(random_state=0),
        "triplets": MetricLearner(random_state=0),
        "pairs": MetricLearner(constraints="pairs", random_state=0),
    }


def uci(partitions: int = 10) -> None:
    """5-NN errors over random partitions, two folds each, standardised."""
    heading(f"5-NN error in %, {partitions} partitions x 2 folds, default settings, full rank")
    names = list(methods())
    print(f"{'':16}" + "".join(f"{name:>12}" for name in names) + "   triplets/NCA")
    ratios = []
    for name in UCI:
        data = load(name)
        if data is None:
            print(f"{name:16} left out: not at hand")
            continue
        means = {method: np.mean(errors) for method, errors in partition_errors(*data, partitions).items()}
        ratios.append(means["triplets"] / means["NCA"])
        print(f"{name:16}" + "".join(f"{means[n]:12.2f}" for n in names) + f"{ratios[-1]:15.2f}", flush=True)
    print(f"mean of triplets/NCA: {np.mean(ratios):.2f} (goal: at most 0.90)")


def partition_errors(X: np.ndarray, y: np.ndarray, partitions: int) -> dict[str, list[float]]:
    """Errors of every method on every fold."""
    errors: dict[str, list[float]] = {name: [] for name in methods()}
    for seed in range(partitions):
        for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
            scaler = StandardScaler().fit(X[train])
            A, B = scaler.transform(X[train]), scaler.transform(X[test])
            for name, learner in methods().items():
                if learner is None:
                    errors[name].append(error(A, y[train], B, y[test]))
                else:
                    learner.fit(A, y[train])
                    errors[name].append(error(learner.transform(A), y[train], learner.transform(B), y[test]))
    return errors


def isolet() -> None:
    """Low rank on Isolet, standard split, beside NCA from discriminants."""
    heading("Isolet, standard split, 5-NN test error and time of the fit")
    data = split("isolet")
    if data is None:
        print("left out: isolet is not at hand")
        return
    A, B, labels, truth = data
    MetricLearner(2, random_state=0, n_rounds=1).fit(A[:500], labels[:500])  # kernels are compiled before timing
    print(f"Euclid: {error(A, labels, B, truth):.2f} %")
    for rank, goal in ((5, 10.0), (20, 5.2)):
        ours, our_time = timed(MetricLearner(rank, random_state=0), A, labels)
        ours32, time32 = timed(MetricLearner(rank, random_state=0), A.astype(np.float32), labels)
        peer, peer_time = timed(
            NeighborhoodComponentsAnalysis(rank, init="lda", max_iter=30, random_state=0), A, labels
        )
        e, e32, p = (error(m.transform(A), labels, m.transform(B), truth) for m in (ours, ours32, peer))
        print(
            f"rank {rank}: ours {e:.2f} % in {our_time:.1f} s (goal {goal} %), float32 {e32:.2f} % in {time32:.1f} s; "
            f"NCA from LDA, 30 iterations, {p:.2f} % in {peer_time:.1f} s: {peer_time / our_time:.0f} times ours",
            flush=True,
        )


def mnist() -> None:
    """MNIST, rank 32, from labels."""
    heading("MNIST, 60000 x 784, rank 32, float32")
    data = split("mnist", np.float32)
    if data is None:
        print("left out: mnist is not at hand")
        return
    A, B, labels, truth = data
    learner, seconds = timed(MetricLearner(32, random_state=0), A / 255, labels)
    e = error(learner.transform(A), labels, learner.transform(B), truth)
    print(f"5-NN test error {e:.2f} %, fit in {seconds:.1f} s, peak memory of the process {peak():.1f} GB (goal: 4)")


def news() -> None:
    """20 newsgroups, sparse, rank 20."""
    heading("20 newsgroups, sparse tf-idf, rank 20")
    data = split("newsgroups20")
    if data is None:
        print("left out: newsgroups20 is not at hand")
        return
    A, B, labels, truth = data
    tfidf = TfidfTransformer(sublinear_tf=True).fit(A)
    A, B = tfidf.transform(A), tfidf.transform(B)
    learner, seconds = timed(MetricLearner(20, random_state=0), A, labels)
    e = error(learner.transform(A), labels, learner.transform(B), truth)
    print(f"{A.shape[0]} x {A.shape[1]}, {A.nnz} entries: dense it would be {A.shape[0] * A.shape[1] * 8 / 1e9:.0f} GB")
    print(f"5-NN test error {e:.2f} %, fit in {seconds:.1f} s, peak memory of the process {peak():.1f} GB")


def timed(learner: Any, X: Any, y: np.ndarray) -> tuple[Any, float]:
    """A learner, fitted, and the seconds it took."""
    begin = perf_counter()
    learner.fit(X, y)
    return learner, perf_counter() - begin


def peak() -> float:
    """The most memory this process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(names: list[str]) -> None:
    """Run the parts that are named, or all."""
    parts = {"uci": uci, "isolet": isolet, "mnist": mnist, "news": news}
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NCA is stopped early on purpose
        for name in names or parts:
            parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
