"""LogDet kernel learning: the kernel nearest to a given one in the LogDet divergence, with the same range space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from gramian._kernels.logdet import logdet_sweep
from gramian.baselines._endings import Cycles, store_ending, warn_unless_converged
from gramian.checks import check_number
from gramian.coordinates import Coordinates
from gramian.estimators._checks import restore_on_failure
from gramian.estimators._kernel_map import KernelMap, KernelPairs, check_rank, draw_pairs, resolve_n_pairs
from gramian.execution import one_blas_thread
from gramian.measurements import Pairs
from gramian.starts.kernel_pca import DecomposedKernel, kernel_pca
from gramian.supervision.sampling import as_generator
from gramian.types import Matrix, Vector

__all__ = ["LogDetKL"]


class Projected(NamedTuple):
    """B Bᵀ (r, r), the dual variables μ (m,), and how the sweeps over the pairs ended."""

    core: Matrix
    dual: Vector
    sweeps: Cycles


class LogDetKL(KernelMap):
    """A kernel K = G Gᵀ near to a start K₀ = G₀ G₀ᵀ of rank r, with bounds on the squared distances of pairs.

    The LogDet divergence D is finite only for kernels of the same range space, so G = G₀ B. Bounds b are relaxed to ξ,
    and D(K, K₀) + γ D(diag ξ, diag b) is minimised by cyclic projections onto one pair after another (Kulis, Sustik and
    Dhillon). With v = g₀_i - g₀_j, and a dual variable μ for each pair (μ ≥ 0 for "at most", μ ≤ 0 for "at least"),

        B Bᵀ = (I + Σ μ v vᵀ)⁻¹,    1/ξ = 1/b - μ/γ.

    Parameters
    ----------
    rank : int or None
        r, at most the rank of the centred K₀; None uses that rank.
    kernel : {"linear", "rbf", "poly", "cosine", "laplacian", ..., "precomputed"} or callable
        The kernel K₀ of the samples: a name or a function for `sklearn.metrics.pairwise.pairwise_kernels`, or
        "precomputed" if X is K₀ itself.
    gamma, degree, coef0 : float
        Parameters of the kernels that have them; gamma=None is 1/n_features.
    center : bool
        True starts from the r leading eigenvectors of the centred K₀, as kernel PCA does; False from those of K₀, and
        centres G₀ afterwards.
    alpha : float
        α in [0, 1), for `fit`: squared distances should be at most 1 - α times those of K₀ within a class, and at least
        1 + α times between classes.
    n_pairs : int or None
        The number of pairs that `fit` draws uniformly at random; None for 20 per sample.
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
        The seed of the pairs and of their order.

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
        True if the stopping rule holds.
    message_ : str
        Why the fit ended.
    n_features_in_ : int
        The number of columns of X.

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
        """Learn from class labels: shrink distances within classes and enlarge those between classes, by α.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.
        y : array, shape (n,)
            Labels of two classes or more.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread():
            X, y = self._read_labels(X, y)
            check_number("alpha", self.alpha, least=0, below=1)
            n_pairs = resolve_n_pairs(y, self.n_pairs, self.alpha)
            self._check_settings(X.shape[0])
            kernel, rng = self._decompose(X), as_generator(self.random_state)
            sweeps = self._learn(X, kernel, draw_pairs(kernel, y, n_pairs, self.alpha, rng), rng)
        warn_unless_converged(self, sweeps)
        return self

    def fit_pairs(self, X: Any, pairs: Any, target: Any, sense: Any = None) -> Self:
        """Learn from constraints on the squared distances of pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.
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
        with restore_on_failure(self), one_blas_thread():
            X, constraints = self._read_pairs(X, pairs, target, sense)
            self._check_settings(X.shape[0])
            bad = np.flatnonzero((constraints.target == 0) & (constraints.sense <= 0))
            if bad.size:
                raise ValueError(f"target[{bad[0]}] = 0, but the distances stay positive. Give targets above 0.")
            sweeps = self._learn(X, self._decompose(X), constraints, as_generator(self.random_state))
        warn_unless_converged(self, sweeps)
        return self

    def _check_settings(self, n_samples: int) -> None:
        """Raise a ValueError that names the first invalid parameter."""
        if self.rank is not None:
            check_rank(self.rank, n_samples)
        if self.slack != np.inf:
            check_number("slack", self.slack, least=0, strict=True)
        check_number("max_iter", self.max_iter, least=1, integer=True)
        check_number("tol", self.tol, least=0)

    def _learn(self, X: Any, kernel: DecomposedKernel, constraints: KernelPairs, rng: np.random.Generator) -> Cycles:
        """Run the projections and set the fitted attributes; return how the sweeps ended."""
        rank = len(kernel.values) if self.rank is None else int(self.rank)
        start = kernel_pca(kernel, rank)
        apart = Pairs(constraints.pairs).predict(start) > kernel.rounding
        self.dual_ = np.zeros(len(constraints.pairs))
        # Squared distances near 1: their inverses and their products stay in the range of numbers.
        coordinates = Coordinates.with_same_matrix(start)
        scaled = constraints._replace(target=coordinates.targets(constraints.target, name="target"))
        used = KernelPairs(*(column[apart] for column in scaled))
        core, dual, sweeps = self._project(coordinates.features.dense(), used, rng)
        self.dual_[apart] = dual * coordinates.units.target
        values, vectors = np.linalg.eigh(core)
        embedding = start @ (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        with np.errstate(over="ignore"):
            stored = embedding.astype(X.dtype)
        if not np.isfinite(stored).all():
            raise ValueError(f"the embedding of X is outside the range of {X.dtype} numbers. Scale X, or give float64.")
        self._store_map(X, kernel, stored, kernel.solve(embedding, 0.0))
        self.n_iter_ = sweeps.n_iter
        assert sweeps.ending is not None
        store_ending(self, sweeps.ending, sweeps.describe(self.max_iter))
        return sweeps

    def _project(self, start: Matrix, constraints: KernelPairs, rng: np.random.Generator) -> Projected:
        """Return B Bᵀ, the dual variables, and how sweeps over the pairs ended."""
        G, (first, second) = np.ascontiguousarray(start), np.ascontiguousarray(constraints.pairs.T)
        # A bound "at least 0" always holds: the inverse infinity keeps it inactive.
        target = constraints.target
        inverse = np.divide(1.0, target, out=np.full(len(target), np.inf), where=target > 0)
        share = 1 / (1 + 1 / self.slack)
        sense = constraints.sense.astype(np.int8)
        core, dual, order = np.eye(G.shape[1]), np.zeros(len(sense)), np.arange(len(sense))
        sweeps = Cycles("sweeps", "slack")
        while sweeps.ending is None:
            if self.shuffle:
                rng.shuffle(order)
            moved = logdet_sweep(G, first, second, inverse, sense, share, order, dual, core)
            sweeps = sweeps.after(moved, float(np.linalg.norm(dual)), max_iter=self.max_iter, tol=self.tol)
        if not np.isfinite(core).all():
            raise ValueError("the kernel is no longer finite: the bounds contradict each other. Lower slack.")
        return Projected(core, dual, sweeps)
