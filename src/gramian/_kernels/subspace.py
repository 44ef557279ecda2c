"""A frame that follows a stream of samples, some of their entries missing: one rotation of rank one a sample.

With v a sample less the mean, 0 where not observed, and w its least-squares weights on the frame U, the residual is
e = v - U w where observed; the frame turns towards it. All but the samples is float64, and changed in place.
"""

from typing import Any, NamedTuple

import numpy as np

from gramian._kernels.compiled import compiled

# After so many samples the frame is made orthonormal again; rounding grows in between.
MEND_EVERY = 64
# A sample is skipped if its observed entries hold less than this share of what is usual of a direction of the frame.
SMALLEST_SHARE = 1e-3
# What keeps the Gram matrix of the observed frame invertible, and, as a share of its trace, the moment of the weights
# before r samples are seen. The first biases the weights, the second only a step.
SMALLEST_GRAM, SMALLEST_MOMENT = 1e-15, 1e-10


class Stream(NamedTuple):
    """All that a stream remembers, in float64; changed in place.

    The frame (d, r) is orthonormal; moment (r, r) is the fading sum of w wᵀ; mean and counts (d,) are those of
    the entries observed; totals are the fading count of updates, the samples seen, and those skipped.
    """

    frame: Any
    moment: Any
    mean: Any
    counts: Any
    totals: Any


@compiled
def dot(a: Any, b: Any) -> Any:
    """aᵀ b."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@compiled
def solve(A: Any, b: Any, small: Any) -> Any:
    """(A + small I)⁻¹ b for a positive semidefinite A, by Cholesky's factor, which takes the place of A."""
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
def subspace_weigh(frame: Any, v: Any, observed: Any, m: Any) -> Any:
    """Least-squares weights (r,) of v, 0 where not observed, on the frame; and its least pivot there, over m/d."""
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
    """Turns the frame's direction q towards e by an angle given by its tangent."""
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    size = np.sqrt(dot(q, q))
    towards = tangent * cosine / np.sqrt(dot(e, e))
    for j in range(e.shape[0]):
        change = ((cosine - 1) * dot(frame[j], q) / size + towards * e[j]) / size
        for k in range(q.shape[0]):
            frame[j, k] += q[k] * change


@compiled
def subspace_mend(frame: Any) -> None:
    """Makes nearly orthonormal columns orthonormal, those before each taken off it."""
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
    """v = x - the mean with x in it, 0 where x is missing; lists the entries that are not, and gives their number."""
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
def subspace_remember(moment: Any, w: Any, keep: Any) -> Any:
    """Adds w wᵀ to the moment, what was there fading; gives its trace."""
    trace = 0.0
    for k in range(w.shape[0]):
        for i in range(w.shape[0]):
            moment[k, i] = keep * moment[k, i] + w[k] * w[i]
        trace += moment[k, k]
    return trace


@compiled
def subspace_follow(X: Any, order: Any, stream: Any, keep: Any, greedy: Any, center: Any) -> None:
    """Moves a stream, in place, by the rows of X in an order; m is the number of observed entries."""
    frame, moment, mean, counts, totals = stream
    d, r = frame.shape
    v, e, observed = np.zeros(d), np.zeros(d), np.zeros(d, np.intp)
    for i in order:
        m = subspace_observe(X[i], mean, counts, keep, center, v, observed)
        totals[1] += 1
        if totals[1] % MEND_EVERY == 0:
            subspace_mend(frame)
        w, share = subspace_weigh(frame, v, observed, m) if m >= r else (v, 0.0)
        if share < SMALLEST_SHARE:
            totals[2] += 1
            continue
        e[:] = 0.0
        for j in observed[:m]:
            e[j] = v[j] - dot(frame[j], w)
        # After t samples, sample s counts s/t: steps fall like 2/t, and the start is forgotten like 1/t².
        updates = totals[1] - totals[2]
        fading = min(keep, (updates - 1) / updates)
        trace = subspace_remember(moment, w, fading)
        totals[0] = fading * totals[0] + 1
        size, residual = np.sqrt(dot(w, w)), np.sqrt(dot(e, e))
        if size == 0 or residual == 0:
            continue
        if greedy:
            subspace_rotate(frame, e, w, residual / size)
        else:
            q = solve(moment.copy(), w, SMALLEST_MOMENT * trace)
            subspace_rotate(frame, e, q, d / m * residual * np.sqrt(dot(q, q)))
