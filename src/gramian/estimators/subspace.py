"""A subspace that follows a stream of samples, some of their entries missing."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from gramian._kernels.compiled import compiled
from gramian.estimators.checks import checked_number, unchanged_on_failure
from gramian.types import Matrix, Vector

__all__ = ["SubspaceTracker"]

STEPS = ("averaged", "greedy")
# After so many samples the frame is made orthonormal again; rounding grows in between.
MEND_EVERY = 64
# A sample is skipped if its observed entries hold less than this share of what is usual of a direction of the frame.
SMALLEST_SHARE = 1e-3
# What keeps the Gram matrix of the observed frame invertible, and, as a share of its trace, the moment of the weights
# before r samples are seen. The first biases the weights, the second only a step.
SMALLEST_GRAM, SMALLEST_MOMENT = 1e-15, 1e-10


class Stream(NamedTuple):
    """All that a stream remembers, in float64; changed in place.

    The frame (d, r) is orthonormal; moment (r, r) is the fading sum of w wᵀ; mean and counts (d,) are those of
    the entries observed; totals are the fading count of updates, the samples seen, and those skipped.
    """

    frame: Matrix
    moment: Matrix
    mean: Vector
    counts: Vector
    totals: Vector


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
        """Coordinates (n, r) in the subspace of samples (n, d).

        Those of a row with missing entries are its least-squares weights on the observed ones, the shortest where they
        are not determined; a row of NaN only is mapped to 0, that is to the mean.
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
        """Samples (n, d) from their coordinates (n, r); what was missing is filled in."""
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
        follow(X, order, stream, keep, self.step == "greedy", bool(self.center))
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


@compiled
def dot(a: Any, b: Any) -> Any:
    """aᵀ b."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@compiled
def solve(A: Any, b: Any, small: Any) -> Any:
    """(A + small I)⁻¹ b for a positive semidefinite A, by Cholesky's factor, which takes the place of A."""
    r = A.shape[0]
    x = b.copy()
    for k in range(r):
        A[k, k] += small
        for i in range(k, r):
            A[i, k] -= dot(A[i, :k], A[k, :k])
        # Rounding may leave a pivot that is not positive.
        A[k, k] = np.sqrt(max(A[k, k], small))
        for i in range(k + 1, r):
            A[i, k] /= A[k, k]
        x[k] = (x[k] - dot(A[k, :k], x[:k])) / A[k, k]
    for k in range(r - 1, -1, -1):
        x[k] = (x[k] - dot(A[k + 1 :, k], x[k + 1 :])) / A[k, k]
    return x


@compiled
def weigh(frame: Any, v: Any, observed: Any, m: Any) -> Any:
    """Least-squares weights (r,) of v, 0 where not observed, on the frame; and its least pivot there, over m/d."""
    d, r = frame.shape
    w = np.zeros(r)
    for j in observed[:m]:
        for k in range(r):
            w[k] += frame[j, k] * v[j]
    if m == d:
        return w, 1.0
    gram = np.zeros((r, r))
    for j in observed[:m]:
        for k in range(r):
            for i in range(k + 1):
                gram[k, i] += frame[j, k] * frame[j, i]
    w = solve(gram, w, SMALLEST_GRAM)
    return w, np.min(np.diag(gram)) ** 2 * d / m


@compiled
def rotate(frame: Any, e: Any, q: Any, tangent: Any) -> None:
    """Turns the frame's direction q towards e by an angle given by its tangent."""
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    size = np.sqrt(dot(q, q))
    towards = tangent * cosine / np.sqrt(dot(e, e))
    for j in range(e.shape[0]):
        change = ((cosine - 1) * dot(frame[j], q) / size + towards * e[j]) / size
        for k in range(q.shape[0]):
            frame[j, k] += q[k] * change


@compiled
def mend(frame: Any) -> None:
    """Makes nearly orthonormal columns orthonormal, those before each taken off it."""
    d, r = frame.shape
    for k in range(r):
        for i in range(k):
            shared = dot(frame[:, k], frame[:, i])
            for j in range(d):
                frame[j, k] -= shared * frame[j, i]
        size = np.sqrt(dot(frame[:, k], frame[:, k]))
        for j in range(d):
            frame[j, k] /= size


@compiled
def observe(x: Any, mean: Any, counts: Any, keep: Any, center: Any, v: Any, observed: Any) -> Any:
    """v = x - the mean with x in it, 0 where x is missing; lists the entries that are not, and gives their number."""
    m = 0
    for j in range(x.shape[0]):
        v[j] = 0.0
        if not np.isnan(x[j]):
            observed[m] = j
            m += 1
            counts[j] = keep * counts[j] + 1
            if center:
                mean[j] += (x[j] - mean[j]) / counts[j]
            v[j] = x[j] - mean[j]
    return m


@compiled
def remember(moment: Any, w: Any, keep: Any) -> Any:
    """Adds w wᵀ to the moment, what was there fading; gives its trace."""
    trace = 0.0
    for k in range(w.shape[0]):
        for i in range(w.shape[0]):
            moment[k, i] = keep * moment[k, i] + w[k] * w[i]
        trace += moment[k, k]
    return trace


@compiled
def follow(X: Any, order: Any, stream: Any, keep: Any, greedy: Any, center: Any) -> None:
    """Moves a stream, in place, by the rows of X in an order; m is the number of observed entries."""
    frame, moment, mean, counts, totals = stream
    d, r = frame.shape
    v, e, observed = np.zeros(d), np.zeros(d), np.zeros(d, np.intp)
    for i in order:
        m = observe(X[i], mean, counts, keep, center, v, observed)
        totals[1] += 1
        if totals[1] % MEND_EVERY == 0:
            mend(frame)
        w, share = weigh(frame, v, observed, m) if m >= r else (v, 0.0)
        if share < SMALLEST_SHARE:
            totals[2] += 1
            continue
        e[:] = 0.0
        for j in observed[:m]:
            e[j] = v[j] - dot(frame[j], w)
        # After t samples, sample s counts s/t: steps fall like 2/t, and the start is forgotten like 1/t².
        updates = totals[1] - totals[2]
        fading = min(keep, (updates - 1) / updates)
        trace = remember(moment, w, fading)
        totals[0] = fading * totals[0] + 1
        size, residual = np.sqrt(dot(w, w)), np.sqrt(dot(e, e))
        if size == 0 or residual == 0:
            continue
        if greedy:
            rotate(frame, e, w, residual / size)
        else:
            q = solve(moment.copy(), w, SMALLEST_MOMENT * trace)
            rotate(frame, e, q, d / m * residual * np.sqrt(dot(q, q)))


def follow_reference(
    X: Matrix, order: Vector, stream: Stream, *, keep: float = 1.0, greedy: bool = False, center: bool = True
) -> Stream:
    """What `follow` does, in NumPy, on a copy; without mending, for the frame is made orthonormal at every step."""
    frame, moment, mean, counts, totals = (array.copy() for array in stream)
    d, r = frame.shape
    for x in X[order].astype(np.float64):
        seen = ~np.isnan(x)
        counts[seen] = keep * counts[seen] + 1
        if center:
            mean[seen] += (x[seen] - mean[seen]) / counts[seen]
        v = (x - mean)[seen]
        totals[1] += 1
        share = seen.sum() / d
        gram = frame[seen].T @ frame[seen] + SMALLEST_GRAM * np.eye(r)
        if seen.sum() < r or np.diag(np.linalg.cholesky(gram)).min() ** 2 < SMALLEST_SHARE * share:
            totals[2] += 1
            continue
        w = np.linalg.lstsq(frame[seen], v, rcond=None)[0]
        e = np.zeros(d)
        e[seen] = v - frame[seen] @ w
        updates = totals[1] - totals[2]
        fading = min(keep, (updates - 1) / updates)
        moment = fading * moment + np.outer(w, w)
        totals[0] = fading * totals[0] + 1
        if not (w.any() and e.any()):
            continue
        small = SMALLEST_MOMENT * np.trace(moment) * np.eye(r)
        q = w / (w @ w) if greedy else np.linalg.solve(moment + small, w) / share
        # The polar factor of U + e qᵀ: for a step of rank one, the geodesic's point at the angle arctan(‖q‖ ‖e‖).
        left, _, right = np.linalg.svd(frame + np.outer(e, q), full_matrices=False)
        frame = left @ right
    return Stream(frame, moment, mean, counts, totals)
