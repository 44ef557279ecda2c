"""The linear loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.losses.loss import Loss, LossValues
from gramian.types import Vector

__all__ = ["Linear"]


@dataclass(frozen=True)
class Linear(Loss):
    """½ (target - prediction): the larger the prediction the better; with sense -1, the smaller the better.

    With target ‖x‖² and orthonormal G this is ½ ‖x - G Gᵀ x‖², the paper's loss for subspaces (section 4).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.losses import Linear
    >>> value, slope, curvature = Linear()(np.array([3.0]), np.array([5.0]), np.array([1]))
    >>> value, slope
    (array([1.]), array([-0.5]))
    """

    degree = 1.0
    bounded = False

    def __call__(self, prediction: Vector, target: Vector, sense: Vector) -> LossValues:
        """Return value, slope and curvature, (m,) each."""
        slope = np.where(sense < 0, 0.5, -0.5).astype(prediction.dtype)
        return LossValues(slope * (prediction - target), slope, np.zeros_like(slope))


Linear.examples = (Linear(),)
