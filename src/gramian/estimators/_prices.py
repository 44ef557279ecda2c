"""Prices that keep a distance near its start, and small."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.features import Identity
from gramian.losses import Linear
from gramian.measurements import Each
from gramian.objective import Block, Term
from gramian.penalties import Toward
from gramian.types import Matrix

__all__ = ["Prices"]


class Prices(NamedTuple):
    """The price of leaving the start, ½ toward ‖W - W₀‖²/‖W₀‖², and of size, trace · tr(W)/tr(W₀)."""

    toward: float = 0.0
    trace: float = 0.0

    def blocks(self, start: Matrix) -> list[Block]:
        """Return the penalties on a factor (d, r), as blocks of a problem."""
        d = len(start)
        parts: list[Any] = []
        if self.toward > 0:
            parts.append(Toward(start, self.toward))
        if self.trace > 0:
            # The linear loss is half the prediction.
            weight = np.full(d, 2 * self.trace / float(np.sum(start**2)), start.dtype)
            parts.append(Term(Each(d), np.zeros(d, start.dtype), Linear(), np.full(d, -1), weight))
        return [Block(Identity(d, start.dtype), parts)] if parts else []
