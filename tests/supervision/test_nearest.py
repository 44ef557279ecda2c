"""The search for nearest samples in float32 gives what float64 gives."""

import numpy as np
import pytest

from gramian.supervision import nearest
from gramian.supervision.nearest import Samples, nearest_samples


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
    monkeypatch.setattr(nearest, "TILE", (16, 64))


def draw(kind, rng):
    Z = rng.standard_normal((400, 5))
    if kind == "outlier":
        Z[7] *= 1e6
    if kind == "repeated":
        Z = np.repeat(Z[:100], 4, axis=0)
    if kind == "integers":
        Z = rng.integers(0, 3, (400, 5)).astype(float)
    return Z


@pytest.mark.parametrize("kind", ["plain", "outlier", "repeated", "integers"])
@pytest.mark.parametrize("counts", [(3, 10), (60, 2)])
def test_float32_finds_what_float64_finds(kind, counts, rng, many):
    Z, classes = draw(kind, rng), rng.choice(5, 400, p=[0.5, 0.3, 0.1, 0.08, 0.02])
    samples, anchors = Samples.of(Z, classes), rng.permutation(400)[:50]
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


def test_float64_is_needed_by_few_anchors(rng, many, monkeypatch):
    scanned = []
    scan = nearest.scan
    monkeypatch.setattr(nearest, "scan", lambda Z, *rest: scanned.append((Z.dtype, len(rest[2]))) or scan(Z, *rest))
    samples = Samples.of(rng.standard_normal((2000, 5)), rng.integers(0, 4, 2000))
    nearest_samples(samples, np.arange(500), 3, 10)
    assert scanned[0] == (np.float32, 500)
    assert sum(count for dtype, count in scanned if dtype == np.float64) < 50
