"""What is known when a minimisation starts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.coordinates import Coordinates
from gramian.execution import Execution, Serial
from gramian.features import Features
from gramian.images import compute_image
from gramian.objective import Problem
from gramian.types import Matrix, Rows, Vector

__all__ = ["SignedPairs", "Situation"]


class SignedPairs(NamedTuple):
    """Pairs (m, 2) of indices of samples, their signs (m,), +1 for near and -1 for far ones, and weights (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.situation import SignedPairs
    >>> SignedPairs(np.array([[0, 1], [0, 2]]), np.array([1, -1]), np.ones(2)).part(slice(1)).signs
    array([1])
    """

    pairs: Matrix
    signs: Vector
    weight: Vector

    def part(self, rows: Rows) -> SignedPairs:
        """Return some of the pairs."""
        return SignedPairs(*(array[rows] for array in self))


class Situation(NamedTuple):
    """What starts and supervision may use; parts that an estimator does not have are None.

    Attributes
    ----------
    features : Features
        The samples, in the solver's coordinates.
    rng : numpy.random.Generator
    execution : Execution
        How the samples are worked on.
    coordinates : Coordinates
        Those of the solver; None where they are the user's.
    problem : Problem
    labels : array, shape (n,)
        Class labels.
    signed : SignedPairs
        Pairs of near and far samples.
    kernel : gramian.starts.kernel_pca.DecomposedKernel
    dissimilarities : gramian.starts.classical_scaling.Dissimilarities

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import Array
    >>> from gramian.situation import Situation
    >>> situation = Situation(Array(np.array([[1.0, 2.0]])), np.random.default_rng(0))
    >>> situation.image(np.eye(2)), situation.unit
    (array([[1., 2.]]), 1.0)
    """

    features: Features
    rng: np.random.Generator
    execution: Execution = Serial()
    coordinates: Coordinates | None = None
    problem: Problem | None = None
    labels: Vector | None = None
    signed: SignedPairs | None = None
    kernel: Any = None
    dissimilarities: Any = None

    @property
    def unit(self) -> float:
        """The number that the user's samples were multiplied by."""
        return 1.0 if self.coordinates is None else self.coordinates.units.data

    def to_solver(self, G: Matrix) -> Matrix:
        """Return the factor for the solver, from that for the user's data."""
        return G if self.coordinates is None else self.coordinates.to_solver(G)

    def image(self, B: Matrix) -> Matrix:
        """Return X B, shape (N, k), on the driver: for samples that are few; one pass."""
        return compute_image(self.features, B, self.execution)
