"""NumPy reference of `logdet.py`, written as by Kulis, Sustik and Dhillon: M = B Bᵀ, and B <- B L for each pair."""

from typing import Any

import numpy as np


def cholesky_step(beta: Any, w: Any) -> Any:
    """Return the lower triangular L, (r, r), with L Lᵀ = I + β w wᵀ, in O(r²)."""
    L = np.eye(len(w))
    for i in range(len(w)):
        t = 1 + beta * w[i] ** 2
        L[i, i] = np.sqrt(t)
        L[i + 1 :, i] = beta * w[i] * w[i + 1 :] / np.sqrt(t)
        beta = beta / t
    return L


def logdet_sweep(
    G: Any, first: Any, second: Any, inverse: Any, sense: Any, share: Any, order: Any, dual: Any, M: Any
) -> Any:
    """Project onto every pair once, update dual (m,) and M (r, r) in place, and return Σ |change of dual|."""
    B = np.linalg.cholesky(M)
    gamma = np.inf if share == 1 else share / (1 - share)
    total = 0.0
    for e in order:
        w = B.T @ (G[first[e]] - G[second[e]])
        p = w @ w
        # ρ of the paper: +1 for "at most" and "equal", -1 for "at least". The paper's λ is ρ · dual.
        rho = -1 if sense[e] > 0 else 1
        full = share * rho * (1 / p - (inverse[e] - dual[e] / gamma))
        alpha = full if sense[e] == 0 else min(rho * dual[e], full)
        B = B @ cholesky_step(rho * alpha / (1 - rho * alpha * p), w)
        dual[e] -= rho * alpha
        total += abs(alpha)
    M[:] = B @ B.T
    return total
