"""Pairs of samples that are given: with squared distances, or as near and far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.checks import as_numbers, check_powers, checked_weight
from gramian.coordinates import largest, unit_of
from gramian.measurements import Pairs
from gramian.objective import Term
from gramian.supervision.checks import check_contradictions, checked_pairs, checked_signs, checked_target
from gramian.supervision.supervision import Scene, Supervision
from gramian.types import Matrix, Vector

__all__ = ["Bounds", "GivenPairs", "PairTargets", "pair_term"]

#: Of the squared distances under the start: near pairs should be at most at the first, far ones at least at the second.
PERCENTILES = (5, 95)


class Bounds(NamedTuple):
    """Squared distances that near pairs should have at most, and far pairs at least."""

    near: float
    far: float

    def times(self, unit: float) -> Bounds:
        """Return the bounds in another unit."""
        return Bounds(unit * self.near, unit * self.far)


class PairTargets(NamedTuple):
    """Squared distances (m,) that pairs should have, with their senses (m,): -1 at most, 0 equal, +1 at least."""

    target: Vector
    sense: Vector


class GivenPairs(Supervision):
    """Pairs with squared distances and senses, or with signs.

    Parameters
    ----------
    pairs : array of int, shape (m, 2)
    target : array, shape (m,), or float
        Squared distances.
    sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
    y : array of +1 and -1, shape (m,)
        In place of target and sense: near and far pairs, with bounds from the distances under the start.
    sample_weight : array, shape (m,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.supervision import GivenPairs, Scene
    >>> X = Array(np.array([[0.0], [1.0], [5.0]]))
    >>> scene = Scene(X, np.random.default_rng(0))
    >>> supervision = GivenPairs([[0, 1], [0, 2]], y=[1, -1])
    >>> supervision.check(3)
    >>> start = supervision.begin(scene, np.eye(1))
    >>> supervision.bounds.near < supervision.bounds.far
    True
    >>> len(supervision.terms(scene, start))
    1
    """

    def __init__(
        self, pairs: Any, target: Any = None, sense: Any = None, y: Any = None, sample_weight: Any = None
    ) -> None:
        self.pairs, self.target, self.sense, self.y, self.sample_weight = pairs, target, sense, y, sample_weight
        self.bounds: Bounds | None = None
        self.targets: PairTargets | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless the pairs are of so many samples."""
        self.pairs = checked_pairs(self.pairs, n_samples)
        self.weight = checked_weight(self.sample_weight, len(self.pairs), np.dtype(np.float64))

    def begin(self, scene: Scene, start: Matrix, *, resume: bool = False) -> Matrix:
        """Fix targets and senses, in a unit near 1; signs take them from the distances under the start."""
        if self.y is not None:
            check_powers("X", start, 2)
        size = largest(start) ** 2 if self.y is not None else largest(as_numbers("target", self.target))
        self.target_unit = unit_of(size, 2)
        start = in_target_unit(start, self.target_unit)
        squared = None if self.y is None else Pairs(self.pairs).predict(scene.image(start))
        one_kind = self.y is not None and len(np.unique(self.y)) < 2
        earlier = self.earlier if one_kind else None
        self.resolve_targets(squared, None if earlier is None else earlier.times(self.target_unit))
        return start

    def resolve_targets(self, squared: Any, bounds: Bounds | None = None) -> PairTargets:
        """Return targets and senses, in the targets' unit; bounds are given, or percentiles of squared distances."""
        target, sense = self.target, self.sense
        if self.y is not None:
            if target is not None or sense is not None:
                raise ValueError("y stands in place of target and sense. Give one or the other.")
            signs = checked_signs(self.y, len(self.pairs), both=bounds is None)
            self.bounds = percentile_bounds(squared) if bounds is None else bounds
            target, sense = np.where(signs > 0, *self.bounds), -signs
        values, senses = checked_target(target, sense, len(self.pairs))
        self.targets = PairTargets(values if self.y is not None else self.target_unit * values, senses)
        check_contradictions(self.pairs, *self.targets)
        return self.targets

    def terms(self, scene: Scene, factor: Matrix) -> list[Term]:
        """Return the mean over pairs of ½ (violation / typical target)²."""
        assert self.targets is not None
        return [pair_term(self.pairs, self.targets, self.weight, scene.features.dtype)]

    def default_penalty(self, rank: int, n_features: int) -> float:
        """Return d/m: few pairs hardly move the distance."""
        return n_features / len(self)

    def summary(self) -> dict[str, Any]:
        """Return the bounds, if signs asked for them."""
        if self.bounds is None:
            return {}
        return {"bounds_": self.bounds.times(1 / self.target_unit)}


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
