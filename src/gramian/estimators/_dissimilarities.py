"""Dissimilarities read from matrices or pairs, checked and merged; and embeddings extended by new samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances

from gramian._kernels.triangles import triangle_pack, triangle_pairs
from gramian.checks import as_numbers, check_kind, check_number, check_powers, validate_weight
from gramian.extremes import largest
from gramian.measurements.measurement import check_indices
from gramian.starts.classical_scaling import Dissimilarities
from gramian.supervision.checks import validate_pairs
from gramian.types import Matrix, Vector

__all__ = [
    "add_samples",
    "align",
    "check_and_connect",
    "distances_of_samples",
    "merge_dissimilarities",
    "read_matrix",
    "read_pairs",
]

#: Metrics that do not depend on the origin of the samples.
INVARIANT = ("euclidean", "l2", "sqeuclidean")

# An embedding whose size is off by this factor is rescaled.
FAR = 1024.0
# An embedding is shifted by at most this multiple of its size.
LARGEST_SHIFT = 1e3


def distances_of_samples(X: Matrix, metric: Any, embedded: int = 0) -> Matrix:
    """Return the distances (n, n) of samples (n, d) by a metric of scikit-learn, its name or a function.

    Raises a ValueError if there are fewer samples than the `embedded` ones, which come first in each call of a stream.
    """
    if len(X) < embedded:
        raise ValueError(
            f"X has {len(X)} samples, but {embedded} are embedded. Give the rows of all {embedded}, then new ones; or "
            "call fit to start anew."
        )
    if isinstance(metric, str) and metric in INVARIANT:
        # Differences of squares, by which they are computed, lose their digits far from the origin.
        X = X - X.mean(axis=0)
    return pairwise_distances(X, metric=metric)


def read_matrix(X: Matrix, sample_weight: Any, squared: bool) -> Dissimilarities:
    """Return the squared dissimilarities of a matrix (n, n), each known pair once."""
    n = X.shape[0]
    if X.shape != (n, n):
        raise ValueError(f"X has shape {X.shape}; expected a square matrix, or metric='euclidean' for features.")
    pairs = triangle_pairs(n)
    values = read_lower_triangle("X", X, pairs)
    check_kind("sample_weight", sample_weight)
    if sample_weight is not None and np.asarray(sample_weight).shape == (n, n):
        weight = validate_weight(
            read_lower_triangle("sample_weight", np.asarray(sample_weight, X.dtype), pairs), len(pairs), X.dtype
        )
    else:
        weight = np.multiply(*validate_weight(sample_weight, n, X.dtype)[pairs.T])
    known = check_and_square(
        Dissimilarities(n, pairs, values, weight).take(np.flatnonzero(~np.isnan(values) & (weight > 0))), squared
    )
    if (bad := np.flatnonzero(np.abs(np.diagonal(X)) > rounding_tolerance(X))).size:
        raise ValueError(f"X[{bad[0]}, {bad[0]}] = {X[bad[0], bad[0]]}; the diagonal must be 0, or NaN.")
    return known


def rounding_tolerance(values: Matrix) -> float:
    """Return the largest difference between entries that counts as rounding."""
    return float(np.finfo(values.dtype).eps) ** 0.5 * float(np.fmax.reduce(np.abs(values), axis=None, initial=0))


def read_lower_triangle(name: str, matrix: Matrix, pairs: Matrix) -> Vector:
    """Return the entries (m,) below the diagonal; NaN are replaced by the entries above it.

    Raises a ValueError if the matrix is not symmetric.
    """
    below, above = triangle_pack(np.ascontiguousarray(matrix))
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(np.abs(below - above) > rounding_tolerance(matrix))
    if bad.size:
        i, j = pairs[bad[0]]
        raise ValueError(f"{name} is not symmetric: [{i}, {j}] is {matrix[i, j]}, but [{j}, {i}] is {matrix[j, i]}.")
    unknown = np.isnan(below)
    return np.where(unknown, above, below) if unknown.any() else below


def read_pairs(
    pairs: Any, dissimilarity: Any, n_samples: int | None, sample_weight: Any, squared: bool
) -> Dissimilarities:
    """Return the squared dissimilarities of pairs (m, 2), each pair once."""
    check_number("n_samples", 2 if n_samples is None else n_samples, least=2, integer=True)
    if n_samples is None:
        n_samples = int(check_indices(pairs, "pairs", 2, None).max(initial=1)) + 1
    pairs = validate_pairs(pairs, n_samples)
    values = as_numbers("dissimilarity", dissimilarity)
    values = values.astype(np.float32) if getattr(dissimilarity, "dtype", None) == np.float32 else values
    if values.shape != (len(pairs),):
        raise ValueError(f"dissimilarity has shape {values.shape}; expected one for each of {len(pairs)} pairs.")
    weight = validate_weight(sample_weight, len(pairs), values.dtype, "pair")
    known = check_and_square(Dissimilarities(int(n_samples), np.sort(pairs, axis=1)[:, ::-1], values, weight), squared)
    return merge_duplicates(known.take(np.flatnonzero(weight)))


def check_and_square(known: Dissimilarities, squared: bool) -> Dissimilarities:
    """Return squared dissimilarities; raise a ValueError if they are negative, not finite, or too large."""
    values = known.squared
    if (bad := np.flatnonzero(~((values >= 0) & np.isfinite(values)))).size:
        (j, i), value = known.pairs[bad[0]], values[bad[0]]
        kind = "Negative" if value < 0 else "Unknown or infinite"
        raise ValueError(f"{kind} values in data: the dissimilarity of samples {i} and {j} is {value}.")
    if squared:
        return known
    check_powers("the matrix of dissimilarities", values, 2, values.dtype)
    return known._replace(squared=values**2)


def merge_duplicates(known: Dissimilarities) -> Dissimilarities:
    """Return each pair once, sorted, with the sum of its weights.

    Raises a ValueError if a pair has two different dissimilarities.
    """
    first, copies = known.unique()
    kept = known.take(first)
    if (bad := np.flatnonzero(np.abs(known.squared - kept.squared[copies]) > rounding_tolerance(known.squared))).size:
        j, i = known.pairs[bad[0]]
        raise ValueError(f"the pair ({i}, {j}) is given more than once, with different dissimilarities. Give it once.")
    return kept._replace(weight=np.bincount(copies, known.weight).astype(known.weight.dtype))


def merge_dissimilarities(before: Dissimilarities, new: Dissimilarities) -> Dissimilarities:
    """Return the union of old and new dissimilarities; the new ones replace old ones of the same pairs.

    Raises a ValueError if new ones leave the range of the old ones' dtype.
    """
    with np.errstate(over="ignore"):
        columns = [np.concatenate(both).astype(both[1].dtype) for both in zip(new[1:4], before[1:4], strict=True)]
    if not np.isfinite(columns[1]).all():
        raise ValueError(
            f"the largest squared dissimilarity is {new.squared.max():.3g}: it is outside the range of "
            f"{before.squared.dtype} numbers, in which the first ones were given. Scale X, or call fit with float64."
        )
    together = Dissimilarities(max(before.n_samples, new.n_samples), *columns)
    return together.take(together.unique()[0])


def check_and_connect(known: Dissimilarities, rank: int) -> Dissimilarities:
    """Return the dissimilarities, with their graph if some pairs are unknown.

    Raises a ValueError unless the known pairs connect all samples, and rank < n_samples.
    """
    check_number("n_components", rank, least=1, integer=True, also=("auto",))
    if rank >= known.n_samples:
        raise ValueError(f"n_components={rank} is not below n_samples={known.n_samples}. Choose a smaller one.")
    if not known.complete:
        check_no_isolated_sample(known)
    if not known.squared.any():
        raise ValueError("every known dissimilarity is 0: there is nothing to embed.")
    return known if known.complete else known._replace(graph=build_graph(known))


def check_no_isolated_sample(known: Dissimilarities) -> None:
    """Raise a ValueError that names the first sample without a known dissimilarity."""
    # m pairs touch at most 2 m samples: a larger array is not needed, even if n_samples is wrong and huge.
    seen = np.zeros(min(known.n_samples, 2 * len(known.pairs) + 1), bool)
    seen[known.pairs[known.pairs < len(seen)]] = True
    if not seen.all():
        raise ValueError(f"sample {np.argmin(seen)} has no known dissimilarity; give one, or drop the sample.")


def build_graph(known: Dissimilarities) -> Any:
    """Return the distances as a sparse lower triangle (n, n); raise a ValueError unless the graph is connected."""
    # Up to SciPy 1.12 shortest paths need indices of 32 bits.
    places = tuple(known.pairs.T.astype(np.int32))
    graph = scipy.sparse.csr_array((np.sqrt(known.squared), places), shape=(known.n_samples,) * 2)
    parts, labels = connected_components(graph, directed=False)
    if parts > 1:
        some = ", ".join(str(i) for i in np.unique(labels, return_index=True)[1][:5])
        raise ValueError(f"known dissimilarities leave {parts} parts unconnected: samples {some}. Embed each alone.")
    return graph


def add_samples(embedding: Matrix, known: Dissimilarities, r: int) -> Matrix:
    """Return the embedding (n, r) extended by new samples.

    A new sample is trilaterated from its known distances to earlier samples; without any, its place is random.
    """
    n, total = len(embedding), known.n_samples
    if embedding.shape[1] != r:
        raise ValueError(f"n_components={r}, but the embedding has {embedding.shape[1]} columns. Call fit instead.")
    embedding = near_scale(embedding, known)
    new = embedding.std() * np.random.default_rng(0).standard_normal((total - n, r))
    G = np.concatenate([embedding, new]).astype(known.squared.dtype)
    cuts = np.searchsorted(known.pairs[:, 0], np.arange(n, total + 1))
    for sample, first, last in zip(range(n, total), cuts[:-1], cuts[1:], strict=True):
        if last > first:
            G[sample] = trilaterate(G[known.pairs[first:last, 1]], known.squared[first:last])
    return G


def near_scale(embedding: Matrix, known: Dissimilarities) -> Matrix:
    """Return the embedding, rescaled to the size of the dissimilarities if it is 1024 times larger or smaller."""
    size = largest(embedding - embedding.mean(axis=0))
    wanted = float(np.sqrt(np.mean(known.squared, dtype=np.float64)))
    if not (0 < size < np.inf and 0 < wanted < np.inf) or 1 / FAR <= wanted / size <= FAR:
        return embedding
    centred = embedding - embedding.mean(axis=0)
    return centred / embedding.dtype.type(size) * embedding.dtype.type(wanted)


def trilaterate(neighbours: Matrix, squares: Vector) -> Vector:
    """Return the point (r,) whose squared distances (k,) to neighbours (k, r) fit in least squares.

    The distance that remains is taken orthogonally to the span of the neighbours, away from the origin.
    """
    centre = neighbours.mean(axis=0)
    spread = neighbours - centre
    excess = np.sum(spread**2, axis=1) - squares
    step, _, rank, _ = np.linalg.lstsq(spread, 0.5 * (excess - excess.mean()), rcond=1e-3)
    left = -float(excess.mean() + step @ step)
    if rank < len(step) and left > 0:
        across = np.linalg.eigh(spread.T @ spread)[1][:, 0]
        step = step + np.copysign(left**0.5, centre @ across) * across
    return centre + step


def align(G: Matrix, before: Matrix | None) -> Matrix:
    """Return G (n, r) rotated and shifted to the best fit of the earlier embedding `before`.

    If `before` is None, G is centred and rotated to its principal axes.
    """
    common = G if before is None else G[: len(before)]
    G, common = G - common.mean(axis=0), common - common.mean(axis=0)
    if before is None:
        G = G @ np.linalg.svd(G, full_matrices=False)[2].T
        return np.where(G[np.argmax(np.abs(G), axis=0), np.arange(G.shape[1])] < 0, -G, G)
    left, _, right = np.linalg.svd(common.T @ (before - before.mean(axis=0)))
    mean = before.mean(axis=0)
    # Beside a mean that is much larger, which may be one of rounding, G would lose its digits.
    shift = mean if largest(mean) <= LARGEST_SHIFT * largest(G) else 0
    return (G @ (left @ right) + shift).astype(G.dtype)
