"""Slow explicit references, in float64: losses one by one, distances from differences, gradients from matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Judged",
    "judge",
    "line_decrease",
    "outer_products",
    "pair_squares",
    "predict_traces",
    "squared_lengths",
]

#: The cost rises along a line if it exceeds that of the start by this share; less may be rounding.
RISE = 1e-12


class Judged(NamedTuple):
    """Values and slopes of a loss at every prediction, (m,) each."""

    value: np.ndarray
    slope: np.ndarray


def outer_products(X: np.ndarray) -> np.ndarray:
    """Return the matrices x xᵀ, shape (n, d, d), of vectors (n, d)."""
    return np.einsum("ij,ik->ijk", X, X)


def predict_traces(matrices: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return trace(G Gᵀ X_i), shape (n,), from matrices (n, d, d) and W formed explicitly."""
    W = G.astype(np.float64) @ G.astype(np.float64).T
    return np.array([np.trace(W @ matrix) for matrix in matrices])


def squared_lengths(X: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return the largest values that rounding of ‖Gᵀx‖² is relative to: ‖x‖² ‖G‖², shape (n,)."""
    return np.sum(X**2, axis=1) * np.sum(G.astype(np.float64) ** 2)


def pair_squares(X: np.ndarray, G: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return ‖Gᵀ(x_i - x_j)‖², shape (m,), from explicit differences."""
    G = G.astype(np.float64)
    return np.array([float(np.sum((G.T @ (X[i] - X[j])) ** 2)) for i, j in pairs])


def judge(loss: str, prediction: np.ndarray, target: np.ndarray, sense: np.ndarray, width: float = 1.0) -> Judged:
    """Return the values and slopes of a loss, one prediction at a time."""
    values, slopes = [], []
    for p, t, s in zip(prediction.tolist(), target.tolist(), sense.tolist(), strict=True):
        value, slope = judge_one(loss, p - t, s, width)
        values.append(value)
        slopes.append(slope)
    return Judged(np.array(values), np.array(slopes))


def judge_one(loss: str, error: float, sense: int, width: float) -> tuple[float, float]:
    """Return value and slope for one error, prediction minus target."""
    if loss == "linear":
        return (0.5 * error, 0.5) if sense < 0 else (-0.5 * error, -0.5)
    if sense * error > 0:
        return 0.0, 0.0
    if loss == "squared":
        return 0.5 * error * error, error
    inside = abs(error) <= width
    value = 0.5 * error * error if inside else width * (abs(error) - 0.5 * width)
    slope = error if inside else float(np.copysign(width, error))
    return (value, slope) if loss == "huber" else (value / width, slope / width)


def line_decrease(cost: Any, G: np.ndarray, gradient: np.ndarray) -> float:
    """Return by how much the cost decreases at most along the negative gradient, before it first rises.

    Beyond a rise there may be another valley, where a gradient that is rounding does not lead.
    """
    size, first = float(np.linalg.norm(gradient)), float(cost(G))
    if size == 0:
        return 0.0
    lowest = first
    for step in 2.0 ** np.arange(-40.0, 10.0) * float(np.linalg.norm(G)) / size:
        value = float(cost(G - step * gradient))
        if value > first + RISE * abs(first):
            break
        lowest = min(lowest, value)
    return first - lowest
