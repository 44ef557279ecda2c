"""Line searches: functions that choose a step along a `Line`. None of them reads the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from gramian.checks import check_number
from gramian.objective import Line
from gramian.types import Vector

__all__ = ["Armijo", "Exact", "Search", "Wolfe"]

# Minima whose values differ by less than this share of the decrease are equal to rounding.
TIED = 1e-9
# The fraction of the predicted decrease that a step must reach, and the largest number of costly trials in a search.
DECREASE, COSTLY_TRIALS = 1e-4, 20


class Search(Protocol):
    """The interface of a line search."""

    def __call__(self, line: Line, previous: float | None) -> float:
        """Return the step size, or 0 if no step lowers the objective.

        Parameters
        ----------
        line : Line
            The objective along a descent direction.
        previous : float or None
            A first trial step, based on the last step taken; None if there is none.
        """


@dataclass(frozen=True)
class Armijo:
    """Backtracking until f(s) <= f(0) + decrease · s · f'(0). This is the paper's rule, with its sign corrected.

    Parameters
    ----------
    decrease : float
        The fraction of the predicted decrease that a step must reach; the paper's c.
    shrink : float
        The ratio of two successive trial steps.
    initial : float or None
        The first trial step is initial/‖gradient‖ (the paper's s₀). Since `initial` has units, the iterates depend on
        the units of the data. None starts at the minimum of the Gauss-Newton model instead, which has no units.
    growth : float or None
        Later searches start at growth times the last accepted step. With None, as in the paper, every search starts
        like the first, which costs some 20 trials per iteration.
    max_trials : int
        The largest number of trials in a search.

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
        check_number("decrease", self.decrease, least=0, strict=True, below=1)
        check_number("shrink", self.shrink, least=0, strict=True, below=1)
        check_number("max_trials", self.max_trials, least=1, integer=True)
        for name, value in (("initial", self.initial), ("growth", self.growth)):
            if value is not None:
                check_number(name, value, least=0, strict=True)

    def __call__(self, line: Line, previous: float | None) -> float:
        """Return the first trial step that satisfies the rule; 0 if none of max_trials does."""
        s = self.first_trial(line, previous)
        for _ in range(self.max_trials):
            # A step beyond the limit is rejected and not cut to it: all trials are the first times a power of shrink.
            if s <= line.limit and line(s) <= line.value + self.decrease * s * line.slope + line.start.noise:
                return s
            s *= self.shrink
        return 0.0

    def first_trial(self, line: Line, previous: float | None) -> float:
        """Return the first trial step."""
        if previous and self.growth is not None:
            return self.growth * previous
        if self.initial is None:
            return line.guess
        return self.initial / max(line.start.gradient_norm, float(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Exact:
    """The minimum along a straight line, or a step by quadratic interpolation along a curve.

    On flat and scaled geometries predictions are polynomials in s. If the objective is a quartic in s (squared loss,
    equalities), its minimum is found from the roots of a cubic, else by a safeguarded Newton iteration; if trials are
    costly, as with neighbourhoods, by `Wolfe`, which is not exact. On curved geometries the search starts at the
    Gauss-Newton step and improves it by quadratic interpolation.

    Parameters
    ----------
    tol : float
        The Newton iteration ends when the slope is at most this fraction of the slope at 0.
    max_trials : int
        The largest number of trials in a search.
    flatness : float
        The flatness of `Wolfe`, which replaces this search where trials are costly.

    Examples
    --------
    >>> from gramian.solvers import Exact
    >>> Exact(tol=1e-6)
    Exact(tol=1e-06, max_trials=60, flatness=0.4)
    """

    tol: float = 1e-2
    max_trials: int = 60
    flatness: float = 0.4

    def __post_init__(self) -> None:
        check_number("tol", self.tol, least=0, strict=True)
        check_number("flatness", self.flatness, least=0, strict=True, below=1)
        check_number("max_trials", self.max_trials, least=1, integer=True)

    def __call__(self, line: Line, previous: float | None) -> float:
        """Return the step; it is halved while, by rounding errors, the objective increases."""
        if not line.straight:
            return interpolate_step(line, previous, self.max_trials)
        if line.quartic is None:
            return search_wolfe(line, previous, self.flatness) if line.costly else self.newton(line)
        s = minimise_quartic(line.quartic)
        for _ in range(self.max_trials):
            if line(s) <= line.value + line.start.noise:
                return s
            s *= 0.5
        return 0.0

    def newton(self, line: Line) -> float:
        """Return the best step of a bracketed Newton iteration for a zero of the slope; 0 if none is better than 0."""
        low, high = 0.0, np.inf
        ceiling = line.value + line.start.noise
        best, best_value = 0.0, ceiling
        _, slope, curvature = line.along(0.0)
        s = line.newton_step(slope, curvature) if curvature > 0 else line.guess
        for _ in range(self.max_trials):
            value, slope, curvature = line.along(s)
            if not np.isfinite(value):
                high, s = s, 0.5 * (low + s)
                continue
            if value <= best_value:
                best, best_value = s, value
            # A trial above the start may be near another minimum; the one that is searched for is before it.
            if value <= ceiling and abs(slope) <= self.tol * abs(line.slope):
                break
            low, high = (s, high) if slope < 0 and value <= ceiling else (low, s)
            proposed = s - slope / curvature if curvature > 0 else np.nan
            fallback = 4 * s if np.isinf(high) else 0.5 * (low + high)
            s = proposed if low < proposed < min(high, 10 * s) else fallback
        return best


@dataclass(frozen=True)
class Wolfe:
    """A step that satisfies the strong conditions of Wolfe, by cubic interpolation.

    It suits objectives whose trial steps are as costly as an evaluation, as those of neighbourhoods: most searches
    need one trial. On curves that are not straight it is the search by parabolas of `Exact`.

    Parameters
    ----------
    decrease : float
        f(s) must be at most f(0) + decrease · s · f'(0).
    flatness : float
        |f'(s)| must be at most flatness · |f'(0)|.
    max_trials : int
        The largest number of trials in a search; the best step so far is taken then.

    Examples
    --------
    >>> from gramian.solvers import ConjugateGradient, Wolfe
    >>> ConjugateGradient(search=Wolfe(flatness=0.1))
    ConjugateGradient(search=Wolfe(decrease=0.0001, flatness=0.1, max_trials=20))
    """

    decrease: float = DECREASE
    flatness: float = 0.4
    max_trials: int = COSTLY_TRIALS

    def __post_init__(self) -> None:
        check_number("decrease", self.decrease, least=0, strict=True, below=1)
        check_number("flatness", self.flatness, least=0, strict=True, below=1)
        check_number("max_trials", self.max_trials, least=1, integer=True)

    def __call__(self, line: Line, previous: float | None) -> float:
        """Return the step; 0 if none of max_trials lowers the objective."""
        if not line.straight:
            return interpolate_step(line, previous, self.max_trials)
        return search_wolfe(line, previous, self.flatness, self.decrease, self.max_trials)


class Trial(NamedTuple):
    """A step, and the value and slope of the objective there."""

    s: float
    value: float
    slope: float


def search_wolfe(
    line: Line, previous: float | None, flatness: float, decrease: float = DECREASE, max_trials: int = COSTLY_TRIALS
) -> float:
    """Return a step along a straight line that satisfies the strong conditions of Wolfe; see `Wolfe`."""
    low, best, ceiling = Trial(0.0, line.value, line.slope), 0.0, np.inf
    high: Trial | None = None
    s = previous if previous else line.guess
    for _ in range(max_trials):
        value = line.move(s).value
        if not np.isfinite(value):
            ceiling, s = s, 0.5 * (low.s + s)
            continue
        trial = Trial(s, value, line.slope_at(s))
        low_enough = value <= line.value + decrease * s * line.slope + line.start.noise
        if low_enough and abs(trial.slope) <= flatness * abs(line.slope):
            return s
        if low_enough and value <= low.value:
            best = s
        if not low_enough or value > low.value or trial.slope > 0:
            high = trial
        else:
            low = trial
        s = min(next_trial(low, high), 0.5 * (low.s + ceiling))
    return best


def next_trial(low: Trial, high: Trial | None) -> float:
    """Return the minimum of a cubic between two trials, kept away from both; a longer step if there is no second."""
    if high is None:
        return 4 * low.s
    width = high.s - low.s
    # The cubic with the values and slopes of both trials.
    d1 = low.slope + high.slope - 3 * (high.value - low.value) / width
    root = d1 * d1 - low.slope * high.slope
    if not root >= 0:
        return low.s + 0.5 * width
    d2 = root**0.5
    denominator = high.slope - low.slope + 2 * d2
    step = 1 - (high.slope + d2 - d1) / denominator if denominator else 0.5
    return low.s + float(np.clip(step, 0.1, 0.9)) * width


def minimise_quartic(quartic: Vector) -> float:
    """Return the s > 0 that minimises a quartic, given by coefficients (5,), constant first; 0 if it increases at 0.

    Of minima that differ by rounding it returns the first: a square (a + b s + c s²)² has two.
    """
    q0, q1, q2, q3, q4 = (float(q) for q in quartic)
    if not q1 < 0 or not np.isfinite(quartic).all():
        return 0.0
    # A unit of s near the minimum of the quadratic or quartic terms, so that no power of s overflows.
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
    # Far away, large terms cancel: a value below another by less than the rounding error of its terms is not lower.
    rounding = 8 * np.finfo(np.float64).eps * np.polynomial.polynomial.polyval(candidates, np.abs(quartic))
    lowest = float(np.min(values + rounding))
    return float(np.min(candidates[values <= lowest + TIED * max(q0 - lowest, 0.0)]))


def interpolate_step(line: Line, previous: float | None, max_trials: int) -> float:
    """Return a step that lowers the objective, by minimising parabolas; 0 if none of max_trials does.

    A parabola has the value and the slope of the objective at 0 and its value at the last trial.
    """
    s = min(previous, line.limit) if previous else line.guess
    for trial in range(max_trials):
        value = line(s)
        excess = value - line.value - s * line.slope
        bottom = -line.slope * s * s / (2 * excess) if np.isfinite(value) and excess > 0 else np.nan
        if value <= line.value + DECREASE * s * line.slope + line.start.noise:
            # If the step is far from the minimum of the parabola, try that too: a trial costs no pass.
            better = min(5 * s if np.isnan(bottom) else float(np.clip(bottom, s / 10, 5 * s)), line.limit)
            if trial == 0 and not 0.5 * s <= better <= 2 * s and line(better) < value:
                return better
            return s
        s *= 0.25 if np.isnan(bottom) else float(np.clip(bottom / s, 0.1, 0.5))
    return 0.0
