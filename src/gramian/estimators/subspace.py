"""A subspace that follows a stream of samples, some of their entries missing."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from gramian._kernels.subspace import Stream, subspace_follow
from gramian.checks import checked_number
from gramian.estimators._checks import unchanged_on_failure
from gramian.types import Matrix, Vector

__all__ = ["SubspaceTracker"]

STEPS = ("averaged", "greedy")


class SubspaceTracker(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The subspace nearest to a stream of samples, by Oja's rule on the Grassmann manifold; NaN are missing entries.

    A sample x has the weights w, least squares of its observed entries on those of the frame U, and the residual
    e = x - U w there, 0 elsewhere. The frame moves along the geodesic with velocity e qᵀ, a rotation of rank one in
    O(d r): GROUSE (Balzano, Nowak and Recht, 2010), which for complete samples is the paper's section 4, Oja's rule.

    Parameters
    ----------
    n_components : int
        r, the dimension of the subspace.
    step : {"averaged", "greedy"}
        "averaged": q = (Σ w wᵀ)⁻¹ w over the samples so far, later ones counting more, and e is scaled up for what is
        missing. Steps fall like 2/t, alike for strong and weak directions, and noise averages out: near PCA after one
        epoch, with no step size to choose. "greedy": q = w/‖w‖², so that the subspace contains the sample; without
        noise this converges to rounding, with noise not at all.
    memory : float or None
        How many samples are remembered, in the mean, the variances and the averaged steps: older ones fade by
        1 - 1/memory a sample. None for all, where the subspace stands still; some hundred, where it moves.
    center : bool
        True subtracts the running mean of the entries observed so far. That of incomplete samples has the error of any
        mean, so data whose mean is zero are better off with False.
    n_epochs : int
        How often `fit` goes through the data, each time in a new order.
    random_state : int, RandomState or None
        Fixes the start, a random subspace, and the orders.

    Attributes
    ----------
    components_ : array, shape (r, d)
        Orthonormal rows, by falling variance; the entry largest in size is positive.
    explained_variance_ : array, shape (r,)
        The variance along each, as it was seen on the way.
    mean_ : array, shape (d,)
        Zero where center=False.
    n_samples_seen_, n_samples_skipped_ : int
        Rows, once for every epoch; and those of them that count for the mean only, having fewer observed entries than
        r, or such as hardly determine the weights.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.estimators.subspace import SubspaceTracker
    >>> rng = np.random.default_rng(0)
    >>> truth = np.linalg.qr(rng.standard_normal((20, 2)))[0]
    >>> X = rng.standard_normal((1000, 2)) @ truth.T
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = SubspaceTracker(2, step="greedy", center=False, random_state=0).fit(X)
    >>> bool(np.allclose(model.components_.T @ model.components_, truth @ truth.T))
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        step: str = "averaged",
        memory: float | None = None,
        center: bool = True,
        n_epochs: int = 3,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.step = step
        self.memory = memory
        self.center = center
        self.n_epochs = n_epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the subspace from the start, in `n_epochs` passes over shuffled rows.

        Parameters
        ----------
        X : array, shape (n, d)
            NaN where an entry is missing. Every column needs one entry, and one row at least r of them.
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            checked_number("n_epochs", self.n_epochs, least=1, integer=True)
            X = self._checked(X, reset=True, least=2 if self.center else 1)
            empty = np.flatnonzero(np.isnan(X).all(axis=0))
            if empty.size:
                raise ValueError(f"X[:, {empty[0]}] has no observed entry, NaN only. Drop the column.")
            rng = check_random_state(self.random_state)
            self._stream = self._begun(X.shape[1], rng)
            for _ in range(self.n_epochs):
                self._follow(X, rng.permutation(len(X)))
            if self.n_samples_skipped_ == self.n_samples_seen_:
                raise ValueError(
                    f"no row of X has enough observed entries for n_components={self.n_components}. "
                    "Choose fewer components."
                )
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Follow some more samples, seen once and in the order given. Any cut of a stream into calls is the same.

        Parameters
        ----------
        X : array, shape (n, d)
            NaN where an entry is missing. Columns may be empty, until they are first observed.
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            first = not hasattr(self, "_stream")
            X = self._checked(X, reset=first, least=1)
            if first:
                self._stream = self._begun(X.shape[1], check_random_state(self.random_state))
            else:
                self._stream = Stream(*(array.copy() for array in self._stream))
            self._follow(X, np.arange(len(X)))
        return self

    def transform(self, X: Any) -> Matrix:
        """Coordinates of samples in the subspace.

        Those of a row with missing entries are its least-squares weights on the observed ones, the shortest where they
        are not determined; a row of NaN only is mapped to 0, that is to the mean.

        Parameters
        ----------
        X : array, shape (n, d)
            NaN where an entry is missing.

        Returns
        -------
        array, shape (n, r)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        components = self.components_.astype(X.dtype, copy=False)
        centred = X - self.mean_.astype(X.dtype, copy=False)
        coordinates = centred @ components.T
        for i in np.flatnonzero(np.isnan(X).any(axis=1)):
            observed = ~np.isnan(X[i])
            coordinates[i] = np.linalg.lstsq(components[:, observed].T, centred[i, observed], rcond=None)[0]
        return coordinates

    def inverse_transform(self, X: Any) -> Matrix:
        """Samples from their coordinates; what was missing is filled in.

        Parameters
        ----------
        X : array, shape (n, r)

        Returns
        -------
        array, shape (n, d)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        r = len(self.components_)
        if X.shape[1] != r:
            raise ValueError(f"X has {X.shape[1]} columns; expected the {r} coordinates that transform gives.")
        return X @ self.components_.astype(X.dtype, copy=False) + self.mean_.astype(X.dtype, copy=False)

    def _checked(self, X: Any, *, reset: bool, least: int) -> Matrix:
        if self.step not in STEPS:
            raise ValueError(f"step={self.step!r} is unknown. Choose one of {', '.join(map(repr, STEPS))}.")
        if self.memory is not None:
            checked_number("memory", self.memory, least=1)
        checked_number("n_components", self.n_components, least=1, integer=True)
        wanted = {"dtype": [np.float64, np.float32], "order": "C", "ensure_all_finite": "allow-nan"}
        X = validate_data(self, X, reset=reset, ensure_min_samples=least, **wanted)
        if self.n_components > X.shape[1]:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_features={X.shape[1]}. Choose fewer components."
            )
        if not reset and self.n_components != len(self.components_):
            raise ValueError(
                f"n_components={self.n_components}, but the stream has {len(self.components_)}. Call fit to start anew."
            )
        return X

    def _begun(self, d: int, rng: np.random.RandomState) -> Stream:
        r = int(self.n_components)
        frame = np.linalg.qr(rng.standard_normal((d, r)))[0].copy()
        return Stream(frame, np.zeros((r, r)), np.zeros(d), np.zeros(d), np.zeros(3))

    def _follow(self, X: Matrix, order: Vector) -> None:
        """Moves the stream, and sets what users see of it, in the data's type."""
        keep = 1.0 if self.memory is None else 1 - 1 / float(self.memory)
        stream = self._stream
        subspace_follow(X, order, stream, keep, self.step == "greedy", bool(self.center))
        variances, axes = np.linalg.eigh(stream.moment / max(stream.totals[0], 1.0))
        components = (stream.frame @ axes[:, ::-1]).T
        largest = np.argmax(np.abs(components), axis=1)
        components *= np.sign(components[np.arange(len(largest)), largest])[:, None]
        self.components_ = components.astype(X.dtype)
        self.explained_variance_ = np.maximum(variances[::-1], 0).astype(X.dtype)
        self.mean_ = stream.mean.astype(X.dtype)
        self.n_samples_seen_, self.n_samples_skipped_ = int(stream.totals[1]), int(stream.totals[2])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
