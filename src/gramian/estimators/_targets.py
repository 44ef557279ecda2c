"""Targets at the door of MetricLearner: in one step or two."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from gramian.blocked import is_blocked
from gramian.supervision import Targets
from gramian.supervision.tuples import samples_of_indices

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["learn_targets"]

Learner = TypeVar("Learner", bound="MetricLearner")


def learn_targets(learner: Learner, X: Any, targets: Targets) -> Learner:
    """Fit a learner to targets of the samples X (n, d), or of the preprocessor's samples X (n,), and return it.

    A start that is given is the start of the only step. A warm start is refined.
    """
    if is_blocked(X):
        raise ValueError(
            "fit_targets takes samples in memory, or a memory-mapped file: X is in blocks. Call to_npy of a table, or "
            "save the blocks as one .npy file, and load it by numpy.load(..., mmap_mode='r')."
        )
    X = samples_of_indices(X, learner.preprocessor)
    warm = learner.warm_start and hasattr(learner, "components_")
    automatic = isinstance(learner.init, str) and learner.init == "auto"
    return learner.fit_supervised(X, replace(targets, refines=warm, two_steps=automatic and not warm))
