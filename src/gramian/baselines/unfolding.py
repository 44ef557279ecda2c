"""Maximum variance unfolding: the kernel of largest variance that preserves the distances of nearest neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian.baselines.neighbours import kernel_distances, neighbour_edges
from gramian.checks import check_number
from gramian.estimators._checks import restore_on_failure, validate_input
from gramian.estimators._html import html_of, mimebundle_of
from gramian.estimators._input_kernel import InputKernel
from gramian.estimators._kernel_map import check_rank
from gramian.execution import one_blas_thread
from gramian.measurements import Pairs
from gramian.starts.kernel_pca import check_varies
from gramian.starts.signs import align_signs
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["MaximumVarianceUnfolding"]

# A solution whose relative duality gap is larger is reported as inaccurate.
LARGEST_GAP = 1e-3


class MaximumVarianceUnfolding(BaseEstimator):
    """An embedding by the centred kernel K of largest trace that preserves the distances of nearest neighbours.

    cvxpy solves the semidefinite programme max tr K subject to K PSD, K 1 = 0 and K_ii + K_jj - 2 K_ij = ‖x_i - x_j‖²
    for the edges (i, j) of the neighbourhood graph. The embedding is given by the r leading eigenvectors of K. It uses
    no labels, and new samples cannot be mapped.

    Parameters
    ----------
    rank : int
        r, the number of columns of the embedding.
    kernel : {"linear", "rbf", "poly", "cosine", "laplacian", ..., "precomputed"} or callable
        The kernel K₀ of the samples: a name or a function for `sklearn.metrics.pairwise.pairwise_kernels`, or
        "precomputed" if X is K₀ itself. Distances are those of K₀, which are Euclidean for "linear".
    gamma, degree, coef0 : float
        Parameters of the kernels that have them; gamma=None is 1/n_features.
    n_neighbors : int
        The number of nearest neighbours that each sample has an edge to. The graph must be connected.
    solver : str
        The name of a solver of cvxpy.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        G, one row for each sample, centred, columns in descending order of variance.
    eigenvalues_ : array, shape (n,)
        All eigenvalues of K, descending. The embedding omits those after the first r.
    edges_ : array of int, shape (m, 2)
        The edges of the neighbourhood graph, as indices i < j of samples.
    weights_ : array, shape (m,)
        Solution of the dual problem: min Σ w d, for squared distances d of the edges, over weights w whose Laplacian
        Σ w (e_i - e_j)(e_i - e_j)ᵀ has no eigenvalue below 1, except that of the vector 1.
    gap_ : float
        The relative duality gap 1 - tr K / Σ w d.
    message_ : str
        The status that cvxpy reports, such as "optimal".
    n_features_in_ : int
        The number of columns of X.

    Notes
    -----
    With m edges, a step of an interior-point method takes about O(n³ m + n² m² + m³) operations: seconds for a hundred
    samples, infeasible for thousands.

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

    message_: str

    # Notebooks show scikit-learn's diagram, and a table of what was learned.
    _repr_html_inner, _repr_mimebundle_ = html_of, mimebundle_of

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
        """Solve the semidefinite programme for samples X and set the embedding.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.
        y : ignored
            Accepted for pipelines; nothing is learned from it.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread():
            kernel = InputKernel.from_estimator(self)
            X = validate_input(self, X, **kernel.validation_options, ensure_min_samples=2)
            check_rank(self.rank, X.shape[0])
            check_number("n_neighbors", self.n_neighbors, least=1, integer=True)
            decomposed = kernel.decompose(X)
            check_varies(decomposed)
            distances = kernel_distances(decomposed.kernel)
            self.edges_ = neighbour_edges(distances, self.n_neighbors)
            check_connected(self.edges_, len(distances), self.n_neighbors)
            lengths = distances[tuple(self.edges_.T)]
            solution = solve_unfolding(self.edges_, lengths, len(distances), self.solver)
            self.weights_, self.message_ = solution.weights, solution.status
            values, vectors = scipy.linalg.eigh(solution.kernel)
            self.eigenvalues_ = np.maximum(values[::-1], 0)
            bound = float(self.weights_ @ lengths)
            self.gap_ = 1 - float(self.eigenvalues_.sum()) / bound if bound > 0 else 0.0
            leading = align_signs(vectors[:, ::-1][:, : self.rank])
            self.embedding_ = (leading * np.sqrt(self.eigenvalues_[: self.rank])).astype(X.dtype)
        self._warn()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Matrix:
        """Return `embedding_`, shape (n, r), after `fit`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.
        y : ignored
            Accepted for pipelines; nothing is learned from it.

        Returns
        -------
        array, shape (n, r)
        """
        return self.fit(X).embedding_

    def kernel_matrix(self) -> Matrix:
        """Return G Gᵀ, shape (n, n), the best approximation of K of rank r."""
        check_is_fitted(self)
        return self.embedding_ @ self.embedding_.T

    def __sklearn_tags__(self) -> Any:
        return InputKernel.from_estimator(self).set_tags(super().__sklearn_tags__())

    def _warn(self) -> None:
        """Issue a ConvergenceWarning if the duality gap is large."""
        if abs(self.gap_) > LARGEST_GAP:
            warn_user(
                f"the solution is inaccurate: its relative duality gap is {self.gap_:.1e}. Choose another solver.",
                ConvergenceWarning,
            )


class Unfolding(NamedTuple):
    """A solution of the semidefinite programme: K (n, n), dual weights (m,), and the status of cvxpy."""

    kernel: Matrix
    weights: Vector
    status: str


def import_cvxpy() -> Any:
    """Return the module cvxpy; raise an ImportError that says how to install it."""
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError("MaximumVarianceUnfolding needs cvxpy: pip install 'gramian[baselines]'") from error
    return cvxpy


def check_connected(edges: Matrix, n: int, n_neighbors: int) -> None:
    """Raise a ValueError if the graph is not connected, since the variance is then unbounded."""
    graph = scipy.sparse.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n))
    parts, _ = connected_components(graph, directed=False)
    if parts > 1:
        raise ValueError(
            f"the graph of n_neighbors={n_neighbors} has {parts} components, so that the variance is unbounded. "
            "Raise n_neighbors, or fit each component separately."
        )


def build_edge_constraints(edges: Matrix, n: int) -> scipy.sparse.csr_array:
    """Return the matrix (m, (n-1)²) that maps a Gram matrix L, flattened by rows, to squared distances of the edges.

    L is that of the samples 1 .. n-1; sample 0 is the origin.
    """
    (i, j), e, k = edges.T - 1, np.arange(len(edges)), n - 1
    row, column = np.tile(e, 4), np.concatenate([i, j, i, j]) * k + np.concatenate([i, j, j, i])
    value = np.repeat([1.0, 1.0, -1.0, -1.0], len(edges))
    inside = np.concatenate([i, j, i, i]) >= 0
    return scipy.sparse.csr_array((value[inside], (row[inside], column[inside])), shape=(len(edges), k * k))


def solve_unfolding(edges: Matrix, distances: Vector, n: int, solver: str) -> Unfolding:
    """Return the centred K (n, n) of largest trace, feasible dual weights (m,), and the status of cvxpy.

    The variable is L (n-1, n-1), the Gram matrix of the other samples when sample 0 is the origin. Unlike a centred K,
    L can be positive definite, as interior-point methods require. The objective tr L - 1ᵀ L 1 / n is the variance,
    which does not depend on the origin.
    """
    cp = import_cvxpy()
    unit = float(distances.mean()) or 1.0
    L = cp.Variable((n - 1, n - 1), PSD=True)
    constraint = build_edge_constraints(edges, n) @ cp.vec(L, order="C") == distances / unit
    problem = cp.Problem(cp.Maximize(cp.trace(L) - cp.sum(L) / n), [constraint])
    try:
        with warnings.catch_warnings():
            # Accuracy is checked afterwards, by the duality gap.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
            problem.solve(solver=solver)
    except cp.error.SolverError as error:
        raise ValueError(f"solver={solver!r} failed: {error}") from error
    if L.value is None:
        raise ValueError(f"solver={solver!r} found the problem {problem.status}. Choose another solver of cvxpy.")
    K = np.pad(unit * L.value, ((1, 0), (1, 0)))
    K = K - K.mean(axis=0)
    weights = scale_to_feasible(edges, constraint.dual_value, n)
    return Unfolding(K - K.mean(axis=1, keepdims=True), weights, str(problem.status))


def scale_to_feasible(edges: Matrix, weights: Vector, n: int) -> Vector:
    """Return weights (m,) scaled so that the second smallest eigenvalue of their Laplacian is 1.

    If that eigenvalue is not positive, the weights are infinite.
    """
    least = scipy.linalg.eigvalsh(Pairs(edges, n).weigh(weights, np.eye(n)), subset_by_index=[1, 1])[0]
    return weights / least if least > 0 else np.full(len(edges), np.inf)
