"""Linear discriminants as a start, from class labels."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from gramian.execution import Execution, Serial, execution_for
from gramian.features import Array, Features
from gramian.situation import Situation
from gramian.starts.moments import class_moments
from gramian.starts.principal import FEW_ROUNDS, LARGEST_MOMENT, principal_components
from gramian.types import Matrix, Vector

__all__ = ["discriminants", "lda_start"]

# The share of the identity in the covariance within classes: it keeps many features from overfitting.
RIDGE = 0.2
# With more features than LARGEST_MOMENT, discriminants are looked for among this number of principal directions.
PRINCIPAL = 200
# Covariances are computed from ENOUGH samples, if there are at least twice as many, but from at least so many for
# each feature; the first WHOLE samples of each class are among them.
ENOUGH, ENOUGH_PER_FEATURE, WHOLE = 20_000, 20, 64
# Eigenvectors are computed by Lanczos iterations if the matrix has more than this number of rows for each of them.
FEW = 100
# Discriminants whose eigenvalue is a smaller share of the largest than this are mostly rounding.
SMALL_SHARE = 1e-10


def lda_start(situation: Situation, rank: int) -> Matrix:
    """Return Fisher's discriminants, (d, r)."""
    if situation.labels is None:
        raise ValueError("init='lda' needs class labels. Choose 'pca', 'identity' or 'random', or call fit(X, y).")
    return discriminants(situation.features, situation.labels, rank, situation.rng, situation.execution)


def discriminants(
    features: Features, labels: Vector, rank: int, rng: np.random.Generator, execution: Execution | None = None
) -> Matrix:
    """Return Fisher's discriminants (d, r), of unit variance within classes; beyond classes - 1, principal directions.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.starts import discriminants
    >>> X = np.array([[0.0, 0.0], [0.0, 5.0], [3.0, 0.0], [3.0, 5.0]])
    >>> G = discriminants(Array(X), np.array([0, 0, 1, 1]), 1, np.random.default_rng(0))
    >>> bool(abs(G[0, 0]) > 100 * abs(G[1, 0]))
    True
    """
    d, execution = features.shape[1], Serial() if execution is None else execution_for(features, execution)
    if d > LARGEST_MOMENT:
        components = principal_components(features, max(PRINCIPAL, rank), rng, execution, FEW_ROUNDS)
        inside = Array(np.ascontiguousarray(components.scores[:, : max(PRINCIPAL, rank)]))
        combinations = np.zeros((components.scores.shape[1], rank))
        combinations[: inside.shape[1]] = discriminants(inside, labels, rank, rng, execution)
        return np.ascontiguousarray(components.lift(combinations, execution))
    rows = some_of_each_class(labels, max(ENOUGH, ENOUGH_PER_FEATURE * d))
    if rows is not None:
        features, labels = features.take(rows), labels[rows]
        execution = execution_for(features, execution)
    within, between = class_moments(features, labels, execution)
    # Where classes do not vary at all, a little of what varies between them.
    size = max(float(np.trace(within)), 1e-6 * float(np.vdot(between, between))) / d
    within = (1 - RIDGE) * within + (max(RIDGE, 1e-9) * size if size > 0 else 1.0) * np.eye(d)
    found = min(rank, len(np.unique(labels)) - 1, d)
    directions = np.zeros((d, 0))
    if found:
        directions = leading_discriminants(within, between, found)
    if found < rank:
        further = complete_directions(within + between @ between.T, within, directions, rank - found)
        directions = np.hstack([directions, further])
    return np.ascontiguousarray(directions.astype(features.dtype))


def some_of_each_class(labels: Vector, enough: int) -> Vector | None:
    """Return the indices, ascending, of about `enough` samples spread evenly over each class; None for all samples.

    Classes of few samples are whole. If that leaves more than half of the samples, all are used.
    """
    step = len(labels) // enough
    if step < 2:
        return None
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    place = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(order[(place % step == 0) | (place < WHOLE)])
    return rows if len(rows) <= len(labels) // 2 + WHOLE else None


def leading_discriminants(within: Matrix, between: Matrix, count: int) -> Matrix:
    """Return the leading generalised eigenvectors (d, count) of B Bᵀ and the covariance within classes; B is (d, c).

    They are combinations of within⁻¹ B, so that one Cholesky factor and a matrix (c, c) take the place of a
    decomposition of matrices (d, d). The latter is computed where there are more classes than features, or where
    classes differ in fewer directions.
    """
    d, c = between.shape
    if c <= d:
        with suppress(np.linalg.LinAlgError):
            solved = scipy.linalg.cho_solve(scipy.linalg.cho_factor(within), between)
            values, V = np.linalg.eigh(between.T @ solved)
            values, V = values[::-1][:count], V[:, ::-1][:, :count]
            if values[-1] > SMALL_SHARE * values[0] and count <= c:
                return solved @ (V / np.sqrt(values))
    return scipy.linalg.eigh(between @ between.T, within, subset_by_index=[d - count, d - 1])[1][:, ::-1]


def complete_directions(total: Matrix, within: Matrix, directions: Matrix, missing: int) -> Matrix:
    """Return leading principal directions orthogonal to those given, of a third of their length within classes."""
    Q = np.linalg.qr(directions)[0]
    d, missing = len(Q), min(missing, len(Q))
    # (I - Q Qᵀ) T (I - Q Qᵀ) = T - Q Hᵀ - H Qᵀ with H = T Q - ½ Q (Qᵀ T Q), without products of matrices (d, d).
    H = total @ Q
    H -= 0.5 * Q @ (Q.T @ H)
    overlap = Q @ H.T
    rest = total - overlap - overlap.T
    leading = None
    if d > FEW and FEW * missing < d:
        # Directions of nearly equal variance may not converge.
        with suppress(scipy.sparse.linalg.ArpackError):
            leading = scipy.sparse.linalg.eigsh(rest, missing, v0=np.diag(rest))[1][:, ::-1]
    if leading is None:
        leading = scipy.linalg.eigh(rest, subset_by_index=[d - missing, d - 1])[1][:, ::-1]
    return leading / (3 * np.sqrt(np.einsum("ij,ij->j", leading, within @ leading)))
