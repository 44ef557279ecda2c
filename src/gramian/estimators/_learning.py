"""The stages and rounds of a fit of a distance."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gramian.coordinates import Coordinates, Units
from gramian.estimators._checks import resolve_regularisation
from gramian.estimators._online import is_online, learn_stream
from gramian.estimators._penalties import Penalties, resolve_penalties
from gramian.estimators._regression import Stream
from gramian.estimators._rounds import advice_on_rounds, describe_planned_end, resolve_loss, round_length
from gramian.geometries import Geometry
from gramian.losses import Loss
from gramian.objective import Block, Problem, Term, make_explicit
from gramian.penalties import squared_norm
from gramian.situation import Situation
from gramian.solvers import Ending, Journal, Result, Solver
from gramian.span import complete_factor
from gramian.starts import resolve_start
from gramian.supervision import Begun, Plan, Supervision
from gramian.types import Matrix

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = [
    "WARM",
    "Learned",
    "compute_start",
    "learn_by_plan",
    "learn_stage",
    "load_factor",
    "most_iterations",
    "store_learned",
    "with_full_rank",
    "with_rank",
]


#: The smallest ‖W‖², and the inverse of the largest, that a stream goes on from.
SMALLEST_SQUARE = 1e-280
#: The starts of a distance, by name.
START_NAMES = ("identity", "lda", "pairs", "pca", "random")
#: The end of `message_` after a warm start.
WARM = "; started from the factor of the fit before"


class Learned(NamedTuple):
    """The result of the last stage, and its supervision.

    Attributes
    ----------
    result : Result
    supervision : Supervision
    journal : Journal
        That of the fit.
    planned : bool
        True if the stage ended after the planned number of iterations.
    advice : str or None
        What a warning that the stage did not converge advises; None for the usual advice.
    """

    result: Result
    supervision: Supervision
    journal: Journal
    planned: bool
    advice: str | None = None


def learn_by_plan(
    learner: MetricLearner, situation: Situation, plan: Plan, start: Matrix, journal: Journal, *, resume: bool = False
) -> Learned:
    """Return what the last stage of a plan learns from a start (d, r)."""
    for supervision in plan.stages:
        with journal.phase("constraints"):
            begun = supervision.begin(situation, start, resume=resume)
        result = learn_stage(learner, situation, begun, journal, resume)
        start = result.point.G
        if result.ending is Ending.HALTED:
            break
    message = describe_planned_end(result, supervision, resume)
    planned = bool(message) and result.stops
    if message:
        result = replace(result, message=message, ending=Ending.EXHAUSTED)
    return Learned(result, begun.supervision, journal, planned, advice_on_rounds(begun.supervision, resume))


def store_learned(learner: MetricLearner, learned: Learned, coordinates: Coordinates, rank: int) -> None:
    """Set the fitted attributes that come from what a plan learned."""
    result, supervision = learned.result, learned.supervision
    coordinates = coordinates.with_target_unit(supervision.target_unit)
    learner._store_result(coordinates.to_user(with_rank(result.point.G, rank)), result, learned.journal)
    learner._stream = Stream.after(result, coordinates.units, learner._resolve_geometry())
    learner.components_ = np.ascontiguousarray(learner.factor_.T)
    learner._n_features_out = learner.factor_.shape[1]
    learner.__dict__.update(supervision.summary())


def most_iterations(learner: MetricLearner, plan: Plan, resume: bool) -> int | None:
    """Return the largest number of iterations in all rounds of a plan; None if only max_iter limits them."""
    stages = [stage for part in plan.parts or (plan,) for stage in part.stages]
    lengths = [round_length(supervision, resume) for supervision in stages]
    if any(length is None for length in lengths):
        return None
    if is_online(learner.solver):
        most = 1 if resume else learner.n_epochs
    else:
        most = learner.max_iter
    rounds = [1 if resume else supervision.n_rounds for supervision in stages]
    return sum(count * min(length or 0, most) for count, length in zip(rounds, lengths, strict=True))


def learn_stage(
    learner: MetricLearner, situation: Situation, begun: Begun, journal: Journal, resume: bool = False
) -> Result:
    """Return the result of the last round of a stage."""
    supervision, start = begun
    solver = learner._resolve_solver(situation.rng, supervision.solver)
    geometry, factor = learner._resolve_geometry(), start
    if not solver.stops:
        # Mini-batches need a problem of one term, the constraints.
        penalties = Penalties()
    elif resume:
        # The penalty weight is 1 if as many samples were seen before as in this call.
        penalties = Penalties(learner.n_seen_ / len(supervision))
    else:
        penalties = resolve_penalties(resolve_regularisation(learner), learner.shrinkage, situation, begun)
    length, loss = round_length(supervision, resume), resolve_loss(learner.loss)
    n_rounds = 1 if resume else supervision.n_rounds
    for index in range(n_rounds):
        title = f"round {index + 1} of {n_rounds}" if n_rounds > 1 else "learning"
        learn = partial(learn_round, learner, situation, supervision, factor, index, penalties.blocks(start), journal)
        learn = partial(learn, solver=solver, geometry=geometry, loss=loss, length=length, title=title, resume=resume)
        result = journal.checkpoint.remember("round", learn, rng=situation.rng)
        factor = result.point.G
        if result.ending is Ending.HALTED:
            break
    return result


def learn_round(
    learner: MetricLearner,
    situation: Situation,
    supervision: Supervision,
    factor: Matrix,
    index: int,
    penalties: list[Block],
    journal: Journal,
    *,
    solver: Solver,
    geometry: Geometry,
    loss: Loss,
    length: int | None,
    title: str,
    resume: bool = False,
) -> Result:
    """Return the result of one round of a stage, from a factor (d, r)."""
    with journal.phase("constraints" if index else "problem"):
        terms = [term.with_loss(loss) for term in supervision.terms(situation, factor, index)]
    used = terms if solver.stops else make_explicit(terms, situation.features.dtype)[:1]
    if not solver.stops and not isinstance(used[0], Term):
        raise ValueError("solver='online' learns from pairs and triplets. Choose another solver or constraints.")
    rows = supervision.subset(index)
    features = situation.features if rows is None else situation.features.take(rows)
    journal.begin(title)
    share = features.shape[0] / situation.features.shape[0]
    problem = Problem([Block(features, used), *penalties], situation.execution, share)
    point = geometry.point(factor)
    if resume and not solver.stops:
        stream: Stream | None = getattr(learner, "_stream", None)
        same = stream is not None and stream.units == Units(situation.unit, supervision.target_unit)
        # Step sizes are in the units of the factor: where these change, they are chosen anew.
        schedule = stream.schedule if stream is not None and same else None
        return learn_stream(problem, point, solver, journal, situation.rng, schedule)
    return learner._minimize(problem, point, solver, journal, at_most=length)


def compute_start(learner: MetricLearner, situation: Situation, rank: int, usual: str) -> Matrix:
    """Return the start (d, r), in the solver's coordinates.

    `usual` is the name of the plan's start, which init="auto" stands for. Where that is "auto" too, it is the identity
    at full rank, else by linear discriminants of labels, or by principal components without labels.
    """
    n, d = situation.features.shape
    if learner.n_components is not None and rank > min(n, d):
        raise ValueError(
            f"n_components={rank} exceeds the {min(n, d)} directions that {n} samples span. Choose fewer, or give more "
            "samples."
        )
    if usual == "auto":
        usual = "identity" if rank == d else "pca" if situation.labels is None else "lda"
    return resolve_start(learner.init, situation, rank, choices=START_NAMES, auto=usual)


def with_rank(G: Matrix, rank: int) -> Matrix:
    """Return a factor (d, r) of another rank: with small further columns, or of its largest singular values alone."""
    if G.shape[1] < rank:
        return complete_factor(G, rank)
    return G if G.shape[1] == rank else G @ np.linalg.svd(G, full_matrices=False)[2][:rank].T


def with_full_rank(G: Matrix) -> Matrix:
    """Return a factor (d, r) near G whose rank is r in floating point: singular values below rounding are raised."""
    U, values, V = np.linalg.svd(G, full_matrices=False)
    least = 8 * max(G.shape) * np.finfo(G.dtype).eps * values[0]
    return G if values[-1] >= least else (U * np.maximum(values, least)) @ V


def load_factor(learner: MetricLearner, coordinates: Coordinates, *, warm: bool = False) -> Matrix:
    """Return the current factor (d, r) of a learner, in the solver's coordinates.

    Raises a ValueError if it cannot be the start of a stream or, with `warm`, of a warm start.
    """
    (d, r), features = learner.factor_.shape, coordinates.features
    rank = features.shape[1] if learner.n_components is None else learner.n_components
    what, anew = ("warm start", "Set warm_start=False") if warm else ("stream", "Call fit")
    if d != learner.n_features_in_:
        raise ValueError(f"X has {learner.n_features_in_} features, but the {what} has {d}. {anew} to start anew.")
    if rank != r and learner.n_components is not None:
        raise ValueError(f"n_components={rank}, but the {what} has {r}. {anew} to start anew.")
    if not learner.factor_.any():
        raise ValueError(f"the present distance is zero: a {what} of X cannot go on from it. {anew} to start anew.")
    # Full rank in the span of few samples is less than the number of features.
    factor = coordinates.to_solver(with_rank(learner.factor_, rank) if r < rank else learner.factor_, features.dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        square = squared_norm(factor.T @ factor)
    if not SMALLEST_SQUARE < square < 1 / SMALLEST_SQUARE:
        raise ValueError(f"X is on another scale than the {what}: beside it, the present distance is 0 or infinite.")
    return factor
