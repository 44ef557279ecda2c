"""A distance from continuous targets, in two steps: a wide one first, whose leading components start the one wanted."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from gramian.estimators._checkpoint import forget_checkpoint, keep_checkpoint
from gramian.estimators._path import reduce_factor
from gramian.supervision import Targets

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["learn_targets"]

Learner = TypeVar("Learner", bound="MetricLearner")

#: The rank of the first step, where there are as many features.
WIDE = 30
#: The strength of the penalty on the trace of W, for targets that cannot be predicted at all.
STRENGTH = 6.0


def learn_targets(learner: Learner, X: Any, targets: Targets) -> Learner:
    """Fit a learner to targets of the samples X (n, d), and return it.

    A distance of low rank has poor minima. The first step therefore learns one of higher rank, whose leading principal
    components are the start of the second. The error of the first step estimates the noise of the targets; the penalty
    of the second step is proportional to it. A start that is given, or a warm start, makes it the only step.
    """
    rank, shape = learner.n_components, np.shape(X) if not hasattr(X, "shape") else X.shape
    n, d = shape if len(shape) == 2 else (0, 0)
    valid = rank is None or (isinstance(rank, Integral) and 0 < rank <= d)
    if learner.warm_start and hasattr(learner, "components_"):
        return learner.fit_supervised(X, replace(targets, strength=strength_of(learner, X, targets), keep_scale=True))
    if not (valid and isinstance(learner.init, str) and learner.init == "auto"):
        return learner.fit_supervised(X, targets)
    # n centred samples have n - 1 directions.
    wide = None if rank is None or d <= WIDE else max(min(WIDE, n - 1), int(rank))
    first = clone(learner).set_params(n_components=wide)
    keep_checkpoint(first, "first")
    first.fit_supervised(X, targets)
    start = reduce_factor(first.factor_, X, rank)
    try:
        learner.init = "auto" if start is None else start
        again = replace(targets, strength=strength_of(first, X, targets), keep_scale=start is not None)
        learner.fit_supervised(X, again)
    finally:
        learner.init = "auto"
    forget_checkpoint(first)
    return learner


def strength_of(learner: MetricLearner, X: Any, targets: Targets) -> float:
    """Return the strength of the penalty, proportional to the error of a fitted learner on its samples X (n, d)."""
    Z = learner._map_to_array(X)
    return STRENGTH * targets.validate(len(Z)).error(Z)
