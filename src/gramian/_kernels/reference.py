"""The kernels again, in plain NumPy: what the compiled ones are tested against, and the place to read the formulas."""

from typing import Any

import numpy as np


def each_predict(Z: Any) -> Any:
    """Squared norms of the rows of Z, (N,)."""
    return np.sum(Z * Z, axis=1)


def each_along(Z: Any, T: Any) -> Any:
    """The coefficients b, c of ‖z + s t‖² = a + b s + c s²."""
    return 2 * np.sum(Z * T, axis=1), np.sum(T * T, axis=1)


def each_weigh(weight: Any, Z: Any) -> Any:
    """The rows of Z, each times its weight."""
    return weight[:, None] * Z


def pairs_predict(pairs: Any, Z: Any) -> Any:
    """Squared distances ‖z_i - z_j‖², (m,)."""
    return each_predict(Z[pairs[:, 0]] - Z[pairs[:, 1]])


def pairs_along(pairs: Any, Z: Any, T: Any) -> Any:
    """The coefficients b, c of the squared distances along Z + s T."""
    return each_along(Z[pairs[:, 0]] - Z[pairs[:, 1]], T[pairs[:, 0]] - T[pairs[:, 1]])


def pairs_weigh(pairs: Any, weight: Any, Z: Any) -> Any:
    """L Z for the graph Laplacian L = Σ weight (e_i - e_j)(e_i - e_j)ᵀ."""
    S = np.zeros_like(Z)
    difference = weight[:, None] * (Z[pairs[:, 0]] - Z[pairs[:, 1]])
    np.add.at(S, pairs[:, 0], difference)
    np.subtract.at(S, pairs[:, 1], difference)
    return S


def triplets_predict(triplets: Any, Z: Any) -> Any:
    """‖z_a - z_f‖² - ‖z_a - z_n‖² for triplets (anchor, near, far), (m,)."""
    return pairs_predict(triplets[:, [0, 2]], Z) - pairs_predict(triplets[:, [0, 1]], Z)


def triplets_along(triplets: Any, Z: Any, T: Any) -> Any:
    """The coefficients b, c of the differences of squared distances along Z + s T."""
    far, near = (pairs_along(triplets[:, [0, k]], Z, T) for k in (2, 1))
    return far[0] - near[0], far[1] - near[1]


def triplets_weigh(triplets: Any, weight: Any, Z: Any) -> Any:
    """(L_far - L_near) Z for the graph Laplacians of the far and of the near pairs."""
    return pairs_weigh(triplets[:, [0, 2]], weight, Z) - pairs_weigh(triplets[:, [0, 1]], weight, Z)


def squared_judge(prediction: Any, target: Any, sense: Any, weight: Any) -> Any:
    """Total value, weighted slopes (m,), and Σ |slope · prediction|."""
    error = prediction - target
    slope = np.where((sense == 0) | (sense * error < 0), weight * error, 0)
    return float(0.5 * np.sum(slope * error)), slope, float(np.sum(np.abs(slope * prediction)))


def squared_along(a: Any, b: Any, c: Any, target: Any, sense: Any, weight: Any, s: Any) -> Any:
    """Value, slope and curvature in s of the loss of the predictions a + b s + c s²."""
    error, speed = a + b * s + c * s * s - target, b + 2 * c * s
    active = np.where((sense == 0) | (sense * error < 0), weight, 0)
    value, slope = 0.5 * np.sum(active * error**2), np.sum(active * error * speed)
    return float(value), float(slope), float(np.sum(active * (speed**2 + 2 * error * c)))


def squared_quartic(a: Any, b: Any, c: Any, target: Any, weight: Any) -> Any:
    """Coefficients (5,), constant first, of ½ Σ weight (a - target + b s + c s²)²."""
    parts = np.stack([a - target, b, c])
    gram = (weight * parts) @ parts.T
    return 0.5 * np.array([np.trace(gram[:, ::-1], offset=2 - k) for k in range(5)])
