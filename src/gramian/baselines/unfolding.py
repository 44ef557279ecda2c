"""Kernels of the largest variance that keep the distances of nearest samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.baselines.neighbours import kernel_distances, neighbour_edges
from gramian.checks import checked_number
from gramian.estimators._checks import unchanged_on_failure
from gramian.estimators._input_kernel import InputKernel
from gramian.estimators._kernel_map import check_rank
from gramian.measurements import Pairs
from gramian.starts.kernel_pca import align_signs
from gramian.types import Matrix, Vector

__all__ = ["MaximumVarianceUnfolding"]

# A share of the variance: with a larger gap a solution is told to be inaccurate.
LARGEST_GAP = 1e-3


class MaximumVarianceUnfolding(BaseEstimator):
    """The r leading directions of the centred kernel K of largest trace that keeps the distances of nearest samples.

    A semidefinite programme, for small n, given to cvxpy: max tr K, K PSD, K 1 = 0, K_ii + K_jj - 2 K_ij = ‖x_i - x_j‖²
    on the edges of the graph of nearest samples. No labels, and no map of new samples.

    Parameters
    ----------
    rank : int
        r, the directions of K kept.
    kernel, gamma, degree, coef0
        As for `KernelLearner`: the distances are those of K₀, for "linear" the Euclidean ones.
    n_neighbors : int
        How many nearest samples each is joined to. The graph must be connected.
    solver : str
        Of cvxpy, by name.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        G, one row a sample, centred, the direction of largest variance first.
    eigenvalues_ : array, shape (n,)
        All of K, falling. What embedding_ leaves out is the sum of those after the first r.
    edges_ : array of int, shape (m, 2)
    weights_ : array, shape (m,)
        Of the dual problem, min Σ w d over Laplacians Σ w (e_i - e_j)(e_i - e_j)ᵀ of no eigenvalue below 1 but for that
        of the vector 1. They hold the edges against the pull apart.
    gap_ : float
        1 - tr K / Σ w d: how much larger a variance could be at the most, as a share.
    n_features_in_

    Notes
    -----
    With m edges some O(n³ m + n² m² + m³) a step of an interior-point method: seconds for a hundred samples, and out of
    reach for thousands.

    References
    ----------
    K. Q. Weinberger and L. K. Saul, "Unsupervised Learning of Image Manifolds by Semidefinite Programming", CVPR 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.baselines import MaximumVarianceUnfolding
    >>> angle = np.pi * np.linspace(0, 1, 15) ** 2
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> straight = MaximumVarianceUnfolding(rank=1, n_neighbors=1).fit_transform(X)
    >>> bool(abs(np.ptp(straight) - np.linalg.norm(np.diff(X, axis=0), axis=1).sum()) < 1e-3)
    True
    """

    def __init__(
        self,
        rank: int = 2,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        n_neighbors: int = 4,
        solver: str = "CLARABEL",
    ) -> None:
        self.rank = rank
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.solver = solver

    def fit(self, X: Any, y: Any = None) -> Self:
        """Unfold samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) where kernel="precomputed"
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            kernel = InputKernel.of(self)
            X = validate_data(self, X, **kernel.input_kinds, ensure_min_samples=2)
            check_rank(self.rank, X.shape[0])
            checked_number("n_neighbors", self.n_neighbors, least=1, integer=True)
            distances = kernel_distances(kernel.decompose(X).kernel)
            self.edges_ = neighbour_edges(distances, self.n_neighbors)
            check_connected(self.edges_, len(distances), self.n_neighbors)
            K, self.weights_ = unfolded(self.edges_, distances[tuple(self.edges_.T)], len(distances), self.solver)
            values, vectors = scipy.linalg.eigh(K)
            self.eigenvalues_ = np.maximum(values[::-1], 0)
            bound = float(self.weights_ @ distances[tuple(self.edges_.T)])
            self.gap_ = 1 - float(self.eigenvalues_.sum()) / bound if bound > 0 else 0.0
            leading = align_signs(vectors[:, ::-1][:, : self.rank])
            self.embedding_ = (leading * np.sqrt(self.eigenvalues_[: self.rank])).astype(X.dtype)
        self._warn()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Matrix:
        """`embedding_`, (n, r), after `fit`."""
        return self.fit(X).embedding_

    def kernel_matrix(self) -> Matrix:
        """G Gᵀ, (n, n): the best approximation of K of rank r."""
        check_is_fitted(self)
        return self.embedding_ @ self.embedding_.T

    def __sklearn_tags__(self) -> Any:
        return InputKernel.of(self).set_tags(super().__sklearn_tags__())

    def _warn(self) -> None:
        """A ConvergenceWarning where the variance may be far from the largest."""
        if abs(self.gap_) > LARGEST_GAP:
            warnings.warn(
                f"the variance may be off by a share of {self.gap_:.1e}. Choose another solver of cvxpy.",
                ConvergenceWarning,
                stacklevel=3,
            )


def loaded() -> Any:
    """cvxpy, if it is there."""
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError("MaximumVarianceUnfolding needs cvxpy: pip install gramian[baselines]") from error
    return cvxpy


def check_connected(edges: Matrix, n: int, n_neighbors: int) -> None:
    """A ValueError where the graph falls apart: nothing would hold its parts together."""
    graph = scipy.sparse.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n))
    parts, _ = connected_components(graph, directed=False)
    if parts > 1:
        raise ValueError(
            f"the graph of n_neighbors={n_neighbors} is in {parts} parts, which could move apart without end. "
            "Raise n_neighbors, or unfold each part on its own."
        )


def edge_system(edges: Matrix, n: int) -> scipy.sparse.csr_array:
    """The matrix (m, (n-1)²) that takes an L, row by row, to squared distances along the edges; sample 0 is at 0."""
    (i, j), e, k = edges.T - 1, np.arange(len(edges)), n - 1
    row, column = np.tile(e, 4), np.concatenate([i, j, i, j]) * k + np.concatenate([i, j, j, i])
    value = np.repeat([1.0, 1.0, -1.0, -1.0], len(edges))
    inside = np.concatenate([i, j, i, i]) >= 0
    return scipy.sparse.csr_array((value[inside], (row[inside], column[inside])), shape=(len(edges), k * k))


def unfolded(edges: Matrix, distances: Vector, n: int, solver: str) -> tuple[Matrix, Vector]:
    """K (n, n), centred, of the largest trace, and dual weights (m,) that bound it.

    With sample 0 at the origin, the others' Gram matrix L can be positive definite, which solvers want and a centred K
    cannot; the variance tr L - 1ᵀ L 1 / n does not see where the origin is.
    """
    cp = loaded()
    unit = float(distances.mean()) or 1.0
    L = cp.Variable((n - 1, n - 1), PSD=True)
    kept = edge_system(edges, n) @ cp.vec(L, order="C") == distances / unit
    problem = cp.Problem(cp.Maximize(cp.trace(L) - cp.sum(L) / n), [kept])
    try:
        with warnings.catch_warnings():
            # Accuracy is judged afterwards, by the dual weights.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
            problem.solve(solver=solver)
    except cp.error.SolverError as error:
        raise ValueError(f"solver={solver!r} failed: {error}") from error
    if L.value is None:
        raise ValueError(f"solver={solver!r} found the problem {problem.status}. Choose another solver of cvxpy.")
    K = np.pad(unit * L.value, ((1, 0), (1, 0)))
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True), feasible(edges, kept.dual_value, n)


def feasible(edges: Matrix, weights: Vector, n: int) -> Vector:
    """Weights (m,) scaled to a Laplacian whose least eigenvalue, but for that of the vector 1, is 1."""
    least = scipy.linalg.eigvalsh(Pairs(edges, n).weigh(weights, np.eye(n)), subset_by_index=[1, 1])[0]
    return weights / least if least > 0 else np.full(len(edges), np.inf)
