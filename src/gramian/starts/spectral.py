"""A spectral start, from measurements and their targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse.linalg

from gramian.objective import Block, Problem, Term
from gramian.situation import Situation
from gramian.starts.signs import align_signs
from gramian.types import Matrix, Vector

__all__ = ["spectral_start"]

# Features whose part of the start is below the first share of the largest get random numbers of the second share: those
# that occur in other samples than the leading ones would have no gradient.
NO_PART, SMALL_PART = 1e-6, 0.05
# Up to this dimension a d x d matrix is cheaper to form than to ask for products with.
LARGEST_FORMED = 500


def spectral_start(situation: Situation, rank: int) -> Matrix:
    """Return leading eigenvectors of Σ weight (target - mean target) X_i, times the roots of their eigenvalues.

    For normal samples x of unit covariance and y = xᵀWx the expectation of the sum is 2 W.
    """
    problem, rng = situation.problem, situation.rng
    assert problem is not None
    operator = TargetMoment(problem, mean_target(problem.sampled))
    values, vectors = leading_eigenvectors(operator, problem, rank, rng)
    # Directions that the targets say nothing of are drawn from the span of the data, where they have a gradient.
    poor = values <= 0.05 * max(float(values[0]), 0.0)
    share = np.sqrt(np.maximum(values / values[0], 0.05)) if values[0] > 0 else np.ones_like(values)
    start = np.where(poor, share * random_in_span(problem, rank, rng), share * vectors)
    parts = np.linalg.norm(start, axis=1)
    absent = parts <= NO_PART * parts.max()
    if absent.any():
        start[absent] = SMALL_PART * random_in_span(problem, rank, rng)[absent]
    return start


class TargetMoment(NamedTuple):
    """The operator V -> (Σ weight (target - mean) X_i) V."""

    problem: Problem
    mean: float

    def product(self, V: Matrix) -> Matrix:
        """Return the product with V, (d, k); two passes."""
        return self.problem.run(pull_targets, passes=2, V=V, mean=self.mean)[1]

    def product_with_vector(self, v: Vector) -> Vector:
        """Return the product with v, (d,); two passes."""
        return self.product(v.reshape(-1, 1)).ravel()


class Eigenpairs(NamedTuple):
    """Eigenvalues (r,), descending, and eigenvectors (d, r)."""

    values: Vector
    vectors: Matrix


def pull_targets(block: Block, *, V: Matrix, mean: float) -> tuple[None, Matrix]:
    """Sum (Σ weight (target - mean) X_i) V."""
    terms = [term for term in block.terms if isinstance(term, Term)]
    assert len(terms) == len(block.terms)
    weights = [term.weight * (term.target - term.target.dtype.type(mean)) for term in terms]
    return None, block.pull(*block.weigh(weights, block.image(V)))


def mean_target(term: Term) -> float:
    """Return the weighted mean of the targets; 0 where targets are alike."""
    mean = (term.weight @ term.target) / np.sum(term.weight)
    return 0.0 if np.abs(term.target - mean).max() <= 1e-6 * np.abs(term.target).max() else float(mean)


def random_in_span(problem: Problem, rank: int, rng: np.random.Generator) -> Matrix:
    """Return random directions of unit length in the span of the samples, (d, r); any if there are no samples."""
    lengths = [piece.features.shape[0] for piece in problem.pieces]
    weights = problem.execution.place([rng.standard_normal((n, rank)).astype(problem.dtype) for n in lengths])
    total = problem.run(pull_samples, weights, passes=1)[1]
    length = np.linalg.norm(total, axis=0)
    return total / length if (length > 0).all() else rng.standard_normal((problem.n_features, rank))


def pull_samples(block: Block, weights: Matrix) -> tuple[None, Matrix]:
    """Sum Xᵀ S for weights S (N, r) of the samples, in float64; one pull."""
    return None, block.pull(weights).astype(np.float64)


def leading_eigenvectors(moment: TargetMoment, problem: Problem, rank: int, rng: np.random.Generator) -> Eigenpairs:
    """Return the largest eigenvalues, descending, and eigenvectors (d, r), of a symmetric operator."""
    d, dtype = problem.n_features, problem.dtype
    if d <= LARGEST_FORMED or rank >= d - 1:
        matrix = moment.product(np.eye(d, dtype=dtype))
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    else:
        operator = scipy.sparse.linalg.LinearOperator(
            (d, d),
            matvec=moment.product_with_vector,
            matmat=moment.product,
            dtype=dtype,
        )
        start = rng.standard_normal(d).astype(dtype)
        try:
            values, vectors = scipy.sparse.linalg.eigsh(operator, k=rank, which="LA", v0=start, tol=1e-2)
        except scipy.sparse.linalg.ArpackError:
            # An operator that is zero, or will not converge: any directions will do for a start.
            values, vectors = np.zeros(rank, dtype), np.linalg.qr(rng.standard_normal((d, rank)))[0]
    order = np.argsort(values)[::-1][:rank]
    return Eigenpairs(values[order], align_signs(vectors[:, order]))
