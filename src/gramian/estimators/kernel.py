"""Kernels of low rank, learned from class labels or from constraints on the distances of pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

from gramian.checks import check_number, validate_weight
from gramian.coordinates import Coordinates
from gramian.estimators._base import PSDEstimator
from gramian.estimators._blocks import close_own_cluster
from gramian.estimators._checkpoint import checkpoint_of
from gramian.estimators._checks import check_scale, resolve_rank, restore_on_failure
from gramian.estimators._kernel_map import KernelMap, KernelPairs, draw_pairs, resolve_n_pairs
from gramian.estimators._rank import RankSearch, check_auto, is_auto
from gramian.estimators._setup import Setup
from gramian.execution import Execution, one_blas_thread
from gramian.geometries import Geometry
from gramian.losses import Squared
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.solvers import Journal, Result, Solver
from gramian.starts import Situation, fit_scale, resolve_start
from gramian.starts.kernel_pca import DecomposedKernel
from gramian.types import Matrix, Vector

__all__ = ["KernelLearner"]

#: With smaller ridges, coefficients are computed from all eigenvectors: others are rounding.
LEAST_RIDGE = 1e-8
CHOICES = ("kernel", "identity", "random", "frame")


class KernelLearner(KernelMap, PSDEstimator):
    """A kernel K = G Gᵀ of rank r on given samples, learned from class labels or from distances of pairs.

    Row i of G is the embedding of sample i. Distances are **squared**: K_ii + K_jj - 2 K_ij. They do not change under
    translations, so G is centred. G starts at the kernel PCA of a kernel K₀, and the mean of ½ (violation)² over the
    constraints on pairs is minimised, as in the paper's kernel learning. `transform` maps new samples.

    Negative eigenvalues of the centred K₀ are set to 0, with a warning unless they are rounding errors. If one exceeds
    a hundredth of the largest eigenvalue, K₀ is refused.

    Parameters
    ----------
    rank : int, "auto" or None
        r; at most the rank of the centred K₀ if init="kernel". None for the number of samples. "auto" learns from three
        quarters of the pairs, with ranks from 1 on, each from `init`. It takes the lowest rank whose cost on the other
        pairs is within one standard error of the best, or that fits and predicts all pairs.
    kernel : {"linear", "rbf", "poly", "cosine", "laplacian", ..., "precomputed"} or callable
        The kernel K₀ of the samples: a name or a function for `sklearn.metrics.pairwise.pairwise_kernels`, or
        "precomputed" if X is K₀ itself.
    gamma, degree, coef0 : float
        Parameters of the kernels that have them; gamma=None is 1/n_features.
    center : bool
        True starts from the r leading eigenvectors of the centred K₀, as kernel PCA does; False from those of K₀, and
        centres G afterwards.
    alpha : float
        α in [0, 1], for `fit`: squared distances should be at most 1 - α times those of K₀ within a class, and at least
        1 + α times between classes.
    n_pairs : int or None
        The number of pairs that `fit` draws uniformly at random; None for 20 per sample.
    geometry : {"flat", "scaled", "polar"} or Geometry
        The matrices K that are searched, and their metric. "flat" takes the fewest iterations. With "flat" and
        "scaled", samples without pairs do not move. `Polar(weight=0)` keeps the range space of the start: the best
        choice if there are few pairs.
    solver : {"cg", "lbfgs", "gd", "trust-region", "online"} or Solver
        "cg" (conjugate gradients) or "lbfgs" for most problems, "trust-region" for high accuracy, "gd" for the paper's
        gradient descent, "online" for mini-batches.
    init : {"kernel", "identity", "random"} or array of shape (n, r)
        The start: kernel PCA of K₀; the identity, or a random orthonormal matrix if r < n; or normal entries. The last
        two are scaled to fit the target distances.
    ridge : float or "auto"
        Added to the eigenvalues of K₀ in `transform`, as a share of the largest. "auto" chooses among 0 and the powers
        of ten from 1e-12 to 0.1 by the leave-one-out error of the map to the embedding. With 0, small eigenvalues of
        K₀ ("rbf") may map new samples far away if the range space has changed.
    max_iter : int
        The maximum number of iterations of a batch solver.
    tol : float
        A batch solver stops when the relative decrease of the cost or the relative change of the factor is at most tol,
        or when the cost is at most tol times the cost of K = 0.
    batch_size : int
        The number of pairs in a mini-batch of solver="online". A `Solver` object has its own batch size.
    n_epochs : int
        The number of passes of solver="online" over the data.
    certificate : bool
        True sets `certificate_` for a given rank too.
    n_jobs : int, None or Execution
        The number of threads, -1 for one per core; every number gives the same bits. None is that of joblib's
        `parallel_config`, or else as many as BLAS may use.
    random_state : int, RandomState, Generator or None
        The seed of the pairs, of the random start and of the order of mini-batches.
    callback : callable, optional
        Called with a `gramian.solvers.Record` after every iteration; a true return value stops the fit.
    checkpoint : path, optional
        A file that stores the state of `fit`, or a folder for the files of several fits. If the fit is interrupted, the
        same call goes on from there. The file is removed at the end of the fit.
    checkpoint_every : float
        The seconds from one write to the next.
    verbose : int
        1 shows a bar on a terminal and in notebooks, if tqdm is installed, else every tenth iteration on standard
        error; 2 shows every iteration.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        G, one row per sample; also available as factor_.
    coefficients_ : array, shape (n, r)
        K₀⁺ G for the centred K₀; `transform` uses it.
    rank_ : int
        The rank r.
    rank_path_ : list of gramian.estimators.RankTrial
        With rank="auto", the ranks that were tried. The cost of each is that of three quarters of the pairs,
        which it learns from; held_out_cost is that of the others, by which the rank is chosen.
    certificate_ : gramian.certificate.Certificate
        How far K is from the best kernel of any rank; with rank="auto" or certificate=True.
    ridge_ : float
        The ridge of `transform`.
    n_iter_ : int
        The number of iterations; of epochs for solver="online".
    converged_ : bool
        True if a stopping rule holds; always False for solver="online", which has none.
    message_ : str
        Why the fit ended.
    history_ : dict of str to array
        iteration, cost, gradient_norm, step, time (seconds) and passes (over the data): one entry per iteration, the
        start included.
    timings_ : dict of str to float
        The seconds spent outside the iterations, by phase.
    n_features_in_ : int
        The number of columns of X.

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
        rank: int | str | None = 2,
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
        ridge: float | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-5,
        batch_size: int = 32,
        n_epochs: int = 5,
        certificate: bool = False,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
        callback: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
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
        self.certificate = certificate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def decompose(self, X: Any) -> DecomposedKernel:
        """Return the kernel K₀ of the samples with its eigendecomposition, which several fits can share.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.

        Returns
        -------
        gramian.starts.kernel_pca.DecomposedKernel

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelLearner
        >>> X, y = load_iris(return_X_y=True)
        >>> decomposed = KernelLearner(kernel="rbf").decompose(X)
        >>> for rank in (2, 3):
        ...     model = KernelLearner(rank, kernel="rbf", random_state=0).fit(X, y, decomposed)
        """
        kernel = self._input_kernel
        return kernel.decompose(check_array(X, **kernel.validation_options, ensure_min_samples=2))

    def _takes_features(self) -> bool:
        """Return False if X is a kernel."""
        return not self._input_kernel.precomputed

    def _decompose(self, X: Any) -> DecomposedKernel:
        """Return the decomposed kernel; only the eigenvectors of the start, if rank and ridge are given."""
        given = isinstance(self.ridge, Real) and not isinstance(self.ridge, bool) and self.ridge >= LEAST_RIDGE
        if given and isinstance(self.rank, Integral) and 1 <= self.rank < X.shape[0]:
            return self._input_kernel.decompose(X, int(self.rank))
        return self._input_kernel.decompose(X)

    def _resolve_kernel(self, X: Any, given: DecomposedKernel | None, journal: Journal) -> DecomposedKernel:
        """Return the decomposed kernel of the samples, or the given one; raise a ValueError if `ridge` is invalid."""
        if self.ridge != "auto":
            check_number("ridge", self.ridge, least=0, also=("auto",))
        with journal.phase("kernel"):
            return self._decompose(X) if given is None else self._check_decomposed(X, given)

    def fit(self, X: Any, y: Any, decomposed: DecomposedKernel | None = None) -> Self:
        """Learn from class labels: shrink distances within classes and enlarge those between classes, by α.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.
        y : array, shape (n,)
            Labels of two classes or more.
        decomposed : DecomposedKernel, optional
            What `decompose` returned for the same X and the same parameters of the kernel; computed if omitted.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread(), close_own_cluster(self), checkpoint_of(self) as checkpoint:
            X, y = self._read_labels(X, y)
            n_pairs = resolve_n_pairs(y, self.n_pairs, self.alpha)
            journal, rng = self._open_journal(), self._make_generator()
            checkpoint.open(journal, rng, X=X, y=y)
            kernel = self._resolve_kernel(X, decomposed, journal)
            constraints = draw_pairs(kernel, y, n_pairs, self.alpha, rng)
            result = self._learn(X, kernel, constraints, validate_weight(None, n_pairs, X.dtype), rng, journal)
        self._warn(result, journal)
        return self

    def fit_pairs(
        self,
        X: Any,
        pairs: Any,
        target: Any,
        sense: Any = None,
        sample_weight: Any = None,
        decomposed: DecomposedKernel | None = None,
    ) -> Self:
        """Learn from constraints on the squared distances of pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.
        pairs : array of int, shape (m, 2)
            Indices of two different samples.
        target : array, shape (m,), or float
            Squared distances, not negative.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them, optional
            Whether a distance should equal its target (default), be at most, or be at least the target. Bounds on the
            same pair must not contradict each other; several equalities are averaged.
        sample_weight : array, shape (m,), optional
            Weights of the pairs.
        decomposed : DecomposedKernel, optional
            What `decompose` returned for the same X and the same parameters of the kernel; computed if omitted.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread(), close_own_cluster(self), checkpoint_of(self) as checkpoint:
            X, constraints = self._read_pairs(X, pairs, target, sense)
            weight = validate_weight(sample_weight, len(constraints.pairs), X.dtype, "pair")
            journal, rng = self._open_journal(), self._make_generator()
            checkpoint.open(journal, rng, X=X, weight=weight, **constraints._asdict())
            kernel = self._resolve_kernel(X, decomposed, journal)
            result = self._learn(X, kernel, constraints, weight, rng, journal)
        self._warn(result, journal)
        return self

    def _learn(
        self,
        X: Any,
        kernel: DecomposedKernel,
        constraints: KernelPairs,
        weight: Vector,
        rng: np.random.Generator,
        journal: Journal,
    ) -> Result:
        """Return the result of minimising, and set the fitted attributes."""
        n, dtype = X.shape[0], X.dtype
        weight = weight / weight.sum(dtype=np.float64).astype(dtype)
        # Fourth powers of distances can overflow in float32.
        coordinates = Coordinates.of_nodes(n, dtype, constraints.target)
        journal.cost_scale = coordinates.cost_scale(Squared())
        target = coordinates.targets(constraints.target, dtype, "target")
        term = Term(Pairs(constraints.pairs, n), target, sense=constraints.sense, weight=weight)
        problem = Problem([Block(coordinates.features, [term])], self._resolve_execution())
        geometry, solver = self._resolve_geometry(), self._resolve_solver(rng)
        check_scale(geometry)
        setup = Setup(problem, solver, geometry, coordinates, journal, rng)
        start_of = partial(self._compute_start, setup, kernel)
        rank = self.rank
        if is_auto(rank):
            check_auto("rank", self.init, solver, geometry)
            largest = min(len(kernel.values) if self.init == "kernel" else n, n - 1)
            choice = RankSearch(setup.with_own_generator(), max(largest, 1), start_of).choose()
            rank, self.rank_path_ = choice.rank, choice.trials
        with journal.phase("start"):
            start = start_of(rank)
        result = self._minimize(setup, geometry.point(start))
        self._certify(setup, result)
        G = result.point.G
        self._store_result(coordinates.to_user(G - G.mean(axis=0)), result, journal)
        self.rank_ = self.factor_.shape[1]
        embedding = self.factor_.astype(np.float64)
        self.ridge_ = kernel.choose_ridge(embedding) if self.ridge == "auto" else float(self.ridge)
        ridge = self.ridge_ * (kernel.values[0] if len(kernel.values) else 1.0)
        self._store_map(X, kernel, self.factor_, kernel.solve(embedding, ridge))
        return result

    def _compute_start(self, setup: Setup, kernel: DecomposedKernel, rank: Any) -> Matrix:
        """Return the start (n, r), centred if r < n: centring a square start would lower its rank."""
        problem, features = setup.problem, setup.problem.blocks[0].features
        n = problem.n_features
        rank = resolve_rank(rank, n, setup.geometry, "n_samples")
        name = self.init if isinstance(self.init, str) else ""
        # At low rank, the first columns of the identity would depend on the first samples only.
        init = "frame" if name == "identity" and rank < n else self.init
        # Every call draws alike: a start that is judged while a rank is chosen is the one of the fit.
        rng = setup.with_own_generator().rng
        situation = Situation(features, rng, problem.execution, setup.coordinates, problem, kernel=kernel)
        G = resolve_start(init, situation, rank, choices=CHOICES, rows="n_samples")
        if name != "kernel":
            G = G - G.mean(axis=0) if rank < n else G
            G = fit_scale(problem, G) if name else G
        return G.astype(problem.dtype)
