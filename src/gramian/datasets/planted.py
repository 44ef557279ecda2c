"""A synthetic kernel that stands in for the GyrB kernel, which is not available."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from gramian.datasets.dataset import Dataset
from gramian.datasets.prepare import resolve_random_state

__all__ = ["make_three_groups"]

#: The numbers of proteins of the three bacteria species in the GyrB kernel.
GROUPS = (10, 31, 11)


def make_three_groups(random_state: Any = 0, n_dimensions: int = 6, separation: float = 3.0) -> Dataset:
    """Return a Gaussian kernel K (52, 52) of three overlapping groups, with ones on its diagonal and full rank.

    Points are drawn with unit variance around three centres, which lie at distance `separation` from the origin on
    different axes. K_ij = exp(-‖p_i - p_j‖²/m), where m is the median of the squared distances.
    """
    rng = resolve_random_state(random_state)
    y = np.repeat(np.arange(len(GROUPS)), GROUPS)
    points = rng.standard_normal((len(y), n_dimensions)) + separation * np.eye(len(GROUPS), n_dimensions)[y]
    squared = pdist(points, "sqeuclidean")
    return Dataset("gyrb", np.exp(-squareform(squared) / np.median(squared)), y)
