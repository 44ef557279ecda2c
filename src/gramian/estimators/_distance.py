"""The methods of learned distances: transform, distances of pairs, and their classification by a threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import roc_curve
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from gramian.measurements.measurement import check_indices
from gramian.supervision.checks import checked_signs
from gramian.types import Matrix, Vector

__all__ = ["LearnedDistance"]


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
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
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
            points = check_array(pairs, allow_nd=True, dtype=[np.float64, np.float32], input_name="pairs")
            expected = (len(points), 2, self.components_.shape[1])
            if points.shape != expected:
                raise ValueError(f"pairs has shape {points.shape}; expected {expected}, or index pairs with X.")
            return row_norms((points[:, 0] - points[:, 1]) @ self.components_.T)
        Z = self._map_to_array(X)
        index = check_indices(pairs, "pairs", 2, len(Z))
        return row_norms(Z[index[:, 0]] - Z[index[:, 1]])

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
        """Set the threshold: `predict` classifies pairs at this distance or less as similar."""
        check_is_fitted(self)
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(self, pairs: Any, y: Any, X: Any = None, strategy: str = "accuracy") -> Self:
        """Set the threshold that best separates similar pairs (y = +1) from dissimilar pairs (y = -1).

        Parameters
        ----------
        pairs, X
            Pairs of points (m, 2, d); or pairs (m, 2) of row indices of X.
        y : array of +1 and -1, shape (m,)
        strategy : {"accuracy", "balanced"}
            "accuracy" weights all pairs equally; "balanced" gives both classes the same total weight.
        """
        distance = self.pair_distance(pairs, X)
        y = checked_signs(y, len(distance))
        if strategy not in ("accuracy", "balanced"):
            raise ValueError(f"strategy={strategy!r} is unknown. Choose 'accuracy' or 'balanced'.")
        false, true, thresholds = roc_curve(y, -distance, drop_intermediate=False)
        same = np.mean(y > 0) if strategy == "accuracy" else 0.5
        best = int(np.argmax(same * true - (1 - same) * false))
        return self.set_threshold(midpoint_threshold(np.sort(distance), -float(thresholds[best])))

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


def midpoint_threshold(distances: Vector, last: float) -> float:
    """Return the midpoint of `last` and the next larger of the sorted distances (m,).

    If `last` is infinite, the threshold is below all distances.
    """
    above = distances[distances > last]
    if not np.isfinite(last):
        return 0.5 * float(distances[0])
    return 0.5 * (last + float(above[0])) if above.size else 1.5 * last


def row_norms(Z: Matrix) -> Vector:
    """Return the norms of rows, shape (m,); squares that leave the range of the type are taken in float64."""
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(Z, axis=1)
    return norms if np.isfinite(norms).all() else np.linalg.norm(Z.astype(np.float64), axis=1)


class Metric:
    """A learned distance: a function of two vectors that can be pickled."""

    def __init__(self, components: Matrix) -> None:
        self.components = components

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """Return the distance of u and v, or its square."""
        z = self.components @ (np.asarray(u, dtype=float) - np.asarray(v, dtype=float))
        return float(z @ z) if squared else float(np.sqrt(z @ z))
