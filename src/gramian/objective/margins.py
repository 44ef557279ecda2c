"""Margins: every near neighbour of an anchor against every far one, from one distance for each neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.margins import (
    margins_along,
    margins_along_line,
    margins_curvature,
    margins_distances,
    margins_value_and_slopes,
    margins_weigh,
)
from gramian._kernels.reference_margins import both, gather, near_and_far
from gramian.losses import Linear, Loss, Squared
from gramian.losses.loss import Assessment, Coefficients, Derivatives
from gramian.measurements import Pairs, Triplets
from gramian.objective.terms import (
    Curvature,
    Group,
    Pieces,
    Summand,
    Taken,
    Term,
    count_fine,
    count_groups,
    cut_evenly,
)
from gramian.types import Matrix, Rows, Vector

__all__ = ["Margins", "make_explicit"]


@dataclass(frozen=True, eq=False)
class Margins(Summand):
    """The triplets of anchors: each far neighbour should be farther than each near one, by a margin.

    The value is Σ_i weight_i Σ_kj loss(d_ij - d_ik) + Σ_i pull_i Σ_k d_ik over the near neighbours k and the far
    neighbours j of anchor i, where the loss is that of a prediction that should be at least the margin. It is that of
    K J triplets of an anchor, but computes K + J distances of it.

    Parameters
    ----------
    anchors : array of int, shape (a,)
    near : array of int, shape (a, K)
        Indices of the near neighbours of each anchor; entries below 0, after the others, stand for none.
    far : array of int, shape (a, J)
        Those of the far neighbours.
    weight : array, shape (a,)
        The weight of each triplet of an anchor.
    pull : array, shape (a,)
        The weight of each squared distance of an anchor to its near neighbours.
    margin : float
    loss : Loss

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.objective import Margins
    >>> term = Margins([0], [[1]], [[2]], np.ones(1), np.zeros(1))
    >>> term.value_and_slopes(term.predict(np.array([[0.0], [1.0], [1.0]]))).value  # ½ (1 - 0)²
    0.5
    """

    anchors: Vector
    near: Matrix
    far: Matrix
    weight: Vector
    pull: Vector
    margin: float = 1.0
    loss: Loss = field(default_factory=Squared)

    separable = False
    #: Along a line every distance is a parabola.
    costly = False

    def __post_init__(self) -> None:
        anchors = read_indices("anchors", self.anchors, (None,))
        a = len(anchors)
        near, far = (read_indices(name, getattr(self, name), (a, None)) for name in ("near", "far"))
        if not anchors.size or anchors.min() < 0:
            raise ValueError("anchors must be indices of samples, at least one.")
        for name, array in (("near", near), ("far", far)):
            if not array.shape[1] or (np.diff((array >= 0).astype(np.int8), axis=1) > 0).any():
                raise ValueError(f"{name} needs a column, and entries below 0 only after the neighbours of an anchor.")
        for name in ("weight", "pull"):
            array = np.ascontiguousarray(getattr(self, name), np.float64)
            if array.shape != (a,) or not (np.isfinite(array) & (array >= 0)).all():
                raise ValueError(f"{name} must be {a} finite numbers of at least 0, one for each anchor.")
            object.__setattr__(self, name, array)
        for name, value in (("anchors", anchors), ("near", near), ("far", far), ("margin", float(self.margin))):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def n_near(self) -> int:
        """The number K of columns of near neighbours."""
        return self.near.shape[1]

    @cached_property
    def counts(self) -> Matrix:
        """The numbers of near and of far neighbours of each anchor, shape (a, 2)."""
        return np.column_stack([np.sum(self.near >= 0, axis=1), np.sum(self.far >= 0, axis=1)])

    @cached_property
    def neighbours(self) -> Matrix:
        """The near and then the far neighbours, shape (a, K + J); the anchor itself where there is none."""
        joined = np.hstack([self.near, self.far])
        return np.ascontiguousarray(np.where(joined < 0, self.anchors[:, None], joined))

    @property
    def triplets(self) -> Matrix:
        """The triplets (anchor, near, far), in the order of the anchors, shape (m, 3)."""
        return list_triplets(self.anchors, self.near, self.far)

    @cached_property
    def valid(self) -> Any:
        """True where an anchor has both a near and a far neighbour, shape (a, K, J)."""
        return both(self.counts, self.n_near, self.n_near + self.far.shape[1])

    def explicit(self, dtype: Any) -> list[Term]:
        """Return the same as a term of triplets and, if near neighbours are pulled, a term of pairs."""
        triplets, K = self.triplets, self.n_near
        weight = np.repeat(self.weight, self.counts.prod(axis=1)).astype(dtype)
        m = len(triplets)
        terms = [Term(Triplets(triplets), np.full(m, self.margin, dtype), self.loss, np.full(m, 1), weight)]
        if self.pull.any():
            used = self.near >= 0
            pairs = np.column_stack([np.repeat(self.anchors, K), self.near.ravel()])[used.ravel()]
            # The linear loss is half the prediction.
            pull = np.repeat(2 * self.pull, self.counts[:, 0]).astype(dtype)
            terms.append(Term(Pairs(pairs), np.zeros(len(pairs), dtype), Linear(), np.full(len(pairs), -1), pull))
        return terms

    def with_loss(self, loss: Loss) -> Margins:
        """Return the term with another loss of violations in units of the margin, in place of the squared one."""
        if loss.quadratic:
            return self
        weight = self.weight * self.margin ** (2 - loss.degree)
        return replace(self, loss=loss.rescaled(self.margin), weight=weight)

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless every index is below n_samples."""
        for name in ("anchors", "near", "far"):
            largest = int(getattr(self, name).max())
            if largest >= n_samples:
                raise ValueError(f"{name} contains {largest}, but samples are numbered 0 to {n_samples - 1}.")

    def pieces(self, n_samples: int) -> Pieces:
        """Return terms of consecutive anchors that add up to this one."""
        m = self.neighbours.size
        count = min(count_fine(m), len(self))
        if count < 2:
            return Pieces([self], [Group(self, 1)])
        fine = [self.select(cut) for cut in cut_evenly(len(self), count)]
        groups = count_groups(m, n_samples, count)
        if groups == 1:
            return Pieces(fine, [Group(self, count)])
        edges = np.cumsum([0, *(len(part) for part in fine)])
        parts = np.array_split(np.arange(count), groups)
        spans = [slice(int(edges[part[0]]), int(edges[part[-1] + 1])) for part in parts]
        return Pieces(fine, [Group(self.select(cut), len(part)) for cut, part in zip(spans, parts, strict=True)])

    def select(self, rows: Rows) -> Margins:
        """Return the term of some anchors, of the same samples."""
        arrays = {name: getattr(self, name)[rows] for name in ("anchors", "near", "far", "weight", "pull")}
        return replace(self, **arrays)

    def take(self, rows: Rows) -> Taken:
        """Return the term of some anchors, and the indices of the samples they use, ascending."""
        part = self.select(rows)
        samples, positions = np.unique(np.column_stack([part.anchors, part.neighbours]), return_inverse=True)
        positions = positions.reshape(len(part), -1)
        near, far = np.split(positions[:, 1:], [self.n_near], axis=1)
        near, far = np.where(part.near < 0, -1, near), np.where(part.far < 0, -1, far)
        return Taken(replace(part, anchors=positions[:, 0], near=near, far=far), samples)

    def predict(self, Z: Matrix) -> Matrix:
        """Return the squared distances of anchors and neighbours, shape (a, K + J); 0 where there is none."""
        return margins_distances(self.anchors, self.neighbours, self.counts, self.n_near, np.ascontiguousarray(Z))

    def value_and_slopes(self, prediction: Matrix) -> Assessment:
        """Return the value, its derivatives in the distances (a, K + J), and the scale of its rounding error."""
        if self.loss.quadratic:
            weights = (self.weight, self.pull, self.margin)
            return Assessment(*margins_value_and_slopes(prediction, self.counts, self.n_near, *weights))
        gap, near = self.differences(prediction), prediction[:, : self.n_near]
        value, slopes, scale = self.loss.value_and_slopes(gap, *self.loss_arguments(gap))
        pull = self.pull[:, None] * (self.near >= 0)
        slopes = gather(slopes.reshape(self.valid.shape))
        slopes[:, : self.n_near] += pull
        pulled = float(np.sum(pull * near))
        return Assessment(value + pulled, slopes.astype(prediction.dtype, copy=False), scale + pulled)

    def weigh(self, weights: Matrix, Z: Matrix) -> Matrix:
        """Return L Z, shape (N, k), for the Laplacian of weights (a, K + J) of the distances."""
        Z = np.ascontiguousarray(Z)
        return margins_weigh(self.anchors, self.neighbours, weights.astype(Z.dtype, copy=False), Z)

    def gauss_newton(self, prediction: Matrix, Z: Matrix, velocity: Matrix) -> Curvature:
        """Return the weights (a, K + J) of the Gauss-Newton operator along a velocity, and its quadratic form."""
        speed = self.line(prediction, Z, velocity).b
        if self.loss.quadratic:
            sizes = (self.counts, self.n_near, self.weight, self.margin)
            return Curvature(*margins_curvature(prediction, speed, *sizes))
        gap, rate = self.differences(prediction), self.differences(speed)
        target, sense, weight = self.loss_arguments(gap)
        weights = weight * self.loss(gap, target, sense)[2] * rate
        return Curvature(gather(weights.reshape(self.valid.shape)), float(np.vdot(weights, rate)))

    def line(self, prediction: Matrix, Z: Matrix, T: Matrix) -> Coefficients:
        """Return the coefficients of the distances along Z + s T, shape (a, K + J) each."""
        Z = np.ascontiguousarray(Z)
        T = np.ascontiguousarray(T, Z.dtype)
        found = margins_along(self.anchors, self.neighbours, self.counts, self.n_near, Z, T)
        return Coefficients(prediction, *found)

    def along(self, line: Coefficients, s: float) -> Derivatives:
        """Return value, slope and curvature at s."""
        if self.loss.quadratic:
            sizes = (self.counts, self.n_near, self.weight, self.pull, self.margin)
            return Derivatives(*margins_along_line(*line, *sizes, float(s)))
        gaps = Coefficients(*(self.differences(each) for each in line))
        value, slope, curvature = self.loss.along(gaps, *self.loss_arguments(gaps.a), s)
        a, b, c = (float(np.sum(self.pull[:, None] * each[:, : self.n_near])) for each in line)
        return Derivatives(value + a + s * (b + s * c), slope + b + 2 * s * c, curvature + 2 * c)

    def quartic(self, line: Coefficients) -> None:
        """Return None: satisfied triplets have no loss, so that the value is no polynomial in s."""
        return None

    def predict_along(self, line: Coefficients, s: float, image: Matrix) -> Matrix:
        """Return the distances a + b s + c s²."""
        return line.a + s * (line.b + s * line.c)

    def differences(self, values: Matrix) -> Vector:
        """Return far minus near for each pair of neighbours of an anchor, for values (a, K + J); shape (a K J,)."""
        return np.ascontiguousarray(near_and_far(values, self.n_near).gap).ravel()

    def loss_arguments(self, gap: Vector) -> LossArguments:
        """Return the arguments of the loss of the differences (a K J,); the weight is 0 where there is no triplet."""
        weight = (self.weight[:, None, None] * self.valid).ravel().astype(gap.dtype)
        return LossArguments(np.full(len(gap), self.margin, gap.dtype), np.ones(len(gap), np.int8), weight)


class LossArguments(NamedTuple):
    """Targets, senses and weights of measurements, (m,) each."""

    target: Vector
    sense: Vector
    weight: Vector


def list_triplets(anchors: Vector, near: Matrix, far: Matrix) -> Matrix:
    """Return every near (a, K) with every far sample (a, J) of each anchor, shape (m, 3); none of indices below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.objective.margins import list_triplets
    >>> list_triplets(np.array([0]), np.array([[1, 2]]), np.array([[3, -1]]))
    array([[0, 1, 3], [0, 2, 3]])
    """
    (_, K), (_, J) = near.shape, far.shape
    columns = (np.repeat(anchors, K * J), np.repeat(near, J, axis=1).ravel(), np.tile(far, (1, K)).ravel())
    triplets = np.column_stack(columns)
    complete = near.min(initial=0) >= 0 and far.min(initial=0) >= 0
    return triplets if complete else triplets[(triplets >= 0).all(axis=1)]


def make_explicit(terms: Sequence[Any], dtype: Any) -> list[Any]:
    """Return terms with those of margins replaced by terms of triplets and pairs, which can be sampled and split.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.objective import Margins, make_explicit
    >>> term = Margins([0], [[1]], [[2]], np.ones(1), np.ones(1))
    >>> [type(one.measurement).__name__ for one in make_explicit([term], np.float64)]
    ['Triplets', 'Pairs']
    """
    return [one for term in terms for one in (term.explicit(dtype) if isinstance(term, Margins) else [term])]


def read_indices(name: str, value: Any, shape: tuple[int | None, ...]) -> Any:
    """Return indices of samples as a contiguous array, or raise a ValueError unless they have a shape."""
    array = np.asarray(value)
    wanted = all(size in (None, own) for size, own in zip(shape, array.shape, strict=False))
    if array.ndim != len(shape) or not wanted or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}; expected integers, {shape}.")
    return np.ascontiguousarray(array, np.intp)
