"""How iterations ended: whether scores are of fits that converged, from the records of the experiments on kernels."""

from __future__ import annotations

from experiments.experiment import Records, Verdict, fails, holds, in_part

__all__ = ["converged"]


def converged(records: Records) -> Verdict:
    """Whether fits met their tolerance, or stopped at the most iterations allowed; counted by protocol and method."""
    ended = [row for row in records if row.get("converged") is not None]
    stopped = [row for row in ended if not row["converged"]]
    measured = f"{len(ended) - len(stopped)} of {len(ended)} fits whose end was recorded"
    if not ended:
        return in_part("no fit recorded its end", "Nothing can be said.")
    if not stopped:
        return holds(measured)
    kinds = {(row["protocol"], row["method"]): 0 for row in stopped}
    for row in stopped:
        kinds[row["protocol"], row["method"]] += 1
    told = [
        f"{method} {count} of {sum(row['method'] == method and row['protocol'] == protocol for row in ended)} ({protocol})"
        for (protocol, method), count in kinds.items()
    ]
    why = f"Stopped at the most iterations allowed, with the scores they had then: {', '.join(told)}."
    return in_part(measured, why) if len(stopped) < len(ended) else fails(measured, why)
