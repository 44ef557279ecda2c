"""Learning a distance from pairs, triplets, quadruplets, and supervision of one's own."""

from __future__ import annotations

from typing import Any, Self

from gramian.estimators._stream import continue_with_tuples
from gramian.estimators._threshold import Calibration, resolve_calibration
from gramian.supervision import GivenPairs, GivenQuadruplets, GivenTriplets, Supervision
from gramian.supervision.pairs import Bounds, read_bounds
from gramian.supervision.tuples import TUPLES, put_near_first, read_tuples, tuples_of_points, validate_points

__all__ = ["LearnsFromTuples"]


class LearnsFromTuples:
    """The methods of `MetricLearner` that learn from other than labels: `fit_pairs`, `fit_triplets`, and so on."""

    preprocessor: Any
    bounds_: Bounds

    def _fit(
        self, X: Any, supervision: Supervision, calibration: Calibration | None = None, *, streaming: bool = False
    ) -> Self:
        """Learn from samples (n, d) and their supervision."""
        raise NotImplementedError

    def fit_supervised(self, X: Any, supervision: Supervision) -> Self:
        """Learn from a `Supervision` object, for example of a class of your own.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
            The samples, one per row.
        supervision : Supervision
            What is asked of the distance; it is not changed.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MetricLearner
        >>> from gramian.supervision import LabelPairs
        >>> X, y = load_iris(return_X_y=True)
        >>> MetricLearner(2, random_state=0).fit_supervised(X, LabelPairs(y, 500)).components_.shape
        (2, 4)
        """
        return self._fit(X, supervision)

    def fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        sense: Any = None,
        bounds: Any = None,
        sample_weight: Any = None,
        calibration_params: Any = None,
    ) -> Self:
        """Learn from pairs of samples.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
            Samples, one per row; or the points of the tuples themselves.
        pairs : array of int, shape (m, 2)
            Row indices of X.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: squared distances should be at most their 5th percentile under the start for
            y = +1, and at least their 95th for y = -1; after a warm start, at the scale of `bounds_`. Also sets
            `threshold_`.
        target : array, shape (m,), or float
            Squared distances.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
            Whether the squared distance should equal its target, be at most, or be at least the target.
        bounds : two floats, optional
            For y: squared distances in place of the percentiles. Pairs of one kind are then sufficient.
        sample_weight : array, shape (m,), optional
            Weights of the pairs.
        calibration_params : dict, optional
            Any of `strategy`, `beta` and `min_rate`, for the `calibrate_threshold` that sets `threshold_` by y.

        Returns
        -------
        self
        """
        X, pairs, y = tuples_of_points(X, pairs, y, self.preprocessor)
        calibration = resolve_calibration(calibration_params, y)
        given = GivenPairs(pairs, target, sense, y, sample_weight, bounds=read_bounds(bounds))
        return self._fit(X, given, calibration)

    def fit_triplets(self, X: Any, triplets: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Learn from triplets (anchor, near, far): far should be farther from the anchor than near, by a margin.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or triplets of points, shape (m, 3, d), without `triplets`
            Samples, one per row; or the points of the tuples themselves.
        triplets : array of int, shape (m, 3)
            Row indices of X.
        sample_weight : array, shape (m,), optional
            Weights of the tuples, 1 by default.
        y : array of +1 and -1, shape (m,), optional
            -1 exchanges near and far.

        Returns
        -------
        self
        """
        X, triplets = self._read_given(X, triplets, y, 3)
        return self._fit(X, GivenTriplets(triplets, sample_weight))

    def fit_quadruplets(self, X: Any, quadruplets: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Learn from quadruplets (a, b, c, e): c and e should be farther apart than a and b, by a margin.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or quadruplets of points, shape (m, 4, d), without `quadruplets`
            Samples, one per row; or the points of the tuples themselves.
        quadruplets : array of int, shape (m, 4)
            Row indices of X.
        sample_weight : array, shape (m,), optional
            Weights of the tuples, 1 by default.
        y : array of +1 and -1, shape (m,), optional
            -1 exchanges near and far.

        Returns
        -------
        self
        """
        X, quadruplets = self._read_given(X, quadruplets, y, 4)
        return self._fit(X, GivenQuadruplets(quadruplets, sample_weight))

    def partial_fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        sense: Any = None,
        bounds: Any = None,
        sample_weight: Any = None,
        calibration_params: Any = None,
    ) -> Self:
        """Continue from the current metric with new pairs; the first call is equivalent to `fit_pairs`.

        `bounds_` are those of the calls before, unless others are given. If all y are equal, `threshold_` is unchanged
        too; where there are no bounds yet, the pairs are kept in `kept_tuples_` until both signs are there. So are the
        first ones until they have more samples than n_components.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
            Samples, one per row; or the points of the tuples themselves. They need not be those of earlier calls.
        pairs : array of int, shape (m, 2)
            Row indices of X.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: squared distances should be at most the first of `bounds_` for y = +1, and
            at least the second for y = -1. Those are of earlier calls, or else percentiles, as in `fit_pairs`.
        target : array, shape (m,), or float
            Squared distances.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
            Whether the squared distance should equal its target, be at most, or be at least the target.
        bounds : two floats, optional
            For y: squared distances in place of `bounds_`.
        sample_weight : array, shape (m,), optional
            Weights of the pairs, 1 by default.
        calibration_params : dict, optional
            Any of `strategy`, `beta` and `min_rate`, for the `calibrate_threshold` that sets `threshold_` by y.

        Returns
        -------
        self
        """
        X, pairs, y = tuples_of_points(X, pairs, y, self.preprocessor)
        calibration, fitted = resolve_calibration(calibration_params, y), hasattr(self, "components_")
        earlier = getattr(self, "bounds_", None) if fitted else None
        given = GivenPairs(pairs, target, sense, y, sample_weight, earlier=earlier, bounds=read_bounds(bounds))
        return continue_with_tuples(self, X, given, calibration)

    def partial_fit_triplets(self, X: Any, triplets: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Continue from the current metric with new triplets; the first call is equivalent to `fit_triplets`.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or triplets of points, shape (m, 3, d), without `triplets`
            Samples, one per row; or the points of the tuples themselves. They need not be those of earlier calls.
        triplets : array of int, shape (m, 3)
            Row indices of X: anchor, near, far.
        sample_weight : array, shape (m,), optional
            Weights of the triplets, 1 by default.
        y : array of +1 and -1, shape (m,), optional
            -1 exchanges near and far.

        Returns
        -------
        self
        """
        X, triplets = self._read_given(X, triplets, y, 3)
        return continue_with_tuples(self, X, GivenTriplets(triplets, sample_weight))

    def partial_fit_quadruplets(
        self, X: Any, quadruplets: Any = None, sample_weight: Any = None, *, y: Any = None
    ) -> Self:
        """Continue from the current metric with new quadruplets; the first call is equivalent to `fit_quadruplets`.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or quadruplets of points, shape (m, 4, d), without `quadruplets`
            Samples, one per row; or the points of the tuples themselves. They need not be those of earlier calls.
        quadruplets : array of int, shape (m, 4)
            Row indices of X: a, b, c, e, where a and b should be nearer than c and e.
        sample_weight : array, shape (m,), optional
            Weights of the quadruplets, 1 by default.
        y : array of +1 and -1, shape (m,), optional
            -1 exchanges near and far.

        Returns
        -------
        self
        """
        X, quadruplets = self._read_given(X, quadruplets, y, 4)
        return continue_with_tuples(self, X, GivenQuadruplets(quadruplets, sample_weight))

    def _read_given(self, X: Any, tuples: Any, y: Any, size: int) -> tuple[Any, Any]:
        """Return samples and index tuples (m, size), the near points first; signs may follow tuples of points."""
        X, tuples, y = tuples_of_points(X, tuples, y, self.preprocessor, size)
        return X, put_near_first(tuples, y)

    def _fit_tuples(self, X: Any, y: Any, *, streaming: bool = False, **options: Any) -> Self:
        """Learn from tuples of points (m, k, d), or of indices (m, k) into the preprocessor.

        The options are `sample_weight` and, for pairs, `bounds` and `calibration_params`.
        """
        X, tuples, _ = read_tuples(X, None, None, self.preprocessor)
        size = (validate_points(X, None) if tuples is None else tuples).shape[1]
        name = TUPLES[size]
        if size == 2:
            if y is None:
                raise ValueError("y is missing: X holds pairs. Give +1 (same) or -1 (different) for each pair.")
            return (self.partial_fit_pairs if streaming else self.fit_pairs)(X, tuples, y, **options)
        for option, value in options.items():
            if value is not None and option != "sample_weight":
                raise ValueError(f"{option} is given, but X holds {name}, and {option} is for pairs. Leave it out.")
        weight = options.get("sample_weight")
        if size == 3:
            return (self.partial_fit_triplets if streaming else self.fit_triplets)(X, tuples, weight, y=y)
        return (self.partial_fit_quadruplets if streaming else self.fit_quadruplets)(X, tuples, weight, y=y)
