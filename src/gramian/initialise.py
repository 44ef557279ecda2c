"""First factors: where a minimisation starts.

Every function takes a problem, a rank and a generator, and gives a factor (d, r); `initial_factor` chooses one by name
and scales it to the targets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse.linalg

from gramian.features import Identity
from gramian.objective import Problem, Term
from gramian.objective.terms import sum_of
from gramian.types import Matrix, Vector

__all__ = ["STARTS", "initial_factor"]

Start = Callable[[Problem, int, np.random.Generator], Matrix]
# Up to this dimension a d x d matrix is cheaper to form than to ask for products with.
LARGEST_FORMED = 500


def initial_factor(name: str, problem: Problem, rank: int, rng: np.random.Generator) -> Matrix:
    """A factor (d, r) by name, scaled so that its predictions fit the targets best.

    Parameters
    ----------
    name : {"auto", "identity", "pca", "random", "spectral"}
        "auto" is "spectral", and "identity" where the rank is full.
    problem : Problem
    rank : int
    rng : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Array
    >>> from gramian.initialise import initial_factor
    >>> from gramian.measurements import Each
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> problem = Problem([Block(Array(X), [Term(Each(500), X[:, 0] ** 2)])])
    >>> np.abs(initial_factor("spectral", problem, 1, np.random.default_rng(0))).round(0).ravel()
    array([1., 0., 0.])
    """
    if name == "auto":
        name = "identity" if rank == problem.n_features else "spectral"
    if name not in STARTS:
        raise ValueError(f"init={name!r} is unknown. Choose one of auto, {', '.join(sorted(STARTS))}, or an array.")
    G = STARTS[name](problem, rank, rng).astype(problem.dtype, copy=False)
    return fitted_scale(problem, G)


def fitted_scale(problem: Problem, G: Matrix) -> Matrix:
    """√c G with c > 0 that fits predictions to targets by least squares; a small one where they disagree in sign."""
    predictions = problem.predict(problem.image(G))
    terms = [
        (term, predicted)
        for piece, parts in zip(problem.pieces, predictions, strict=True)
        for term, predicted in zip(piece.terms, parts, strict=True)
        if isinstance(term, Term)
    ]
    with np.errstate(over="ignore"):
        square = sum(float(np.sum(t.weight * p**2, dtype=np.float64)) for t, p in terms)
        mixed = sum(float(np.sum(t.weight * p * t.target, dtype=np.float64)) for t, p in terms)
    size = sum(float(np.sum(t.weight * t.target**2, dtype=np.float64)) for t, _ in terms)
    if not square > 0 or not np.isfinite(square):
        return G
    c = max(mixed / square, 1e-3 * (size / square) ** 0.5)
    return float(c**0.5) * G if c > 0 else G


def identity(problem: Problem, rank: int, rng: np.random.Generator) -> Matrix:
    """The first columns of the identity."""
    return np.eye(problem.n_features, rank)


def random(problem: Problem, rank: int, rng: np.random.Generator) -> Matrix:
    """Independent normal entries."""
    return rng.standard_normal((problem.n_features, rank))


def pca(problem: Problem, rank: int, rng: np.random.Generator) -> Matrix:
    """The leading principal directions of the samples, about the origin."""
    samples = [block.features for block in problem.blocks if not isinstance(block.features, Identity)]
    if not samples:
        raise ValueError("init='pca' needs samples (n, d); matrices (n, d, d) have no principal directions.")
    return leading(lambda V: sum_of([x.pull(x.image(V)) for x in samples]), problem, rank, rng)[1]


def spectral(problem: Problem, rank: int, rng: np.random.Generator) -> Matrix:
    """Leading eigenvectors of Σ weight (target - mean target) X_i, weighted by the roots of their eigenvalues.

    For normal samples x of unit covariance and y = xᵀWx its expectation is 2 W. A random subset of the measurements
    is enough for a start.
    """
    m, enough = len(problem.sampled.measurement), max(20 * problem.n_features, 5000)
    if m > enough:
        problem = problem.take(rng.permutation(m)[:enough])
    weights = deviations(problem)
    values, vectors = leading(lambda V: problem.pull(weights, problem.image(V)), problem, rank, rng)
    # Directions that the targets say nothing of are drawn from the span of the data, where they have a gradient.
    poor = values <= 0.05 * max(float(values[0]), 0.0)
    share = np.sqrt(np.maximum(values / values[0], 0.05)) if values[0] > 0 else np.ones_like(values)
    return np.where(poor, share * in_span(problem, rank, rng), share * vectors)


def in_span(problem: Problem, rank: int, rng: np.random.Generator) -> Matrix:
    """Random directions of unit length in the span of the samples, (d, r); of any kind where there are no samples."""
    total = np.zeros((problem.n_features, rank))
    for block in problem.blocks:
        weights = rng.standard_normal((block.features.shape[0], rank)).astype(problem.dtype)
        total += block.features.pull(weights)
    length = np.linalg.norm(total, axis=0)
    return total / length if (length > 0).all() else random(problem, rank, rng)


def deviations(problem: Problem) -> list[list[Vector]]:
    """weight · (target - weighted mean of the targets), piece by piece; without the mean where targets are alike."""
    whole = problem.sampled
    mean = (whole.weight @ whole.target) / np.sum(whole.weight)
    if np.abs(whole.target - mean).max() <= 1e-6 * np.abs(whole.target).max():
        mean = 0 * mean
    return [
        [term.weight * (term.target - mean) for term in piece.terms if isinstance(term, Term)]
        for piece in problem.pieces
    ]


def leading(
    product: Callable[[Matrix], Matrix], problem: Problem, rank: int, rng: np.random.Generator
) -> tuple[Vector, Matrix]:
    """The largest eigenvalues, falling, and their eigenvectors (d, r), of a symmetric operator given by products."""
    d, dtype = problem.n_features, problem.dtype
    if d <= LARGEST_FORMED or rank >= d - 1:
        matrix = product(np.eye(d, dtype=dtype))
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    else:
        operator = scipy.sparse.linalg.LinearOperator(
            (d, d),
            matvec=lambda v: product(v.reshape(-1, 1)).ravel(),
            matmat=product,
            dtype=dtype,
        )
        start = rng.standard_normal(d).astype(dtype)
        try:
            values, vectors = scipy.sparse.linalg.eigsh(operator, k=rank, which="LA", v0=start, tol=1e-2)
        except scipy.sparse.linalg.ArpackError:
            # An operator that is zero, or will not converge: any directions will do for a start.
            values, vectors = np.zeros(rank, dtype), np.linalg.qr(random(problem, rank, rng))[0]
    order = np.argsort(values)[::-1][:rank]
    vectors = vectors[:, order]
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(rank)])
    return values[order], vectors * signs


STARTS: dict[str, Start] = {"identity": identity, "pca": pca, "random": random, "spectral": spectral}
