"""A subspace that tracks a stream of samples with missing entries."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gramian._kernels.subspace import Stream, subspace_follow
from gramian.blocked import BlockedFeatures, open_blocks
from gramian.checks import as_random_state, check_kind, check_number, check_powers
from gramian.estimators._checkpoint import checkpoint_of
from gramian.estimators._checks import check_flag, restore_on_failure, validate_input
from gramian.estimators._fit_stream import LearnsFromStreams
from gramian.estimators._html import html_of, mimebundle_of
from gramian.estimators._subspace_blocks import Settings, coordinates_of, follow_blocks, list_coordinates
from gramian.execution import one_blas_thread
from gramian.extremes import extremes_of, largest
from gramian.interrupts import may_end_quietly
from gramian.solvers import Journal
from gramian.starts.signs import align_signs
from gramian.types import Matrix
from gramian.warn import warn_user

__all__ = ["SubspaceTracker"]

STEPS = ("averaged", "greedy")
#: The number of rows after which the state is offered to a checkpoint.
STORED_ROWS = 1 << 14


class Passage(NamedTuple):
    """How far a fit has come: the epoch, the next of its rows, the stream, and the random state before the epoch."""

    epoch: int
    row: int
    stream: Stream
    random: dict[str, Any]


class SubspaceTracker(LearnsFromStreams, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The principal subspace of a stream of samples, by Oja's rule on the Grassmann manifold.

    Missing entries are NaN. For a sample x, w are the least-squares weights of its observed entries on the frame U
    (d, r), and e = x - U w is the residual, 0 for missing entries. The frame moves along the geodesic with velocity
    e qᵀ, a rotation of rank one that costs O(d r). This is GROUSE (Balzano, Nowak and Recht, 2010); for complete
    samples it is Oja's rule, section 4 of the paper.

    Parameters
    ----------
    n_components : int
        r, the dimension of the subspace.
    step : {"averaged", "greedy"}
        "averaged": q = (Σ w wᵀ)⁻¹ w, summed over the samples so far with larger weights for later ones; e is scaled up
        to compensate for missing entries. Steps decrease like 2/t in all directions, and noise averages out: the result
        is close to PCA after one epoch, with no step size to choose. "greedy": q = w/‖w‖², so that the subspace
        contains the sample; this converges to rounding without noise, and does not converge with noise.
    memory : float or None
        The effective number of samples remembered in the mean, the variances and the averaged steps: each new sample
        multiplies the weights of older ones by 1 - 1/memory. None remembers all, for a constant subspace; use some
        hundred for a subspace that moves. It is above 1 where the mean is subtracted.
    center : bool
        True subtracts the running mean of the observed entries. The mean of incomplete samples has an estimation error,
        so use False if the mean is known to be zero.
    n_epochs : int
        The number of passes of `fit` over the data, each in a new random order.
    random_state : int, RandomState, Generator or None
        The seed of the start, which is a random subspace, and of the orders.
    checkpoint : path, optional
        A file, or a folder that exists, in which `fit` and `fit_stream` store their state. If the process dies, the
        same call goes on from there, and ends with the same numbers.
    checkpoint_every : float
        The least number of seconds between two writes.

    Attributes
    ----------
    components_ : array, shape (r, d)
        Orthonormal rows, in descending order of variance; the largest entry of each in absolute value is positive.
    explained_variance_ : array, shape (r,)
        The variance along each component, accumulated during the passes.
    mean_ : array, shape (d,)
        The mean that is subtracted; zero if center=False.
    n_samples_seen_ : int
        The number of rows processed, counted once per epoch.
    n_samples_skipped_ : int
        The number of rows that updated the mean only, because they have fewer than r observed entries or because these
        do not determine the weights.
    message_ : str
        Why the last call ended: the number of passes of `fit`, or of samples of `partial_fit`.
    n_features_in_ : int
        The number of features of X.

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

    message_: str

    # Notebooks show scikit-learn's diagram, and a table of what was learned.
    _repr_html_inner, _repr_mimebundle_ = html_of, mimebundle_of

    def __init__(
        self,
        n_components: int = 2,
        *,
        step: str = "averaged",
        memory: float | None = None,
        center: bool = True,
        n_epochs: int = 3,
        random_state: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.n_components = n_components
        self.step = step
        self.memory = memory
        self.center = center
        self.n_epochs = n_epochs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the subspace from a random start, in `n_epochs` passes over shuffled rows.

        Parameters
        ----------
        X : array, shape (n, d); or blocks of it on workers of Dask, as the page "Many machines: a cluster" explains
            Missing entries are NaN. Every column needs an observed entry, and some row needs at least r. Of blocks,
            one follows the other, in a random order.
        y : ignored
            Accepted for pipelines; nothing is learned from it.

        Returns
        -------
        self
        """
        with (
            restore_on_failure(self),
            one_blas_thread(),
            open_blocks(X, allow_missing=True) as X,
            checkpoint_of(self) as checkpoint,
        ):
            check_number("n_epochs", self.n_epochs, least=1, integer=True)
            X = self._validate(X, reset=True, least=2 if self.center else 1)
            empty = np.flatnonzero(np.isnan(extremes_of(X).low))
            if empty.size:
                raise ValueError(f"X[:, {empty[0]}] has no observed entry, NaN only. Drop the column.")
            journal = Journal()
            checkpoint.open(journal, np.random.default_rng(0), X=X)
            done = f"n_epochs={self.n_epochs} passes done"
            try:
                self._follow_epochs(X, journal.checkpoint)
            except KeyboardInterrupt:
                seen = int(self._stream.totals[1])
                if not seen or self.checkpoint is not None or not may_end_quietly():
                    raise
                done = f"interrupted by Ctrl-C after {seen} of {self.n_epochs * len(X)} samples"
                warn_user(f"{done}: what was learned from them is kept. Press Ctrl-C twice to end the program.")
            self._set_fitted(X)
            if self.n_samples_skipped_ == self.n_samples_seen_:
                raise ValueError(
                    f"no row of X has enough observed entries for n_components={self.n_components}. "
                    "Choose fewer components."
                )
            if not self._stream.moment.any():
                raise ValueError(
                    f"all {len(X)} samples of X coincide: they span no subspace. Give samples that differ."
                )
            self.message_ = done
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Update the subspace with one pass over new samples, in the given order.

        The result does not depend on how a stream is divided into calls.

        Parameters
        ----------
        X : array, shape (n, d)
            Missing entries are NaN. A column may have no observed entry.
        y : ignored
            Accepted for pipelines; nothing is learned from it.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread(), open_blocks(X, allow_missing=True) as X:
            first = not hasattr(self, "_stream")
            X = self._validate(X, reset=first, least=1)
            if first:
                self._stream = self._initialise_stream(X.shape[1], as_random_state(self.random_state))
            else:
                self._stream = Stream(*(array.copy() for array in self._stream))
            self._follow(X)
            self._set_fitted(X)
            self.message_ = f"followed {len(X)} samples"
        return self

    def transform(self, X: Any) -> Matrix:
        """Return the coordinates of samples in the subspace, shape (n, r).

        The coordinates of a row with missing entries are the least-squares weights of its observed entries, of minimum
        norm if they are not unique. A row without observed entries is mapped to 0, the coordinates of the mean.

        Parameters
        ----------
        X : array, shape (n, d)
            Missing entries are NaN.

        Returns
        -------
        array, shape (n, r)
        """
        check_is_fitted(self)
        with open_blocks(X, allow_missing=True) as X:
            X = validate_input(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
            if isinstance(X, BlockedFeatures):
                small = {"components": self.components_, "mean": self.mean_}
                return np.concatenate(X.execution.run(list_coordinates, X.shards, **small)[1])
            return coordinates_of(X, self.components_, self.mean_)

    def inverse_transform(self, X: Any) -> Matrix:
        """Return samples from their coordinates, shape (n, d), with missing entries filled in.

        Parameters
        ----------
        X : array, shape (n, r)
            Coordinates in the subspace, one row per sample.

        Returns
        -------
        array, shape (n, d)
        """
        check_is_fitted(self)
        check_kind("X", X)
        X = check_array(X, dtype=[np.float64, np.float32])
        r = len(self.components_)
        if X.shape[1] != r:
            raise ValueError(f"X has {X.shape[1]} columns; expected the {r} coordinates that transform gives.")
        return X @ self.components_.astype(X.dtype, copy=False) + self.mean_.astype(X.dtype, copy=False)

    def _validate(self, X: Any, *, reset: bool, least: int) -> Any:
        """Return X (n, d) with at least `least` rows; raise a ValueError for invalid parameters."""
        if self.step not in STEPS:
            raise ValueError(f"step={self.step!r} is unknown. Choose one of {', '.join(map(repr, STEPS))}.")
        check_flag("center", self.center)
        if self.memory is not None:
            # With a memory of one sample, the mean is the sample itself.
            check_number("memory", self.memory, least=1, strict=bool(self.center), also=(None,))
        check_number("n_components", self.n_components, least=1, integer=True)
        options = {"dtype": [np.float64, np.float32], "order": "C", "ensure_all_finite": "allow-nan"}
        X = validate_input(self, X, reset=reset, ensure_min_samples=least, **options)
        # A batch that would make the stream infinite is refused before it is followed.
        check_powers("X", X, 2)
        if self.n_components > X.shape[1]:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_features={X.shape[1]}. Choose fewer components."
            )
        if not reset and self.n_components != len(self.components_):
            raise ValueError(
                f"n_components={self.n_components}, but the stream has {len(self.components_)}. Call fit to start anew."
            )
        return X

    def _initialise_stream(self, d: int, rng: np.random.RandomState) -> Stream:
        """Return a stream at a random frame (d, r)."""
        r = int(self.n_components)
        frame = np.linalg.qr(rng.standard_normal((d, r)))[0].copy()
        return Stream(frame, np.zeros((r, r)), np.zeros(d), np.zeros(d), np.zeros(3))

    def _follow_epochs(self, X: Any, checkpoint: Any) -> None:
        """Update the stream with all rows of X in random orders, `n_epochs` times, or from where it was interrupted."""
        rng = as_random_state(self.random_state)
        found: Passage | None = checkpoint.position()
        if found is None:
            self._stream = self._initialise_stream(X.shape[1], rng)
            found = Passage(0, 0, self._stream, rng.get_state(legacy=False))
        self._stream = Stream(*(array.copy() for array in found.stream))
        rng.set_state(found.random)
        n, start = X.shape[0], found.row
        # The result does not depend on how rows are divided, and Ctrl-C is not noticed before the end of a part.
        length = n if isinstance(X, BlockedFeatures) else STORED_ROWS
        for epoch in range(found.epoch, self.n_epochs):
            random = rng.get_state(legacy=False)
            order = None if isinstance(X, BlockedFeatures) else rng.permutation(n)
            for row in range(start, n, length):
                if checkpoint.wanted:
                    stream = Stream(*(array.copy() for array in self._stream))
                    checkpoint.offer(Passage(epoch, row, stream, random))
                self._follow(X, rng if order is None else order[row : row + length])
            start = 0

    def _follow(self, X: Any, order: Any = None) -> None:
        """Update the stream with rows of X in some order; `order` is a generator of random ones for blocks."""
        keep = 1.0 if self.memory is None else 1 - 1 / float(self.memory)
        settings = Settings(keep, self.step == "greedy", bool(self.center))
        if isinstance(X, BlockedFeatures):
            self._stream = follow_blocks(X, self._stream, settings, order)
        else:
            subspace_follow(X, np.arange(len(X)) if order is None else order, self._stream, *settings)

    def _set_fitted(self, X: Any) -> None:
        """Set the fitted attributes from the stream."""
        stream = self._stream
        if not np.isfinite(stream.moment).all():
            raise ValueError(not_finite(X))
        variances, axes = np.linalg.eigh(stream.moment / max(stream.totals[0], 1.0))
        # A step of Newton's method removes the rounding errors of many steps from the orthonormal columns.
        frame = stream.frame @ (1.5 * np.eye(len(axes)) - 0.5 * stream.frame.T @ stream.frame)
        self.components_ = align_signs((frame @ axes[:, ::-1]).astype(X.dtype)).T
        with np.errstate(over="ignore"):
            self.explained_variance_ = np.maximum(variances[::-1], 0).astype(X.dtype)
            self.mean_ = stream.mean.astype(X.dtype)
        self._check_finite(X)
        self.n_samples_seen_, self.n_samples_skipped_ = int(stream.totals[1]), int(stream.totals[2])

    def _check_finite(self, X: Any) -> None:
        """Raise a ValueError that names the scale of X if a fitted attribute is not finite."""
        fitted = (self.components_, self.explained_variance_, self.mean_)
        if not all(np.isfinite(values).all() for values in fitted):
            raise ValueError(not_finite(X))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def not_finite(X: Any) -> str:
    """Return the message for samples X (n, d) that make a stream infinite in their dtype."""
    size = largest(X)
    return (
        f"variances are not finite in {X.dtype}: the largest entry of X in absolute value is {size:.3g}. Scale X, so "
        "that its entries are near 1."
    )
