"""Measurements of pairs at rank 2, that of most maps: without a loop over the columns they take half the time."""

from typing import Any

from gramian._kernels.compiled import helper


@helper
def plane_along(pairs: Any, Z: Any, T: Any, b: Any, c: Any) -> None:
    """Write the coefficients of `pairs_along` for images (N, 2)."""
    for e in range(pairs.shape[0]):
        i, j = pairs[e, 0], pairs[e, 1]
        t, u = T[i, 0] - T[j, 0], T[i, 1] - T[j, 1]
        mixed = (Z[i, 0] - Z[j, 0]) * t + (Z[i, 1] - Z[j, 1]) * u
        b[e] = mixed + mixed
        c[e] = t * t + u * u


@helper
def plane_weigh(pairs: Any, weight: Any, Z: Any, S: Any) -> None:
    """Add L Z of `pairs_weigh` to S for an image (N, 2).

    The sums of pairs with the same first sample stay in registers until another one follows.
    """
    if pairs.shape[0] == 0:
        return
    zero = Z.dtype.type(0)
    current, x, y = pairs[0, 0], zero, zero
    for e in range(pairs.shape[0]):
        i, j, w = pairs[e, 0], pairs[e, 1], weight[e]
        if i != current:
            S[current, 0] += x
            S[current, 1] += y
            current, x, y = i, zero, zero
        if w != 0:
            t, u = w * (Z[i, 0] - Z[j, 0]), w * (Z[i, 1] - Z[j, 1])
            x += t
            y += u
            S[j, 0] -= t
            S[j, 1] -= u
    S[current, 0] += x
    S[current, 1] += y
