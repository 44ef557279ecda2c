"""Starts that do not look at the data."""

from __future__ import annotations

import numpy as np

from gramian.situation import Situation
from gramian.types import Matrix

__all__ = ["frame_start", "identity_start", "random_start"]


def identity_start(situation: Situation, rank: int) -> Matrix:
    """Return the first columns of the identity, (d, r), in the user's units."""
    return np.eye(situation.features.shape[1], rank) / situation.unit


def random_start(situation: Situation, rank: int) -> Matrix:
    """Return independent normal entries of variance 1/d, (d, r), in the user's units."""
    d = situation.features.shape[1]
    return situation.rng.standard_normal((d, rank)) / (d**0.5 * situation.unit)


def frame_start(situation: Situation, rank: int) -> Matrix:
    """Return a random orthonormal frame, (d, r)."""
    return np.linalg.qr(situation.rng.standard_normal((situation.features.shape[1], rank)))[0]
