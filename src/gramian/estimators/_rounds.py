"""Rounds of a fit that are cut short on purpose: how long they are, and what is said of it."""

from __future__ import annotations

from gramian.solvers import Ending, Result
from gramian.supervision import Supervision

__all__ = ["advice_on_rounds", "ended_as_planned", "round_length"]

#: The maximum number of iterations of a call of partial_fit.
STREAM_LENGTH = 15


def round_length(supervision: Supervision, resume: bool) -> int | None:
    """Return the maximum number of iterations of a round; None if only max_iter limits them."""
    return STREAM_LENGTH if resume else supervision.round_length


def ended_as_planned(result: Result, supervision: Supervision, resume: bool) -> str:
    """Return the message of a fit whose last round reached its length; "" for others."""
    length = round_length(supervision, resume)
    if result.ending is not Ending.EXHAUSTED or result.n_iter != length:
        return ""
    rounds = "" if resume else f" in each of n_rounds={supervision.n_rounds} rounds"
    return f"{length} iterations{rounds}, as planned; no stopping rule held in the last"


def advice_on_rounds(supervision: Supervision, resume: bool) -> list[str]:
    """Return what to do about a round that ended early; nothing where there are no rounds."""
    length = round_length(supervision, resume)
    return [] if length is None else [f"Raise max_iter, of which a round takes {length} at most, or n_rounds, or tol."]
