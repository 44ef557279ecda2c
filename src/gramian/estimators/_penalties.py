"""Penalties that keep a distance near its start, and small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gramian.features import Identity
from gramian.losses import Linear
from gramian.measurements import Each
from gramian.objective import Block, Term
from gramian.objective.terms import Summand
from gramian.penalties import Toward, squared_norm
from gramian.situation import Situation
from gramian.supervision import Begun
from gramian.types import Matrix

__all__ = ["Penalties", "resolve_penalties"]


class Penalties(NamedTuple):
    """Penalty weights of ½ ‖W - W₀‖²/‖W₀‖² (`toward`) and of tr(W)/tr(W₀) (`trace`), W₀ the start."""

    toward: float = 0.0
    trace: float = 0.0

    def blocks(self, start: Matrix) -> list[Block]:
        """Return the penalties as blocks of a problem, for the start W₀ = G₀ G₀ᵀ with G₀ of shape (d, r)."""
        d = len(start)
        parts: list[Summand] = []
        if self.toward > 0:
            parts.append(Toward(start, self.toward))
        if self.trace > 0:
            # The linear loss is half the prediction.
            weight = np.full(d, 2 * self.trace / squared_norm(start), start.dtype)
            parts.append(Term(Each(d), np.zeros(d, start.dtype), Linear(), np.full(d, -1), weight))
        return [Block(Identity(d, start.dtype), parts)] if parts else []


def resolve_penalties(
    regularisation: float | str, shrinkage: float | str, situation: Situation, begun: Begun
) -> Penalties:
    """Return the penalty weights of a stage from the parameters of a MetricLearner."""
    supervision, start = begun
    d, r = start.shape
    toward = supervision.default_penalty(r, d) if regularisation == "auto" else float(regularisation)
    trace = supervision.default_shrinkage(situation, start) if shrinkage == "auto" else float(shrinkage)
    return Penalties(toward, trace)
