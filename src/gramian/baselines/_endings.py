"""Why the fit of a baseline ended, and cycles of projections that end when their dual variables change little."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from gramian.solvers import Ending
from gramian.warn import warn_user

__all__ = ["Cycles", "store_ending", "warn_unless_converged"]


class Cycles(NamedTuple):
    """Where cycles of projections stand.

    Attributes
    ----------
    name : str
        What a cycle is called.
    parameter : str
        The parameter that needs fewer cycles at lower values.
    n_iter : int
        The cycles so far.
    size : float
        The norm of the dual variables.
    change : float
        By how much the last cycle changed them, relative to the sum of their norms before and after it.
    ending : Ending or None
        None while the cycles go on.
    """

    name: str
    parameter: str
    n_iter: int = 0
    size: float = 0.0
    change: float = 0.0
    ending: Ending | None = None

    def after(self, moved: float, size: float, *, max_iter: int, tol: float) -> Cycles:
        """Return where the cycles stand after one more, which moved the dual variables; `size` is their new norm."""
        # All dual variables are 0 if every constraint holds at the start.
        total = float(self.size) + float(size)
        change = float(moved) / total if total else float("inf") if moved else 0.0
        n_iter, ending = self.n_iter + 1, None
        if not (isfinite(size) and isfinite(change)):
            ending = Ending.STUCK
        elif change <= tol:
            ending = Ending.CONVERGED
        elif n_iter >= max_iter:
            ending = Ending.EXHAUSTED
        return self._replace(n_iter=n_iter, size=size, change=change, ending=ending)

    def describe(self, max_iter: int) -> str:
        """Return the message why the cycles ended."""
        if self.ending is Ending.CONVERGED:
            return "relative change of the duals below tol"
        return f"max_iter={max_iter} reached" if self.ending is Ending.EXHAUSTED else "the duals are no longer finite"


def store_ending(learner: Any, ending: Ending, message: str) -> None:
    """Set `converged_` and `message_` of a fitted estimator."""
    learner.converged_, learner.message_ = ending is Ending.CONVERGED, message


def warn_unless_converged(learner: Any, cycles: Cycles) -> None:
    """Issue a ConvergenceWarning that says how cycles ended, unless their stopping rule holds."""
    if cycles.ending is Ending.EXHAUSTED:
        warn_user(
            f"not converged after max_iter={learner.max_iter} {cycles.name}: the last changed {cycles.change:.1e} of "
            f"the duals. Raise max_iter or tol, or lower {cycles.parameter}.",
            ConvergenceWarning,
        )
    elif cycles.ending is Ending.STUCK:
        warn_user(
            f"stopped after {cycles.n_iter} {cycles.name}: {learner.message_}. Scale the features of X alike, or lower "
            f"{cycles.parameter}.",
            ConvergenceWarning,
        )
