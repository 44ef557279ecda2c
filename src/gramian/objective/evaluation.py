"""The objective at a point."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.checks import FLOATS, as_real
from gramian.execution import Shards
from gramian.geometries import Point
from gramian.objective import block
from gramian.objective.block import Outlook, Totals
from gramian.objective.line import Line
from gramian.types import Matrix, Tangent

if TYPE_CHECKING:
    from gramian.objective.problem import Problem

__all__ = ["Evaluation"]


class Evaluation:
    """The objective at one point: everything known there, computed when first asked for.

    Images, predictions and slopes stay beside the data, in `states`.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Array
    >>> from gramian.geometries import Flat
    >>> from gramian.measurements import Each
    >>> problem = Problem([Block(Array(np.eye(2)), [Term(Each(2), np.array([4.0, 0.0]))])])
    >>> evaluation = problem.evaluate(Flat().point(np.array([[1.0], [0.0]])))
    >>> evaluation.value, evaluation.gradient.ravel()  # ½ · mean of (1 - 4)² and 0
    (2.25, array([-3.,  0.]))
    """

    def __init__(
        self, problem: Problem, point: Point, states: Shards, totals: Totals, normaliser: Matrix | None = None
    ) -> None:
        self.problem = problem
        self._states, self._normaliser = states, normaliser
        self.value = totals.value
        # Rounding in the predictions changes the value by this much: no line search can see less.
        self.noise = float(np.finfo(problem.dtype).eps) * totals.scale
        # Only a metric that is regularised depends on the level.
        self.point = point if type(point).damped is Point.damped else point.damped(self.level)

    @property
    def level(self) -> float:
        """√(f/f(0)) in [0, 1]: how far from a perfect fit, without units.

        It is 1 if W = 0 fits perfectly and this point does not.
        """
        zero = self.problem.value_at_zero
        if not (zero >= 0 and self.value > 0):
            return 0.0
        if zero == 0:
            return 1.0
        return float(min(1.0, (self.value / zero) ** 0.5))

    @property
    def states(self) -> Shards:
        """The states beside the blocks. Images are normalised when first needed, which is never for rejected steps."""
        if self._normaliser is not None:
            self._states, _ = self.problem.run(block.normalise, self._states, Q=self._normaliser)
            self._normaliser = None
        return self._states

    @cached_property
    def pulled(self) -> Matrix:
        """The sum M F, shape (d, k), that the gradient is made of; one pass."""
        return self.problem.run(block.pull, self.states, passes=1)[1]

    @cached_property
    def gradient(self) -> Tangent:
        """The metric's gradient; one pass. Where it overflows it is not finite, which solvers see."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.point.gradient(self.pulled)

    def slope(self, tangent: Tangent) -> float:
        """Return the derivative of the objective along a tangent: its inner product with the gradient."""
        return self.point.slope(self.gradient, self.pulled, tangent)

    @cached_property
    def gradient_square(self) -> float:
        """The squared norm of the gradient in the metric."""
        return max(self.slope(self.gradient), 0.0)

    @property
    def gradient_norm(self) -> float:
        """The norm of the gradient in the metric."""
        return self.gradient_square**0.5

    def line(self, tangent: Tangent) -> Line:
        """Return the objective along the curve of a tangent; one pass, for all of its steps."""
        tangent = validate_tangent(tangent, self.gradient)
        try:
            return Line(self, tangent)
        except np.linalg.LinAlgError as error:
            words = (
                "the curve along the tangent cannot be computed: the tangent or the point is too large, or not finite"
            )
            raise np.linalg.LinAlgError(f"{words} ({error}).") from error

    def apply(self, V: Matrix) -> Matrix:
        """Return M V = (Σ slope_i X_i) V; two passes."""
        return self.problem.run(block.pull_product, self.states, passes=2, V=V)[1]

    def gauss_newton(self, tangent: Tangent) -> Tangent:
        """Return the Gauss-Newton operator applied to a tangent; two passes, one where the frame stands still."""
        tangent = validate_tangent(tangent, vars(self).get("gradient"))
        ahead, _ = self.prepare(self.point.frame_velocity(tangent))
        weights, _ = self.curvature(tangent, ahead)
        return self.point.gradient(self.problem.run(block.pull_weights, weights, self.states, passes=1)[1])

    def hessian(self, tangent: Tangent) -> Tangent:
        """Return the Hessian applied to a tangent, for straight geometries; two passes.

        On other geometries a ValueError is raised: there the curvature of the curve would be missing.
        """
        tangent = validate_tangent(tangent, vars(self).get("gradient"))
        if not self.point.curve(tangent).straight:
            name = self.point.geometry_name or type(self.point).__name__
            raise ValueError(f"the Hessian on {name} is not available: its curves are not straight. Use gauss_newton.")
        ahead, _ = self.prepare(self.point.frame_velocity(tangent))
        weights, _ = self.curvature(tangent, ahead)
        return self.point.gradient(self.problem.run(block.pull_hessian, weights, self.states, ahead, passes=1)[1])

    def prepare(self, direction: Matrix | None, *, straight: bool = False) -> tuple[Shards, Outlook | None]:
        """Return what is held along a direction, and what is known of the objective there, if straight; one pass."""
        passes = 0 if direction is None else 1
        return self.problem.run(block.prepare, self.states, passes=passes, direction=direction, straight=straight)

    def curvature(self, tangent: Tangent, ahead: Shards) -> tuple[Shards, float]:
        """Return the weights of the Gauss-Newton operator along a tangent, and its quadratic form."""
        root, velocity = self.point.root, self.point.root_velocity(tangent)
        return self.problem.run(block.curvature, self.states, ahead, root=root, root_velocity=velocity)


def validate_tangent(tangent: Any, gradient: Tangent | None) -> Tangent:
    """Return a tangent as an array like the gradient, another tangent of the point, if that is known already."""
    if type(tangent) is not np.ndarray or tangent.dtype not in FLOATS:
        tangent = as_real("the tangent", tangent)
    if gradient is None:
        return tangent
    if tangent.shape != gradient.shape:
        raise ValueError(f"the tangent has shape {tangent.shape}; expected {gradient.shape}, that of the gradient.")
    return tangent.astype(gradient.dtype, copy=False)
