"""LEGO: online metric learning by exact gradient steps with the LogDet divergence."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from gramian._kernels.logdet_metric import lego_pass
from gramian.baselines._endings import store_ending
from gramian.baselines._pair_learning import (
    LearnsFromBounds,
    LearnsOnline,
    learn_from_pairs,
    resolve_constraints,
    resolve_prior,
    store_matrix,
)
from gramian.checks import check_number, check_powers
from gramian.estimators._checks import check_n_constraints
from gramian.estimators._distance import LearnedDistance
from gramian.estimators._threshold import resolve_calibration
from gramian.solvers import Ending
from gramian.supervision import GivenPairs
from gramian.supervision.pairs import read_bounds
from gramian.supervision.tuples import tuples_of_points
from gramian.types import Matrix

__all__ = ["LEGO"]


class LEGO(LearnedDistance, LearnsFromBounds, LearnsOnline, BaseEstimator):
    """A full-rank Mahalanobis distance, learned online by one step for each violated pair.

    A step minimises D(A, A_t) + ½ η (zᵀAz - y)², where D is the LogDet divergence and y the target squared distance.
    The gradient is taken at the new A, which keeps A positive definite for every η: η (s - y) z zᵀ is added to A⁻¹,
    where s = zᵀAz for the new A is the root of a quadratic equation. A step costs O(d²).

    Parameters
    ----------
    eta : float
        The step size η. Large steps move each pair to its target, so that the last pairs dominate.
    prior : {"identity", "covariance"} or array of shape (d, d)
        The start of A; "covariance" is the inverse of the covariance of X.
    n_constraints : int or None
        The number of pairs that `fit` draws uniformly at random. By default 40 c (c - 1) for c classes, but at most
        n (n - 1)/2, the number of different pairs of n samples, and at most 30,000.
    n_epochs : int
        The number of passes of a call over its pairs.
    preprocessor : array or data frame, shape (n, d), or None
        Samples: methods then also take their indices in place of samples and points.
    random_state : int, RandomState, Generator or None
        The seed of the pairs that `fit` draws, and of their order.

    Attributes
    ----------
    components_ : array, shape (d, d)
        The symmetric root of A; `transform(X) = X @ components_.T`.
    n_updates_ : int
        The number of steps in the last call.
    bounds_ : tuple of float
        The upper bound for near pairs and the lower bound for far pairs, squared distances; set for labels or signs.
        Later calls of `partial_fit` keep them; `bounds` of `partial_fit_pairs` replace them.
    spectrum_ : array, shape (d,)
        The eigenvalues of A, descending.
    threshold_ : float
        Pairs at this distance or less are similar; set by `fit_pairs` with y, `set_threshold`, `calibrate_threshold`.
    converged_ : bool
        False: there is no stopping rule, all pairs are gone through.
    message_ : str
        Why the last call ended.
    n_features_in_ : int
        The number of features of X.

    References
    ----------
    Jain, Kulis, Dhillon, Grauman: Online metric learning and fast similarity search. NIPS 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gramian.baselines import LEGO
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = LEGO(random_state=0).fit(X[::2], y[::2])
    >>> model.partial_fit(X[1::2], y[1::2]).transform(X).shape
    (178, 13)
    """

    n_updates_: int
    converged_: bool
    message_: str

    def __init__(
        self,
        eta: float = 1e-3,
        *,
        prior: str | Matrix = "identity",
        n_constraints: int | None = None,
        n_epochs: int = 1,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.eta = eta
        self.prior = prior
        self.n_constraints = n_constraints
        self.n_epochs = n_epochs
        self.preprocessor = preprocessor
        self.random_state = random_state

    def partial_fit_pairs(
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
        """Continue from the current A with new pairs; the first call is equivalent to `fit_pairs`.

        Later calls keep `bounds_`, unless they give `bounds`, and may have a single pair, as may the first one if it
        has bounds. If all y are equal, `threshold_` is unchanged.

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
        resume = hasattr(self, "components_")
        known = resume and hasattr(self, "bounds_")
        given = GivenPairs(pairs, target, sense, y, bounds=read_bounds(bounds), one_kind=known)
        return learn_from_pairs(self, X, given, calibration, resume=resume)

    def _check_settings(self) -> None:
        """Raise a ValueError that names the first invalid parameter."""
        check_n_constraints(self.n_constraints)
        check_number("eta", self.eta, least=0, strict=True)
        check_number("n_epochs", self.n_epochs, least=1, integer=True)

    def _learn(self, X: Matrix, given: GivenPairs, *, resume: bool) -> None:
        """Learn A from pairs of rows of X, and set the fitted attributes."""
        # The equation of a step has the square of a squared distance.
        check_powers("X", X, 4)
        A = self.get_mahalanobis_matrix() if resume else resolve_prior(self.prior, X)
        constraints, given = resolve_constraints(X, given, A, getattr(self, "bounds_", None))
        self.__dict__.update(given.summary())
        self.n_updates_ = int(sum(lego_pass(*constraints, float(self.eta), A) for _ in range(self.n_epochs)))
        store_ending(self, Ending.EXHAUSTED, f"n_epochs={self.n_epochs} done")
        store_matrix(self, A)
