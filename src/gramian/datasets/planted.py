"""A kernel in place of the one that could not be had."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from gramian.datasets.dataset import Dataset
from gramian.datasets.prepare import source

__all__ = ["three_groups"]

#: The bacteria species of the GyrB kernel: how many proteins of each.
GROUPS = (10, 31, 11)


def three_groups(random_state: Any = 0, n_dimensions: int = 6, separation: float = 3.0) -> Dataset:
    """A kernel K (52, 52) of three groups that overlap: Gaussian, with ones on its diagonal, of full rank.

    Points are drawn with unit variance around three centres, each `separation` away from the origin along an axis of
    its own; K_ij = exp(-‖p_i - p_j‖²/m), m the median of the squared distances.
    """
    rng = source(random_state)
    y = np.repeat(np.arange(len(GROUPS)), GROUPS)
    points = rng.standard_normal((len(y), n_dimensions)) + separation * np.eye(len(GROUPS), n_dimensions)[y]
    squared = pdist(points, "sqeuclidean")
    return Dataset("gyrb", np.exp(-squareform(squared) / np.median(squared)), y)
