"""NumPy reference of `logdet_metric.py`, which the compiled kernels are tested against."""

from typing import Any

import numpy as np


def itml_cycle(X: Any, first: Any, second: Any, sense: Any, gamma: Any, A: Any, dual: Any, inverse: Any) -> Any:
    """Project onto every constraint once, in place on A, dual (m,) and inverse (m,), and return Σ |change of dual|."""
    change = 0.0
    for e, z in enumerate(X[first] - X[second]):
        v = A @ z
        p = z @ v
        if not p > 0:
            continue
        rho = -1 if sense[e] > 0 else 1
        alpha = gamma / (gamma + 1) * rho * (1 / p - inverse[e])
        if sense[e] != 0:
            alpha = min(dual[e], alpha)
        dual[e] -= alpha
        inverse[e] += rho * alpha / gamma
        A += rho * alpha / (1 - rho * alpha * p) * np.outer(v, v)
        change += abs(alpha)
    return change


def lego_pass(X: Any, first: Any, second: Any, target: Any, sense: Any, eta: Any, A: Any) -> Any:
    """Take one LogDet step for each violated pair, in place on A, and return the number of steps."""
    updates = 0
    for y, bound, z in zip(target, sense, X[first] - X[second], strict=True):
        v = A @ z
        p = z @ v
        if p <= 0 or p == y or bound * (p - y) > 0:
            continue
        q = eta * y * p - 1
        root = np.hypot(q, 2 * np.sqrt(eta) * p)
        s = (root + q) / (2 * eta * p) if q > 0 else 2 * p / (root - q)
        A += (s - p) / p**2 * np.outer(v, v)
        updates += 1
    return updates
