"""Solvers: algorithms that move a point to lower the objective. All run in the loop of `minimize`.

To add one, write one file with a subclass of `Solver` and add one line to `SOLVERS` below. It needs one method,
`step(evaluation, memory)`, explained in `solver.py`. The loop keeps the history, applies the stopping rules and calls
the callback. `gradient_descent.py` is the shortest example.
"""

from gramian.solvers.conjugate_gradient import ConjugateGradient
from gramian.solvers.gradient_descent import GradientDescent
from gramian.solvers.growing import Growing
from gramian.solvers.journal import Journal
from gramian.solvers.lbfgs import LBFGS
from gramian.solvers.line_search import Armijo, Exact, Wolfe
from gramian.solvers.loop import minimize
from gramian.solvers.online import Online
from gramian.solvers.solver import Ending, Record, Result, Solver, Step
from gramian.solvers.trust_region import TrustRegion

__all__ = [
    "LBFGS",
    "SOLVERS",
    "Armijo",
    "ConjugateGradient",
    "Ending",
    "Exact",
    "GradientDescent",
    "Growing",
    "Journal",
    "Online",
    "Record",
    "Result",
    "Solver",
    "Step",
    "TrustRegion",
    "Wolfe",
    "minimize",
]

SOLVERS: dict[str, type[Solver]] = {
    "gd": GradientDescent,
    "cg": ConjugateGradient,
    "lbfgs": LBFGS,
    "trust-region": TrustRegion,
    "online": Online,
}
