"""The search for nearest samples in float32 gives what float64 gives."""

import numpy as np
import pytest

from gramian._kernels import minima, reference_minima
from gramian.supervision import nearest
from gramian.supervision.nearest import PART, Ranges, Samples, nearest_samples, nearest_to_queries


def explicit(Z, classes, anchors, k, same):
    """Indices of the k nearest samples of each anchor's class, or of others, by a sort of all distances."""
    found = []
    for a in anchors:
        distances = np.sum((Z - Z[a]) ** 2, axis=1)
        distances[(classes == classes[a]) != same] = np.inf
        distances[a] = np.inf
        order = np.argsort(distances, kind="stable")[:k]
        found.append(np.where(np.isinf(distances[order]), -1, order))
    return np.array(found)


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(nearest, "MANY", 10)


def draw(kind, rng, n=400):
    Z = rng.standard_normal((n, 5))
    if kind == "outlier":
        Z[7] *= 1e6
    if kind == "repeated":
        Z = np.repeat(Z[: n // 4], 4, axis=0)
    if kind == "integers":
        Z = rng.integers(0, 3, (n, 5)).astype(float)
    return Z


@pytest.mark.parametrize("kind", ["plain", "outlier", "repeated", "integers"])
@pytest.mark.parametrize("counts", [(3, 10), (60, 2)])
@pytest.mark.parametrize("n", [400, 3000])
def test_float32_finds_what_float64_finds(kind, counts, n, rng, many):
    Z, classes = draw(kind, rng, n), rng.choice(5, n, p=[0.5, 0.3, 0.1, 0.08, 0.02])
    samples, anchors = Samples.of(Z, classes), rng.permutation(n)[:50]
    assert samples.low.dtype == np.float32
    found = nearest_samples(samples, anchors, *counts)
    exact = nearest_samples(samples._replace(low=None), anchors, *counts)
    if kind in ("integers", "repeated"):
        # Distances that are equal but for rounding have no order.
        for one, other in zip(found, exact, strict=True):
            np.testing.assert_allclose(*(np.sum((Z[each] - Z[anchors, None]) ** 2, axis=2) for each in (one, other)))
        return
    np.testing.assert_array_equal(found.near, exact.near)
    np.testing.assert_array_equal(found.far, exact.far)
    if kind == "plain":
        np.testing.assert_array_equal(found.near, explicit(Z, classes, anchors, counts[0], True))
        np.testing.assert_array_equal(found.far, explicit(Z, classes, anchors, counts[1], False))


@pytest.fixture
def searched(rng):
    """Samples of classes, one of them rare, some anchors, and the arguments that kernels share."""
    samples = Samples.of(rng.standard_normal((3000, 5)), rng.choice(3, 3000, p=[0.6, 0.399, 0.001]))
    samples = samples._replace(low=samples.lowered())
    at = np.sort(rng.permutation(3000)[:40])
    code = np.searchsorted(samples.edges, at, side="right")
    return samples, Ranges(at, samples.edges[code - 1], samples.edges[code])


def least_distances(module, samples, ranges):
    """Return the least distances of groups of near and of far samples, by the kernels or their reference."""
    low, segments = samples.low, len(samples.low) // minima.WIDTH
    near, far = (np.full((len(ranges.anchors), segments * minima.LANES), np.inf, np.float32) for _ in range(2))
    for start in range(0, len(low), PART):
        distances = samples.coefficients(ranges.anchors) @ low[start : start + PART].T
        module.update_minima(distances, *ranges, start, near, far)
    return near, far


def test_least_distances_of_groups_equal_their_reference(searched):
    for found, expected in zip(
        *(least_distances(module, *searched) for module in (minima, reference_minima)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("own", [True, False])
def test_nearest_in_groups_equal_their_reference(own, searched):
    samples, ranges = searched
    least = least_distances(minima, *searched)[0 if own else 1]
    found, expected = ((np.empty((40, 7)), np.empty((40, 7), np.intp)) for _ in range(2))
    for module, lists in ((minima, found), (reference_minima, expected)):
        parts = (samples.Z, samples.squares, samples.order, *ranges, least, np.float32(samples.rounding), own)
        module.nearest_in_groups(*parts, *lists)
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(found[1], expected[1])


def test_few_groups_are_looked_at_again(searched):
    samples, ranges = searched
    _, far = least_distances(minima, samples, ranges)
    limits = np.sort(far, axis=1)[:, 9:10] + samples.rounding
    assert (far <= limits).sum() < 10.5 * len(far)


@pytest.mark.parametrize("count", [1, 7, 500])
@pytest.mark.parametrize("kind", ["plain", "integers"])
def test_samples_nearest_to_queries_are_those_of_sorted_distances(kind, count, rng, dtype):
    Z, queries = draw(kind, rng).astype(dtype), draw(kind, rng, 300).astype(dtype)
    distances = np.sum((queries[:, None].astype(float) - Z) ** 2, axis=2)
    wanted = np.argsort(distances, axis=1, kind="stable")[:, :count]
    for scale in (1, 2.0**60):
        np.testing.assert_array_equal(
            nearest_to_queries(dtype.type(scale) * Z, dtype.type(scale) * queries, count), wanted
        )
