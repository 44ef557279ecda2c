"""An evaluation as values that can be stored, from which the same evaluation is made again, to the last bit."""

from __future__ import annotations

from typing import Any, NamedTuple

from gramian.geometries import Point
from gramian.objective import Evaluation, Problem
from gramian.objective.block import Totals
from gramian.types import Matrix, Tangent

__all__ = ["Snapshot", "restore_evaluation", "take_snapshot"]


class Snapshot(NamedTuple):
    """The objective at a point: its value, and what was computed there.

    Attributes
    ----------
    point : Point
    states : list of State, or None
        Images, predictions and slopes, which carry the rounding errors of the steps so far; None if they are held by
        other processes, and are computed anew.
    value, noise : float
    pulled, gradient : array or None
        The gradient and what it is made of; None if they were not computed.
    """

    point: Point
    states: list[Any] | None
    value: float
    noise: float
    pulled: Matrix | None
    gradient: Tangent | None


def take_snapshot(evaluation: Evaluation) -> Snapshot:
    """Return what is known at an evaluation. Nothing is copied."""
    states = evaluation.states if getattr(evaluation.problem.execution, "local", False) else None
    known = [vars(evaluation).get(name) for name in ("pulled", "gradient")]
    return Snapshot(evaluation.point, states, evaluation.value, evaluation.noise, *known)


def restore_evaluation(problem: Problem, snapshot: Snapshot) -> Evaluation:
    """Return the evaluation of a snapshot of the same problem."""
    if snapshot.states is None:
        return problem.evaluate(snapshot.point)
    evaluation = Evaluation(problem, snapshot.point, snapshot.states, Totals(snapshot.value, 0.0))
    evaluation.noise = snapshot.noise
    if snapshot.gradient is not None:
        vars(evaluation).update(pulled=snapshot.pulled, gradient=snapshot.gradient)
    return evaluation
