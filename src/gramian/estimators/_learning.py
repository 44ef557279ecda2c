"""The stages and rounds of a fit of a distance."""

from __future__ import annotations

from collections.abc import Sequence
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
from gramian.estimators._setup import Setup
from gramian.geometries import Geometry
from gramian.losses import Loss
from gramian.objective import Block, Problem, Term, make_explicit
from gramian.objective.terms import Summand
from gramian.penalties import squared_norm
from gramian.situation import Situation
from gramian.solvers import Ending, Journal, Result, Solver
from gramian.solvers.online import Schedule
from gramian.span import complete_factor
from gramian.starts import resolve_start
from gramian.supervision import Begun, Plan, Supervision
from gramian.types import Matrix

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = [
    "WARM",
    "Call",
    "Learned",
    "Stage",
    "begin_stage",
    "compute_start",
    "learn_by_plan",
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


class Call(NamedTuple):
    """How a fit begins: anew, from the factor of the fit before, or as a part of a stream.

    Attributes
    ----------
    streaming : bool
        True for `partial_fit` and its like.
    fitted : bool
        True if there is a factor of an earlier call.
    warm_start : bool
        The parameter of the learner.
    """

    streaming: bool
    fitted: bool
    warm_start: bool

    @property
    def resumes(self) -> bool:
        """True if a stream goes on from the factor of its earlier calls."""
        return self.streaming and self.fitted

    @property
    def warm(self) -> bool:
        """True if a fit, not a stream, starts from the factor of the fit before."""
        return self.warm_start and self.fitted and not self.streaming

    @property
    def anew(self) -> bool:
        """True if a fit starts from `init`, whatever was learned before."""
        return not (self.resumes or self.warm)


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


class Stage(NamedTuple):
    """A stage of a fit: what has begun, and how each of its rounds is minimised.

    Attributes
    ----------
    learner : MetricLearner
    situation : Situation
    supervision : Supervision
        As it began from the start.
    start : array, shape (d, r)
    solver : Solver
    geometry : Geometry
    loss : Loss
    penalties : list of Block
    n_rounds : int
    length : int or None
        The largest number of iterations of a round; None if only max_iter limits them.
    resume : bool
        True if a stream goes on from an earlier factor.
    """

    learner: MetricLearner
    situation: Situation
    supervision: Supervision
    start: Matrix
    solver: Solver
    geometry: Geometry
    loss: Loss
    penalties: list[Block]
    n_rounds: int
    length: int | None
    resume: bool

    def learn(self, journal: Journal) -> Result:
        """Return the result of the last round."""
        factor = self.start
        for index in range(self.n_rounds):
            learn = partial(self.learn_round, factor, index, journal)
            result = journal.checkpoint.remember("round", learn, rng=self.situation.rng)
            factor = result.point.G
            if result.ending is Ending.HALTED:
                break
        return result

    def learn_round(self, factor: Matrix, index: int, journal: Journal) -> Result:
        """Return the result of one round, from a factor (d, r)."""
        with journal.phase("constraints" if index else "problem"):
            terms = [term.with_loss(self.loss) for term in self.supervision.terms(self.situation, factor, index)]
        situation, problem = self.situation, self.build_problem(terms, index)
        journal.begin(f"round {index + 1} of {self.n_rounds}" if self.n_rounds > 1 else "learning")
        setup = Setup(problem, self.solver, self.geometry, situation.coordinates, journal, situation.rng)
        point = self.geometry.point(factor)
        if self.resume and not self.solver.stops:
            return learn_stream(setup, point, self.earlier_schedule())
        return self.learner._minimize(setup, point, at_most=self.length)

    def build_problem(self, terms: Sequence[Summand], index: int) -> Problem:
        """Return the problem of a round: its terms on the samples that it uses, and the penalties."""
        situation, features = self.situation, self.situation.features
        if not self.solver.stops:
            terms = make_explicit(terms, features.dtype)[:1]
            if not isinstance(terms[0], Term):
                raise ValueError(
                    "solver='online' learns from pairs and triplets. Choose another solver or constraints."
                )
        rows = self.supervision.subset(index)
        used = features if rows is None else features.take(rows)
        share = used.shape[0] / features.shape[0]
        return Problem([Block(used, terms), *self.penalties], situation.execution, share)

    def earlier_schedule(self) -> Schedule | None:
        """Return the step sizes of the stream so far; None if the units of the factor change: they are chosen anew."""
        stream: Stream | None = getattr(self.learner, "_stream", None)
        units = Units(self.situation.unit, self.supervision.target_unit)
        return stream.schedule if stream is not None and stream.units == units else None


def begin_stage(learner: MetricLearner, situation: Situation, begun: Begun, resume: bool) -> Stage:
    """Return the stage of a supervision that has begun."""
    supervision, start = begun
    solver = learner._resolve_solver(situation.rng, supervision.solver)
    if not solver.stops:
        # Mini-batches need a problem of one term, the constraints.
        penalties = Penalties()
    elif resume:
        # The penalty weight is 1 if as many samples were seen before as in this call.
        penalties = Penalties(learner.n_seen_ / len(supervision))
    else:
        penalties = resolve_penalties(resolve_regularisation(learner), learner.shrinkage, situation, begun)
    return Stage(
        learner,
        situation,
        supervision,
        start,
        solver,
        learner._resolve_geometry(),
        resolve_loss(learner.loss),
        penalties.blocks(start),
        1 if resume else supervision.n_rounds,
        round_length(supervision, resume),
        resume,
    )


def learn_by_plan(
    learner: MetricLearner, situation: Situation, plan: Plan, start: Matrix, journal: Journal, *, resume: bool = False
) -> Learned:
    """Return what the last stage of a plan learns from a start (d, r)."""
    for supervision in plan.stages:
        with journal.phase("constraints"):
            begun = supervision.begin(situation, start, resume=resume)
        result = begin_stage(learner, situation, begun, resume).learn(journal)
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
