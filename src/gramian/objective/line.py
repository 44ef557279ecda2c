"""The objective along a curve."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.geometries import Curve
from gramian.objective.terms import Block, sum_of
from gramian.types import Vector

if TYPE_CHECKING:
    from gramian.objective.evaluation import Evaluation

__all__ = ["Line"]


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
        self.run = start.problem.execution.map
        self.limit = self.curve.limit
        self.images = start.image_of(self.curve.direction)
        self._trial: tuple[float, Evaluation] | None = None

    @property
    def straight(self) -> bool:
        """True if slope and curvature are known along the line."""
        return self.curve.straight

    @cached_property
    def lines(self) -> list[Any]:
        """What every term knows along the line, if it is straight."""
        start = self.start
        return self.run(Block.line, start.problem.pieces, start.predictions, start.images, self.images)

    def along(self, s: float) -> tuple[float, float, float]:
        """Value, slope and curvature at s, on a straight line."""
        sums = self.run(lambda block, lines: block.along(lines, s), self.start.problem.pieces, self.lines)
        value, slope, curvature = sum_of(sums)
        return float(value), float(slope), float(curvature)

    @cached_property
    def quartic(self) -> Vector | None:
        """The coefficients (5,) of the objective along the line, if it is one polynomial; else None."""
        if not self.straight:
            return None
        parts = [q for qs in self.run(Block.quartic, self.start.problem.pieces, self.lines) for q in qs]
        return None if any(part is None for part in parts) else sum_of(parts)

    @cached_property
    def guess(self) -> float:
        """The step to the minimum of the Gauss-Newton model; where that is flat, one as long as the factor."""
        start = self.start
        _, bend = start.curvature(self.tangent, self.images)
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
        start, curve, run = self.start, self.curve, self.run
        point = curve.point(s)
        if self.straight:
            predictions = run(lambda block, lines: block.moved(lines, s), start.problem.pieces, self.lines)
            images = lambda: run(lambda XF, XT: curve.blend(s, XF, XT), start.images, self.images)  # noqa: E731
            return type(start)(start.problem, point, images, predictions)
        blends, Q = run(lambda XF, XT: curve.blend(s, XF, XT), start.images, self.images), curve.normaliser(s)
        C = Q if point.root is None else point.root if Q is None else Q @ point.root
        predictions = start.problem.predict([Y if C is None else Y @ C for Y in blends])
        return type(start)(start.problem, point, lambda: [Y if Q is None else Y @ Q for Y in blends], predictions)
