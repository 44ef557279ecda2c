"""The methods of learned distances: transform, distances of pairs, and their classification by a threshold."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_array, check_is_fitted

from gramian.blocked import open_blocks
from gramian.estimators._available import available_if
from gramian.estimators._checks import check_learned, validate_input
from gramian.estimators._html import html_of, mimebundle_of
from gramian.estimators._threshold import Calibration, best_threshold
from gramian.measurements import Pairs
from gramian.measurements.measurement import check_indices
from gramian.supervision.checks import have_one_sign, validate_order, validate_signs
from gramian.supervision.tuples import TUPLES, SignedTuples, read_tuples, samples_of_indices, validate_points
from gramian.types import Matrix, Vector

__all__ = ["LearnedDistance", "calibrate_on_pairs"]

#: The squares of numbers up to 2 to this power, and their sums, are finite in float32.
LARGEST_EXPONENT = 40
#: The ends of the distances that tuples compare, by their number of points: the near pair first, then the far one.
ENDS = {2: ((0, 1),), 3: ((0, 1), (0, 2)), 4: ((0, 1), (2, 3))}
NO_THRESHOLD = "no threshold is set. Call calibrate_threshold or set_threshold, or fit_pairs with y."


def judges_tuples(learner: Any) -> bool:
    """Return True if a threshold is set, or if the learner is fitted to triplets or quadruplets."""
    return hasattr(learner, "threshold_") or hasattr(learner, "tuple_size_")


def is_fitted(learner: Any) -> bool:
    """Return True if the learner is fitted."""
    try:
        check_is_fitted(learner)
    except NotFittedError:
        return False
    return True


def may_judge_tuples(learner: Any) -> bool:
    """Return True if the learner judges tuples or is not fitted yet: searches look for methods before they fit.

    Else raise an AttributeError, as `available_if` expects.
    """
    if not is_fitted(learner) or judges_tuples(learner):
        return True
    raise AttributeError(
        f"{NO_THRESHOLD} Class labels are predicted and scored by a classifier after the learner, in a pipeline."
    )


class LearnedDistance(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin for estimators with `components_` (r, d): the distance of u and v is ‖components_ (u - v)‖."""

    components_: Matrix
    threshold_: float

    # Notebooks show scikit-learn's diagram, and a table of what was learned.
    _repr_html_inner, _repr_mimebundle_ = html_of, mimebundle_of

    def transform(self, X: Any) -> Matrix:
        """Return X @ components_.T, shape (n, r): its Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or indices (n,) of samples of the preprocessor, if there is one
            The samples, one per row.
        """
        return self._map_to_array(X)

    def _map_to_array(self, X: Any) -> Matrix:
        """Return the mapped samples as an array (n, r), also if `set_output` selects another container."""
        check_learned(self)
        X = samples_of_indices(X, getattr(self, "preprocessor", None))
        with open_blocks(X, getattr(self, "n_jobs", None)) as X:
            X = validate_input(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
            with np.errstate(over="ignore", invalid="ignore"):
                Z = X @ self.components_.T.astype(X.dtype, copy=False)
        if not np.isfinite(Z).all():
            raise ValueError(f"the images of X overflow {Z.dtype}. Scale X as in the fit, or give it as float64.")
        return Z

    def inverse_transform(self, Z: Any) -> Matrix:
        """Return the samples X of least norm that minimise ‖X @ components_.T - Z‖, shape (n, d).

        Parameters
        ----------
        Z : array, shape (n, r)
            Samples as `transform` returns them.
        """
        check_learned(self)
        Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z")
        if Z.shape[1] != len(self.components_):
            raise ValueError(f"Z has {Z.shape[1]} columns; expected {len(self.components_)}, as transform returns.")
        # One direction at a time: the pseudo-inverse itself would spread the rounding of a weak one over all.
        left, values, right = np.linalg.svd(self.components_, full_matrices=False)
        # Directions whose images are below the rounding of Z say nothing about X.
        kept = values > values[0] * max(self.components_.shape) * float(np.finfo(Z.dtype).eps)
        X = (Z @ left[:, kept] / values[kept]) @ right[kept]
        return X.astype(Z.dtype, copy=False)

    def pair_distance(self, X: Any, pairs: Any = None) -> Vector:
        """Return the learned distances of pairs, not squared, shape (m,).

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), without `pairs`
            Samples, one per row; or the points of the tuples themselves.
        pairs : array of int, shape (m, 2)
            Row indices of X.
        """
        check_learned(self)
        X, pairs, y = self._read_tuples(X, pairs)
        if y is not None:
            raise ValueError(f"pairs has shape {np.shape(y)}; expected (m, 2), sample indices in each row.")
        return self._tuple_distances(X, pairs, 2)[0]

    def _read_tuples(self, X: Any, tuples: Any = None, y: Any = None) -> SignedTuples:
        """Return samples, tuples of their indices and signs; tuples=None if X holds tuples of points (m, k, d)."""
        return read_tuples(X, tuples, y, getattr(self, "preprocessor", None))

    def _tuple_distances(self, X: Any, tuples: Any, size: int | None = None) -> list[Vector]:
        """Return the distances that tuples of `size` points compare, (m,) each: of pairs one, of others near and far.

        X and tuples are as `_read_tuples` returns them. None stands for pairs, triplets or quadruplets.
        """
        if tuples is None:
            points = validate_points(X, size)
            if points.shape[2] != self.components_.shape[1]:
                raise ValueError(f"X has points of {points.shape[2]} features; expected {self.components_.shape[1]}.")
            ends = ENDS[points.shape[1]]
            return [row_lengths((points[:, i] - points[:, j]) @ self.components_.T) for i, j in ends]
        Z = self._map_to_array(X)
        given = np.shape(tuples)[1:]
        found = given[0] if size is None and given and given[0] in TUPLES else size or 2
        index = check_indices(tuples, "pairs" if size is None else TUPLES[size], found, len(Z))
        return [pair_lengths(Z, Pairs(np.ascontiguousarray(index[:, list(ends)]))) for ends in ENDS[found]]

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
        check_learned(self)
        return Metric(self.components_.copy())

    def get_mahalanobis_matrix(self) -> Matrix:
        """Return W = components_ᵀ components_, shape (d, d), in float64, as squares may leave the range of float32."""
        check_learned(self)
        components = self.components_.astype(np.float64, copy=False)
        return components.T @ components

    def set_threshold(self, threshold: float) -> Self:
        """Set the threshold: `predict` classifies pairs at this distance or less as similar.

        Parameters
        ----------
        threshold : float
            A distance, not squared. Infinity makes all pairs similar, a negative number makes none similar.
        """
        check_learned(self)
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
            +1 for near pairs, -1 for far pairs.
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
        check_learned(self)
        calibration = Calibration(strategy, beta, min_rate)
        X, pairs, y = self._read_tuples(X, pairs, y)
        if np.shape(X if pairs is None else pairs)[:1] == (0,):
            raise ValueError("pairs is empty; at least one pair of each kind is needed.")
        (distance,) = self._tuple_distances(X, pairs, 2)
        y = validate_signs(y, len(distance))
        return self.set_threshold(best_threshold(check_finite_distances(distance), y, calibration))

    @available_if(may_judge_tuples)
    def decision_function(self, X: Any, pairs: Any = None) -> Vector:
        """Return how well tuples agree with the distance, shape (m,).

        For pairs this is the threshold minus the distance, which is not negative where `predict` returns +1. For
        triplets (anchor, near, far) it is d(anchor, far) - d(anchor, near), for quadruplets (a, b, c, e) it is
        d(c, e) - d(a, b); these need no threshold.

        Parameters
        ----------
        X, pairs
            Samples (n, d) and pairs (m, 2), triplets (m, 3) or quadruplets (m, 4) of their row indices; or X alone,
            tuples of points (m, 2, d), (m, 3, d) or (m, 4, d).
        """
        near, far = self._compare(X, pairs)
        return far - near

    def _compare(self, X: Any, tuples: Any) -> Compared:
        """Return the distances of the near points of tuples, and what they should not exceed."""
        check_learned(self)
        X, tuples, y = self._read_tuples(X, tuples)
        if y is not None:
            raise ValueError(f"pairs has shape {np.shape(y)}; expected (m, 2), sample indices in each row.")
        near, *far = self._tuple_distances(X, tuples)
        if far:
            return Compared(near, far[0])
        if not hasattr(self, "threshold_"):
            raise AttributeError(NO_THRESHOLD)
        return Compared(near, self.threshold_)

    @available_if(may_judge_tuples)
    def predict(self, X: Any, pairs: Any = None) -> Vector:
        """Return +1 for pairs at distance `threshold_` or less, -1 for the others, shape (m,).

        Triplets and quadruplets give +1 if their far points are farther apart than their near ones, else -1.

        Parameters
        ----------
        X, pairs
            Samples (n, d) and pairs (m, 2), triplets (m, 3) or quadruplets (m, 4) of their row indices; or X alone,
            tuples of points (m, 2, d), (m, 3, d) or (m, 4, d).
        """
        near, far = self._compare(X, pairs)
        return np.where(near <= far, 1, -1) if isinstance(far, float) else order_of(near, far)

    @available_if(may_judge_tuples)
    def score(self, X: Any, pairs: Any = None, y: Any = None) -> float:
        """Return the area under the ROC curve of pairs, or the accuracy of triplets or quadruplets.

        The area is 1 if all similar pairs are nearer than dissimilar ones; the threshold does not change it. The
        accuracy is the share of triplets or quadruplets whose far points are farther apart than their near ones. A
        learner that is fitted to class labels has no `score` until a threshold is set: scikit-learn would pass it the
        labels. Its clone has one, for `cross_val_score`.

        Parameters
        ----------
        X, pairs
            Samples (n, d) and tuples (m, 2), (m, 3) or (m, 4) of their row indices; or points (m, 2, d), (m, 3, d) or
            (m, 4, d), which y follows immediately: score(points, y).
        y : array of +1 and -1, shape (m,)
            For pairs: both kinds must occur. For triplets and quadruplets -1 exchanges near and far; None exchanges
            none. The accuracy is then that of `predict`.
        """
        check_learned(self)
        X, tuples, y = self._read_tuples(X, pairs, y)
        near, *far = self._tuple_distances(X, tuples)
        if not len(near):
            raise ValueError("there are no tuples to score. Give at least one.")
        if far:
            signs = 1 if y is None else validate_order(y, len(near), "tuples")
            return float(np.mean(signs == order_of(check_finite_distances(near), check_finite_distances(far[0]))))
        return float(roc_auc_score(validate_signs(y, len(near)), -check_finite_distances(near)))

    @property
    def classes_(self) -> Vector:
        """The signs of tuples, -1 and +1: the distance is a classifier of them, of pairs by its threshold."""
        if not judges_tuples(self):
            raise AttributeError(f"this {type(self).__name__} has no attribute 'classes_': {NO_THRESHOLD}")
        return np.array([-1, 1])

    @property
    def spectrum_(self) -> Vector:
        """The eigenvalues of W = components_ᵀ components_, descending, shape (r,), in float64; d - r others are 0."""
        check_learned(self)
        return np.square(np.linalg.svd(self.components_, compute_uv=False), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        if judges_tuples(self):
            # So that scikit-learn's scorers, for example "roc_auc", ask for the decision function.
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_class=False)
        return tags


class Compared(NamedTuple):
    """The distances (m,) of near points, and those of far points (m,); for pairs the threshold."""

    near: Vector
    far: Vector | float


def order_of(near: Vector, far: Vector) -> Vector:
    """Return +1 where the far points of a tuple are farther apart than the near ones, and -1 elsewhere; (m,)."""
    return np.where(near < far, 1, -1)


def row_lengths(Z: Matrix) -> Vector:
    """Return the Euclidean lengths of the rows of Z, shape (m,)."""
    exponent = overflow_exponent(Z)
    with np.errstate(over="ignore"):
        return np.ldexp(np.linalg.norm(np.ldexp(Z, -exponent) if exponent else Z, axis=1), exponent)


def pair_lengths(Z: Matrix, pairs: Pairs) -> Vector:
    """Return the Euclidean distances of pairs of rows of Z, shape (m,); infinity where they overflow."""
    exponent = overflow_exponent(Z)
    with np.errstate(over="ignore"):
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


def calibrate_on_pairs(learner: Any, X: Any, given: Any, calibration: Calibration, before: float | None = None) -> None:
    """Set the threshold that best separates the pairs, `GivenPairs` with signs, of validated samples X (n, d).

    If all pairs are of one kind, the previous threshold is kept; None stands for no threshold.
    """
    if not have_one_sign(given.y):
        distance = pair_lengths(X @ learner.components_.T.astype(X.dtype, copy=False), Pairs(given.pairs))
        learner.set_threshold(best_threshold(check_finite_distances(distance), given.y, calibration))
    elif before is not None:
        learner.set_threshold(before)


class Metric:
    """A learned distance: a function of two vectors that can be pickled."""

    def __init__(self, components: Matrix) -> None:
        self.components = components

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """Return the distance of u and v, or its square; both of shape (d,) or (1, d), the latter also sparse."""
        with np.errstate(over="ignore", invalid="ignore"):
            z = self.components @ (self.read_vector("u", u) - self.read_vector("v", v))
            length = float(row_lengths(z[None])[0])
            return length * length if squared else length

    def read_vector(self, name: str, vector: Any) -> Vector:
        """Return a vector (d,); raise a ValueError that names it if it has another shape than (d,) or (1, d)."""
        array = np.asarray(vector.toarray() if issparse(vector) else vector, dtype=float)
        d = self.components.shape[1]
        if array.shape not in ((d,), (1, d)):
            raise ValueError(f"{name} has shape {array.shape}; expected ({d},) or (1, {d}).")
        return array.reshape(d)
