"""5-NN errors and times of learned distances at several ranks on every labelled set, beside their peers.

    python -m benchmarks.metric                     # at most 5000 samples a set: an hour, most of it in the peers
    python -m benchmarks.metric --samples 2000 --ranks 2 5 --sets digits usps

Half of the samples are for training; features are standardised by them, and rotated into their span where they are
fewer than the features. Small sets are split several times, and the
errors are means: one split of 100 test samples has a standard error of some 4 points. Times are processor seconds.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.data import load_half
from benchmarks.neighbours import knn_error, run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner, datasets
from gramian.baselines import LMNN
from harness.timing import print_heading

#: Why sets are left out.
LEFT_OUT = {
    "gyrb": "a kernel, without samples",
    "digits_389": "a part of pendigits",
    "newsgroups20": "130,108 sparse features, for which the peers have no form",
}
#: With more features than this a distance of full rank is refused.
MOST_AT_FULL_RANK = 1000
#: LMNN takes minutes on more features than this, and is left out.
MOST_FEATURES_OF_LMNN = 100
RANKS = (2, 5, 10, None)
SAMPLES = 5000
#: A set is split until the first number of samples was tested, but at most the second number of times.
TESTED, MOST_SPLITS = 2000, 10
#: Ours is behind a rival where its error is larger by more than this number of points, and by this share.
POINTS, SHARE = 1.0, 0.05
PEERS = ("PCA", "LDA", "NCA", "LMNN")
#: On no set should ours be far above the best of these.
RIVALS = ("LDA", "NCA", "LMNN")


def make_learners(rank: int, n_classes: int, full: bool) -> dict[str, Callable[[], Any]]:
    """Return how to make each learner of a rank, by name."""
    return {
        "PCA": lambda: PCA(rank, random_state=0),
        "LDA": lambda: LinearDiscriminantAnalysis(
            solver="eigen", shrinkage="auto", n_components=min(rank, n_classes - 1)
        ),
        "NCA": lambda: NeighborhoodComponentsAnalysis(rank, max_iter=50, random_state=0),
        "LMNN": lambda: LMNN(None if full else rank, random_state=0),
        "ours": lambda: MetricLearner(None if full else rank, random_state=0),
    }


class Outcome(NamedTuple):
    """Errors in % and processor seconds of the learners on a split, by name, our plan, and the number tested."""

    errors: dict[str, float]
    seconds: dict[str, float]
    plan: str
    n_tested: int


def rotate_into_span(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test samples in the span of the training samples, if these are fewer than the features.

    The distances of training samples do not change, and the peers take seconds in place of hours.
    """
    if len(A) > A.shape[1]:
        return A, B
    axes = PCA(len(A) - 1, svd_solver="full").fit(A)
    return axes.transform(A), axes.transform(B)


def run_split(name: str, rank: int | None, samples: int, learners: tuple[str, ...], seed: int) -> Outcome | None:
    """Return the errors of the learners on one split of a set; None where there is no such rank."""
    data = load_half(name, samples, seed)
    if data is None:
        return None
    A, B, a, b = data
    A, B = rotate_into_span(A, B)
    d = A.shape[1]
    if (rank is None and d > MOST_AT_FULL_RANK) or (rank is not None and rank >= d):
        return None
    errors, seconds, plan = {"Euclid": knn_error(A, a, B, b)}, {}, ""
    choices = make_learners(A.shape[1] if rank is None else rank, len(np.unique(a)), rank is None)
    for method in learners:
        if (method == "PCA" and rank is None) or (method == "LMNN" and A.shape[1] > MOST_FEATURES_OF_LMNN):
            continue
        begin = process_time()
        learner = choices[method]().fit(A, a)
        seconds[method] = process_time() - begin
        errors[method] = knn_error(learner.transform(A), a, learner.transform(B), b)
        plan = learner.choice_.plan if hasattr(learner, "choice_") else ""
    return Outcome(errors, seconds, plan, len(b))


def compare(name: str, rank: int | None, samples: int, learners: tuple[str, ...]) -> dict[str, float] | None:
    """Print mean errors and seconds of the learners on a set, and return the errors; None where there is no rank."""
    outcomes: list[Outcome] = []
    n_tested = 0
    while n_tested < TESTED and len(outcomes) < MOST_SPLITS:
        outcome = run_split(name, rank, samples, learners, len(outcomes))
        if outcome is None:
            return None
        outcomes.append(outcome)
        n_tested += outcome.n_tested
    errors, seconds = (
        {m: float(np.mean([getattr(outcome, field)[m] for outcome in outcomes])) for m in getattr(outcomes[0], field)}
        for field in ("errors", "seconds")
    )
    plan = Counter(outcome.plan for outcome in outcomes).most_common(1)[0][0]
    times = {m: f"({seconds[m]:.1f}s)" if m in seconds else "" for m in errors}
    cells = "".join(
        f"{errors[m]:7.1f}{times[m]:>9}" if m in errors else f"{'-':>7}{'':9}" for m in ("Euclid", *learners)
    )
    print(f"{name:16}{'full' if rank is None else rank!s:>5}{len(outcomes):4} {cells}  {plan}", flush=True)
    return errors


@run_quietly()
def main(
    samples: int = SAMPLES,
    ranks: tuple[int | None, ...] = RANKS,
    sets: tuple[str, ...] = (),
    peers: tuple[str, ...] = PEERS,
) -> list[Row]:
    """Print the table, and return a row for each rank: the mean error over that of the best single peer."""
    print_heading(f"5-NN error in % (and seconds), half of at most {samples} samples for training, default settings")
    print("left out: " + "; ".join(f"{name}, {reason}" for name, reason in LEFT_OUT.items()))
    print(
        f"-: LMNN with more than {MOST_FEATURES_OF_LMNN} features; full rank with more than {MOST_AT_FULL_RANK}: no row"
    )
    learners = (*(peer for peer in PEERS if peer in peers), "ours")
    print(f"{'set':16}{'rank':>5}{'of':>4} " + "".join(f"{m:>7}{'':9}" for m in ("Euclid", *learners)) + "  plan")
    rows = []
    for rank in ranks:
        names = sets or tuple(name for name in datasets.names() if name not in LEFT_OUT)
        tried = {name: compare(name, rank, samples, learners) for name in names}
        found = {name: errors for name, errors in tried.items() if errors is not None}
        if not found:
            continue
        complete = [m for m in ("Euclid", *learners) if all(m in errors for errors in found.values())]
        means = {m: float(np.mean([errors[m] for errors in found.values()])) for m in complete}
        print(f"{'mean':16}{'full' if rank is None else rank!s:>5} {describe(means)}", flush=True)
        rivals = {m: value for m, value in means.items() if m not in ("ours", *(() if rank is None else ("Euclid",)))}
        best = min(rivals, key=rivals.__getitem__)
        task = f"5-NN errors on {len(found)} sets, {'full rank' if rank is None else f'rank {rank}'}"
        rows.append(Row(task, best, means["ours"] / rivals[best], 0.9, at_most=True, detail=describe(means)))
        rows.append(behind_row(task, found))
    return rows


def behind_row(task: str, found: dict[str, dict[str, float]]) -> Row:
    """Return the row of the sets on which a rival is better by more than a point, and by more than 5 %."""
    behind = {}
    for name, errors in found.items():
        best = min(errors[m] for m in RIVALS if m in errors)
        excess = errors["ours"] - best
        if excess > max(POINTS, SHARE * best):
            behind[name] = excess
    where = ", ".join(f"{name} {excess:.1f}" for name, excess in sorted(behind.items(), key=lambda item: -item[1]))
    detail = f"of {len(found)}; points: {where}" if behind else f"of {len(found)}"
    return Row(f"{task}: sets behind", "/".join(RIVALS), len(behind), 0, at_most=True, detail=detail)


def describe(means: dict[str, float]) -> str:
    """Return mean errors as a text."""
    return ", ".join(f"{method} {mean:.1f}" for method, mean in means.items())


def parse_rank(text: str) -> int | None:
    """Return a rank, or None for "full"."""
    return None if text == "full" else int(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--ranks", type=parse_rank, nargs="+", default=list(RANKS))
    parser.add_argument("--sets", nargs="+", default=[])
    parser.add_argument("--peers", nargs="+", default=list(PEERS))
    given = parser.parse_args()
    main(given.samples, tuple(given.ranks), tuple(given.sets), tuple(given.peers))
