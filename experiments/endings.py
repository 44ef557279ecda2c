"""How iterations ended: whether scores are of fits that converged, from the records of the experiments on kernels."""

from __future__ import annotations

from collections import Counter

from experiments.experiment import Records, Verdict, fails, holds, in_part

__all__ = ["converged"]


def converged(records: Records) -> Verdict:
    """Whether fits met their tolerance, or stopped before; counted by protocol and method."""
    ended = [row for row in records if row.get("converged") is not None]
    stopped = [row for row in ended if not row["converged"]]
    measured = f"{len(ended) - len(stopped)} of the {len(ended)} fits whose end was recorded met their tolerance"
    if not ended:
        return in_part("no fit recorded its end", "Nothing can be said.")
    if not stopped:
        return holds(measured)
    totals, counts = (Counter((row["method"], row["protocol"]) for row in rows) for rows in (ended, stopped))
    told = [f"{method} {count} of {totals[method, where]} ({where})" for (method, where), count in counts.items()]
    most = max(row["iterations"] for row in stopped)
    why = f"Stopped before, after {most} iterations at most, and judged as they were then: {', '.join(told)}."
    return in_part(measured, why) if len(stopped) < len(ended) else fails(measured, why)
