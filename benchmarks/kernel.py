"""A kernel of low rank from 100k constraints on USPS digits: ours beside the compiled LogDet-KL.

Both start from the same kernel PCA, whose eigendecomposition they share and which is not timed, with the same pairs.
Ours ends by its default tolerance, LogDet-KL by its own, in a new random order of pairs every sweep (its best) and in
the order published.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.rows import Row, speedup_row
from gramian import Block, KernelLearner, Problem, Term, datasets, minimize
from gramian.baselines import LogDetKL
from gramian.estimators._kernel_map import KernelPairs
from gramian.features import Identity
from gramian.geometries import Flat
from gramian.measurements import Pairs
from gramian.solvers import ConjugateGradient
from gramian.supervision import labelled_pairs
from harness.timing import median_seconds, print_heading

ALPHA, PAIRS, SWEEPS = 0.5, 100_000, 200


def cluster_nmi(G: np.ndarray, y: np.ndarray) -> float:
    """Return the normalised mutual information of the classes and K-means clusters of the rows."""
    found = KMeans(len(np.unique(y)), n_init=5, random_state=0).fit_predict(G)
    return float(normalized_mutual_info_score(y, found))


def compare_learners(X: np.ndarray, y: np.ndarray, rank: int) -> Row:
    """Print times and scores at a rank, and return the speedup over LogDet-KL in random order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no iteration is asked for
        start = KernelLearner(rank, kernel="rbf", gamma=0.001, max_iter=0).fit(X, y).embedding_
        whole = KernelLearner(len(X) - 1, kernel="rbf", gamma=0.001, max_iter=0).fit(X, y).embedding_
    pairs, same = labelled_pairs(y, PAIRS, random_state=0)
    target = np.where(same, 1 - ALPHA, 1 + ALPHA) * Pairs(pairs).predict(whole)
    sense = np.where(same, -1, 1)
    constraints = KernelPairs(pairs, target, sense)
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        problem = Problem([Block(Identity(len(X)), [Term(Pairs(pairs), target, sense=sense)])])
        found["flat CG"] = minimize(problem, ConjugateGradient(), Flat().point(start), tol=1e-5).point.G

    def peer(name: str, shuffle: bool) -> None:
        model = LogDetKL(rank, shuffle=shuffle, max_iter=SWEEPS)
        projected = model._project(start, constraints, np.random.default_rng(0))
        found[name] = start @ np.linalg.cholesky(projected.core)
        sweeps[name] = projected.sweeps.n_iter

    sweeps: dict[str, int] = {}
    names = {"LogDet-KL, shuffled": True, "LogDet-KL, as published": False}
    times = median_seconds({"flat CG": ours} | {name: partial(peer, name, s) for name, s in names.items()}, repeats=5)
    for name, seconds in times.items():
        note = f"{sweeps[name]} sweeps" + (" (stopped)" if sweeps[name] == SWEEPS else "") if name in sweeps else ""
        print(f"r = {rank:<4}{name:26}{seconds:8.3f} s   NMI {cluster_nmi(found[name], y):.2f}   {note}")
    mine, its = times["flat CG"], times["LogDet-KL, shuffled"]
    return speedup_row(f"USPS kernel, r={rank}, 100k constraints", "compiled LogDet-KL", mine, its, 2)


def main() -> list[Row] | None:
    """Print the table, and return its rows."""
    print_heading("Kernel learning on the USPS test set, 2007 samples, rbf, α = 0.5, 100k constraints from labels")
    if not datasets.is_available("usps"):
        print("left out: usps is not at hand")
        return None
    digits = datasets.load("usps")
    X, y = digits.X[digits.test], digits.y[digits.test]
    return [compare_learners(X, y, rank) for rank in (6, 25)]


if __name__ == "__main__":
    main()
