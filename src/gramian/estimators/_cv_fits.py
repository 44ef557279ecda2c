"""The methods of MetricLearnerCV that fit: one for each kind of supervision."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv

from gramian.checks import as_numbers, check_number, validate_weight
from gramian.estimators._checks import check_labels_given, restore_on_failure, validate_input
from gramian.estimators._path import LabelTask, TargetTask, Task, TupleTask
from gramian.supervision.checks import (
    validate_labels,
    validate_order,
    validate_pairs,
    validate_quadruplets,
    validate_signs,
    validate_triplets,
)
from gramian.supervision.tuples import (
    TUPLES,
    holds_tuples,
    read_tuples,
    samples_of_indices,
    tuples_of_points,
    validate_points,
)
from gramian.types import Vector

__all__ = ["FitsByFolds"]

#: Arguments for `validate_data`.
INPUT_KINDS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_min_samples": 2}
#: The checks of index tuples, by their number of points.
CHECKS = {2: validate_pairs, 3: validate_triplets, 4: validate_quadruplets}


class FitsByFolds:
    """The methods `fit`, `fit_pairs`, `fit_triplets`, `fit_quadruplets` and `fit_targets` of `MetricLearnerCV`."""

    estimator: Any
    cv: Any
    scoring: Any
    n_neighbors: int

    @property
    def preprocessor(self) -> Any:
        """The `preprocessor` of `estimator`."""
        return getattr(self.estimator, "preprocessor", None)

    def _choose(self, task: Task, splits: Any) -> Self:
        """Score all candidates on the folds, choose one, and learn it from all data.

        If an exception is raised, the caller restores the attributes.
        """
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Choose by the classification of held-out samples, or by held-out tuples, and learn from all.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
            Samples with class labels; or tuples of points, an array (m, 2, d), (m, 3, d) or (m, 4, d). If `estimator`
            has a preprocessor: indices (n,) of its samples with class labels, or tuples of indices.
        y : array, shape (n,) or (m,)
            Class labels, or signs of tuples; None for triplets and quadruplets without signs.
        groups : array, shape (n,) or (m,), optional
            Passed to a splitter that needs groups of samples or tuples.
        sample_weight : array, shape (n,) or (m,), optional
            Weights for learning; scores are not weighted.

        Returns
        -------
        self
        """
        if holds_tuples(X, self.preprocessor):
            X, tuples, _ = read_tuples(X, None, None, self.preprocessor)
            size = (validate_points(X, None) if tuples is None else tuples).shape[1]
            return self._fit_tuples(X, tuples, y, sample_weight, size, groups)
        check_labels_given(self, y)
        check_number("n_neighbors", self.n_neighbors, least=1, integer=True)
        with restore_on_failure(self):
            X, y = validate_input(self, samples_of_indices(X, self.preprocessor), y, **INPUT_KINDS)
            y = validate_labels(y, len(y))
            task = LabelTask(X, y, self.n_neighbors, self.scoring, read_weight(sample_weight, len(y)))
            return self._choose(task, check_cv(self.cv, y, classifier=True).split(X, y, groups))

    def fit_pairs(self, X: Any, pairs: Any = None, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Choose by the distances of held-out pairs, and learn from all pairs.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
            Samples, one per row; or the points of the tuples themselves.
        pairs : array of int, shape (m, 2)
            Row indices of X.
        y : array of +1 and -1, shape (m,)
            +1 for near pairs, -1 for far pairs.
        sample_weight : array, shape (m,), optional
            Weights for learning.

        Returns
        -------
        self
        """
        return self._fit_tuples(X, pairs, y, sample_weight, 2)

    def fit_triplets(self, X: Any, triplets: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Choose by the share of held-out triplets that hold, and learn from all triplets.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or triplets of points, shape (m, 3, d), without `triplets`
            Samples, one per row; or the points of the tuples themselves.
        triplets : array of int, shape (m, 3)
            Row indices of X: anchor, near, far.
        sample_weight : array, shape (m,), optional
            Weights for learning.
        y : array of +1 and -1, shape (m,), optional
            -1 exchanges near and far.

        Returns
        -------
        self
        """
        return self._fit_tuples(X, triplets, y, sample_weight, 3)

    def fit_quadruplets(self, X: Any, quadruplets: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Choose by the share of held-out quadruplets that hold, and learn from all quadruplets.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or quadruplets of points, shape (m, 4, d), without `quadruplets`
            Samples, one per row; or the points of the tuples themselves.
        quadruplets : array of int, shape (m, 4)
            Row indices of X: a near pair, and a far pair.
        sample_weight : array, shape (m,), optional
            Weights for learning.
        y : array of +1 and -1, shape (m,), optional
            -1 exchanges near and far.

        Returns
        -------
        self
        """
        return self._fit_tuples(X, quadruplets, y, sample_weight, 4)

    def fit_targets(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose by the prediction of held-out numbers from those of near samples, and learn from all.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d); or indices (n,), if `estimator` has a preprocessor
            The samples, one per row.
        y : array, shape (n,)
            Finite numbers, not all equal.
        sample_weight : array, shape (n,), optional
            Weights for learning; scores are not weighted.
        groups : array, shape (n,), optional
            Passed to a splitter that needs groups of samples.

        Returns
        -------
        self
        """
        check_number("n_neighbors", self.n_neighbors, least=1, integer=True)
        with restore_on_failure(self):
            X = samples_of_indices(X, self.preprocessor)
            X, y = validate_input(self, X, as_numbers("y", y), y_numeric=True, **INPUT_KINDS)
            task = TargetTask(X, y, self.n_neighbors, self.scoring, read_weight(sample_weight, len(y)))
            return self._choose(task, check_cv(self.cv).split(X, y, groups))

    def _fit_tuples(self, X: Any, tuples: Any, y: Any, sample_weight: Any, size: int, groups: Any = None) -> Self:
        """Choose by held-out tuples of `size` points, and learn from all; pairs are split by their signs."""
        X, tuples, y = tuples_of_points(X, tuples, y, self.preprocessor, size)
        with restore_on_failure(self):
            X = validate_input(self, X, **INPUT_KINDS)
            tuples = CHECKS[size](tuples, X.shape[0])
            if size == 2:
                y = validate_signs(y, len(tuples))
            elif y is not None:
                y = validate_order(y, len(tuples), TUPLES[size])
            task = TupleTask(X, tuples, y, read_weight(sample_weight, len(tuples)), self.scoring)
            splitter = check_cv(self.cv, y, classifier=y is not None)
            return self._choose(task, splitter.split(tuples, y, groups))


def read_weight(sample_weight: Any, count: int) -> Vector | None:
    """Return validated weights (n,); None for none."""
    return None if sample_weight is None else validate_weight(sample_weight, count, np.dtype(np.float64))
