"""What the kernels of neighbourhoods compute, from all squared distances at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Probabilities", "neighbour_probabilities", "neighbourhood_gradient"]


class Probabilities(NamedTuple):
    """The probabilities of neighbours, (N, N): of all samples, and of samples of the same class alone."""

    of_all: Any
    of_own: Any


def neighbour_probabilities(Z: Any, labels: Any) -> Probabilities:
    """Return the softmax of -‖z_i - z_j‖² over all j ≠ i, and over those of the class of i."""
    distance = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    np.fill_diagonal(distance, np.inf)
    own = np.where(labels[:, None] == labels, distance, np.inf)
    return Probabilities(softmax(-distance), softmax(-own))


def softmax(scores: Any) -> Any:
    """Return exp(scores), each row divided by its sum."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def neighbourhood_gradient(Z: Any, labels: Any, weight: Any) -> Any:
    """Return ∂f/∂d_ij, shape (N, N), of f = Σ weight_i (-log p_i), where p_i is the probability of the own class."""
    of_all, of_own = neighbour_probabilities(Z, labels)
    return weight[:, None] * (of_own - of_all)
