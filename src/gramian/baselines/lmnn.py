"""Large margin nearest neighbours: targets pulled near, impostors pushed beyond a margin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import euclidean_distances

from gramian.baselines._pair_learning import validate_samples
from gramian.checks import checked_number
from gramian.coordinates import centre
from gramian.estimators._base import check_finite, whitened_geometry
from gramian.estimators._checks import check_components, unchanged_on_failure
from gramian.estimators._distance import LearnedDistance
from gramian.execution import Execution, resolve_execution
from gramian.geometries import Scaled
from gramian.losses import Hinge, Linear
from gramian.measurements import Pairs, Triplets
from gramian.objective import Block, Problem, Term
from gramian.solvers import ConjugateGradient, minimize
from gramian.starts import Situation, resolve_start
from gramian.supervision import LabelTriplets, Scene
from gramian.supervision.sampling import as_generator
from gramian.supervision.triplets import MARGIN, rescale_to_margin
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["LMNN", "lmnn_objective"]

#: The kink of the hinge is rounded off over these widths, one after the other.
WIDTHS = (1.0, 0.1, 0.01)
#: Iterations between two searches for impostors.
ROUND = 50
#: The distances of so many pairs of samples are held at a time.
HELD = 2**22


class LMNN(LearnedDistance, BaseEstimator):
    """A distance by which each sample's targets are nearer than samples of other classes, by a margin.

    Minimises, over W = A (r = d) or W of rank r, with D the squared learned distance,

        (1 - μ) Σ_ij D(i, j) + μ Σ_ijl max(0, 1 + D(i, j) - D(i, l)),

    j running over the k targets of i, its nearest of its class by the Euclidean distance, fixed once, and l over all
    samples of other classes. It is solved on a factor of W by conjugate gradients, with the triplets that violate the
    margin added round by round until the objective settles, within a round and from one to the next, and next to none
    of it is due to triplets not known yet. Up to 500 features, the units of each do not slow it down. The kink of the
    hinge is rounded off over a width that falls from 1 to 0.01. At full rank the problem is convex in W. A round
    costs O(n² r) for the search, and an iteration O(n d r + m r) for m triplets.

    Parameters
    ----------
    n_components : int or None
        r; None for full rank, which starts at a multiple of the identity. Low ranks start at principal directions.
    n_neighbors : int
        k, at most: classes of fewer samples have fewer targets.
    mu : float
        μ, between 0 and 1.
    n_impostors : int
        The nearest of a sample that the first round knows of; each further round knows of twice as many.
    max_iter : int
        Rounds at most, of 50 iterations at most.
    tol : float
        The share of the objective that may change in the last round, or be missed by it.
    n_jobs : int, None or Execution
        The number of threads, -1 for one a core; the result does not depend on it. None leaves threads to BLAS.
    random_state : int, RandomState or None
        For the principal directions of more than 2000 features.

    Attributes
    ----------
    components_ : array, shape (r, d)
        `transform(X) = X @ components_.T`.
    objective_ : float
        The objective at the end, over all impostors, with the hinge as it is.
    threshold_ : float
        After `set_threshold` or `calibrate_threshold`: pairs at most so far apart are the same.
    n_iter_ : int
        Rounds.
    converged_, message_, n_features_in_

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
        max_iter: int = 50,
        tol: float = 1e-4,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.n_impostors = n_impostors
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from class labels.

        Parameters
        ----------
        X : array, shape (n, d)
        y : array, shape (n,)
            At least two classes, one of them with two samples.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_settings()
            self.__dict__.pop("threshold_", None)
            X, y = validate_samples(self, X, y)
            check_components(self.n_components, X.shape[1], Scaled())
            supervision = LabelTriplets(y, n_targets=self.n_neighbors, n_impostors=self.n_impostors)
            supervision.check(len(X))
            execution = resolve_execution(self.n_jobs)
            scene = Scene(centre(X, execution), as_generator(self.random_state), execution)
            self.components_ = check_finite(np.ascontiguousarray(self._minimise(scene, supervision).T))
            self._n_features_out = len(self.components_)
        return self

    def _check_settings(self) -> None:
        for name in ("n_neighbors", "n_impostors", "max_iter"):
            checked_number(name, getattr(self, name), least=1, integer=True)
        checked_number("mu", self.mu, least=0, strict=True, below=1)
        checked_number("tol", self.tol, least=0)

    def _minimise(self, scene: Scene, supervision: LabelTriplets) -> Matrix:
        """Return the factor (d, r) at which the objective settles."""
        features, labels = scene.features, supervision.labels
        active = supervision.search_all(features.dense(), scene)
        targets, factor = np.unique(active[:, :2], axis=0), self._start(scene, active)
        objective, most, geometry = np.inf, self.n_impostors, whitened_geometry(features)
        for turn in range(self.max_iter):
            problem = lmnn_problem(scene, targets, active, self.mu, WIDTHS[min(turn, len(WIDTHS) - 1)])
            result = minimize(problem, ConjugateGradient(), geometry.point(factor), max_iter=ROUND, tol=self.tol / 10)
            factor = result.point.G
            # Twice as many each time, so that in the end none is left out.
            Z, before, most = features.image(factor), objective, 2 * most
            objective, violated = find_violations(Z, labels, targets, self.mu, most)
            change = max(abs(before - objective), objective - known_objective(Z, targets, active, self.mu))
            self.n_iter_, self.objective_ = turn + 1, objective
            # Rounds that were cut short change little too.
            settled = self.n_iter_ >= len(WIDTHS) and result.converged
            self.converged_ = bool(settled and change <= self.tol * objective)
            if self.converged_:
                self.message_ = "relative change of the objective, over all impostors, below tol"
                break
            active = merge_triplets(active, violated, len(labels))
        else:
            self.message_ = f"max_iter={self.max_iter} rounds done"
            warn_user(
                f"not converged after max_iter={self.max_iter} rounds: the last changed or missed {change:.1e} of an "
                f"objective of {objective:.1e}. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        return factor

    def _start(self, scene: Scene, triplets: Matrix) -> Matrix:
        """Return the first factor (d, r), of a size at which the margin matters."""
        n, d = scene.features.shape
        rank = d if self.n_components is None else self.n_components
        if rank > n and rank < d:
            raise ValueError(f"n_components={self.n_components}, but there are {n} samples. Choose fewer.")
        name = "identity" if rank == d else "pca"
        situation = Situation(scene.features, scene.execution)
        start = resolve_start(name, situation, rank, scene.rng, choices=("identity", "pca"))
        return rescale_to_margin(scene, start, triplets)


def lmnn_problem(scene: Scene, targets: Matrix, triplets: Matrix, mu: float, width: float) -> Problem:
    """Return the objective over some triplets, by the number of target pairs, with a hinge rounded off over a width."""
    k, m = len(targets), len(triplets)
    # The linear loss is half the prediction.
    pull = Term(Pairs(targets), np.zeros(k), Linear(), np.full(k, -1), np.full(k, 2 * (1 - mu) / k))
    push = Term(Triplets(triplets), np.full(m, MARGIN), Hinge(width), np.full(m, 1), np.full(m, mu / k))
    return Problem([Block(scene.features, [pull, push])], scene.execution)


def lmnn_objective(Z: Matrix, labels: Vector, targets: Matrix, mu: float) -> float:
    """(1 - μ) Σ pull + μ Σ hinge over all impostors, of samples as they are mapped (n, r) and target pairs (k, 2)."""
    return find_violations(Z, labels, targets, mu, 1)[0]


def known_objective(Z: Matrix, targets: Matrix, triplets: Matrix, mu: float) -> float:
    """The same over some triplets (m, 3): no more than that over all impostors."""
    hinge = np.maximum(MARGIN - Triplets(triplets).predict(Z), 0)
    return (1 - mu) * float(np.sum(Pairs(targets).predict(Z))) + mu * float(np.sum(hinge))


def find_violations(Z: Matrix, labels: Vector, targets: Matrix, mu: float, most: int) -> tuple[float, Matrix]:
    """The objective of mapped samples (n, r), and violated triplets (m, 3) of the `most` nearest impostors at most."""
    near = Pairs(targets).predict(Z)
    hinge, found = 0.0, [np.empty((0, 3), int)]
    for rows, others in batches(labels, targets):
        anchors, code = np.unique(targets[rows, 0], return_inverse=True)
        far = euclidean_distances(Z[anchors], Z[others], squared=True)
        for row, distance, limit in zip(targets[rows], far[code], near[rows] + MARGIN, strict=True):
            inside = np.flatnonzero(distance < limit)
            hinge += float(np.sum(limit - distance[inside]))
            if len(inside) > most:
                inside = inside[np.argpartition(distance[inside], most)[:most]]
            found.append(np.column_stack([np.tile(row, (len(inside), 1)), others[inside]]))
    return (1 - mu) * float(np.sum(near)) + mu * hinge, np.concatenate(found)


def merge_triplets(known: Matrix, found: Matrix, n: int) -> Matrix:
    """Triplets (m, 3) of n samples that are in one or the other, sorted by anchor."""
    codes = np.unique(np.concatenate([known, found]) @ np.array([n * n, n, 1]))
    return np.column_stack([codes // (n * n), codes // n % n, codes % n])


def batches(labels: Vector, targets: Matrix) -> Iterator[tuple[Vector, Vector]]:
    """Rows of targets with one label, and the samples of other labels, so many that their distances can be held."""
    own = labels[targets[:, 0]]
    for label in np.unique(own):
        rows, others = np.flatnonzero(own == label), np.flatnonzero(labels != label)
        for part in np.array_split(rows, -(-len(rows) * len(others) // HELD)):
            yield part, others
