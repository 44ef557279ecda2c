"""Step sizes of online descent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramian.types import Vector

__all__ = ["Schedule"]


class Schedule(NamedTuple):
    """Steps scale · horizon/(horizon + t) after t samples.

    Examples
    --------
    >>> from gramian.solvers.online import Schedule
    >>> Schedule(1.0, horizon=4.0).steps(8, batch_size=4)
    array([1. , 0.5])
    """

    scale: float
    horizon: float
    seen: int = 0

    def steps(self, n: int, batch_size: int) -> Vector:
        """Return the steps of the batches of the next n samples."""
        t = self.seen + np.arange(0, n, batch_size)
        return self.scale * self.horizon / (self.horizon + t)

    def after(self, n: int) -> Schedule:
        """Return the schedule when n more samples are seen."""
        return self._replace(seen=self.seen + n)
