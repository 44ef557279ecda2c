"""The triplets of LMNN: all of them, a part, and those that violate the margin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np
from sklearn.metrics import euclidean_distances

from gramian.execution import Execution, Serial
from gramian.measurements import Pairs, Triplets
from gramian.supervision.triplets import MARGIN
from gramian.types import Matrix, Vector

__all__ = [
    "all_triplets",
    "count_triplets",
    "find_inside",
    "find_target_pairs",
    "find_violations",
    "lmnn_objective",
    "merge_triplets",
    "objective_on_triplets",
]

#: The maximum number of distances in memory at a time.
DISTANCES_IN_MEMORY = 2**22


def lmnn_objective(Z: Matrix, labels: Vector, targets: Matrix, mu: float) -> float:
    """Return the objective over all impostors, for mapped samples (n, r) and target pairs (k, 2)."""
    return find_violations(Z, labels, targets, mu, 1).objective


def objective_on_triplets(Z: Matrix, targets: Matrix, triplets: Matrix, mu: float) -> float:
    """Return the objective over triplets (m, 3) only, a lower bound of `lmnn_objective`."""
    hinge = np.maximum(MARGIN - Triplets(triplets).predict(Z), 0)
    return (1 - mu) * float(np.sum(Pairs(targets).predict(Z))) + mu * float(np.sum(hinge))


class Violations(NamedTuple):
    """The objective over all impostors, and triplets (m, 3) that are violated."""

    objective: float
    triplets: Matrix


def find_violations(
    Z: Matrix, labels: Vector, targets: Matrix, mu: float, most: int, execution: Execution | None = None
) -> Violations:
    """Return the objective over all impostors, and violated triplets (m, 3): at most `most` per target pair."""
    near = Pairs(targets).predict(Z)
    inside = find_inside(Z, labels, targets, near + MARGIN, most, Serial() if execution is None else execution)
    hinge = reduce(add, inside.hinges, 0.0)
    return Violations((1 - mu) * float(np.sum(near)) + mu * hinge, np.concatenate(inside.triplets))


class Batch(NamedTuple):
    """Target pairs (k, 2) of one label, their squared distances plus the margin (k,), and all samples of others."""

    targets: Matrix
    limits: Vector
    others: Vector


class Inside(NamedTuple):
    """The hinges of batches of target pairs, and the triplets (m, 3) of each with the impostors inside its limit."""

    hinges: list[float]
    triplets: list[Matrix]


def find_inside(Z: Matrix, labels: Vector, targets: Matrix, limits: Vector, most: int, execution: Execution) -> Inside:
    """Return the impostors inside the limits (k,) of target pairs (k, 2), at most `most` of each, in mapped samples."""
    batches = execution.place(make_batches(labels, targets, limits))
    return execution.run(search_inside, batches, Z=Z, most=most)[1]


def search_inside(batch: Batch, *, Z: Matrix, most: int) -> tuple[None, Inside]:
    """Join hinges and violated triplets of a batch, at most `most` per target pair; Z are the mapped samples."""
    anchors, code = np.unique(batch.targets[:, 0], return_inverse=True)
    far = euclidean_distances(Z[anchors], Z[batch.others], squared=True)
    excess = batch.limits[:, None] - far[code]
    violated = excess > 0
    hinge = float(np.sum(excess, where=violated))
    crowded = np.flatnonzero(violated.sum(axis=1) > most)
    if crowded.size:
        beyond = np.argpartition(-excess[crowded], most, axis=1)[:, most:]
        violated[crowded[:, None], beyond] = False
    row, other = np.nonzero(violated)
    return None, Inside([hinge], [np.column_stack([batch.targets[row], batch.others[other]])])


def count_triplets(labels: Vector, targets: Matrix) -> int:
    """Return the number of all triplets of target pairs (k, 2)."""
    _, code, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return int(np.sum(len(labels) - counts[code[targets[:, 0]]]))


def all_triplets(labels: Vector, targets: Matrix, stride: int = 1) -> Matrix:
    """Return triplets (m, 3) of target pairs (k, 2) with one in `stride` of all samples of other labels.

    They are sorted by anchor, and impostors take turns.
    """
    own = labels[targets[:, 0]]
    parts, numbers = [], []
    rng = np.random.default_rng(0)
    for label in np.unique(own):
        pairs, others = np.flatnonzero(own == label), np.flatnonzero(labels != label)
        if stride > 1:
            # In the order of the samples, a part could have impostors of some classes only.
            others = rng.permutation(others)
        for turn in range(min(stride, len(pairs))):
            some, impostors = pairs[turn::stride], others[turn::stride]
            repeated = np.repeat(targets[some], len(impostors), axis=0)
            parts.append(np.column_stack([repeated, np.tile(impostors, len(some))]))
            numbers.append(np.repeat(some, len(impostors)))
    return np.concatenate(parts)[np.argsort(np.concatenate(numbers), kind="stable")]


def find_target_pairs(triplets: Matrix, n: int) -> Matrix:
    """Return the different pairs (k, 2) of anchors and targets in triplets (m, 3) of n samples, sorted by anchor."""
    return np.column_stack(np.divmod(sort_distinct(triplets[:, 0] * n + triplets[:, 1]), n))


def merge_triplets(parts: Sequence[Matrix], n: int) -> Matrix:
    """Return the union (m, 3) of sets of triplets of n samples, sorted by anchor."""
    codes = sort_distinct(np.concatenate([(part[:, 0] * n + part[:, 1]) * n + part[:, 2] for part in parts]))
    return np.column_stack([codes // (n * n), codes // n % n, codes % n])


def sort_distinct(codes: Vector) -> Vector:
    """Return the different integers of codes (m,), ascending; for millions of them faster than `np.unique`."""
    codes = np.sort(codes)
    return codes[np.r_[True, codes[1:] != codes[:-1]]]


def make_batches(labels: Vector, targets: Matrix, limits: Vector) -> list[Batch]:
    """Return target pairs with the same label, and the samples of other labels, in batches that fit into memory."""
    batches, own = [], labels[targets[:, 0]]
    for label in np.unique(own):
        rows, others = np.flatnonzero(own == label), np.flatnonzero(labels != label)
        for part in np.array_split(rows, -(-len(rows) * len(others) // DISTANCES_IN_MEMORY)):
            batches.append(Batch(targets[part], limits[part], others))
    return batches
