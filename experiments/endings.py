"""Whether fits converged, from the records of the experiments on kernels."""

from __future__ import annotations

from experiments.experiment import Records, Verdict, fails, holds, in_part
from harness.frames import select_frame

__all__ = ["check_convergence"]


def check_convergence(records: Records) -> Verdict:
    """Count the fits that met their tolerance, by method and protocol."""
    fits = select_frame([row for row in records if row.get("converged") is not None])
    if fits.empty:
        return in_part("no fit recorded its end", "Nothing can be said.")
    stopped = fits[~fits["converged"].astype(bool)]
    measured = f"{len(fits) - len(stopped)} of the {len(fits)} fits whose end was recorded met their tolerance"
    if stopped.empty:
        return holds(measured)
    groups = ["method", "protocol"]
    totals, counts = fits.groupby(groups).size(), stopped.groupby(groups, sort=False).size()
    listed = [f"{method} {n} of {totals[method, protocol]} ({protocol})" for (method, protocol), n in counts.items()]
    most = stopped["iterations"].max()
    why = f"Stopped before, after {most:.0f} iterations at most, and judged as they were then: {', '.join(listed)}."
    return in_part(measured, why) if len(stopped) < len(fits) else fails(measured, why)
