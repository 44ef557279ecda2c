"""The base class of estimators that embed samples by their kernel and map new samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gramian.checks import check_number
from gramian.estimators._checks import validate_input
from gramian.estimators._html import html_of, mimebundle_of
from gramian.estimators._input_kernel import LARGEST_ASYMMETRY, InputKernel
from gramian.mapped import is_map
from gramian.starts.kernel_pca import DecomposedKernel
from gramian.supervision import labelled_pairs
from gramian.supervision.checks import check_contradictions, validate_pairs, validate_target
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["KernelMap", "KernelPairs", "check_rank", "draw_pairs", "resolve_n_pairs"]

PAIRS_PER_SAMPLE = 20
# The number of rows of a decomposed kernel that are compared with those of the samples.
COMPARED = 10
# Images farther from the mean than OUTSIDE times those of training samples are extrapolated. LOCAL kernels are 1 at
# distance 0 and vanish far away: they say nothing of samples whose values are below ALONE.
OUTSIDE, LOCAL, ALONE = 5.0, ("rbf", "laplacian"), 1e-6


class KernelPairs(NamedTuple):
    """Constraints on pairs (m, 2): target squared distances (m,) and senses (m,)."""

    pairs: Matrix
    target: Vector
    sense: Vector


class KernelMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of estimators that learn an embedding G (n, r) of the samples, and a map of new samples."""

    kernel: str | Callable[..., float]
    embedding_: Matrix
    coefficients_: Matrix

    # Notebooks show scikit-learn's diagram, and a table of what was learned.
    _repr_html_inner, _repr_mimebundle_ = html_of, mimebundle_of

    @property
    def _input_kernel(self) -> InputKernel:
        """The kernel of the samples, by the parameters of the estimator."""
        return InputKernel.from_estimator(self)

    def _decompose(self, X: Any) -> DecomposedKernel:
        """Return the kernel (n, n) of the samples, with the eigendecomposition of the centred kernel."""
        return self._input_kernel.decompose(X)

    def _check_decomposed(self, X: Any, given: DecomposedKernel) -> DecomposedKernel:
        """Return a decomposed kernel that is given; raise an error unless it fits the parameters and X."""
        if not isinstance(given, DecomposedKernel):
            raise TypeError(f"decomposed is of type {type(given).__name__}; make one by decompose(X).")
        if given.settings != self._input_kernel:
            raise ValueError(f"decomposed is of {given.settings}, but the estimator has {self._input_kernel}.")
        if (len(given.kernel), given.n_features) != X.shape:
            raise ValueError(
                f"decomposed is of samples of shape {(len(given.kernel), given.n_features)}, but X has shape {X.shape}."
            )
        # Some rows tell samples apart at little cost.
        rows = np.unique(np.linspace(0, len(given.kernel) - 1, COMPARED).astype(int))
        found = self._input_kernel.matrix(X[rows], X, given.origin)
        # A kernel need not be symmetric to the last digit.
        size = LARGEST_ASYMMETRY * float(np.abs(given.kernel).max())
        if not np.allclose(found, given.kernel[rows], rtol=0, atol=max(given.rounding, size)):
            raise ValueError("decomposed is of other samples than X. Make it by decompose(X), of these samples.")
        return given

    def transform(self, X: Any) -> Matrix:
        """Return the embedding k_xᵀ K₀⁺ G of samples, shape (n', r); k_x is their kernel with the training samples.

        This is the low-rank part of κ₀ + k_xᵀ K₀⁻¹ (K - K₀) K₀⁻¹ k_x' (Jain, Kulis and Dhillon, 2010). Training
        samples are mapped to `embedding_` if G lies in the range of K₀. That is so if K₀ is regular, or if the range
        space of the start is kept, as by `Polar(weight=0)`. Otherwise, for example for a linear kernel of fewer
        features than samples, they are mapped to the projection of `embedding_` onto the range of K₀; so is the
        result of `fit_transform`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n', d), or kernel of shape (n', n) if kernel="precomputed"
            New samples, one per row; or their kernel values with the training samples.

        Returns
        -------
        array, shape (n', r)
        """
        return self._map_to_array(X)

    def _map_to_array(self, X: Any) -> Matrix:
        """Return the images of samples as an array (n', r), also if `set_output` selects another container."""
        check_is_fitted(self)
        X = validate_input(self, X, reset=False, **self._input_kernel.validation_options)
        rows = self._input_kernel.matrix(X, self._samples, self._origin)
        # The centerer works in place.
        largest = np.abs(rows).max(axis=1)
        images = self._centerer.transform(rows) @ self.coefficients_
        warn_if_extrapolated(images, self.embedding_, largest if self.kernel in LOCAL else None)
        return images.astype(X.dtype)

    def kernel_matrix(self, X: Any = None) -> Matrix:
        """Return K = G Gᵀ of the training samples, shape (n, n); with X, the kernel of X and the training samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n', d), or kernel of shape (n', n) if kernel="precomputed"; optional
            New samples, one per row, or their kernel values with the training samples; the training samples if omitted.

        Returns
        -------
        array, shape (n, n); or (n', n) with X
        """
        check_is_fitted(self)
        return (self.embedding_ if X is None else self._map_to_array(X)) @ self.embedding_.T

    def _read_samples(self, X: Any, y: Any = "no_validation") -> Any:
        """Return validated samples, and y if given: a copy, unless X is a kernel or a memory-mapped file."""
        kernel = self._input_kernel
        copied = not (kernel.precomputed or is_map(X))
        return validate_input(self, X, y, **kernel.validation_options, ensure_min_samples=2, copy=copied)

    def _read_labels(self, X: Any, y: Any) -> tuple[Any, Vector]:
        """Return samples and class labels (n,), validated."""
        X, y = self._read_samples(X, y)
        check_classification_targets(y)
        return X, y

    def _read_pairs(self, X: Any, pairs: Any, target: Any, sense: Any) -> tuple[Any, KernelPairs]:
        """Return validated samples and the constraints on their pairs."""
        X = self._read_samples(X)
        pairs = validate_pairs(pairs, X.shape[0])
        target, senses = validate_target(target, sense, len(pairs))
        # Equalities are averaged, so they cannot contradict: the check sees them as "at least 0".
        check_contradictions(pairs, np.where(senses == 0, 0, target), np.where(senses == 0, 1, senses))
        return X, KernelPairs(pairs, target, senses)

    def _store_map(self, X: Any, kernel: DecomposedKernel, embedding: Matrix, coefficients: Matrix) -> None:
        """Set the attributes that `transform` and `kernel_matrix` use."""
        self.embedding_, self.coefficients_ = embedding, coefficients
        self._samples = None if self._input_kernel.precomputed else X
        self._origin, self._centerer = kernel.origin, kernel.centerer

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = self._input_kernel.set_tags(super().__sklearn_tags__())
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def warn_if_extrapolated(images: Matrix, embedding: Matrix, similarity: Vector | None) -> None:
    """Warn if images of new samples (n', r) are far outside the embedding (n, r), or say nothing of their samples.

    `similarity` is the largest kernel value (n',) of each new sample with a training sample, for a kernel that is 1 at
    distance 0; None for other kernels.
    """
    # Largest coordinates in place of norms: squares leave the range of numbers sooner.
    size = float(np.abs(embedding).max())
    norms = np.abs(images.astype(np.float64, copy=False)).max(axis=1)
    if size > 0 and (far := np.flatnonzero(norms / OUTSIDE > size)).size:
        warn_user(
            f"{far.size} of {len(images)} samples are mapped to coordinates up to {norms.max() / size:.2g} times "
            "as large as those of training samples: the map extrapolates. Scale X as the training samples are, or "
            "raise ridge."
        )
    if similarity is not None and (lone := np.flatnonzero(similarity < ALONE)).size:
        warn_user(
            f"{lone.size} of {len(images)} samples have kernel values of at most {similarity[lone].max():.2g} with all "
            "training samples: they are mapped to one point. Scale X as the training samples are, or lower gamma."
        )


def draw_pairs(
    kernel: DecomposedKernel, labels: Vector, n_pairs: int, alpha: float, rng: np.random.Generator
) -> KernelPairs:
    """Return random pairs with their constraints.

    Squared distances should be at most 1 - α times those of K₀ within a class, and at least 1 + α times between
    classes.
    """
    pairs, same = labelled_pairs(labels, n_pairs, random_state=rng)
    target = np.where(same, 1 - alpha, 1 + alpha) * kernel.distances(pairs)
    return KernelPairs(pairs, target, np.where(same, -1, 1))


def resolve_n_pairs(y: Vector, n_pairs: Any, alpha: Any = 0) -> int:
    """Return the number of pairs to draw, 20 n if None; raise a ValueError for invalid parameters or one class."""
    check_number("alpha", alpha, least=0)
    if alpha > 1:
        raise ValueError(f"alpha={alpha} asks for negative distances. Choose a number in [0, 1].")
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {classes[0]!s}; labels of two classes or more are needed.")
    if n_pairs is None:
        return PAIRS_PER_SAMPLE * len(y)
    check_number("n_pairs", n_pairs, least=1, integer=True, also=(None,))
    return int(n_pairs)


def check_rank(rank: Any, n_samples: int) -> None:
    """Raise a ValueError unless 1 <= rank <= n_samples."""
    check_number("rank", rank, least=1, integer=True)
    if rank > n_samples:
        raise ValueError(f"rank={rank} exceeds n_samples={n_samples}. Choose rank <= {n_samples}.")
