"""What is asked of a distance: pairs and triplets as terms of an objective, from labels or as they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from gramian.checks import checked_number
from gramian.estimators.checks import as_numbers, check_scale, checked_sense
from gramian.estimators.distances import checked_signs
from gramian.features import Features, Identity, as_features
from gramian.geometries import Geometry
from gramian.losses import Linear
from gramian.measurements import Each, Pairs, Triplets
from gramian.measurements.measurement import checked_indices
from gramian.objective import Block, Problem, Term
from gramian.penalties import Toward
from gramian.sampling import labelled_pairs
from gramian.types import Matrix, Vector

__all__ = [
    "Regularisation",
    "asked",
    "centred",
    "check_components",
    "check_contradictions",
    "check_settings",
    "checked_labels",
    "checked_pairs",
    "checked_points",
    "checked_target",
    "checked_triplets",
    "given_pairs",
    "joined",
    "pair_problem",
    "signed_pairs",
    "spread",
    "triplet_problem",
]

#: By how much, in squared distance, the far sample of a triplet should be farther than the near one.
MARGIN = 1.0
#: Full-rank factors of more features than this are refused.
LARGEST_FULL = 5000
STARTS = ("auto", "identity", "lda", "pca", "random")


@dataclass(frozen=True)
class Regularisation:
    """The price of leaving the start, ½ toward ‖W - W₀‖²/‖W₀‖², and of size, trace · tr(W)/tr(W₀)."""

    toward: float = 0.0
    trace: float = 0.0

    def blocks(self, start: Matrix) -> list[Block]:
        """The penalties on a factor (d, r), as blocks of a problem."""
        d = len(start)
        parts: list[Any] = []
        if self.toward > 0:
            parts.append(Toward(start, self.toward))
        if self.trace > 0:
            weight = np.full(d, 2 * self.trace / float(np.sum(start**2)), start.dtype)
            parts.append(Term(Each(d), np.zeros(d, start.dtype), Linear(), np.full(d, -1), weight))
        return [Block(Identity(d, start.dtype), parts)] if parts else []


def triplet_problem(
    features: Features, triplets: Matrix, start: Matrix, pull: float, prices: Regularisation
) -> Problem:
    """Mean ½ max(0, MARGIN - prediction)² over triplets, + pull · mean distance of their near pairs, + penalties."""
    m, dtype = len(triplets), features.dtype
    terms = [Term(Triplets(triplets), np.full(m, MARGIN, dtype), sense=np.full(m, 1))]
    if pull > 0:
        n = features.shape[0]
        near = np.column_stack(np.divmod(np.unique(triplets[:, 0] * n + triplets[:, 1]), n))
        weight = np.full(len(near), 2 * pull / len(near), dtype)
        terms.append(Term(Pairs(near), np.zeros(len(near), dtype), Linear(), np.full(len(near), -1), weight))
    return Problem([Block(features, terms), *prices.blocks(start)])


def pair_problem(
    features: Features,
    pairs: Matrix,
    target: Vector,
    sense: Vector,
    weight: Vector,
    start: Matrix,
    prices: Regularisation,
) -> Problem:
    """Weighted mean of ½ (violation / typical target)² over pairs, + penalties; targets are squared distances."""
    dtype = features.dtype
    typical = float(np.mean(target.astype(np.float64) ** 2))
    weight = weight / (weight.sum() * (typical if typical > 0 else 1.0))
    term = Term(Pairs(pairs), target.astype(dtype), sense=sense, weight=weight.astype(dtype))
    return Problem([Block(features, [term]), *prices.blocks(start)])


def given_pairs(X: Any, pairs: Any) -> tuple[Any, Any]:
    """Samples and index pairs (m, 2), from those or from pairs given as points (m, 2, d)."""
    if pairs is not None:
        if np.ndim(X) == 3:
            raise ValueError(
                "X holds pairs of points (m, 2, d): `pairs` must not be given. Name y=, target= or sense=."
            )
        return X, pairs
    points = checked_points(X)
    m, _, d = points.shape
    return points.reshape(2 * m, d), np.arange(2 * m).reshape(m, 2)


def signed_pairs(
    labels: Vector, n_pairs: int | None, balanced: bool, rng: np.random.Generator
) -> tuple[Matrix, Vector]:
    """Random pairs (m, 2), and +1 where they share a label, -1 where not; m = 40 c (c - 1) for c labels by default."""
    c = len(np.unique(labels))
    m = 40 * c * (c - 1) if n_pairs is None else n_pairs
    pairs, same = labelled_pairs(labels, m, balanced=balanced, random_state=rng)
    if same.all() or not same.any():
        pairs, same = labelled_pairs(labels, m, balanced=True, random_state=rng)
    return pairs, np.where(same, 1, -1)


def asked(
    pairs: Matrix, target: Any, sense: Any, y: Any, squared: Any
) -> tuple[Vector, Vector, tuple[float, float] | None]:
    """Squared distances (m,) and senses (m,) asked of pairs, and the bounds l and u where signs y ask for them.

    By y, near pairs are to be at most l apart and far ones at least u: the 5th and 95th percentile of `squared`.
    """
    bounds = None
    if y is not None:
        if target is not None or sense is not None:
            raise ValueError("y stands in place of target and sense. Give one or the other.")
        y = checked_signs(y, len(pairs))
        low, high = np.percentile(squared, [5, 95])
        bounds = float(low), float(high)
        target, sense = np.where(y > 0, *bounds), -y
    values, senses = checked_target(target, sense, len(pairs))
    check_contradictions(pairs, values, senses)
    return values, senses, bounds


def checked_pairs(pairs: Any, n_samples: int) -> Matrix:
    """Index pairs (m, 2) of different samples."""
    index = checked_indices(pairs, "pairs", 2, n_samples)
    if not len(index):
        raise ValueError("pairs is empty; at least one pair is needed.")
    bad = np.flatnonzero(index[:, 0] == index[:, 1])
    if bad.size:
        row = tuple(int(i) for i in index[bad[0]])
        raise ValueError(f"pairs[{bad[0]}] = {row} joins a sample to itself; its distance is always 0.")
    return index


def checked_triplets(triplets: Any, n_samples: int) -> Matrix:
    """Index triplets (m, 3): anchor, near, far; the anchor and the far sample differ from each other."""
    index = checked_indices(triplets, "triplets", 3, n_samples)
    if not len(index):
        raise ValueError("triplets is empty; at least one triplet is needed.")
    bad = np.flatnonzero((index[:, 0] == index[:, 2]) | (index[:, 1] == index[:, 2]) | (index[:, 0] == index[:, 1]))
    if bad.size:
        row = tuple(int(i) for i in index[bad[0]])
        raise ValueError(f"triplets[{bad[0]}] = {row} names a sample twice. Give three different samples.")
    return index


def check_contradictions(pairs: Matrix, target: Vector, sense: Vector) -> None:
    """A ValueError where a pair should be at most so far apart, and at least farther; equalities may be noisy."""
    ordered = np.sort(pairs, axis=1)
    order = np.lexsort(ordered.T)
    new = np.r_[True, (np.diff(ordered[order], axis=0) != 0).any(axis=1)]
    group = np.empty(len(pairs), int)
    group[order] = np.cumsum(new) - 1
    upper, lower = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
    np.minimum.at(upper, group[sense < 0], target[sense < 0])
    np.maximum.at(lower, group[sense > 0], target[sense > 0])
    bad = np.flatnonzero((lower > upper * (1 + 1e-6))[group])
    if bad.size:
        i, j = (int(x) for x in pairs[bad[0]])
        raise ValueError(
            f"pairs[{bad[0]}] = ({i}, {j}) is contradicted by another entry for the same samples: "
            f"at least {lower[group[bad[0]]]:.4g} and at most {upper[group[bad[0]]]:.4g}."
        )


def centred(X: Any) -> Features:
    """Features less their mean, which distances do not see but rounding does; sparse data is left as it is."""
    return (
        as_features(X)
        if scipy.sparse.issparse(X)
        else as_features(X - X.mean(axis=0, dtype=np.float64).astype(X.dtype))
    )


def spread(features: Features, start: Matrix, triplets: Matrix) -> Matrix:
    """The start, scaled so that anchors and far samples are at a median squared distance of 2, twice the margin."""
    distance = float(np.median(Pairs(triplets[:, [0, 2]]).predict(features.image(start))))
    return start * start.dtype.type((2 / distance) ** 0.5) if 0 < distance < np.inf else start


def joined(histories: list[dict[str, Vector]]) -> dict[str, Vector]:
    """Histories one after the other: iterations numbered on, times and passes summed up, later starts left out."""
    columns: dict[str, Any] = {name: [values] for name, values in histories[0].items()}
    for history in histories[1:]:
        for name, values in history.items():
            before = columns[name][-1][-1] if name in ("iteration", "time", "passes") else 0
            columns[name].append(values[1:] + before if len(values) > 1 else values[1:])
            if not len(values[1:]):
                columns[name].pop()
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def checked_labels(y: Any, n_samples: int) -> Vector:
    """Class labels (n,): at least two classes, one of them with two samples."""
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    _, counts = np.unique(labels, return_counts=True)
    if len(counts) < 2:
        raise ValueError(f"y has one class only, in {n_samples} samples. Labels of at least two classes are needed.")
    if counts.max() < 2:
        raise ValueError("y has a single sample in every class. At least one class needs two.")
    return labels


def checked_points(pairs: Any) -> Matrix:
    """Pairs of points, (m, 2, d)."""
    points = check_array(pairs, allow_nd=True, dtype=[np.float64, np.float32], input_name="X")
    if points.ndim != 3 or points.shape[1] != 2:
        raise ValueError(f"X has shape {points.shape}; expected pairs of points (m, 2, d), or samples with `pairs`.")
    return points


def checked_target(target: Any, sense: Any, m: int) -> tuple[Vector, Vector]:
    """Squared distances (m,), not negative, and senses (m,)."""
    if target is None:
        raise ValueError("target is missing. Give target and sense, or y = +1 (near) and -1 (far).")
    values = (
        np.broadcast_to(as_numbers("target", target), (m,)) if np.ndim(target) == 0 else as_numbers("target", target)
    )
    if values.shape != (m,):
        raise ValueError(f"target has shape {values.shape}; expected ({m},), one for each pair.")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        raise ValueError(f"target[{bad[0]}] = {values[bad[0]]}; squared distances must be finite and not negative.")
    return values, checked_sense(sense, m)


def check_components(n_components: Any, n_features: int, geometry: Geometry) -> None:
    """A ValueError unless a distance of this rank can be learned on this geometry."""
    check_scale(geometry)
    if n_components is None and n_features > LARGEST_FULL:
        raise ValueError(
            f"n_components=None would learn a {n_features} x {n_features} matrix. Choose a number of components."
        )
    if n_components is None:
        return
    checked_number("n_components", n_components, least=1, integer=True)
    if n_components > n_features:
        raise ValueError(
            f"n_components={n_components} exceeds n_features={n_features}. Choose n_components <= {n_features}."
        )
    if geometry.full_rank and n_components < n_features:
        raise ValueError(f"geometry={geometry!r} learns full-rank distances. Choose n_components=None.")


def check_settings(learner: Any) -> None:
    """A ValueError that names the first bad setting of a MetricLearner."""
    for name in ("n_targets", "n_impostors", "n_rounds"):
        checked_number(name, getattr(learner, name), least=1, integer=True)
    for name in ("pull", "shrinkage"):
        checked_number(name, getattr(learner, name), least=0)
    if learner.regularisation != "auto":
        checked_number("regularisation", learner.regularisation, least=0)
    if learner.n_constraints is not None:
        checked_number("n_constraints", learner.n_constraints, least=1, integer=True)
    if learner.constraints not in ("triplets", "pairs"):
        raise ValueError(f"constraints={learner.constraints!r} is unknown. Choose 'triplets' or 'pairs'.")
    if isinstance(learner.init, str) and learner.init not in STARTS:
        raise ValueError(f"init={learner.init!r} is unknown. Choose one of {', '.join(STARTS)}, or an array.")
