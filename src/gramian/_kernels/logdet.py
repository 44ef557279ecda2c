"""Cyclic projections of the LogDet divergence on distances of pairs, compiled: one pass over the core a projection.

With v = g_i - g_j in the start G and the core M = (I + Σ μ v vᵀ)⁻¹, the squared distance of a pair is p = vᵀMv. A
projection moves one dual variable μ to where it is best, the others staying; M follows by a change of rank one.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def projected(p: Any, inverse: Any, sense: Any, share: Any, dual: Any) -> Any:
    """The dual variable after a projection, 0 where the bound has nothing to hold; share is γ/(γ + 1)."""
    new = share * (dual + inverse - 1 / p)
    return 0.0 if sense * new > 0 else new


@compiled
def logdet_sweep(
    G: Any, first: Any, second: Any, inverse: Any, sense: Any, share: Any, order: Any, dual: Any, M: Any
) -> Any:
    """Projects on every pair once, in an order, in place on dual (m,) and on M (r, r). Returns Σ |change of dual|.

    G is (n, r), no pair coincides in it; inverse, one over the targets, is (m,). The change β q qᵀ of M waits for the
    next pair, whose product with M then costs no pass of its own.
    """
    r = G.shape[1]
    v, q, old = np.zeros(r), np.zeros(r), np.zeros(r)
    beta = 0.0
    total = 0.0
    for e in order:
        a, b = first[e], second[e]
        for k in range(r):
            v[k] = G[a, k] - G[b, k]
            old[k] = q[k]
        p = 0.0
        for k in range(r):
            t = 0.0
            if beta == 0:
                for j in range(r):
                    t += M[k, j] * v[j]
            else:
                c = beta * old[k]
                for j in range(r):
                    M[k, j] += c * old[j]
                    t += M[k, j] * v[j]
            q[k] = t
            p += v[k] * t
        change = dual[e] - projected(p, inverse[e], sense[e], share, dual[e])
        dual[e] -= change
        total += abs(change)
        beta = change / (1 - change * p)
    for k in range(r):
        for j in range(r):
            M[k, j] += beta * q[k] * q[j]
    return total
