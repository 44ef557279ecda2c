"""Results from images of samples: the same bits by every execution, and nothing that grows with the samples travels."""

import numpy as np
import pytest
import scipy.sparse

from gramian.execution import Serial, Threads
from gramian.features import Array, Centred, Sparse
from gramian.images import compute_image, image_covariance, pair_distances, squared_distances, total_variance
from gramian.supervision import (
    GivenPairs,
    GivenQuadruplets,
    GivenTriplets,
    LabelNeighbourhoods,
    LabelPairs,
    LabelStart,
    Situation,
    Targets,
)

EXECUTIONS = [Serial(), Threads(1), Threads(2)]
N = 5000


def sizes(value):
    """The numbers of entries of the arrays in a small argument or a total."""
    if isinstance(value, tuple | list):
        return [size for each in value for size in sizes(each)]
    return [np.size(value)]


class Watching(Serial):
    """Notes the largest array that goes to the blocks, or comes back."""

    largest = 0

    def run(self, work, shards, *held, **small):
        kept, total = super().run(work, shards, *held, **small)
        self.largest = max(self.largest, *sizes(list(small.values())), *sizes([total]))
        return kept, total


def samples(kind, rng):
    X = rng.standard_normal((N, 6)) * np.arange(1, 7) + 3
    if kind == "sparse":
        X[rng.random(X.shape) < 0.5] = 0
        return X, Sparse(scipy.sparse.csr_array(X))
    if kind == "centred":
        return X - X.mean(axis=0), Centred(Array(X), X.mean(axis=0))
    return X, Array(X)


@pytest.mark.parametrize("kind", ["array", "sparse", "centred"])
def test_results_are_those_of_the_explicit_image(kind, rng):
    X, features = samples(kind, rng)
    B, pairs = rng.standard_normal((6, 3)), rng.integers(N, size=(40_000, 2))
    Z, execution = X @ B, Serial()
    distances = np.sum((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2, axis=1)
    np.testing.assert_allclose(compute_image(features, B, execution), Z, atol=1e-12)
    assert total_variance(features, B, execution) == pytest.approx(np.var(Z, axis=0).sum(), rel=1e-12)
    covariance = np.cov(Z, rowvar=False, bias=True)
    np.testing.assert_allclose(image_covariance(features, B, execution), covariance, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(pair_distances(features, B, pairs, execution), distances, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(squared_distances(Z, pairs, execution), distances, rtol=1e-9, atol=1e-12)


def test_a_variance_far_from_the_origin_keeps_its_digits(rng):
    X = rng.standard_normal((N, 2)) + 1e7
    expected = np.var(X, axis=0).sum()
    assert total_variance(Array(X), np.eye(2), Serial()) == pytest.approx(expected, rel=1e-12)


SUPERVISIONS = {
    "neighbourhoods": lambda y, rng: LabelNeighbourhoods(y),
    "start": lambda y, rng: LabelStart(y),
    "targets": lambda y, rng: Targets(rng.standard_normal(N)),
    "refined targets": lambda y, rng: Targets(rng.standard_normal(N), refines=True),
    "label pairs": lambda y, rng: LabelPairs(y, 600),
    "pairs": lambda y, rng: GivenPairs(np.arange(1200).reshape(-1, 2), y=np.tile([1, -1], 300)),
    "triplets": lambda y, rng: GivenTriplets(np.arange(1200).reshape(-1, 3)),
    "quadruplets": lambda y, rng: GivenQuadruplets(np.arange(1200).reshape(-1, 4)),
}


def begin(name, execution):
    """Return the start of a supervision at its scale, and the weight of its penalty on the trace."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=N)
    X = rng.standard_normal((N, 6)) + y[:, None]
    supervision = SUPERVISIONS[name](y, rng).validate(N)
    situation = Situation(Array(X), rng, execution)
    begun, start = supervision.begin(situation, rng.standard_normal((6, 2)))
    return start, begun.default_shrinkage(situation, start)


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_a_supervision_begins_with_the_same_bits_by_every_execution(name):
    first, *others = [begin(name, execution) for execution in EXECUTIONS]
    for other in others:
        np.testing.assert_array_equal(first[0], other[0])
        assert first[1] == other[1]


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_no_image_travels_when_a_supervision_begins(name):
    execution = Watching()
    begin(name, execution)
    assert 0 < execution.largest < N
