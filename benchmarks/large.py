"""Metrics of large sets: MNIST, and 20 newsgroups as a sparse matrix."""

from __future__ import annotations

import resource

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.data import load_split
from benchmarks.neighbours import fit_and_time, knn_error, run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner
from harness.timing import print_heading


def fit_mnist() -> None:
    """Print the error and time of a metric of rank 32 on MNIST."""
    print_heading("MNIST, 60000 x 784, rank 32, float32")
    data = load_split("mnist", np.float32)
    if data is None:
        print("left out: mnist is not at hand")
        return
    A, B, labels, truth = data
    learner, seconds = fit_and_time(MetricLearner(32, random_state=0), A / 255, labels)
    e = knn_error(learner.transform(A), labels, learner.transform(B), truth)
    memory = f"{peak_memory():.1f} GB (goal: 4)"
    print(f"5-NN test error {e:.2f} %, fit in {seconds:.1f} s, peak memory of the process {memory}")


def fit_newsgroups() -> None:
    """Print the error and time of a metric of rank 20 on sparse 20 newsgroups."""
    print_heading("20 newsgroups, sparse tf-idf, rank 20")
    data = load_split("newsgroups20")
    if data is None:
        print("left out: newsgroups20 is not at hand")
        return
    A, B, labels, truth = data
    tfidf = TfidfTransformer(sublinear_tf=True).fit(A)
    A, B = tfidf.transform(A), tfidf.transform(B)
    learner, seconds = fit_and_time(MetricLearner(20, random_state=0), A, labels)
    e = knn_error(learner.transform(A), labels, learner.transform(B), truth)
    print(f"{A.shape[0]} x {A.shape[1]}, {A.nnz} entries: dense it would be {A.shape[0] * A.shape[1] * 8 / 1e9:.0f} GB")
    print(f"5-NN test error {e:.2f} %, fit in {seconds:.1f} s, peak memory of the process {peak_memory():.1f} GB")


def peak_memory() -> float:
    """Return the peak memory of this process, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


@run_quietly()
def main() -> list[Row]:
    """Print errors, times and memory; no peer runs at this size, so there are no goals."""
    fit_mnist()
    fit_newsgroups()
    return []


if __name__ == "__main__":
    main()
