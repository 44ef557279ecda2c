"""Known dissimilarities: read from matrices or pairs, checked, merged; and the embeddings to start from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse.linalg
from scipy.sparse.csgraph import connected_components, dijkstra

from gramian._kernels.triangles import triangle_pack, triangle_pairs, triangle_unpack
from gramian.checks import checked_number
from gramian.estimators.checks import checked_weight
from gramian.estimators.supervision import checked_pairs
from gramian.measurements.measurement import checked_indices
from gramian.types import Matrix, Vector

__all__ = ["Known", "checked_graph", "classical", "extended", "from_matrix", "from_pairs", "merged", "turned"]

# An incomplete matrix starts from classical scaling of so many samples, by shortest paths; the others follow.
LANDMARKS = 50


class Known(NamedTuple):
    """Known dissimilarities, squared, of pairs (larger, smaller number) in the order of a lower triangle's rows."""

    n_samples: int
    pairs: Matrix
    squared: Vector
    weight: Vector

    @property
    def complete(self) -> bool:
        """True where no pair is unknown, each being there once."""
        return len(self.pairs) == self.n_samples * (self.n_samples - 1) // 2

    def take(self, rows: Vector) -> Known:
        """Some of them."""
        if np.array_equal(rows, np.arange(len(self.pairs))):
            return self
        return Known(self.n_samples, self.pairs[rows], self.squared[rows], self.weight[rows])

    def unique(self) -> tuple[Vector, Vector]:
        """The first of each pair, by its place in the lower triangle, and which of these every pair is."""
        keys = self.pairs[:, 0] * (self.pairs[:, 0] - 1) // 2 + self.pairs[:, 1]
        return np.unique(keys, return_index=True, return_inverse=True)[1:]


def from_matrix(X: Matrix, sample_weight: Any, squared: bool) -> Known:
    """What a square matrix makes known, each pair once."""
    n = X.shape[0]
    if X.shape != (n, n):
        raise ValueError(f"X has shape {X.shape}; expected a square matrix, or metric='euclidean' for features.")
    pairs = triangle_pairs(n)
    values = lower("X", X, pairs)
    if sample_weight is not None and np.asarray(sample_weight).shape == (n, n):
        weight = checked_weight(lower("sample_weight", np.asarray(sample_weight, X.dtype), pairs), len(pairs), X.dtype)
    else:
        weight = np.multiply(*checked_weight(sample_weight, n, X.dtype)[pairs.T])
    known = with_squares(
        Known(n, pairs, values, weight).take(np.flatnonzero(~np.isnan(values) & (weight > 0))), squared
    )
    if (bad := np.flatnonzero(np.abs(np.diagonal(X)) > rounding(X))).size:
        raise ValueError(f"X[{bad[0]}, {bad[0]}] = {X[bad[0], bad[0]]}; the diagonal must be 0, or NaN.")
    return known


def rounding(values: Matrix) -> float:
    """Differences up to this are by rounding."""
    return float(np.finfo(values.dtype).eps) ** 0.5 * float(np.fmax.reduce(np.abs(values), axis=None, initial=0))


def lower(name: str, matrix: Matrix, pairs: Matrix) -> Vector:
    """The entries below the diagonal, or above where those are NaN; a ValueError where both are known and differ."""
    below, above = triangle_pack(np.ascontiguousarray(matrix))
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(np.abs(below - above) > rounding(matrix))
    if bad.size:
        i, j = pairs[bad[0]]
        raise ValueError(f"{name} is not symmetric: [{i}, {j}] is {matrix[i, j]}, but [{j}, {i}] is {matrix[j, i]}.")
    unknown = np.isnan(below)
    return np.where(unknown, above, below) if unknown.any() else below


def from_pairs(pairs: Any, dissimilarity: Any, n_samples: int | None, sample_weight: Any, squared: bool) -> Known:
    """What pairs make known, each once."""
    checked_number("n_samples", 2 if n_samples is None else n_samples, least=2, integer=True)
    if n_samples is None:
        n_samples = int(checked_indices(pairs, "pairs", 2, None).max(initial=1)) + 1
    pairs = checked_pairs(pairs, n_samples)
    values = np.asarray(dissimilarity)
    values = values if values.dtype == np.float32 else values.astype(np.float64)
    if values.shape != (len(pairs),):
        raise ValueError(f"dissimilarity has shape {values.shape}; expected one for each of {len(pairs)} pairs.")
    weight = checked_weight(sample_weight, len(pairs), values.dtype)
    known = with_squares(Known(int(n_samples), np.sort(pairs, axis=1)[:, ::-1], values, weight), squared)
    return once(known.take(np.flatnonzero(weight)))


def with_squares(known: Known, squared: bool) -> Known:
    """Dissimilarities checked, and squared where they are not."""
    values = known.squared
    if (bad := np.flatnonzero(~((values >= 0) & np.isfinite(values)))).size:
        (j, i), value = known.pairs[bad[0]], values[bad[0]]
        kind = "Negative" if value < 0 else "Unknown or infinite"
        raise ValueError(f"{kind} values in data: the dissimilarity of samples {i} and {j} is {value}.")
    # The objective has fourth powers of distances.
    if values.max(initial=0) > float(np.finfo(values.dtype).max) ** (0.5 if squared else 0.25):
        raise ValueError(f"the SSTRESS of a dissimilarity of {values.max()} overflows. Scale them down.")
    return known if squared else known._replace(squared=values**2)


def once(known: Known) -> Known:
    """Each pair once, in order, with the sum of its weights; a ValueError where two dissimilarities contradict."""
    first, copies = known.unique()
    kept = known.take(first)
    if (bad := np.flatnonzero(np.abs(known.squared - kept.squared[copies]) > rounding(known.squared))).size:
        j, i = known.pairs[bad[0]]
        raise ValueError(f"the pair ({i}, {j}) is given more than once, with different dissimilarities. Give it once.")
    return kept._replace(weight=np.bincount(copies, known.weight).astype(known.weight.dtype))


def merged(before: Known, new: Known) -> Known:
    """What is new, and what was known before of other pairs."""
    columns = [np.concatenate(both).astype(both[1].dtype) for both in zip(new[1:], before[1:], strict=True)]
    together = Known(max(before.n_samples, new.n_samples), *columns)
    return together.take(together.unique()[0])


def checked_graph(known: Known, r: int) -> Any:
    """Distances as a sparse lower triangle, those of 0 kept, or None where all are known.

    A ValueError unless they join all samples, more than r.
    """
    checked_number("n_components", r, least=1, integer=True)
    if r >= known.n_samples:
        raise ValueError(f"n_components={r} is not below n_samples={known.n_samples}. Choose a smaller one.")
    if not known.complete:
        check_seen(known)
    if not known.squared.any():
        raise ValueError("every known dissimilarity is 0: there is nothing to embed.")
    return None if known.complete else joining_graph(known)


def check_seen(known: Known) -> None:
    """A ValueError that names the first sample in no pair."""
    # No more than this is made before it is clear that n_samples is no mistake.
    seen = np.zeros(min(known.n_samples, 2 * len(known.pairs) + 1), bool)
    seen[known.pairs[known.pairs < len(seen)]] = True
    if not seen.all():
        raise ValueError(f"sample {np.argmin(seen)} has no known dissimilarity; give one, or drop the sample.")


def joining_graph(known: Known) -> Any:
    """Distances as a sparse lower triangle; a ValueError unless they join all samples."""
    graph = scipy.sparse.csr_array((np.sqrt(known.squared), tuple(known.pairs.T)), shape=(known.n_samples,) * 2)
    parts, labels = connected_components(graph, directed=False)
    if parts > 1:
        some = ", ".join(str(i) for i in np.unique(labels, return_index=True)[1][:5])
        raise ValueError(f"known dissimilarities leave {parts} parts unconnected: samples {some}. Embed each alone.")
    return graph


def classical(known: Known, graph: Any, r: int) -> Matrix:
    """Classical scaling (n, r); where entries are unknown, of shortest paths in the graph from some landmarks."""
    n = known.n_samples
    landmarks: Any = slice(None)
    if known.complete:
        squares = triangle_unpack(known.squared, n)
    else:
        landmarks = np.random.default_rng(0).permutation(n)[: max(LANDMARKS, 2 * r)]
        squares = dijkstra(graph, directed=False, indices=landmarks).astype(known.squared.dtype) ** 2
    products = -0.5 * (squares - squares[:, landmarks].mean(axis=1, keepdims=True))
    core = products[:, landmarks] - products[:, landmarks].mean(axis=0)
    k = len(core)
    if k <= max(10 * r, 4 * LANDMARKS):
        values, vectors = (part[..., -r:] for part in np.linalg.eigh(core))
    else:
        start = np.random.default_rng(0).standard_normal(k)
        values, vectors = scipy.sparse.linalg.eigsh(core, k=r, which="LA", v0=start.astype(core.dtype), tol=1e-4)
    if not values[-1] > 0:
        return np.random.default_rng(0).standard_normal((n, r)).astype(core.dtype)
    placed = products.T @ vectors
    # No dimension may be lost: the worse the fit, the more is left of those with small or negative eigenvalues.
    missing = max(float(np.vdot(core, core) - np.vdot(values, values)), 0.0) ** 0.5 / values[-1]
    least = max(1e-2 * min(missing, 1.0), 1e-10) * values[-1]
    small = np.maximum(np.linalg.norm(placed, axis=0), np.finfo(core.dtype).tiny) / np.sqrt(least * n / k)
    return placed / np.where(values > least, np.sqrt(np.abs(values)), small)


def extended(embedding: Matrix, known: Known, r: int) -> Matrix:
    """An embedding with new samples added, each placed from its neighbours of smaller numbers; at random without."""
    n, total = len(embedding), known.n_samples
    if embedding.shape[1] != r:
        raise ValueError(f"n_components={r}, but the embedding has {embedding.shape[1]} columns. Call fit instead.")
    new = embedding.std() * np.random.default_rng(0).standard_normal((total - n, r))
    G = np.concatenate([embedding, new]).astype(known.squared.dtype)
    cuts = np.searchsorted(known.pairs[:, 0], np.arange(n, total + 1))
    for sample, first, last in zip(range(n, total), cuts[:-1], cuts[1:], strict=True):
        if last > first:
            G[sample] = located(G[known.pairs[first:last, 1]], known.squared[first:last])
    return G


def located(neighbours: Matrix, squares: Vector) -> Vector:
    """The place (r,) at squared distances from neighbours (k, r): least squares, and outwards across their span."""
    centre = neighbours.mean(axis=0)
    spread = neighbours - centre
    excess = np.sum(spread**2, axis=1) - squares
    step, _, rank, _ = np.linalg.lstsq(spread, 0.5 * (excess - excess.mean()), rcond=1e-3)
    left = -float(excess.mean() + step @ step)
    if rank < len(step) and left > 0:
        across = np.linalg.eigh(spread.T @ spread)[1][:, 0]
        step = step + np.copysign(left**0.5, centre @ across) * across
    return centre + step


def turned(G: Matrix, before: Matrix | None) -> Matrix:
    """Turned and shifted: the first samples nearest to where they were before; without, onto principal axes."""
    common = G if before is None else G[: len(before)]
    G, common = G - common.mean(axis=0), common - common.mean(axis=0)
    if before is None:
        G = G @ np.linalg.svd(G, full_matrices=False)[2].T
        return np.where(G[np.argmax(np.abs(G), axis=0), np.arange(G.shape[1])] < 0, -G, G)
    left, _, right = np.linalg.svd(common.T @ (before - before.mean(axis=0)))
    return (G @ (left @ right) + before.mean(axis=0)).astype(G.dtype)
