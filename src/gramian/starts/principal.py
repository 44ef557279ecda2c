"""Principal directions as a start."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from gramian.execution import Execution, Serial, beside
from gramian.features import Features
from gramian.situation import Situation
from gramian.starts.moments import Rows, place_rows, second_moment
from gramian.types import Matrix

__all__ = ["LARGEST_MOMENT", "pca_start", "principal_directions"]

# Up to this many features a d x d moment is formed.
LARGEST_MOMENT = 2000
# Columns more than the rank, and rounds of products, of the randomised method.
MORE_COLUMNS, ROUNDS = 20, 3


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
    n, d = features.shape
    execution = Serial() if execution is None else beside(features, execution)
    if d <= LARGEST_MOMENT:
        leading = scipy.linalg.eigh(second_moment(features, execution), subset_by_index=[d - min(rank, d), d - 1])[1]
        return np.ascontiguousarray(leading[:, ::-1])
    # A randomised range finder: three rounds of products are enough for a start.
    Q = rng.standard_normal((d, min(rank + MORE_COLUMNS, n, d))).astype(features.dtype)
    shards = place_rows(features, execution)
    for _ in range(ROUNDS):
        Q = np.linalg.qr(execution.run(pull_image, shards, Q=Q)[1])[0]
    # The right singular vectors of X Q are the eigenvectors of its Gram matrix.
    right = np.linalg.eigh(execution.run(image_gram, shards, Q=Q)[1])[1][:, ::-1]
    return np.ascontiguousarray((Q @ right.astype(Q.dtype))[:, :rank])


def pull_image(rows: Rows, *, Q: Matrix) -> tuple[None, Matrix]:
    """Sum Xᵀ X Q, shape (d, k)."""
    return None, rows.features.pull(rows.features.image(Q))


def image_gram(rows: Rows, *, Q: Matrix) -> tuple[None, Matrix]:
    """Sum (X Q)ᵀ (X Q), shape (k, k), in float64."""
    Z = rows.features.image(Q).astype(np.float64)
    return None, Z.T @ Z
