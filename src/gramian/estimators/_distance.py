"""What a learned distance can be asked: transform, distances of pairs, same or different."""

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
    """True where pairs can be told to be the same or not."""
    if hasattr(learner, "threshold_"):
        return True
    raise AttributeError("no threshold is set. Call calibrate_threshold or set_threshold, or fit_pairs with y.")


class LearnedDistance(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of estimators with `components_` (r, d): the distance of u and v is ‖components_ (u - v)‖."""

    components_: Matrix
    threshold_: float

    def transform(self, X: Any) -> Matrix:
        """Map samples into the learned space, (n, r): Euclidean distances there are the learned ones.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        """
        return self._map(X)

    def _map(self, X: Any) -> Matrix:
        """Return mapped samples as an array, whatever `set_output` says of `transform`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return X @ self.components_.T.astype(X.dtype, copy=False)

    def pair_distance(self, pairs: Any, X: Any = None) -> Vector:
        """Learned distances (m,), not squared, of pairs (m, 2, d), or of pairs (m, 2) of rows of X."""
        check_is_fitted(self)
        if X is None:
            points = check_array(pairs, allow_nd=True, dtype=[np.float64, np.float32], input_name="pairs")
            expected = (len(points), 2, self.components_.shape[1])
            if points.shape != expected:
                raise ValueError(f"pairs has shape {points.shape}; expected {expected}, or index pairs with X.")
            return np.linalg.norm((points[:, 0] - points[:, 1]) @ self.components_.T, axis=1)
        Z = self._map(X)
        index = check_indices(pairs, "pairs", 2, len(Z))
        return np.linalg.norm(Z[index[:, 0]] - Z[index[:, 1]], axis=1)

    def pair_score(self, pairs: Any, X: Any = None) -> Vector:
        """The larger the more alike: minus the learned distance, (m,)."""
        return -self.pair_distance(pairs, X)

    def get_metric(self) -> Callable[..., float]:
        """A function (u, v, squared=False) of two vectors: their learned distance. Independent of this estimator."""
        check_is_fitted(self)
        return Metric(self.components_.copy())

    def get_mahalanobis_matrix(self) -> Matrix:
        """W = components_ᵀ components_, (d, d)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def set_threshold(self, threshold: float) -> Self:
        """Calls pairs at most this far apart the same."""
        check_is_fitted(self)
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(self, pairs: Any, y: Any, X: Any = None, strategy: str = "accuracy") -> Self:
        """Sets the threshold that tells pairs of y = +1 (same) from those of y = -1 best.

        Parameters
        ----------
        pairs, X
            As for `pair_distance`.
        y : array of +1 and -1, shape (m,)
        strategy : {"accuracy", "balanced"}
            Whether pairs count alike, or the two kinds do.
        """
        distance = self.pair_distance(pairs, X)
        y = checked_signs(y, len(distance))
        if strategy not in ("accuracy", "balanced"):
            raise ValueError(f"strategy={strategy!r} is unknown. Choose 'accuracy' or 'balanced'.")
        false, true, thresholds = roc_curve(y, -distance, drop_intermediate=False)
        same = np.mean(y > 0) if strategy == "accuracy" else 0.5
        best = int(np.argmax(same * true - (1 - same) * false))
        return self.set_threshold(between(np.sort(distance), -float(thresholds[best])))

    @available_if(has_threshold)
    def decision_function(self, pairs: Any, X: Any = None) -> Vector:
        """Positive for pairs that `predict` calls the same: the threshold less the learned distance, (m,)."""
        return self.threshold_ - self.pair_distance(pairs, X)

    @available_if(has_threshold)
    def predict(self, pairs: Any, X: Any = None) -> Vector:
        """+1 for pairs at most `threshold_` apart, -1 for others, (m,)."""
        return np.where(self.pair_distance(pairs, X) <= self.threshold_, 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def between(distances: Vector, last: float) -> float:
    """A threshold half-way between the last distance that is to be below it and the next; -inf: below them all."""
    above = distances[distances > last]
    if not np.isfinite(last):
        return 0.5 * float(distances[0])
    return 0.5 * (last + float(above[0])) if above.size else 1.5 * last


class Metric:
    """A learned distance, on its own: a function of two vectors that can be pickled."""

    def __init__(self, components: Matrix) -> None:
        self.components = components

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """The distance of u and v."""
        z = self.components @ (np.asarray(u, dtype=float) - np.asarray(v, dtype=float))
        return float(z @ z) if squared else float(np.sqrt(z @ z))
