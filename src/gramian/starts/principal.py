"""Principal directions as a start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from gramian.execution import Execution, Serial, Shards, execution_for
from gramian.features import Features
from gramian.images import Parts, compute_image
from gramian.objective.terms import cut_evenly
from gramian.situation import Situation
from gramian.starts.moments import Rows, place_rows, second_moment
from gramian.types import Matrix

__all__ = ["FEW_ROUNDS", "LARGEST_MOMENT", "pca_start", "principal_components", "principal_directions"]

# Up to this many features a d x d moment is formed.
LARGEST_MOMENT = 2000
# Columns more than the rank, and rounds of products, of the randomised method.
MORE_COLUMNS, ROUNDS = 20, 3
# Discriminants among many components need no more than their span, roughly.
FEW_ROUNDS = 1
# The numbers of a (d, k) matrix that are held at a time, where samples are fewer than features.
LARGEST_TILE = 2**23


class Placed(NamedTuple):
    """The samples in pieces of rows, and the number of pieces."""

    shards: Shards
    n_pieces: int


class Principal(NamedTuple):
    """Principal components of samples: their scores (n, k), and how to lift directions among them.

    The matrix X is nearly scores · basisᵀ with an orthonormal basis (d, k). The basis is held as it is, or as weights
    (n, k) of the samples with basis = Xᵀ weights, where samples are fewer than features.
    """

    scores: Matrix
    basis: Matrix | None = None
    weights: Matrix | None = None
    placed: Placed | None = None

    def lift(self, B: Matrix, execution: Execution) -> Matrix:
        """Return the directions basis · B, shape (d, r), for B of shape (k, r)."""
        if self.basis is not None:
            return self.basis @ B.astype(self.basis.dtype)
        assert self.weights is not None
        assert self.placed is not None
        return pull_samples(self.placed, (self.weights @ B).astype(self.scores.dtype), execution)


def pca_start(situation: Situation, rank: int) -> Matrix:
    """Return the leading principal directions, (d, r), of unit length in the user's units."""
    return principal_directions(situation.features, rank, situation.rng, situation.execution) / situation.unit


def principal_directions(
    features: Features, rank: int, rng: np.random.Generator, execution: Execution | None = None
) -> Matrix:
    """Return the leading right singular vectors of X, (d, r), about the origin; sparse data is never made dense.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.starts import principal_directions
    >>> principal_directions(Array(np.diag([1.0, 3.0])), 1, np.random.default_rng(0)).ravel()
    array([0., 1.])
    """
    d = features.shape[1]
    execution = Serial() if execution is None else execution_for(features, execution)
    if d <= LARGEST_MOMENT:
        leading = scipy.linalg.eigh(second_moment(features, execution), subset_by_index=[d - min(rank, d), d - 1])[1]
        return np.ascontiguousarray(leading[:, ::-1])
    components = principal_components(features, rank, rng, execution)
    return np.ascontiguousarray(components.lift(np.eye(components.scores.shape[1], rank), execution))


def principal_components(
    features: Features, rank: int, rng: np.random.Generator, execution: Execution, rounds: int = ROUNDS
) -> Principal:
    """Return the leading principal components of X about the origin, by a randomised range finder.

    Three rounds of products are enough for principal directions as a start. The iterated matrix has a row for each
    sample or for each feature, whichever are fewer.
    """
    (n, d), execution = features.shape, execution_for(features, execution)
    placed, count = place_pieces(features, execution), min(rank + MORE_COLUMNS, n, d)
    # Samples on workers stay where they are: a matrix of their number would have to be cut as they are.
    if n < d and not hasattr(features, "place_with"):
        found = components_by_samples(placed, rng.standard_normal((n, count)).astype(features.dtype), execution, rounds)
        # Directions without any variance have no right singular vector among the samples.
        if found.weights is not None and found.weights[:, :rank].any(axis=0).all():
            return found
    Q = rng.standard_normal((d, count)).astype(features.dtype)
    for _ in range(rounds):
        Q = orthonormalise(execution.run(pull_image, placed.shards, Q=Q)[1])
    # The right singular vectors of X Q are the eigenvectors of its Gram matrix.
    V = np.linalg.eigh(execution.run(image_gram, placed.shards, Q=Q)[1])[1][:, ::-1]
    basis = Q @ V.astype(Q.dtype)
    return Principal(compute_image(features, basis, execution), basis)


def components_by_samples(placed: Placed, Q: Matrix, execution: Execution, rounds: int) -> Principal:
    """Return principal components from products of X Xᵀ with Q (n, k). Weights of those without variance are 0."""
    for _ in range(rounds):
        Q = orthonormalise(multiply_gram(placed, Q, execution))
    squares, V = np.linalg.eigh(Q.astype(np.float64).T @ multiply_gram(placed, Q, execution))
    sigma, U = np.sqrt(np.maximum(squares[::-1], 0)), Q @ V[:, ::-1]
    some = sigma > len(Q) * float(np.finfo(Q.dtype).eps) * sigma[0]
    weights = U * np.where(some, 1 / np.where(some, sigma, 1), 0)
    return Principal((U * sigma).astype(Q.dtype), weights=weights, placed=placed)


def orthonormalise(A: Matrix) -> Matrix:
    """Return an orthonormal basis (n, k) of the columns of A.

    Cholesky factors of Gram matrices, applied twice, take a tenth of the time of a QR decomposition of a tall matrix.
    """
    Q, tolerance = A, A.shape[1] * float(np.finfo(A.dtype).eps) ** 0.5
    try:
        for _ in range(2):
            gram = (Q.T @ Q).astype(np.float64)
            inverse = scipy.linalg.solve_triangular(scipy.linalg.cholesky(gram), np.eye(len(gram)))
            Q = Q @ inverse.astype(A.dtype)
    except (np.linalg.LinAlgError, ValueError):
        return np.linalg.qr(A)[0]
    return Q if np.abs(Q.T @ Q - np.eye(Q.shape[1])).max(initial=0) < tolerance else np.linalg.qr(A)[0]


def multiply_gram(placed: Placed, S: Matrix, execution: Execution) -> Matrix:
    """Return X Xᵀ S, shape (n, k); of Xᵀ S only some columns are held at a time."""
    parts: list[Matrix] = []
    start, step = 0, 1
    while start < S.shape[1]:
        pulled = pull_samples(placed, S[:, start : start + step], execution)
        parts.append(np.concatenate(execution.run(join_images, placed.shards, Q=pulled)[1].parts))
        # The number of features is known from the first column.
        start, step = start + step, max(1, LARGEST_TILE // len(pulled))
    return np.hstack(parts)


def pull_samples(placed: Placed, S: Matrix, execution: Execution) -> Matrix:
    """Return Xᵀ S, shape (d, k), for S (n, k)."""
    pieces = execution.place([S[cut] for cut in cut_evenly(len(S), placed.n_pieces)])
    return execution.run(pull_piece, placed.shards, pieces)[1]


def place_pieces(features: Features, execution: Execution) -> Placed:
    """Place the samples in pieces of rows, whose number is that for products with them."""
    if hasattr(features, "place_with"):
        return Placed(place_rows(features, execution), 0)
    cuts = cut_evenly(features.shape[0], features.n_pieces)
    return Placed(execution.place([Rows(features.take(cut)) for cut in cuts]), len(cuts))


def pull_piece(rows: Rows, S: Matrix) -> tuple[None, Matrix]:
    """Sum Xᵀ S, shape (d, k)."""
    return None, rows.features.pull(S)


def join_images(rows: Rows, *, Q: Matrix) -> tuple[None, Parts]:
    """Join the images X Q of some rows."""
    return None, Parts([rows.features.image(Q)])


def pull_image(rows: Rows, *, Q: Matrix) -> tuple[None, Matrix]:
    """Sum Xᵀ X Q, shape (d, k)."""
    return None, rows.features.pull(rows.features.image(Q))


def image_gram(rows: Rows, *, Q: Matrix) -> tuple[None, Matrix]:
    """Sum (X Q)ᵀ (X Q), shape (k, k), in float64."""
    Z = rows.features.image(Q).astype(np.float64)
    return None, Z.T @ Z
