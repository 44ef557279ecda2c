"""A problem: blocks of data, and how they are worked on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian.execution import Execution, Serial
from gramian.geometries import Point
from gramian.objective.evaluation import Evaluation
from gramian.objective.terms import Block, Term, sum_of
from gramian.types import Matrix, Rows

__all__ = ["Problem"]


class Problem:
    """An objective over blocks of data.

    Parameters
    ----------
    blocks : sequence of Block
    execution : Execution
        How the blocks are worked on; one after the other by default.

    Attributes
    ----------
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

    def __init__(self, blocks: Sequence[Block], execution: Execution | None = None) -> None:
        self.blocks = list(blocks)
        self.pieces = [piece for block in blocks for piece in block.pieces()]
        self.execution: Execution = Serial() if execution is None else execution
        self.passes = 0.0

    @property
    def n_features(self) -> int:
        """The dimension d of W."""
        return self.blocks[0].features.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The type of the data, and so of the factor."""
        return self.blocks[0].features.dtype

    @cached_property
    def value_at_zero(self) -> float:
        """f at W = 0, the scale against which a value is small."""
        zeros = [np.zeros((piece.features.shape[0], 1), self.dtype) for piece in self.pieces]
        return sum(piece.judge(piece.predict(Z)).value for piece, Z in zip(self.pieces, zeros, strict=True))

    def image(self, B: Matrix) -> list[Matrix]:
        """X B, block by block; one pass."""
        self.passes += 1
        return self.execution.map(lambda block: block.features.image(B), self.pieces)

    def pull(self, weights: Sequence[Any], images: Sequence[Matrix]) -> Matrix:
        """(Σ weight_i X_i) F from the images of F; one pass."""
        self.passes += 1
        return sum_of(self.execution.map(lambda b, w, Z: b.features.pull(b.weigh(w, Z)), self.pieces, weights, images))

    def predict(self, images: Sequence[Matrix]) -> list[list[Any]]:
        """Predictions of every term from images Z of the factor."""
        return self.execution.map(Block.predict, self.pieces, images)

    def evaluate(self, point: Point) -> Evaluation:
        """The objective at a point; one pass."""
        images = self.image(point.frame)
        return Evaluation(self, point, lambda: images, self.predict([point.image(XF) for XF in images]))

    @property
    def sampled(self) -> Term:
        """The one term of a problem that can be sampled from."""
        terms = [term for block in self.blocks for term in block.terms]
        if len(terms) != 1 or not isinstance(terms[0], Term):
            raise ValueError("mini-batches and growing samples need a problem of one block with one term.")
        return terms[0]

    def take(self, rows: Rows) -> Problem:
        """The problem of some of its measurements: a mini-batch. Its value is an unbiased estimate of the whole."""
        term, samples = self.sampled.take(rows)
        term = replace(term, weight=term.weight * (len(self.sampled.measurement) / len(term.measurement)))
        features = self.blocks[0].features
        return Problem([Block(features if samples is None else features.take(samples), [term])], self.execution)
