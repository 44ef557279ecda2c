"""A trust-region method: truncated conjugate gradients on a quadratic model of the objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gramian.checks import checked_number
from gramian.geometries import Point
from gramian.objective import Evaluation
from gramian.solvers.line_search import Exact, Search
from gramian.solvers.solver import Solver, Step

__all__ = ["TrustRegion"]


class Memory(NamedTuple):
    """The radius of the trust region, and the norm of the gradient at the start."""

    radius: float
    first_norm: float


@dataclass(frozen=True)
class TrustRegion(Solver):
    """A trust-region method: it minimises a quadratic model by conjugate gradients, then searches along that step.

    Parameters
    ----------
    model : {"gauss-newton", "newton"}
        The Hessian of the quadratic model. On geometries with straight lines (flat, scaled), "newton" adds the
        curvature of the measurements to "gauss-newton". On other geometries they are the same.
    max_inner : int
        The largest number of inner iterations per step. An inner iteration costs two passes over the data.
    precision : float
        The inner iterations stop when the gradient of the model is at most this fraction of its initial norm. The
        fraction decreases as the minimum is approached.
    search : callable
        The line search along the step; `Exact()` by default.

    Examples
    --------
    >>> from gramian.solvers import TrustRegion
    >>> TrustRegion(model="newton").max_inner
    100
    """

    model: str = "gauss-newton"
    max_inner: int = 100
    precision: float = 0.1
    search: Search = field(default_factory=Exact)

    def __post_init__(self) -> None:
        if self.model not in ("gauss-newton", "newton"):
            raise ValueError(f"model={self.model!r} is unknown. Choose 'gauss-newton' or 'newton'.")
        checked_number("max_inner", self.max_inner, least=1, integer=True)
        checked_number("precision", self.precision, least=0, strict=True, below=1)

    def start(self, evaluation: Evaluation) -> Memory:
        """Return a radius of ten times the Gauss-Newton step along the gradient, and the norm of the gradient."""
        line = evaluation.line(-evaluation.gradient)
        return Memory(10 * line.guess * evaluation.gradient_norm, evaluation.gradient_norm)

    def step(self, evaluation: Evaluation, memory: Memory) -> Step:
        """Take one step; the new radius depends on the ratio of actual to predicted decrease."""
        point, norm = evaluation.point, evaluation.gradient_norm
        newton = self.model == "newton" and point.curve(evaluation.gradient).straight
        operator = evaluation.hessian if newton else evaluation.gauss_newton
        precision = min(self.precision, norm / memory.first_norm)
        proposed, decrease = truncated_cg(
            point, operator, evaluation.gradient, memory.radius, precision, self.max_inner
        )
        line = evaluation.line(proposed)
        size = self.search(line, None)
        if not size:
            return Step(evaluation, 0.0, memory)
        new_evaluation = line.move(size)
        # The model along the line: its slope is known, and its decrease at size 1 gives its curvature.
        curvature = -2 * (decrease + line.slope)
        predicted = -size * line.slope - 0.5 * size * size * curvature
        ratio = (evaluation.value - new_evaluation.value) / predicted if predicted > 0 else 1.0
        length = size * point.inner(proposed, proposed) ** 0.5
        radius = memory.radius
        if ratio < 0.25:
            radius = 0.25 * length
        elif length > 0.8 * radius:
            radius = 2 * length
        return Step(new_evaluation, size, memory._replace(radius=radius))


# A direction is flat if its curvature is below this fraction of the largest curvature.
FLAT = 1e-10


def truncated_cg(
    point: Point,
    operator: Callable[[Any], Any],
    gradient: Any,
    radius: float,
    precision: float,
    max_inner: int,
) -> tuple[Any, float]:
    """Return a tangent t that lowers the model <gradient, t> + ½ <t, operator t>, and the decrease of the model.

    These are the conjugate gradients of Steihaug (1983), which stop at the border of the region ‖t‖ <= radius.

    Parameters
    ----------
    point : Point
        Its metric gives inner products and norms.
    operator : callable
        The Hessian of the model, from tangent to tangent.
    gradient : array
        The gradient of the objective, a tangent.
    radius : float
        The radius of the trust region.
    precision : float
        Stop when the norm of the residual is at most this fraction of the norm of the gradient.
    max_inner : int
        The largest number of iterations.
    """
    step = 0 * gradient
    residual, direction = gradient, -gradient
    square = first = point.inner(gradient, gradient)
    decrease = largest = 0.0
    for inner in range(max_inner):
        product = operator(direction)
        curvature = point.inner(direction, product)
        rayleigh = curvature / point.inner(direction, direction)
        largest = max(largest, rayleigh)
        # Flat or negative curvature, for example along rotations G O of the factor, which do not change W.
        if inner and rayleigh <= FLAT * largest:
            break
        inside = square / curvature if curvature > 0 else float("inf")
        border = step_to_border(point, step, direction, radius)
        size = min(inside, border)
        if curvature > 0:
            decrease += size * square - 0.5 * size * size * curvature
        else:
            decrease += size * square + 0.5 * size * size * -curvature
        step = step + size * direction
        if size == border:
            break
        residual = residual + size * product
        last, square = square, point.inner(residual, residual)
        if square <= precision * precision * first:
            break
        direction = (square / last) * direction - residual
    return step, decrease


def step_to_border(point: Point, step: Any, direction: Any, radius: float) -> float:
    """Return the s > 0 for which ‖step + s · direction‖ = radius."""
    a, b = point.inner(direction, direction), point.inner(step, direction)
    c = point.inner(step, step) - radius * radius
    return (-b + max(b * b - a * c, 0.0) ** 0.5) / a
