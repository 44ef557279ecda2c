"""Streams of samples that an online solver learns from, one call after the other."""

from __future__ import annotations

from typing import Any

from gramian.estimators._setup import Setup
from gramian.geometries import Point
from gramian.solvers import SOLVERS, Result, minimize
from gramian.solvers.online import Memory, Schedule

__all__ = ["check_stream_solver", "forget_outcome", "is_online", "learn_stream", "stream_unit"]

#: A call whose samples are larger or smaller than those of the stream by this factor has a unit of its own.
LARGEST_CHANGE = 2.0**10


def forget_outcome(learner: Any, *, choice: bool, kept: bool) -> None:
    """Delete the fitted attributes of a MetricLearner that depend on the supervision; the plan and kept samples too."""
    names = ["threshold_", "bounds_", "tuple_size_", *(["choice_"] * choice), *(["kept_", "kept_tuples_"] * kept)]
    for name in names:
        vars(learner).pop(name, None)


def stream_unit(learner: Any, own: float) -> float:
    """Return the unit of the samples of a stream; their `own` if they are on another scale, or there is no stream."""
    stream = getattr(learner, "_stream", None)
    unit = own if stream is None else stream.units.data
    return unit if 1 / LARGEST_CHANGE <= unit / own <= LARGEST_CHANGE else own


def is_online(solver: Any) -> bool:
    """Return True if a solver, given by name or as an object, runs epochs of mini-batches."""
    kind = SOLVERS.get(solver) if isinstance(solver, str) else solver
    return not getattr(kind, "stops", True)


def check_stream_solver(solver: Any) -> None:
    """Raise a ValueError unless a solver has a schedule of step sizes, with which it goes on from call to call."""
    if not hasattr(solver, "schedule"):
        raise ValueError(
            f"solver={solver!r} has no schedule of step sizes, with which a stream goes on. Choose solver='online', or "
            "an Online object."
        )


def learn_stream(setup: Setup, point: Point, schedule: Schedule | None) -> Result:
    """Return the result of one pass over the measurements of a call, with the step sizes of the stream.

    Parameters
    ----------
    setup : Setup
        The measurements of the call, with an `Online` solver.
    point : Point
        What the stream has learned so far.
    schedule : Schedule or None
        The step sizes of the calls so far; None in the first call, which chooses them. A call that the start fits
        exactly, as one sample, leaves the choice to the next.
    """
    problem, journal, rng = setup.problem, setup.journal, setup.rng
    solver: Any = setup.solver
    check_stream_solver(solver)
    if schedule is None or schedule.scale == 0:
        with journal.phase(solver.start_phase):
            schedule = solver.schedule(problem, point, rng, solver.subset)
    return minimize(problem, solver, point, max_iter=1, journal=journal, memory=Memory(schedule, rng))
