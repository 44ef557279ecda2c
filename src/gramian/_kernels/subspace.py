"""Compiled subspace tracking: each sample, some of its entries missing, rotates an orthonormal frame once.

Let v be a sample minus the mean, 0 where not observed, and w its least-squares weights on the frame U. The residual is
e = v - U w on the observed entries and 0 elsewhere. The frame is rotated towards e. All arrays but the samples are
float64, and they are changed in place.
"""

from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.compiled import compiled

# Samples between two corrections of the rounding errors in the frame's orthonormality.
CORRECT_EVERY = 64
# A sample is skipped if the smallest squared pivot of the frame's observed rows is below this share of m/d, which is
# what m of d rows hold of a direction of the frame on average.
SMALLEST_SHARE = 5e-2
# Added to the diagonals of two matrices, so that they can be inverted: to the Gram matrix of the frame's observed rows,
# and, as a share of its trace, to the moment of the weights, which is singular before r samples are seen. The first
# biases the weights, the second only the step.
SMALLEST_GRAM, SMALLEST_MOMENT = 1e-15, 1e-10


class Stream(NamedTuple):
    """The state of a tracked subspace, arrays of float64 that are changed in place.

    The frame (d, r) is orthonormal. The moment (r, r) is the exponentially weighted sum of w wᵀ. The mean (d,) and the
    counts (d,) are those of the observed entries. The totals (3,) are the exponentially weighted number of updates, the
    number of samples seen, and the number of samples skipped.
    """

    frame: Any
    moment: Any
    mean: Any
    counts: Any
    totals: Any


@compiled
def dot(a: Any, b: Any) -> Any:
    """Return aᵀ b."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@compiled
def solve(A: Any, b: Any, small: Any) -> Any:
    """Return (A + small I)⁻¹ b, shape (r,), for a positive semidefinite A, which its Cholesky factor overwrites."""
    r = A.shape[0]
    x = b.copy()
    for k in range(r):
        A[k, k] += small
        for i in range(k, r):
            A[i, k] -= dot(A[i, :k], A[k, :k])
        # Rounding may leave a pivot that is not positive.
        A[k, k] = np.sqrt(max(A[k, k], small))
        for i in range(k + 1, r):
            A[i, k] /= A[k, k]
        x[k] = (x[k] - dot(A[k, :k], x[:k])) / A[k, k]
    for k in range(r - 1, -1, -1):
        x[k] = (x[k] - dot(A[k + 1 :, k], x[k + 1 :])) / A[k, k]
    return x


@compiled
def subspace_fit_weights(frame: Any, v: Any, observed: Any, m: Any) -> Any:
    """Return the least-squares weights (r,) of v on the frame's observed rows, and how well these rows determine them.

    observed[:m] are the indices of the m observed entries. The second value is the smallest squared Cholesky pivot of
    the observed rows' Gram matrix, divided by m/d; it is 1 for a complete sample.
    """
    d, r = frame.shape
    w = np.zeros(r)
    for j in observed[:m]:
        for k in range(r):
            w[k] += frame[j, k] * v[j]
    if m == d:
        return w, 1.0
    gram = np.zeros((r, r))
    for j in observed[:m]:
        for k in range(r):
            for i in range(k + 1):
                gram[k, i] += frame[j, k] * frame[j, i]
    w = solve(gram, w, SMALLEST_GRAM)
    return w, np.min(np.diag(gram)) ** 2 * d / m


@compiled
def subspace_rotate(frame: Any, e: Any, q: Any, tangent: Any) -> None:
    """Rotate the frame's direction q towards e, in place, by the angle of the given tangent."""
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    size = np.sqrt(dot(q, q))
    towards = tangent * cosine / np.sqrt(dot(e, e))
    for j in range(e.shape[0]):
        change = ((cosine - 1) * dot(frame[j], q) / size + towards * e[j]) / size
        for k in range(q.shape[0]):
            frame[j, k] += q[k] * change


@compiled
def subspace_reorthonormalise(frame: Any) -> None:
    """Orthonormalise the nearly orthonormal columns of the frame, in place, by the modified Gram-Schmidt process."""
    d, r = frame.shape
    for k in range(r):
        for i in range(k):
            shared = dot(frame[:, k], frame[:, i])
            for j in range(d):
                frame[j, k] -= shared * frame[j, i]
        size = np.sqrt(dot(frame[:, k], frame[:, k]))
        for j in range(d):
            frame[j, k] /= size


@compiled
def subspace_observe(x: Any, mean: Any, counts: Any, keep: Any, center: Any, v: Any, observed: Any) -> Any:
    """Write the centred sample into v and return the number m of its observed entries.

    The mean and the counts are updated with x first. v is 0 where x is missing; observed[:m] are the indices of the
    other entries.
    """
    m = 0
    for j in range(x.shape[0]):
        v[j] = 0.0
        if not np.isnan(x[j]):
            observed[m] = j
            m += 1
            counts[j] = keep * counts[j] + 1
            if center:
                mean[j] += (x[j] - mean[j]) / counts[j]
            v[j] = x[j] - mean[j]
    return m


@compiled
def subspace_update_moment(moment: Any, w: Any, keep: Any) -> Any:
    """Write keep · moment + w wᵀ into the moment (r, r) and return its trace."""
    trace = 0.0
    for k in range(w.shape[0]):
        for i in range(w.shape[0]):
            moment[k, i] = keep * moment[k, i] + w[k] * w[i]
        trace += moment[k, k]
    return trace


@compiled
def subspace_follow(X: Any, order: Any, stream: Any, keep: Any, greedy: Any, center: Any) -> None:
    """Update a stream, in place, with the rows of X in the given order."""
    frame, moment, mean, counts, totals = stream
    d, r = frame.shape
    v, e, observed = np.zeros(d), np.zeros(d), np.zeros(d, np.intp)
    for i in order:
        m = subspace_observe(X[i], mean, counts, keep, center, v, observed)
        totals[1] += 1
        if totals[1] % CORRECT_EVERY == 0:
            subspace_reorthonormalise(frame)
        w, share = subspace_fit_weights(frame, v, observed, m) if m >= r else (v, 0.0)
        if share < SMALLEST_SHARE:
            totals[2] += 1
            continue
        e[:] = 0.0
        for j in observed[:m]:
            e[j] = v[j] - dot(frame[j], w)
        # After t complete samples, sample s has weight s/t: steps decrease like 2/t, the weight of the start like 1/t².
        # Where entries are missing, the weights of the first samples, under a wrong frame, are forgotten sooner.
        updates = totals[1] - totals[2]
        fading = min(keep, ((updates - 1) / updates) ** (3 - 2 * m / d))
        trace = subspace_update_moment(moment, w, fading)
        totals[0] = fading * totals[0] + 1
        size, residual = np.sqrt(dot(w, w)), np.sqrt(dot(e, e))
        if size == 0 or residual == 0:
            continue
        if greedy:
            subspace_rotate(frame, e, w, residual / size)
        else:
            q = solve(moment.copy(), w, SMALLEST_MOMENT * trace)
            subspace_rotate(frame, e, q, d / m * residual * np.sqrt(dot(q, q)))
