"""LEGO: a metric learned online, by exact steps of the LogDet divergence."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from gramian._kernels.logdet_metric import lego_pass
from gramian.baselines._pair_learning import (
    bounded_constraints,
    calibrate,
    first_matrix,
    learn_from_pairs,
    store_matrix,
)
from gramian.checks import checked_number
from gramian.estimators._distance import LearnedDistance
from gramian.supervision import GivenPairs, LabelPairs
from gramian.supervision.checks import pairs_of_points
from gramian.types import Matrix

__all__ = ["LEGO"]


class LEGO(LearnedDistance, BaseEstimator):
    """A distance of full rank that takes one step for each pair which is not as near, or as far, as it should be.

    The step minimises D(A, A_t) + ½ η (zᵀAz - y)², D the LogDet divergence and y the squared distance asked for. Its
    gradient is taken at the new A, so that A is positive definite for every η: A⁻¹ grows by η (s - y) z zᵀ, where
    s = zᵀAz after the step solves a quadratic equation. A step costs O(d²).

    Parameters
    ----------
    eta : float
        η. With large steps each pair is brought to its target, and the last ones count most.
    prior : {"identity", "covariance"} or array of shape (d, d)
        The first A; "covariance" is the inverse of the covariance of X.
    n_constraints : int or None
        Pairs drawn from labels, as they fall; 40 c (c - 1) for c classes by default.
    n_epochs : int
        How often `fit` and `fit_pairs` go through the pairs.
    random_state : int, RandomState or None
        For drawing pairs, and their order.

    Attributes
    ----------
    components_ : array, shape (d, d)
        The symmetric root of A; `transform(X) = X @ components_.T`.
    n_updates_ : int
        Steps taken in the last call.
    bounds_ : tuple of float
        Where pairs came by label or sign: l and u, squared distances under the prior; a stream keeps the first.
    threshold_ : float
        After `fit_pairs` with y, `set_threshold` or `calibrate_threshold`: pairs at most so far apart are the same.
    message_, n_features_in_

    References
    ----------
    Jain, Kulis, Dhillon, Grauman: Online metric learning and fast similarity search. NIPS 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gramian.baselines import LEGO
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = LEGO(random_state=0).fit(X[::2], y[::2])
    >>> model.partial_fit(X[1::2], y[1::2]).transform(X).shape
    (178, 13)
    """

    n_updates_: int
    message_: str

    def __init__(
        self,
        eta: float = 1e-3,
        *,
        prior: str | Matrix = "identity",
        n_constraints: int | None = None,
        n_epochs: int = 1,
        random_state: Any = None,
    ) -> None:
        self.eta = eta
        self.prior = prior
        self.n_constraints = n_constraints
        self.n_epochs = n_epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from class labels, through random pairs of samples.

        Parameters
        ----------
        X : array, shape (n, d)
        y : array, shape (n,)
            At least two classes, one of them with two samples.

        Returns
        -------
        self
        """
        return learn_from_pairs(self, X, LabelPairs(y, self.n_constraints))

    def fit_pairs(self, X: Any, pairs: Any = None, target: Any = None, sense: Any = None, y: Any = None) -> Self:
        """Learn from pairs of samples.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d), without `pairs`
        pairs : array of int, shape (m, 2)
            Rows of X. Pairs of samples that coincide are left out.
        target : array, shape (m,), or float
            Squared distances.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
            What the squared distance of a pair should be with regard to its target.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: +1 for pairs that should be near, at most the 5th percentile of the squared
            distances under the start, -1 for pairs that should be far, at least the 95th. Sets `threshold_` too.

        Returns
        -------
        self
        """
        X, pairs = pairs_of_points(X, pairs)
        return learn_from_pairs(self, X, GivenPairs(pairs, target, sense, y))

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn on from pairs of some more labelled samples; the first call is `fit`.

        Parameters
        ----------
        X : array, shape (n, d)
        y : array, shape (n,)

        Returns
        -------
        self
        """
        return learn_from_pairs(self, X, LabelPairs(y, self.n_constraints), resume=hasattr(self, "components_"))

    def partial_fit_pairs(
        self, X: Any, pairs: Any = None, target: Any = None, sense: Any = None, y: Any = None
    ) -> Self:
        """Learn on from some more pairs, given as for `fit_pairs`; the first call is `fit_pairs`.

        Later calls may have as few as one pair. Where y is of one kind, `threshold_` stays as it was.
        """
        X, pairs = pairs_of_points(X, pairs)
        return learn_from_pairs(self, X, GivenPairs(pairs, target, sense, y), resume=hasattr(self, "components_"))

    def _check_settings(self) -> None:
        if self.n_constraints is not None:
            checked_number("n_constraints", self.n_constraints, least=1, integer=True)
        checked_number("eta", self.eta, least=0, strict=True)
        checked_number("n_epochs", self.n_epochs, least=1, integer=True)

    def _set_threshold_from(self, X: Any, given: GivenPairs, before: float | None) -> None:
        calibrate(self, X, given, before)

    def _learn(self, X: Matrix, given: GivenPairs, *, resume: bool) -> None:
        A = self.get_mahalanobis_matrix() if resume else first_matrix(self.prior, X)
        constraints = bounded_constraints(X, given, A, getattr(self, "bounds_", None))
        self.__dict__.update(given.summary())
        self.n_updates_ = int(sum(lego_pass(*constraints, float(self.eta), A) for _ in range(self.n_epochs)))
        self.message_ = f"n_epochs={self.n_epochs} done"
        store_matrix(self, A)
