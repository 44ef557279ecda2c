"""Penalties: terms of an objective that are functions of W itself instead of measurements of samples.

A penalty is a term of a block on `Identity` features, where the image Z is the factor G. It has the methods of
`gramian.objective.terms.Summand`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gramian.checks import as_real, check_number
from gramian.losses.loss import Assessment, Derivatives, Loss
from gramian.objective.terms import Curvature, Group, Pieces, Taken
from gramian.types import Matrix, Rows, Vector

__all__ = ["Toward"]


class Product(NamedTuple):
    """The matrix c A Bᵀ (d, d), with A and B (d, k) of few columns. It is never formed."""

    coefficient: float
    A: Matrix
    B: Matrix


#: A symmetric matrix (d, d), as products to be added.
Products = list[Product]


class PenaltyLine(NamedTuple):
    """A penalty along Z + s T: its polynomial in s, shape (5,), constant first; and Z and T."""

    quartic: Vector
    Z: Matrix
    T: Matrix


@dataclass(frozen=True, eq=False)
class Toward:
    """The penalty ½ strength ‖W - W₀‖² / ‖W₀‖², in the Frobenius norm, for a given W₀ = G₀ G₀ᵀ.

    W and W₀ are never formed. An evaluation costs O(d r (r + k)) for factors G (d, r) and G₀ (d, k).

    Parameters
    ----------
    factor : array, shape (d, k)
        The factor G₀. It must not be zero.
    strength : float
        The penalty weight.

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
    separable = False
    costly = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", as_real("factor", self.factor))
        check_number("strength", self.strength, least=0)
        if self.factor.ndim != 2 or not np.isfinite(self.factor).all():
            raise ValueError(f"factor has shape {self.factor.shape}; expected finite numbers (d, k).")
        if not self.square > 0:
            raise ValueError("factor is zero; there is nothing to keep close to.")

    def with_loss(self, loss: Loss) -> Toward:
        """Return the penalty itself: it has no targets."""
        return self

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

    def predict(self, Z: Matrix) -> Matrix:
        """Return Z, which is G: the penalty has no predictions."""
        return Z

    def value_and_slopes(self, prediction: Matrix) -> Assessment:
        """Return the value, the slopes scale · (W - W₀) as products, and the scale of the value's rounding error."""
        G, G0, scale = prediction, self.factor, self.scale
        own, mixed = squared_norm(G.T @ G), squared_norm(G0.T @ G)
        value = 0.5 * scale * max(own - 2 * mixed + self.square, 0.0)
        return Assessment(value, [Product(scale, G, G), Product(-scale, G0, G0)], scale * (own + mixed))

    def weigh(self, weights: Products, Z: Matrix) -> Matrix:
        """Return Σ c A (Bᵀ Z), shape (d, r), for weights given as products."""
        total = np.zeros_like(Z)
        for coefficient, A, B in weights:
            total += coefficient * (A @ (B.T @ Z))
        return total

    def gauss_newton(self, prediction: Matrix, Z: Matrix, velocity: Matrix) -> Curvature:
        """Return scale · dW/ds = scale · (Z Vᵀ + V Zᵀ) as products, and scale · ‖dW/ds‖², for a velocity V of Z."""
        scale = self.scale
        form = 2 * float(np.vdot(Z.T @ Z, velocity.T @ velocity)) + 2 * float(np.vdot(velocity.T @ Z, Z.T @ velocity))
        return Curvature([Product(scale, Z, velocity), Product(scale, velocity, Z)], scale * form)

    def line(self, prediction: Matrix, Z: Matrix, T: Matrix) -> PenaltyLine:
        """Return the penalty at Z + s T as a polynomial in s, shape (5,), constant first; and Z and T."""
        gram = [Z.T @ Z, Z.T @ T + T.T @ Z, T.T @ T]
        cross = [self.factor.T @ Z, self.factor.T @ T]
        quartic = np.zeros(5)
        for i, A in enumerate(gram):
            for j, B in enumerate(gram):
                quartic[i + j] += float(np.vdot(A, B))
        for i, A in enumerate(cross):
            for j, B in enumerate(cross):
                quartic[i + j] -= 2 * float(np.vdot(A, B))
        quartic[0] += self.square
        return PenaltyLine(0.5 * self.scale * quartic, Z, T)

    def along(self, line: PenaltyLine, s: float) -> Derivatives:
        """Return the value, slope and curvature at s."""
        polynomial = np.polynomial.Polynomial(line.quartic)
        return Derivatives(*(float(each(s)) for each in (polynomial, polynomial.deriv(1), polynomial.deriv(2))))

    def quartic(self, line: PenaltyLine) -> Vector:
        """Return the coefficients (5,) of the penalty as a polynomial in s, constant first."""
        return line.quartic

    def predict_along(self, line: PenaltyLine, s: float) -> Matrix:
        """Return Z + s T, shape (d, r)."""
        return line.Z + s * line.T

    def pieces(self, n_samples: int) -> Pieces:
        """Return the penalty itself, finely and coarsely: it is small."""
        return Pieces([self], [Group(self, 1)])

    def take(self, rows: Rows) -> Taken:
        """Return the whole penalty and None, which stands for all rows: a penalty has no measurements to select."""
        return Taken(self, None)


def squared_norm(A: Matrix) -> float:
    """Return ‖A‖², computed in float64."""
    return float(np.sum(A.astype(np.float64, copy=False) ** 2))
