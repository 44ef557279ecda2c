"""What every kind of supervision does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from gramian.objective.terms import Summand
from gramian.situation import SignedPairs, Situation
from gramian.types import Matrix, Vector

__all__ = ["Begun", "Plan", "Supervision"]


class Begun(NamedTuple):
    """A supervision with what depends on the start fixed, and the start (d, r), rescaled where the kind needs it.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import GivenTriplets, Situation
    >>> situation = Situation(Array(np.array([[0.0], [1.0], [2.0]])), np.random.default_rng(0))
    >>> begun = GivenTriplets([[0, 1, 2]]).validate(3).begin(situation, np.eye(1))
    >>> len(begun.supervision), begun.start.shape
    (1, (1, 1))
    """

    supervision: Supervision
    start: Matrix


class Plan(NamedTuple):
    """How a distance is learned: by which supervision, one stage after the other, and from which start.

    Attributes
    ----------
    name : str
    stages : tuple of Supervision
        Each stage starts from the result of the one before.
    start : str
        The start of the first stage, as MetricLearner's `init`; used if `init` is "auto".
    rank : int or None
        The rank that is learned first; None for that of the fit.
    parts : tuple of Plan
        Plans whose distances are averaged. `stages` then only continue an earlier fit that has no `choice_`.

    Examples
    --------
    >>> from gramian.supervision import GivenTriplets, Plan
    >>> Plan("triplets", (GivenTriplets([[0, 1, 2]]),)).start
    'auto'
    """

    name: str
    stages: tuple[Supervision, ...]
    start: str = "auto"
    rank: int | None = None
    parts: tuple[Plan, ...] = ()

    @property
    def uses_loss(self) -> bool:
        """True if every stage is a mean of losses, so that the learner's loss takes effect."""
        return all(stage.uses_loss for part in self.parts or (self,) for stage in part.stages)

    @property
    def idle(self) -> bool:
        """True if nothing is learned: the start is the result."""
        return self.stages[-1].round_length == 0

    def last_stage(self) -> Plan:
        """Return the plan of the last stage alone, without parts: that of a fit which goes on from an earlier one."""
        return self._replace(stages=self.stages[-1:], parts=())


class Supervision(ABC):
    """What is required of a distance. Subclasses are frozen dataclasses: a fit makes new ones and changes none.

    A fit calls `validate` once, before anything else; `begin` once, with the first factor; and `terms` once per round.

    Examples
    --------
    >>> from gramian.supervision import SUPERVISIONS, Supervision
    >>> all(issubclass(kind, Supervision) for kind in SUPERVISIONS.values())
    True
    """

    #: True if the supervision has class labels of the samples, in `labels`.
    from_labels: ClassVar[bool] = False
    #: True if the terms are losses of predictions, so that MetricLearner's `loss` can replace theirs.
    uses_loss: ClassVar[bool] = True
    #: Iterations of a round at the most; None for no limit but max_iter.
    round_length: ClassVar[int | None] = None

    #: The solver that suits the terms, by name; used if that of MetricLearner is "auto".
    solver: ClassVar[str] = "cg"

    #: The parameter of MetricLearner that sets `n_rounds`; "" if none does.
    rounds_parameter: ClassVar[str] = ""

    #: True if pairs are given as near and far, by signs: a threshold can then be calibrated on them.
    has_signs: bool = False

    #: Class labels (n,), where there are any.
    labels: Any = None

    #: Weights (n,) of labelled samples; None for equal ones. A kind that takes weights has a field of this name.
    sample_weight: Any = None
    #: How often constraints are found anew.
    n_rounds: int = 1
    #: The power of four that squared distances are multiplied by; `begin` may set it, and scales the start to it.
    target_unit: float = 1.0

    @property
    def signed(self) -> SignedPairs | None:
        """Pairs of near and far samples, where there are any."""
        return None

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the supervision that class labels y give with the settings of a MetricLearner."""
        raise ValueError(f"{cls.__name__} is not made from class labels.")

    @abstractmethod
    def __len__(self) -> int:
        """Return how many samples or constraints are learned from."""

    @abstractmethod
    def validate(self, n_samples: int) -> Self:
        """Return the supervision with validated arrays; raise a ValueError unless it fits n_samples."""

    @abstractmethod
    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the supervision with what depends on the first factor (d, r) fixed, and that factor.

        The factor is rescaled where the kind needs it. With `resume` it is that of an earlier fit, and keeps its scale.
        """

    def with_earlier(self, bounds: Any) -> Self:
        """Return the supervision of a fit that goes on from an earlier one, with its `bounds_`; itself by default.

        Those are squared distances of near and of far pairs, or None.
        """
        return self

    def brief(self) -> Supervision:
        """Return a supervision that takes less time, for trials; itself by default."""
        return self

    def subset(self, index: int) -> Vector | None:
        """Return the indices of the samples that a round uses, ascending; None, the default, stands for all."""
        return None

    @abstractmethod
    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> Sequence[Summand]:
        """Return the terms of a round, found in the metric of the present factor (d, r); the first has index 0.

        Indices of samples are positions in the subset of the round, where it has one.
        """

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return the default of `regularisation`: the weight of the penalty on leaving the start; 0 by default."""
        return 0.0

    def default_shrinkage(self, situation: Situation, start: Matrix) -> float:
        """Return the default of `shrinkage`: the weight of the penalty tr(W)/tr(W₀), for the start (d, r)."""
        return 0.0

    def plans(self, rank: int, n_features: int) -> list[Plan]:
        """Return the plans of a fit of this rank; of several, the fit takes the best on held-out samples."""
        return [Plan(type(self).__name__, (self,))]

    def summary(self) -> dict[str, Any]:
        """Return what a fitted estimator keeps of the supervision, by attribute name."""
        return {}
