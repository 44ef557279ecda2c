"""Penalties that keep a distance near its start, and small."""

from __future__ import annotations

from typing import NamedTuple

from gramian.features import Identity
from gramian.objective import Block
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
        if not (self.toward > 0 or self.trace > 0):
            return []
        penalty = Toward(start, self.toward, self.trace / squared_norm(start))
        return [Block(Identity(len(start), start.dtype), [penalty])]


def resolve_penalties(
    regularisation: float | str, shrinkage: float | str, situation: Situation, begun: Begun
) -> Penalties:
    """Return the penalty weights of a stage from the parameters of a MetricLearner."""
    supervision, start = begun
    d, r = start.shape
    toward = supervision.default_penalty(r, d) if regularisation == "auto" else float(regularisation)
    trace = supervision.default_shrinkage(situation, start) if shrinkage == "auto" else float(shrinkage)
    return Penalties(toward, trace)
