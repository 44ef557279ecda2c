"""Compiled margins of anchors: each near against each far neighbour, from one distance for each neighbour.

neighbours (a, K + J) holds the indices of the K near and then of the J far samples of each anchor, and counts (a, 2)
how many of each there are. The others are ignored: they are after those that count.
"""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def margins_distances(anchors: Any, neighbours: Any, counts: Any, n_near: Any, Z: Any) -> Any:
    """Return the squared distances of anchors and their neighbours, shape (a, K + J); 0 where there is none."""
    r = Z.shape[1]
    D = np.zeros(neighbours.shape, Z.dtype)
    for i in range(neighbours.shape[0]):
        own = Z[anchors[i]]
        for side in range(2):
            first = side * n_near
            for p in range(first, first + counts[i, side]):
                other = Z[neighbours[i, p]]
                total = Z.dtype.type(0)
                for k in range(r):
                    z = own[k] - other[k]
                    total += z * z
                D[i, p] = total
    return D


@compiled
def margins_along(anchors: Any, neighbours: Any, counts: Any, n_near: Any, Z: Any, T: Any) -> Any:
    """Return the coefficients b, c of the squared distances a + b s + c s² along Z + s T, shape (a, K + J) each."""
    r = Z.shape[1]
    b = np.zeros(neighbours.shape, Z.dtype)
    c = np.zeros(neighbours.shape, Z.dtype)
    for i in range(neighbours.shape[0]):
        own, ahead = Z[anchors[i]], T[anchors[i]]
        for side in range(2):
            first = side * n_near
            for p in range(first, first + counts[i, side]):
                other, beyond = Z[neighbours[i, p]], T[neighbours[i, p]]
                mixed = Z.dtype.type(0)
                square = Z.dtype.type(0)
                for k in range(r):
                    t = ahead[k] - beyond[k]
                    mixed += (own[k] - other[k]) * t
                    square += t * t
                b[i, p] = mixed + mixed
                c[i, p] = square
    return b, c


@compiled
def margins_weigh(anchors: Any, neighbours: Any, weight: Any, Z: Any) -> Any:
    """Return L Z, shape (N, r), for the graph Laplacian of the pairs with weights (a, K + J); 0 where there is none."""
    r = Z.shape[1]
    S = np.zeros_like(Z)
    total = np.empty(r, Z.dtype)
    for i in range(neighbours.shape[0]):
        own = Z[anchors[i]]
        total[:] = 0
        for p in range(neighbours.shape[1]):
            w = weight[i, p]
            # Far samples beyond the margin, whose weight is 0, are common: skip them.
            if w != 0:
                other, sum_other = Z[neighbours[i, p]], S[neighbours[i, p]]
                for k in range(r):
                    z = w * (own[k] - other[k])
                    total[k] += z
                    sum_other[k] -= z
        sum_own = S[anchors[i]]
        for k in range(r):
            sum_own[k] += total[k]
    return S


@compiled
def margins_value_and_slopes(D: Any, counts: Any, n_near: Any, weight: Any, pull: Any, margin: Any) -> Any:
    """Return the value, its derivatives in the distances D (a, K + J), and the scale of its rounding error.

    The value is Σ_i weight_i Σ_kj ½ max(0, margin + D_ik - D_ij)² + Σ_i pull_i Σ_k D_ik, over near k and far j.
    """
    a = D.shape[0]
    number = D.dtype.type
    slopes = np.zeros(D.shape, D.dtype)
    value, scale = 0.0, 0.0
    for i in range(a):
        near, far = D[i, : counts[i, 0]], D[i, n_near : n_near + counts[i, 1]]
        to_near, to_far = slopes[i, : counts[i, 0]], slopes[i, n_near : n_near + counts[i, 1]]
        w, own, size = number(weight[i]), 0.0, 0.0
        # A distance that is not finite satisfies nothing.
        if not np.isfinite(np.sum(far)):
            value += np.inf
        for k in range(near.shape[0]):
            limit, shift = number(margin) + near[k], near[k]
            first, square, length = number(0), number(0), number(0)
            for j in range(far.shape[0]):
                excess = limit - far[j]
                excess = number(0) if excess < 0 else excess
                first += excess
                square += excess * excess
                length += excess * abs(far[j] - shift)
                to_far[j] -= w * excess
            to_near[k] = w * first + number(pull[i])
            own += 0.5 * float(square)
            size += float(length)
            value += pull[i] * float(near[k])
            scale += pull[i] * float(near[k])
        value += weight[i] * own
        scale += weight[i] * size
    return value, slopes, scale


@compiled
def margins_along_line(
    A: Any, B: Any, C: Any, counts: Any, n_near: Any, weight: Any, pull: Any, margin: Any, s: Any
) -> Any:
    """Return value, slope and curvature in s of the value at the distances A + B s + C s², (a, K + J) each."""
    value, slope, curvature = 0.0, 0.0, 0.0
    width = A.shape[1]
    distance, speed, bend = np.empty(width), np.empty(width), np.empty(width)
    for i in range(A.shape[0]):
        for p in range(width):
            b, c = float(B[i, p]), float(C[i, p])
            distance[p] = float(A[i, p]) + s * (b + s * c)
            speed[p] = b + 2.0 * s * c
            bend[p] = 2.0 * c
        stop = n_near + counts[i, 1]
        far, far_speed, far_bend = distance[n_near:stop], speed[n_near:stop], bend[n_near:stop]
        total, first, second = 0.0, 0.0, 0.0
        if not np.isfinite(np.sum(far)):
            value += np.inf
        for k in range(counts[i, 0]):
            limit, own_speed, own_bend = margin + distance[k], speed[k], bend[k]
            for j in range(far.shape[0]):
                excess = limit - far[j]
                rate = own_speed - far_speed[j]
                squared = rate * rate if excess > 0 else 0.0
                excess = 0.0 if excess < 0 else excess
                total += excess * excess
                first += excess * rate
                second += squared + excess * (own_bend - far_bend[j])
            value += pull[i] * distance[k]
            slope += pull[i] * own_speed
            curvature += pull[i] * own_bend
        value += 0.5 * weight[i] * total
        slope += weight[i] * first
        curvature += weight[i] * second
    return value, slope, curvature


@compiled
def margins_curvature(D: Any, speed: Any, counts: Any, n_near: Any, weight: Any, margin: Any) -> Any:
    """Return the weights (a, K + J) of the Gauss-Newton operator at distances D for their speeds, and its form."""
    number = D.dtype.type
    weights = np.zeros(D.shape, D.dtype)
    form = 0.0
    for i in range(D.shape[0]):
        w = number(weight[i])
        for k in range(counts[i, 0]):
            limit = number(margin) + D[i, k]
            for j in range(n_near, n_near + counts[i, 1]):
                if limit - D[i, j] > 0:
                    rate = speed[i, k] - speed[i, j]
                    weights[i, k] += w * rate
                    weights[i, j] -= w * rate
                    form += weight[i] * float(rate) * float(rate)
    return weights, form
