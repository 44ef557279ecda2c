"""What is known when a minimisation starts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.coordinates import Coordinates
from gramian.execution import Execution, Serial, execution_for
from gramian.features import Features
from gramian.measurements import Pairs
from gramian.objective import Problem
from gramian.objective.terms import cut_evenly
from gramian.types import Matrix, Rows, Vector

__all__ = ["Parts", "SignedPairs", "Situation", "compute_image", "squared_distances"]

#: The number of pairs whose distances are computed at a time.
PAIRS_AT_A_TIME = 2**14


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
        """Return X B, shape (N, k), through the execution; one pass."""
        return compute_image(self.features, B, self.execution)


def compute_image(features: Features, B: Matrix, execution: Execution) -> Matrix:
    """Return X B, shape (N, k), through an execution; one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Serial
    >>> from gramian.features import Array
    >>> from gramian.situation import compute_image
    >>> compute_image(Array(np.array([[1.0, 2.0]])), np.ones((2, 1)), Serial())
    array([[3.]])
    """
    if hasattr(features, "execution"):
        return features.image(B)
    execution = execution_for(features, execution)
    cuts = cut_evenly(features.shape[0], features.n_pieces)
    pieces = execution.place([features.take(cut) for cut in cuts])
    return np.concatenate(execution.run(image_rows, pieces, B=B)[1].parts)


def squared_distances(Z: Matrix, pairs: Matrix, execution: Execution) -> Vector:
    """Return the squared distances (m,) of pairs (m, 2) of rows of Z, through an execution.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.execution import Serial
    >>> from gramian.situation import squared_distances
    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[0, 1]]), Serial())
    array([9.])
    """
    execution = execution_for(Z, execution)
    cuts = cut_evenly(len(pairs), max(1, len(pairs) // PAIRS_AT_A_TIME))
    pieces = execution.place([Pairs(pairs[cut]) for cut in cuts])
    return np.concatenate(execution.run(predict_pairs, pieces, Z=Z)[1].parts)


class Parts(NamedTuple):
    """A total that is a list: the sum of two joins them.

    Examples
    --------
    >>> from gramian.execution import add_totals
    >>> from gramian.situation import Parts
    >>> add_totals(Parts([1]), Parts([2, 3]))
    Parts(parts=[1, 2, 3])
    """

    parts: list[Any]


def image_rows(features: Features, *, B: Matrix) -> tuple[None, Parts]:
    """Join the images of some rows."""
    return None, Parts([features.image(B)])


def predict_pairs(pairs: Pairs, *, Z: Matrix) -> tuple[None, Parts]:
    """Join the squared distances of some pairs of rows of Z."""
    return None, Parts([pairs.predict(Z)])
