"""Small results from images X B of the samples, through an execution: the images themselves stay beside the samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.execution import Execution, Shards, execution_for
from gramian.features import Features
from gramian.measurements import Pairs
from gramian.objective import Block, Problem, Term
from gramian.objective.terms import cut_evenly
from gramian.types import Matrix, Vector

__all__ = [
    "Parts",
    "compute_image",
    "image_covariance",
    "pair_distances",
    "squared_distances",
    "total_variance",
]

#: The number of pairs whose distances are computed at a time.
PAIRS_AT_A_TIME = 2**14


class Parts(NamedTuple):
    """A total that is a list: the sum of two joins them.

    Examples
    --------
    >>> from gramian.execution import add_totals
    >>> from gramian.images import Parts
    >>> add_totals(Parts([1]), Parts([2, 3]))
    Parts(parts=[1, 2, 3])
    """

    parts: list[Any]


class Images(NamedTuple):
    """Images of samples in pieces of rows, beside the samples, and their mean (k,) in float64."""

    execution: Execution
    samples: Shards
    held: Shards
    mean: Vector


def compute_image(features: Features, B: Matrix, execution: Execution) -> Matrix:
    """Return X B, shape (N, k), on the driver: for a prediction, or for samples that are few; one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Serial
    >>> from gramian.features import Array
    >>> from gramian.images import compute_image
    >>> compute_image(Array(np.array([[1.0, 2.0]])), np.ones((2, 1)), Serial())
    array([[3.]])
    """
    if hasattr(features, "execution"):
        return features.image(B)
    execution = execution_for(features, execution)
    return np.concatenate(execution.run(join_images, place_samples(features, execution), B=B)[1].parts)


def total_variance(features: Features, B: Matrix, execution: Execution) -> float:
    """Return the sum of the variances of the columns of X B; one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Serial
    >>> from gramian.features import Array
    >>> from gramian.images import total_variance
    >>> total_variance(Array(np.array([[1.0, 2.0], [3.0, 8.0]])), np.eye(2), Serial())
    10.0
    """
    images = hold_images(features, B, execution)
    total = images.execution.run(sum_squares, images.samples, images.held, mean=images.mean)[1]
    return float(total) / features.shape[0]


def image_covariance(features: Features, B: Matrix, execution: Execution) -> Matrix:
    """Return the covariance (k, k) of the rows of X B, in float64; one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Serial
    >>> from gramian.features import Array
    >>> from gramian.images import image_covariance
    >>> image_covariance(Array(np.array([[1.0], [3.0]])), np.eye(1), Serial())
    array([[1.]])
    """
    images = hold_images(features, B, execution)
    return images.execution.run(sum_outer, images.samples, images.held, mean=images.mean)[1] / features.shape[0]


def pair_distances(features: Features, factor: Matrix, pairs: Matrix, execution: Execution) -> Vector:
    """Return the squared distances (m,) of pairs (m, 2) of samples under a factor (d, r); one pass.

    The distances are in no particular order. Samples on workers are measured there, the pairs of each block together.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Serial
    >>> from gramian.features import Array
    >>> from gramian.images import pair_distances
    >>> pair_distances(Array(np.array([[0.0], [3.0]])), np.eye(1), np.array([[0, 1]]), Serial())
    array([9.])
    """
    term = Term(Pairs(pairs), np.zeros(len(pairs)))
    problem = Problem([Block(features, [term])], execution_for(features, execution))
    return np.concatenate(problem.run(join_predictions, factor=factor)[1].parts)


def squared_distances(Z: Matrix, pairs: Matrix, execution: Execution) -> Vector:
    """Return the squared distances (m,) of pairs (m, 2) of rows of Z, through an execution.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Serial
    >>> from gramian.images import squared_distances
    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[0, 1]]), Serial())
    array([9.])
    """
    execution = execution_for(Z, execution)
    cuts = cut_evenly(len(pairs), max(1, len(pairs) // PAIRS_AT_A_TIME))
    pieces = execution.place([Pairs(pairs[cut]) for cut in cuts])
    return np.concatenate(execution.run(predict_pairs, pieces, Z=Z)[1].parts)


def place_samples(features: Features, execution: Execution) -> Shards:
    """Return the samples in pieces of rows; those on workers are in blocks there already."""
    if hasattr(features, "shards"):
        return features.shards
    return execution.place([features.take(cut) for cut in cut_evenly(features.shape[0], features.n_pieces)])


def hold_images(features: Features, B: Matrix, execution: Execution) -> Images:
    """Compute the images X B beside the samples, and return handles of them, with their mean; one pass."""
    execution = execution_for(features, execution)
    samples = place_samples(features, execution)
    held, total = execution.run(hold_image, samples, B=B)
    return Images(execution, samples, held, total / features.shape[0])


# The work.


def join_images(features: Features, *, B: Matrix) -> tuple[None, Parts]:
    """Join the images of some rows."""
    return None, Parts([features.image(B)])


def join_predictions(block: Block, *, factor: Matrix) -> tuple[None, Parts]:
    """Join the predictions of the terms of a block."""
    return None, Parts(block.predict(block.image(factor)))


def predict_pairs(pairs: Pairs, *, Z: Matrix) -> tuple[None, Parts]:
    """Join the squared distances of some pairs of rows of Z."""
    return None, Parts([pairs.predict(Z)])


def hold_image(features: Features, *, B: Matrix) -> tuple[Matrix, Vector]:
    """Keep the image of some rows; sum its rows, in float64."""
    Z = features.image(B)
    return Z, Z.sum(axis=0, dtype=np.float64)


def sum_squares(features: Features, Z: Matrix, *, mean: Vector) -> tuple[None, float]:
    """Sum the squares of the entries of Z less the mean of their column."""
    return None, float(np.sum((Z - mean) ** 2))


def sum_outer(features: Features, Z: Matrix, *, mean: Vector) -> tuple[None, Matrix]:
    """Sum the outer products (k, k) of the rows of Z less their mean."""
    away = Z - mean
    return None, away.T @ away
