"""What terms of the softmax over all samples share: their anchors, their tiles, and what stays beside an image.

Such a term is a sum over anchors i, of which each is a function of its squared distances d_ij to all samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from gramian.losses import Loss
from gramian.objective.terms import Group, Pieces, Taken, cut_evenly
from gramian.types import Matrix, Rows, Vector

__all__ = [
    "Bend",
    "Slopes",
    "SoftmaxTerm",
    "Speeds",
    "Straight",
    "add_products",
    "product_tiles",
    "row_squares",
    "set_anchors",
]

# A tile of anchors and samples has about this number of entries, and a number of anchors between these. Tiles of
# images with at most FEW_COLUMNS columns are small, and stay in the cache. For wider images the product is most of the
# time, and it is faster with more anchors.
FEW_COLUMNS, SMALL_TILE_ENTRIES, TILE_ENTRIES = 8, 1 << 17, 1 << 19
LEAST_ANCHORS, MOST_ANCHORS = 16, 128
# The least number of entries of a piece for a thread, and the largest number of pieces.
ENTRIES_PER_PIECE, MOST_PIECES = 1 << 19, 8


class Slopes(NamedTuple):
    """The derivative of the objective in the squared distances at an image Z (N, r), as its product S = L Z.

    L (N, N) is the Laplacian of the derivatives ∂f/∂d_ij; it is never formed.
    """

    Z: Matrix
    S: Matrix


class Bend(NamedTuple):
    """The weights of the Gauss-Newton operator at an image Z along a velocity, (N, r) each."""

    Z: Matrix
    velocity: Matrix


class Straight(NamedTuple):
    """The images Z + s T along a straight curve, (N, r) each."""

    Z: Matrix
    T: Matrix


class Tile(NamedTuple):
    """Products of some anchors with all samples, shape (a, N), and which of all anchors they are."""

    cut: slice
    products: Matrix


class SoftmaxTerm(ABC):
    """A sum over anchors, each a function of its distances to all samples."""

    anchors: Vector
    separable = False
    #: A trial step costs as much as an evaluation.
    costly = True

    def __len__(self) -> int:
        return len(self.anchors)

    def cast(self, dtype: np.dtype) -> Self:
        """Return the term itself: its arrays are in float64."""
        return self

    @abstractmethod
    def select(self, rows: Rows) -> Self:
        """Return the term of some anchors, with their weights."""

    @abstractmethod
    def value_at_zero(self, Z: Matrix) -> float:
        """Return the value where all distances are 0."""

    @property
    def order(self) -> Vector:
        """The order of the anchors in which pieces are cut."""
        return np.arange(len(self))

    def pieces(self, n_samples: int) -> Pieces:
        """Return terms of consecutive anchors that add up to this one."""
        # An even number, so that two threads have equal shares.
        count = min(MOST_PIECES, len(self) * n_samples // ENTRIES_PER_PIECE // 2 * 2)
        summand: Any = self
        if count == 0:
            return Pieces([summand], [Group(summand, 1)])
        order = self.order
        parts: list[Any] = [self.select(order[cut]) for cut in cut_evenly(len(self), count)]
        return Pieces(parts, [Group(part, 1) for part in parts])

    def with_loss(self, loss: Loss) -> Self:
        """Return the term itself: it has no targets."""
        return self

    def predict(self, Z: Matrix) -> Matrix:
        """Return Z itself: the term is a function of all distances at once."""
        return Z

    def line(self, prediction: Matrix, Z: Matrix, T: Matrix) -> Straight:
        """Return Z and T."""
        return Straight(Z, T)

    def quartic(self, line: Straight) -> None:
        """Return None: the value is no polynomial in s."""
        return None

    def predict_along(self, line: Straight, s: float, image: Matrix) -> Matrix:
        """Return the image itself."""
        return image

    def take(self, rows: Rows) -> Taken:
        """Return the term of some anchors, and None: their neighbours are all samples."""
        return Taken(self.select(rows), None)


def set_anchors(term: Any, anchors: Vector, n_samples: int, **others: Vector) -> None:
    """Set the anchors, their weights and other arrays of a frozen term.

    Raises a ValueError unless the anchors are indices of different samples, and there is a weight for each.
    """
    if anchors.ndim != 1 or not len(anchors) or not np.issubdtype(anchors.dtype, np.integer):
        raise ValueError(
            f"anchors has shape {anchors.shape} and dtype {anchors.dtype}; expected integers, at least one."
        )
    if anchors.min() < 0 or anchors.max() >= n_samples:
        raise ValueError(
            f"anchors must be indices of the {n_samples} samples; it has {anchors.min()} to {anchors.max()}."
        )
    ordered = np.sort(anchors)
    if (repeated := ordered[1:][ordered[1:] == ordered[:-1]]).size:
        raise ValueError(f"anchors has {repeated[0]} more than once. Give each sample once, with a larger weight.")
    weight = np.full(len(anchors), 1 / len(anchors)) if term.weight is None else np.asarray(term.weight, np.float64)
    if weight.shape != anchors.shape:
        raise ValueError(f"weight has shape {weight.shape}; expected {anchors.shape}, one for each anchor.")
    for name, value in {"anchors": anchors, "weight": weight, **others}.items():
        object.__setattr__(term, name, value)


def product_tiles(Z: Matrix, anchors: Vector) -> Iterator[Tile]:
    """Yield the products <z_i, z_j> of some anchors at a time with all samples, all in one array."""
    (n, k), total = Z.shape, len(anchors)
    entries = SMALL_TILE_ENTRIES if k <= FEW_COLUMNS else TILE_ENTRIES
    count = int(np.clip(entries // n, LEAST_ANCHORS, MOST_ANCHORS))
    space, columns = np.empty((min(count, total), n), Z.dtype), np.ascontiguousarray(Z.T)
    for start in range(0, total, count):
        cut = slice(start, min(start + count, total))
        tile = space[: cut.stop - start]
        np.dot(Z[anchors[cut]], columns, out=tile)
        yield Tile(cut, tile)


class Speeds(NamedTuple):
    """The derivatives 2 <z_i - z_j, v_i - v_j> of squared distances along a velocity V of Z, in tiles."""

    pairs: Matrix
    columns: Matrix
    own: Vector

    @classmethod
    def of(cls, Z: Matrix, V: Matrix) -> Speeds:
        """Return the derivatives for an image and its velocity, (N, r) each."""
        return cls(np.hstack([Z, V]), np.ascontiguousarray(np.hstack([V, Z]).T), np.einsum("ij,ij->i", Z, V))

    def tile(self, rows: Vector) -> Matrix:
        """Return the derivatives of some rows, shape (a, N)."""
        # In one array: a second one of a megabyte would be taken from the system each time.
        speeds = np.dot(self.pairs[rows], self.columns)
        np.subtract(self.own, speeds, out=speeds)
        speeds += self.own[rows, None]
        speeds *= 2
        return speeds


def row_squares(Z: Matrix) -> Vector:
    """Return ‖z_i‖², shape (N,)."""
    return np.einsum("ij,ij->i", Z, Z)


def add_products(S: Matrix, tile: Matrix, rows: Vector, Z: Matrix) -> None:
    """Subtract from S (N, k) the products with Z of a tile (a, N) of ∂f/∂d_ij and of its transpose."""
    S -= np.dot(tile.T, Z[rows])
    S[rows] -= np.dot(tile, Z)
