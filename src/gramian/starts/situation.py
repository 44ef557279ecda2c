"""What is known when a minimisation starts."""

from __future__ import annotations

from typing import Any, NamedTuple

from gramian.execution import Execution, Serial
from gramian.features import Features
from gramian.objective import Problem
from gramian.types import Vector

__all__ = ["Situation"]


class Situation(NamedTuple):
    """What a start may use; parts that an estimator does not have are None.

    Attributes
    ----------
    features : Features
        The samples, in the solver's coordinates.
    execution : Execution
    unit : float
        The user's features were multiplied by this.
    problem : Problem
    labels : array, shape (n,)
        Class labels.
    kernel : gramian.starts.kernel_pca.DecomposedKernel
    dissimilarities : gramian.starts.classical_scaling.Dissimilarities
    """

    features: Features
    execution: Execution = Serial()
    unit: float = 1.0
    problem: Problem | None = None
    labels: Vector | None = None
    kernel: Any = None
    dissimilarities: Any = None
