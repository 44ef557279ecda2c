"""Kernels of low rank, learned from labels or from the distances of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from gramian.checks import checked_number
from gramian.estimators.base import PSDEstimator
from gramian.estimators.checks import check_scale, checked_factor, checked_rank, checked_weight, unchanged_on_failure
from gramian.estimators.given_kernel import Given, KernelMap, check_rank, checked_pairing
from gramian.features import Identity
from gramian.geometries import Geometry
from gramian.initialise import fitted_scale
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.solvers import Result, Solver
from gramian.types import Matrix, Vector

__all__ = ["KernelLearner"]


class KernelLearner(KernelMap, PSDEstimator):
    """A kernel K = G Gᵀ of rank r over given samples, improved by labels or by the distances of pairs.

    The rows of G are the samples, embedded. Distances are **squared**, K_ii + K_jj - 2 K_ij, and G is centred, for they
    do not see translations. G starts as the kernel PCA of a kernel K₀ and moves until the distances of some pairs are
    as asked, by the mean of ½ (excess)² (the paper's kernel learning). `transform` extends it to new samples.

    Negative eigenvalues of the centred K₀ are taken as 0, with a warning beyond rounding, and refused beyond a
    hundredth of the largest.

    Parameters
    ----------
    rank : int or None
        r, at most the rank of the centred K₀ where it is the start. None for as many as samples.
    kernel : {"linear", "rbf", "poly", "cosine", "laplacian", ..., "precomputed"} or callable
        How K₀ is made from X: a name or a function for `sklearn.metrics.pairwise.pairwise_kernels`; "precomputed"
        where X is K₀ itself.
    gamma, degree, coef0 : float
        For the kernels that have them; gamma=None is 1/n_features.
    center : bool
        True starts from the r leading directions of the centred kernel, as kernel PCA does; False from those of K₀ as
        it is, and centres G afterwards.
    alpha : float
        What labels ask for, in [0, 1]: distances at most 1-α times those of K₀ in a class, at least 1+α times between.
    n_pairs : int or None
        The random pairs that labels are compared on, as they fall; None for 20 a sample.
    geometry : {"flat", "scaled", "polar"} or Geometry
        "flat" needs the fewest steps; by it and "scaled", samples that no pair touches stay where they are.
        `Polar(weight=0)` keeps the range space of the start: the best choice where pairs are few.
    solver : {"cg", "gd", "trust-region", "online"} or Solver
    init : {"kernel", "identity", "random"} or array of shape (n, r)
        The first G: kernel PCA of K₀; the identity, at low rank a random frame; or normal entries. The last two are
        scaled to the distances asked for.
    ridge : float
        Added to K₀ in `transform`, as a share of its largest eigenvalue. Some 0.01 smoothes the map of new samples
        where K₀ is regular ("rbf") and the range space has moved.
    max_iter, tol, batch_size, n_epochs, random_state, callback, verbose
        As for `PSDRegressor`.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        G, one row a sample. Also factor_.
    coefficients_ : array, shape (n, r)
        K₀⁺ G of the centred K₀: the map of `transform`.
    n_iter_, converged_, history_, n_features_in_
        As for `PSDRegressor`; costs are in units of about the mean target.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian.estimators.kernel import KernelLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelLearner(rank=2, random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.kernel_matrix().shape, model.transform(X[:5]).shape
    ((150, 2), (150, 150), (5, 2))
    >>> apart = KernelLearner(rank=2).fit_pairs(X, [[0, 1], [0, 149]], [0.1, 100.0], ["at most", "at least"])
    >>> bool(((apart.embedding_[0] - apart.embedding_[149]) ** 2).sum() > 99)
    True
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
        geometry: str | Geometry = "flat",
        solver: str | Solver = "cg",
        init: str | Matrix = "kernel",
        ridge: float = 0.0,
        max_iter: int = 1000,
        tol: float = 1e-5,
        batch_size: int = 32,
        n_epochs: int = 5,
        random_state: Any = None,
        callback: Any = None,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.alpha = alpha
        self.n_pairs = n_pairs
        self.geometry = geometry
        self.solver = solver
        self.init = init
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labels: classes drawn together and apart, by α.

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
            n_pairs = checked_pairing(y, self.n_pairs, self.alpha)
            rng = self._generator()
            given = self._given(X)
            weight = checked_weight(None, n_pairs, X.dtype)
            result = self._learn(X, given, *given.asked(y, n_pairs, self.alpha, rng), weight, rng)
        self._warn(result)
        return self

    def fit_pairs(self, X: Any, pairs: Any, target: Any, sense: Any = None, sample_weight: Any = None) -> Self:
        """Learn from squared distances of pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) where kernel="precomputed"
        pairs : array of int, shape (m, 2)
            Row numbers of two different samples.
        target : array, shape (m,), or float
            Squared distances, not negative.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them, optional
            Whether a distance shall equal its target (when omitted), be at most or at least that. Bounds of one pair
            must not contradict each other; several equalities are averaged.
        sample_weight : array, shape (m,), optional

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            X, pairs, target, senses = self._read_pairs(X, pairs, target, sense)
            weight = checked_weight(sample_weight, len(pairs), X.dtype)
            result = self._learn(X, self._given(X), pairs, target, senses, weight, self._generator())
        self._warn(result)
        return self

    def _learn(
        self, X: Any, given: Given, pairs: Matrix, target: Vector, sense: Vector, weight: Vector, rng: Any
    ) -> Result:
        """Minimises, and sets all that a fit sets."""
        checked_number("ridge", self.ridge, least=0)
        n, dtype = X.shape[0], X.dtype
        weight = weight / weight.sum(dtype=np.float64).astype(dtype)
        # Units of about the mean distance, a power of two: fourth powers of lengths go too far for float32.
        unit = 2.0 ** round(0.5 * np.log2(np.mean(target))) if target.any() else 1.0
        term = Term(Pairs(pairs, n), (target / unit**2).astype(dtype), sense=sense, weight=weight)
        problem = Problem([Block(Identity(n, dtype), [term])])
        geometry, solver = self._geometry(), self._solver(rng)
        check_scale(geometry)
        start = self._start(problem, given, geometry, rng, unit)
        result = self._solve(problem, geometry.point(start.astype(dtype)), solver)
        self.factor_ = unit * (self.factor_ - self.factor_.mean(axis=0))
        ridge = self.ridge * (given.values[0] if len(given.values) else 1.0)
        self._keep(X, given, self.factor_, given.solve(self.factor_.astype(np.float64), ridge))
        return result

    def _start(self, problem: Problem, given: Given, geometry: Geometry, rng: Any, unit: float) -> Matrix:
        """The first factor (n, r), centred unless it is square: the centred identity has lost a dimension."""
        n = problem.n_features
        if self.rank is not None:
            check_rank(self.rank, n)
        rank = checked_rank(self.rank, n, geometry)
        if not isinstance(self.init, str):
            G = checked_factor(self.init, n, rank, np.dtype(np.float64)) / unit
        elif self.init == "kernel":
            return self._leading(given, rank, ", or init='random'") / unit
        elif self.init == "identity":
            G = np.eye(n) if rank == n else np.linalg.qr(rng.standard_normal((n, rank)))[0]
        elif self.init == "random":
            G = rng.standard_normal((n, rank))
        else:
            raise ValueError(f"init={self.init!r} is unknown. Choose 'kernel', 'identity', 'random', or an array.")
        G = G - G.mean(axis=0) if rank < n else G
        return fitted_scale(problem, G.astype(problem.dtype)) if isinstance(self.init, str) else G
