"""What the learners of a whole matrix A share: pairs from labels, the start, and A as a map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from gramian.checks import checked_number
from gramian.estimators.base import finite
from gramian.estimators.checks import as_numbers, unchanged_on_failure
from gramian.estimators.distances import LearnedDistance, checked_signs
from gramian.estimators.supervision import (
    LARGEST_FULL,
    asked,
    checked_labels,
    checked_pairs,
    given_pairs,
    signed_pairs,
)
from gramian.sampling import generator
from gramian.types import Matrix, Vector

__all__ = [
    "BoundedLearner",
    "Constraints",
    "Mahalanobis",
    "PairLearner",
    "PairStream",
    "check_apart",
    "prior_matrix",
    "root_of",
]

#: How samples are read: whole matrices are learned in float64.
KINDS: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_min_samples": 2}
#: What an earlier fit may have left; bounds stay as long as a stream goes on.
OWN = ("threshold_", "bounds_")


class Constraints(NamedTuple):
    """Pairs of samples, and how far apart they should be, squared; sense: -1 at most, 0 equal, +1 at least."""

    X: Matrix
    first: Vector
    second: Vector
    target: Vector
    sense: Vector


class Mahalanobis(LearnedDistance, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """An estimator of a distance whose matrix A = components_ᵀ components_ has as many rows as there are features."""

    @abstractmethod
    def _check_settings(self) -> None:
        """A ValueError that names the first bad setting."""

    def transform(self, X: Any) -> Matrix:
        """Samples in the learned space, (n, r): Euclidean distances there are the learned ones.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        """
        return self._mapped(X)

    @contextmanager
    def _learning(self, goes_on: bool = False) -> Iterator[None]:
        """Settings are checked, what an earlier fit left is forgotten, and failures change nothing."""
        with unchanged_on_failure(self):
            self._check_settings()
            for name in OWN[:1] if goes_on else OWN:
                self.__dict__.pop(name, None)
            yield

    def _validated(self, X: Any, y: Any = "no_validation", goes_on: bool = False) -> Any:
        """Samples (n, d), in float64, and y if given."""
        checked = validate_data(self, X, y, reset=not goes_on, **KINDS)
        d = self.n_features_in_
        if d > LARGEST_FULL:
            raise ValueError(f"X has {d} features: a {d} x {d} matrix would be learned. Reduce them to {LARGEST_FULL}.")
        return checked

    def _keep(self, components: Matrix) -> None:
        """Stores the map (r, d)."""
        self.components_ = finite(np.ascontiguousarray(components))
        self._n_features_out = len(components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PairLearner(Mahalanobis):
    """A learner of pairs; labels become random ones, as they fall."""

    n_constraints: int | None
    random_state: Any

    @abstractmethod
    def _update(self, X: Matrix, pairs: Matrix, given: tuple[Any, Any, Any], goes_on: bool) -> None:
        """Learns from pairs of rows of X, given = (target, sense, y), from the start or from where it stands."""

    def _check_settings(self) -> None:
        if self.n_constraints is not None:
            checked_number("n_constraints", self.n_constraints, least=1, integer=True)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from class labels, through random pairs of samples.

        Parameters
        ----------
        X : array, shape (n, d)
        y : array, shape (n,)
            At least two classes, one of them with two samples.

        Returns
        -------
        self
        """
        return self._from_labels(X, y, goes_on=False)

    def _from_labels(self, X: Any, y: Any, goes_on: bool) -> Self:
        """Learns from pairs drawn by label, in random order."""
        with self._learning(goes_on):
            X, y = self._validated(X, y, goes_on)
            rng = generator(self.random_state)
            pairs, signs = signed_pairs(checked_labels(y, len(X)), self.n_constraints, False, rng)
            order = rng.permutation(len(pairs))
            self._update(X, pairs[order], (None, None, signs[order]), goes_on)
        return self

    def _from_pairs(self, X: Any, pairs: Any, given: tuple[Any, Any, Any], goes_on: bool) -> Self:
        """Learns from pairs in the order given."""
        X, pairs = given_pairs(X, pairs)
        before = getattr(self, "threshold_", None)
        with self._learning(goes_on):
            samples = self._validated(X, goes_on=goes_on)
            self._update(samples, checked_pairs(pairs, len(samples)), given, goes_on)
            return self if given[2] is None else self._calibrated(pairs, given[2], X, before)

    def _calibrated(self, pairs: Any, y: Any, X: Any, before: float | None) -> Self:
        """With the threshold that tells these pairs apart best; that from before, where they are of one kind."""
        if len(np.unique(y)) > 1:
            return self.calibrate_threshold(pairs, y, X)
        return self if before is None else self.set_threshold(before)


class BoundedLearner(PairLearner):
    """A learner of squared distances that pairs should have at most, at least, or exactly."""

    prior: str | Matrix
    bounds_: tuple[float, float]

    @abstractmethod
    def _improved(self, A: Matrix, constraints: Constraints) -> Matrix:
        """A (d, d), which may be changed in place, with regard to some constraints."""

    def fit_pairs(self, X: Any, pairs: Any = None, target: Any = None, sense: Any = None, y: Any = None) -> Self:
        """Learn from pairs of samples.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d), without `pairs`
        pairs : array of int, shape (m, 2)
            Rows of X. Pairs of samples that coincide are left out.
        target : array, shape (m,), or float
            Squared distances.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
            What the squared distance of a pair should be with regard to its target.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: +1 for pairs that should be near, at most the 5th percentile of the squared
            distances under the start, -1 for pairs that should be far, at least the 95th. Sets `threshold_` too.

        Returns
        -------
        self
        """
        return self._from_pairs(X, pairs, (target, sense, y), goes_on=False)

    def _update(self, X: Matrix, pairs: Matrix, given: tuple[Any, Any, Any], goes_on: bool) -> None:
        A = self.get_mahalanobis_matrix() if goes_on else prior_matrix(self.prior, X)
        self._keep(root_of(self._improved(A, self._read(X, pairs, given, A))))

    def _read(self, X: Matrix, pairs: Matrix, given: tuple[Any, Any, Any], A: Matrix) -> Constraints:
        """What is asked of pairs that do not coincide; y asks for the bounds of the first pairs that came with one."""
        target, sense, y = given
        first, second = np.ascontiguousarray(pairs.T)
        z = X[first] - X[second]
        squared = np.einsum("ij,ij->i", z @ A, z)
        apart = squared > 0
        check_apart(apart)
        if y is not None and target is None and sense is None and hasattr(self, "bounds_"):
            signs = checked_signs(y, len(pairs), both=False)
            target, sense, y = np.where(signs > 0, *self.bounds_), -signs, None
        target, sense, bounds = asked(pairs, target, sense, y, squared[apart])
        if bounds is not None:
            self.bounds_ = bounds
        return Constraints(X, first[apart], second[apart], target[apart], sense[apart])


class PairStream:
    """The `partial_fit` of learners that take pairs one by one."""

    _from_labels: Any

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn on from pairs of some more labelled samples; the first call is `fit`.

        Parameters
        ----------
        X : array, shape (n, d)
        y : array, shape (n,)

        Returns
        -------
        self
        """
        return self._from_labels(X, y, goes_on=hasattr(self, "components_"))


def check_apart(apart: Vector) -> None:
    """A ValueError unless the samples of some pair (m,) do not coincide."""
    if not apart.any():
        raise ValueError("the samples of every pair coincide: no distance can be learned from them.")


def root_of(A: Matrix) -> Matrix:
    """The symmetric R (d, d) with R R = A, eigenvalues that rounding made negative being taken as none."""
    values, vectors = np.linalg.eigh(finite(A))
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def prior_matrix(prior: Any, X: Matrix) -> Matrix:
    """The start A₀ (d, d), positive definite, given by name or as itself; a copy."""
    d = X.shape[1]
    if isinstance(prior, str) and prior == "identity":
        return np.eye(d)
    if isinstance(prior, str) and prior == "covariance":
        covariance = np.atleast_2d(np.cov(X, rowvar=False))
        if np.linalg.matrix_rank(covariance, hermitian=True) < d:
            raise ValueError("prior='covariance', but the covariance of X is singular. Choose 'identity'.")
        return np.linalg.inv(covariance)
    if isinstance(prior, str):
        raise ValueError(f"prior={prior!r} is unknown. Choose 'identity', 'covariance', or an array.")
    A = as_numbers("prior", prior)
    if A.shape != (d, d):
        raise ValueError(f"prior has shape {A.shape}; expected (n_features, n_features) = ({d}, {d}).")
    if not (np.isfinite(A).all() and np.allclose(A, A.T) and np.linalg.eigvalsh(A)[0] > 0):
        raise ValueError("prior is not a symmetric positive definite matrix.")
    return (A + A.T) / 2
