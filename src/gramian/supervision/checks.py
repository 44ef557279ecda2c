"""Checks of labels, pairs, triplets and quadruplets. Errors say which argument, what came, and what to do."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gramian.checks import as_numbers, check_kind, check_powers, check_size, validate_sense, validate_weight
from gramian.execution import Execution, execution_for
from gramian.extremes import extremes_of
from gramian.measurements.measurement import check_indices
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = [
    "PairTargets",
    "check_contradictions",
    "check_samples",
    "check_tuples_differ",
    "has_partner",
    "have_one_sign",
    "read_labels",
    "validate_anchor_weight",
    "validate_labels",
    "validate_order",
    "validate_pairs",
    "validate_quadruplets",
    "validate_signs",
    "validate_target",
    "validate_triplets",
    "warn_of_targets",
]

#: At most FEW_VALUES different numbers are classes; so are more, up to these shares of the samples, by dtype.
FEW_VALUES, MANY_VALUES = 20, {"f": 1 / 3, "i": 1 / 2, "u": 1 / 2}

#: The number of entries of samples that are compared at a time.
AT_ONCE = 2**18


def validate_labels(y: Any, n_samples: int) -> Vector:
    """Return class labels (n,) of at least two classes, one of them with two samples."""
    labels = column_or_1d(read_labels(y), warn=True)
    check_classification(labels)
    _, counts = np.unique(labels, return_counts=True)
    if len(counts) < 2:
        raise ValueError(f"y has one class only, in {n_samples} samples. Labels of at least two classes are needed.")
    if counts.max() < 2:
        raise ValueError("y has a single sample in every class. At least one class needs two.")
    return labels


def check_classification(labels: Vector) -> None:
    """Raise a ValueError if labels are numbers that no classes are made of; the message names `fit_targets`."""
    try:
        with warnings.catch_warnings():
            # `warn_of_targets` says what to do.
            warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
            check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(
            f"{error} To learn from a number for each sample, use MetricLearner().fit_targets(X, y)."
        ) from error


def warn_of_targets(y: Any) -> None:
    """Issue a warning if class labels (n,) are many different numbers, as targets of a regression are.

    Numbers with a decimal point are suspected from three samples a value, integers from two.
    """
    array = np.asarray(y)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        return
    n, share = len(array), MANY_VALUES[array.dtype.kind]
    count = len(np.unique(array))
    if count > max(FEW_VALUES, share * n):
        warn_user(
            f"y has {count} different numbers in {n} samples, and each of them is taken as a class. If they are "
            "targets, use fit_targets(X, y), by which near samples predict the number. If they are classes, give "
            "texts: fit(X, y.astype(str))."
        )


def has_partner(labels: Vector) -> Vector:
    """Return a mask (n,) of the samples that are not alone in their class."""
    classes, counts = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    return counts[classes] > 1


def validate_anchor_weight(sample_weight: Any, labels: Vector) -> Vector | None:
    """Return the weights (n,) of labelled samples, the largest of them 1; None if they are equal or not given.

    Raises a ValueError unless a sample of positive weight is not alone in its class.
    """
    if sample_weight is None:
        return None
    weight = validate_weight(sample_weight, len(labels), np.dtype(np.float64))
    if (weight == weight[0]).all():
        return None
    if not has_partner(labels)[weight > 0].any():
        raise ValueError(
            "sample_weight is zero for all samples but those that are alone in their class. Give a positive weight to "
            "a sample whose class has another one."
        )
    return weight


def check_samples(X: Any, power: int = 2, execution: Execution | None = None) -> float:
    """Return the largest entry of samples (n, d) in absolute value; one pass.

    Raises a ValueError if the samples all coincide, or if powers of their entries overflow or underflow.
    """
    extremes = extremes_of(X, None if execution is None else execution_for(X, execution))
    check_size("X", extremes.largest, power)
    if extremes.constant:
        raise ValueError(f"all {X.shape[0]} samples of X coincide: no distance can be learned from them.")
    return extremes.largest


def read_labels(y: Any, name: str = "y") -> Any:
    """Return class labels as they are given; objects that are numbers become an array of numbers.

    Raises a ValueError that names the first entry that is not a text or a finite number, or two of different types.
    """
    check_kind(name, y)
    array = np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    if array.dtype != object or array.ndim == 0:
        return y
    entries = array.ravel().tolist()
    bad = next((i for i, label in enumerate(entries) if not is_label(label)), None)
    if bad is not None:
        raise ValueError(
            f"{name}[{bad}] = {entries[bad]!r} is not a label. Give a text or a finite number, or drop the sample."
        )
    text = np.array([isinstance(label, str) for label in entries], bool)
    if text.any() and not text.all():
        i, j = int(np.argmax(text)), int(np.argmin(text))
        raise ValueError(
            f"{name} has labels of different types: {name}[{j}] = {entries[j]!r}, but {name}[{i}] = {entries[i]!r}. "
            "Give texts only, or numbers only."
        )
    return y if text.any() or not hasattr(y, "dtype") else np.array(entries).reshape(array.shape)


def is_label(value: Any) -> bool:
    """Return True for a text or a finite number."""
    return isinstance(value, str | Integral | np.bool_) or (isinstance(value, Real) and math.isfinite(value))


def check_tuples_differ(X: Any, tuples: Matrix, name: str) -> None:
    """Raise a ValueError if the samples of every one of the tuples (m, k) coincide; X is an array or a CSR matrix."""
    step = max(1, AT_ONCE // X.shape[1])
    for start in range(0, len(tuples), step):
        first, *others = tuples[start : start + step].T
        for other in others:
            differs = X[first] != X[other]
            if differs.nnz if issparse(differs) else differs.any():
                return
    raise ValueError(f"the samples of every one of the {name} coincide: no distance can be learned from them.")


def validate_pairs(pairs: Any, n_samples: int) -> Matrix:
    """Return index pairs (m, 2) of different samples."""
    check_kind("pairs", pairs)
    if np.shape(pairs)[:1] == (0,):
        raise ValueError("pairs is empty; at least one pair is needed.")
    index = check_indices(pairs, "pairs", 2, n_samples)
    bad = np.flatnonzero(index[:, 0] == index[:, 1])
    if bad.size:
        row = tuple(int(i) for i in index[bad[0]])
        raise ValueError(f"pairs[{bad[0]}] = {row} joins a sample to itself; its distance is always 0. Drop it.")
    return index


def validate_triplets(triplets: Any, n_samples: int) -> Matrix:
    """Return index triplets (m, 3), anchor, near, far, of three different samples each."""
    check_kind("triplets", triplets)
    if np.shape(triplets)[:1] == (0,):
        raise ValueError("triplets is empty; at least one triplet is needed.")
    index = check_indices(triplets, "triplets", 3, n_samples)
    bad = np.flatnonzero((index[:, 0] == index[:, 2]) | (index[:, 1] == index[:, 2]) | (index[:, 0] == index[:, 1]))
    if bad.size:
        row = tuple(int(i) for i in index[bad[0]])
        raise ValueError(f"triplets[{bad[0]}] = {row} names a sample twice. Give three different samples.")
    return index


def validate_quadruplets(quadruplets: Any, n_samples: int) -> Matrix:
    """Return index quadruplets (m, 4), a near and a far pair each; the pairs differ, each has two samples."""
    check_kind("quadruplets", quadruplets)
    if np.shape(quadruplets)[:1] == (0,):
        raise ValueError("quadruplets is empty; at least one quadruplet is needed.")
    index = check_indices(quadruplets, "quadruplets", 4, n_samples)
    near, far = np.sort(index[:, :2], axis=1), np.sort(index[:, 2:], axis=1)
    single = (near[:, 0] == near[:, 1]) | (far[:, 0] == far[:, 1])
    bad = np.flatnonzero(single | (near == far).all(axis=1))
    if bad.size:
        row = tuple(int(i) for i in index[bad[0]])
        reason = (
            "joins a sample to itself; its distance is always 0. Give pairs of different samples."
            if single[bad[0]]
            else "has the same pair twice, which cannot be nearer than itself. Give two different pairs."
        )
        raise ValueError(f"quadruplets[{bad[0]}] = {row} {reason}")
    return index


def check_contradictions(pairs: Matrix, target: Vector, sense: Vector, *, signs: bool = False) -> None:
    """Raise a ValueError if the upper bound of a pair is below its lower bound; equalities may be noisy.

    If they stand for `signs`, bounds of one pair contradict each other even if they are the same number.
    """
    first, second = (order(pairs[:, 0], pairs[:, 1]).astype(np.int64) for order in (np.minimum, np.maximum))
    group = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
    upper, lower = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
    np.minimum.at(upper, group[sense < 0], target[sense < 0])
    np.maximum.at(lower, group[sense > 0], target[sense > 0])
    bad = np.flatnonzero((lower >= upper if signs else lower > upper * (1 + 1e-6))[group])
    if not bad.size:
        return
    kind = group[bad[0]]
    below = np.flatnonzero((group == kind) & (sense < 0) & (target == upper[kind]))[0]
    above = np.flatnonzero((group == kind) & (sense > 0) & (target == lower[kind]))[0]
    here, there = sorted([int(below), int(above)])
    words = {below: f"at most {upper[kind]:.4g}", above: f"at least {lower[kind]:.4g}"}
    if signs:
        words = {below: "y = +1, near", above: "y = -1, far"}
    i, j = (int(x) for x in pairs[here])
    raise ValueError(
        f"pairs[{here}] = ({i}, {j}) is contradicted by pairs[{there}], of the same samples: {words[here]}, against "
        f"{words[there]}. Give each pair once, with the answer that most agree on, or drop it."
    )


class PairTargets(NamedTuple):
    """Squared distances (m,) that pairs should have, with their senses (m,): -1 at most, 0 equal, +1 at least."""

    target: Vector
    sense: Vector


def validate_target(target: Any, sense: Any, m: int) -> PairTargets:
    """Return squared distances (m,), not negative, and senses (m,)."""
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
    check_powers("target", values, 2)
    return PairTargets(values, validate_sense(sense, m))


def validate_signs(y: Any, m: int, both: bool = True) -> Vector:
    """Return signs +1 and -1, (m,), as new signed integers; both must occur unless one is enough."""
    if y is None:
        raise ValueError("y is missing. Give +1 (same) or -1 (different) for each pair.")
    check_kind("y", y)
    signs = np.asarray(y)
    if signs.shape != (m,):
        raise ValueError(f"y has shape {signs.shape}; expected ({m},), one for each pair.")
    if signs.dtype == bool or (np.isin(signs, (0, 1)).all() and (signs == 0).any()):
        came, same = ("True and False", "True") if signs.dtype == bool else ("0 and 1", "1")
        raise ValueError(
            f"y holds {came}; expected +1 (same) and -1 (different). If {same} means the same, give np.where(y, 1, -1)."
        )
    bad = np.flatnonzero(~np.isin(signs, (-1, 1)))
    if bad.size:
        raise ValueError(
            f"y must be +1 (same) or -1 (different), one for each pair; y[{bad[0]}] = {signs.tolist()[bad[0]]!r}. "
            "Squared distances are given as target=."
        )
    if both and have_one_sign(signs):
        raise ValueError(f"y is {signs[0]:+g} for every pair. Give pairs of both kinds.")
    return signs.astype(np.int64)


def have_one_sign(signs: Any) -> bool:
    """Return True if all signs (m,) are the same, or there are none."""
    signs = np.asarray(signs)
    return bool((signs == signs[:1]).all())


def validate_order(y: Any, m: int, name: str) -> Vector:
    """Return signs (m,) of triplets or quadruplets, as `name` says: +1, or -1 if near and far are exchanged."""
    check_kind("y", y)
    signs = np.asarray(y)
    if signs.shape != (m,):
        raise ValueError(f"y has shape {signs.shape}; expected ({m},), one for each of the {name}, or no y.")
    bad = np.flatnonzero(~np.isin(signs, (-1, 1)) | (signs.dtype == bool))
    if bad.size:
        raise ValueError(
            f"y must be +1, or -1 where near and far are exchanged, for each of the {name}; y[{bad[0]}] = "
            f"{signs[bad[0]]}. Weights are given as sample_weight=."
        )
    return signs
