"""Information-theoretic metric learning: the matrix nearest to a prior in the LogDet divergence, given bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from gramian._kernels.logdet_metric import itml_cycle
from gramian.baselines._endings import Cycles, store_ending
from gramian.baselines._pair_learning import (
    Constraints,
    LearnsFromBounds,
    resolve_constraints,
    resolve_prior,
    store_matrix,
)
from gramian.checks import check_number
from gramian.coordinates import Coordinates
from gramian.estimators._checks import check_n_constraints
from gramian.estimators._distance import LearnedDistance
from gramian.supervision import GivenPairs
from gramian.types import Matrix, Vector

__all__ = ["ITML"]


class ITML(LearnedDistance, LearnsFromBounds, BaseEstimator):
    """A full-rank Mahalanobis distance near to a prior A₀, with bounds on the distances of pairs.

    Minimises D(A, A₀) + γ Σ_i D(ξ_i, b_i) over A and relaxed bounds ξ, subject to zᵀAz <= ξ_i for near pairs and
    zᵀAz >= ξ_i for far pairs, where D(A, B) = tr(A B⁻¹) - log det(A B⁻¹) - d. Cyclic projections onto the constraints
    keep A positive definite: A⁻¹ = A₀⁻¹ + Σ ρ_i λ_i z_i z_iᵀ, with dual variables λ_i, and ρ_i = +1 for "at most", -1
    for "at least". Equalities have ρ_i = +1 and λ_i of either sign. A projection costs O(d²), a cycle over m pairs
    O(m d²).

    Parameters
    ----------
    gamma : float
        γ, the penalty weight of relaxed bounds: large values enforce the bounds, small values keep the prior.
    prior : {"identity", "covariance"} or array of shape (d, d)
        A₀; "covariance" is the inverse of the covariance of X.
    n_constraints : int or None
        The number of pairs that `fit` draws uniformly at random. By default 40 c (c - 1) for c classes, but at most
        n (n - 1)/2, the number of different pairs of n samples, and at most 30,000.
    max_iter : int
        The maximum number of cycles over the pairs.
    tol : float
        Cycles stop when Σ |Δλ| is at most tol times the mean of Σ |λ| before and after the cycle.
    preprocessor : array or data frame, shape (n, d), or None
        Samples: methods then also take their indices in place of samples and points.
    random_state : int, RandomState, Generator or None
        The seed of the pairs that `fit` draws.

    Attributes
    ----------
    components_ : array, shape (d, d)
        The symmetric root of A; `transform(X) = X @ components_.T`.
    dual_ : array, shape (m,)
        The dual variables λ of the pairs whose samples do not coincide.
    bounds_ : tuple of float
        The upper bound for near pairs and the lower bound for far pairs, squared distances; set for labels or signs.
    spectrum_ : array, shape (d,)
        The eigenvalues of A, descending.
    threshold_ : float
        Pairs at this distance or less are similar; set by `fit_pairs` with y, `set_threshold`, `calibrate_threshold`.
    n_iter_ : int
        The number of cycles.
    converged_ : bool
        True if the stopping rule holds.
    message_ : str
        Why the fit ended.
    n_features_in_ : int
        The number of features of X.

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
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
        self.preprocessor = preprocessor
        self.random_state = random_state

    def _check_settings(self) -> None:
        """Raise a ValueError that names the first invalid parameter."""
        check_n_constraints(self.n_constraints)
        check_number("gamma", self.gamma, least=0, strict=True)
        check_number("max_iter", self.max_iter, least=1, integer=True)
        check_number("tol", self.tol, least=0)

    def _learn(self, X: Matrix, given: GivenPairs, *, resume: bool) -> Cycles:
        """Learn A from pairs of rows of X, and set the fitted attributes; return how the cycles ended."""
        coordinates = Coordinates.with_same_matrix(X)
        if isinstance(self.prior, str) and self.prior == "covariance":
            # A prior that is made from the data follows its unit: then distances do not.
            coordinates = coordinates.with_target_unit(1.0)
        X = coordinates.features.dense()
        A = resolve_prior(self.prior, X)
        scaled = replace(given, target_unit=coordinates.units.target)
        constraints, given = resolve_constraints(X, scaled, A, None)
        self.__dict__.update(given.summary())
        cycles = self._project(A, constraints)
        store_matrix(self, A, coordinates)
        return cycles

    def _project(self, A: Matrix, constraints: Constraints) -> Cycles:
        """Project A (d, d), in place, cyclically onto the constraints until the dual variables converge."""
        X, first, second, target, sense = constraints
        if not (target > 0).all():
            raise ValueError("target is 0 for a pair of different samples. Give positive squared distances.")
        self.dual_, inverse = np.zeros(len(target)), 1 / target
        cycles = Cycles("cycles", "gamma")
        while cycles.ending is None:
            moved = itml_cycle(X, first, second, sense, float(self.gamma), A, self.dual_, inverse)
            # The change is relative to the mean of the norms before and after.
            cycles = cycles.after(2 * moved, float(np.sum(np.abs(self.dual_))), max_iter=self.max_iter, tol=self.tol)
        self.n_iter_ = cycles.n_iter
        store_ending(self, cycles.ending, cycles.describe(self.max_iter))
        return cycles
