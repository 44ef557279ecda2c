"""Starts that do not look at the data."""

from __future__ import annotations

import numpy as np

from gramian.starts.situation import Situation
from gramian.types import Matrix

__all__ = ["frame_start", "identity_start", "random_start"]


def identity_start(situation: Situation, rank: int, rng: np.random.Generator) -> Matrix:
    """Return the first columns of the identity, (d, r), in the user's units."""
    return np.eye(situation.features.shape[1], rank) / situation.unit


def random_start(situation: Situation, rank: int, rng: np.random.Generator) -> Matrix:
    """Return independent normal entries of variance 1/d, (d, r), in the user's units."""
    d = situation.features.shape[1]
    return rng.standard_normal((d, rank)) / (d**0.5 * situation.unit)


def frame_start(situation: Situation, rank: int, rng: np.random.Generator) -> Matrix:
    """Return a random orthonormal frame, (d, r)."""
    return np.linalg.qr(rng.standard_normal((situation.features.shape[1], rank)))[0]
