"""Class labels, turned into triplets or pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from gramian.checks import check_number
from gramian.images import squared_distances
from gramian.objective import Margins, Term
from gramian.situation import Situation
from gramian.supervision.checks import validate_anchor_weight, validate_labels
from gramian.supervision.pairs import Bounds, GivenPairs
from gramian.supervision.sampling import (
    Neighbours,
    labelled_pairs,
    search_neighbours,
    search_triplets,
    with_every_class,
)
from gramian.supervision.supervision import Begun, Supervision
from gramian.supervision.triplets import bring_near_one, margin_term, scale_to_distances
from gramian.types import Matrix, Vector

__all__ = ["LabelPairs", "LabelTriplets"]

#: With more samples than this, the last round draws this number of anchors at low rank. At full rank, where there is
#: more to learn, all of its samples are anchors.
ANCHORS = 20_000
#: Each round before it then draws this number of anchors at low rank, and has at least as many samples as anchors.
FEWER_ANCHORS = 10_000
#: The largest number of samples of the last round; and the parts of it that the rounds before it have, from the last to
#: the first, at low rank and at full rank. At low rank more samples in the first rounds do not lower the error, as the
#: last one begins where they end.
MOST_SAMPLES, PARTS, PARTS_AT_FULL_RANK = 60_000, (1, 3, 6), (1, 2, 4)
#: Iterations of a round; and of one that draws anchors, which soon makes place for the next.
ROUND_LENGTH, SHORT_ROUND = 15, 10
#: The weight of the penalty on leaving the start, for many triplets on few features and classes.
PENALTY = 0.06
#: The weight of the mean squared distance of targets.
PULL = 0.1
#: With more samples than this, the pull and the penalty on leaving the start are lighter, in proportion.
LIGHTER = 10_000
#: The weight of the penalty on the trace of W; that at full rank; and the least number of samples for each feature from
#: which the latter is used.
SHRINKAGE, LIGHT_SHRINKAGE, SAMPLES_PER_FEATURE = 0.1, 0.03, 2
#: Pairs drawn for each ordered pair of classes, as in the paper.
PAIRS_PER_CLASSES = 40
#: The largest default number of pairs, whatever the numbers of classes and samples.
LARGEST_DEFAULT = 30_000


@dataclass(frozen=True, eq=False)
class LabelTriplets(Supervision):
    """Nearest targets of each sample's class against its nearest impostors, found anew in every round.

    Of more than 20,000 samples the first rounds draw some, later rounds more; the last has 60,000 at the most.

    Parameters
    ----------
    labels : array, shape (n,)
    n_targets, n_impostors, n_rounds : int
    pull : float or "auto"
        The weight of the mean squared distance of targets; "auto" is 0.1, and 1000/n with more than 10,000 samples.
    sample_weight : array, shape (n,), optional
        Weights of the samples as anchors: each triplet has the weight of its anchor, and anchors of weight 0 have none.
    first : Neighbours, optional
        The neighbours of the first round; set by `begin`.
    seed : int
        The seed of the samples of the rounds, if there are many; set by `begin`.
    full_rank : bool
        True draws more samples and anchors in the first rounds, and has all samples of the last one as anchors; set by
        `begin`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import LabelTriplets, Situation
    >>> situation = Situation(Array(np.array([[0.0], [1.0], [1.5], [9.0]])), np.random.default_rng(0))
    >>> supervision = LabelTriplets([0, 0, 1, 1], n_targets=1, n_impostors=1).validate(4)
    >>> begun = supervision.begin(situation, np.eye(1))
    >>> [term.triplets.tolist() for term in begun.supervision.terms(situation, begun.start)]
    [[[0, 1, 2], [1, 0, 2], [2, 3, 1], [3, 2, 1]]]
    """

    from_labels = True
    rounds_parameter = "n_rounds"

    labels: Any
    _: KW_ONLY
    n_targets: int = 3
    n_impostors: int = 10
    n_rounds: int = 4
    pull: float | str = "auto"
    sample_weight: Any = None
    first: Neighbours | None = None
    seed: int = 0
    full_rank: bool = False

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the triplets of class labels y, with the settings of a MetricLearner."""
        settings = {name: getattr(learner, name) for name in ("n_targets", "n_impostors", "n_rounds", "pull")}
        return cls(y, **settings)

    def __len__(self) -> int:
        return len(self.labels)

    def validate(self, n_samples: int) -> Self:
        """Return the same with labels as an array.

        Raises a ValueError unless there are at least two classes, one of them with two samples.
        """
        labels = validate_labels(self.labels, n_samples)
        for name in ("n_targets", "n_impostors", "n_rounds"):
            check_number(name, getattr(self, name), least=1, integer=True)
        if not (isinstance(self.pull, str) and self.pull == "auto"):
            check_number("pull", self.pull, least=0, also=("auto",))
        return replace(self, labels=labels, sample_weight=validate_anchor_weight(self.sample_weight, labels))

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the triplets of the first round, and the start at a scale where the margin matters."""
        start = start if resume else bring_near_one(start)
        begun = replace(self, full_rank=start.shape[0] == start.shape[1])
        begun = begun if begun.subset(0) is None else replace(begun, seed=int(situation.rng.integers(2**31)))
        # A stream has one round for a batch.
        begun = replace(begun, n_rounds=1) if resume else begun
        seen = begun.samples_of_round(situation, 0)
        Z = seen.situation.image(start)
        first = seen.search(Z)
        begun = replace(begun, first=first)
        if resume:
            # The present metric is close already: targets need no pull.
            return Begun(replace(begun, pull=0.0), start)
        return Begun(begun, scale_to_distances(start, squared_distances(Z, first.far_pairs, situation.execution)))

    @property
    def round_length(self) -> int:  # type: ignore[override]
        """The largest number of iterations of a round."""
        return ROUND_LENGTH if len(self) <= ANCHORS else SHORT_ROUND

    def round_size(self, index: int) -> int:
        """Return the number of samples of a round: all, or at most 60,000, in the last, and fewer before it."""
        most = min(len(self), MOST_SAMPLES)
        parts = PARTS_AT_FULL_RANK if self.full_rank else PARTS
        part = parts[min(self.rounds_after(index), len(parts) - 1)]
        return most if len(self) <= ANCHORS else min(most, max(most // part, self.most_anchors(index)))

    def rounds_after(self, index: int) -> int:
        """Return the number of rounds after a round."""
        return max(self.n_rounds - 1 - index, 0)

    def most_anchors(self, index: int) -> int:
        """Return the largest number of anchors of a round."""
        if self.full_rank:
            return ANCHORS if self.rounds_after(index) else MOST_SAMPLES
        return FEWER_ANCHORS if len(self) > ANCHORS and self.rounds_after(index) else ANCHORS

    def subset(self, index: int) -> Vector | None:
        """Return the indices of the samples of a round, ascending; None for all."""
        n, size = len(self), self.round_size(index)
        if size >= n:
            return None
        rng = np.random.default_rng([self.seed, index])
        drawn = rng.choice(n, size, replace=False)
        if self.sample_weight is not None:
            able = np.flatnonzero(self.sample_weight)
            most = min(self.most_anchors(index), ANCHORS, len(able))
            drawn = np.union1d(drawn, rng.choice(able, most, replace=False))
        return with_every_class(drawn, self.labels, 2)

    def samples_of_round(self, situation: Situation, index: int) -> RoundSamples:
        """Return the samples of a round."""
        rows = self.subset(index)
        if rows is None:
            return RoundSamples(self, situation, self.most_anchors(index))
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        part = replace(self, labels=self.labels[rows], sample_weight=weight)
        situation = situation._replace(features=situation.features.take(rows), labels=part.labels)
        return RoundSamples(part, situation, self.most_anchors(index))

    def brief(self) -> Self:
        """Return the same with two rounds at the most."""
        return replace(self, n_rounds=min(self.n_rounds, 2))

    def search_all(self, Z: Matrix, situation: Situation) -> Matrix:
        """Return triplets (m, 3) of all samples as anchors, which are mapped to Z (n, k)."""
        return search_triplets(Z, self.labels, self.n_targets, self.n_impostors, None, situation.execution)

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Margins]:
        """Return the weighted mean over triplets of ½ max(0, margin - prediction)², with the pull of targets."""
        pull = PULL * self.lightness if isinstance(self.pull, str) else self.pull
        if index or self.first is None:
            seen = self.samples_of_round(situation, index)
            return [margin_term(seen.search(seen.situation.image(factor)), pull, seen.supervision.sample_weight)]
        # `begin` has searched: the samples need not be taken once more.
        rows, weight = self.subset(index), self.sample_weight
        return [margin_term(self.first, pull, weight if weight is None or rows is None else weight[rows])]

    @property
    def lightness(self) -> float:
        """A factor of penalties, below 1 with many samples: they say more than a penalty does."""
        return min(1.0, LIGHTER / len(self))

    def is_light(self, rank: int, n_features: int) -> bool:
        """Return True at full rank with enough samples: the penalties can then be light."""
        return rank == n_features and len(self) >= SAMPLES_PER_FEATURE * n_features

    def default_shrinkage(self, situation: Situation, start: Matrix) -> float:
        """Return 0.1: W stays small in directions of little variance.

        At full rank it is 0.03, and with n > 10,000 samples 3/√n.
        """
        return LIGHT_SHRINKAGE * self.lightness**0.5 if self.is_light(start.shape[1], len(start)) else SHRINKAGE

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return 0.06 (1 + 3 r c/n) for n samples of c classes, and 0 at full rank if n >= 2 d.

        With more than 10,000 samples it is 10,000/n times as much.
        """
        if self.is_light(rank, n_features):
            return 0.0
        return self.lightness * PENALTY * (1 + 3 * rank * len(np.unique(self.labels)) / len(self))


class RoundSamples(NamedTuple):
    """The triplets of the samples of a round, where these samples are, and the largest number of anchors.

    The image of these samples comes to the driver. They are drawn, so that there are few (60,000 and some anchors), and
    each thread or worker needs the whole image: it compares its anchors with all samples.
    """

    supervision: LabelTriplets
    situation: Situation
    most_anchors: int

    def search(self, Z: Matrix) -> Neighbours:
        """Return near targets and near impostors among the mapped samples Z (n, r) of the round.

        The anchors are all samples, or many that are drawn anew.
        """
        supervision, situation, most = self
        able = None if supervision.sample_weight is None else np.flatnonzero(supervision.sample_weight)
        n = len(supervision) if able is None else len(able)
        if n <= most:
            anchors = able
        else:
            anchors = np.sort(situation.rng.choice(n if able is None else able, most, replace=False))
        return search_neighbours(
            Z, supervision.labels, supervision.n_targets, supervision.n_impostors, anchors, situation.execution
        )


def default_n_pairs(labels: Vector) -> int:
    """Return 40 c (c - 1) for c classes, at most the number of different pairs, and at most 30,000."""
    n, c = len(labels), len(np.unique(labels))
    return min(PAIRS_PER_CLASSES * c * (c - 1), n * (n - 1) // 2, LARGEST_DEFAULT)


@dataclass(frozen=True, eq=False)
class LabelPairs(Supervision):
    """Random pairs: those of one class should be within a bound of each other, others beyond a second bound.

    Parameters
    ----------
    labels : array, shape (n,)
    n_pairs : int or None
        By default 40 c (c - 1) for c classes, but at most n (n - 1)/2, the number of different pairs of n samples, and
        at most 30,000. Given numbers are used as they are.
    balanced : bool
        Half of one class and half of different ones, instead of uniformly over all pairs.
    sample_weight : array, shape (n,), optional
        The weight of a pair is the product of those of its samples; samples of weight 0 are left out.
    bounds : Bounds, optional
        Squared distances that pairs of one class should have at most, and others at least; by default percentiles of
        the distances under the start.
    earlier : Bounds, optional
        The bounds of an earlier call, in place of percentiles in a stream. A warm start has their scale only.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.supervision import LabelPairs
    >>> supervision = LabelPairs([0, 0, 1, 1], n_pairs=6).validate(4)
    >>> supervision.draw(np.random.default_rng(0)).pairs.shape
    (6, 2)
    """

    from_labels = True

    labels: Any
    n_pairs: int | None = None
    _: KW_ONLY
    balanced: bool = False
    sample_weight: Any = None
    bounds: Bounds | None = None
    earlier: Bounds | None = None

    @classmethod
    def from_learner(cls, y: Any, learner: Any) -> Self:
        """Return the pairs of class labels y, with the settings of a MetricLearner."""
        return cls(y, learner.n_constraints, balanced=learner.balanced)

    def __len__(self) -> int:
        return default_n_pairs(np.asarray(self.labels)[self.used]) if self.n_pairs is None else int(self.n_pairs)

    @property
    def used(self) -> Any:
        """The rows of positive weight."""
        return slice(None) if self.sample_weight is None else np.flatnonzero(self.sample_weight)

    def validate(self, n_samples: int) -> Self:
        """Return the same with labels as an array.

        Raises a ValueError unless there are at least two classes, one of them with two samples.
        """
        labels = validate_labels(self.labels, n_samples)
        if self.n_pairs is not None:
            check_number("n_pairs", self.n_pairs, least=1, integer=True, also=(None,))
        valid = replace(self, labels=labels, sample_weight=validate_anchor_weight(self.sample_weight, labels))
        if len(np.unique(labels[valid.used])) < 2:
            raise ValueError("sample_weight is zero for all samples but those of one class. Weigh another class too.")
        return valid

    def draw(self, rng: np.random.Generator) -> GivenPairs:
        """Return random pairs, with signs: +1 where they share a label, -1 where not."""
        labels, weight = self.labels[self.used], self.sample_weight
        pairs, same = labelled_pairs(labels, len(self), balanced=self.balanced, random_state=rng)
        if same.all() or not same.any():
            pairs, same = labelled_pairs(labels, len(self), balanced=True, random_state=rng)
        if len(pairs) < 2 and self.bounds is None:
            raise ValueError("n_constraints=1 draws one pair, near or far. Choose 2 or more, or give bounds=.")
        if weight is not None:
            pairs = self.used[pairs]
            weight = weight[pairs].prod(axis=1)
        signs = np.where(same, 1, -1)
        given = GivenPairs(pairs, y=signs, sample_weight=weight, bounds=self.bounds, earlier=self.earlier)
        return given.validate(len(self.labels))

    def with_earlier(self, bounds: Bounds | None) -> Self:
        """Return the same, with these bounds of an earlier call; itself if they are None."""
        return self if bounds is None else replace(self, earlier=bounds)

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return random pairs, with bounds from the distances under the start or of earlier calls, as `GivenPairs`."""
        return self.draw(situation.rng).begin(situation, start, resume=resume)

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Term]:
        """Raise a TypeError: pairs that are drawn anew would have other bounds in every round."""
        raise TypeError("pairs have no bounds yet. Ask the supervision that begin returns for its terms.")
