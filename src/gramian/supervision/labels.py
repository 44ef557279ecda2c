"""Class labels, turned into triplets or pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from gramian.checks import check_number
from gramian.objective import Term
from gramian.supervision.checks import validate_labels
from gramian.supervision.pairs import GivenPairs
from gramian.supervision.sampling import labelled_pairs, search_triplets
from gramian.supervision.supervision import Scene, Supervision
from gramian.supervision.triplets import bring_near_one, pull_term, rescale_to_margin, triplet_term
from gramian.types import Matrix, Vector

__all__ = ["LabelPairs", "LabelTriplets"]

#: From more samples than this, each round draws so many anchors of triplets.
ANCHORS = 10_000
#: The weight of the penalty on leaving the start, for many triplets on few features and classes.
PENALTY = 0.06
#: Pairs drawn for each ordered pair of classes, as in the paper.
PAIRS_PER_CLASSES = 40
#: The largest default number of pairs, whatever the numbers of classes and samples.
LARGEST_DEFAULT = 30_000


class LabelTriplets(Supervision):
    """Nearest targets of each sample's class against its nearest impostors, found anew in every round.

    Parameters
    ----------
    labels : array, shape (n,)
    n_targets, n_impostors, n_rounds : int
    pull : float
        The weight of the mean squared distance of targets.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import LabelTriplets, Scene
    >>> X = Array(np.array([[0.0], [1.0], [1.5], [9.0]]))
    >>> scene = Scene(X, np.random.default_rng(0))
    >>> supervision = LabelTriplets([0, 0, 1, 1], n_targets=1, n_impostors=1)
    >>> supervision.check(4)
    >>> factor = supervision.begin(scene, np.eye(1))
    >>> [type(term.measurement).__name__ for term in supervision.terms(scene, factor)]
    ['Triplets', 'Pairs']
    """

    from_labels = True
    round_length = 15
    takes_shrinkage = True

    def __init__(
        self, labels: Any, *, n_targets: int = 3, n_impostors: int = 10, n_rounds: int = 4, pull: float = 0.1
    ) -> None:
        self.labels, self.n_targets, self.n_impostors = labels, n_targets, n_impostors
        self.n_rounds, self.pull = n_rounds, pull
        self._found: Matrix | None = None

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the triplets of class labels y, with the settings of a MetricLearner."""
        settings = {name: getattr(learner, name) for name in ("n_targets", "n_impostors", "n_rounds", "pull")}
        return cls(y, **settings)

    def __len__(self) -> int:
        return len(self.labels)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless there are at least two classes, one of them with two samples."""
        self.labels = validate_labels(self.labels, n_samples)
        for name in ("n_targets", "n_impostors", "n_rounds"):
            check_number(name, getattr(self, name), least=1, integer=True)

    def begin(self, scene: Scene, start: Matrix, *, resume: bool = False) -> Matrix:
        """Return the start at a scale where the margin matters; its triplets are those of the first round."""
        start = start if resume else bring_near_one(start)
        self._found = self.search(scene, start)
        if resume:
            # The present metric is close already: targets need no pull.
            self.pull = 0.0
            return start
        return rescale_to_margin(scene, start, self._found)

    def search_all(self, Z: Matrix, scene: Scene) -> Matrix:
        """Return triplets (m, 3) of all samples as anchors, which are mapped to Z (n, k)."""
        return search_triplets(Z, self.labels, self.n_targets, self.n_impostors, None, scene.execution)

    def search(self, scene: Scene, factor: Matrix) -> Matrix:
        """Return triplets (m, 3) of near targets and near impostors in the metric of a factor.

        They are of all samples, or of many anchors drawn anew.
        """
        n = len(self.labels)
        anchors = None if n <= ANCHORS else np.sort(scene.rng.choice(n, ANCHORS, replace=False))
        return search_triplets(
            scene.image(factor), self.labels, self.n_targets, self.n_impostors, anchors, scene.execution
        )

    def terms(self, scene: Scene, factor: Matrix) -> list[Term]:
        """Return the mean over triplets of ½ max(0, margin - prediction)², and the pull of targets."""
        triplets = self.search(scene, factor) if self._found is None else self._found
        self._found = None
        n, dtype = len(self.labels), scene.features.dtype
        pull = [pull_term(triplets, n, self.pull, dtype)] if self.pull > 0 else []
        return [triplet_term(triplets, dtype), *pull]

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return 0.06 (1 + 3 r c/n) for n samples of c classes."""
        return PENALTY * (1 + 3 * rank * len(np.unique(self.labels)) / len(self))


def default_n_pairs(labels: Vector) -> int:
    """Return 40 c (c - 1) for c classes, at most the number of different pairs, and at most 30,000."""
    n, c = len(labels), len(np.unique(labels))
    return min(PAIRS_PER_CLASSES * c * (c - 1), n * (n - 1) // 2, LARGEST_DEFAULT)


class LabelPairs(Supervision):
    """Random pairs: of one class at most so far apart, of different classes at least so far.

    Parameters
    ----------
    labels : array, shape (n,)
    n_pairs : int or None
        By default 40 c (c - 1) for c classes, but at most n (n - 1)/2, the number of different pairs of n samples, and
        at most 30,000. Given numbers are used as they are.
    balanced : bool
        Half of one class and half of different ones, instead of uniformly over all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.supervision import LabelPairs
    >>> supervision = LabelPairs([0, 0, 1, 1], n_pairs=6)
    >>> supervision.check(4)
    >>> supervision.draw(np.random.default_rng(0)).pairs.shape
    (6, 2)
    """

    from_labels = True

    def __init__(self, labels: Any, n_pairs: int | None = None, *, balanced: bool = False) -> None:
        self.labels, self.n_pairs, self.balanced = labels, n_pairs, balanced
        self.given: GivenPairs | None = None

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the pairs of class labels y, with the settings of a MetricLearner."""
        return cls(y, learner.n_constraints, balanced=learner.balanced)

    def __len__(self) -> int:
        return default_n_pairs(self.labels) if self.n_pairs is None else int(self.n_pairs)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless there are at least two classes, one of them with two samples."""
        self.labels = validate_labels(self.labels, n_samples)
        if self.n_pairs is not None:
            check_number("n_pairs", self.n_pairs, least=1, integer=True)

    def draw(self, rng: np.random.Generator) -> GivenPairs:
        """Return random pairs, with signs: +1 where they share a label, -1 where not."""
        pairs, same = labelled_pairs(self.labels, len(self), balanced=self.balanced, random_state=rng)
        if same.all() or not same.any():
            pairs, same = labelled_pairs(self.labels, len(self), balanced=True, random_state=rng)
        given = GivenPairs(pairs, y=np.where(same, 1, -1))
        given.check(len(self.labels))
        return given

    def begin(self, scene: Scene, start: Matrix, *, resume: bool = False) -> Matrix:
        """Draw the pairs, and take their bounds from the distances under the start."""
        self.given = self.draw(scene.rng)
        start = self.given.begin(scene, start, resume=resume)
        self.target_unit = self.given.target_unit
        return start

    def terms(self, scene: Scene, factor: Matrix) -> list[Term]:
        """Return the mean over pairs of ½ (violation / typical target)²."""
        assert self.given is not None
        return self.given.terms(scene, factor)

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return d/m: few pairs hardly move the distance."""
        return n_features / len(self)

    def summary(self) -> dict[str, Any]:
        """Return the bounds, once pairs are drawn."""
        return {} if self.given is None else self.given.summary()
