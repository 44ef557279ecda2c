"""The supervision of a fit: which it is, how long its rounds are, and what is said where they end early on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_sample_weight

from gramian.blocked import BlockedFeatures
from gramian.checks import validate_weight
from gramian.estimators._checks import (
    SAMPLE_OPTIONS,
    check_components,
    check_labels_given,
    resolve_part,
    validate_input,
)
from gramian.losses import LOSSES, Loss, Squared
from gramian.solvers import Ending, Result
from gramian.supervision import SUPERVISIONS, GivenPairs, Supervision
from gramian.supervision.checks import check_samples, check_tuples_differ, validate_signs
from gramian.supervision.pairs import read_bounds
from gramian.supervision.tuples import TUPLES
from gramian.types import Vector
from gramian.warn import warn_user

__all__ = [
    "Validated",
    "advice_on_rounds",
    "describe_planned_end",
    "read_samples",
    "resolve_loss",
    "round_length",
    "supervise_by_labels",
    "validate_samples",
    "with_labels",
]

#: The maximum number of iterations of a call of partial_fit.
STREAM_LENGTH = 15
#: The largest number of directions of a matrix of full rank: an iteration costs their square for each sample.
MOST_DIRECTIONS = 1000


class Validated(NamedTuple):
    """Validated samples (n, d), an array or a sparse matrix, with their supervision and their largest |x|."""

    X: Any
    supervision: Supervision
    largest: float


def supervise_by_labels(learner: Any, y: Any, sample_weight: Any = None, bounds: Any = None) -> Supervision:
    """Return the supervision by class labels (n,) that the parameter `constraints` of a MetricLearner selects.

    Parameters
    ----------
    learner : MetricLearner
    y : array, shape (n,)
        Class labels.
    sample_weight : array, shape (n,), optional
    bounds : two floats, optional
        Squared distances for constraints="pairs".
    """
    kinds = {name: kind for name, kind in SUPERVISIONS.items() if kind.from_labels}
    if not isinstance(learner.constraints, str) or learner.constraints not in kinds:
        *names, last = (repr(name) for name in kinds)
        raise ValueError(f"constraints={learner.constraints!r} is unknown. Choose {', '.join(names)} or {last}.")
    supervision: Any = kinds[learner.constraints].from_learner(y, learner)
    if bounds is not None:
        if learner.constraints != "pairs":
            raise ValueError(
                f"bounds are of pairs, but constraints={learner.constraints!r}. Set constraints='pairs', or leave out "
                "bounds."
            )
        supervision = replace(supervision, bounds=read_bounds(bounds))
    return supervision if sample_weight is None else with_weight(supervision, sample_weight)


def read_samples(learner: Any, X: Any, supervision: Supervision, *, reset: bool) -> tuple[Any, Supervision]:
    """Return samples (n, d), an array or a sparse matrix, and their supervision; labels are read with the samples."""
    options = {**SAMPLE_OPTIONS, "ensure_min_samples": 2}
    if not supervision.from_labels:
        return validate_input(learner, X, reset=reset, **options), supervision
    check_labels_given(learner, supervision.labels)
    X, y = validate_input(learner, X, y=supervision.labels, reset=reset, **options)
    return X, with_labels(supervision, y)


def validate_samples(learner: Any, X: Any, supervision: Supervision, *, reset: bool, in_span: bool) -> Validated:
    """Return samples (n, d) that were read and their supervision, weighted and validated for the learner's settings.

    `in_span` is True if the distance will be learned in the span of the samples, where that is smaller.
    """
    if supervision.from_labels:
        supervision = with_class_weight(supervision, learner.class_weight, reset)
    else:
        supervision = with_sign_weight(supervision, learner.class_weight)
    check_components(learner.n_components, X.shape[1], learner._resolve_geometry())
    check_loss(learner.loss, supervision)
    if learner.n_components is None:
        check_directions(X, in_span)
    largest = check_samples(X, 2 if supervision.from_labels else 4, learner._resolve_execution(X))
    supervision = supervision.validate(X.shape[0])
    tuples = {name: getattr(supervision, name, None) for name in TUPLES.values()}
    # A call of a stream may have duplicates only; rows of blocks are not on the driver.
    first = reset or not hasattr(learner, "components_")
    for name, index in tuples.items() if first and not isinstance(X, BlockedFeatures) else ():
        if isinstance(index, np.ndarray):
            check_tuples_differ(X, index, name)
    return Validated(X, supervision, largest)


def check_directions(X: Any, in_span: bool) -> None:
    """Raise a ValueError if a distance of full rank would take many minutes: samples (n, d) have too many directions.

    These are the directions of the span of dense samples, where the distance is learned in it, else all.
    """
    n, d = X.shape
    directions = min(n, d) if in_span and not issparse(X) else d
    if directions > MOST_DIRECTIONS:
        few = n <= MOST_DIRECTIONS and not issparse(X)
        why = (
            " Few samples with labels are learned from in their span by `fit`, unless `init` is an array."
            if few
            else ""
        )
        raise ValueError(
            f"n_components=None would learn a matrix of rank {directions} from {n} samples of {d} features, which "
            f"takes many minutes. Choose a number of components, for example n_components=50; full rank is learned in "
            f"at most {MOST_DIRECTIONS} directions.{why}"
        )


def resolve_loss(loss: Any) -> Loss:
    """Return a loss of distances; raise a ValueError if it has no lower bound."""
    bounded = {name: kind for name, kind in LOSSES.items() if kind.bounded}
    known = LOSSES.get(loss) if isinstance(loss, str) else loss
    if not getattr(known, "bounded", True):
        raise ValueError(f"loss={loss!r} has no lower bound. Choose one of {', '.join(map(repr, bounded))}.")
    return resolve_part("loss", loss, bounded, Loss)


def check_loss(loss: Any, supervision: Supervision) -> None:
    """Raise a ValueError if the loss is not the squared one, and the supervision would ignore it."""
    if not supervision.uses_loss and not isinstance(resolve_loss(loss), Squared):
        name = next(
            (key for key, kind in SUPERVISIONS.items() if type(supervision) is kind), type(supervision).__name__
        )
        raise ValueError(
            f"loss={loss!r} has no effect on {name!r}, which has an objective of its own. Leave out loss, or learn "
            "from triplets, pairs or quadruplets, for example with constraints='triplets'."
        )


def with_labels(supervision: Any, labels: Any, weight: Any = None) -> Supervision:
    """Return a supervision, a dataclass, with other class labels (n,) and, if given, other weights (n,)."""
    return replace(supervision, labels=labels, **({} if weight is None else {"sample_weight": weight}))


def with_class_weight(supervision: Any, class_weight: Any, reset: bool) -> Supervision:
    """Return a supervision by labels whose weights of samples are multiplied by those of their classes.

    Classes that a dict does not have weigh 1. Its other classes may be in further parts of a stream.
    """
    if class_weight is None:
        return supervision
    if isinstance(class_weight, Mapping):
        class_weight = of_present_classes(class_weight, supervision.labels, warn=reset)
    own = validate_weight(supervision.sample_weight, len(supervision.labels), np.dtype(np.float64))
    return with_weight(supervision, weigh_classes(class_weight, supervision.labels, own))


def weigh_classes(class_weight: Any, labels: Any, own: Vector) -> Vector:
    """Return the weights (n,) of labelled samples or pairs, times those of their classes.

    With "balanced" every class has the same total weight, but for those whose total is 0.
    """
    if isinstance(class_weight, Mapping):
        return own * compute_sample_weight(class_weight, labels)
    classes = np.unique(labels, return_inverse=True)[1]
    totals = np.bincount(classes, own)
    shares = np.divide(own, totals[classes], out=np.zeros(len(own)), where=own > 0)
    return shares * (own.sum() / np.count_nonzero(totals))


def of_present_classes(class_weight: Mapping, labels: Any, warn: bool) -> dict:
    """Return the weights of the classes of labels (n,).

    Where some classes have no weight, a key that is no class may be a mistake: warn of it if `warn` is True. Raises a
    ValueError for texts where labels are numbers, and for numbers where they are texts.
    """
    classes = np.unique(labels).tolist()
    others = [label for label in class_weight if label not in classes]
    if others and isinstance(others[0], str) != isinstance(classes[0], str):
        raise ValueError(
            f"class_weight has the key {others[0]!r}, but labels are like {classes[0]!r}. Give keys of their type."
        )
    if others and warn and any(label not in class_weight for label in classes):
        warn_user(f"class_weight has the key {others[0]!r}, but no sample here has this label. Its weight is not used.")
    return {label: weight for label, weight in class_weight.items() if label in classes}


def with_sign_weight(supervision: Any, class_weight: Any) -> Supervision:
    """Return pairs whose weights are multiplied by those of their signs; raise a ValueError for other supervision."""
    if class_weight is None:
        return supervision
    if getattr(supervision, "y", None) is None or not isinstance(supervision, GivenPairs):
        raise ValueError(
            f"class_weight={class_weight!r} weighs classes of labels, or signs of pairs, but "
            f"{type(supervision).__name__} has neither. Give sample_weight, and set class_weight=None."
        )
    signs = validate_signs(supervision.y, len(supervision.pairs), both=False)
    own = validate_weight(supervision.sample_weight, len(signs), np.dtype(np.float64), "pair")
    if isinstance(class_weight, Mapping):
        unknown = [key for key in class_weight if key not in (-1, 1)]
        if unknown:
            raise ValueError(f"class_weight has the key {unknown[0]!r}, but the classes of pairs are +1 and -1.")
        class_weight = {1: class_weight.get(1, 1.0), -1: class_weight.get(-1, 1.0)}
        class_weight = {sign: class_weight[sign] for sign in np.unique(signs)}
    return replace(supervision, sample_weight=weigh_classes(class_weight, signs, own))


def with_weight(supervision: Any, weight: Any) -> Supervision:
    """Return a supervision with weights (n,) of its samples; raise a ValueError if its kind takes none."""
    if "sample_weight" not in {field.name for field in fields(supervision)}:
        name = type(supervision).__name__
        raise ValueError(f"{name} takes no weights of samples. Leave out sample_weight, and set class_weight=None.")
    return replace(supervision, sample_weight=weight)


def round_length(supervision: Supervision, resume: bool) -> int | None:
    """Return the maximum number of iterations of a round; None if only max_iter limits them."""
    return STREAM_LENGTH if resume and supervision.round_length != 0 else supervision.round_length


def describe_planned_end(result: Result, supervision: Supervision, resume: bool) -> str:
    """Return the message of a fit whose last round reached its length; "" for others."""
    length = round_length(supervision, resume)
    if length == 0 and result.ending is not Ending.HALTED:
        return "nothing was learned, as planned: the distance is that of the start"
    if result.ending is not Ending.EXHAUSTED or (result.stops and result.n_iter != length):
        return ""
    name = supervision.rounds_parameter
    rounds = "" if resume else f" in each of {f'{name}=' if name else ''}{supervision.n_rounds} rounds"
    if not result.stops:
        return f"{result.n_iter} epoch{'s' * (result.n_iter != 1)}{rounds * (supervision.n_rounds > 1)} done"
    return f"{length} iterations{rounds}, as planned; no stopping rule held in the last"


def advice_on_rounds(supervision: Supervision, resume: bool) -> str | None:
    """Return what to do about a round that ended early; None where there are no rounds."""
    length = round_length(supervision, resume)
    if length is None:
        return None
    others = [name for name in (supervision.rounds_parameter, "tol") if name]
    return f"Raise max_iter, of which a round takes {length} at most, or {', or '.join(others)}."
