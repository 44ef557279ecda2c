"""Embeddings of dissimilarities: multidimensional scaling by the SSTRESS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse.linalg
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import validate_data

from gramian.estimators.base import PSDEstimator
from gramian.estimators.checks import checked_factor, checked_number, checked_weight, unchanged_on_failure
from gramian.features import Identity
from gramian.geometries import Geometry
from gramian.initialise import fitted_scale, initial_factor
from gramian.measurements import Pairs
from gramian.measurements.measurement import checked_indices
from gramian.objective import Block, Problem, Term
from gramian.solvers import Result, Solver
from gramian.types import Matrix, Vector

__all__ = ["SStressMDS"]

# An incomplete matrix starts from classical scaling of so many samples, by shortest paths; the others follow.
LANDMARKS = 50


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
        self.n_components, self.squared, self.metric = n_components, squared, metric
        self.geometry, self.solver, self.init = geometry, solver, init
        self.max_iter, self.tol, self.batch_size, self.n_epochs = max_iter, tol, batch_size, n_epochs
        self.random_state, self.callback, self.verbose = random_state, callback, verbose

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
        """
        return self._learn(lambda: self._from_matrix(X, sample_weight, reset=True))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Matrix:
        """Embed samples, from the start, and give the embedding (n, r); the parameters are those of `fit`."""
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
        """
        return self._learn(lambda: self._from_pairs(pairs, dissimilarity, n_samples, sample_weight))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on from the present embedding with changed or new dissimilarities; the picture stays in place.

        What is known in X replaces what was known before, or is added to it; NaN changes nothing. A larger matrix adds
        samples at its end, which start where their known neighbours ask for. The result is turned and shifted, not
        scaled, to where the samples were. The first call is `fit`, whose parameters these are.
        """
        columns = np.shape(X)[1] if np.ndim(X) == 2 else 0
        grown = not hasattr(self, "_known") or (self._given() and columns > self.n_features_in_)
        return self._learn(lambda: self._from_matrix(X, sample_weight, reset=grown), go_on=True)

    def partial_fit_pairs(
        self, pairs: Any, dissimilarity: Any, n_samples: int | None = None, sample_weight: Any = None
    ) -> Self:
        """Go on from the present embedding with changed or new pairs; see `partial_fit` and `fit_pairs`."""
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


class Known(NamedTuple):
    """Known dissimilarities, squared, of pairs (larger, smaller number) in the order of a lower triangle's rows."""

    n_samples: int
    pairs: Matrix
    squared: Vector
    weight: Vector

    def take(self, rows: Vector) -> Known:
        """Some of them."""
        return Known(self.n_samples, self.pairs[rows], self.squared[rows], self.weight[rows])

    def unique(self) -> tuple[Vector, Vector]:
        """The first of each pair, by its place in the lower triangle, and which of these every pair is."""
        keys = self.pairs[:, 0] * (self.pairs[:, 0] - 1) // 2 + self.pairs[:, 1]
        return np.unique(keys, return_index=True, return_inverse=True)[1:]


def from_matrix(X: Matrix, sample_weight: Any, squared: bool) -> Known:
    """What a square matrix makes known, each pair once."""
    n = X.shape[0]
    if X.shape != (n, n):
        raise ValueError(f"X has shape {X.shape}; expected a square matrix, or metric='euclidean' for features.")
    pairs = np.column_stack(np.tril_indices(n, -1))
    values = lower("X", X, pairs)
    if sample_weight is not None and np.asarray(sample_weight).shape == (n, n):
        weight = checked_weight(lower("sample_weight", np.asarray(sample_weight, X.dtype), pairs), len(pairs), X.dtype)
    else:
        weight = np.multiply(*checked_weight(sample_weight, n, X.dtype)[pairs.T])
    known = with_squares(
        Known(n, pairs, values, weight).take(np.flatnonzero(~np.isnan(values) & (weight > 0))), squared
    )
    if (bad := np.flatnonzero(np.abs(np.diagonal(X)) > rounding(X))).size:
        raise ValueError(f"X[{bad[0]}, {bad[0]}] = {X[bad[0], bad[0]]}; the diagonal must be 0, or NaN.")
    return known


def rounding(values: Matrix) -> float:
    """Differences up to this are by rounding."""
    return float(np.finfo(values.dtype).eps) ** 0.5 * float(np.fmax.reduce(np.abs(values), axis=None, initial=0))


def lower(name: str, matrix: Matrix, pairs: Matrix) -> Vector:
    """The entries below the diagonal, or above where those are NaN; a ValueError where both are known and differ."""
    i, j = pairs.T
    below, above = matrix[i, j], matrix[j, i]
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(np.abs(below - above) > rounding(matrix))
    if bad.size:
        i, j = pairs[bad[0]]
        raise ValueError(f"{name} is not symmetric: [{i}, {j}] is {matrix[i, j]}, but [{j}, {i}] is {matrix[j, i]}.")
    return np.where(np.isnan(below), above, below)


def from_pairs(pairs: Any, dissimilarity: Any, n_samples: int | None, sample_weight: Any, squared: bool) -> Known:
    """What pairs make known, each once."""
    checked_number("n_samples", 2 if n_samples is None else n_samples, least=2, integer=True)
    pairs = checked_indices(pairs, "pairs", 2, n_samples)
    if (bad := np.flatnonzero(pairs[:, 0] == pairs[:, 1])).size:
        i = pairs[bad[0], 0]
        raise ValueError(f"pairs[{bad[0]}] = ({i}, {i}) joins a sample to itself; its distance is always 0. Drop it.")
    values = np.asarray(dissimilarity)
    values = values if values.dtype == np.float32 else values.astype(np.float64)
    if values.shape != (len(pairs),) or not len(pairs):
        raise ValueError(f"dissimilarity has shape {values.shape}; expected one for each of {len(pairs)} pairs, not 0.")
    weight = checked_weight(sample_weight, len(pairs), values.dtype)
    n = int(pairs.max()) + 1 if n_samples is None else int(n_samples)
    known = with_squares(Known(n, np.sort(pairs, axis=1)[:, ::-1], values, weight), squared)
    return once(known.take(np.flatnonzero(weight)))


def with_squares(known: Known, squared: bool) -> Known:
    """Dissimilarities checked, and squared where they are not."""
    values = known.squared
    if (bad := np.flatnonzero(~((values >= 0) & np.isfinite(values)))).size:
        (j, i), value = known.pairs[bad[0]], values[bad[0]]
        kind = "Negative" if value < 0 else "Unknown or infinite"
        raise ValueError(f"{kind} values in data: the dissimilarity of samples {i} and {j} is {value}.")
    # The objective has fourth powers of distances.
    if values.max(initial=0) > float(np.finfo(values.dtype).max) ** (0.5 if squared else 0.25):
        raise ValueError(f"the SSTRESS of a dissimilarity of {values.max()} overflows. Scale them down.")
    return known if squared else known._replace(squared=values**2)


def once(known: Known) -> Known:
    """Each pair once, in order, with the sum of its weights; a ValueError where two dissimilarities contradict."""
    first, copies = known.unique()
    kept = known.take(first)
    if (bad := np.flatnonzero(np.abs(known.squared - kept.squared[copies]) > rounding(known.squared))).size:
        j, i = known.pairs[bad[0]]
        raise ValueError(f"the pair ({i}, {j}) is given more than once, with different dissimilarities. Give it once.")
    return kept._replace(weight=np.bincount(copies, known.weight).astype(known.weight.dtype))


def merged(before: Known, new: Known) -> Known:
    """What is new, and what was known before of other pairs."""
    columns = [np.concatenate(both).astype(both[1].dtype) for both in zip(new[1:], before[1:], strict=True)]
    together = Known(max(before.n_samples, new.n_samples), *columns)
    return together.take(together.unique()[0])


def checked_graph(known: Known, r: int) -> Any:
    """Distances as a sparse lower triangle, those of 0 kept; a ValueError unless they join enough samples."""
    checked_number("n_components", r, least=1, integer=True)
    if r >= known.n_samples:
        raise ValueError(f"n_components={r} is not below n_samples={known.n_samples}. Choose a smaller one.")
    # No more than this is made before it is clear that n_samples is no mistake.
    seen = np.zeros(min(known.n_samples, 2 * len(known.pairs) + 1), bool)
    seen[known.pairs[known.pairs < len(seen)]] = True
    if not seen.all():
        raise ValueError(f"sample {np.argmin(seen)} has no known dissimilarity; give one, or drop the sample.")
    if not known.squared.any():
        raise ValueError("every known dissimilarity is 0: there is nothing to embed.")
    graph = scipy.sparse.csr_array((np.sqrt(known.squared), tuple(known.pairs.T)), shape=(known.n_samples,) * 2)
    parts, labels = connected_components(graph, directed=False)
    if parts > 1:
        some = ", ".join(str(i) for i in np.unique(labels, return_index=True)[1][:5])
        raise ValueError(f"known dissimilarities leave {parts} parts unconnected: samples {some}. Embed each alone.")
    return graph


def classical(known: Known, graph: Any, r: int) -> Matrix:
    """Classical scaling (n, r); where entries are unknown, of shortest paths from some landmarks."""
    n = known.n_samples
    landmarks: Any = slice(None)
    if len(known.pairs) == n * (n - 1) // 2:
        squares = np.zeros((n, n), known.squared.dtype)
        squares[tuple(known.pairs.T)] = squares[tuple(known.pairs.T[::-1])] = known.squared
    else:
        landmarks = np.random.default_rng(0).permutation(n)[: max(LANDMARKS, 2 * r)]
        squares = dijkstra(graph, directed=False, indices=landmarks).astype(known.squared.dtype) ** 2
    products = -0.5 * (squares - squares[:, landmarks].mean(axis=1, keepdims=True))
    core = products[:, landmarks] - products[:, landmarks].mean(axis=0)
    k = len(core)
    if k <= max(10 * r, 4 * LANDMARKS):
        values, vectors = (part[..., -r:] for part in np.linalg.eigh(core))
    else:
        start = np.random.default_rng(0).standard_normal(k)
        values, vectors = scipy.sparse.linalg.eigsh(core, k=r, which="LA", v0=start.astype(core.dtype), tol=1e-4)
    if not values[-1] > 0:
        return np.random.default_rng(0).standard_normal((n, r)).astype(core.dtype)
    placed = products.T @ vectors
    # No dimension may be lost: the worse the fit, the more is left of those with small or negative eigenvalues.
    missing = max(float(np.vdot(core, core) - np.vdot(values, values)), 0.0) ** 0.5 / values[-1]
    least = max(1e-2 * min(missing, 1.0), 1e-10) * values[-1]
    small = np.maximum(np.linalg.norm(placed, axis=0), np.finfo(core.dtype).tiny) / np.sqrt(least * n / k)
    return placed / np.where(values > least, np.sqrt(np.abs(values)), small)


def extended(embedding: Matrix, known: Known, r: int) -> Matrix:
    """An embedding with new samples added, each placed from its neighbours of smaller numbers; at random without."""
    n, total = len(embedding), known.n_samples
    if embedding.shape[1] != r:
        raise ValueError(f"n_components={r}, but the embedding has {embedding.shape[1]} columns. Call fit instead.")
    new = embedding.std() * np.random.default_rng(0).standard_normal((total - n, r))
    G = np.concatenate([embedding, new]).astype(known.squared.dtype)
    cuts = np.searchsorted(known.pairs[:, 0], np.arange(n, total + 1))
    for sample, first, last in zip(range(n, total), cuts[:-1], cuts[1:], strict=True):
        if last > first:
            G[sample] = located(G[known.pairs[first:last, 1]], known.squared[first:last])
    return G


def located(neighbours: Matrix, squares: Vector) -> Vector:
    """The place (r,) at squared distances from neighbours (k, r): least squares, and outwards across their span."""
    centre = neighbours.mean(axis=0)
    spread = neighbours - centre
    excess = np.sum(spread**2, axis=1) - squares
    step, _, rank, _ = np.linalg.lstsq(spread, 0.5 * (excess - excess.mean()), rcond=1e-3)
    left = -float(excess.mean() + step @ step)
    if rank < len(step) and left > 0:
        across = np.linalg.eigh(spread.T @ spread)[1][:, 0]
        step = step + np.copysign(left**0.5, centre @ across) * across
    return centre + step


def turned(G: Matrix, before: Matrix | None) -> Matrix:
    """Turned and shifted: the first samples nearest to where they were before; without, onto principal axes."""
    common = G if before is None else G[: len(before)]
    G, common = G - common.mean(axis=0), common - common.mean(axis=0)
    if before is None:
        G = G @ np.linalg.svd(G, full_matrices=False)[2].T
        return np.where(G[np.argmax(np.abs(G), axis=0), np.arange(G.shape[1])] < 0, -G, G)
    left, _, right = np.linalg.svd(common.T @ (before - before.mean(axis=0)))
    return (G @ (left @ right) + before.mean(axis=0)).astype(G.dtype)
