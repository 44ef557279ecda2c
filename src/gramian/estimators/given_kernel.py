"""The kernel that samples come with: made or given, centred, decomposed, and asked about new samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.preprocessing import KernelCenterer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.checks import checked_number
from gramian.estimators.supervision import check_contradictions, checked_pairs, checked_target
from gramian.measurements import Pairs
from gramian.sampling import labelled_pairs
from gramian.types import Matrix, Vector

__all__ = ["Given", "GivenKernel", "KernelMap", "check_rank", "check_varies", "checked_pairing", "signed"]

PAIRS_PER_SAMPLE = 20
# Shares of the largest entry and of the largest eigenvalue: with more than this a matrix is no kernel.
LARGEST_ASYMMETRY, LARGEST_NEGATIVE = 1e-5, 0.01
# A distance so many times the error of the kernel's entries is a difference of them.
FAR = 1e6


class Given(NamedTuple):
    """A kernel (n, n) of X less an origin, what centres it, and the centred one's eigenvalues, falling, and vectors.

    Those of rounding or below are left out; `least` is the smallest of all.
    """

    kernel: Matrix
    origin: Vector | None
    centerer: KernelCenterer
    values: Vector
    vectors: Matrix
    least: float
    rounding: float

    def distances(self, pairs: Matrix) -> Vector:
        """The squared distances of pairs, (m,): K_ii + K_jj - 2 K_ij, where these are not nearly the same."""
        (i, j), diagonal = pairs.T, np.diag(self.kernel)
        distances = diagonal[i] + diagonal[j] - 2 * self.kernel[i, j]
        near = np.flatnonzero(distances <= FAR * max(self.rounding, -self.least))
        if near.size:
            distances[near] = Pairs(pairs[near]).predict(self.vectors * np.sqrt(self.values))
        return distances

    def asked(self, y: Vector, n_pairs: int, alpha: float, rng: np.random.Generator) -> tuple[Matrix, Vector, Vector]:
        """Random pairs (m, 2), targets (m,) and senses (m,): at most 1-α times the distance in a class, 1+α between."""
        pairs, same = labelled_pairs(y, n_pairs, random_state=rng)
        return pairs, np.where(same, 1 - alpha, 1 + alpha) * self.distances(pairs), np.where(same, -1, 1)

    def solve(self, G: Matrix, ridge: float) -> Matrix:
        """(K₀ + ridge)⁺ G, on the range of the centred kernel K₀."""
        return (self.vectors / (self.values + ridge)) @ (self.vectors.T @ G)


class GivenKernel(BaseEstimator):
    """An estimator that starts from a kernel K₀ of its samples, by the parameters kernel, gamma, degree and coef0."""

    kernel: str | Callable[..., float]
    gamma: float | None
    degree: float
    coef0: float
    center: bool = True

    def _wanted(self) -> dict[str, Any]:
        return {"accept_sparse": False if self.kernel == "precomputed" else "csr", "dtype": [np.float64, np.float32]}

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags


class KernelMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GivenKernel):
    """An estimator that learns an embedding G of its samples, and with it a map of new ones."""

    embedding_: Matrix
    coefficients_: Matrix

    def transform(self, X: Any) -> Matrix:
        """New samples, embedded: k_xᵀ K₀⁺ G, k_x their kernel with the samples learned from.

        The low-rank part of κ₀ + k_xᵀ K₀⁻¹ (K - K₀) K₀⁻¹ k_x' (Jain, Kulis and Dhillon, 2010). Samples learned from
        are mapped to `embedding_` where that lies in the range of K₀: where the range space of the start is kept (as
        by `Polar(weight=0)`), and where K₀ is regular. Else, as for a linear kernel of fewer features than samples,
        they and the result of `fit_transform` are the nearest to it that a function of the kernel can be.

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

    def _read_labels(self, X: Any, y: Any) -> tuple[Any, Vector]:
        """Samples and their labels, validated."""
        X, y = validate_data(self, X, y, **self._wanted(), ensure_min_samples=2)
        check_classification_targets(y)
        return X, y

    def _read_pairs(self, X: Any, pairs: Any, target: Any, sense: Any) -> tuple[Any, Matrix, Vector, Vector]:
        """Samples, pairs (m, 2), squared distances (m,) and senses (m,), validated."""
        X = validate_data(self, X, **self._wanted(), ensure_min_samples=2)
        pairs = checked_pairs(pairs, X.shape[0])
        target, senses = checked_target(target, sense, len(pairs))
        # Equalities are averaged here, so they contradict nothing: as bounds they are "at least 0".
        check_contradictions(pairs, np.where(senses == 0, 0, target), np.where(senses == 0, 1, senses))
        return X, pairs, target, senses

    def _leading(self, given: Given, rank: int, otherwise: str = "") -> Matrix:
        """Kernel PCA, (n, r): the r leading directions of the kernel, centred before or after."""
        check_varies(given, otherwise)
        values, vectors = given.values[:rank], given.vectors[:, :rank]
        if not self.center:
            n = len(given.kernel)
            values, vectors = scipy.linalg.eigh(given.kernel, subset_by_index=[n - rank, n - 1])
        G = signed(vectors) * np.sqrt(np.maximum(values, 0))
        G = G - G.mean(axis=0)
        found = int(np.linalg.matrix_rank(G, tol=given.rounding**0.5))
        if found < rank:
            raise ValueError(
                f"rank={rank} exceeds the rank {found} of the centred kernel (n_features={self.n_features_in_}). "
                f"Choose rank <= {found}{otherwise}."
            )
        return G

    def _keep(self, X: Any, given: Given, embedding: Matrix, coefficients: Matrix) -> None:
        """Sets what `transform` and `kernel_matrix` need."""
        self.embedding_, self.coefficients_ = embedding, coefficients
        self._samples = None if self.kernel == "precomputed" else X
        self._origin, self._centerer = given.origin, given.centerer

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


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


def decomposed(K: Matrix, rounding: float) -> tuple[Vector, Matrix, float]:
    """Eigenvalues of a centred kernel, falling, and their vectors, (n, k), without those of rounding; and the least."""
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
    return values[kept], vectors[:, kept], least


def check_varies(given: Given, otherwise: str = "") -> None:
    """A ValueError where the centred kernel is zero; it may say what to do otherwise."""
    if not len(given.values):
        raise ValueError(f"the kernel is constant: all samples coincide. Give samples that differ{otherwise}.")


def signed(vectors: Matrix) -> Matrix:
    """Vectors, (n, k), each with its largest entry positive."""
    return vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])


def checked_pairing(y: Vector, n_pairs: Any, alpha: Any = 0) -> int:
    """The number of pairs to draw from labels, all settings for them being valid."""
    checked_number("alpha", alpha, least=0)
    if alpha > 1:
        raise ValueError(f"alpha={alpha} asks for negative distances. Choose a number in [0, 1].")
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {classes[0]!r}; labels of two classes or more are needed.")
    if n_pairs is None:
        return PAIRS_PER_SAMPLE * len(y)
    checked_number("n_pairs", n_pairs, least=1, integer=True)
    return int(n_pairs)


def check_rank(rank: Any, n_samples: int) -> None:
    """A ValueError unless an embedding of so many samples can have this rank."""
    checked_number("rank", rank, least=1, integer=True)
    if rank > n_samples:
        raise ValueError(f"rank={rank} exceeds n_samples={n_samples}. Choose rank <= {n_samples}.")
