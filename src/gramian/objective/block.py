"""Blocks of data with the terms on them, and the work that is done beside the data.

The functions at the end are the whole vocabulary of work. Each takes a block, what is held beside it, and small
arguments, and returns what stays there and what is summed over the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from gramian.execution import Serial, Team, sum_totals
from gramian.features import Features
from gramian.geometries import Motion, factor_image, factor_velocity
from gramian.losses.loss import Assessment
from gramian.objective.terms import Curvature, Group, Summand, cut_evenly
from gramian.types import Matrix, Vector

__all__ = ["Arrival", "Block", "Direction", "Outlook", "State", "Totals"]

# The largest number of rows of a piece: its images stay near the processor, and it is long enough to be worth a thread.
ROWS_PER_PIECE = 16384
# The number of pieces is a multiple of this, so that few threads have equal shares.
SHARES = 4


@dataclass(frozen=True, eq=False)
class Block:
    """Features and the terms on them: the unit of execution. Its terms share one image and one pull.

    Parameters
    ----------
    features : Features
    terms : sequence of Term, or of penalties on Identity features
    team : Team
        Who works on the pieces of the block; the calling thread by default.
    coarse : sequence of Group
        The same terms cut less finely, each with the number of `terms` it spans; set by `split`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Term
    >>> from gramian.features import Array
    >>> from gramian.measurements import Each, Pairs
    >>> X = Array(np.random.default_rng(0).standard_normal((5, 2)))
    >>> len(Block(X, [Term(Each(5), np.ones(5)), Term(Pairs([[0, 1]]), np.ones(1))]).terms)
    2
    """

    features: Features
    terms: Sequence[Summand]
    team: Team = field(default_factory=Serial, repr=False)
    coarse: Sequence[Group] = ()

    def __post_init__(self) -> None:
        features = self.features
        if not hasattr(features, "image") or not hasattr(features, "pull"):
            raise TypeError(f"features is of type {type(features).__name__}; make it by features.as_features(X).")
        if features.dtype not in (np.float32, np.float64):
            raise ValueError(f"features have dtype {features.dtype}; expected float32 or float64.")
        if not isinstance(self.terms, Sequence) or not self.terms:
            raise TypeError(f"terms={self.terms!r} is not valid. Give a list of at least one Term.")
        if wrong := [term for term in self.terms if not (hasattr(term, "value_and_slopes") and hasattr(term, "cast"))]:
            raise TypeError(
                f"terms has an item of type {type(wrong[0]).__name__}; expected Term, a penalty, or another Summand."
            )
        for term in self.terms:
            term.check(features.shape[0])
        cast = [term.cast(features.dtype) for term in self.terms]
        object.__setattr__(self, "terms", cast)

    def split(self) -> list[Block]:
        """Return the same as blocks that can be worked on apart; neither rows nor measurements are copied.

        Where every measurement is made of one sample, these are blocks of rows that fit the cache. Elsewhere it is one
        block, whose terms and rows are in pieces for its team. Features on workers say how to make blocks there.
        """
        if hasattr(self.features, "split_block"):
            return self.features.split_block(self)
        n = self.features.shape[0]
        if not all(term.separable for term in self.terms):
            pieces = [term.pieces(n) for term in self.terms]
            fine, coarse = (list(chain(*parts)) for parts in zip(*pieces, strict=True))
            return [replace(self, terms=fine, coarse=coarse)]
        if n <= ROWS_PER_PIECE or not self.features.sliceable:
            return [self]
        cuts = cut_evenly(n, SHARES * -(-n // (SHARES * ROWS_PER_PIECE)))
        return [Block(self.features.take(cut), [term.take(cut)[0] for term in self.terms]) for cut in cuts]

    def shared(self, team: Team) -> Block:
        """Return this block with its pieces worked on by a team."""
        return replace(self, team=team)

    @property
    def in_pieces(self) -> bool:
        """True if there is something to share out."""
        return len(self.terms) > 1 or len(self.rows) > 1

    @cached_property
    def rows(self) -> list[RowPiece]:
        """The features in pieces of rows; one piece where the block itself is a piece, by `split`."""
        n = self.features.shape[0]
        is_piece = self.features.sliceable and all(term.separable for term in self.terms)
        count = 1 if is_piece else self.features.n_pieces
        if count == 1:
            return [RowPiece(slice(0, n), self.features)]
        return [RowPiece(cut, self.features.take(cut)) for cut in cut_evenly(n, count)]

    def image(self, B: Matrix) -> Matrix:
        """Return X B, shape (N, k); one pass."""
        if len(self.rows) == 1:
            return self.features.image(B)
        Z = np.empty((self.features.shape[0], B.shape[1]), np.result_type(self.features.dtype, B.dtype))
        self.team.map(write_image, self.rows, repeat(B), repeat(Z))
        return Z

    def pull(self, *parts: Matrix) -> Matrix:
        """Return Xᵀ S, shape (d, k), for the sum S of some matrices (N, k); one pass."""
        if len(self.rows) == 1:
            return self.features.pull(sum_totals(parts))
        return sum_totals(self.team.map(pull_rows, self.rows, repeat(parts)))

    def predict(self, Z: Matrix) -> list[Any]:
        """Return the predictions of every term."""
        return self.team.map(call_predict, self.terms, repeat(Z))

    def assess(self, image: Matrix, predictions: list[Any]) -> tuple[State, Totals]:
        """Return the state of predictions, and the sum of the terms' values."""
        assessed = self.team.map(call_value_and_slopes, self.terms, predictions)
        return join_assessments(image, predictions, assessed)

    def weigh(self, weights: Sequence[Any], Z: Matrix) -> list[Matrix]:
        """Return matrices (N, k) whose sum is S with Xᵀ S = M G, M = Σ weight_i X_i over all terms."""
        if not self.coarse:
            return self.team.map(call_weigh, self.terms, weights, repeat(Z))
        edges = pairwise(accumulate((group.span for group in self.coarse), initial=0))
        joined = [join_weights(weights[start:stop]) for start, stop in edges]
        return self.team.map(call_weigh, [group.summand for group in self.coarse], joined, repeat(Z))

    def gauss_newton(self, predictions: Sequence[Any], Z: Matrix, velocity: Matrix) -> Curvature:
        """Return the weights of the Gauss-Newton operator of every term, and the sum of their quadratic forms."""
        parts = self.team.map(call_gauss_newton, self.terms, predictions, repeat(Z), repeat(velocity))
        return Curvature([part.weights for part in parts], sum_totals(part.form for part in parts))


def join_assessments(image: Matrix, predictions: list[Any], assessed: Sequence[Assessment]) -> tuple[State, Totals]:
    """Return the state of all terms of a block, and the sum of their values."""
    totals = sum_totals(Totals(each.value, each.scale) for each in assessed)
    return State(image, predictions, [each.slopes for each in assessed]), totals


def join_weights(weights: Sequence[Any]) -> Any:
    """Return the weights of consecutive pieces of one term as those of the term."""
    return weights[0] if len(weights) == 1 else np.concatenate(weights)


class State(NamedTuple):
    """What stays beside a block at a point.

    `image` is X F of the point's frame F, or Y with X F = Y Q where the motion to the point left a factor Q to apply.
    """

    image: Matrix
    predictions: list[Any]
    slopes: list[Any]


class Totals(NamedTuple):
    """The value of the objective, and the scale of its rounding error."""

    value: float
    scale: float


class Arrival(NamedTuple):
    """`Totals`, and the sum M F (d, k) that the gradient is made of."""

    value: float
    scale: float
    pulled: Matrix


class Direction(NamedTuple):
    """What stays beside a block along a curve: the image X T of its direction, and if straight the terms' lines."""

    image: Matrix | None
    lines: list[Any] | None


class RowPiece(NamedTuple):
    """Consecutive rows of a block: which they are, and their features."""

    cut: slice
    features: Features


class Outlook(NamedTuple):
    """What is known of a straight curve at its start.

    `quartic` is the objective as a polynomial (5,), None where it is none. `start` has value, slope and curvature at
    s = 0, (3,); None where a trial step is costly.
    """

    quartic: Vector | None
    start: Vector | None


class TermLine(NamedTuple):
    """What describes a term along a straight curve, and what is known of it there."""

    line: Any
    outlook: Outlook


# The pieces of a block, as functions that a team can map.


def write_image(rows: RowPiece, B: Matrix, Z: Matrix) -> None:
    """Write the image of some rows into Z."""
    Z[rows.cut] = rows.features.image(B)


def pull_rows(rows: RowPiece, parts: Sequence[Matrix]) -> Matrix:
    """Return the pull of some rows of the sum of the parts."""
    return rows.features.pull(sum_totals(part[rows.cut] for part in parts))


def call_predict(term: Summand, Z: Matrix) -> Any:
    """Return the predictions of a term."""
    return term.predict(Z)


def call_value_and_slopes(term: Summand, prediction: Any) -> Assessment:
    """Return value, slopes and rounding scale of a term."""
    return term.value_and_slopes(prediction)


def call_value_at_zero(term: Summand, Z: Matrix) -> float:
    """Return the value of a term at the image Z = 0."""
    return term.value_at_zero(Z)


def call_weigh(term: Summand, weights: Any, Z: Matrix) -> Matrix:
    """Return S with Xᵀ S = M G of a term."""
    return term.weigh(weights, Z)


def call_gauss_newton(term: Summand, prediction: Any, Z: Matrix, velocity: Matrix) -> Curvature:
    """Return the Gauss-Newton weights and quadratic form of a term."""
    return term.gauss_newton(prediction, Z, velocity)


def call_line(term: Summand, prediction: Any, Z: Matrix, T: Matrix) -> TermLine:
    """Return the line of a term along Z + s T, and what is known of it."""
    line = term.line(prediction, Z, T)
    quartic = term.quartic(line)
    if quartic is not None:
        return TermLine(line, Outlook(quartic, quartic[:3] * [1, 1, 2]))
    return TermLine(line, Outlook(None, None if term.costly else call_along(term, line, 0.0)))


def call_along(term: Summand, line: Any, s: float) -> Vector:
    """Return value, slope and curvature of a term at s."""
    return np.array(term.along(line, s))


def call_assess_along(term: Summand, line: Any, s: float, image: Matrix) -> tuple[Any, Assessment]:
    """Return the predictions of a term at s, where the image is known, and their assessment."""
    prediction = term.predict_along(line, s, image)
    return prediction, term.value_and_slopes(prediction)


# The work.


def evaluate(block: Block, *, frame: Matrix, root: Matrix | None) -> tuple[State, Totals]:
    """Evaluate the block at the factor frame · root; one image."""
    image = block.image(frame)
    return block.assess(image, block.predict(factor_image(image, root)))


def evaluate_at_zero(block: Block) -> tuple[None, float]:
    """Sum the block's value at W = 0."""
    Z = np.zeros((block.features.shape[0], 1), block.features.dtype)
    return None, sum_totals(block.team.map(call_value_at_zero, block.terms, repeat(Z)))


def pull(block: Block, state: State) -> tuple[None, Matrix]:
    """Sum M F = (Σ slope_i X_i) F; one pull."""
    return None, block.pull(*block.weigh(state.slopes, state.image))


def pull_weights(block: Block, weights: list[Any], state: State) -> tuple[None, Matrix]:
    """Sum (Σ weight_i X_i) F for other weights than the slopes; one pull."""
    return None, block.pull(*block.weigh(weights, state.image))


def pull_hessian(block: Block, weights: list[Any], state: State, ahead: Direction) -> tuple[None, Matrix]:
    """Sum (Σ weight_i X_i) F + (Σ slope_i X_i) T; one pull."""
    assert ahead.image is not None
    return None, block.pull(*block.weigh(weights, state.image), *block.weigh(state.slopes, ahead.image))


def pull_product(block: Block, state: State, *, V: Matrix) -> tuple[None, Matrix]:
    """Sum M V = (Σ slope_i X_i) V; one image and one pull."""
    return None, block.pull(*block.weigh(state.slopes, block.image(V)))


def prepare(
    block: Block, state: State, *, direction: Matrix | None, straight: bool
) -> tuple[Direction, Outlook | None]:
    """Prepare for steps along a direction; one image. On a straight curve, sum what is known of the terms."""
    image = None if direction is None else block.image(direction)
    if not straight:
        return Direction(image, None), None
    parts = block.team.map(call_line, block.terms, state.predictions, repeat(state.image), repeat(image))
    return Direction(image, [part.line for part in parts]), sum_totals(part.outlook for part in parts)


def along(block: Block, ahead: Direction, *, s: float) -> tuple[None, Vector]:
    """Sum value, slope and curvature at s, on a straight curve."""
    assert ahead.lines is not None
    return None, sum_totals(block.team.map(call_along, block.terms, ahead.lines, repeat(s)))


def slope(block: Block, state: State, ahead: Direction) -> tuple[None, float]:
    """Sum the derivative of the block's value along a direction, at a point of a straight curve."""
    assert ahead.image is not None
    return None, 2 * float(np.vdot(sum_totals(block.weigh(state.slopes, state.image)), ahead.image))


def move(block: Block, state: State, ahead: Direction, *, motion: Motion, s: float) -> tuple[State, Totals]:
    """Evaluate the block at a step along a curve, from images that are carried along: no pass."""
    image = motion.blend(state.image, ahead.image)
    if ahead.lines is not None:
        moved = block.team.map(call_assess_along, block.terms, ahead.lines, repeat(s), repeat(image))
        return join_assessments(image, [prediction for prediction, _ in moved], [each for _, each in moved])
    return block.assess(image, block.predict(factor_image(image, motion.remaining_factor)))


def arrive(block: Block, state: State, ahead: Direction, *, motion: Motion, s: float) -> tuple[State, Arrival]:
    """Move the block to a step along a straight curve, and pull there; one pull."""
    moved, totals = move(block, state, ahead, motion=motion, s=s)
    return moved, Arrival(*totals, pull(block, moved)[1])


def normalise(block: Block, state: State, *, Q: Matrix) -> tuple[State, None]:
    """Apply the factor Q that a motion left to apply."""
    return state._replace(image=state.image @ Q), None


def curvature(
    block: Block, state: State, ahead: Direction, *, root: Matrix | None, root_velocity: Matrix | None
) -> Curvature:
    """Keep the weights of the Gauss-Newton operator along a direction; sum its quadratic form."""
    velocity = factor_velocity(state.image, ahead.image, root, root_velocity)
    return block.gauss_newton(state.predictions, factor_image(state.image, root), velocity)
