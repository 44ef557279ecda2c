"""Compiled cyclic Bregman projections of the LogDet divergence, one for each bound on the distance of a pair.

With v = g_i - g_j for rows of the start G, and the core M = (I + Σ μ v vᵀ)⁻¹, the squared distance of a pair is
p = vᵀMv. A projection maximises the dual over one variable μ and keeps the others fixed; M changes by a matrix of rank
one. Each projection reads M once.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def project_dual(p: Any, inverse: Any, sense: Any, share: Any, dual: Any) -> Any:
    """Return the dual variable of one pair after its projection, 0 if its bound is inactive; share is γ/(γ + 1)."""
    new = share * (dual + inverse - 1 / p)
    return 0.0 if sense * new > 0 else new


@compiled
def logdet_sweep(
    G: Any, first: Any, second: Any, inverse: Any, sense: Any, share: Any, order: Any, dual: Any, M: Any
) -> Any:
    """Project onto every pair once, update dual (m,) and M (r, r) in place, and return Σ |change of dual|.

    G is (n, r), and the samples of a pair never have equal rows in it. inverse (m,) holds 1/target. order (m,) lists
    the pairs as they are visited. The update β q qᵀ of M is applied while M is read for the next pair, so that each
    pair reads M once.
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
        change = dual[e] - project_dual(p, inverse[e], sense[e], share, dual[e])
        dual[e] -= change
        total += abs(change)
        beta = change / (1 - change * p)
    for k in range(r):
        for j in range(r):
            M[k, j] += beta * q[k] * q[j]
    return total
