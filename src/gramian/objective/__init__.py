"""Where features, measurements, losses and geometries meet: the objective f(W) = Σ weight · loss.

A `Problem` is evaluated at a point; the `Evaluation` is the cache of that point, and a `Line` leaves it. Each costs
passes over the data only for what is asked of it:

    problem.evaluate(point)     one image: value and slopes
    evaluation.gradient         one pull
    evaluation.line(tangent)    one image, for all trial steps together; line.move(s) is free
    evaluation.gauss_newton(t)  one image and one pull; evaluation.apply(V) = M V likewise

so an iteration of descent is two passes, on every geometry. `Problem.passes` counts them.
"""

from gramian.objective.block import Block
from gramian.objective.evaluation import Evaluation
from gramian.objective.line import Line
from gramian.objective.margins import Margins, make_explicit
from gramian.objective.neighbourhoods import Neighbourhoods
from gramian.objective.problem import Problem
from gramian.objective.targets import KernelRegression
from gramian.objective.terms import Term

__all__ = [
    "Block",
    "Evaluation",
    "KernelRegression",
    "Line",
    "Margins",
    "Neighbourhoods",
    "Problem",
    "Term",
    "make_explicit",
]
