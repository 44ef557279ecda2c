"""Penalties: parts of an objective that look at W itself, in a block on `Identity` features, where Z = G."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian.types import Matrix, Rows, Vector

__all__ = ["Toward"]

#: A symmetric matrix Σ factor · A Bᵀ, never formed.
Products = list[tuple[float, Matrix, Matrix]]


@dataclass(frozen=True, eq=False)
class Toward:
    """½ strength ‖W - W₀‖² / ‖W₀‖²: the price of leaving W₀ = G₀ G₀ᵀ.

    W and W₀ are never formed: O(d r (r + k)) for factors (d, r) and (d, k).

    Parameters
    ----------
    factor : array, shape (d, k)
        G₀.
    strength : float

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.penalties import Toward
    >>> penalty = Toward(np.eye(2), strength=4.0)
    >>> value, _, _ = penalty.value_and_slopes(penalty.predict(2 * np.eye(2)))
    >>> value  # ½ · 4 · ‖4 I - I‖² / ‖I‖²
    18.0
    """

    factor: Matrix
    strength: float = 1.0
    separable = False

    def __post_init__(self) -> None:
        if not self.square > 0:
            raise ValueError("factor is zero; there is nothing to keep close to.")

    @cached_property
    def square(self) -> float:
        """‖W₀‖²."""
        return squared_norm(self.factor.T @ self.factor)

    @property
    def scale(self) -> float:
        """strength / ‖W₀‖²."""
        return self.strength / self.square

    def check(self, n_samples: int) -> None:
        """A ValueError unless there are as many coordinates as the factor has rows."""
        if n_samples != len(self.factor):
            raise ValueError(f"factor has {len(self.factor)} rows, but there are {n_samples} coordinates.")

    def predict(self, Z: Matrix) -> Matrix:
        """G itself."""
        return Z

    def value_and_slopes(self, prediction: Matrix) -> tuple[float, Products, float]:
        """Value, M = W - W₀ as products, and the scale of the value's rounding error."""
        G, G0, scale = prediction, self.factor, self.scale
        own, mixed = squared_norm(G.T @ G), squared_norm(G0.T @ G)
        value = 0.5 * scale * max(own - 2 * mixed + self.square, 0.0)
        return value, [(scale, G, G), (-scale, G0, G0)], scale * (own + mixed)

    def weigh(self, weights: Products, Z: Matrix) -> Matrix:
        """Σ factor · A (Bᵀ Z)."""
        total = np.zeros_like(Z)
        for scale, A, B in weights:
            total += scale * (A @ (B.T @ Z))
        return total

    def gauss_newton(self, prediction: Matrix, Z: Matrix, velocity: Matrix) -> tuple[Products, float]:
        """dW/ds = Z Vᵀ + V Zᵀ as products, and its squared norm."""
        scale = self.scale
        form = 2 * float(np.vdot(Z.T @ Z, velocity.T @ velocity)) + 2 * float(np.vdot(velocity.T @ Z, Z.T @ velocity))
        return [(scale, Z, velocity), (scale, velocity, Z)], scale * form

    def line(self, prediction: Matrix, Z: Matrix, T: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """The quartic, constant first, and Z and T."""
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
        return 0.5 * self.scale * quartic, Z, T

    def along(self, line: tuple[Vector, Matrix, Matrix], s: float) -> tuple[float, float, float]:
        """Value, slope and curvature at s."""
        polynomial = np.polynomial.Polynomial(line[0])
        return float(polynomial(s)), float(polynomial.deriv(1)(s)), float(polynomial.deriv(2)(s))

    def quartic(self, line: tuple[Vector, Matrix, Matrix]) -> Vector:
        """The quartic."""
        return line[0]

    def predict_along(self, line: tuple[Vector, Matrix, Matrix], s: float) -> Matrix:
        """Z + s T."""
        return line[1] + s * line[2]

    def parts(self, n_samples: int) -> list[Toward]:
        """Return the penalty itself, which is small."""
        return [self]

    def take(self, rows: Rows) -> tuple[Toward, Rows | None]:
        """The whole: a penalty has no rows."""
        return self, None


def squared_norm(A: Matrix) -> float:
    """‖A‖², in float64."""
    return float(np.sum(A.astype(np.float64, copy=False) ** 2))
