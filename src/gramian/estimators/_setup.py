"""A problem of a fit, with all that its minimisation needs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from gramian.coordinates import Coordinates
from gramian.geometries import Geometry
from gramian.objective import Problem
from gramian.solvers import Journal, Result, Solver, minimize
from gramian.types import Matrix

__all__ = ["Setup"]


class Setup(NamedTuple):
    """A problem, and all that its minimisation needs.

    Attributes
    ----------
    problem : Problem
    solver : Solver
    geometry : Geometry
    coordinates : Coordinates or None
        Those of the problem; None where they are the user's.
    journal : Journal
        That of the fit.
    rng : numpy.random.Generator
        That of the fit, or a copy of it.
    """

    problem: Problem
    solver: Solver
    geometry: Geometry
    coordinates: Coordinates | None
    journal: Journal
    rng: np.random.Generator

    def with_own_generator(self) -> Setup:
        """Return the same with a copy of the generator: draws from it do not advance that of the fit."""
        return self._replace(rng=np.random.Generator(deepcopy(self.rng.bit_generator)))

    def minimize_quietly(self, factor: Matrix, **settings: Any) -> Result:
        """Return the result of minimising from a factor (d, r); its iterations are not written to the journal."""
        point = self.geometry.point(factor)
        return minimize(self.problem, self.solver, point, journal=self.journal.quiet(), **settings)
