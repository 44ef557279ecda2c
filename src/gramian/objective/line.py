"""The objective along a curve."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gramian.geometries import Curve
from gramian.losses.loss import Derivatives
from gramian.objective import block
from gramian.objective.block import Totals
from gramian.types import Tangent

if TYPE_CHECKING:
    from gramian.objective.evaluation import Evaluation

__all__ = ["Line"]

#: A first step that is longer than the factor by more than this says only that the curvature vanishes.
FARTHEST = 1e6


class Trial(NamedTuple):
    """A step along a line, and the evaluation there."""

    s: float
    evaluation: Evaluation


class Line:
    """The objective along a curve. Making one costs one pass; trying and taking steps costs none but the gradient's.

    On a straight curve the predictions are a + b s + c s², so a trial is arithmetic on (m,) arrays; on a curved one
    it is a product of the (N, k) images with small matrices. A curve without a `motion` costs one pass a trial.

    Attributes
    ----------
    start : Evaluation
    value, slope : float
        The objective and its derivative at s = 0.
    curve : Curve
    straight : bool
        True if slope and curvature are known along the line.
    limit : float
        The longest step.
    quartic : array, shape (5,), or None
        The objective as a polynomial in s, constant first, if it is one.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Array
    >>> from gramian.geometries import Flat
    >>> from gramian.measurements import Each
    >>> problem = Problem([Block(Array(np.eye(2)), [Term(Each(2), np.array([4.0, 0.0]))])])
    >>> evaluation = problem.evaluate(Flat().point(np.array([[1.0], [0.0]])))
    >>> line = evaluation.line(np.array([[1.0], [0.0]]))
    >>> line(1.0), line.slope  # the factor (2, 0) fits both targets
    (0.0, -3.0)
    """

    def __init__(self, start: Evaluation, tangent: Tangent) -> None:
        self.start = start
        self.tangent = tangent
        self.value = start.value
        self.slope = start.slope(tangent)
        self.curve: Curve = start.point.curve(tangent)
        self.straight, self.limit = self.curve.straight, self.curve.limit
        # A curve that names no direction still has a velocity, which the Gauss-Newton model needs.
        direction = self.curve.direction
        direction = start.point.frame_velocity(tangent) if direction is None else direction
        self.ahead, outlook = start.prepare(direction, straight=self.straight)
        self.quartic = None if outlook is None else outlook.quartic
        self._at_start = None if outlook is None else outlook.start
        self._trial: Trial | None = None

    @property
    def costly(self) -> bool:
        """True if a trial step costs as much as an evaluation, apart from passes over the data."""
        return any(term.costly for block in self.start.problem.blocks for term in block.terms)

    def along(self, s: float) -> Derivatives:
        """Return value, slope and curvature at s, on a straight line."""
        if s == 0 and self._at_start is not None:
            return Derivatives(*(float(total) for total in self._at_start))
        return Derivatives(*(float(total) for total in self.start.problem.run(block.along, self.ahead, s=s)[1]))

    def slope_at(self, s: float) -> float:
        """Return the derivative at s, on a straight line, from the slopes of the evaluation there."""
        return self.start.problem.run(block.slope, self.move(s).states, self.ahead)[1]

    @cached_property
    def guess(self) -> float:
        """The step to the minimum of the Gauss-Newton model; where that is flat, one as long as the factor."""
        _, bend = self.start.curvature(self.tangent, self.ahead)
        return min(self.newton_step(self.slope, bend), self.limit)

    def newton_step(self, slope: float, curvature: float) -> float:
        """Return the step -slope/curvature; one as long as the factor if the curvature is not positive, or vanishes.

        The logistic loss far from its target has a curvature that may be 1e-100; no search returns from such a step.
        """
        step = -slope / curvature if curvature > 0 and np.isfinite(curvature) else np.inf
        trusted = np.isfinite(step) and (self.reach == 0 or step <= FARTHEST * self.reach)
        return step if trusted else self.reach

    @cached_property
    def reach(self) -> float:
        """The step that is as long as the factor; 0 if the factor does not move."""
        moved = float(np.linalg.norm(self.start.point.velocity(self.tangent)))
        return float(np.linalg.norm(self.start.point.G)) / moved if moved > 0 else 0.0

    def __call__(self, s: float) -> float:
        """Return the value at s; infinite or NaN where the step overflows."""
        if self.straight:
            quartic = self.quartic
            return self.along(s).value if quartic is None else float(np.polynomial.polynomial.polyval(s, quartic))
        return self.move(s).value

    def move(self, s: float) -> Evaluation:
        """Return the evaluation at s, its images carried along and not computed afresh.

        Where the curve cannot be followed to s, it is the evaluation at the start with an infinite value.
        """
        if self._trial is None or self._trial.s != s:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                self._trial = Trial(s, self._move(s))
        return self._trial.evaluation

    def take(self, s: float) -> Evaluation:
        """Return the evaluation at s, the step that is taken, with its gradient: one pass.

        On a straight curve this is one call of the execution, unless the step was tried by `move`.
        """
        tried = self._trial is not None and self._trial.s == s
        if tried or not self.straight:
            return self.move(s)
        start = self.start
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            point, motion = self.curve.point(s), self.curve.motion(s)
            states, arrival = start.problem.run(block.arrive, start.states, self.ahead, passes=1, motion=motion, s=s)
            evaluation = type(start)(start.problem, point, states, Totals(arrival.value, arrival.scale))
            evaluation.pulled = arrival.pulled
            evaluation.gradient = evaluation.point.gradient(arrival.pulled)
        self._trial = Trial(s, evaluation)
        return evaluation

    def _move(self, s: float) -> Evaluation:
        problem = self.start.problem
        try:
            point, motion = self.curve.point(s), self.curve.motion(s)
        except (np.linalg.LinAlgError, ArithmeticError):
            return type(self.start)(problem, self.start.point, self.start.states, Totals(np.inf, 0.0))
        if motion is None:
            return problem.evaluate(point)
        states, totals = problem.run(block.move, self.start.states, self.ahead, motion=motion, s=s)
        return type(self.start)(problem, point, states, totals, motion.normaliser)
