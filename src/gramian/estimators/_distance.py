"""The methods of learned distances: transform, distances of pairs, and their classification by a threshold."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gramian.checks import check_kind
from gramian.estimators._available import available_if
from gramian.estimators._checks import validate_input
from gramian.measurements import Pairs
from gramian.measurements.measurement import check_indices
from gramian.supervision import GivenPairs
from gramian.supervision.checks import validate_signs
from gramian.types import Matrix, Vector

__all__ = ["LearnedDistance", "best_threshold", "calibrate_on_pairs"]

#: The squares of numbers up to 2 to this power, and their sums, are finite in float32.
LARGEST_EXPONENT = 40


def has_threshold(learner: Any) -> bool:
    """Return True if a threshold is set; else raise an AttributeError, as `available_if` expects."""
    if hasattr(learner, "threshold_"):
        return True
    raise AttributeError("no threshold is set. Call calibrate_threshold or set_threshold, or fit_pairs with y.")


class LearnedDistance(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin for estimators with `components_` (r, d): the distance of u and v is ‖components_ (u - v)‖."""

    components_: Matrix
    threshold_: float

    def transform(self, X: Any) -> Matrix:
        """Return X @ components_.T, shape (n, r): its Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        """
        return self._map_to_array(X)

    def _map_to_array(self, X: Any) -> Matrix:
        """Return the mapped samples as an array (n, r), also if `set_output` selects another container."""
        check_is_fitted(self)
        X = validate_input(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return X @ self.components_.T.astype(X.dtype, copy=False)

    def pair_distance(self, pairs: Any, X: Any = None) -> Vector:
        """Return the learned distances of pairs, not squared, shape (m,).

        Parameters
        ----------
        pairs : array, shape (m, 2, d), or array of int, shape (m, 2)
            Pairs of points; with X, row indices of X.
        X : array or sparse matrix, shape (n, d), optional
        """
        check_is_fitted(self)
        if X is None:
            check_kind("pairs", pairs)
            points = check_array(pairs, allow_nd=True, dtype=[np.float64, np.float32], input_name="pairs")
            expected = (len(points), 2, self.components_.shape[1])
            if points.shape != expected:
                raise ValueError(f"pairs has shape {points.shape}; expected {expected}, or index pairs with X.")
            return row_lengths((points[:, 0] - points[:, 1]) @ self.components_.T)
        Z = self._map_to_array(X)
        index = check_indices(pairs, "pairs", 2, len(Z))
        return pair_lengths(Z, Pairs(index))

    def pair_score(self, pairs: Any, X: Any = None) -> Vector:
        """Return minus the learned distances of pairs, shape (m,): a similarity score.

        Parameters
        ----------
        pairs, X
            Pairs of points (m, 2, d); or pairs (m, 2) of row indices of X.
        """
        return -self.pair_distance(pairs, X)

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function (u, v, squared=False); it does not refer to this estimator."""
        check_is_fitted(self)
        return Metric(self.components_.copy())

    def get_mahalanobis_matrix(self) -> Matrix:
        """Return W = components_ᵀ components_, shape (d, d)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def set_threshold(self, threshold: float) -> Self:
        """Set the threshold: `predict` classifies pairs at this distance or less as similar.

        Parameters
        ----------
        threshold : float
            A distance, not squared. Infinity makes all pairs similar, a negative number makes none similar.
        """
        check_is_fitted(self)
        if not isinstance(threshold, Real) or isinstance(threshold, bool) or np.isnan(threshold):
            raise ValueError(f"threshold={threshold!r} is not valid. Choose a number, a distance that is not squared.")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(self, pairs: Any, y: Any, X: Any = None, strategy: str = "accuracy") -> Self:
        """Set the threshold that best separates similar pairs (y = +1) from dissimilar pairs (y = -1).

        No other threshold has a higher accuracy on these pairs. It is negative if all pairs, some of them at distance
        0, are best classified as dissimilar.

        Parameters
        ----------
        pairs, X
            Pairs of points (m, 2, d); or pairs (m, 2) of row indices of X.
        y : array of +1 and -1, shape (m,)
        strategy : {"accuracy", "balanced"}
            "accuracy" weights all pairs equally; "balanced" gives both classes the same total weight.
        """
        if np.shape(pairs)[:1] == (0,):
            raise ValueError("pairs is empty; at least one pair of each kind is needed.")
        distance = self.pair_distance(pairs, X)
        y = validate_signs(y, len(distance))
        if strategy not in ("accuracy", "balanced"):
            raise ValueError(f"strategy={strategy!r} is unknown. Choose 'accuracy' or 'balanced'.")
        finite = np.isfinite(distance)
        if not finite.all():
            raise ValueError(f"the distance of pairs[{np.argmin(finite)}] is not finite: it overflows. Scale the data.")
        return self.set_threshold(best_threshold(distance, y, strategy))

    @available_if(has_threshold)
    def decision_function(self, pairs: Any, X: Any = None) -> Vector:
        """Return the threshold minus the learned distance, shape (m,); not negative where `predict` returns +1.

        Parameters
        ----------
        pairs, X
            Pairs of points (m, 2, d); or pairs (m, 2) of row indices of X.
        """
        return self.threshold_ - self.pair_distance(pairs, X)

    @available_if(has_threshold)
    def predict(self, pairs: Any, X: Any = None) -> Vector:
        """Return +1 for pairs at distance `threshold_` or less, -1 for the others, shape (m,).

        Parameters
        ----------
        pairs, X
            Pairs of points (m, 2, d); or pairs (m, 2) of row indices of X.
        """
        return np.where(self.pair_distance(pairs, X) <= self.threshold_, 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def row_lengths(Z: Matrix) -> Vector:
    """Return the Euclidean lengths of the rows of Z, shape (m,)."""
    exponent = overflow_exponent(Z)
    return np.ldexp(np.linalg.norm(np.ldexp(Z, -exponent) if exponent else Z, axis=1), exponent)


def pair_lengths(Z: Matrix, pairs: Pairs) -> Vector:
    """Return the Euclidean distances of pairs of rows of Z, shape (m,)."""
    exponent = overflow_exponent(Z)
    return np.ldexp(np.sqrt(pairs.predict(np.ldexp(Z, -exponent) if exponent else Z)), exponent)


def overflow_exponent(Z: Matrix) -> int:
    """Return the power of two by which Z must be divided so that squares keep the range of the type; mostly 0."""
    exponent = int(np.frexp(np.abs(Z).max(initial=0))[1])
    return 0 if abs(exponent) < LARGEST_EXPONENT else exponent


def best_threshold(distance: Vector, y: Vector, strategy: str) -> float:
    """Return the threshold of the highest accuracy on distances (m,) with signs (m,); the lowest of several.

    It lies halfway between two distances, or beyond all of them. Counts are integers, so that ties are exact.
    """
    values, rank = np.unique(distance, return_inverse=True)
    near, far = (np.bincount(rank[y == sign], minlength=len(values)) for sign in (1, -1))
    weights = (1, 1) if strategy == "accuracy" else (int(far.sum()), int(near.sum()))
    # What is gained, over calling no pair similar, by calling the pairs at the k smallest values similar.
    gain = np.cumsum(np.concatenate([[0], weights[0] * near - weights[1] * far]))
    return threshold_after(values, int(np.argmax(gain)))


def threshold_after(values: Vector, k: int) -> float:
    """Return a number between the k-th and the next of different sorted distances, in their own precision.

    It is at least the former, and below the latter.
    """
    half = values.dtype.type(0.5)
    if k == 0:
        below = half * values[0]
        # Half of the smallest positive numbers is rounded up, or to 0.
        return float(below) if below < values[0] else float(-half * values[-1]) or -1.0
    last = values[k - 1]
    if k == len(values):
        return float(last + half * last) if last < half * np.finfo(values.dtype).max else float(last)
    middle = last + half * (values[k] - last)
    return float(middle if middle < values[k] else last)


def calibrate_on_pairs(learner: Any, X: Any, given: GivenPairs, before: float | None) -> None:
    """Set the threshold that best separates similar from dissimilar pairs of rows of X.

    If all pairs are of one kind, the previous threshold is kept; None stands for no threshold.
    """
    if len(np.unique(given.y)) > 1:
        learner.calibrate_threshold(given.pairs, given.y, X)
    elif before is not None:
        learner.set_threshold(before)


class Metric:
    """A learned distance: a function of two vectors that can be pickled."""

    def __init__(self, components: Matrix) -> None:
        self.components = components

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """Return the distance of u and v, or its square."""
        z = self.components @ (np.asarray(u, dtype=float) - np.asarray(v, dtype=float))
        return float(z @ z) if squared else float(np.sqrt(z @ z))
