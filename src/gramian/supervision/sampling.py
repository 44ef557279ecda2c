"""Labels to pairs and triplets of samples: seeded, vectorised, never an N x N matrix.

Pairs and triplets come sorted by their first sample, which makes them faster to read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from gramian.checks import as_random_state, check_kind, check_number
from gramian.execution import Execution, Serial, one_blas_thread
from gramian.images import Parts
from gramian.measurements.measurement import check_range
from gramian.objective.margins import list_triplets
from gramian.supervision.checks import read_labels
from gramian.supervision.nearest import Samples, nearest_samples
from gramian.types import Matrix, Vector

__all__ = [
    "Neighbours",
    "as_generator",
    "labelled_pairs",
    "nearest_triplets",
    "random_pairs",
    "search_neighbours",
    "search_triplets",
    "with_every_class",
]

NO_TRIPLETS = "no triplets: at least two labels are needed, and one of them with two samples."


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from a seed, a RandomState, None, or itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(as_random_state(random_state).randint(2**31 - 1))


def as_labels(labels: Any) -> Vector:
    """Return labels as an array (N,), texts or finite numbers."""
    array = np.asarray(read_labels(labels, "labels"))
    if array.ndim != 1:
        raise ValueError(f"labels has shape {array.shape}; expected (N,), one for each sample.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"labels[{bad}] = {array[bad]} is not a label. Give a text or a finite number.")
    return array


def as_anchors(anchors: Any, n_samples: int) -> Vector:
    """Return the indices (a,) of anchors among `n_samples` samples; all indices if None is given."""
    if anchors is None:
        return np.arange(n_samples)
    check_kind("anchors", anchors)
    array = np.asarray(anchors)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"anchors has shape {array.shape}; expected (a,), at least one index of a sample.")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"anchors has dtype {array.dtype}; expected integers, the indices of samples.")
    check_range(array[:, None], "anchors", n_samples)
    return array.astype(np.intp)


def sort_by_first(rows: Matrix) -> Matrix:
    """Return the rows, sorted by their first entry."""
    first = rows[:, 0]
    return rows if (first[1:] >= first[:-1]).all() else rows[np.argsort(first, kind="stable")]


def random_pairs(n_samples: int, n_pairs: int, *, random_state: Any = None) -> Matrix:
    """Pairs of different samples, drawn uniformly with replacement.

    Parameters
    ----------
    n_samples : int
        At least 2.
    n_pairs : int
    random_state : int, RandomState, Generator or None

    Returns
    -------
    array of int, shape (n_pairs, 2)

    Examples
    --------
    >>> from gramian.supervision import random_pairs
    >>> pairs = random_pairs(10, 4, random_state=0)
    >>> pairs.shape, bool((pairs[:, 0] != pairs[:, 1]).all())
    ((4, 2), True)
    """
    check_number("n_samples", n_samples, least=0, integer=True)
    if n_samples < 2:
        raise ValueError(f"n_samples={n_samples}: a pair needs at least 2 samples.")
    check_number("n_pairs", n_pairs, least=0, integer=True)
    rng = as_generator(random_state)
    first = rng.integers(n_samples, size=n_pairs)
    # One of the others, uniformly: a number below n-1, moved up past the first.
    second = rng.integers(n_samples - 1, size=n_pairs)
    return sort_by_first(np.column_stack([first, second + (second >= first)]))


class LabelledPairs(NamedTuple):
    """Pairs of samples (m, 2), and which of them share a label, (m,)."""

    pairs: Matrix
    same: Vector


def labelled_pairs(labels: Any, n_pairs: int, *, balanced: bool = False, random_state: Any = None) -> LabelledPairs:
    """Pairs of different samples, and which of them share a label.

    Parameters
    ----------
    labels : array, shape (N,)
    n_pairs : int
    balanced : bool
        False draws pairs as they fall, as the paper does; True draws half of them from samples of one label and half
        from samples of different labels.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    LabelledPairs
        pairs, array of int, shape (n_pairs, 2), and same, array of bool, shape (n_pairs,).

    Examples
    --------
    >>> from gramian.supervision import labelled_pairs
    >>> pairs, same = labelled_pairs([0, 0, 0, 1, 1, 1], 10, balanced=True, random_state=0)
    >>> int(same.sum())
    5
    """
    labels = as_labels(labels)
    check_number("n_pairs", n_pairs, least=0, integer=True)
    rng = as_generator(random_state)
    if not balanced:
        pairs = random_pairs(len(labels), n_pairs, random_state=rng)
        return LabelledPairs(pairs, labels[pairs[:, 0]] == labels[pairs[:, 1]])
    groups = Groups(labels)
    alike = groups.same(n_pairs // 2, rng)
    pairs = sort_by_first(np.concatenate([alike, groups.different(n_pairs - len(alike), rng)]))
    return LabelledPairs(pairs, labels[pairs[:, 0]] == labels[pairs[:, 1]])


class Groups:
    """Samples in the order of their labels, so that a label's samples are a range of numbers."""

    def __init__(self, labels: Vector) -> None:
        _, codes, self.counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(self.counts) < 2:
            raise ValueError("labels are all the same: there are no pairs of different labels.")
        self.order = np.argsort(codes, kind="stable")
        self.starts = np.cumsum(self.counts) - self.counts

    def same(self, n_pairs: int, rng: np.random.Generator) -> Matrix:
        """Pairs of one label, uniformly over all such pairs."""
        chances = self.counts * (self.counts - 1.0)
        if not chances.any():
            raise ValueError("every label has a single sample: there are no pairs of one label.")
        group = rng.choice(len(self.counts), size=n_pairs, p=chances / chances.sum())
        first = rng.integers(self.counts[group])
        second = rng.integers(self.counts[group] - 1)
        second += second >= first
        return self.order[self.starts[group][:, None] + np.column_stack([first, second])]

    def different(self, n_pairs: int, rng: np.random.Generator) -> Matrix:
        """Pairs of different labels, uniformly over all such pairs."""
        n = len(self.order)
        chances = self.counts * (n - self.counts).astype(float)
        group = rng.choice(len(self.counts), size=n_pairs, p=chances / chances.sum())
        first = self.starts[group] + rng.integers(self.counts[group])
        # One of the samples of other labels: a number below n - count, moved up past the label's range.
        second = rng.integers(n - self.counts[group])
        second += np.where(second >= self.starts[group], self.counts[group], 0)
        return self.order[np.column_stack([first, second])]


def nearest_triplets(
    Z: Matrix, labels: Any, *, n_targets: int = 3, n_impostors: int = 10, anchors: Vector | None = None
) -> Matrix:
    """Triplets (anchor, near, far): the nearest samples of an anchor's label against the nearest of other labels.

    Each anchor's n_targets nearest of its own label are paired with each of its n_impostors nearest of other labels, by
    Euclidean distance between rows of Z. Labels of a single sample give no triplets as anchors.

    Parameters
    ----------
    Z : array, shape (N, k)
        Samples, as they are mapped now.
    labels : array, shape (N,)
    n_targets, n_impostors : int
    anchors : array of int, optional
        The samples to make triplets for; all of them by default.

    Returns
    -------
    array of int, shape (m, 3)

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.supervision import nearest_triplets
    >>> Z = np.array([[0.0], [1.0], [1.5], [9.0]])
    >>> nearest_triplets(Z, [0, 0, 1, 1], n_targets=1, n_impostors=1)
    array([[0, 1, 2], [1, 0, 2], [2, 3, 1], [3, 2, 1]])
    """
    labels = as_labels(labels)
    check_kind("Z", Z)
    Z = check_array(Z, dtype=[np.float64, np.float32], order="C", input_name="Z")
    if len(Z) != len(labels):
        raise ValueError(f"Z has {len(Z)} rows, but there are {len(labels)} labels.")
    check_number("n_targets", n_targets, least=1, integer=True)
    check_number("n_impostors", n_impostors, least=1, integer=True)
    return search_triplets(Z, labels, n_targets, n_impostors, as_anchors(anchors, len(Z)), Serial())


class Neighbours(NamedTuple):
    """Anchors, ascending, and the indices of their nearest samples; -1, after the others, stands for none.

    Attributes
    ----------
    anchors : array of int, shape (a,)
    near : array of int, shape (a, k)
        Samples of the anchor's label, the nearest first; at least one.
    far : array of int, shape (a, j)
        Samples of other labels, the nearest first; at least one.
    """

    anchors: Vector
    near: Matrix
    far: Matrix

    @property
    def far_pairs(self) -> Matrix:
        """The pairs of anchors and far samples, shape (m, 2)."""
        pairs = np.column_stack([np.repeat(self.anchors, self.far.shape[1]), self.far.ravel()])
        return pairs[pairs[:, 1] >= 0]

    @property
    def triplets(self) -> Matrix:
        """Every near with every far sample of each anchor, shape (m, 3)."""
        return list_triplets(*self)


def search_triplets(
    Z: Matrix, labels: Vector, n_targets: int, n_impostors: int, anchors: Any, execution: Execution
) -> Matrix:
    """Return the triplets (m, 3) of `nearest_triplets`, searched for through an execution."""
    return search_neighbours(Z, labels, n_targets, n_impostors, anchors, execution).triplets


def search_neighbours(
    Z: Matrix, labels: Vector, n_targets: int, n_impostors: int, anchors: Any, execution: Execution
) -> Neighbours:
    """Return the nearest samples of anchors that have some of their label, searched for through an execution."""
    n = len(labels)
    anchors = np.arange(n) if anchors is None else anchors
    _, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    k, j = min(n_targets, counts.max() - 1), min(n_impostors, n - counts.min())
    if not (k and j and len(anchors)):
        raise ValueError(NO_TRIPLETS)
    samples = Samples.of(Z, classes)
    tiles = [anchors[start : start + samples.tile] for start in range(0, len(anchors), samples.tile)]
    # The products of a tile are too small to be shared out by BLAS.
    with one_blas_thread():
        found = execution.run(search, execution.place(tiles), samples=samples, n_targets=k, n_impostors=j)[1]
    near, far = (np.concatenate(parts) for parts in zip(*found.parts, strict=True))
    able = np.flatnonzero((near[:, 0] >= 0) & (far[:, 0] >= 0))
    if not able.size:
        raise ValueError(NO_TRIPLETS)
    able = able[np.argsort(anchors[able], kind="stable")]
    return Neighbours(anchors[able], near[able], far[able])


def search(anchors: Vector, *, samples: Samples, n_targets: int, n_impostors: int) -> tuple[None, Parts]:
    """Join the nearest samples of some anchors."""
    return None, Parts([nearest_samples(samples, anchors, n_targets, n_impostors)])


def with_every_class(drawn: Vector, labels: Vector, least: int) -> Vector:
    """Return the indices drawn, with more of each class that has fewer than `least` samples among them; ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.supervision.sampling import with_every_class
    >>> with_every_class(np.array([0, 3]), np.array([0, 0, 0, 0, 1, 1, 1]), least=2)
    array([0, 3, 4, 5])
    """
    codes = np.unique(labels, return_inverse=True)[1]
    counts, present = np.bincount(codes), np.bincount(codes[drawn], minlength=int(codes.max()) + 1)
    rare = np.flatnonzero(present < np.minimum(counts, least))
    if not rare.size:
        return np.sort(drawn)
    by_class, first = np.argsort(codes, kind="stable"), np.cumsum(counts) - counts
    more = [by_class[first[c] : first[c] + min(counts[c], least)] for c in rare]
    return np.unique(np.concatenate([drawn, *more]))
