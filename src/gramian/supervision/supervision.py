"""What every kind of supervision does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from gramian.execution import Execution, Serial
from gramian.features import Features
from gramian.objective import Term
from gramian.types import Matrix

__all__ = ["Parts", "Scene", "Supervision"]


class Scene(NamedTuple):
    """Where a distance is learned: samples in the solver's coordinates, how they are worked on, and chance."""

    features: Features
    rng: np.random.Generator
    execution: Execution = Serial()

    def image(self, B: Matrix) -> Matrix:
        """Return X B, shape (N, k), through the execution; one pass."""
        n, count = self.features.shape[0], self.features.n_pieces
        edges = np.linspace(0, n, count + 1).astype(int).tolist()
        pieces = self.execution.place([self.features.take(slice(*cut)) for cut in pairwise(edges)])
        return np.concatenate(self.execution.run(image_rows, pieces, B=B)[1].parts)


class Parts(NamedTuple):
    """A total that is a list: the sum of two joins them."""

    parts: list[Any]


def image_rows(features: Features, *, B: Matrix) -> tuple[None, Parts]:
    """Join the images of some rows."""
    return None, Parts([features.image(B)])


class Supervision(ABC):
    """What is asked of a distance, for one fit.

    A fit calls `check` once, `begin` once with the first factor, and `terms` once a round.
    """

    #: True if the supervision has class labels of the samples, in `labels`.
    from_labels: ClassVar[bool] = False
    #: Iterations of a round at the most; None for no limit but max_iter.
    round_length: ClassVar[int | None] = None
    #: True if the penalty `shrinkage` on the trace of W applies.
    takes_shrinkage: ClassVar[bool] = False

    #: Class labels (n,), where there are any.
    labels: Any = None
    #: The bounds of the previous call of a stream, where there are any.
    earlier: Any = None
    #: How often constraints are found anew.
    n_rounds: int = 1
    #: The power of four that squared distances are multiplied by; `begin` may set it, and scales the start to it.
    target_unit: float = 1.0

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the supervision that class labels y give with the settings of a MetricLearner."""
        raise ValueError(f"{cls.__name__} is not made from class labels.")

    @abstractmethod
    def __len__(self) -> int:
        """Return how many samples or constraints are learned from."""

    @abstractmethod
    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless the supervision fits so many samples."""

    @abstractmethod
    def begin(self, scene: Scene, start: Matrix, *, resume: bool = False) -> Matrix:
        """Fix what depends on the first factor (d, r), and return that factor, rescaled where the kind needs it.

        With `resume` the factor is that of an earlier fit, and keeps its scale.
        """

    @abstractmethod
    def terms(self, scene: Scene, factor: Matrix) -> list[Term]:
        """Return the terms of the next round, found in the metric of the present factor (d, r)."""

    @abstractmethod
    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return the default of `regularisation`: the weight of the penalty on leaving the start."""

    def summary(self) -> dict[str, Any]:
        """Return what a fitted estimator keeps of the supervision, by attribute name."""
        return {}
