"""Online descent over mini-batches: the solver, its schedule of step sizes, and the loops over batches."""

from gramian.solvers.online.compiled import descend
from gramian.solvers.online.descent import Memory, Online
from gramian.solvers.online.schedule import Schedule

__all__ = ["Memory", "Online", "Schedule", "descend"]
