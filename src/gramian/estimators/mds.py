"""Embeddings of dissimilarities: multidimensional scaling by the SSTRESS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import validate_data

from gramian.estimators.base import PSDEstimator
from gramian.estimators.checks import check_scale, checked_factor, unchanged_on_failure
from gramian.estimators.dissimilarities import (
    Known,
    checked_graph,
    classical,
    extended,
    from_matrix,
    from_pairs,
    merged,
    turned,
)
from gramian.features import Identity
from gramian.geometries import Geometry
from gramian.initialise import fitted_scale, initial_factor
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.solvers import Result, Solver
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
    max_iter, tol, batch_size, n_epochs, random_state, callback, verbose
        As for `PSDRegressor`. Chance has a part in init="random" and solver="online" only.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
    stress_ : float
        √(Σ weight (‖g_i - g_j‖² - δ_ij²)² / Σ weight δ_ij⁴) over known pairs: 0 for a perfect fit.
    factor_, n_iter_, converged_, history_
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
        return self._learn(lambda: self._from_matrix(X, sample_weight, reset=True))

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
        return self._learn(lambda: self._from_pairs(pairs, dissimilarity, n_samples, sample_weight))

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
        grown = not hasattr(self, "_known") or (self._given() and columns > self.n_features_in_)
        return self._learn(lambda: self._from_matrix(X, sample_weight, reset=grown), go_on=True)

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
        return self._learn(lambda: self._from_pairs(pairs, dissimilarity, n_samples, sample_weight), go_on=True)

    def _given(self) -> bool:
        """True where X holds dissimilarities."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _from_matrix(self, X: Any, sample_weight: Any, *, reset: bool) -> Known:
        """What a matrix of dissimilarities, or of features, makes known."""
        finite, dtypes = "allow-nan" if self._given() else True, [np.float64, np.float32]
        X = validate_data(self, X, reset=reset, ensure_all_finite=finite, ensure_min_samples=2, dtype=dtypes)
        X = X if self._given() else pairwise_distances(X, metric=self.metric)
        return from_matrix(X, sample_weight, self.squared)

    def _from_pairs(self, pairs: Any, dissimilarity: Any, n_samples: int | None, sample_weight: Any) -> Known:
        """What pairs make known; they have neither columns nor names of them."""
        self.__dict__.pop("feature_names_in_", None)
        return from_pairs(pairs, dissimilarity, n_samples, sample_weight, self.squared)

    def _learn(self, source: Callable[[], Known], *, go_on: bool = False) -> Self:
        """The embedding of what a source makes known, or of what was known before and is changed by it."""
        with unchanged_on_failure(self):
            known, before = source(), None
            if go_on and hasattr(self, "_known"):
                known, before = merged(self._known, known), self.embedding_
            result = self._embed(known, before)
        self._warn(result)
        return self

    def _embed(self, known: Known, before: Matrix | None) -> Result:
        """Minimise, from an embedding before where there is one, and set the attributes."""
        geometry = self._geometry()
        check_scale(geometry)
        if geometry.full_rank:
            raise ValueError(f"geometry={self.geometry!r} is of full rank. Choose 'scaled', 'flat' or 'polar'.")
        r = self.n_components
        graph = checked_graph(known, r)
        weight = known.weight / known.weight.sum(dtype=np.float64).astype(known.weight.dtype)
        features = Identity(known.n_samples, known.squared.dtype)
        problem = Problem([Block(features, [Term(Pairs(known.pairs), known.squared, weight=weight)])])
        rng = self._generator()
        solver = self._solver(rng)
        start = self._start(problem, known, graph, rng) if before is None else extended(before, known, r)
        # Shifts change no distance, but spoil the metric of the geometry.
        result = self._solve(problem, geometry.point(start - start.mean(axis=0)), solver)
        self.embedding_ = self.factor_ = turned(self.factor_, before)
        self.stress_ = float((max(result.cost, 0.0) / problem.value_at_zero) ** 0.5)
        self._known = known
        if self._given():
            self.n_features_in_ = known.n_samples
        return result

    def _start(self, problem: Problem, known: Known, graph: Any, rng: np.random.Generator) -> Matrix:
        """The first embedding, by name or as given."""
        if not isinstance(self.init, str):
            return checked_factor(self.init, known.n_samples, self.n_components, problem.dtype)
        if self.init == "auto":
            return fitted_scale(problem, classical(known, graph, self.n_components))
        if self.init == "random":
            return initial_factor("random", problem, self.n_components, rng)
        raise ValueError(f"init={self.init!r} is unknown. Choose 'auto', 'random', or an array.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.pairwise = inputs.allow_nan = inputs.positive_only = self._given()
        return tags
