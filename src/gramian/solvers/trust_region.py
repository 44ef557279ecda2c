"""A trust-region method: truncated conjugate gradients on a quadratic model of the objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from gramian.checks import check_number
from gramian.geometries import Point
from gramian.objective import Evaluation
from gramian.solvers.line_search import Exact, Search
from gramian.solvers.solver import Solver, Step
from gramian.types import Tangent

__all__ = ["TrustRegion"]


class Memory(NamedTuple):
    """The radius of the trust region, the norm of the gradient at the start, and what the last step left of the cost.

    `left` is the cost after the step over the cost before it, in [0, 1]; 1 where costs are not positive.
    """

    radius: float
    first_norm: float
    left: float = 0.1


@dataclass(frozen=True)
class TrustRegion(Solver):
    """A trust-region method: it minimises a quadratic model by conjugate gradients, then searches along that step.

    Parameters
    ----------
    model : {"auto", "gauss-newton", "newton"}
        The Hessian of the quadratic model. On geometries with straight lines (flat, scaled), "newton" adds the
        curvature of the measurements to "gauss-newton"; "auto" does so after a step that lowered the cost by less than
        a fifth. On other geometries they are the same.
    max_inner : int
        The largest number of inner iterations per step. An inner iteration costs two passes over the data. They also
        end when they add little to the decrease of the model, the sooner the less the last step lowered the cost.
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

    model: str = "auto"
    max_inner: int = 100
    precision: float = 0.1
    search: Search = field(default_factory=Exact)
    start_phase = "choosing the radius"

    def __post_init__(self) -> None:
        if self.model not in ("auto", "gauss-newton", "newton"):
            raise ValueError(f"model={self.model!r} is unknown. Choose 'auto', 'gauss-newton' or 'newton'.")
        check_number("max_inner", self.max_inner, least=1, integer=True)
        check_number("precision", self.precision, least=0, strict=True, below=1)

    def start(self, evaluation: Evaluation) -> Memory:
        """Return a radius of ten times the Gauss-Newton step along the gradient, and the norm of the gradient."""
        scaled = evaluation.point.precondition(evaluation.gradient, evaluation.level)
        norm = evaluation.point.inner(evaluation.gradient, scaled) ** 0.5
        return Memory(10 * evaluation.line(-scaled).guess * norm, evaluation.gradient_norm)

    def step(self, evaluation: Evaluation, memory: Memory) -> Step:
        """Take one step; the new radius depends on the ratio of actual to predicted decrease."""
        point, norm = evaluation.point, evaluation.gradient_norm
        wanted = self.model == "newton" or (self.model == "auto" and memory.left > POOR)
        newton = wanted and point.curve(evaluation.gradient).straight
        operator = evaluation.hessian if newton else evaluation.gauss_newton
        stop = Stop(min(self.precision, norm / memory.first_norm), GAIN * memory.left, self.max_inner)
        precondition = partial(point.precondition, level=evaluation.level)
        radius = min(memory.radius, largest_radius(evaluation))
        proposed, length, decrease = truncated_cg(point, operator, precondition, evaluation.gradient, radius, stop)
        line = evaluation.line(proposed)
        size = self.search(line, None)
        if not size:
            return Step(evaluation, 0.0, memory)
        new_evaluation = line.take(size)
        # The model along the line: its slope is known, and its decrease at size 1 gives its curvature.
        curvature = -2 * (decrease + line.slope)
        predicted = -size * line.slope - 0.5 * size * size * curvature
        ratio = (evaluation.value - new_evaluation.value) / predicted if predicted > 0 else 1.0
        length = size * length
        if ratio < 0.25:
            radius = 0.25 * length
        elif length > 0.8 * radius:
            radius = 2 * length
        before, after = evaluation.value, new_evaluation.value
        left = min(after / before, 1.0) if before > 0 and after >= 0 else 1.0
        return Step(new_evaluation, size, memory._replace(radius=radius, left=left))


def largest_radius(evaluation: Evaluation) -> float:
    """Return the norm of a step along the preconditioned gradient that changes G by a fifth of ‖G‖.

    Longer steps follow directions that no measurement sees, as of a matrix of which few entries are known, to a valley
    of large W. The search along the line may still take several of these steps at once. There is no limit at G = 0, nor
    on curves that are not straight.
    """
    point, gradient = evaluation.point, evaluation.gradient
    if not point.curve(gradient).straight:
        return np.inf
    scaled = point.precondition(gradient, evaluation.level)
    change, size = float(np.linalg.norm(scaled)), float(np.linalg.norm(point.G))
    if not (0 < change < np.inf and 0 < size < np.inf):
        return np.inf
    return LONGEST * size / change * point.inner(gradient, scaled) ** 0.5


# A step changes G by at most this share of its norm, before the search along its line.
LONGEST = 0.2
# A direction is flat if its curvature is below this fraction of the largest curvature.
FLAT = 1e-10
# The k-th inner iteration is the last if it adds less than this share of the mean decrease of all k, where the last
# step hardly lowered the cost; where it lowered it much, a smaller share.
GAIN = 0.5
# A step that leaves more than this of the cost shows that the Gauss-Newton model is poor.
POOR = 0.8


class Stop(NamedTuple):
    """When the inner iterations end.

    Attributes
    ----------
    precision : float
        When the norm of the residual is at most this fraction of the norm of the gradient.
    gain : float
        When the last of k iterations adds at most this share of the mean decrease of all k.
    max_inner : int
        The largest number of iterations.
    """

    precision: float
    gain: float
    max_inner: int


def truncated_cg(
    point: Point,
    operator: Callable[[Tangent], Tangent],
    precondition: Callable[[Tangent], Tangent],
    gradient: Tangent,
    radius: float,
    stop: Stop,
) -> Proposal:
    """Return a tangent t that lowers the model <gradient, t> + ½ <t, operator t>, with its length and decrease.

    These are the preconditioned conjugate gradients of Steihaug (1983), which stop at the border of the region
    ‖t‖ <= radius. Norms of steps are those of the inverse of the preconditioner. The iterations also stop if the last
    one added little to the decrease of the model (Nash and Sofer, 1990).

    Parameters
    ----------
    point : Point
        Its metric gives inner products.
    operator : callable
        The Hessian of the model, from tangent to tangent.
    precondition : callable
        An approximate inverse of the operator.
    gradient : array
        The gradient of the objective, a tangent.
    radius : float
        The radius of the trust region.
    stop : Stop
        When the iterations end.
    """
    step = 0 * gradient
    residual, scaled = gradient, precondition(gradient)
    direction = -scaled
    square = first = point.inner(residual, scaled)
    region = Region(radius, 0.0, 0.0, square)
    decrease = largest = 0.0
    for inner in range(stop.max_inner):
        product = operator(direction)
        curvature = point.inner(direction, product)
        rayleigh = curvature / region.dd
        largest = max(largest, rayleigh)
        # Flat or negative curvature, for example along rotations G O of the factor, which do not change W.
        if inner and rayleigh <= FLAT * largest:
            break
        inside = square / curvature if curvature > 0 else float("inf")
        border = region.border()
        size = min(inside, border)
        gain = size * square - 0.5 * size * size * curvature
        decrease += gain
        step = step + size * direction
        residual = residual + size * product
        scaled = precondition(residual)
        last, square = square, point.inner(residual, scaled)
        region = region.move(size, square / last, square)
        little = (inner + 1) * gain <= stop.gain * decrease
        if size == border or square <= stop.precision * stop.precision * first or little:
            break
        direction = (square / last) * direction - scaled
    return Proposal(step, region.ss**0.5, decrease)


class Proposal(NamedTuple):
    """A step, its length, and the decrease of the model."""

    step: Tangent
    length: float
    decrease: float


class Region(NamedTuple):
    """The region ‖t‖ <= radius, with <s, s>, <s, d> and <d, d> of the step s so far and of the next direction d.

    The products are those of the inverse of the preconditioner, which is not known: they follow from recurrences.
    """

    radius: float
    ss: float
    sd: float
    dd: float

    def border(self) -> float:
        """Return the a > 0 for which ‖s + a d‖ = radius."""
        c = self.ss - self.radius**2
        return (-self.sd + max(self.sd**2 - self.dd * c, 0.0) ** 0.5) / self.dd

    def move(self, size: float, beta: float, square: float) -> Region:
        """Return the region after the step s + size · d, whose next direction is β d - z with <z, z> = square."""
        ss = self.ss + size * (2 * self.sd + size * self.dd)
        sd = beta * (self.sd + size * self.dd)
        return Region(self.radius, max(ss, 0.0), sd, square + beta * beta * self.dd)
