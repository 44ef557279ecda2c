"""5-NN errors and times of learned distances at several ranks on every labelled set, beside their peers.

    python -m benchmarks.metric                     # at most 2000 samples a set: half an hour, most of it in the peers
    python -m benchmarks.metric --samples 5000 --ranks 2 5 --sets digits usps

Half of the samples are for training; features are standardised by them. Times are seconds of the processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load_samples
from benchmarks.neighbours import knn_error, run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner, datasets
from gramian.baselines import LMNN
from harness.timing import print_heading

#: Not labels of samples (gyrb), a part of another set (digits_389), or without a dense form (newsgroups20).
LEFT_OUT = ("gyrb", "digits_389", "newsgroups20")
#: Full-rank distances on more features than this are left out.
MOST_FEATURES = 1100
#: LMNN takes minutes on more features than this, and is left out.
MOST_FEATURES_OF_LMNN = 300
RANKS = (2, 5, 10, None)
SAMPLES = 2000
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


def load_half(name: str, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return standardised training and test samples with their labels; None where the set is not stored."""
    data = load_samples(name)
    if data is None:
        return None
    X, y = np.asarray(data[0], np.float64), np.unique(data[1], return_inverse=True)[1]
    keep = np.random.default_rng(0).permutation(len(X))[:samples]
    keep = keep[np.bincount(y[keep])[y[keep]] > 3]
    A, B, a, b = train_test_split(X[keep], y[keep], test_size=0.5, random_state=0, stratify=y[keep])
    scaler = StandardScaler().fit(A)
    return scaler.transform(A), a, scaler.transform(B), b


def compare(name: str, rank: int | None, samples: int, learners: tuple[str, ...]) -> dict[str, float] | None:
    """Print errors and seconds of the learners on a set, and return the errors; None where there is no such rank."""
    data = load_half(name, samples)
    if data is None or data[0].shape[1] > MOST_FEATURES or (rank is not None and rank >= data[0].shape[1]):
        return None
    A, a, B, b = data
    errors, seconds = {"Euclid": knn_error(A, a, B, b)}, {}
    choices = make_learners(A.shape[1] if rank is None else rank, len(np.unique(a)), rank is None)
    for method in learners:
        if (method == "PCA" and rank is None) or (method == "LMNN" and A.shape[1] > MOST_FEATURES_OF_LMNN):
            continue
        begin = process_time()
        learner = choices[method]().fit(A, a)
        seconds[method] = process_time() - begin
        errors[method] = knn_error(learner.transform(A), a, learner.transform(B), b)
    plan = learner.choice_.plan if learners[-1] == "ours" and hasattr(learner, "choice_") else ""
    cells = "".join(f"{errors[m]:7.1f}{f'({seconds[m]:.1f}s)' if m in seconds else '':>9}" for m in errors)
    print(f"{name:16}{'full' if rank is None else rank!s:>5} {cells}  {plan}", flush=True)
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
    learners = (*(peer for peer in PEERS if peer in peers), "ours")
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
        above = {name: errors["ours"] - min(errors[m] for m in RIVALS if m in errors) for name, errors in found.items()}
        worst = max(above, key=above.__getitem__)
        where = f"on {worst}; more than 1 on {sum(value > 1 for value in above.values())} of {len(above)}"
        rows.append(
            Row(f"{task}: points above the best", "/".join(RIVALS), above[worst], 1, at_most=True, detail=where)
        )
    return rows


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
