"""The methods of learned distances: transform, distances of pairs, and their classification by a threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_array, check_is_fitted

from gramian.estimators._available import available_if
from gramian.estimators._checks import validate_input
from gramian.estimators._threshold import Calibration, best_threshold
from gramian.measurements import Pairs
from gramian.measurements.measurement import check_indices
from gramian.supervision import GivenPairs
from gramian.supervision.checks import read_signed_pairs, validate_points, validate_signs
from gramian.types import Matrix, Vector

__all__ = ["LearnedDistance", "calibrate_on_pairs"]

#: The squares of numbers up to 2 to this power, and their sums, are finite in float32.
LARGEST_EXPONENT = 40


def has_threshold(learner: Any) -> bool:
    """Return True if a threshold is set; else raise an AttributeError, as `available_if` expects.

    It is a NotFittedError if the learner is not fitted.
    """
    check_is_fitted(learner)
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

    def inverse_transform(self, Z: Any) -> Matrix:
        """Return the samples X of least norm that minimise ‖X @ components_.T - Z‖, shape (n, d).

        Parameters
        ----------
        Z : array, shape (n, r)
            Samples as `transform` returns them.
        """
        check_is_fitted(self)
        Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z")
        if Z.shape[1] != len(self.components_):
            raise ValueError(f"Z has {Z.shape[1]} columns; expected {len(self.components_)}, as transform returns.")
        return Z @ np.linalg.pinv(self.components_).T.astype(Z.dtype, copy=False)

    def pair_distance(self, X: Any, pairs: Any = None) -> Vector:
        """Return the learned distances of pairs, not squared, shape (m,).

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), without `pairs`
        pairs : array of int, shape (m, 2)
            Row indices of X.
        """
        check_is_fitted(self)
        if pairs is None:
            points = validate_points(X)
            if points.shape[2] != self.components_.shape[1]:
                raise ValueError(f"X has points of {points.shape[2]} features; expected {self.components_.shape[1]}.")
            return row_lengths((points[:, 0] - points[:, 1]) @ self.components_.T)
        Z = self._map_to_array(X)
        index = check_indices(pairs, "pairs", 2, len(Z))
        return pair_lengths(Z, Pairs(index))

    def pair_score(self, X: Any, pairs: Any = None) -> Vector:
        """Return minus the learned distances of pairs, shape (m,): a similarity score.

        Parameters
        ----------
        X, pairs
            Samples (n, d) and pairs (m, 2) of their row indices; or X alone, pairs of points (m, 2, d).
        """
        return -self.pair_distance(X, pairs)

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

    def calibrate_threshold(
        self,
        X: Any,
        pairs: Any = None,
        y: Any = None,
        *,
        strategy: str = "accuracy",
        beta: float = 1.0,
        min_rate: float | None = None,
    ) -> Self:
        """Set the threshold that best separates similar pairs (y = +1) from dissimilar pairs (y = -1).

        No other threshold is better on these pairs, by the strategy. It is negative if all pairs, some of them at
        distance 0, are best classified as dissimilar.

        Parameters
        ----------
        X, pairs
            Samples (n, d) and pairs (m, 2) of their row indices; or X alone, pairs of points (m, 2, d), then y.
        y : array of +1 and -1, shape (m,)
        strategy : {"accuracy", "balanced", "f_beta", "max_tpr", "max_tnr"}
            "accuracy" weights all pairs equally; "balanced" gives both classes the same total weight. "f_beta" is the
            highest F_beta, the weighted harmonic mean of precision and recall of similar pairs. "max_tpr" is the
            highest true positive rate among thresholds with a true negative rate of at least `min_rate`; "max_tnr" is
            the highest true negative rate among those with a true positive rate of at least `min_rate`.
        beta : float
            For "f_beta": the recall counts beta times as much as the precision.
        min_rate : float
            For "max_tpr" and "max_tnr", from 0 to 1.

        Returns
        -------
        self
        """
        calibration = Calibration(strategy, beta, min_rate)
        X, pairs, y = read_signed_pairs(X, pairs, y)
        if np.shape(X if pairs is None else pairs)[:1] == (0,):
            raise ValueError("pairs is empty; at least one pair of each kind is needed.")
        distance = self.pair_distance(X, pairs)
        y = validate_signs(y, len(distance))
        return self.set_threshold(best_threshold(check_finite_distances(distance), y, calibration))

    @available_if(has_threshold)
    def decision_function(self, X: Any, pairs: Any = None) -> Vector:
        """Return the threshold minus the learned distance, shape (m,); not negative where `predict` returns +1.

        Parameters
        ----------
        X, pairs
            Samples (n, d) and pairs (m, 2) of their row indices; or X alone, pairs of points (m, 2, d).
        """
        return self.threshold_ - self.pair_distance(X, pairs)

    @available_if(has_threshold)
    def predict(self, X: Any, pairs: Any = None) -> Vector:
        """Return +1 for pairs at distance `threshold_` or less, -1 for the others, shape (m,).

        Parameters
        ----------
        X, pairs
            Samples (n, d) and pairs (m, 2) of their row indices; or X alone, pairs of points (m, 2, d).
        """
        return np.where(self.pair_distance(X, pairs) <= self.threshold_, 1, -1)

    @available_if(has_threshold)
    def score(self, X: Any, pairs: Any = None, y: Any = None) -> float:
        """Return the area under the ROC curve of `pair_score`: 1 if all similar pairs are nearer than dissimilar ones.

        The threshold does not change it.

        Parameters
        ----------
        X, pairs
            Samples (n, d) and pairs (m, 2) of their row indices; or X alone, pairs of points (m, 2, d), then y.
        y : array of +1 and -1, shape (m,)
            Both kinds must occur.
        """
        X, pairs, y = read_signed_pairs(X, pairs, y)
        distance = check_finite_distances(self.pair_distance(X, pairs))
        return float(roc_auc_score(validate_signs(y, len(distance)), -distance))

    @property
    def spectrum_(self) -> Vector:
        """The eigenvalues of W = components_ᵀ components_, descending, shape (r,); its d - r others are 0."""
        check_is_fitted(self)
        return np.linalg.svd(self.components_, compute_uv=False) ** 2

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


def check_finite_distances(distance: Vector) -> Vector:
    """Return distances (m,); raise a ValueError that names the first that overflows."""
    finite = np.isfinite(distance)
    if not finite.all():
        raise ValueError(f"the distance of pairs[{np.argmin(finite)}] is not finite: it overflows. Scale the data.")
    return distance


def calibrate_on_pairs(
    learner: Any, X: Any, given: GivenPairs, calibration: Calibration, before: float | None = None
) -> None:
    """Set the threshold that best separates similar from dissimilar pairs of rows of X.

    If all pairs are of one kind, the previous threshold is kept; None stands for no threshold.
    """
    if len(np.unique(given.y)) > 1:
        learner.calibrate_threshold(X, given.pairs, given.y, **asdict(calibration))
    elif before is not None:
        learner.set_threshold(before)


class Metric:
    """A learned distance: a function of two vectors that can be pickled."""

    def __init__(self, components: Matrix) -> None:
        self.components = components

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """Return the distance of u and v, or its square; both of shape (d,) or (1, d), the latter also sparse."""
        z = self.components @ (self.read_vector("u", u) - self.read_vector("v", v))
        return float(z @ z) if squared else float(np.sqrt(z @ z))

    def read_vector(self, name: str, vector: Any) -> Vector:
        """Return a vector (d,); raise a ValueError that names it if it has another shape than (d,) or (1, d)."""
        array = np.asarray(vector.toarray() if issparse(vector) else vector, dtype=float)
        d = self.components.shape[1]
        if array.shape not in ((d,), (1, d)):
            raise ValueError(f"{name} has shape {array.shape}; expected ({d},) or (1, {d}).")
        return array.reshape(d)
