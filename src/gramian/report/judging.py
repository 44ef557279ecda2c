"""How well neighbours agree, before and after: k nearest neighbours in plain and in learned distance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from gramian.types import Matrix, Vector

__all__ = ["Judged", "Rows", "choose_rows", "find_neighbours", "judge", "pick_examples"]

#: The number of rows among which neighbours are searched, and of rows that they are searched for.
MOST_KNOWN, MOST_ASKED = 2000, 1000


class Rows(NamedTuple):
    """Indices of the rows of X among which neighbours are searched, and of the rows for which; the same if None."""

    known: Vector
    asked: Vector | None


class Judged(NamedTuple):
    """The classes that the votes of neighbours give, the share of wrong ones, and how often each class became which."""

    votes: Vector
    error: float
    precision: float
    confusion: Matrix


def choose_rows(n_known: int, n_asked: int | None, seed: int = 0) -> Rows:
    """Return random rows, all of them where there are few; `n_asked` is the number of held-out rows, or None."""
    rng = np.random.default_rng(seed)
    known = np.sort(rng.permutation(n_known)[:MOST_KNOWN])
    return Rows(known, None if n_asked is None else np.sort(rng.permutation(n_asked)[:MOST_ASKED]))


def find_neighbours(known: Matrix, asked: Matrix | None, count: int) -> Matrix:
    """Return the positions of the nearest of the known rows for each row asked, nearest first, shape (m, count).

    Without rows asked, the neighbours of each known row among the others.
    """
    count = min(count, len(known) - (asked is None))
    search = NearestNeighbors(n_neighbors=count).fit(known)
    return search.kneighbors(asked, return_distance=False)


def judge(near: Matrix, labels: Vector, truth: Vector, n_classes: int) -> Judged:
    """Return how the votes of neighbours agree with the truth (m,), for labels (n,) of the known rows.

    The precision is the share of neighbours of the same class.
    """
    own = labels[near]
    counts = np.stack([np.bincount(row, minlength=n_classes) for row in own])
    # Of classes with equally many votes, the nearest neighbour's is taken.
    counts = 2 * counts
    counts[np.arange(len(own)), own[:, 0]] += 1
    votes = counts.argmax(axis=1)
    confusion = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(confusion, (truth, votes), 1)
    return Judged(votes, float(np.mean(votes != truth)), float(np.mean(own == truth[:, None])), confusion)


def pick_examples(before: Any, after: Any, truth: Vector | None, count: int = 6, seed: int = 0) -> list[int]:
    """Return rows to show: half of them where the votes before and after differ, better or worse, the others random."""
    rng = np.random.default_rng(seed)
    if truth is None:
        return [int(i) for i in rng.permutation(len(before))[:count]]
    differ = np.flatnonzero((before.votes == truth) != (after.votes == truth))
    first = rng.permutation(differ)[: count // 2]
    others = rng.permutation(np.setdiff1d(np.arange(len(truth)), first))[: count - len(first)]
    return [int(i) for i in [*first, *others]]
