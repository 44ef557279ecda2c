"""Learning a distance from pairs, triplets, quadruplets, and supervision of one's own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from gramian.estimators._threshold import Calibration, resolve_calibration
from gramian.supervision import GivenPairs, GivenQuadruplets, GivenTriplets, Supervision
from gramian.supervision.pairs import Bounds, read_bounds
from gramian.supervision.tuples import TUPLES, SignedTuples, read_tuples, tuples_of_points, validate_points

__all__ = ["LearnsFromTuples"]


class LearnsFromTuples:
    """The methods of `MetricLearner` that learn from other than labels: `fit_pairs`, `fit_triplets`, and so on."""

    preprocessor: Any
    bounds_: Bounds

    def _fit(
        self, X: Any, supervision: Supervision, calibration: Calibration | None = None, *, resume: bool = False
    ) -> Self:
        """Learn from samples (n, d) and what is asked of them."""
        raise NotImplementedError

    def fit_supervised(self, X: Any, supervision: Supervision) -> Self:
        """Learn from a `Supervision` object, for example of a class of your own.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
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
        pairs : array of int, shape (m, 2)
            Row indices of X.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: squared distances should be at most their 5th percentile under the start for
            y = +1, and at least their 95th for y = -1. Also sets `threshold_`.
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

    def fit_triplets(self, X: Any, triplets: Any = None, sample_weight: Any = None) -> Self:
        """Learn from triplets (anchor, near, far): far should be farther from the anchor than near, by a margin.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or triplets of points, shape (m, 3, d), without `triplets`
        triplets : array of int, shape (m, 3)
            Row indices of X.
        sample_weight : array, shape (m,), optional

        Returns
        -------
        self
        """
        X, triplets, _ = self._read_given(X, triplets, 3)
        return self._fit(X, GivenTriplets(triplets, sample_weight))

    def fit_quadruplets(self, X: Any, quadruplets: Any = None, sample_weight: Any = None) -> Self:
        """Learn from quadruplets (a, b, c, e): c and e should be farther apart than a and b, by a margin.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or quadruplets of points, shape (m, 4, d), without `quadruplets`
        quadruplets : array of int, shape (m, 4)
            Row indices of X.
        sample_weight : array, shape (m,), optional

        Returns
        -------
        self
        """
        X, quadruplets, _ = self._read_given(X, quadruplets, 4)
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
        """Continue from the current metric with new pairs; the arguments are those of `fit_pairs`.

        If all y are equal, `bounds_` and `threshold_` are unchanged.
        """
        X, pairs, y = tuples_of_points(X, pairs, y, self.preprocessor)
        calibration, fitted = resolve_calibration(calibration_params, y), hasattr(self, "components_")
        earlier = getattr(self, "bounds_", None) if fitted else None
        given = GivenPairs(pairs, target, sense, y, sample_weight, earlier=earlier, bounds=read_bounds(bounds))
        return self._fit(X, given, calibration, resume=True)

    def partial_fit_triplets(self, X: Any, triplets: Any = None, sample_weight: Any = None) -> Self:
        """Continue from the current metric with new triplets; the arguments are those of `fit_triplets`."""
        X, triplets, _ = self._read_given(X, triplets, 3)
        return self._fit(X, GivenTriplets(triplets, sample_weight), resume=True)

    def partial_fit_quadruplets(self, X: Any, quadruplets: Any = None, sample_weight: Any = None) -> Self:
        """Continue from the current metric with new quadruplets; the arguments are those of `fit_quadruplets`."""
        X, quadruplets, _ = self._read_given(X, quadruplets, 4)
        return self._fit(X, GivenQuadruplets(quadruplets, sample_weight), resume=True)

    def _read_given(self, X: Any, tuples: Any, size: int) -> SignedTuples:
        """Return samples and index tuples (m, size); raise a ValueError if a vector is given in place of tuples."""
        given = tuples_of_points(X, tuples, None, self.preprocessor, size)
        if given.y is not None:
            name = TUPLES[size]
            raise ValueError(f"{name} has shape {np.shape(given.y)}, but X holds {name} already. Leave it out.")
        return given

    def _fit_tuples(self, X: Any, y: Any, *, resume: bool = False, **options: Any) -> Self:
        """Learn from tuples of points (m, k, d), or of indices (m, k) into the preprocessor.

        The options are `sample_weight` and, for pairs, `bounds` and `calibration_params`.
        """
        X, tuples, _ = read_tuples(X, None, None, self.preprocessor)
        size = (validate_points(X, None) if tuples is None else tuples).shape[1]
        name = TUPLES[size]
        if size == 2:
            if y is None:
                raise ValueError("y is missing: X holds pairs. Give +1 (same) or -1 (different) for each pair.")
            return (self.partial_fit_pairs if resume else self.fit_pairs)(X, tuples, y, **options)
        for option, value in (("y", y), *options.items()):
            if value is not None and option != "sample_weight":
                raise ValueError(f"{option} is given, but X holds {name}, and {option} is for pairs. Leave it out.")
        weight = options.get("sample_weight")
        if size == 3:
            return (self.partial_fit_triplets if resume else self.fit_triplets)(X, tuples, weight)
        return (self.partial_fit_quadruplets if resume else self.fit_quadruplets)(X, tuples, weight)
