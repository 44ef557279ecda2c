"""Kernels of low rank, learned from labels or from the distances of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from gramian.checks import checked_number, checked_weight
from gramian.coordinates import Coordinates
from gramian.estimators._base import PSDEstimator
from gramian.estimators._checks import check_scale, checked_rank, unchanged_on_failure
from gramian.estimators._kernel_map import KernelMap, KernelPairs, check_rank, checked_pairing, draw_pairs
from gramian.execution import Execution
from gramian.geometries import Geometry
from gramian.losses import Squared
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.solvers import Result, Solver
from gramian.starts import Situation, fit_scale, resolve_start
from gramian.starts.kernel_pca import DecomposedKernel, kernel_pca
from gramian.types import Matrix, Vector

__all__ = ["KernelLearner"]

CHOICES = ("kernel", "identity", "random", "frame")


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
    max_iter, tol, batch_size, n_epochs, n_jobs, random_state, callback, verbose
        As for `PSDRegressor`.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        G, one row a sample. Also factor_.
    coefficients_ : array, shape (n, r)
        K₀⁺ G of the centred K₀: the map of `transform`.
    n_iter_, converged_, message_, history_, timings_, n_features_in_
        As for `PSDRegressor`.

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
        n_jobs: int | Execution | None = None,
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
        self.n_jobs = n_jobs
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
            rng, kernel = self._generator(), self._decompose(X)
            asked = draw_pairs(kernel, y, n_pairs, self.alpha, rng)
            result = self._learn(X, kernel, asked, checked_weight(None, n_pairs, X.dtype), rng)
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
            X, asked = self._read_pairs(X, pairs, target, sense)
            weight = checked_weight(sample_weight, len(asked.pairs), X.dtype)
            result = self._learn(X, self._decompose(X), asked, weight, self._generator())
        self._warn(result)
        return self

    def _learn(
        self, X: Any, kernel: DecomposedKernel, asked: KernelPairs, weight: Vector, rng: np.random.Generator
    ) -> Result:
        """Minimise, and set all that a fit sets."""
        checked_number("ridge", self.ridge, least=0)
        n, dtype = X.shape[0], X.dtype
        weight = weight / weight.sum(dtype=np.float64).astype(dtype)
        # Fourth powers of lengths go too far for float32.
        coordinates = Coordinates.of_nodes(n, dtype, asked.target)
        journal = self._journal(coordinates.cost_scale(Squared()))
        target = coordinates.targets(asked.target).astype(dtype)
        term = Term(Pairs(asked.pairs, n), target, sense=asked.sense, weight=weight)
        problem = Problem([Block(coordinates.features, [term])], self._execution())
        geometry, solver = self._geometry(), self._solver(rng)
        check_scale(geometry)
        with journal.phase("start"):
            start = self._start(problem, kernel, geometry, rng, coordinates)
        result = self._minimize(problem, geometry.point(start.astype(dtype)), solver, journal)
        G = result.point.G
        self._store(coordinates.to_user(G - G.mean(axis=0)), result, journal)
        ridge = self.ridge * (kernel.values[0] if len(kernel.values) else 1.0)
        self._keep(X, kernel, self.factor_, kernel.solve(self.factor_.astype(np.float64), ridge))
        return result

    def _start(
        self,
        problem: Problem,
        kernel: DecomposedKernel,
        geometry: Geometry,
        rng: np.random.Generator,
        coordinates: Coordinates,
    ) -> Matrix:
        """Return the first factor (n, r), centred unless it is square: the centred identity has lost a dimension."""
        n = problem.n_features
        if self.rank is not None:
            check_rank(self.rank, n)
        rank = checked_rank(self.rank, n, geometry)
        if isinstance(self.init, str) and self.init == "kernel":
            start = kernel_pca(kernel, rank, centred=self.center, advice=", or init='random'")
            return coordinates.to_solver(start)
        # At low rank the first columns of the identity would be the first samples alone.
        init = "frame" if isinstance(self.init, str) and self.init == "identity" and rank < n else self.init
        situation = Situation(coordinates.features, problem.execution, problem=problem, kernel=kernel)
        G = resolve_start(init, situation, rank, rng, choices=CHOICES)
        G = G - G.mean(axis=0) if rank < n else G
        return fit_scale(problem, G) if isinstance(self.init, str) else coordinates.to_solver(G)
