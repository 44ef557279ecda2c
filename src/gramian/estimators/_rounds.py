"""The supervision of a fit: which it is, how long its rounds are, and what is said where they end early on purpose."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_sample_weight

from gramian.checks import validate_weight
from gramian.estimators._checks import check_components, check_labels_given, validate_input
from gramian.solvers import Ending, Result
from gramian.supervision import SUPERVISIONS, Supervision
from gramian.supervision.checks import check_samples
from gramian.supervision.pairs import read_bounds

__all__ = [
    "Validated",
    "advice_on_rounds",
    "ended_as_planned",
    "round_length",
    "supervise_by_labels",
    "validate_samples",
    "with_labels",
]

#: The maximum number of iterations of a call of partial_fit.
STREAM_LENGTH = 15
#: A matrix of full rank is learned for at most so many directions: an iteration costs their square for each sample.
MOST_DIRECTIONS = 1000


class Validated(NamedTuple):
    """Samples (n, d), an array or a sparse matrix, and what is asked of them, both validated."""

    X: Any
    supervision: Supervision


def supervise_by_labels(learner: Any, y: Any, sample_weight: Any = None, bounds: Any = None) -> Supervision:
    """Return the supervision by class labels (n,) that the parameter `constraints` of a MetricLearner selects.

    Parameters
    ----------
    learner : MetricLearner
    y : array, shape (n,)
    sample_weight : array, shape (n,), optional
    bounds : two floats, optional
        Squared distances for constraints="pairs".
    """
    kinds = {name: kind for name, kind in SUPERVISIONS.items() if kind.from_labels}
    if learner.constraints not in kinds:
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


def validate_samples(
    learner: Any, X: Any, supervision: Supervision, *, reset: bool, checked: bool = False
) -> Validated:
    """Return validated samples (n, d) and what is asked of them; labels are validated with the samples.

    With `checked` the samples and labels are validated already.
    """
    kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "ensure_min_samples": 2}
    if supervision.from_labels:
        check_labels_given(learner, supervision.labels)
        if not checked:
            X, y = validate_input(learner, X, y=supervision.labels, reset=reset, **kinds)
            supervision = with_labels(supervision, y)
        supervision = with_class_weight(supervision, learner.class_weight)
    else:
        X = validate_input(learner, X, reset=reset, **kinds)
    check_components(learner.n_components, X.shape[1], learner._resolve_geometry())
    if learner.n_components is None:
        check_directions(X, supervision)
    check_samples(X, 2 if supervision.from_labels else 4)
    return Validated(X, supervision.validate(X.shape[0]))


def check_directions(X: Any, supervision: Supervision) -> None:
    """Raise a ValueError if a distance of full rank would take many minutes: samples (n, d) span too many directions.

    Labels are learned from in the span of dense samples; everything else is in all directions.
    """
    n, d = X.shape
    directions = min(n, d) if supervision.from_labels and not issparse(X) else d
    if directions > MOST_DIRECTIONS:
        raise ValueError(
            f"n_components=None would learn a matrix of rank {directions} from {n} samples of {d} features, which "
            f"takes many minutes. Choose a number of components, for example n_components=50; full rank is learned in "
            f"at most {MOST_DIRECTIONS} directions."
        )


def with_labels(supervision: Any, labels: Any, weight: Any = None) -> Supervision:
    """Return a supervision, a dataclass, with other class labels (n,) and, if given, other weights (n,)."""
    return replace(supervision, labels=labels, **({} if weight is None else {"sample_weight": weight}))


def with_class_weight(supervision: Any, class_weight: Any) -> Supervision:
    """Return a supervision by labels whose weights of samples are multiplied by those of their classes."""
    if class_weight is None:
        return supervision
    weight = compute_sample_weight(class_weight, supervision.labels)
    own = validate_weight(supervision.sample_weight, len(weight), np.dtype(np.float64))
    return with_weight(supervision, weight * own)


def with_weight(supervision: Any, weight: Any) -> Supervision:
    """Return a supervision with weights (n,) of its samples; raise a ValueError if its kind takes none."""
    if "sample_weight" not in {field.name for field in fields(supervision)}:
        name = type(supervision).__name__
        raise ValueError(f"{name} takes no weights of samples. Leave out sample_weight, and set class_weight=None.")
    return replace(supervision, sample_weight=weight)


def round_length(supervision: Supervision, resume: bool) -> int | None:
    """Return the maximum number of iterations of a round; None if only max_iter limits them."""
    return STREAM_LENGTH if resume and supervision.round_length != 0 else supervision.round_length


def ended_as_planned(result: Result, supervision: Supervision, resume: bool) -> str:
    """Return the message of a fit whose last round reached its length; "" for others."""
    length = round_length(supervision, resume)
    if result.ending is not Ending.EXHAUSTED or result.n_iter != length:
        return ""
    if length == 0:
        return "nothing was learned, as planned: the distance is that of the start"
    name = supervision.rounds_parameter
    rounds = "" if resume else f" in each of {f'{name}=' if name else ''}{supervision.n_rounds} rounds"
    return f"{length} iterations{rounds}, as planned; no stopping rule held in the last"


def advice_on_rounds(supervision: Supervision, resume: bool) -> list[str]:
    """Return what to do about a round that ended early; nothing where there are no rounds."""
    length = round_length(supervision, resume)
    if length is None:
        return []
    others = [name for name in (supervision.rounds_parameter, "tol") if name]
    return [f"Raise max_iter, of which a round takes {length} at most, or {', or '.join(others)}."]
