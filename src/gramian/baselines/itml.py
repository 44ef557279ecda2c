"""Information-theoretic metric learning: the nearest matrix in the LogDet divergence that keeps pairs near and far."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gramian._kernels.logdet_metric import itml_cycle
from gramian.baselines._pair_learning import (
    Constraints,
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
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["ITML"]


class ITML(LearnedDistance, BaseEstimator):
    """A distance of full rank, as near to a prior A₀ as pairs allow.

    Minimises D(A, A₀) + γ Σ_i D(ξ_i, b_i) over A and slacked bounds ξ, with zᵀAz <= ξ_i for pairs that should be near
    and >= ξ_i for others; D(A, B) = tr(A B⁻¹) - log det(A B⁻¹) - d. A is projected onto one constraint after the other,
    cycle by cycle, which keeps it positive definite: A⁻¹ = A₀⁻¹ + Σ ρ_i λ_i z_i z_iᵀ, with duals λ and ρ = +1 for at
    most, -1 for at least; pairs that should be equal have ρ = +1 and λ of either sign. A projection costs O(d²), a
    cycle O(m d²) for m pairs.

    Parameters
    ----------
    gamma : float
        γ, the price of slack: large keeps the bounds, small keeps the prior.
    prior : {"identity", "covariance"} or array of shape (d, d)
        A₀; "covariance" is the inverse of the covariance of X.
    n_constraints : int or None
        Pairs drawn from labels, as they fall; 40 c (c - 1) for c classes by default.
    max_iter : int
        Cycles at most.
    tol : float
        Cycles end once Σ |Δλ| is at most tol times the mean of Σ |λ| before and after.
    random_state : int, RandomState or None
        For drawing pairs.

    Attributes
    ----------
    components_ : array, shape (d, d)
        The symmetric root of A; `transform(X) = X @ components_.T`.
    dual_ : array, shape (m,)
        λ, one for each pair of samples that do not coincide.
    bounds_ : tuple of float
        Where pairs came by label or sign: l and u, squared distances.
    threshold_ : float
        After `fit_pairs` with y, `set_threshold` or `calibrate_threshold`: pairs at most so far apart are the same.
    n_iter_, converged_, message_, n_features_in_

    References
    ----------
    Davis, Kulis, Jain, Sra, Dhillon: Information-theoretic metric learning. ICML 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gramian.baselines import ITML
    >>> X, y = load_iris(return_X_y=True)
    >>> learned = make_pipeline(StandardScaler(), ITML(random_state=0), KNeighborsClassifier(5))
    >>> bool(cross_val_score(learned, X, y).mean() > 0.95)
    True
    """

    dual_: Vector
    n_iter_: int
    converged_: bool
    message_: str

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        prior: str | Matrix = "identity",
        n_constraints: int | None = None,
        max_iter: int = 10_000,
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
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

    def _check_settings(self) -> None:
        if self.n_constraints is not None:
            checked_number("n_constraints", self.n_constraints, least=1, integer=True)
        checked_number("gamma", self.gamma, least=0, strict=True)
        checked_number("max_iter", self.max_iter, least=1, integer=True)
        checked_number("tol", self.tol, least=0)

    def _set_threshold_from(self, X: Any, given: GivenPairs, before: float | None) -> None:
        calibrate(self, X, given, before)

    def _learn(self, X: Matrix, given: GivenPairs, *, resume: bool) -> None:
        A = first_matrix(self.prior, X)
        constraints = bounded_constraints(X, given, A, None)
        self.__dict__.update(given.summary())
        self._project(A, constraints)
        store_matrix(self, A)

    def _project(self, A: Matrix, constraints: Constraints) -> None:
        """Project A, in place, onto one constraint after the other until the duals settle."""
        X, first, second, target, sense = constraints
        if not (target > 0).all():
            raise ValueError("target is 0 for a pair of different samples. Give positive squared distances.")
        self.dual_, inverse = np.zeros(len(target)), 1 / target
        size = 0.0
        for turn in range(self.max_iter):
            moved = itml_cycle(X, first, second, sense, float(self.gamma), A, self.dual_, inverse)
            before, size = size, float(np.sum(np.abs(self.dual_)))
            # No dual at all: every constraint holds under the prior.
            change = 2 * moved / (before + size) if moved > 0 else 0.0
            self.n_iter_ = turn + 1
            self.converged_ = bool(change <= self.tol)
            if self.converged_:
                self.message_ = "relative change of the duals below tol"
                break
        else:
            self.message_ = f"max_iter={self.max_iter} reached"
            warn_user(
                f"not converged after max_iter={self.max_iter} cycles: the last changed {change:.1e} of the duals. "
                "Raise max_iter or tol, or lower gamma.",
                ConvergenceWarning,
            )
