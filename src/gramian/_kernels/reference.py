"""NumPy references of the compiled kernels: tests compare the two, and the formulas are easiest to read here."""

from typing import Any

import numpy as np

from gramian._kernels.subspace import SMALLEST_GRAM, SMALLEST_MOMENT, SMALLEST_SHARE


def each_predict(Z: Any) -> Any:
    """Return the squared norms of the rows of Z, shape (N,)."""
    return np.sum(Z * Z, axis=1)


def each_along(Z: Any, T: Any) -> Any:
    """Return the coefficients b, c of ‖z + s t‖² = a + b s + c s² for the rows z of Z and t of T, shape (N,) each."""
    return 2 * np.sum(Z * T, axis=1), np.sum(T * T, axis=1)


def each_weigh(weight: Any, Z: Any) -> Any:
    """Return the rows of Z, each multiplied by its weight, shape (N, r)."""
    return weight[:, None] * Z


def add_scaled(Z: Any, T: Any, s: Any) -> Any:
    """Return Z + s T, shape (N, r)."""
    return Z + Z.dtype.type(s) * T


def pairs_predict(pairs: Any, Z: Any) -> Any:
    """Return the squared distances ‖z_i - z_j‖² of the pairs, shape (m,)."""
    return each_predict(Z[pairs[:, 0]] - Z[pairs[:, 1]])


def pairs_along(pairs: Any, Z: Any, T: Any) -> Any:
    """Return the coefficients b, c of the squared distances a + b s + c s² along Z + s T, shape (m,) each."""
    return each_along(Z[pairs[:, 0]] - Z[pairs[:, 1]], T[pairs[:, 0]] - T[pairs[:, 1]])


def pairs_weigh(pairs: Any, weight: Any, Z: Any) -> Any:
    """Return L Z, shape (N, r), for the graph Laplacian L = Σ weight (e_i - e_j)(e_i - e_j)ᵀ."""
    S = np.zeros_like(Z)
    difference = weight[:, None] * (Z[pairs[:, 0]] - Z[pairs[:, 1]])
    np.add.at(S, pairs[:, 0], difference)
    np.subtract.at(S, pairs[:, 1], difference)
    return S


def triplets_predict(triplets: Any, Z: Any) -> Any:
    """Return ‖z_a - z_f‖² - ‖z_a - z_n‖² for triplets (anchor, near, far), shape (m,)."""
    return pairs_predict(triplets[:, [0, 2]], Z) - pairs_predict(triplets[:, [0, 1]], Z)


def triplets_along(triplets: Any, Z: Any, T: Any) -> Any:
    """Return the coefficients b, c of the predictions a + b s + c s² along Z + s T, shape (m,) each."""
    far, near = (pairs_along(triplets[:, [0, k]], Z, T) for k in (2, 1))
    return far[0] - near[0], far[1] - near[1]


def triplets_weigh(triplets: Any, weight: Any, Z: Any) -> Any:
    """Return (L_far - L_near) Z, shape (N, r), for the graph Laplacians of the far pairs and the near pairs."""
    return pairs_weigh(triplets[:, [0, 2]], weight, Z) - pairs_weigh(triplets[:, [0, 1]], weight, Z)


def entries_predict(entries: Any, Z: Any) -> Any:
    """Return the inner products <z_i, z_j> of the entries (i, j), shape (m,)."""
    return np.sum(Z[entries[:, 0]] * Z[entries[:, 1]], axis=1)


def entries_along(entries: Any, Z: Any, T: Any) -> Any:
    """Return the coefficients b, c of the inner products a + b s + c s² along Z + s T, shape (m,) each."""
    i, j = entries.T
    return np.sum(Z[i] * T[j] + T[i] * Z[j], axis=1), np.sum(T[i] * T[j], axis=1)


def entries_weigh(entries: Any, weight: Any, Z: Any) -> Any:
    """Return ½ (A + Aᵀ) Z, shape (N, r), for the matrix A with the weights as its entries."""
    A = np.zeros((len(Z), len(Z)), Z.dtype)
    np.add.at(A, (entries[:, 0], entries[:, 1]), weight)
    return 0.5 * (A + A.T) @ Z


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


def logistic_at(error: Any, side: Any, scale: Any) -> Any:
    """Values, slopes and curvatures of the loss of errors, prediction - target, with senses of 0, -1 or +1."""
    u = error / scale
    value = np.where(side == 0, 2 * np.log(np.cosh(u / 2)), np.log1p(np.exp(-side * u)))
    slope = np.where(side == 0, np.tanh(u / 2), -side / (1 + np.exp(side * u)))
    return scale * value, slope, np.where(side == 0, 2, 1) / (4 * scale * np.cosh(u / 2) ** 2)


def logistic_value_and_slopes(prediction: Any, target: Any, sense: Any, weight: Any, scale: Any) -> Any:
    """Total value, weighted slopes (m,), and Σ |slope · prediction|."""
    value, slope, _ = logistic_at(prediction - target, sense, scale)
    slope = weight * slope
    return float(np.sum(weight * value)), slope, float(np.sum(np.abs(slope * prediction)))


def logistic_along(a: Any, b: Any, c: Any, target: Any, sense: Any, weight: Any, scale: Any, s: Any) -> Any:
    """Value, slope and curvature in s of the loss of the predictions a + b s + c s²."""
    speed = b + 2 * c * s
    value, slope, curvature = logistic_at(a + b * s + c * s * s - target, sense, scale)
    parts = (value, slope * speed, curvature * speed**2 + 2 * slope * c)
    return tuple(float(np.sum(weight * part)) for part in parts)


def dot(a: Any, b: Any) -> Any:
    """Return aᵀ b."""
    return a @ b


def solve(A: Any, b: Any, small: Any) -> Any:
    """Return (A + small I)⁻¹ b, shape (r,); the Cholesky factor overwrites the lower triangle of A."""
    below = np.tril_indices(len(A))
    L = np.linalg.cholesky(A + small * np.eye(len(A)))
    A[below] = L[below]
    return np.linalg.solve(L @ L.T, b)


def subspace_fit_weights(frame: Any, v: Any, observed: Any, m: Any) -> Any:
    """Return the least-squares weights (r,) of v on the observed rows, and their smallest squared pivot over m/d."""
    seen = frame[observed[:m]]
    w = np.linalg.lstsq(seen, v[observed[:m]], rcond=None)[0]
    pivots = np.diag(np.linalg.cholesky(seen.T @ seen + SMALLEST_GRAM * np.eye(seen.shape[1])))
    return w, 1.0 if m == len(frame) else float(pivots.min()) ** 2 * len(frame) / m


def subspace_rotate(frame: Any, e: Any, q: Any, tangent: Any) -> None:
    """Replace the frame U, in place, by the polar factor of U + tangent e qᵀ, for unit e, q and e orthogonal to U."""
    step = tangent * np.outer(e / np.linalg.norm(e), q / np.linalg.norm(q))
    left, _, right = np.linalg.svd(frame + step, full_matrices=False)
    frame[:] = left @ right


def subspace_reorthonormalise(frame: Any) -> None:
    """Orthonormalise the nearly orthonormal columns of the frame, in place, by a QR factorisation."""
    Q, R = np.linalg.qr(frame)
    frame[:] = Q * np.sign(np.diag(R))


def subspace_observe(x: Any, mean: Any, counts: Any, keep: Any, center: Any, v: Any, observed: Any) -> Any:
    """Write the centred sample into v and return the number of its observed entries."""
    seen = np.flatnonzero(~np.isnan(x))
    observed[: len(seen)] = seen
    counts[seen] = keep * counts[seen] + 1
    if center:
        mean[seen] += (x[seen] - mean[seen]) / counts[seen]
    v[:] = 0
    v[seen] = x[seen] - mean[seen]
    return len(seen)


def subspace_update_moment(moment: Any, w: Any, keep: Any) -> Any:
    """Write keep · moment + w wᵀ into the moment (r, r) and return its trace."""
    moment[:] = keep * moment + np.outer(w, w)
    return np.trace(moment)


def subspace_follow(X: Any, order: Any, stream: Any, keep: Any, greedy: Any, center: Any) -> None:
    """Update a stream, in place, with the rows of X in the given order.

    The frame needs no correction, because each polar factor is orthonormal up to rounding.
    """
    frame, moment, mean, counts, totals = stream
    d, r = frame.shape
    v, observed = np.zeros(d), np.zeros(d, np.intp)
    for x in X[order].astype(np.float64):
        m = subspace_observe(x, mean, counts, keep, center, v, observed)
        totals[1] += 1
        w, share = subspace_fit_weights(frame, v, observed, m) if m >= r else (v, 0.0)
        if share < SMALLEST_SHARE:
            totals[2] += 1
            continue
        e = np.where(np.isnan(x), 0, v - frame @ w)
        updates = totals[1] - totals[2]
        fading = min(keep, ((updates - 1) / updates) ** (3 - 2 * m / d))
        trace = subspace_update_moment(moment, w, fading)
        totals[0] = fading * totals[0] + 1
        if w.any() and e.any():
            small = SMALLEST_MOMENT * trace * np.eye(r)
            # e qᵀ has rank one, so the polar factor of U + e qᵀ is on the geodesic, at the angle arctan(‖q‖ ‖e‖).
            q = w / (w @ w) if greedy else np.linalg.solve(moment + small, w) * d / m
            subspace_rotate(frame, e, q, np.linalg.norm(q) * np.linalg.norm(e))


def triangle_pairs(n: Any) -> Any:
    """Return the pairs (i, j), j < i < n, ordered by i and then j, shape (n (n - 1)/2, 2)."""
    return np.column_stack(np.tril_indices(n, -1))


def triangle_pack(A: Any) -> Any:
    """Return the entries A_ij and A_ji of the pairs j < i, shape (n (n - 1)/2,) each."""
    i, j = np.tril_indices(len(A), -1)
    return A[i, j], A[j, i]


def triangle_unpack(values: Any, n: Any) -> Any:
    """Return the symmetric matrix, shape (n, n), with these values below its diagonal and zeros on it."""
    A = np.zeros((n, n), values.dtype)
    i, j = np.tril_indices(n, -1)
    A[i, j] = A[j, i] = values
    return A


def count_within(row: Any, squares: Any, limit: Any) -> Any:
    """Return how many of squares[m] - 2 row[m] are at most the limit."""
    return np.count_nonzero(squares - 2 * row <= limit)


def update_list(row: Any, squares: Any, order: Any, skip: Any, distances: Any, indices: Any) -> None:
    """Update one list of nearest samples (k,) with the t columns of a row, all but column `skip`."""
    for m, distance in enumerate(squares - 2 * row):
        if m != skip and (distance, order[m]) < (distances[-1], indices[-1]):
            insert_sorted(distance, order[m], distances, indices)


def update_neighbours(
    products: Any,
    squares: Any,
    anchors: Any,
    starts: Any,
    stops: Any,
    order: Any,
    start: Any,
    same_distances: Any,
    same_indices: Any,
    other_distances: Any,
    other_indices: Any,
) -> None:
    """Update each anchor's lists of nearest samples, of its own label and of others, in place, with a new tile."""
    tile = np.arange(start, start + products.shape[1])
    distances = squares[tile] - 2 * products
    same = (starts[:, None] <= tile) & (tile < stops[:, None])
    itself = anchors[:, None] == tile
    lists = ((~same | itself, same_distances, same_indices), (same, other_distances, other_indices))
    for excluded, nearest, indices in lists:
        candidates = np.hstack([nearest, np.where(excluded, np.inf, distances)])
        candidate_indices = np.hstack([indices, np.where(excluded, -1, order[tile])])
        ranks = np.lexsort((candidate_indices, candidates), axis=1)[:, : nearest.shape[1]]
        nearest[:] = np.take_along_axis(candidates, ranks, axis=1)
        indices[:] = np.take_along_axis(candidate_indices, ranks, axis=1)


def insert_sorted(distance: Any, index: Any, distances: Any, indices: Any) -> None:
    """Insert a sample into lists (k,) sorted by ascending distance, then index, in place; the last is dropped."""
    closer = (distances[:-1] < distance) | ((distances[:-1] == distance) & (indices[:-1] <= index))
    place = np.count_nonzero(closer)
    distances[place:] = np.r_[distance, distances[place:-1]]
    indices[place:] = np.r_[index, indices[place:-1]]
