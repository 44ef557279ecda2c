"""The schedule of the step sizes of online descent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramian.types import Vector

__all__ = ["Schedule"]


class Schedule(NamedTuple):
    """The step sizes scale · horizon/(horizon + t), where t is the number of samples seen.

    Attributes
    ----------
    scale : float
        The first step size.
    horizon : float
        The number of samples after which the step size is half of the first.
    seen : int
        The number of samples seen so far.

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
        """Return the step sizes of the batches of the next n samples, shape (n_batches,)."""
        t = self.seen + np.arange(0, n, batch_size)
        return self.scale * self.horizon / (self.horizon + t)

    def after(self, n: int) -> Schedule:
        """Return the schedule after n more samples."""
        return self._replace(seen=self.seen + n)
