"""LogDet kernel learning: the kernel nearest to a given one in the LogDet divergence, with the same range space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._kernels.logdet import logdet_sweep
from gramian.checks import checked_number
from gramian.estimators._checks import unchanged_on_failure
from gramian.estimators._kernel_map import KernelMap, KernelPairs, check_rank, checked_pairing, draw_pairs
from gramian.measurements import Pairs
from gramian.starts.kernel_pca import DecomposedKernel, kernel_pca
from gramian.supervision.sampling import as_generator
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["LogDetKL"]


class LogDetKL(KernelMap):
    """Learn a kernel K = G Gᵀ near to a start K₀ = G₀ G₀ᵀ of rank r from bounds on squared distances of pairs.

    The LogDet divergence D is finite only for kernels of the same range space, so G = G₀ B. Bounds b are relaxed to ξ,
    and D(K, K₀) + γ D(diag ξ, diag b) is minimised by cyclic projections onto one pair after another (Kulis, Sustik and
    Dhillon). With v = g₀_i - g₀_j, and a dual variable μ for each pair (μ ≥ 0 for "at most", μ ≤ 0 for "at least"),

        B Bᵀ = (I + Σ μ v vᵀ)⁻¹,    1/ξ = 1/b - μ/γ.

    Parameters
    ----------
    rank : int or None
        r, at most the rank of the centred K₀; None uses that rank.
    kernel, gamma, degree, coef0, center, alpha, n_pairs
        As for `KernelLearner`. alpha is below 1, because the distances stay positive.
    slack : float
        γ, the penalty weight of relaxed bounds; infinity for hard bounds. Few sets of hard bounds are feasible in a
        given range space.
    shuffle : bool
        True visits the pairs in a new random order in each sweep; False visits them in the given order, as published,
        which takes many times more sweeps if there are many pairs.
    max_iter : int
        The maximum number of sweeps over the pairs.
    tol : float
        Sweeps stop when ‖μ - μ_old‖₁ <= tol (‖μ‖₂ + ‖μ_old‖₂), for μ_old before a sweep and μ after it.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        G = G₀ B with the symmetric B, one row for each sample.
    coefficients_ : array, shape (n, r)
        K₀⁺ G for the centred K₀; `transform` uses it.
    dual_ : array, shape (m,)
        The dual variable μ of each pair.
    n_iter_ : int
        The number of sweeps.
    converged_ : bool
    message_ : str
        Why the sweeps ended.
    n_features_in_

    Notes
    -----
    The start takes O(n³), a projection O(r²), a sweep over m pairs O(m r²). Samples that coincide in the start still
    coincide in the result.

    References
    ----------
    B. Kulis, M. A. Sustik and I. S. Dhillon, "Low-Rank Kernel Learning with Bregman Matrix Divergences", JMLR 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian.baselines import LogDetKL
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogDetKL(rank=2, random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.transform(X[:5]).shape, model.converged_
    ((150, 2), (5, 2), True)
    >>> near = LogDetKL(rank=2, slack=float("inf")).fit_pairs(X, [[0, 149]], 1.0, "at most")
    >>> round(float(((near.embedding_[0] - near.embedding_[149]) ** 2).sum()), 6)
    1.0
    """

    def __init__(
        self,
        rank: int | None = 2,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        center: bool = True,
        alpha: float = 0.25,
        n_pairs: int | None = None,
        slack: float = 1.0,
        shuffle: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.alpha = alpha
        self.n_pairs = n_pairs
        self.slack = slack
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labels: shrink distances within a class and grow those between classes, by the share α.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) where kernel="precomputed"
        y : array, shape (n,)
            Labels of two classes or more.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            X, y = self._read_labels(X, y)
            checked_number("alpha", self.alpha, least=0, below=1)
            n_pairs = checked_pairing(y, self.n_pairs, self.alpha)
            self._check_settings(X.shape[0])
            kernel, rng = self._decompose(X), as_generator(self.random_state)
            self._learn(X, kernel, draw_pairs(kernel, y, n_pairs, self.alpha, rng), rng)
        self._warn()
        return self

    def fit_pairs(self, X: Any, pairs: Any, target: Any, sense: Any = None) -> Self:
        """Learn from bounds on the squared distances of pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) where kernel="precomputed"
        pairs : array of int, shape (m, 2)
            Indices of two different samples.
        target : array, shape (m,), or float
            Squared distances b, positive.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them, optional
            Whether a distance should equal its target (default), be at most, or be at least the target.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            X, asked = self._read_pairs(X, pairs, target, sense)
            self._check_settings(X.shape[0])
            bad = np.flatnonzero((asked.target == 0) & (asked.sense <= 0))
            if bad.size:
                raise ValueError(f"target[{bad[0]}] = 0, but the distances stay positive. Give targets above 0.")
            self._learn(X, self._decompose(X), asked, as_generator(self.random_state))
        self._warn()
        return self

    def _check_settings(self, n_samples: int) -> None:
        if self.rank is not None:
            check_rank(self.rank, n_samples)
        if self.slack != np.inf:
            checked_number("slack", self.slack, least=0, strict=True)
        checked_number("max_iter", self.max_iter, least=1, integer=True)
        checked_number("tol", self.tol, least=0)

    def _learn(self, X: Any, kernel: DecomposedKernel, asked: KernelPairs, rng: np.random.Generator) -> None:
        """Run the projections and set the fitted attributes."""
        rank = len(kernel.values) if self.rank is None else int(self.rank)
        start = kernel_pca(kernel, rank, centred=self.center)
        apart = Pairs(asked.pairs).predict(start) > kernel.rounding
        self.dual_ = np.zeros(len(asked.pairs))
        core, self.dual_[apart] = self._project(start, KernelPairs(*(column[apart] for column in asked)), rng)
        values, vectors = np.linalg.eigh(core)
        embedding = start @ (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        self._keep(X, kernel, embedding.astype(X.dtype), kernel.solve(embedding, 0.0))

    def _project(self, start: Matrix, asked: KernelPairs, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        """Return B Bᵀ (r, r) and μ (m,), after sweeps over the pairs."""
        G, (first, second) = np.ascontiguousarray(start), np.ascontiguousarray(asked.pairs.T)
        # A bound "at least 0" always holds: the inverse infinity keeps it inactive.
        inverse = np.divide(1.0, asked.target, out=np.full(len(asked.target), np.inf), where=asked.target > 0)
        share = 1 / (1 + 1 / self.slack)
        sense = asked.sense.astype(np.int8)
        core, dual, order = np.eye(G.shape[1]), np.zeros(len(sense)), np.arange(len(sense))
        size, self.converged_ = 0.0, False
        for sweep in range(self.max_iter):
            if self.shuffle:
                rng.shuffle(order)
            self._change = logdet_sweep(G, first, second, inverse, sense, share, order, dual, core)
            before, size = size, float(np.linalg.norm(dual))
            self.n_iter_, self.converged_ = sweep + 1, self._change <= self.tol * (before + size)
            if self.converged_ or not np.isfinite(size):
                break
        self.message_ = (
            "relative change of the duals below tol" if self.converged_ else f"max_iter={self.max_iter} reached"
        )
        if not np.isfinite(core).all():
            raise ValueError("the kernel is no longer finite: the bounds contradict each other. Lower slack.")
        return core, dual

    def _warn(self) -> None:
        """Issue a ConvergenceWarning if the sweeps did not converge."""
        if not self.converged_:
            warn_user(
                f"not converged after max_iter={self.max_iter} sweeps: in the last one the dual variables changed by "
                f"{self._change:.2e}, of {np.abs(self.dual_).sum():.2e}. Raise max_iter or tol, or lower slack.",
                ConvergenceWarning,
            )
