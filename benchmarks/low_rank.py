"""Distances of low rank on sets of letters and digits: error, and time beside scikit-learn's NCA.

    python -m benchmarks.low_rank               # a quarter of an hour, most of it in NCA
    python -m benchmarks.low_rank usps isolet   # some sets

Half of at most 5000 standardised samples are for training, or the standard split. NCA has 50 iterations. MNIST has no
peer: the (60000, 60000) matrices of NCA have 29 GB each.

A whole fit compares several plans and goes on after it has reached the error of NCA. The time to that error is that of
the fastest of six short fits, of one plan and few iterations, whose error is not above NCA's.
"""

from __future__ import annotations

import sys
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.data import load_half, load_split
from benchmarks.neighbours import fit_and_time, knn_error, run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner
from harness.timing import print_heading

#: How many times faster than NCA a fit is to be, and how many times each is timed, in turns.
FASTER, TURNS = 20, 3
#: The plans and the largest numbers of iterations in a round of the short fits.
PLANS, LENGTHS = ("neighbourhoods", "triplets"), (3, 6, 10)
#: NCA is timed once if it takes more seconds than this.
LONG = 20.0
SAMPLES = 5000
#: Sets are split until this number of samples was tested, and errors are means: that of one split varies by a point.
TESTED = 10_000
#: The dimensions of MNIST after PCA, for a distance of full rank.
DIMENSIONS = 164


class Task(NamedTuple):
    """A set, the rank of the distance, the largest error in %, and whether the standard split is used."""

    name: str
    rank: int
    goal: float
    standard: bool = False


TASKS = (
    Task("digits", 2, 25.0),
    Task("pendigits", 2, 16.0),
    Task("usps", 2, 31.5),
    Task("isolet", 2, 36.0),
    Task("pendigits", 5, 2.5),
    Task("usps", 5, 8.2),
    Task("isolet", 5, 9.2, standard=True),
    Task("isolet", 20, 4.0, standard=True),
)


def load_splits(task: Task) -> list[tuple[Any, Any, Any, Any]]:
    """Return training and test samples with their labels, of several splits if the set is small; none if missing."""
    if task.standard:
        data = load_split(task.name)
        return [] if data is None else [data]
    found: list[tuple[Any, Any, Any, Any]] = []
    while sum(len(split[1]) for split in found) < TESTED:
        data = load_half(task.name, SAMPLES, len(found))
        if data is None:
            return []
        found.append(data)
    return found


def processor_seconds(learner: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Fit a learner, and return the processor seconds."""
    begin = process_time()
    learner.fit(X, y)
    return process_time() - begin


def mean_error(learner: Any, splits: list[tuple[Any, Any, Any, Any]]) -> float:
    """Return the mean error over splits, to the training part of each of which a learner is fitted."""
    errors = []
    for A, B, labels, truth in splits:
        learner.fit(A, labels)
        errors.append(knn_error(learner.transform(A), labels, learner.transform(B), truth))
    return float(np.mean(errors))


def time_in_turns(ours: Any, peer: Any, X: np.ndarray, y: np.ndarray, known: float = 0.0) -> tuple[float, float]:
    """Return the median processor seconds of ours and of a peer; `known` are those of the peer, if it takes long."""
    our_times: list[float] = []
    peer_times = [known] if known > LONG else []
    for _ in range(TURNS):
        our_times.append(processor_seconds(ours, X, y))
        if not peer_times or peer_times[0] < LONG:
            peer_times.append(processor_seconds(peer, X, y))
    return float(np.median(our_times)), float(np.median(peer_times))


class Short(NamedTuple):
    """A fit of few iterations, its mean error in %, and its processor seconds."""

    learner: MetricLearner
    error: float
    seconds: float


def reach_error(task: Task, splits: list[tuple[Any, Any, Any, Any]], error: float) -> Short | None:
    """Return the fastest of the short fits whose mean error is not above a given one; None if none is that good."""
    A, _, labels, _ = splits[0]
    found = []
    for plan, length in product(PLANS, LENGTHS):
        learner = MetricLearner(task.rank, constraints=plan, max_iter=length, random_state=0)
        reached = mean_error(learner, splits)
        if reached <= error:
            seconds = [processor_seconds(clone(learner), A, labels) for _ in range(TURNS)]
            found.append(Short(learner, reached, float(np.median(seconds))))
    return min(found, key=lambda short: short.seconds, default=None)


def compare(task: Task) -> list[Row]:
    """Print errors and seconds of ours and of NCA on a set; return the rows of the error and of the speedups."""
    splits = load_splits(task)
    if not splits:
        print(f"left out: {task.name} is not stored")
        return []
    A, _, labels, _ = splits[0]
    ours = MetricLearner(task.rank, random_state=0).fit(A[:500], labels[:500])  # kernels are compiled before timing
    peer = NeighborhoodComponentsAnalysis(task.rank, max_iter=50, random_state=0)
    seconds, peer_seconds = time_in_turns(ours, peer, A, labels)
    e, p = mean_error(ours, splits), mean_error(peer, splits)
    ratio = peer_seconds / seconds
    name = f"{task.name}, rank {task.rank}" + (", standard split" if task.standard else "")
    print(
        f"{name:34}{len(A):6} samples: {e:5.2f} % in {seconds:5.2f} s; NCA {p:5.2f} % in {peer_seconds:6.1f} s, "
        f"{ratio:4.0f} times   {ours.choice_.plan}",
        flush=True,
    )
    detail = f"{e:.2f} % in {seconds:.2f} s against {p:.2f} % in {peer_seconds:.1f} s"
    short = reach_error(task, splits, p)
    sooner, told = 0.0, "its error is not reached"
    if short is not None:
        seconds, peer_seconds = time_in_turns(short.learner, peer, A, labels, peer_seconds)
        sooner = peer_seconds / seconds
        told = (
            f"{short.error:.2f} % in {seconds:.3f} s by {short.learner.constraints}, max_iter={short.learner.max_iter}"
        )
    print(f"{'':34}to the error of NCA: {told}, {sooner:.0f} times", flush=True)
    return [
        Row(f"distance, {name}", "error in %", e, task.goal, at_most=True),
        # Faster, but with a larger error, would be no match.
        Row(f"distance, {name}", "scikit-learn NCA", ratio if e <= p else 0.0, FASTER, detail=detail),
        Row(f"distance, {name}, to the error of NCA", "scikit-learn NCA", sooner, FASTER, detail=told),
    ]


def compare_mnist() -> list[Row]:
    """Print the errors on MNIST at rank 32, and at full rank after PCA; return their rows."""
    data = load_split("mnist", np.float32)
    if data is None:
        print("left out: mnist is not stored")
        return []
    A, B, labels, truth = data
    A, B = A / 255, B / 255
    ours, seconds = fit_and_time(MetricLearner(32, random_state=0), A, labels)
    e = knn_error(ours.transform(A), labels, ours.transform(B), truth)
    print(f"MNIST, rank 32: 5-NN {e:.2f} % in {seconds:.1f} s   {ours.choice_.plan}", flush=True)
    pca = PCA(DIMENSIONS, random_state=0).fit(A)
    A, B = pca.transform(A), pca.transform(B)
    full, seconds = fit_and_time(MetricLearner(random_state=0), A, labels)
    f, euclid = (knn_error(a, labels, b, truth, 3) for a, b in ((full.transform(A), full.transform(B)), (A, B)))
    print(
        f"MNIST, {DIMENSIONS} principal components, full rank: 3-NN {f:.2f} % in {seconds:.1f} s; Euclid {euclid:.2f} %"
        f"   {full.choice_.plan}"
    )
    return [
        Row("distance, mnist, rank 32", "error in %", e, 2.2, at_most=True),
        Row(f"distance, mnist, {DIMENSIONS} components, full rank, 3-NN", "error in %", f, 1.8, at_most=True),
    ]


@run_quietly()
def main(names: tuple[str, ...] = ()) -> list[Row]:
    """Print errors and times, and return the rows; of some sets, if they are named."""
    print_heading(
        "5-NN test error and processor seconds of a whole fit, default settings; NCA of 50 iterations beside it"
    )
    rows = [row for task in TASKS if not names or task.name in names for row in compare(task)]
    return rows + (compare_mnist() if not names or "mnist" in names else [])


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
