"""Penalties: terms of an objective that are functions of W itself instead of measurements of samples.

A penalty is a term of a block on `Identity` features, where the image Z is the factor G. It has the methods of
`gramian.objective.terms.Summand`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gramian._kernels.tall import inner_products, subtract_product
from gramian.checks import as_real, check_number
from gramian.losses.loss import Assessment, Derivatives
from gramian.objective.terms import Curvature, Group, Pieces, Summand, Taken
from gramian.types import Matrix, Rows, Vector

__all__ = ["Toward"]


class Product(NamedTuple):
    """The matrix c A Bᵀ (d, d), with A and B (d, k) of few columns. It is never formed."""

    coefficient: float
    A: Matrix
    B: Matrix


#: A symmetric matrix (d, d), as products to be added.
Products = list[Product]


class Grams(NamedTuple):
    """A factor G (d, r), and its small products GᵀG (r, r) and G₀ᵀG (k, r) in float64, carried along straight lines."""

    G: Matrix
    own: Matrix
    cross: Matrix


class PenaltyLine(NamedTuple):
    """A penalty along Z + s T: its polynomial in s, shape (5,), constant first; and what `Grams` are made of.

    `own` are the coefficients of (Z + s T)ᵀ(Z + s T) = own[0] + own[1] s + own[2] s², and `cross` those of
    G₀ᵀ(Z + s T) = cross[0] + cross[1] s.
    """

    quartic: Vector
    own: list[Matrix]
    cross: list[Matrix]


@dataclass(frozen=True, eq=False)
class Toward(Summand):
    """The penalty ½ strength ‖W - W₀‖² / ‖W₀‖² + trace · tr(W), in the Frobenius norm, for a given W₀ = G₀ G₀ᵀ.

    W and W₀ are never formed. An evaluation costs O(d r (r + k)) for factors G (d, r) and G₀ (d, k), and along a line
    O(r (r + k)).

    Parameters
    ----------
    factor : array, shape (d, k)
        The factor G₀. It must not be zero.
    strength : float
        The penalty weight.
    trace : float
        The penalty weight of tr(W).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.penalties import Toward
    >>> penalty = Toward(np.eye(2), strength=4.0)
    >>> penalty.value_and_slopes(penalty.predict(2 * np.eye(2))).value  # ½ · 4 · ‖4 I - I‖² / ‖I‖²
    18.0
    """

    factor: Matrix
    strength: float = 1.0
    trace: float = 0.0
    separable = False
    costly = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", as_real("factor", self.factor))
        check_number("strength", self.strength, least=0)
        check_number("trace", self.trace, least=0)
        if self.factor.ndim != 2 or not np.isfinite(self.factor).all():
            raise ValueError(f"factor has shape {self.factor.shape}; expected finite numbers (d, k).")
        if not self.square > 0:
            raise ValueError("factor is zero; there is nothing to keep close to.")

    @cached_property
    def square(self) -> float:
        """The squared Frobenius norm ‖W₀‖²."""
        factor = self.factor.astype(np.float64, copy=False)
        return squared_norm(factor.T @ factor)

    @property
    def scale(self) -> float:
        """The coefficient strength / ‖W₀‖²."""
        return self.strength / self.square

    def check(self, n_samples: int) -> None:
        """Raise a ValueError unless n_samples, which is d here, is the number of rows of the factor."""
        if n_samples != len(self.factor):
            raise ValueError(f"factor has {len(self.factor)} rows, but there are {n_samples} coordinates.")

    def predict(self, Z: Matrix) -> Grams:
        """Return Z, which is G, and its small products."""
        return Grams(Z, *map(as_double, inner_products((Z, self.factor), Z)))

    def value_and_slopes(self, prediction: Grams) -> Assessment:
        """Return the value, the slopes scale · (W - W₀) + trace · I as `Grams`, and the scale of its rounding error."""
        own, mixed, scale = squared_norm(prediction.own), squared_norm(prediction.cross), self.scale
        linear = self.trace * float(np.trace(prediction.own))
        value = 0.5 * scale * max(own - 2 * mixed + self.square, 0.0) + linear
        return Assessment(value, prediction, scale * (own + mixed) + linear)

    def weigh(self, weights: Grams | Products, Z: Matrix) -> Matrix:
        """Return (Σ c A Bᵀ) Z, shape (d, r), for weights given as products, or for the slopes at a factor."""
        if isinstance(weights, Grams):
            return self.weigh_slopes(weights, Z)
        (c, A, B), *others = weights
        total = A @ (c * (B.T @ Z))
        for c, A, B in others:
            total += A @ (c * (B.T @ Z))
        return total

    def weigh_slopes(self, slopes: Grams, Z: Matrix) -> Matrix:
        """Return (scale · (G Gᵀ - G₀ G₀ᵀ) + trace · I) Z, shape (d, r). If Z is G, its small products are known."""
        G, G0, scale, same = slopes.G, self.factor, self.scale, slopes.G is Z
        own, cross = (slopes.own, slopes.cross) if same else inner_products((G, G0), Z)
        total = G @ (scale * own + (self.trace if same else 0) * np.eye(*own.shape)).astype(Z.dtype)
        total = subtract_product(total, G0, (scale * cross).astype(Z.dtype))
        return total if same or not self.trace else total + self.trace * Z

    def gauss_newton(self, prediction: Grams, Z: Matrix, velocity: Matrix) -> Curvature:
        """Return scale · dW/ds = scale · (Z Vᵀ + V Zᵀ) as products, and scale · ‖dW/ds‖², for a velocity V of Z."""
        scale = self.scale
        form = 2 * float(np.vdot(Z.T @ Z, velocity.T @ velocity)) + 2 * float(np.vdot(velocity.T @ Z, Z.T @ velocity))
        return Curvature([Product(scale, Z, velocity), Product(scale, velocity, Z)], scale * form)

    def line(self, prediction: Grams, Z: Matrix, T: Matrix) -> PenaltyLine:
        """Return the penalty at Z + s T as a polynomial in s, shape (5,), constant first; and what `Grams` need."""
        mixed, square, crossed = map(as_double, inner_products((Z, T, self.factor), T))
        own, cross = [prediction.own, mixed + mixed.T, square], [prediction.cross, crossed]
        quartic = np.zeros(5)
        for i, A in enumerate(own):
            for j, B in enumerate(own):
                quartic[i + j] += float(np.vdot(A, B))
        for i, A in enumerate(cross):
            for j, B in enumerate(cross):
                quartic[i + j] -= 2 * float(np.vdot(A, B))
        quartic[0] += self.square
        quartic *= 0.5 * self.scale
        quartic[:3] += [self.trace * float(np.trace(A)) for A in own]
        return PenaltyLine(quartic, own, cross)

    def along(self, line: PenaltyLine, s: float) -> Derivatives:
        """Return the value, slope and curvature at s."""
        a, b, c, d, e = line.quartic.tolist()
        value = a + s * (b + s * (c + s * (d + s * e)))
        slope = b + s * (2 * c + s * (3 * d + s * 4 * e))
        return Derivatives(value, slope, 2 * c + s * (6 * d + s * 12 * e))

    def quartic(self, line: PenaltyLine) -> Vector:
        """Return the coefficients (5,) of the penalty as a polynomial in s, constant first."""
        return line.quartic

    def predict_along(self, line: PenaltyLine, s: float, image: Matrix) -> Grams:
        """Return the image Z + s T, shape (d, r), with its small products."""
        own, cross = line.own[0] + s * line.own[1] + s**2 * line.own[2], line.cross[0] + s * line.cross[1]
        return Grams(image, own, cross)

    def pieces(self, n_samples: int) -> Pieces:
        """Return the penalty itself, finely and coarsely: it is small."""
        return Pieces([self], [Group(self, 1)])

    def take(self, rows: Rows) -> Taken:
        """Return the whole penalty and None, which stands for all rows: a penalty has no measurements to select."""
        return Taken(self, None)


def as_double(A: Matrix) -> Matrix:
    """Return a small matrix in float64."""
    return A.astype(np.float64, copy=False)


def squared_norm(A: Matrix) -> float:
    """Return ‖A‖², computed in float64."""
    return float(np.sum(A.astype(np.float64, copy=False) ** 2))
