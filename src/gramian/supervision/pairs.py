"""Pairs of samples that are given: with squared distances, or as near and far."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from gramian.checks import as_numbers, check_powers, validate_weight
from gramian.coordinates import unit_of
from gramian.extremes import largest
from gramian.images import pair_distances
from gramian.measurements import Pairs
from gramian.objective import Term
from gramian.situation import SignedPairs, Situation
from gramian.supervision.checks import (
    PairTargets,
    check_contradictions,
    have_one_sign,
    validate_pairs,
    validate_signs,
    validate_target,
)
from gramian.supervision.supervision import Begun, Plan, Supervision
from gramian.types import Matrix, Vector

__all__ = ["Bounds", "GivenPairs", "PairTargets", "pair_term", "read_bounds"]

#: Of the squared distances under the start: near pairs should be at most at the first, far ones at least at the second.
PERCENTILES = (5, 95)
#: Default penalties of m signs on d features, in units of (d/m)²; and the largest of the second.
SIGN_PENALTY, SIGN_SHRINKAGE, LARGEST_SHRINKAGE = 0.15, 1.5, 0.1
#: With fewer signs than this for each feature, a start by principal directions learns what is loud, not what is asked.
FEW_SIGNS = 8


class Bounds(NamedTuple):
    """Squared distances that near pairs should have at most, and far pairs at least."""

    near: float
    far: float

    def times(self, unit: float) -> Bounds:
        """Return the bounds in another unit."""
        return Bounds(unit * self.near, unit * self.far)


@dataclass(frozen=True, eq=False)
class GivenPairs(Supervision):
    """Pairs with squared distances and senses, or with signs.

    Parameters
    ----------
    pairs : array of int, shape (m, 2)
    target : array, shape (m,), or float
        Squared distances.
    sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
    y : array of +1 and -1, shape (m,)
        In place of target and sense: near and far pairs, with bounds from the distances under the start. In a stream,
        they are those of an earlier call.
    sample_weight : array, shape (m,), optional
        Weights of the pairs; those of weight 0 are left out.
    earlier : Bounds, optional
        The bounds of an earlier call, for signs: those of one kind are then enough. A warm start with both kinds has
        their scale only.
    one_kind : bool
        True if signs of one kind are enough even without earlier bounds.
    bounds : Bounds, optional
        Squared distances for signs, in place of percentiles and of earlier bounds.
    targets, target_unit
        What `resolve_targets` and `begin` make of these, and the unit of the targets, in which bounds then are.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import GivenPairs, Situation
    >>> situation = Situation(Array(np.array([[0.0], [1.0], [5.0]])), np.random.default_rng(0))
    >>> supervision, start = GivenPairs([[0, 1], [0, 2]], y=[1, -1]).validate(3).begin(situation, np.eye(1))
    >>> supervision.bounds.near < supervision.bounds.far
    True
    >>> len(supervision.terms(situation, start))
    1
    """

    pairs: Any
    target: Any = None
    sense: Any = None
    y: Any = None
    sample_weight: Any = None
    _: KW_ONLY
    earlier: Bounds | None = None
    one_kind: bool = False
    bounds: Bounds | None = None
    targets: PairTargets | None = None
    target_unit: float = 1.0

    def __len__(self) -> int:
        return len(self.pairs)

    def validate(self, n_samples: int) -> Self:
        """Return the same with arrays in place of lists and single numbers.

        Raises a ValueError unless the pairs are of n_samples samples, and what is asked of them can be.
        """
        pairs = validate_pairs(self.pairs, n_samples)
        weight = validate_weight(self.sample_weight, len(pairs), np.dtype(np.float64), "pair")
        used = slice(None) if weight.all() else weight > 0
        valid = replace(self, pairs=pairs[used], sample_weight=weight[used])
        if self.y is None:
            if self.bounds is not None:
                raise ValueError(
                    "bounds are given without y: they are for pairs with signs. Give y, or target and sense."
                )
            target, sense = validate_target(self.target, self.sense, len(pairs))
            valid = replace(valid, target=target[used], sense=sense[used])
            check_contradictions(valid.pairs, valid.target, valid.sense)
            return valid
        if self.target is not None or self.sense is not None:
            raise ValueError("y stands in place of target and sense. Give one or the other.")
        both = self.earlier is None and self.bounds is None and not self.one_kind
        signs = validate_signs(self.y, len(pairs), both=False)
        if both and have_one_sign(signs):
            raise ValueError(
                f"y is {signs[0]:+g} for every pair. Give pairs of both kinds, or bounds=, squared distances for both."
            )
        signs = signs[used]
        if both and have_one_sign(signs):
            raise ValueError("y has one sign only where sample_weight is above 0. Weigh near and far pairs.")
        return replace(valid, y=signs)

    @property
    def has_signs(self) -> bool:  # type: ignore[override]
        """True if the pairs are near and far, by y."""
        return self.y is not None

    @property
    def signed(self) -> SignedPairs | None:
        """The pairs with their signs, if there are near and far ones."""
        if self.y is None or have_one_sign(self.y):
            return None
        return SignedPairs(self.pairs, self.y, self.sample_weight)

    def plans(self, rank: int, n_features: int) -> list[Plan]:
        """Return one plan; few signs begin with the directions in which far pairs differ more than near ones."""
        few = rank < n_features and len(self) < FEW_SIGNS * n_features and self.signed is not None
        return [Plan(type(self).__name__, (self,), "pairs" if few else "auto")]

    def begin(self, situation: Situation, start: Matrix, *, resume: bool = False) -> Begun:
        """Return the pairs with targets and senses in a unit near 1.

        Those of signs are from bounds, given or earlier, or else from the distances under the start.
        """
        if self.y is None:
            unit = unit_of(largest(self.target), 2)
            return Begun(replace(self, target_unit=unit).resolve_targets(), in_target_unit(start, unit))
        check_powers("X", start, 2)
        unit = unit_of(largest(start) ** 2 if self.bounds is None else self.bounds.far, 2)
        start = in_target_unit(start, unit)
        bounds, start = self.find_bounds(situation, start, unit, resume=resume)
        return Begun(replace(self, target_unit=unit).resolve_targets(bounds), start)

    def find_bounds(self, situation: Situation, start: Matrix, unit: float, *, resume: bool) -> tuple[Bounds, Matrix]:
        """Return the bounds of signs in a unit, and the start (d, r), which is given in this unit, at their scale.

        A stream keeps the bounds of earlier calls, and so do signs of one kind. Else bounds are percentiles under the
        start, at the scale of those of an earlier call. Percentiles under a distance that was learned are farther apart
        than the bounds that it was learned from: without a scale, W would grow in each warm fit.
        """
        earlier = self.earlier
        positive = earlier is not None and earlier.far > 0
        kept = earlier if have_one_sign(self.y) or (resume and positive) else None
        known = self.bounds if self.bounds is not None else kept
        if known is not None:
            return known.times(unit), start
        bounds = percentile_bounds(pair_distances(situation.features, start, self.pairs, situation.execution))
        if earlier is None or not positive or not bounds.far:
            return bounds, start
        change = unit * earlier.far / bounds.far
        return bounds.times(change), in_target_unit(start, change)

    def with_earlier(self, bounds: Bounds | None) -> Self:
        """Return the same, with these bounds of an earlier call; itself if they are None."""
        return self if bounds is None else replace(self, earlier=bounds)

    def resolve_targets(self, bounds: Bounds | None = None) -> Self:
        """Return the pairs with targets and senses, those of signs from bounds, all in the targets' unit."""
        if self.y is None:
            return replace(self, targets=PairTargets(self.target_unit * self.target, self.sense))
        assert bounds is not None
        targets = PairTargets(np.where(self.y > 0, *bounds), -self.y)
        check_contradictions(self.pairs, *targets, signs=True)
        return replace(self, bounds=bounds, targets=targets)

    def terms(self, situation: Situation, factor: Matrix, index: int = 0) -> list[Term]:
        """Return the mean over pairs of ½ (violation / typical target)²."""
        assert self.targets is not None
        return [pair_term(self.pairs, self.targets, self.sample_weight, situation.features.dtype)]

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return d/m: few pairs hardly move the distance; 0.15 (d/m)² for signs, if that is less."""
        ratio = n_features / len(self)
        return ratio if self.y is None else min(ratio, SIGN_PENALTY * ratio**2)

    def default_shrinkage(self, situation: Situation, start: Matrix) -> float:
        """Return 1.5 (d/m)², but at most 0.1, for signs; else 0."""
        return 0.0 if self.y is None else min(SIGN_SHRINKAGE * (len(start) / len(self)) ** 2, LARGEST_SHRINKAGE)

    def summary(self) -> dict[str, Any]:
        """Return the bounds, if pairs have signs."""
        if self.bounds is None:
            return {}
        return {"bounds_": self.bounds.times(1 / self.target_unit)}


def read_bounds(bounds: Any) -> Bounds | None:
    """Return bounds from two numbers 0 <= near <= far, with far positive; None stands for none.

    Raises a ValueError for others.
    """
    if bounds is None:
        return None
    values = as_numbers("bounds", bounds)
    if values.shape != (2,) or not np.isfinite(values).all() or not 0 <= values[0] <= values[1] or values[1] == 0:
        raise ValueError(
            f"bounds={bounds!r} is not valid. Give two squared distances: the first, for near pairs, is not negative "
            "and does not exceed the second, for far pairs."
        )
    return Bounds(float(values[0]), float(values[1]))


def in_target_unit(start: Matrix, unit: float) -> Matrix:
    """Return a start (d, r) in the unit of the targets; raise a ValueError if it leaves the range of its dtype."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = (start * np.float64(unit**0.5)).astype(start.dtype)
    if not np.isfinite(scaled).all() or not scaled.any():
        raise ValueError(
            f"beside the targets, the start is outside the range of {start.dtype} numbers. Scale target, so that it is "
            "near the squared distances of X, or give X as float64."
        )
    return scaled


def percentile_bounds(squared: Vector) -> Bounds:
    """Return the 5th and the 95th percentile of squared distances (m,)."""
    near, far = np.percentile(squared, PERCENTILES)
    return Bounds(float(near), float(far))


def pair_term(pairs: Matrix, targets: PairTargets, weight: Vector, dtype: np.dtype) -> Term:
    """Return the weighted mean of ½ (violation / typical target)² over pairs; targets are squared distances."""
    typical = float(np.mean(targets.target.astype(np.float64) ** 2))
    weight = weight / (weight.sum() * (typical if typical > 0 else 1.0))
    return Term(Pairs(pairs), targets.target.astype(dtype), sense=targets.sense, weight=weight.astype(dtype))
