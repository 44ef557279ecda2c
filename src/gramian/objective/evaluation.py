"""The objective at a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.geometries import Point
from gramian.objective.line import Line
from gramian.objective.terms import Block, sum_of
from gramian.types import Matrix

if TYPE_CHECKING:
    from gramian.objective.problem import Problem

__all__ = ["Evaluation"]


class Evaluation:
    """The objective at one point: everything known there, computed when first asked for."""

    def __init__(
        self,
        problem: Problem,
        point: Point,
        images: Callable[[], Sequence[Matrix]],
        predictions: Sequence[Sequence[Any]],
    ) -> None:
        self.problem = problem
        self._images = images
        self.predictions = predictions
        judged = problem.execution.map(Block.judge, problem.pieces, predictions)
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
    def images(self) -> Sequence[Matrix]:
        """Images X F of the frame, block by block; trial steps that are not taken never need them."""
        images = self._images()
        # What they were made of, the evaluation before, is let go.
        del self._images
        return images

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
        weights, _ = self.curvature(tangent, self.image_of(self.point.frame_velocity(tangent)))
        return self.point.gradient(self.problem.pull(weights, self.images))

    def hessian(self, tangent: Any) -> Any:
        """The Hessian on a tangent, for straight geometries; two passes."""
        images = self.image_of(self.point.frame_velocity(tangent))
        weights, _ = self.curvature(tangent, images)
        problem = self.problem
        problem.passes += 1
        pulled = problem.execution.map(
            lambda b, bent, XF, slopes, XT: b.features.pull(b.weigh(bent, XF) + b.weigh(slopes, XT)),
            problem.pieces,
            weights,
            self.images,
            self.slopes,
            images,
        )
        return self.point.gradient(sum_of(pulled))

    def image_of(self, direction: Matrix | None) -> Sequence[Matrix | None]:
        """Images of a direction; one pass, none where there is no direction."""
        return [None] * len(self.problem.pieces) if direction is None else self.problem.image(direction)

    def curvature(self, tangent: Any, images: Sequence[Matrix | None]) -> tuple[list[Any], float]:
        """Weights of the Gauss-Newton operator along a tangent, and its quadratic form; images of the direction."""
        point = self.point
        dR = point.root_velocity(tangent)
        parts = self.problem.execution.map(
            lambda block, predictions, XF, XT: block.gauss_newton(
                predictions, point.image(XF), point.image_velocity(XF, XT, dR)
            ),
            self.problem.pieces,
            self.predictions,
            self.images,
            images,
        )
        return [weights for weights, _ in parts], sum(form for _, form in parts)
