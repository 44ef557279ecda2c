"""Line searches: from a `Line` to a step. None of them touches the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gramian.checks import checked_number
from gramian.objective import Line
from gramian.types import Vector

__all__ = ["Armijo", "Exact", "Search"]


class Search(Protocol):
    """Chooses a step along a descent direction."""

    def __call__(self, line: Line, previous: float | None) -> float:
        """The step, given the one before (None at first); 0 where no step lowers the value."""


@dataclass(frozen=True)
class Armijo:
    """Backtracking until f(s) <= f + decrease · s · f', the paper's rule with its sign mended.

    Parameters
    ----------
    decrease : float
        The share of the predicted decrease that is asked for; the paper's c.
    shrink : float
        The factor between trials.
    initial : float or None
        The first trial is initial/‖gradient‖ (the paper's s₀). It has units, so that the path depends on those of
        the data; None starts at the minimum of the Gauss-Newton model instead, which has none.
    growth : float or None
        Later searches start at growth times the last accepted step; None starts each afresh, as the paper does, at
        the cost of some 20 trials an iteration.

    Examples
    --------
    >>> from gramian.solvers import Armijo, GradientDescent
    >>> GradientDescent(search=Armijo(growth=None))  # the paper to the letter
    GradientDescent(search=Armijo(decrease=0.5, shrink=0.5, initial=100.0, growth=None, max_trials=100))
    """

    decrease: float = 0.5
    shrink: float = 0.5
    initial: float | None = 100.0
    growth: float | None = 4.0
    max_trials: int = 100

    def __post_init__(self) -> None:
        checked_number("decrease", self.decrease, least=0, strict=True, below=1)
        checked_number("shrink", self.shrink, least=0, strict=True, below=1)
        checked_number("max_trials", self.max_trials, least=1, integer=True)
        for name, value in (("initial", self.initial), ("growth", self.growth)):
            if value is not None:
                checked_number(name, value, least=0, strict=True)

    def __call__(self, line: Line, previous: float | None) -> float:
        """The first step that passes."""
        s = self.first(line, previous)
        for _ in range(self.max_trials):
            # Steps beyond the limit count as rejected: those tried stay on the grid of halvings.
            if s <= line.limit and line(s) <= line.value + self.decrease * s * line.slope + line.start.noise:
                return s
            s *= self.shrink
        return 0.0

    def first(self, line: Line, previous: float | None) -> float:
        """The step to try first."""
        if previous and self.growth is not None:
            return self.growth * previous
        if self.initial is None:
            return line.guess
        return self.initial / max(line.start.gradient_norm, float(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Exact:
    """The minimum along the line where predictions are polynomials in s; a careful interpolation elsewhere.

    On flat and scaled geometries: by the roots of a cubic where the objective is one quartic (squared loss,
    equalities), else by a safeguarded Newton iteration on value, slope and curvature. On curved geometries:
    the Gauss-Newton step, improved by quadratic interpolation.

    Parameters
    ----------
    tol : float
        The share of the initial slope that may remain.
    max_trials : int

    Examples
    --------
    >>> from gramian.solvers import Exact
    >>> Exact(tol=1e-6)
    Exact(tol=1e-06, max_trials=60)
    """

    tol: float = 1e-2
    max_trials: int = 60

    def __post_init__(self) -> None:
        checked_number("tol", self.tol, least=0, strict=True)
        checked_number("max_trials", self.max_trials, least=1, integer=True)

    def __call__(self, line: Line, previous: float | None) -> float:
        """The step; where rounding makes it no better than none, halvings of it."""
        if not line.straight:
            return interpolated(line, previous, self.max_trials)
        if line.quartic is None:
            return self.newton(line)
        s = lowest(line.quartic)
        for _ in range(self.max_trials):
            if line(s) <= line.value + line.start.noise:
                return s
            s *= 0.5
        return 0.0

    def newton(self, line: Line) -> float:
        """A root of the slope, by Newton's iteration kept inside a bracket; the best step seen, 0 if none is better."""
        low, high = 0.0, np.inf
        best, best_value = 0.0, line.value + line.start.noise
        _, slope, curvature = line.along(0.0)
        s = -slope / curvature if curvature > 0 else line.guess
        for _ in range(self.max_trials):
            value, slope, curvature = line.along(s)
            if not np.isfinite(value):
                high, s = s, 0.5 * (low + s)
                continue
            if value <= best_value:
                best, best_value = s, value
            if abs(slope) <= self.tol * abs(line.slope):
                break
            low, high = (s, high) if slope < 0 else (low, s)
            proposed = s - slope / curvature if curvature > 0 else np.nan
            fallback = 4 * s if np.isinf(high) else 0.5 * (low + high)
            s = proposed if low < proposed < min(high, 10 * s) else fallback
        return best


def lowest(quartic: Vector) -> float:
    """The s > 0 at which a quartic, given constant first, is least; 0 if it rises from the start."""
    _, q1, q2, q3, q4 = (float(q) for q in quartic)
    if not q1 < 0 or not np.isfinite(quartic).all():
        return 0.0
    # In units of the step to the quadratic's or the quartic's own minimum, so that no power of s overflows.
    unit = -q1 / (2 * q2) if q2 > 0 else (-q1 / (4 * q4)) ** (1 / 3) if q4 > 0 else 0.0
    if not 0 < unit < np.inf:
        return 0.0
    slope = np.array([4 * q4 * unit**3, 3 * q3 * unit**2, 2 * q2 * unit, q1])
    roots = np.roots(slope / abs(q1))
    real = roots[np.abs(roots.imag) <= 1e-8 * np.abs(roots)].real * unit
    candidates = real[real > 0]
    if not candidates.size:
        return 0.0
    values = np.polynomial.polynomial.polyval(candidates, quartic)
    return float(candidates[np.argmin(values)])


def interpolated(line: Line, previous: float | None, max_trials: int, decrease: float = 1e-4) -> float:
    """A step that lowers the value, near the minimum of parabolas through what is known."""
    s = min(previous, line.limit) if previous else line.guess
    for trial in range(max_trials):
        value = line(s)
        excess = value - line.value - s * line.slope
        bottom = -line.slope * s * s / (2 * excess) if np.isfinite(value) and excess > 0 else np.nan
        if value <= line.value + decrease * s * line.slope + line.start.noise:
            # A step well off the parabola's bottom is worth one more trial; images make it cheap.
            better = min(5 * s if np.isnan(bottom) else float(np.clip(bottom, s / 10, 5 * s)), line.limit)
            if trial == 0 and not 0.5 * s <= better <= 2 * s and line(better) < value:
                return better
            return s
        s *= 0.25 if np.isnan(bottom) else float(np.clip(bottom / s, 0.1, 0.5))
    return 0.0
