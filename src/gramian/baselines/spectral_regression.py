"""Kernel spectral regression: eigenvectors of a graph of samples, fitted by kernel ridge regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg

from gramian.baselines.neighbours import kernel_distances, neighbour_edges
from gramian.checks import check_number
from gramian.estimators._checks import restore_on_failure
from gramian.estimators._kernel_map import KernelMap, check_rank, resolve_n_pairs
from gramian.execution import one_blas_thread
from gramian.starts.kernel_pca import DecomposedKernel, check_varies
from gramian.starts.signs import align_signs
from gramian.supervision import labelled_pairs
from gramian.supervision.checks import validate_pairs, validate_signs
from gramian.supervision.sampling import as_generator
from gramian.types import Matrix, Vector

__all__ = ["KernelSpectralRegression"]

# Eigenvalues of the graph, which are at most 1, are treated as 0 up to this one.
SMALLEST_EIGENVALUE = 1e-6


class KernelSpectralRegression(KernelMap):
    """An embedding G = K₀ A of rank at most r, by the eigenvectors of a graph of nearest neighbours and pairs.

    The graph has an edge between nearest neighbours under K₀ and between the samples of similar pairs, and none
    between those of dissimilar pairs. With adjacency N and degrees D, let q be the leading eigenvectors of
    D^{-1/2} N D^{-1/2}, without the trivial D^{1/2} 1. The columns of A are kernel ridge regressions
    a = (K₀ + α I)⁻¹ y of the responses y = D^{-1/2} q, scaled to aᵀ (K₀ + α I) a = 1. K₀ is centred.

    Parameters
    ----------
    rank : int
        r, the largest number of eigenvectors used. Those without a positive eigenvalue are omitted.
    kernel : {"linear", "rbf", "poly", "cosine", "laplacian", ..., "precomputed"} or callable
        The kernel K₀ of the samples: a name or a function for `sklearn.metrics.pairwise.pairwise_kernels`, or
        "precomputed" if X is K₀ itself.
    gamma, degree, coef0 : float
        Parameters of the kernels that have them; gamma=None is 1/n_features.
    n_pairs : int or None
        The number of pairs that `fit` draws uniformly at random; None for 20 per sample.
    n_neighbors : int
        The number of nearest neighbours that each sample has an edge to; 0 for a graph of the pairs only.
    ridge : float
        α, which is added to the diagonal of K₀ as it is, without scaling, as published.
    random_state : int, RandomState, Generator or None
        The seed of the pairs that `fit` draws.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        G, one row for each sample.
    coefficients_ : array, shape (n, r)
        A, with columns in the range of K₀; `transform` uses it.
    eigenvalues_ : array, shape (r,)
        Eigenvalues of the graph, descending. An eigenvalue 1 means that the graph is not connected; its eigenvector
        separates the components.
    message_ : str
        Why the fit ended.
    n_features_in_ : int
        The number of columns of X.

    Notes
    -----
    A fit takes O(n³), for the eigenvectors of the graph and of K₀. Samples without edges have response 0.

    References
    ----------
    D. Cai, X. He and J. Han, "Efficient Kernel Discriminant Analysis via Spectral Regression", ICDM 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian.baselines import KernelSpectralRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSpectralRegression(rank=2, random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.transform(X[:5]).shape
    ((150, 2), (5, 2))
    """

    def __init__(
        self,
        rank: int = 2,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        n_pairs: int | None = None,
        n_neighbors: int = 5,
        ridge: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_pairs = n_pairs
        self.n_neighbors = n_neighbors
        self.ridge = ridge
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from class labels, by random pairs of samples.

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
            n_pairs = resolve_n_pairs(y, self.n_pairs)
            self._check_settings(X.shape[0])
            pairs, same = labelled_pairs(y, n_pairs, random_state=as_generator(self.random_state))
            self._learn(X, self._decompose(X), pairs, same)
        return self

    def fit_pairs(self, X: Any, pairs: Any, y: Any) -> Self:
        """Learn from similar and dissimilar pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or K₀ of shape (n, n) if kernel="precomputed"
            The samples, one per row; or the kernel.
        pairs : array of int, shape (m, 2)
            Indices of two different samples. A pair given with both signs counts as dissimilar.
        y : array of +1 and -1, shape (m,)
            +1 for similar pairs, -1 for dissimilar pairs.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread():
            X = self._read_samples(X)
            pairs = validate_pairs(pairs, X.shape[0])
            same = validate_signs(y, len(pairs), both=False) > 0
            self._check_settings(X.shape[0])
            self._learn(X, self._decompose(X), pairs, same)
        return self

    def _check_settings(self, n_samples: int) -> None:
        """Raise a ValueError that names the first invalid parameter."""
        check_rank(self.rank, n_samples)
        check_number("n_neighbors", self.n_neighbors, least=0, integer=True)
        check_number("ridge", self.ridge, least=0, strict=True)

    def _learn(self, X: Any, kernel: DecomposedKernel, pairs: Matrix, same: Vector) -> None:
        """Build the graph, solve the regressions and set the fitted attributes."""
        check_varies(kernel)
        graph = build_graph(kernel.kernel, self.n_neighbors, pairs, same)
        self.eigenvalues_, responses = compute_responses(graph, self.rank)
        coefficients = kernel.solve(responses, self.ridge)
        inside = kernel.vectors.T @ responses
        # aᵀ (K₀ + α I) a = yᵀ a. `coefficients` lack the part y/α of a that is orthogonal to the range of K₀: add it.
        across = np.maximum(np.sum(responses**2, axis=0) - np.sum(inside**2, axis=0), 0) / self.ridge
        coefficients /= np.sqrt(np.sum(responses * coefficients, axis=0) + across)
        embedding = (kernel.vectors * kernel.values) @ (kernel.vectors.T @ coefficients)
        self.message_ = "solved in closed form"
        self._store_map(X, kernel, embedding.astype(X.dtype), coefficients)


def build_graph(K: Matrix, n_neighbors: int, pairs: Matrix, same: Vector) -> Matrix:
    """Return the adjacency matrix (n, n): 1 for nearest neighbours and similar pairs, 0 for dissimilar pairs."""
    N = np.zeros(K.shape)
    near = neighbour_edges(kernel_distances(K), n_neighbors)
    for edges, value in ((near, 1), (pairs[same], 1), (pairs[~same], 0)):
        i, j = edges.T
        N[i, j] = N[j, i] = value
    return N


class Responses(NamedTuple):
    """The leading eigenvalues (k,) of a graph, descending, and the responses (n, k)."""

    values: Vector
    responses: Matrix


def compute_responses(N: Matrix, rank: int) -> Responses:
    """Return the leading eigenvalues (k,), descending, of D^{-1/2} N D^{-1/2} and the responses D^{-1/2} q, (n, k).

    The trivial eigenvector D^{1/2} 1 and eigenvalues that are not positive are omitted, so that k <= rank.
    """
    degrees = N.sum(axis=1)
    if not degrees.any():
        raise ValueError("the graph has no edges. Give similar pairs (y=+1), or n_neighbors of at least 1.")
    inverse = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(N)), where=degrees > 0)
    trivial = np.sqrt(degrees / degrees.sum())
    S = inverse[:, None] * N * inverse - np.outer(trivial, trivial)
    values, vectors = scipy.linalg.eigh(S, subset_by_index=[len(N) - rank, len(N) - 1])
    kept = np.flatnonzero(values > SMALLEST_EIGENVALUE)[::-1]
    if not kept.size:
        raise ValueError("the graph has no positive eigenvalues: it has too many edges. Lower n_neighbors.")
    return Responses(values[kept], inverse[:, None] * align_signs(vectors[:, kept]))
