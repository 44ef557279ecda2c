"""Embeddings of dissimilarities: multidimensional scaling by the SSTRESS."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import validate_data

from gramian.coordinates import Coordinates
from gramian.estimators._base import PSDEstimator
from gramian.estimators._checks import check_scale, unchanged_on_failure
from gramian.estimators._dissimilarities import (
    add_samples,
    align,
    check_and_connect,
    merge,
    read_matrix,
    read_pairs,
)
from gramian.execution import Execution
from gramian.geometries import Geometry
from gramian.losses import Squared
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.solvers import Result, Solver
from gramian.starts import Situation, fit_scale, resolve_start
from gramian.starts.classical_scaling import Dissimilarities
from gramian.types import Matrix

__all__ = ["SStressMDS"]


class SStressMDS(PSDEstimator):
    """An embedding whose squared distances are as near as can be to the squares of known dissimilarities.

    Minimises the SSTRESS, the mean over known pairs of weight · ½ (‖g_i - g_j‖² - δ_ij²)², g the rows of the embedding.
    Not all dissimilarities need be known, but those that are must join all samples. They are **distances**, unless
    `squared=True`. `fit` centres the embedding and turns it onto its principal axes, widest first, the largest
    coordinate on each positive; `partial_fit` leaves the picture where it is.

    Parameters
    ----------
    n_components : int
        The dimension r of the embedding, below the number of samples.
    squared : bool
        True where dissimilarities are given as squared distances; False where they are distances.
    metric : str or callable
        "precomputed" for dissimilarities in X; else X holds features, for `sklearn.metrics.pairwise_distances`.
    geometry : {"scaled", "flat", "polar"} or Geometry
    solver : {"cg", "gd", "trust-region", "online"} or Solver
    init : {"auto", "random"} or array of shape (n, r)
        The first embedding. "auto" is classical scaling, of shortest paths where dissimilarities are unknown.
    max_iter, tol, batch_size, n_epochs, n_jobs, random_state, callback, verbose
        As for `PSDRegressor`. Chance has a part in init="random" and solver="online" only.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
    stress_ : float
        √(Σ weight (‖g_i - g_j‖² - δ_ij²)² / Σ weight δ_ij⁴) over known pairs: 0 for a perfect fit.
    factor_, n_iter_, converged_, message_, history_, timings_
        As for `PSDRegressor`; the factor is the embedding.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.estimators.mds import SStressMDS
    >>> points = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 5.0]])
    >>> distances = np.linalg.norm(points[:, None] - points, axis=2)
    >>> distances[0, 3] = np.nan  # distances[3, 0] is still known
    >>> model = SStressMDS(n_components=2).fit(distances)
    >>> round(float(np.linalg.norm(model.embedding_[0] - model.embedding_[3])), 6)
    5.0
    >>> model.partial_fit_pairs([[0, 4], [1, 4], [2, 4]], [1.0, 2.0, 20**0.5]).embedding_.shape  # one more sample
    (5, 2)
    """

    embedding_: Matrix
    stress_: float
    _dissimilarities: Dissimilarities

    def __init__(
        self,
        n_components: int = 2,
        *,
        squared: bool = False,
        metric: Any = "precomputed",
        geometry: str | Geometry = "scaled",
        solver: str | Solver = "cg",
        init: str | Matrix = "auto",
        max_iter: int = 500,
        tol: float = 1e-14,
        batch_size: int = 32,
        n_epochs: int = 5,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
        callback: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.squared = squared
        self.metric = metric
        self.geometry = geometry
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Embed samples, from the start.

        Parameters
        ----------
        X : array, shape (n, n)
            Dissimilarities: symmetric, not negative, NaN where unknown, 0 or NaN on the diagonal. Where one of X[i, j]
            and X[j, i] is NaN the other counts. Features (n, d) if metric is not "precomputed".
        y : ignored
        sample_weight : array, shape (n,) or (n, n), optional
            Weights of samples, whose products are those of pairs; or weights of pairs. One of 0 makes a pair unknown.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            result = self._embed(self._read_matrix(X, sample_weight, reset=True))
        self._warn(result)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Matrix:
        """Embed samples, from the start, and give the embedding.

        Parameters
        ----------
        X : array, shape (n, n) or (n, d)
        y : ignored
        sample_weight : array, shape (n,) or (n, n), optional
            All as for `fit`.

        Returns
        -------
        array, shape (n, r)
        """
        return self.fit(X, sample_weight=sample_weight).embedding_

    def fit_pairs(
        self, pairs: Any, dissimilarity: Any, n_samples: int | None = None, sample_weight: Any = None
    ) -> Self:
        """Embed samples, from the start, by the dissimilarities of some pairs of them.

        Parameters
        ----------
        pairs : array of int, shape (m, 2)
            Sample numbers. A pair given twice, either way round, must have one dissimilarity; its weights are added.
        dissimilarity : array, shape (m,)
        n_samples : int, optional
            One more than the largest number in pairs, when omitted.
        sample_weight : array, shape (m,), optional
            Weights of the pairs.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            result = self._embed(self._read_pairs(pairs, dissimilarity, n_samples, sample_weight))
        self._warn(result)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on from the present embedding with changed or new dissimilarities; the picture stays in place.

        What is known in X replaces what was known before, or is added to it; NaN changes nothing. A larger matrix adds
        samples at its end, which start where their known neighbours ask for. The result is turned and shifted, not
        scaled, to where the samples were. The first call is `fit`.

        Parameters
        ----------
        X : array, shape (n, n) or (n, d)
            As for `fit`; a matrix of dissimilarities has a row for every sample embedded before, at least.
        y : ignored
        sample_weight : array, shape (n,) or (n, n), optional
            As for `fit`; of what is known in X.

        Returns
        -------
        self
        """
        columns = np.shape(X)[1] if np.ndim(X) == 2 else 0
        grown = not hasattr(self, "_dissimilarities") or (self._precomputed() and columns > self.n_features_in_)
        with unchanged_on_failure(self):
            result = self._embed(self._read_matrix(X, sample_weight, reset=grown), resume=True)
        self._warn(result)
        return self

    def partial_fit_pairs(
        self, pairs: Any, dissimilarity: Any, n_samples: int | None = None, sample_weight: Any = None
    ) -> Self:
        """Go on from the present embedding with changed or new pairs, as `partial_fit` does with a matrix.

        Parameters
        ----------
        pairs : array of int, shape (m, 2)
            Sample numbers; those not embedded before are new samples.
        dissimilarity : array, shape (m,)
        n_samples : int, optional
            One more than the largest number in pairs or embedded before, when omitted.
        sample_weight : array, shape (m,), optional
            Weights of the pairs.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            result = self._embed(self._read_pairs(pairs, dissimilarity, n_samples, sample_weight), resume=True)
        self._warn(result)
        return self

    def _precomputed(self) -> bool:
        """Return True if X holds dissimilarities."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _read_matrix(self, X: Any, sample_weight: Any, *, reset: bool) -> Dissimilarities:
        """Return what is known from a matrix of dissimilarities, or of features."""
        finite, dtypes = "allow-nan" if self._precomputed() else True, [np.float64, np.float32]
        X = validate_data(self, X, reset=reset, ensure_all_finite=finite, ensure_min_samples=2, dtype=dtypes)
        X = X if self._precomputed() else pairwise_distances(X, metric=self.metric)
        return read_matrix(X, sample_weight, self.squared)

    def _read_pairs(self, pairs: Any, dissimilarity: Any, n_samples: Any, sample_weight: Any) -> Dissimilarities:
        """Return what is known from pairs; they have neither columns nor names of them."""
        self.__dict__.pop("feature_names_in_", None)
        return read_pairs(pairs, dissimilarity, n_samples, sample_weight, self.squared)

    def _embed(self, known: Dissimilarities, *, resume: bool = False) -> Result:
        """Minimise, from the present embedding if that is asked for, and set the attributes."""
        before = None
        if resume and hasattr(self, "_dissimilarities"):
            known, before = merge(self._dissimilarities, known), self.embedding_
        geometry = self._geometry()
        check_scale(geometry)
        if geometry.full_rank:
            raise ValueError(f"geometry={self.geometry!r} is of full rank. Choose 'scaled', 'flat' or 'polar'.")
        known = check_and_connect(known, self.n_components)
        coordinates = Coordinates.of_nodes(known.n_samples, known.squared.dtype, known.squared)
        journal, rng = self._journal(coordinates.cost_scale(Squared())), self._generator()
        solver = self._solver(rng)
        problem = self._problem(known, coordinates)
        with journal.phase("start"):
            start = self._start(problem, known, coordinates, rng) if before is None else self._extend(before, known)
            start = coordinates.to_solver(start)
        # Shifts change no distance, but spoil the metric of the geometry.
        result = self._minimize(problem, geometry.point(start - start.mean(axis=0)), solver, journal)
        self._store(align(coordinates.to_user(result.point.G), before), result, journal)
        self.embedding_, self._dissimilarities = self.factor_, known._replace(graph=None)
        self.stress_ = float((max(result.cost, 0.0) / problem.value_at_zero) ** 0.5)
        if self._precomputed():
            self.n_features_in_ = known.n_samples
        return result

    def _problem(self, known: Dissimilarities, coordinates: Coordinates) -> Problem:
        """Return the SSTRESS of known dissimilarities."""
        weight = known.weight / known.weight.sum(dtype=np.float64).astype(known.weight.dtype)
        term = Term(Pairs(known.pairs), coordinates.targets(known.squared), weight=weight)
        return Problem([Block(coordinates.features, [term])], self._execution())

    def _start(
        self, problem: Problem, known: Dissimilarities, coordinates: Coordinates, rng: np.random.Generator
    ) -> Matrix:
        """Return the first embedding, by name or as given, in the user's units."""
        situation = Situation(coordinates.features, problem.execution, problem=problem, dissimilarities=known)
        choices, r = ("random", "classical"), self.n_components
        start = resolve_start(self.init, situation, r, rng, choices=choices, auto="classical")
        if not isinstance(self.init, str):
            return start
        return coordinates.to_user(fit_scale(problem, coordinates.to_solver(start)))

    def _extend(self, before: Matrix, known: Dissimilarities) -> Matrix:
        """Return the present embedding with new samples added."""
        return add_samples(before, known, self.n_components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.pairwise = inputs.allow_nan = inputs.positive_only = self._precomputed()
        return tags
