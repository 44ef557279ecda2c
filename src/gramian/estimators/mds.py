"""Multidimensional scaling: embeddings of dissimilarities by the SSTRESS."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from gramian.checks import check_powers
from gramian.coordinates import Coordinates
from gramian.estimators._base import PSDEstimator
from gramian.estimators._blocks import close_own_cluster
from gramian.estimators._checkpoint import FitCheckpoint, checkpoint_of
from gramian.estimators._checks import check_scale, restore_on_failure, validate_input
from gramian.estimators._dissimilarities import (
    add_samples,
    align,
    check_and_connect,
    distances_of_samples,
    merge_dissimilarities,
    read_matrix,
    read_pairs,
)
from gramian.estimators._rank import RankSearch, check_auto, is_auto
from gramian.estimators._setup import Setup
from gramian.execution import Execution, one_blas_thread
from gramian.geometries import Geometry
from gramian.losses import Squared
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.solvers import Journal, Result, Solver
from gramian.starts import Situation, fit_scale, resolve_start
from gramian.starts.classical_scaling import Dissimilarities
from gramian.types import Matrix

__all__ = ["SStressMDS"]


class SStressMDS(PSDEstimator):
    """An embedding whose squared distances approximate squared dissimilarities.

    Minimises the SSTRESS, the weighted mean of ½ (‖g_i - g_j‖² - δ_ij²)² over the known pairs, where g_i are the rows
    of the embedding. Dissimilarities δ may be unknown, but the graph of the known pairs must be connected. They are
    **distances** unless `squared=True`. `fit` centres the embedding and rotates it to its principal axes, in descending
    order of variance; the largest coordinate on each axis is positive. `partial_fit` aligns it with the previous one.

    Parameters
    ----------
    n_components : int or "auto"
        The dimension r of the embedding, less than the number of samples. "auto" adds columns one by one, by the
        certificate of the dimension below, to embeddings of three quarters of the pairs. It takes the lowest dimension
        that fits and predicts perfectly; with noise, the lowest whose cost on the other pairs is within one standard
        error of the best. `init` is not used then.
    squared : bool
        True if dissimilarities are given as squared distances.
    metric : str or callable
        "precomputed" if X holds dissimilarities; otherwise X holds features, and the dissimilarities are computed by
        `sklearn.metrics.pairwise_distances`.
    geometry : {"scaled", "flat", "polar"} or Geometry
        The Gram matrices W = G Gᵀ that are searched, and their metric. "scaled" converges fast for any conditioning
        of W; "flat" and "polar" are the paper's.
    solver : {"cg", "lbfgs", "gd", "trust-region", "online"} or Solver
        "cg" (conjugate gradients) or "lbfgs" for most problems, "trust-region" for high accuracy, "gd" for the paper's
        gradient descent, "online" for mini-batches.
    init : {"auto", "random"} or array of shape (n, r)
        The start. "auto" is classical scaling; unknown dissimilarities are replaced by shortest paths.
    max_iter : int
        The maximum number of iterations of a batch solver.
    tol : float
        A batch solver stops when the relative decrease of the cost or the relative change of the factor is at most tol,
        or when the cost is at most tol times the cost of W = 0.
    batch_size : int
        The number of pairs in a mini-batch of solver="online". A `Solver` object has its own batch size.
    n_epochs : int
        The number of passes of solver="online" over the data.
    certificate : bool
        True sets `certificate_` for a given dimension too.
    n_jobs : int, None or Execution
        The number of threads, -1 for one per core; every number gives the same bits. None is that of joblib's
        `parallel_config`, or else as many as BLAS may use.
    random_state : int, RandomState, Generator or None
        The seed of init="random", of the order of mini-batches, and of the pairs that n_components="auto" holds out.
    callback : callable, optional
        Called with a `gramian.solvers.Record` after every iteration; a true return value stops the fit.
    checkpoint : path, optional
        A file that stores the state of `fit`, or a folder for the files of several fits. If the fit is interrupted, the
        same call goes on from there. The file is removed at the end of the fit.
    checkpoint_every : float
        The seconds from one write to the next.
    verbose : int
        1 shows a bar on a terminal and in notebooks, if tqdm is installed, else every tenth iteration on standard
        error; 2 shows every iteration.

    Attributes
    ----------
    embedding_ : array, shape (n, r)
        One row per sample; also available as factor_.
    stress_ : float
        √(Σ weight (‖g_i - g_j‖² - δ_ij²)² / Σ weight δ_ij⁴) over the known pairs: 0 for a perfect fit.
    rank_ : int
        The dimension r.
    rank_path_ : list of gramian.estimators.RankTrial
        With n_components="auto", the ranks that were tried. The cost of each is that of three quarters of the pairs,
        which it learns from; held_out_cost is that of the others, by which the rank is chosen.
    certificate_ : gramian.certificate.Certificate
        How far the cost is from the lowest in any dimension; with n_components="auto" or certificate=True.
    n_iter_ : int
        The number of iterations; of epochs for solver="online".
    converged_ : bool
        True if a stopping rule holds; always False for solver="online", which has none.
    message_ : str
        Why the fit ended.
    history_ : dict of str to array
        iteration, cost, gradient_norm, step, time (seconds) and passes (over the data): one entry per iteration, the
        start included.
    timings_ : dict of str to float
        The seconds spent outside the iterations, by phase.
    n_features_in_ : int
        The number of columns of X.

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
    >>> points = np.random.default_rng(0).standard_normal((30, 3))
    >>> distances = np.linalg.norm(points[:, None] - points, axis=2)
    >>> SStressMDS(n_components="auto", random_state=0).fit(distances).rank_
    3
    >>> model.partial_fit_pairs([[0, 4], [1, 4], [2, 4]], [1.0, 2.0, 20**0.5]).embedding_.shape  # one more sample
    (5, 2)
    """

    embedding_: Matrix
    stress_: float
    _dissimilarities: Dissimilarities

    def __init__(
        self,
        n_components: Any = 2,
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
        certificate: bool = False,
        n_jobs: int | Execution | None = None,
        random_state: Any = None,
        callback: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
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
        self.certificate = certificate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Embed the samples, starting from `init`.

        Parameters
        ----------
        X : array, shape (n, n)
            Dissimilarities: symmetric, not negative, NaN if unknown, 0 or NaN on the diagonal. If one of X[i, j] and
            X[j, i] is NaN, the other is used. Features (n, d) if metric is not "precomputed".
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array, shape (n,) or (n, n), optional
            Weights of samples, whose products are the weights of pairs; or weights of pairs. A pair of weight 0 is
            unknown.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread(), close_own_cluster(self), checkpoint_of(self) as checkpoint:
            journal = self._open_journal()
            known = self._read_matrix(X, sample_weight, journal, reset=True)
            result = self._embed(known, journal, checkpoint)
        self._warn(result, journal)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Matrix:
        """Embed the samples, starting from `init`, and return the embedding, shape (n, r).

        Parameters
        ----------
        X : array, shape (n, n) or (n, d)
            Dissimilarities; features if metric is not "precomputed".
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array, shape (n,) or (n, n), optional
            Weights of samples or of pairs.

        Returns
        -------
        array, shape (n, r)
        """
        return self.fit(X, sample_weight=sample_weight).embedding_

    def fit_pairs(
        self, pairs: Any, dissimilarity: Any, n_samples: int | None = None, sample_weight: Any = None
    ) -> Self:
        """Embed samples by the dissimilarities of pairs, starting from `init`.

        Parameters
        ----------
        pairs : array of int, shape (m, 2)
            Indices of samples. A pair given twice, in either order, must have one dissimilarity; its weights are added.
        dissimilarity : array, shape (m,)
            Distances, or squared distances if `squared=True`.
        n_samples : int, optional
            The number of samples; by default one more than the largest index in pairs.
        sample_weight : array, shape (m,), optional
            Weights of the pairs.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread(), close_own_cluster(self), checkpoint_of(self) as checkpoint:
            journal, known = self._open_journal(), self._read_pairs(pairs, dissimilarity, n_samples, sample_weight)
            result = self._embed(known, journal, checkpoint)
        self._warn(result, journal)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue from the current embedding with changed or new dissimilarities.

        Known entries of X replace earlier ones or are added to them; NaN entries change nothing. A larger matrix adds
        samples at its end, which start at the point that fits their known distances. The result is rotated and
        shifted, not scaled, to the best fit of the previous embedding. The first call is equivalent to `fit`.

        Parameters
        ----------
        X : array, shape (n, n) or (n, d)
            Dissimilarities, with rows for all samples embedded before; features if metric is not "precomputed".
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array, shape (n,) or (n, n), optional
            Weights of samples or of pairs, for the known entries of X.

        Returns
        -------
        self
        """
        columns = np.shape(X)[1] if np.ndim(X) == 2 else 0
        grown = not hasattr(self, "_dissimilarities") or (self._is_precomputed() and columns > self.n_features_in_)
        with restore_on_failure(self), one_blas_thread(), close_own_cluster(self):
            journal = self._open_journal(streaming=True)
            result = self._embed(self._read_matrix(X, sample_weight, journal, reset=grown), journal, streaming=True)
        self._warn(result, journal)
        return self

    def partial_fit_pairs(
        self, pairs: Any, dissimilarity: Any, n_samples: int | None = None, sample_weight: Any = None
    ) -> Self:
        """Continue from the current embedding with changed or new pairs; see `partial_fit`.

        Parameters
        ----------
        pairs : array of int, shape (m, 2)
            Indices of samples; indices beyond the current embedding are new samples.
        dissimilarity : array, shape (m,)
            Distances, or squared distances if `squared=True`.
        n_samples : int, optional
            The number of samples; by default one more than the largest index, in pairs or embedded before.
        sample_weight : array, shape (m,), optional
            Weights of the pairs.

        Returns
        -------
        self
        """
        with restore_on_failure(self), one_blas_thread(), close_own_cluster(self):
            journal = self._open_journal(streaming=True)
            known = self._read_pairs(pairs, dissimilarity, n_samples, sample_weight)
            result = self._embed(known, journal, streaming=True)
        self._warn(result, journal)
        return self

    def _takes_features(self) -> bool:
        """Return False: dissimilarities have no features to scale."""
        return False

    def _is_precomputed(self) -> bool:
        """Return True if X holds dissimilarities."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _read_matrix(self, X: Any, sample_weight: Any, journal: Journal, *, reset: bool) -> Dissimilarities:
        """Return the known dissimilarities of a matrix (n, n), or of features (n, d)."""
        finite, dtypes = "allow-nan" if self._is_precomputed() else True, [np.float64, np.float32]
        X = validate_input(self, X, reset=reset, ensure_all_finite=finite, ensure_min_samples=2, dtype=dtypes)
        if isinstance(self.metric, str) and not self._is_precomputed():
            check_powers("X", X, 2)
        with journal.phase("dissimilarities"):
            if not self._is_precomputed():
                X = distances_of_samples(X, self.metric, 0 if reset else len(self.embedding_))
            return read_matrix(X, sample_weight, self.squared)

    def _read_pairs(self, pairs: Any, dissimilarity: Any, n_samples: Any, sample_weight: Any) -> Dissimilarities:
        """Return the dissimilarities of pairs, and drop feature names, which pairs do not have."""
        self.__dict__.pop("feature_names_in_", None)
        return read_pairs(pairs, dissimilarity, n_samples, sample_weight, self.squared)

    def _embed(
        self,
        known: Dissimilarities,
        journal: Journal,
        checkpoint: FitCheckpoint | None = None,
        *,
        streaming: bool = False,
    ) -> Result:
        """Return the result of minimising, from `init` or the current embedding, and set the fitted attributes."""
        before = None
        if streaming and hasattr(self, "_dissimilarities"):
            known, before = merge_dissimilarities(self._dissimilarities, known), self.embedding_
        geometry = self._resolve_geometry()
        check_scale(geometry)
        if geometry.full_rank:
            raise ValueError(f"geometry={self.geometry!r} is of full rank. Choose 'scaled', 'flat' or 'polar'.")
        coordinates = Coordinates.of_nodes(known.n_samples, known.squared.dtype, known.squared)
        scaled = known._replace(squared=coordinates.targets(known.squared))
        auto = is_auto(self.n_components)
        scaled = check_and_connect(scaled, 1 if auto else self.n_components)
        journal.cost_scale, rng = coordinates.cost_scale(Squared()), self._make_generator()
        if checkpoint is not None:
            checkpoint.open(journal, rng, **known._asdict())
        solver, problem = self._resolve_solver(rng), self._build_problem(scaled, coordinates)
        setup = Setup(problem, solver, geometry, coordinates, journal, rng)
        if before is None and auto:
            check_auto("n_components", self.init, solver, geometry)
            choice = RankSearch(setup, known.n_samples - 1).choose()
            start, self.rank_path_ = choice.factor, choice.trials
        else:
            with journal.phase("start"):
                earlier = None if before is None else coordinates.to_solver(before, problem.dtype)
                compute = partial(self._compute_start, setup, scaled, earlier)
                start = journal.checkpoint.remember("start", compute, rng=rng)
        # A translation changes no distance, but it changes the metric of the geometry.
        result = self._minimize(setup, geometry.point(start - start.mean(axis=0)))
        self._certify(setup, result)
        self._store_result(align(coordinates.to_user(result.point.G), before), result, journal)
        self.embedding_, self._dissimilarities, self.rank_ = self.factor_, known, self.factor_.shape[1]
        self.stress_ = float((max(result.cost, 0.0) / problem.value_at_zero) ** 0.5)
        if self._is_precomputed():
            self.n_features_in_ = known.n_samples
        return result

    def _build_problem(self, known: Dissimilarities, coordinates: Coordinates) -> Problem:
        """Return the problem of minimising the SSTRESS of the known dissimilarities."""
        weight = known.weight / known.weight.sum(dtype=np.float64).astype(known.weight.dtype)
        term = Term(Pairs(known.pairs), known.squared, weight=weight)
        return Problem([Block(coordinates.features, [term])], self._resolve_execution())

    def _compute_start(self, setup: Setup, known: Dissimilarities, earlier: Matrix | None) -> Matrix:
        """Return the start (n, r), in the solver's coordinates; that of an earlier embedding, unless it is None."""
        if earlier is not None:
            r = earlier.shape[1] if is_auto(self.n_components) else self.n_components
            return add_samples(earlier, known, r)
        problem, features = setup.problem, setup.problem.blocks[0].features
        coordinates, execution = setup.coordinates, problem.execution
        situation = Situation(features, setup.rng, execution, coordinates, problem, dissimilarities=known)
        choices, r = ("random", "classical"), self.n_components
        start = resolve_start(self.init, situation, r, choices=choices, auto="classical", rows="n_samples")
        return fit_scale(problem, start) if isinstance(self.init, str) else start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.pairwise = inputs.allow_nan = inputs.positive_only = self._is_precomputed()
        return tags
