"""Online descent over mini-batches: step sizes, the solver, and one compiled or generic pass over the batches."""

from gramian.solvers.online.compiled import descend
from gramian.solvers.online.descent import Memory, Online
from gramian.solvers.online.schedule import Schedule

__all__ = ["Memory", "Online", "Schedule", "descend"]
