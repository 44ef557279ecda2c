"""The kernels again, in plain NumPy: what the compiled ones are tested against, and the place to read the formulas."""

from typing import Any

import numpy as np

from gramian._kernels.subspace import SMALLEST_GRAM, SMALLEST_MOMENT, SMALLEST_SHARE


def each_predict(Z: Any) -> Any:
    """Squared norms of the rows of Z, (N,)."""
    return np.sum(Z * Z, axis=1)


def each_along(Z: Any, T: Any) -> Any:
    """The coefficients b, c of ‖z + s t‖² = a + b s + c s²."""
    return 2 * np.sum(Z * T, axis=1), np.sum(T * T, axis=1)


def each_weigh(weight: Any, Z: Any) -> Any:
    """The rows of Z, each times its weight."""
    return weight[:, None] * Z


def shifted(Z: Any, T: Any, s: Any) -> Any:
    """Z + s T."""
    return Z + Z.dtype.type(s) * T


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


def squared_value_and_slopes(prediction: Any, target: Any, sense: Any, weight: Any) -> Any:
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


def huber_value_and_slopes(prediction: Any, target: Any, sense: Any, weight: Any, delta: Any) -> Any:
    """Total value, weighted slopes (m,), and Σ |slope · prediction|."""
    error = prediction - target
    error = np.where(sense * error > 0, 0, error)
    slope = np.clip(error, -delta, delta)
    value = np.sum(weight * slope * (error - slope / 2))
    return float(value), weight * slope, float(np.sum(np.abs(weight * slope * prediction)))


def huber_along(a: Any, b: Any, c: Any, target: Any, sense: Any, weight: Any, delta: Any, s: Any) -> Any:
    """Value, slope and curvature in s of the loss of the predictions a + b s + c s²."""
    error, speed = a + b * s + c * s * s - target, b + 2 * c * s
    active = np.where((sense == 0) | (sense * error < 0), weight, 0)
    clipped, inside = np.clip(error, -delta, delta), np.abs(error) < delta
    value, slope = np.sum(active * clipped * (error - clipped / 2)), np.sum(active * clipped * speed)
    return float(value), float(slope), float(np.sum(active * (inside * speed**2 + 2 * clipped * c)))


def dot(a: Any, b: Any) -> Any:
    """aᵀ b."""
    return a @ b


def solve(A: Any, b: Any, small: Any) -> Any:
    """(A + small I)⁻¹ b; the lower triangle of A, the only one read, becomes that of Cholesky's factor."""
    below = np.tril_indices(len(A))
    L = np.linalg.cholesky(A + small * np.eye(len(A)))
    A[below] = L[below]
    return np.linalg.solve(L @ L.T, b)


def subspace_weigh(frame: Any, v: Any, observed: Any, m: Any) -> Any:
    """Least-squares weights (r,) of v, 0 where not observed, on the frame; and its least pivot there, over m/d."""
    seen = frame[observed[:m]]
    w = np.linalg.lstsq(seen, v[observed[:m]], rcond=None)[0]
    pivots = np.diag(np.linalg.cholesky(seen.T @ seen + SMALLEST_GRAM * np.eye(seen.shape[1])))
    return w, 1.0 if m == len(frame) else float(pivots.min()) ** 2 * len(frame) / m


def subspace_rotate(frame: Any, e: Any, q: Any, tangent: Any) -> None:
    """Turns the frame's direction q towards e, orthogonal to the frame: the polar factor of U + tangent e qᵀ."""
    step = tangent * np.outer(e / np.linalg.norm(e), q / np.linalg.norm(q))
    left, _, right = np.linalg.svd(frame + step, full_matrices=False)
    frame[:] = left @ right


def subspace_mend(frame: Any) -> None:
    """Makes nearly orthonormal columns orthonormal, those before each taken off it."""
    Q, R = np.linalg.qr(frame)
    frame[:] = Q * np.sign(np.diag(R))


def subspace_observe(x: Any, mean: Any, counts: Any, keep: Any, center: Any, v: Any, observed: Any) -> Any:
    """v = x - the mean with x in it, 0 where x is missing; lists the entries that are not, and gives their number."""
    seen = np.flatnonzero(~np.isnan(x))
    observed[: len(seen)] = seen
    counts[seen] = keep * counts[seen] + 1
    if center:
        mean[seen] += (x[seen] - mean[seen]) / counts[seen]
    v[:] = 0
    v[seen] = x[seen] - mean[seen]
    return len(seen)


def subspace_remember(moment: Any, w: Any, keep: Any) -> Any:
    """Adds w wᵀ to the moment, what was there fading; gives its trace."""
    moment[:] = keep * moment + np.outer(w, w)
    return np.trace(moment)


def subspace_follow(X: Any, order: Any, stream: Any, keep: Any, greedy: Any, center: Any) -> None:
    """Moves a stream, in place, by the rows of X in an order; without mending, for every step is to rounding."""
    frame, moment, mean, counts, totals = stream
    d, r = frame.shape
    v, observed = np.zeros(d), np.zeros(d, np.intp)
    for x in X[order].astype(np.float64):
        m = subspace_observe(x, mean, counts, keep, center, v, observed)
        totals[1] += 1
        w, share = subspace_weigh(frame, v, observed, m) if m >= r else (v, 0.0)
        if share < SMALLEST_SHARE:
            totals[2] += 1
            continue
        e = np.where(np.isnan(x), 0, v - frame @ w)
        updates = totals[1] - totals[2]
        fading = min(keep, (updates - 1) / updates)
        trace = subspace_remember(moment, w, fading)
        totals[0] = fading * totals[0] + 1
        if w.any() and e.any():
            small = SMALLEST_MOMENT * trace * np.eye(r)
            # The polar factor of U + e qᵀ is the geodesic's point at the angle arctan(‖q‖ ‖e‖), for it is of rank one.
            q = w / (w @ w) if greedy else np.linalg.solve(moment + small, w) * d / m
            subspace_rotate(frame, e, q, np.linalg.norm(q) * np.linalg.norm(e))


def triangle_pairs(n: Any) -> Any:
    """The pairs (i, j), j < i < n, in the order of rows."""
    return np.column_stack(np.tril_indices(n, -1))


def triangle_pack(A: Any) -> Any:
    """The entries of A below the diagonal and above it, mirrored."""
    i, j = np.tril_indices(len(A), -1)
    return A[i, j], A[j, i]


def triangle_unpack(values: Any, n: Any) -> Any:
    """The symmetric matrix with these values below its diagonal."""
    A = np.zeros((n, n), values.dtype)
    i, j = np.tril_indices(n, -1)
    A[i, j] = A[j, i] = values
    return A


def nearest_of_two_kinds(
    products: Any, squares: Any, anchors: Any, labels: Any, start: Any, nearest: Any, near: Any, farther: Any, far: Any
) -> None:
    """Puts the samples of a tile into the lists of anchors: those of the anchor's label, and those of others."""
    tile = np.arange(start, start + products.shape[1])
    distances = squares[tile] - 2 * products
    same = labels[anchors][:, None] == labels[tile]
    itself = anchors[:, None] == tile
    for barred, lengths, numbers in ((~same | itself, nearest, near), (same, farther, far)):
        every = np.hstack([lengths, np.where(barred, np.inf, distances)])
        found = np.hstack([numbers, np.where(barred, -1, tile)])
        order = np.argsort(every, axis=1, kind="stable")[:, : lengths.shape[1]]
        lengths[:], numbers[:] = np.take_along_axis(every, order, axis=1), np.take_along_axis(found, order, axis=1)


def insert(distance: Any, number: Any, distances: Any, numbers: Any) -> None:
    """Puts a sample into a list sorted by distance, whose last falls out."""
    place = np.searchsorted(distances[:-1], distance, side="right")
    distances[place:] = np.r_[distance, distances[place:-1]]
    numbers[place:] = np.r_[number, numbers[place:-1]]
