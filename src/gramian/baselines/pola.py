"""POLA: a metric and a threshold, learned online by projections."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator

from gramian.baselines._endings import store_ending
from gramian.baselines._pair_learning import (
    LearnsFromLabels,
    LearnsOnline,
    check_distinct_pairs,
    learn_from_pairs,
    store_matrix,
)
from gramian.checks import check_number, check_powers
from gramian.estimators._checks import check_n_constraints
from gramian.estimators._distance import LearnedDistance, calibrate_on_pairs
from gramian.estimators._threshold import Calibration, resolve_calibration
from gramian.solvers import Ending
from gramian.supervision import GivenPairs
from gramian.supervision.tuples import tuples_of_points
from gramian.types import Matrix, Vector

__all__ = ["POLA", "project_onto_cone", "project_onto_pair"]


class POLA(LearnedDistance, LearnsFromLabels, LearnsOnline, BaseEstimator):
    """A Mahalanobis distance and a threshold b on its square, which separate near from far pairs by a margin of 1.

    The constraint of a pair with sign y is y (b - zᵀAz) >= 1. If it is violated, (A, b) is projected onto it, and then
    onto the set with A positive semidefinite and b >= 1. Both projections have a closed form, so there is no step size,
    although the paper by Meyer et al. mentions tuning one. The start is A = 0, b = 1, so the rank of A is at most that
    of the data. A step costs O(d²), and O(d³) after a near pair, for the smallest eigenvalue.

    Parameters
    ----------
    n_constraints : int or None
        The number of pairs that `fit` draws uniformly at random. By default 40 c (c - 1) for c classes, but at most
        n (n - 1)/2, the number of different pairs of n samples, and at most 30,000.
    n_epochs : int
        The number of passes of a call over its pairs.
    preprocessor : array or data frame, shape (n, d), or None
        Samples: methods then also take their indices in place of samples and points.
    random_state : int, RandomState, Generator or None
        The seed of the pairs that `fit` draws, and of their order.

    Attributes
    ----------
    components_ : array, shape (d, d)
        The symmetric root of A; `transform(X) = X @ components_.T`.
    bias_ : float
        The threshold b on squared distances.
    spectrum_ : array, shape (d,)
        The eigenvalues of A, descending.
    threshold_ : float
        Pairs at this distance or less are similar; √b after `fit_pairs`, or set by `set_threshold`,
        `calibrate_threshold`.
    n_updates_ : int
        The number of steps in the last call.
    converged_ : bool
        False: there is no stopping rule, all pairs are gone through.
    message_ : str
        Why the last call ended.
    n_features_in_ : int
        The number of features of X.

    References
    ----------
    Shalev-Shwartz, Singer, Ng: Online and batch learning of pseudo-metrics. ICML 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian.baselines import POLA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = POLA(random_state=0).fit(X, y)
    >>> model.set_threshold(model.bias_**0.5).predict(X, [[0, 1], [0, 100]])
    array([ 1, -1])
    """

    bias_: float
    n_updates_: int
    converged_: bool
    message_: str

    def __init__(
        self,
        *,
        n_constraints: int | None = None,
        n_epochs: int = 1,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_constraints = n_constraints
        self.n_epochs = n_epochs
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit_pairs(self, X: Any, pairs: Any = None, y: Any = None, *, calibration_params: Any = None) -> Self:
        """Learn from pairs of samples.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
            Samples, one per row; or the points of the tuples themselves.
        pairs : array of int, shape (m, 2)
            Row indices of X. Pairs of samples that coincide are ignored.
        y : array of +1 and -1, shape (m,)
            +1 for near pairs, -1 for far pairs. Pairs of one kind are sufficient.
        calibration_params : dict, optional
            Any of `strategy`, `beta` and `min_rate`: `calibrate_threshold` then sets `threshold_`, in place of √b, if
            the pairs are of both kinds.

        Returns
        -------
        self
        """
        return self._learn_from_signs(X, pairs, y, calibration_params)

    def partial_fit_pairs(self, X: Any, pairs: Any = None, y: Any = None, *, calibration_params: Any = None) -> Self:
        """Continue from the current (A, b) with new pairs; the first call is equivalent to `fit_pairs`.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
            Samples, one per row; or the points of the tuples themselves.
        pairs : array of int, shape (m, 2)
            Row indices of X. Pairs of samples that coincide are ignored.
        y : array of +1 and -1, shape (m,)
            +1 for near pairs, -1 for far pairs. Pairs of one kind are sufficient.
        calibration_params : dict, optional
            Any of `strategy`, `beta` and `min_rate`: `calibrate_threshold` then sets `threshold_`, in place of √b, if
            the pairs are of both kinds.

        Returns
        -------
        self
        """
        return self._learn_from_signs(X, pairs, y, calibration_params, resume=hasattr(self, "components_"))

    def _learn_from_signs(self, X: Any, pairs: Any, y: Any, calibration_params: Any, *, resume: bool = False) -> Self:
        """Learn from pairs (m, 2) with signs (m,), of which one kind is enough."""
        X, pairs, y = tuples_of_points(X, pairs, y, self.preprocessor)
        if y is None:
            raise ValueError("y is missing. Give +1 (near) or -1 (far) for each pair.")
        calibration = None if calibration_params is None else resolve_calibration(calibration_params, y)
        return learn_from_pairs(self, X, GivenPairs(pairs, y=y, one_kind=True), calibration, resume=resume)

    def _check_settings(self) -> None:
        """Raise a ValueError that names the first invalid parameter."""
        check_n_constraints(self.n_constraints)
        check_number("n_epochs", self.n_epochs, least=1, integer=True)

    def _set_threshold_from(
        self, X: Any, given: GivenPairs, calibration: Calibration | None, before: float | None
    ) -> None:
        """Set the threshold √b, which is learned with the metric; or calibrate one on pairs of both kinds."""
        self.set_threshold(self.bias_**0.5)
        if calibration is not None:
            calibrate_on_pairs(self, X, given, calibration)

    def _learn(self, X: Matrix, given: GivenPairs, *, resume: bool) -> None:
        """Learn A from pairs of rows of X, and set the fitted attributes."""
        # A projection divides by the square of a squared distance.
        check_powers("X", X, 4)
        z = X[given.pairs[:, 0]] - X[given.pairs[:, 1]]
        # A pair of coincident samples would change b only; a far one would reset it.
        apart = np.abs(z).max(axis=1) > 0
        check_distinct_pairs(apart)
        A = self.get_mahalanobis_matrix() if resume else np.zeros((X.shape[1], X.shape[1]))
        b, self.n_updates_ = self.bias_ if resume else 1.0, 0
        for _ in range(self.n_epochs):
            for difference, sign in zip(z[apart], given.y[apart], strict=True):
                moved, b = project_onto_pair(A, b, difference, sign)
                if moved is not A:
                    A, b = project_onto_cone(moved, b, sign)
                    self.n_updates_ += 1
        self.bias_ = float(b)
        store_ending(self, Ending.EXHAUSTED, f"n_epochs={self.n_epochs} done")
        store_matrix(self, A)


class Projected(NamedTuple):
    """A matrix A (d, d) and a threshold b, after a projection."""

    A: Matrix
    b: float


def project_onto_pair(A: Matrix, b: float, z: Vector, sign: int) -> Projected:
    """Return the nearest A (d, d) and b with sign (b - zᵀAz) >= 1; the arguments themselves if they satisfy it."""
    loss = sign * (z @ A @ z - b) + 1
    if loss <= 0:
        return Projected(A, b)
    step = sign * loss / ((z @ z) ** 2 + 1)
    return Projected(A - step * np.outer(z, z), b + step)


def project_onto_cone(A: Matrix, b: float, sign: int) -> Projected:
    """Return the nearest positive semidefinite A (d, d) and the nearest b >= 1, after the projection onto a pair.

    A near pair (sign +1) subtracts a matrix of rank one, so that at most one eigenvalue of A is negative. A far pair
    (sign -1) adds one, so that A is positive semidefinite already.
    """
    b = max(1.0, b)
    if sign < 0:
        return Projected(A, b)
    (value,), vector = scipy.linalg.eigh(A, subset_by_index=[0, 0])
    return Projected(A - value * (vector @ vector.T) if value < 0 else A, b)
