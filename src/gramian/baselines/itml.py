"""Information-theoretic metric learning: the nearest matrix in the LogDet divergence that keeps pairs near and far."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._kernels.logdet_metric import itml_cycle
from gramian.baselines.mahalanobis import BoundedLearner, Constraints
from gramian.checks import checked_number
from gramian.types import Matrix, Vector

__all__ = ["ITML"]


class ITML(BoundedLearner):
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
    n_iter_, converged_, n_features_in_

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

    def _check_settings(self) -> None:
        super()._check_settings()
        checked_number("gamma", self.gamma, least=0, strict=True)
        checked_number("max_iter", self.max_iter, least=1, integer=True)
        checked_number("tol", self.tol, least=0)

    def _improved(self, A: Matrix, constraints: Constraints) -> Matrix:
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
                break
        else:
            warnings.warn(
                f"not converged after max_iter={self.max_iter} cycles: the last changed {change:.1e} of the duals. "
                "Raise max_iter or tol, or lower gamma.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return A
