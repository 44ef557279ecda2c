"""Large margin nearest neighbours: targets are pulled near, impostors are pushed beyond a margin."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gramian.baselines._endings import store_ending
from gramian.baselines._impostors import (
    all_triplets,
    count_triplets,
    find_inside,
    find_target_pairs,
    find_violations,
    merge_triplets,
    objective_on_triplets,
)
from gramian.baselines._pair_learning import validate_dense
from gramian.checks import check_number
from gramian.coordinates import Coordinates
from gramian.estimators._base import check_finite, make_whitened_geometry
from gramian.estimators._checks import check_components, restore_on_failure
from gramian.estimators._distance import LearnedDistance
from gramian.execution import Execution, one_blas_thread, resolve_execution
from gramian.geometries import Scaled
from gramian.losses import Hinge, Linear
from gramian.measurements import Pairs, Triplets
from gramian.objective import Block, Problem, Term
from gramian.solvers import ConjugateGradient, Ending, minimize
from gramian.starts import Situation, resolve_start
from gramian.supervision import LabelTriplets
from gramian.supervision.sampling import as_generator
from gramian.supervision.triplets import MARGIN, rescale_to_margin
from gramian.supervision.tuples import samples_of_indices
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["LMNN"]

#: The widths over which the kink of the hinge is smoothed, in successive rounds.
WIDTHS = (1.0, 0.1, 0.01)
#: The maximum number of iterations between two searches for impostors.
ROUND_LENGTH = 50
#: Of more triplets than the first number, a part is used while the hinge is smoothed more than in the end. Then it is
#: those of the nearest impostors, about as many, and all that are violated or nearly, up to the second number. Further
#: rounds add violated ones to them, as many as there are.
TRIPLETS_IN_PART, TRIPLETS_IN_MEMORY = 2**20, 10_000_000
#: Triplets whose distances differ by less than this number of margins are nearly violated.
NEAR_MARGIN = 1.5


class Minimised(NamedTuple):
    """A factor (d, r), why the rounds ended, and by how much the last one changed or missed the objective."""

    factor: Matrix
    ending: Ending
    change: float

    def describe(self, max_iter: int) -> str:
        """Return the message why the rounds ended."""
        if self.ending is Ending.CONVERGED:
            return "relative change of the objective, over all impostors, below tol"
        return f"max_iter={max_iter} rounds done" if self.ending is Ending.EXHAUSTED else self.ending.value


class LMNN(LearnedDistance, BaseEstimator):
    """A Mahalanobis distance whose nearest neighbours are of the same class, by a margin.

    Minimises, over W of rank r, with the squared distance D(i, j) = (x_i - x_j)ᵀ W (x_i - x_j),

        (1 - μ) Σ_ij D(i, j) + μ Σ_ijl max(0, 1 + D(i, j) - D(i, l)),

    where j runs over the k targets of i, the nearest samples of its class by the Euclidean distance, and l over all
    samples of other classes. At full rank the problem is convex in W. A factor of W is found by conjugate gradients, in
    rounds: each minimises over the known triplets, then adds triplets that violate the margin. At a low rank, two
    rounds may leave more than half of the objective to triplets that are not yet known; all triplets are then taken. If
    these are more than a million, rounds of wider smoothing use a random part, later ones those that are violated or
    nearly. Rounds stop when the objective converges and hardly any of it is due to unknown triplets. The kink of the
    hinge is smoothed over a width that decreases from 1 to 0.01. Up to 500 features, the scales of the features do not
    affect the convergence. A round costs O(n² r) for the search, and an iteration O(n d r + m r) for m triplets.

    Parameters
    ----------
    n_components : int or None
        The rank r; None for full rank.
    n_neighbors : int
        The number k of targets; small classes have fewer.
    mu : float
        The weight μ of the hinge, between 0 and 1.
    n_impostors : int
        The number of nearest impostors per sample in the first round; it is doubled in each further round.
    init : {"auto", "identity", "lda", "pca"} or array of shape (d, r)
        The start, of which a multiple is taken. "auto" is "identity" at full rank, else "pca".
    max_iter : int
        The maximum number of rounds; each has at most 50 iterations.
    tol : float
        Rounds stop when the relative change of the objective, and its share due to unknown triplets, are at most tol.
    n_jobs : int, None or Execution
        The number of threads, -1 for one per core; every number gives the same bits. None is that of joblib's
        `parallel_config`, or else as many as BLAS may use.
    preprocessor : array or data frame, shape (n, d), or None
        Samples: methods then also take their indices in place of samples and points.
    random_state : int, RandomState, Generator or None
        The seed of the principal directions, which are random for more than 2000 features only.

    Attributes
    ----------
    components_ : array, shape (r, d)
        `transform(X) = X @ components_.T`. Full rank is that of the centred samples, if these are fewer than features.
    objective_ : float
        The final objective, over all impostors and without smoothing.
    spectrum_ : array, shape (r,)
        The eigenvalues of W, descending.
    threshold_ : float
        Pairs at this distance or less are similar; set by `set_threshold`, `calibrate_threshold`.
    n_iter_ : int
        The number of rounds.
    converged_ : bool
        True if the stopping rule holds.
    message_ : str
        Why the fit ended.
    n_features_in_ : int
        The number of features of X.

    References
    ----------
    Weinberger, Saul: Distance metric learning for large margin nearest neighbor classification. JMLR 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gramian.baselines import LMNN
    >>> X, y = load_wine(return_X_y=True)
    >>> learned = make_pipeline(StandardScaler(), LMNN(), KNeighborsClassifier(3))
    >>> bool(cross_val_score(learned, X, y).mean() > 0.95)
    True
    """

    objective_: float
    n_iter_: int
    converged_: bool
    message_: str

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        mu: float = 0.5,
        n_impostors: int = 10,
        init: str | Matrix = "auto",
        max_iter: int = 50,
        tol: float = 1e-4,
        n_jobs: int | Execution | None = None,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.n_impostors = n_impostors
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from class labels.

        Parameters
        ----------
        X : array, shape (n, d)
            The samples, one per row.
        y : array, shape (n,)
            At least two classes, one of them with two samples.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread():
            self._check_settings()
            self.__dict__.pop("threshold_", None)
            X, y = validate_dense(self, samples_of_indices(X, self.preprocessor), y)
            check_components(self.n_components, X.shape[1], Scaled())
            supervision = LabelTriplets(y, n_targets=self.n_neighbors, n_impostors=self.n_impostors).validate(len(X))
            execution = resolve_execution(self.n_jobs)
            # The objective does not depend on W outside the span of the samples.
            in_span = self.n_components is None and isinstance(self.init, str)
            coordinates = Coordinates.of_distances(X, in_span=in_span, execution=execution)
            rng, labels = as_generator(self.random_state), supervision.labels
            situation = Situation(coordinates.features, rng, execution, coordinates, labels=labels)
            found = self._minimise(situation, supervision)
            self.components_ = check_finite(np.ascontiguousarray(coordinates.to_user(found.factor).T))
            self._n_features_out = len(self.components_)
            store_ending(self, found.ending, found.describe(self.max_iter))
        self._warn(found)
        return self

    def _check_settings(self) -> None:
        """Raise a ValueError that names the first invalid parameter."""
        for name in ("n_neighbors", "n_impostors", "max_iter"):
            check_number(name, getattr(self, name), least=1, integer=True)
        check_number("mu", self.mu, least=0, strict=True, below=1)
        check_number("tol", self.tol, least=0)

    def _minimise(self, situation: Situation, supervision: LabelTriplets) -> Minimised:
        """Return the factor (d, r) that minimises the objective, and how the rounds ended."""
        features, labels = situation.features, supervision.labels
        active = supervision.search_all(features.dense(), situation)
        targets, start = find_target_pairs(active, len(labels)), self._compute_start(situation, active)
        objective, most = np.inf, self.n_impostors
        # As for full rank: the moment of all samples is little work beside a round.
        geometry = make_whitened_geometry(features, rank=features.shape[1], execution=situation.execution)
        factor, first_round, total, stride = start, 0, count_triplets(labels, targets), 1
        for index in range(self.max_iter):
            width = WIDTHS[min(index - first_round, len(WIDTHS) - 1)]
            problem = build_problem(situation, targets, active, self.mu, width, stride)
            result = minimize(
                problem, ConjugateGradient(), geometry.point(factor), max_iter=ROUND_LENGTH, tol=self.tol / 10
            )
            factor = result.point.G
            # The limit doubles in each round, so that no violated triplet is omitted forever.
            Z, before, most = situation.image(factor), objective, 2 * most if stride == 1 else most
            known = objective = objective_on_triplets(Z, targets, active, self.mu)
            if len(active) < total:
                # What a part leaves out is not added to it.
                sought = most if stride == 1 else 1
                objective, violated = find_violations(Z, labels, targets, self.mu, sought, situation.execution)
            unknown = objective - known if stride == 1 else 0.0
            change = max(abs(before - objective), unknown)
            self.n_iter_, self.objective_ = index + 1, objective
            # A round that reached its limit of iterations may also change little.
            settled = width == WIDTHS[-1] and result.ending is not Ending.EXHAUSTED
            if settled and change <= self.tol * objective:
                ending = result.ending
                break
            if index + 1 == self.max_iter:
                continue
            if index > 0 and first_round == 0 and unknown > 0.5 * objective:
                # A factor that is fitted to few of many violated triplets is worse than the start.
                stride = -(-total // TRIPLETS_IN_PART)
                active, factor, first_round = all_triplets(labels, targets, stride), start, index + 1
            elif stride > 1 and width == WIDTHS[-2]:
                # Others that become violated are found after the next round.
                active, stride = find_near_triplets(Z, labels, targets, situation.execution), 1
            elif stride == 1 and len(active) < total:
                active = merge_triplets([active, violated], len(labels))
        else:
            ending = Ending.EXHAUSTED
        return Minimised(factor, ending, change)

    def _warn(self, found: Minimised) -> None:
        """Issue a ConvergenceWarning unless the stopping rule holds."""
        if found.ending is Ending.EXHAUSTED:
            warn_user(
                f"not converged after max_iter={self.max_iter} rounds: the last changed or missed {found.change:.1e} "
                f"of an objective of {self.objective_:.1e}. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        elif found.ending is Ending.STUCK:
            warn_user(
                f"stopped after {self.n_iter_} rounds: {self.message_}. Scale the features of X alike.",
                ConvergenceWarning,
            )

    def _compute_start(self, situation: Situation, triplets: Matrix) -> Matrix:
        """Return the start (d, r), scaled to the margin."""
        n, d = situation.features.shape
        rank = d if self.n_components is None else self.n_components
        if rank > n and rank < d:
            raise ValueError(f"n_components={self.n_components}, but there are {n} samples. Choose fewer.")
        auto = "identity" if rank == d else "pca"
        start = resolve_start(self.init, situation, rank, choices=("identity", "lda", "pca"), auto=auto)
        return rescale_to_margin(situation, start, triplets[:, [0, 2]])


def build_problem(
    situation: Situation, targets: Matrix, triplets: Matrix, mu: float, width: float, copies: int = 1
) -> Problem:
    """Return the problem over triplets (m, 3), divided by the number of target pairs, with a smoothed hinge.

    Each triplet stands for `copies` of itself.
    """
    k, m = len(targets), len(triplets)
    # The linear loss is half the prediction.
    pull = Term(Pairs(targets), np.zeros(k), Linear(), np.full(k, -1), np.full(k, 2 * (1 - mu) / k))
    push = Term(Triplets(triplets), np.full(m, MARGIN), Hinge(width), np.full(m, 1), np.full(m, copies * mu / k))
    return Problem([Block(situation.features, [pull, push])], situation.execution)


def find_near_triplets(Z: Matrix, labels: Vector, targets: Matrix, execution: Execution) -> Matrix:
    """Return triplets (m, 3) that are violated or nearly, and those of the nearest impostors, of target pairs (k, 2).

    Z are the mapped samples.
    """
    near, k = Pairs(targets).predict(Z), len(targets)
    # No two samples are farther apart than twice the largest norm.
    reach = 4 * float(np.max(np.sum(Z**2, axis=1)))
    parts = []
    for margin, most in ((NEAR_MARGIN * MARGIN, TRIPLETS_IN_MEMORY // k), (reach, TRIPLETS_IN_PART // k)):
        parts += find_inside(Z, labels, targets, near + margin, max(1, most), execution).triplets
    return merge_triplets(parts, len(labels))
