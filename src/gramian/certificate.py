"""Certificates: how far a factor is from the best positive semidefinite matrix of any rank.

The objective f is convex in W. At a stationary factor, W is a global minimum over all positive semidefinite matrices if
its gradient M = ∇f(W) has no negative eigenvalue. An eigenvector of a negative eigenvalue is a column that lowers the
objective (Journée, Bach, Absil and Sepulchre, 2010). For any minimiser W*, convexity gives

    f(W) - f(W*) <= <M, W> - <M, W*> <= <M, W> - λ tr(W*),    λ the smallest eigenvalue of M, or 0 if that is positive.

The trace of W* is not known. For f(W) = ½ Σ weight (p - y)² over predictions p, the dual problem gives a bound without
it. Every vector u with Σ weight u X positive semidefinite has f(W*) >= -½ Σ weight u² - Σ weight u y. The residuals
p - y plus a constant μ are such a vector, if M + μ C is positive semidefinite for C = Σ weight X.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from gramian.coordinates import Coordinates
from gramian.geometries import Flat, Point
from gramian.losses import Linear
from gramian.objective import Block, Evaluation, Line, Problem, Term
from gramian.types import Matrix, Vector

__all__ = ["Certificate", "Certifier", "Descent", "append_column"]

# The largest number of features for which M is formed; beyond, its smallest eigenvalue is found by Lanczos iterations.
LARGEST_DENSE = 600
# Eigenvalues of C up to this share of the largest are zero.
NULL = 1e-10
# Lanczos iterations find the smallest eigenvalue to this share of the largest in absolute value.
PRECISION = 1e-6
# Bisections of the length of a new column, if the objective is not a polynomial along it.
BISECTIONS = 40
# The shortest new column, relative to the vector.
TINY_STEP = 1e-8


class Certificate(NamedTuple):
    """How far a matrix W is from the best positive semidefinite matrix of any rank, in the user's units.

    The cost is that of the measurements that W was learned from, without held-out ones. With noise a higher rank fits
    the noise too: the cost can still fall, and `is_global` is usually False at the rank that predicts best.

    Attributes
    ----------
    smallest_eigenvalue : float
        That of the gradient M of the cost in W. At a stationary point, W is a global minimum if it is not negative.
    gap : float
        The cost of W exceeds the lowest cost of all positive semidefinite matrices by at most this. No cost is
        negative, so the gap is at most the cost of W; where it equals the cost, nothing more is known.
    is_global : bool
        True if the gap is at most a tolerance, 1e-4 times the cost of W = 0: no matrix of any rank has a cost that is
        lower by more. False if the gap is larger: a higher rank may lower the cost.
    is_bound : bool
        True if the gap is an upper bound. It is one for the squared loss with equalities, if the mean matrix of the
        measurements is positive semidefinite and d <= 600, and where the gap is the cost itself. Otherwise it is an
        estimate, in which the trace of the minimiser is that of W.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PSDRegressor
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> y = np.sum(X[:, :2] ** 2, axis=1)
    >>> PSDRegressor(rank=2, certificate=True).fit(X, y).certificate_.is_global
    True
    >>> PSDRegressor(rank=1, certificate=True).fit(X, y).certificate_.is_global
    False
    """

    smallest_eigenvalue: float
    gap: float
    is_global: bool
    is_bound: bool


class Descent(NamedTuple):
    """The direction in which one more column lowers the objective most, in the solver's coordinates.

    Attributes
    ----------
    eigenvalue : float
        The smallest eigenvalue of M, in the metric C where that is known.
    vector : array, shape (d, 1)
        Its eigenvector.
    gap : float
        The bound of f(W) - f(W*).
    is_bound : bool
        False if the gap is an estimate.
    """

    eigenvalue: float
    vector: Matrix
    gap: float
    is_bound: bool


class Whitening(NamedTuple):
    """The metric C (d, d): a basis (d, k) with basisᵀ C basis = I, an orthonormal basis (d, d - k) of its null space.

    `total` is the sum of the weights, `mean` the sum of weight · target.
    """

    C: Matrix
    basis: Matrix
    null: Matrix
    total: float
    mean: float

    def dual_gap(self, value: float, inner: float, G: Matrix, shift: float) -> float:
        """Return the value less the lower bound from the residuals plus a shift, times the best constant.

        `inner` is <M, W>.
        """
        predicted = float(np.vdot(G, self.C @ G))
        square = 2 * value + 2 * shift * (predicted - self.mean) + shift * shift * self.total
        slope = 2 * value - inner - shift * self.mean
        return value - (slope * slope / (2 * square) if slope > 0 and square > 0 else 0.0)


@dataclass(frozen=True)
class Certifier:
    """Makes the certificates of points of one problem.

    Parameters
    ----------
    problem : Problem
        Its losses are convex, and not negative.
    coordinates : Coordinates, optional
        Those of the problem; the user's by default.
    cost_scale : float
        The factor from the costs of the problem to those of the user.
    tolerance : float
        A gap of at most this share of the cost of W = 0 counts as none.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.certificate import Certifier
    >>> from gramian.features import Array
    >>> from gramian.geometries import Flat
    >>> from gramian.measurements import Each
    >>> problem = Problem([Block(Array(np.eye(2)), [Term(Each(2), np.array([4.0, 1.0]))])])
    >>> certificate = Certifier(problem).certify(problem.evaluate(Flat().point(np.array([[2.0], [0.0]]))))
    >>> certificate.smallest_eigenvalue, certificate.is_global  # the second target needs a second column
    (-0.5, False)
    """

    problem: Problem
    coordinates: Coordinates | None = None
    cost_scale: float = 1.0
    tolerance: float = 1e-4

    def certify(self, evaluation: Evaluation) -> Certificate:
        """Return the certificate of a point."""
        M = form_small_gradient(evaluation)
        descent = self.descent(evaluation, M)
        gap = self.cost_scale * descent.gap
        is_global = descent.gap <= self.tolerance * self.problem.value_at_zero
        return Certificate(self.smallest_eigenvalue(evaluation, M, descent), gap, bool(is_global), descent.is_bound)

    def descent(self, evaluation: Evaluation, M: Matrix | None = None) -> Descent:
        """Return the direction in which one more column lowers the objective most, and the gap.

        The gap is at most the value itself, because losses are not negative. M (d, d) is formed if it is not given.
        """
        M = form_small_gradient(evaluation) if M is None else M
        G = evaluation.point.G.astype(np.float64)
        whitening, value = self.whitening, max(evaluation.value, 0.0)
        inner = float(np.vdot(G, evaluation.apply(evaluation.point.G)))
        if M is None or whitening is None:
            eigenvalue, vector = smallest_eigenpair(evaluation, M)
            gap, proven = max(inner - min(eigenvalue, 0.0) * float(np.vdot(G, G)), 0.0), False
        else:
            values, vectors = scipy.linalg.eigh(whitening.basis.T @ M @ whitening.basis, subset_by_index=[0, 0])
            eigenvalue, vector = float(values[0]), whitening.basis @ vectors
            gap = max(whitening.dual_gap(value, inner, G, max(-eigenvalue, 0.0)), 0.0)
            outside = np.linalg.norm(M @ whitening.null) if whitening.null.size else 0.0
            proven = bool(outside <= np.sqrt(NULL) * np.linalg.norm(M))
        is_bound = bool(value <= gap or proven)
        return Descent(eigenvalue, vector.astype(self.problem.dtype), min(gap, value), is_bound)

    def smallest_eigenvalue(self, evaluation: Evaluation, M: Matrix | None, descent: Descent) -> float:
        """Return the smallest eigenvalue of M in the user's units."""
        coordinates = self.coordinates or Coordinates(self.problem.blocks[0].features)
        unit = float(coordinates.units.target**0.5 / coordinates.units.data)
        if M is None and coordinates.columns is None:
            return self.cost_scale * unit**2 * descent.eigenvalue
        scale = np.full((self.problem.n_features, 1), unit)
        scale = scale if coordinates.columns is None else scale / coordinates.columns[:, None]
        return self.cost_scale * smallest_eigenpair(evaluation, M, scale).value

    @cached_property
    def whitening(self) -> Whitening | None:
        """The metric C = Σ weight_i X_i, for the squared loss with equalities; None if indefinite or too large."""
        terms = [term for block in self.problem.blocks for term in block.terms]
        term = terms[0]
        if len(terms) > 1 or not isinstance(term, Term) or self.problem.n_features > LARGEST_DENSE:
            return None
        if not term.loss.quadratic or np.any(term.sense):
            return None
        C = form_gradient(self.mean_problem(term).evaluate(self.zero))
        values, vectors = scipy.linalg.eigh(C)
        kept = values > NULL * values[-1]
        if values[-1] <= 0 or values[0] < -NULL * values[-1]:
            return None
        weight, target = term.weight.astype(np.float64), term.target.astype(np.float64)
        basis = vectors[:, kept] / np.sqrt(values[kept])
        return Whitening(C, basis, vectors[:, ~kept], float(weight.sum()), float(weight @ target))

    @property
    def zero(self) -> Point:
        """The point W = 0, with one column."""
        return Flat().point(np.zeros((self.problem.n_features, 1), self.problem.dtype))

    def mean_problem(self, term: Term) -> Problem:
        """Return the problem whose objective is the weighted sum of all predictions."""
        m, dtype = len(term.target), self.problem.dtype
        mean = Term(term.measurement, np.zeros(m, dtype), Linear(), np.full(m, -1), 2 * term.weight)
        return Problem([Block(self.problem.blocks[0].features, [mean])], self.problem.execution)


class Eigenpair(NamedTuple):
    """An eigenvalue, and its eigenvector (d, 1)."""

    value: float
    vector: Matrix


def form_gradient(evaluation: Evaluation) -> Matrix:
    """Return M (d, d), in float64."""
    M = evaluation.apply(np.eye(evaluation.problem.n_features, dtype=evaluation.problem.dtype)).astype(np.float64)
    return 0.5 * (M + M.T)


def form_small_gradient(evaluation: Evaluation) -> Matrix | None:
    """Return M (d, d), or None for so many features that it is not formed."""
    return form_gradient(evaluation) if evaluation.problem.n_features <= LARGEST_DENSE else None


def smallest_eigenpair(evaluation: Evaluation, M: Matrix | None, scale: Matrix | None = None) -> Eigenpair:
    """Return the smallest eigenvalue of M, or of S M S for a diagonal matrix S given as a column (d, 1).

    M (d, d) is None if it is not formed.
    """
    scale = np.ones((evaluation.problem.n_features, 1)) if scale is None else scale
    if M is not None:
        values, vectors = scipy.linalg.eigh(scale * M * scale.T, subset_by_index=[0, 0])
        return Eigenpair(float(values[0]), vectors)
    start = np.random.default_rng(0).standard_normal(len(scale))
    largest = abs(lanczos(ShiftedGradient(evaluation, scale), "LM", start, 0.01).value)
    # The shifted operator has the eigenvalue sought as its largest: the precision is relative to the norm of M.
    value, vector = lanczos(ShiftedGradient(evaluation, scale, 2 * largest), "LA", start, PRECISION)
    return Eigenpair(2 * largest - value, vector)


class ShiftedGradient(scipy.sparse.linalg.LinearOperator):
    """The operator S M S, or σ I - S M S for a shift σ > 0; S is diagonal, given as a column (d, 1)."""

    def __init__(self, evaluation: Evaluation, scale: Matrix, shift: float = 0.0) -> None:
        d = evaluation.problem.n_features
        super().__init__(np.dtype(np.float64), (d, d))
        self.evaluation, self.scale, self.shift = evaluation, scale, shift

    def _matvec(self, x: Vector) -> Vector:
        """Return the product with a vector (d,)."""
        column = np.ascontiguousarray(self.scale * x.reshape(-1, 1), dtype=self.evaluation.problem.dtype)
        product = (self.scale * self.evaluation.apply(column)).ravel()
        return self.shift * x.ravel() - product if self.shift else product


def lanczos(operator: ShiftedGradient, which: str, start: Vector, precision: float) -> Eigenpair:
    """Return the eigenvalue of an end of the spectrum, to a relative precision; a lower one if that is not reached."""
    try:
        values, vectors = scipy.sparse.linalg.eigsh(operator, 1, which=which, v0=start, tol=precision)
    except scipy.sparse.linalg.ArpackNoConvergence:
        values, vectors = scipy.sparse.linalg.eigsh(operator, 1, which=which, v0=start, tol=1e3 * precision)
    return Eigenpair(float(values[0]), vectors)


def append_column(evaluation: Evaluation, vector: Matrix) -> Matrix:
    """Return the factor (d, r + 1) with the multiple of a vector (d, 1) as new column that lowers the objective most.

    Columns of zeros are dropped. Two passes. The objective at W + s² v vᵀ is convex in s².

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.certificate import append_column
    >>> from gramian.features import Array
    >>> from gramian.geometries import Flat
    >>> from gramian.measurements import Each
    >>> problem = Problem([Block(Array(np.eye(2)), [Term(Each(2), np.array([4.0, 9.0]))])])
    >>> evaluation = problem.evaluate(Flat().point(np.array([[2.0], [0.0]])))
    >>> append_column(evaluation, np.array([[0.0], [0.5]]))
    array([[2., 0.],
           [0., 3.]])
    """
    problem, G = evaluation.problem, evaluation.point.G
    G = G[:, np.any(G != 0, axis=0)]
    start = problem.evaluate(Flat().point(np.hstack([G, np.zeros_like(vector)])))
    line = start.line(np.hstack([np.zeros_like(G), vector]))
    return np.hstack([G, problem.dtype.type(best_length(line)) * vector])


def best_length(line: Line) -> float:
    """Return the step s > 0 that minimises the objective along a line on which it is convex in s²."""
    if line.quartic is not None:
        _, _, slope, _, curvature = line.quartic
        return float((-slope / (2 * curvature)) ** 0.5) if slope < 0 < curvature else TINY_STEP
    low, high = TINY_STEP, 1.0
    while line.along(high).slope < 0 and high < 1 / TINY_STEP:
        low, high = high, 2 * high
    while line.along(high).slope > 0 and high > TINY_STEP and low == TINY_STEP:
        high *= 0.5
    low, high = (low, high) if low > TINY_STEP else (high, 2 * high)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if line.along(middle).slope < 0 else (low, middle)
    return 0.5 * (low + high)
