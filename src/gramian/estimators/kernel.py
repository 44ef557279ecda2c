"""Kernels of low rank, learned from labels or from the distances of pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.preprocessing import KernelCenterer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.checks import checked_number
from gramian.estimators.base import PSDEstimator
from gramian.estimators.checks import check_scale, checked_factor, checked_rank, checked_weight, unchanged_on_failure
from gramian.estimators.supervision import check_contradictions, checked_pairs, checked_target
from gramian.features import Identity
from gramian.geometries import Geometry
from gramian.initialise import fitted_scale
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.sampling import labelled_pairs
from gramian.solvers import Result, Solver
from gramian.types import Matrix, Vector

__all__ = ["KernelLearner"]

PAIRS_PER_SAMPLE = 20
# Shares of the largest entry and of the largest eigenvalue: with more than this a matrix is no kernel.
LARGEST_ASYMMETRY, LARGEST_NEGATIVE = 1e-5, 0.01


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PSDEstimator):
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
            X, y = validate_data(self, X, y, **self._wanted(), ensure_min_samples=2)
            check_classification_targets(y)
            n_pairs = self._checked_pairing(y)
            rng = self._generator()
            given = self._given(X)
            pairs, same = labelled_pairs(y, n_pairs, random_state=rng)
            target = np.where(same, 1 - self.alpha, 1 + self.alpha) * given.distances(pairs)
            weight = checked_weight(None, n_pairs, X.dtype)
            result = self._learn(X, given, pairs, target, np.where(same, -1, 1), weight, rng)
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
            X = validate_data(self, X, **self._wanted(), ensure_min_samples=2)
            pairs = checked_pairs(pairs, X.shape[0])
            target, senses = checked_target(target, sense, len(pairs))
            # Equalities are averaged here, so they contradict nothing: as bounds they are "at least 0".
            check_contradictions(pairs, np.where(senses == 0, 0, target), np.where(senses == 0, 1, senses))
            weight = checked_weight(sample_weight, len(pairs), X.dtype)
            result = self._learn(X, self._given(X), pairs, target, senses, weight, self._generator())
        self._warn(result)
        return self

    def transform(self, X: Any) -> Matrix:
        """New samples, embedded: k_xᵀ K₀⁺ G, k_x their kernel with the samples learned from.

        The low-rank part of κ₀ + k_xᵀ K₀⁻¹ (K - K₀) K₀⁻¹ k_x' (Jain, Kulis and Dhillon, 2010). Samples learned from
        are mapped to `embedding_` where that lies in the range of K₀: for `Polar(weight=0)`, and where K₀ is regular.
        Else, as for a linear kernel of fewer features than samples, they and the result of `fit_transform` are the
        nearest to it that a function of the kernel can be.

        Parameters
        ----------
        X : array or sparse matrix of shape (n', d), or their kernel (n', n) where kernel="precomputed"

        Returns
        -------
        array, shape (n', r)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._wanted())
        rows = self._centerer.transform(self._kernel(X, self._samples, self._origin))
        return (rows @ self.coefficients_).astype(X.dtype)

    def kernel_matrix(self, X: Any = None) -> Matrix:
        """K = G Gᵀ of the samples learned from; or of new ones with them.

        Parameters
        ----------
        X : array or sparse matrix, as for `transform`, optional

        Returns
        -------
        array, shape (n, n); or (n', n) with X
        """
        check_is_fitted(self)
        return (self.embedding_ if X is None else self.transform(X)) @ self.embedding_.T

    def _wanted(self) -> dict[str, Any]:
        return {"accept_sparse": False if self.kernel == "precomputed" else "csr", "dtype": [np.float64, np.float32]}

    def _checked_pairing(self, y: Vector) -> int:
        """The number of pairs to draw, all settings for labels being valid."""
        checked_number("alpha", self.alpha, least=0)
        if self.alpha > 1:
            raise ValueError(f"alpha={self.alpha} asks for negative distances. Choose a number in [0, 1].")
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}; labels of two classes or more are needed.")
        if self.n_pairs is None:
            return PAIRS_PER_SAMPLE * len(y)
        checked_number("n_pairs", self.n_pairs, least=1, integer=True)
        return int(self.n_pairs)

    def _kernel(self, X: Any, Y: Any, origin: Vector | None) -> Matrix:
        """The kernel of rows of X with rows of Y; in float64, for centring it may take away most of it."""
        X = shifted(X, origin)
        if self.kernel == "precomputed":
            return X
        if not (callable(self.kernel) or self.kernel in PAIRWISE_KERNEL_FUNCTIONS):
            names = ", ".join(repr(name) for name in sorted(PAIRWISE_KERNEL_FUNCTIONS))
            raise ValueError(f"kernel={self.kernel!r} is unknown. Choose 'precomputed', {names}, or a function.")
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0, "filter_params": True}
        settings = {} if callable(self.kernel) else named
        K = pairwise_kernels(X, shifted(Y, origin), metric=self.kernel, **settings)
        if not np.isfinite(K).all():
            raise ValueError(f"kernel={self.kernel!r} gives values that are not finite. Scale X.")
        return K

    def _given(self, X: Any) -> Given:
        # Centring takes a mean away, but does not give back the digits that it cost.
        shifts = self.center and self.kernel == "linear" and not scipy.sparse.issparse(X)
        origin = X.mean(axis=0, dtype=np.float64) if shifts else None
        K = symmetric(self._kernel(X, X, origin))
        centerer = KernelCenterer().fit(K)
        eps = np.finfo(X.dtype if self.kernel == "precomputed" else np.float64).eps
        rounding = 10 * len(K) * float(eps * np.abs(K).max())
        return Given(K, origin, centerer, *decomposed(centerer.transform(K), rounding), rounding)

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
        self.factor_ = self.embedding_ = unit * (self.factor_ - self.factor_.mean(axis=0))
        self.coefficients_ = given.solve(self.embedding_.astype(np.float64), float(self.ridge))
        self._samples = None if self.kernel == "precomputed" else X
        self._origin, self._centerer = given.origin, given.centerer
        return result

    def _start(self, problem: Problem, given: Given, geometry: Geometry, rng: Any, unit: float) -> Matrix:
        """The first factor (n, r), centred unless it is square: the centred identity has lost a dimension."""
        n = problem.n_features
        if isinstance(self.rank, int) and self.rank > n:
            raise ValueError(f"rank={self.rank} exceeds n_samples={n}. Choose rank <= {n}.")
        rank = checked_rank(self.rank, n, geometry)
        if not isinstance(self.init, str):
            G = checked_factor(self.init, n, rank, np.dtype(np.float64)) / unit
        elif self.init == "kernel":
            return self._leading(given, rank) / unit
        elif self.init == "identity":
            G = np.eye(n) if rank == n else np.linalg.qr(rng.standard_normal((n, rank)))[0]
        elif self.init == "random":
            G = rng.standard_normal((n, rank))
        else:
            raise ValueError(f"init={self.init!r} is unknown. Choose 'kernel', 'identity', 'random', or an array.")
        G = G - G.mean(axis=0) if rank < n else G
        return fitted_scale(problem, G.astype(problem.dtype)) if isinstance(self.init, str) else G

    def _leading(self, given: Given, rank: int) -> Matrix:
        """Kernel PCA: the r leading directions of the kernel, centred before or after."""
        values, vectors = given.values[:rank], given.vectors[:, :rank]
        if not self.center:
            n = len(given.kernel)
            values, vectors = scipy.linalg.eigh(given.kernel, subset_by_index=[n - rank, n - 1])
        signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])
        G = vectors * (signs * np.sqrt(np.maximum(values, 0)))
        G = G - G.mean(axis=0)
        found = int(np.linalg.matrix_rank(G, tol=given.rounding**0.5))
        if found < rank:
            raise ValueError(
                f"rank={rank} exceeds the rank {found} of the centred kernel (n_features={self.n_features_in_}). "
                f"Choose rank <= {found}, or init='random'."
            )
        return G

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Given(NamedTuple):
    """A kernel (n, n) of X less an origin, what centres it, and the centred one's eigenvalues, falling, and vectors."""

    kernel: Matrix
    origin: Vector | None
    centerer: KernelCenterer
    values: Vector
    vectors: Matrix
    rounding: float

    def distances(self, pairs: Matrix) -> Vector:
        """The squared distances of pairs, (m,)."""
        return Pairs(pairs).predict(self.vectors * np.sqrt(self.values))

    def solve(self, G: Matrix, ridge: float) -> Matrix:
        """(K₀ + ridge · largest eigenvalue)⁺ G, on the range of the centred kernel K₀."""
        largest = self.values[0] if len(self.values) else 1.0
        return (self.vectors / (self.values + ridge * largest)) @ (self.vectors.T @ G)


def shifted(X: Any, origin: Vector | None) -> Any:
    """X less an origin (d,), in float64; sparse without one."""
    X = X.astype(np.float64)
    return X if origin is None else (X.toarray() if scipy.sparse.issparse(X) else X) - origin


def symmetric(K: Matrix) -> Matrix:
    """The symmetric part of a kernel, if the rest of it is rounding."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"the kernel has shape {K.shape}; expected a square matrix (n, n).")
    apart = np.abs(K - K.T)
    if apart.max() > LARGEST_ASYMMETRY * np.abs(K).max():
        i, j = (int(k) for k in np.unravel_index(np.argmax(apart), K.shape))
        raise ValueError(f"the kernel is not symmetric: K[{i}, {j}] = {K[i, j]:.6g}, K[{j}, {i}] = {K[j, i]:.6g}.")
    return 0.5 * (K + K.T)


def decomposed(K: Matrix, rounding: float) -> tuple[Vector, Matrix]:
    """Eigenvalues of a centred kernel, falling, and their vectors, (n, k); those of rounding left out."""
    values, vectors = scipy.linalg.eigh(K)
    least, largest = float(values[0]), float(values[-1])
    if least < -max(rounding, LARGEST_NEGATIVE * largest):
        raise ValueError(
            f"the centred kernel is not positive semidefinite: its eigenvalues go from {least:.3g} to {largest:.3g}. "
            "Choose another kernel."
        )
    if least < -rounding:
        warnings.warn(
            f"the centred kernel has negative eigenvalues, down to {least:.3g} where the largest is {largest:.3g}; "
            "they are taken as 0.",
            stacklevel=4,
        )
    kept = np.flatnonzero(values > rounding)[::-1]
    return values[kept], vectors[:, kept]
