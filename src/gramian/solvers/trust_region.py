"""Second order: truncated conjugate gradients on a quadratic model inside a trust region."""

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
    """The radius of the region, and the first gradient's norm, against which precision is measured."""

    radius: float
    first_norm: float


@dataclass(frozen=True)
class TrustRegion(Solver):
    """Minimises a quadratic model by Steihaug's conjugate gradients, then searches along the step it proposes.

    Parameters
    ----------
    model : {"gauss-newton", "newton"}
        Gauss-Newton works on every geometry. Newton's adds the curvature of the measurements, on straight geometries
        (flat, scaled); elsewhere it falls back on Gauss-Newton. Each inner iteration is two passes over the data.
    max_inner : int
        Inner iterations a step.
    precision : float
        The model's gradient is reduced to at least this share of its start, more as the minimum nears.
    search : callable

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
        """A region wide enough for the first step along the gradient and ten times more."""
        line = evaluation.line(-evaluation.gradient)
        return Memory(10 * line.guess * evaluation.gradient_norm, evaluation.gradient_norm)

    def step(self, evaluation: Evaluation, memory: Memory) -> Step:
        """One step and the next radius, wider or narrower as the model was right or wrong."""
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
        arrived = line.move(size)
        # The model at the size taken: at size 1 it foresees `decrease`, which gives its curvature.
        curvature = -2 * (decrease + line.slope)
        foreseen = -size * line.slope - 0.5 * size * size * curvature
        ratio = (evaluation.value - arrived.value) / foreseen if foreseen > 0 else 1.0
        length = size * point.inner(proposed, proposed) ** 0.5
        radius = memory.radius
        if ratio < 0.25:
            radius = 0.25 * length
        elif length > 0.8 * radius:
            radius = 2 * length
        return Step(arrived, size, memory._replace(radius=radius))


# A share of the largest curvature below which a direction counts as flat.
FLAT = 1e-10


def truncated_cg(
    point: Point,
    operator: Callable[[Any], Any],
    gradient: Any,
    radius: float,
    precision: float,
    max_inner: int,
) -> tuple[Any, float]:
    """A step that lowers <gradient, t> + ½ <t, operator t> inside the region, and by how much (Steihaug, 1983)."""
    step = 0 * gradient
    residual, direction = gradient, -gradient
    square = first = point.inner(gradient, gradient)
    decrease = steepest = 0.0
    for inner in range(max_inner):
        bent = operator(direction)
        bend = point.inner(direction, bent)
        rate = bend / point.inner(direction, direction)
        steepest = max(steepest, rate)
        # Flat or negative curvature, as along turns of the factor, which change nothing: what is found so far is good.
        if inner and rate <= FLAT * steepest:
            break
        inside = square / bend if bend > 0 else float("inf")
        border = to_border(point, step, direction, radius)
        size = min(inside, border)
        if bend > 0:
            decrease += size * square - 0.5 * size * size * bend
        else:
            decrease += size * square + 0.5 * size * size * -bend
        step = step + size * direction
        if size == border:
            break
        residual = residual + size * bent
        last, square = square, point.inner(residual, residual)
        if square <= precision**2 * first:
            break
        direction = (square / last) * direction - residual
    return step, decrease


def to_border(point: Point, step: Any, direction: Any, radius: float) -> float:
    """The s > 0 at which step + s · direction leaves the ball."""
    a, b = point.inner(direction, direction), point.inner(step, direction)
    c = point.inner(step, step) - radius**2
    return (-b + max(b * b - a * c, 0.0) ** 0.5) / a
