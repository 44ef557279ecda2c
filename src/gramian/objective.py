"""Where features, measurements, losses and geometries meet: the objective f(W) = Σ weight · loss.

A `Problem` is evaluated at a point; the `Evaluation` is the cache of that point, and a `Line` leaves it. Each costs
passes over the data only for what is asked of it:

    problem.evaluate(point)     one image: value and slopes
    evaluation.gradient         one pull
    evaluation.line(tangent)    one image, for all trial steps together; line.move(s) is free
    evaluation.gauss_newton(t)  one image and one pull; evaluation.apply(V) = M V likewise

so an iteration of descent is two passes, on every geometry. `Problem.passes` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gramian.execution import Execution, Serial
from gramian.features import Features
from gramian.geometries import Curve, Point
from gramian.losses import Loss, Squared
from gramian.measurements import Measurement
from gramian.types import Matrix, Rows, Vector

__all__ = ["Block", "Evaluation", "Line", "Problem", "Term"]


@dataclass(frozen=True, eq=False)
class Term:
    """Measurements, what they should be, and how they are judged.

    Parameters
    ----------
    measurement : Measurement
    target : array, shape (m,)
    loss : Loss
    sense : array of int8, shape (m,), optional
        0 equal, -1 at most, +1 at least. All equal when omitted.
    weight : array, shape (m,), optional
        1/m each when omitted, so that the term is a mean.
    """

    measurement: Measurement
    target: Vector
    loss: Loss = field(default_factory=Squared)
    sense: Vector = None  # type: ignore[assignment]
    weight: Vector = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        m = len(self.measurement)
        target = np.asarray(self.target)
        defaults = {
            "sense": np.zeros(m, np.int8) if self.sense is None else np.asarray(self.sense, np.int8),
            "weight": np.full(m, 1 / max(m, 1), target.dtype) if self.weight is None else np.asarray(self.weight),
            "target": target,
        }
        for name, value in defaults.items():
            if value.shape != (m,):
                raise ValueError(f"{name} has shape {value.shape}; expected ({m},), one for each measurement.")
            object.__setattr__(self, name, value)

    def judge(self, prediction: Vector) -> tuple[float, Vector, float]:
        """Value, weighted slopes, and the scale of the value's rounding error."""
        return self.loss.judge(prediction, self.target, self.sense, self.weight)

    def curvature(self, prediction: Vector) -> Vector:
        """Weighted curvatures, (m,)."""
        return self.weight * self.loss(prediction, self.target, self.sense)[2]

    def take(self, rows: Rows) -> tuple[Term, Rows | None]:
        """Some of the measurements, weighted so that the value's expectation is kept, and their samples."""
        measurement, samples = self.measurement.take(rows)
        weight = self.weight[rows] * (len(self.measurement) / len(rows))
        return Term(measurement, self.target[rows], self.loss, self.sense[rows], weight), samples


@dataclass(frozen=True, eq=False)
class Block:
    """Features and the terms on them: the unit of execution. Its terms share one image and one pull."""

    features: Features
    terms: Sequence[Term]

    def judge(self, predictions: Sequence[Vector]) -> Judgement:
        """Value and slopes of the terms together."""
        judged = [term.judge(p) for term, p in zip(self.terms, predictions, strict=True)]
        return Judgement(
            sum(value for value, _, _ in judged),
            [slope for _, slope, _ in judged],
            sum(s for _, _, s in judged),
        )

    def weigh(self, weights: Sequence[Vector], Z: Matrix) -> Matrix:
        """S with Xᵀ S = (Σ weight_i X_i) G, over all terms."""
        return sum_of([term.measurement.weigh(w, Z) for term, w in zip(self.terms, weights, strict=True)])


class Judgement(NamedTuple):
    """A block's value, its terms' slopes, and the scale of the value's rounding error."""

    value: float
    slopes: list[Vector]
    scale: float


def sum_of(parts: Sequence[Any]) -> Any:
    """The sum in order, without a start value that would promote float32 or copy a single part."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class Problem:
    """An objective over blocks of data.

    Parameters
    ----------
    blocks : sequence of Block
    execution : Execution
        How the blocks are worked on; one after the other by default.

    Attributes
    ----------
    passes : float
        Products with the data so far, images and pulls.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Array
    >>> from gramian.geometries import Flat
    >>> from gramian.measurements import Each
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> problem = Problem([Block(Array(X), [Term(Each(20), np.sum(X[:, :1] ** 2, axis=1))])])
    >>> float(problem.evaluate(Flat().point(np.eye(3)[:, :1])).value)
    0.0
    """

    def __init__(self, blocks: Sequence[Block], execution: Execution | None = None) -> None:
        self.blocks = list(blocks)
        self.execution: Execution = Serial() if execution is None else execution
        self.passes = 0.0

    @property
    def n_features(self) -> int:
        """The dimension d of W."""
        return self.blocks[0].features.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The type of the data, and so of the factor."""
        return self.blocks[0].features.dtype

    @cached_property
    def value_at_zero(self) -> float:
        """f at W = 0, the scale against which a value is small."""
        dtype = self.dtype
        zeros = [[np.zeros(len(t.measurement), dtype) for t in block.terms] for block in self.blocks]
        return sum(j.value for j in self.execution.map(Block.judge, self.blocks, zeros))

    def image(self, B: Matrix) -> list[Matrix]:
        """X B, block by block; one pass."""
        self.passes += 1
        return self.execution.map(lambda block: block.features.image(B), self.blocks)

    def pull(self, weights: Sequence[Any], images: Sequence[Matrix]) -> Matrix:
        """(Σ weight_i X_i) F from the images of F; one pass."""
        self.passes += 1
        return sum_of(self.execution.map(lambda b, w, Z: b.features.pull(b.weigh(w, Z)), self.blocks, weights, images))

    def predict(self, images: Sequence[Matrix]) -> list[list[Vector]]:
        """Predictions of every term of every block from images Z of the factor."""
        return self.execution.map(lambda block, Z: [t.measurement.predict(Z) for t in block.terms], self.blocks, images)

    def evaluate(self, point: Point) -> Evaluation:
        """The objective at a point; one pass."""
        images = self.image(point.frame)
        return Evaluation(self, point, images, self.predict([point.image(XF) for XF in images]))

    @property
    def sampled(self) -> Term:
        """The one term of a problem that can be sampled from."""
        if len(self.blocks) != 1 or len(self.blocks[0].terms) != 1:
            raise ValueError("mini-batches need a problem of one block with one term.")
        return self.blocks[0].terms[0]

    def take(self, rows: Rows) -> Problem:
        """The problem of some of its measurements: a mini-batch. Its value is an unbiased estimate of the whole."""
        term, samples = self.sampled.take(rows)
        features = self.blocks[0].features
        return Problem([Block(features if samples is None else features.take(samples), [term])], self.execution)


class Evaluation:
    """The objective at one point: everything known there, computed when first asked for."""

    def __init__(
        self,
        problem: Problem,
        point: Point,
        images: Sequence[Matrix],
        predictions: Sequence[Sequence[Vector]],
    ) -> None:
        self.problem = problem
        self.images = images
        self.predictions = predictions
        judged = problem.execution.map(Block.judge, problem.blocks, predictions)
        self.value = sum(j.value for j in judged)
        self.slopes = [j.slopes for j in judged]
        # Rounding in the predictions changes the value by this much: no line search can see less.
        self.noise = float(np.finfo(problem.dtype).eps) * sum(j.scale for j in judged)
        self.point = point.damped(self.level)

    @property
    def level(self) -> float:
        """√(f/f(0)) in [0, 1]: how far from a perfect fit, without units."""
        zero = self.problem.value_at_zero
        if not (zero > 0 and self.value >= 0):
            return 0.0
        return float(min(1.0, (self.value / zero) ** 0.5))

    @cached_property
    def gradient(self) -> Any:
        """The metric's gradient, a tangent; one pass."""
        return self.point.gradient(self.problem.pull(self.slopes, self.images))

    @cached_property
    def gradient_norm(self) -> float:
        """The norm of the gradient in the metric."""
        return self.point.inner(self.gradient, self.gradient) ** 0.5

    def line(self, tangent: Any) -> Line:
        """The objective along the curve of a tangent; one pass, for all of its steps."""
        return Line(self, tangent)

    def apply(self, V: Matrix) -> Matrix:
        """M V = (Σ slope_i X_i) V; two passes."""
        return self.problem.pull(self.slopes, self.problem.image(V))

    def gauss_newton(self, tangent: Any) -> Any:
        """The Gauss-Newton operator on a tangent; two passes, one where the frame stands still."""
        _, speeds = self.velocities(tangent)
        return self.point.gradient(self.problem.pull(self.curved(speeds), self.images))

    def hessian(self, tangent: Any) -> Any:
        """The Hessian on a tangent, for straight geometries; two passes."""
        images, speeds = self.velocities(tangent)
        problem = self.problem
        problem.passes += 1
        pulled = problem.execution.map(
            lambda b, curved, XF, slopes, XT: b.features.pull(b.weigh(curved, XF) + b.weigh(slopes, XT)),
            problem.blocks,
            self.curved(speeds),
            self.images,
            self.slopes,
            images,
        )
        return self.point.gradient(sum_of(pulled))

    def velocities(self, tangent: Any, images: Sequence[Matrix | None] | None = None) -> tuple[Any, Any]:
        """Images of the frame's velocity, and the speeds d(prediction)/ds of every term, along a tangent."""
        point, problem = self.point, self.problem
        direction, dR = point.frame_velocity(tangent), point.root_velocity(tangent)
        if images is None:
            images = [None] * len(problem.blocks) if direction is None else problem.image(direction)

        def speeds(block: Block, XF: Matrix, XT: Matrix | None) -> list[Vector]:
            Z, velocity = point.image(XF), point.image_velocity(XF, XT, dR)
            return [term.measurement.along(Z, velocity)[0] for term in block.terms]

        return images, problem.execution.map(speeds, problem.blocks, self.images, images)

    def curved(self, speeds: Sequence[Sequence[Vector]]) -> list[list[Vector]]:
        """Curvature times speed, of every term."""
        return self.problem.execution.map(
            lambda block, predictions, speed: [
                t.curvature(p) * v for t, p, v in zip(block.terms, predictions, speed, strict=True)
            ],
            self.problem.blocks,
            self.predictions,
            speeds,
        )


class Line:
    """The objective along a curve. Making one costs one pass; trying and taking steps costs none.

    On a straight curve the predictions are a + b s + c s², so a trial is arithmetic on (m,) arrays; on a curved one
    it is a product of the (N, k) images with small matrices.
    """

    def __init__(self, start: Evaluation, tangent: Any) -> None:
        self.start = start
        self.tangent = tangent
        self.value = start.value
        self.slope = start.point.inner(start.gradient, tangent)
        self.curve: Curve = start.point.curve(tangent)
        self.limit = self.curve.limit
        problem, T = start.problem, self.curve.direction
        self.images = [None] * len(problem.blocks) if T is None else problem.image(T)
        self._trial: tuple[float, Evaluation] | None = None

    @property
    def straight(self) -> bool:
        """True if slope and curvature are known along the line."""
        return self.curve.straight

    @cached_property
    def polynomials(self) -> list[list[tuple[Vector, Vector, Vector]]]:
        """(a, b, c) of every term, on a straight line."""

        def coefficients(block: Block, predictions: Sequence[Vector], Z: Matrix, XT: Matrix) -> list[Any]:
            terms = zip(block.terms, predictions, strict=True)
            return [(a, *term.measurement.along(Z, XT)) for term, a in terms]

        start = self.start
        return start.problem.execution.map(
            coefficients, start.problem.blocks, start.predictions, start.images, self.images
        )

    def along(self, s: float) -> tuple[float, float, float]:
        """Value, slope and curvature at s, on a straight line."""

        def sums(block: Block, lines: Any) -> Any:
            terms = zip(block.terms, lines, strict=True)
            return np.sum([t.loss.along(x, t.target, t.sense, t.weight, s) for t, x in terms], axis=0)

        value, slope, curvature = sum_of(
            self.start.problem.execution.map(sums, self.start.problem.blocks, self.polynomials)
        )
        return float(value), float(slope), float(curvature)

    @cached_property
    def quartic(self) -> Vector | None:
        """The coefficients (5,) of the objective along the line, if it is one polynomial; else None."""

        def coefficients(block: Block, lines: Any) -> Any:
            terms = zip(block.terms, lines, strict=True)
            return [t.loss.quartic(x, t.target, t.sense, t.weight) for t, x in terms]

        if not self.straight:
            return None
        blocks = self.start.problem.execution.map(coefficients, self.start.problem.blocks, self.polynomials)
        parts = [part for block in blocks for part in block]
        return None if any(part is None for part in parts) else sum_of(parts)

    @cached_property
    def guess(self) -> float:
        """The step to the minimum of the Gauss-Newton model; where that is flat, one as long as the factor."""
        start = self.start
        _, speeds = start.velocities(self.tangent, self.images)
        curved = start.curved(speeds)
        bend = sum(float(np.vdot(a, b)) for x, y in zip(curved, speeds, strict=True) for a, b in zip(x, y, strict=True))
        if bend > 0 and np.isfinite(bend):
            return min(-self.slope / bend, self.limit)
        moved = float(np.linalg.norm(start.point.velocity(self.tangent)))
        return min(float(np.linalg.norm(start.point.G)) / moved, self.limit) if moved > 0 else 0.0

    def __call__(self, s: float) -> float:
        """The value at s; infinite or NaN where the step overflows."""
        if self.straight:
            quartic = self.quartic
            return self.along(s)[0] if quartic is None else float(np.polynomial.polynomial.polyval(s, quartic))
        return self.move(s).value

    def move(self, s: float) -> Evaluation:
        """The evaluation at s, its images carried along and not computed afresh."""
        if self._trial is None or self._trial[0] != s:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                self._trial = (s, self._move(s))
        return self._trial[1]

    def _move(self, s: float) -> Evaluation:
        start, curve = self.start, self.curve
        point = curve.point(s)
        images = start.problem.execution.map(lambda XF, XT: curve.carry(s, XF, XT), start.images, self.images)
        if self.straight:
            predictions = [[a + s * (b + s * c) for a, b, c in block] for block in self.polynomials]
        else:
            predictions = start.problem.predict([point.image(XF) for XF in images])
        return Evaluation(start.problem, point, images, predictions)
