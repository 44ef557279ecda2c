"""Learning a full matrix A from pairs: the constraints, the prior, and the map of the samples by a root of A."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from gramian.baselines._endings import warn_unless_converged
from gramian.checks import as_numbers, check_powers
from gramian.coordinates import Coordinates
from gramian.estimators._base import check_finite
from gramian.estimators._checks import LARGEST_FULL, restore_on_failure, validate_input
from gramian.estimators._distance import calibrate_on_pairs
from gramian.estimators._threshold import Calibration, check_no_calibration, resolve_calibration
from gramian.execution import one_blas_thread
from gramian.supervision import GivenPairs, LabelPairs
from gramian.supervision.checks import check_samples
from gramian.supervision.pairs import Bounds, percentile_bounds, read_bounds
from gramian.supervision.sampling import as_generator
from gramian.supervision.tuples import holds_tuples, samples_of_indices, tuples_of_points
from gramian.types import Matrix, Vector

__all__ = [
    "Constraints",
    "LearnsFromBounds",
    "LearnsFromLabels",
    "LearnsOnline",
    "check_distinct_pairs",
    "learn_from_pairs",
    "resolve_constraints",
    "resolve_prior",
    "store_matrix",
    "symmetric_root",
    "validate_dense",
]

#: Arguments for `validate_data`: full matrices are learned in float64.
INPUT_KINDS: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_min_samples": 2}


def learn_from_pairs(
    learner: Any,
    X: Any,
    supervision: Any,
    calibration: Calibration | None = None,
    *,
    resume: bool = False,
) -> Any:
    """Return the learner, fitted to given pairs (GivenPairs) or to pairs drawn by class labels (LabelPairs).

    The learner has three methods for it: `_check_settings()`, which raises a ValueError; `_learn(X, given, resume=)`,
    from pairs of rows of X, which returns the `Cycles` that may have to be warned of, or None; and
    `_set_threshold_from(X, given, calibration, before)`, after learning from signs. If an exception is raised, the
    learner is unchanged; a warning comes after what was learned is stored.
    """
    before = getattr(learner, "threshold_", None)
    with restore_on_failure(learner), one_blas_thread():
        learner._check_settings()
        # partial_fit keeps the bounds of the first call.
        for name in ("threshold_",) if resume else ("threshold_", "bounds_"):
            vars(learner).pop(name, None)
        if supervision.from_labels:
            samples, labels = validate_dense(learner, X, supervision.labels, reset=not resume)
            supervision = replace(supervision, labels=labels).validate(len(samples))
            cycles = learner._learn(samples, draw_in_random_order(supervision, learner.random_state), resume=resume)
        else:
            samples = validate_dense(learner, X, reset=not resume)
            supervision = supervision.validate(len(samples))
            cycles = learner._learn(samples, supervision, resume=resume)
            if supervision.has_signs:
                learner._set_threshold_from(samples, supervision, calibration, before)
    if cycles is not None:
        warn_unless_converged(learner, cycles)
    return learner


class LearnsFromLabels:
    """The method `fit` of learners of pairs that have a threshold of their own."""

    n_constraints: int | None
    preprocessor: Any

    def fit(self, X: Any, y: Any, *, calibration_params: Any = None) -> Self:
        """Learn from class labels, by random pairs of samples; or from pairs of points.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d)
            Samples, one per row; or the points themselves. With a preprocessor: indices (n,) of its samples, or pairs
            (m, 2) of indices.
        y : array, shape (n,) or (m,)
            Class labels: at least two classes, one of them with two samples. For pairs +1 (same) and -1 (different).
        calibration_params : dict, optional
            For pairs, as in `fit_pairs`.

        Returns
        -------
        self
        """
        if holds_tuples(X, self.preprocessor):
            return self.fit_pairs(X, y=y, calibration_params=calibration_params)
        check_no_calibration(calibration_params)
        X = samples_of_indices(X, self.preprocessor)
        return learn_from_pairs(self, X, LabelPairs(y, self.n_constraints))

    def fit_pairs(self, X: Any, pairs: Any = None, y: Any = None, *, calibration_params: Any = None) -> Self:
        """Learn from pairs of samples."""
        raise NotImplementedError


class LearnsOnline:
    """The method `partial_fit` of learners of pairs that go on from call to call."""

    n_constraints: int | None
    preprocessor: Any

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Continue from what was learned, with pairs of new labelled samples, or of points.

        The first call is equivalent to `fit(X, y)`. Later calls keep `bounds_`, if there are any.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d)
            Samples, one per row; or the points themselves.
        y : array, shape (n,) or (m,)
            Class labels; for pairs +1 (same) and -1 (different).

        Returns
        -------
        self
        """
        if holds_tuples(X, self.preprocessor):
            return self.partial_fit_pairs(X, y=y)
        X = samples_of_indices(X, self.preprocessor)
        return learn_from_pairs(self, X, LabelPairs(y, self.n_constraints), resume=hasattr(self, "components_"))

    def partial_fit_pairs(self, X: Any, pairs: Any = None, y: Any = None) -> Self:
        """Continue with pairs of samples."""
        raise NotImplementedError


class LearnsFromBounds:
    """The methods of learners of squared distances that pairs should have at most, at least, or exactly."""

    n_constraints: int | None
    preprocessor: Any

    def fit(self, X: Any, y: Any, *, bounds: Any = None, calibration_params: Any = None) -> Self:
        """Learn from class labels, by random pairs of samples; or from pairs of points.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d)
            Samples, one per row; or the points themselves. With a preprocessor: indices (n,) of its samples, or pairs
            (m, 2) of indices.
        y : array, shape (n,) or (m,)
            Class labels: at least two classes, one of them with two samples. For pairs +1 (same) and -1 (different).
        bounds : two floats, optional
            Squared distances that near pairs should have at most, and far ones at least, in place of percentiles.
        calibration_params : dict, optional
            For pairs: any of `strategy`, `beta` and `min_rate`, for the `calibrate_threshold` that sets `threshold_`.

        Returns
        -------
        self
        """
        if holds_tuples(X, self.preprocessor):
            return self.fit_pairs(X, y=y, bounds=bounds, calibration_params=calibration_params)
        check_no_calibration(calibration_params)
        X = samples_of_indices(X, self.preprocessor)
        return learn_from_pairs(self, X, LabelPairs(y, self.n_constraints, bounds=read_bounds(bounds)))

    def fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        sense: Any = None,
        bounds: Any = None,
        calibration_params: Any = None,
    ) -> Self:
        """Learn from pairs of samples.

        Parameters
        ----------
        X : array, shape (n, d); or pairs of points, shape (m, 2, d), then y without `pairs`
            Samples, one per row, dense; or the points of the tuples themselves.
        pairs : array of int, shape (m, 2)
            Row indices of X. Pairs of samples that coincide are ignored.
        y : array of +1 and -1, shape (m,)
            In place of target and sense: squared distances should be at most their 5th percentile under the prior for
            y = +1, and at least their 95th for y = -1. Also sets `threshold_`.
        target : array, shape (m,), or float
            Squared distances.
        sense : {0, -1, +1} or {"equal", "at most", "at least"}, or an array (m,) of them
            Whether the squared distance should equal its target, be at most, or be at least the target.
        bounds : two floats, optional
            For y: squared distances in place of the percentiles. Pairs of one kind are then sufficient.
        calibration_params : dict, optional
            Any of `strategy`, `beta` and `min_rate`, for the `calibrate_threshold` that sets `threshold_` by y.

        Returns
        -------
        self
        """
        X, pairs, y = tuples_of_points(X, pairs, y, self.preprocessor)
        calibration = resolve_calibration(calibration_params, y)
        given = GivenPairs(pairs, target, sense, y, bounds=read_bounds(bounds))
        return learn_from_pairs(self, X, given, calibration)

    def _set_threshold_from(
        self, X: Any, given: GivenPairs, calibration: Calibration | None, before: float | None
    ) -> None:
        """Set the threshold that best separates the pairs; keep the previous one if they are of one kind."""
        calibrate_on_pairs(self, X, given, calibration or Calibration(), before)


def validate_dense(learner: Any, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
    """Return validated samples (n, d) in float64, and y if given."""
    checked = validate_input(learner, X, y, reset=reset, **INPUT_KINDS)
    d = learner.n_features_in_
    if d > LARGEST_FULL:
        raise ValueError(f"X has {d} features: a {d} x {d} matrix would be learned. Reduce them to {LARGEST_FULL}.")
    samples = checked[0] if isinstance(checked, tuple) else checked
    check_samples(samples)
    if getattr(X, "dtype", None) == np.float32:
        # The images of such samples are of float32 too.
        check_powers("X", samples, 1, np.float32)
    return checked


def draw_in_random_order(supervision: LabelPairs, random_state: Any) -> GivenPairs:
    """Return pairs drawn by label, in random order, since online learners depend on the order."""
    rng = as_generator(random_state)
    drawn = supervision.draw(rng)
    order = rng.permutation(len(drawn))
    return replace(drawn, pairs=drawn.pairs[order], y=drawn.y[order])


class Constraints(NamedTuple):
    """Constraints on the squared distances (m,) of the samples X[first] and X[second].

    The senses are -1 for at most, 0 for equal to, and +1 for at least the target.
    """

    X: Matrix
    first: Vector
    second: Vector
    target: Vector
    sense: Vector


class Resolved(NamedTuple):
    """Constraints, and the pairs that they are made of, with the bounds that signs became."""

    constraints: Constraints
    given: GivenPairs


def resolve_constraints(X: Matrix, given: GivenPairs, A: Matrix, bounds: Bounds | None) -> Resolved:
    """Return the constraints on the pairs whose samples do not coincide.

    Bounds for signs are the given ones; if None, percentiles of the squared distances under A (d, d).
    """
    first, second = np.ascontiguousarray(given.pairs.T)
    z = X[first] - X[second]
    squared = np.einsum("ij,ij->i", z @ A, z)
    apart = squared > 0
    check_distinct_pairs(apart)
    bounds = bounds if given.bounds is None else given.bounds
    given = given.resolve_targets(percentile_bounds(squared[apart]) if given.has_signs and bounds is None else bounds)
    assert given.targets is not None
    target, sense = given.targets
    return Resolved(Constraints(X, first[apart], second[apart], target[apart], sense[apart]), given)


def check_distinct_pairs(apart: Vector) -> None:
    """Raise a ValueError if the samples of every pair coincide; `apart` (m,) is False for those pairs."""
    if not apart.any():
        raise ValueError("the samples of every pair coincide: no distance can be learned from them.")


def store_matrix(learner: Any, A: Matrix, coordinates: Coordinates | None = None) -> None:
    """Set `components_` to the symmetric root of A (d, d), which was learned in some coordinates of the samples."""
    root = symmetric_root(A)
    learner.components_ = root if coordinates is None else coordinates.to_user(root)
    learner._n_features_out = len(A)


def symmetric_root(A: Matrix) -> Matrix:
    """Return the symmetric positive semidefinite R (d, d) with R R = A; negative eigenvalues of A count as 0."""
    values, vectors = np.linalg.eigh(check_finite(A))
    return np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def resolve_prior(prior: Any, X: Matrix) -> Matrix:
    """Return a new array with the prior A₀ (d, d), positive definite, from a name or an array."""
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
    if not (np.isfinite(A).all() and np.allclose(A, A.T, atol=1e-8 * np.abs(A).max())):
        raise ValueError("prior is not a symmetric positive definite matrix.")
    A = (A + A.T) / 2
    values = np.linalg.eigvalsh(A)
    # Eigenvalues are exact up to rounding of the largest.
    if values[0] <= d * np.finfo(float).eps * values[-1]:
        raise ValueError(
            f"prior is not a symmetric positive definite matrix: its eigenvalues are from {values[0]:.1e} to "
            f"{values[-1]:.1e}, so that it is singular or indefinite. Add a multiple of the identity."
        )
    return A
