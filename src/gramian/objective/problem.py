"""A problem: blocks of data, and how they are worked on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from gramian.execution import Execution, Serial, Shards, Work, execution_for
from gramian.geometries import Point
from gramian.objective import block
from gramian.objective.block import Block
from gramian.objective.evaluation import Evaluation
from gramian.objective.terms import Term
from gramian.types import Rows

__all__ = ["Problem"]


class Problem:
    """An objective over blocks of data.

    Parameters
    ----------
    blocks : sequence of Block
    execution : Execution
        How the blocks are worked on; one after the other by default.
    share : float
        The share of all samples that the blocks have: a product with them counts as this share of a pass.

    Attributes
    ----------
    n_features : int
        The dimension d of W.
    dtype : dtype
        The type of the data, and so of the factor.
    passes : float
        Products with the data so far, images and pulls.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import Block, Problem, Term
    >>> from gramian.features import Array
    >>> from gramian.geometries import Flat
    >>> from gramian.measurements import Each
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> problem = Problem([Block(Array(X), [Term(Each(20), np.sum(X[:, :1] ** 2, axis=1))])])
    >>> float(problem.evaluate(Flat().point(np.eye(3)[:, :1])).value)
    0.0
    """

    def __init__(self, blocks: Sequence[Block], execution: Execution | None = None, share: float = 1.0) -> None:
        self.blocks = validate_blocks(blocks)
        features = self.blocks[0].features
        self.n_features, self.dtype = features.shape[1], features.dtype
        if execution is not None and not (hasattr(execution, "place") and hasattr(execution, "run")):
            raise TypeError(
                f"execution={execution!r} has no place and run. Choose None, Serial(), Threads(n) or Dask()."
            )
        self.execution: Execution = Serial() if execution is None else execution
        self.share = share
        self.passes = 0.0

    @cached_property
    def pieces(self) -> list[Block]:
        """The blocks, in pieces that are worked on apart."""
        return [piece for each in self.blocks for piece in each.split()]

    @cached_property
    def shards(self) -> Shards:
        """Handles of the pieces."""
        return self.execution.place(self.pieces)

    def run(self, work: Work, *held: Shards, passes: float = 0.0, **small: Any) -> tuple[Shards, Any]:
        """Run work that makes some passes over the blocks; return what stays beside them, and the total."""
        self.passes += self.share * passes
        return self.execution.run(work, self.shards, *held, **small)

    @cached_property
    def value_at_zero(self) -> float:
        """f at W = 0, the scale against which a value is small."""
        return self.run(block.evaluate_at_zero)[1]

    def evaluate(self, point: Point) -> Evaluation:
        """Return the objective at a point; one pass."""
        self.check(point)
        states, totals = self.run(block.evaluate, passes=1, frame=point.frame, root=point.root)
        return Evaluation(self, point, states, totals)

    def check(self, point: Point) -> None:
        """Raise an error unless the point has a frame with a row for each feature, in the dtype of the data."""
        if not isinstance(point, Point):
            raise TypeError(f"point is of type {type(point).__name__}; make one by geometry.point(factor).")
        frame, d = point.frame, self.n_features
        if frame.ndim != 2 or len(frame) != d:
            raise ValueError(f"the point has a frame of shape {frame.shape}, but the data has {d} features.")
        if frame.dtype != self.dtype:
            raise ValueError(
                f"the point is of {frame.dtype}, but the data of {self.dtype}; make it of factor.astype(X.dtype)."
            )

    @property
    def sampled(self) -> Term:
        """The one term of a problem of which measurements can be sampled."""
        terms = [term for each in self.blocks for term in each.terms]
        if len(terms) != 1 or not isinstance(terms[0], Term):
            raise ValueError("mini-batches and growing samples need a problem of one block with one term.")
        return terms[0]

    def take(self, rows: Rows) -> Problem:
        """The problem of some of its measurements: a mini-batch. Its value is an unbiased estimate of the whole."""
        part, samples = self.sampled.take(rows)
        term = part.scaled(len(self.sampled.measurement) / max(len(part.measurement), 1))
        features = self.blocks[0].features
        features = features if samples is None else features.take(samples)
        return Problem([Block(features, [term])], execution_for(features, self.execution))


def validate_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks of one number of features and one dtype as a list, or raise an error."""
    if isinstance(blocks, Block):
        raise TypeError("blocks is one Block; give a list: Problem([block]).")
    blocks = list(blocks)
    if not blocks:
        raise ValueError("blocks is empty; a problem needs at least one Block.")
    if wrong := [each for each in blocks if not isinstance(each, Block)]:
        raise TypeError(f"blocks has an item of type {type(wrong[0]).__name__}; expected Block(features, terms).")
    kinds = [(each.features.shape[1], str(each.features.dtype)) for each in blocks]
    if other := [i for i, kind in enumerate(kinds) if kind != kinds[0]]:
        i = other[0]
        raise ValueError(
            f"blocks[0] has {kinds[0][0]} features of {kinds[0][1]}, but blocks[{i}] has {kinds[i][0]} features of "
            f"{kinds[i][1]}; all must be of one number and one dtype."
        )
    return blocks
