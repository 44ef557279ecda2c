"""The identities of gramian.contracts on all measurements, and the errors that measurements raise."""

import numpy as np
import pytest

from gramian import Block, Problem, Term
from gramian.contracts.measurement import MEASUREMENT_IDENTITIES, Measured
from gramian.features import Identity
from gramian.geometries import Scaled
from gramian.measurements import MEASUREMENTS, Dense, Entries, Pairs, Quadruplets, Triplets
from gramian.solvers import ConjugateGradient, minimize

from helpers import EXAMPLES


@pytest.fixture(params=EXAMPLES, ids=str)
def example(request, rng, dtype):
    return EXAMPLES[request.param](rng, dtype)


def test_every_registered_measurement_has_an_example(rng):
    kinds = {type(make(rng, np.float64).measurement) for make in EXAMPLES.values()}
    assert kinds == set(MEASUREMENTS.values())


@pytest.mark.parametrize("identity", MEASUREMENT_IDENTITIES, ids=lambda f: f.__name__)
def test_every_measurement_satisfies_its_identities(example, identity, rng):
    identity(Measured(*example), rng)


def test_take_returns_only_the_samples_that_are_used(example):
    _, samples = example.measurement.take(np.array([7, 2, 2]))
    assert samples is None or len(samples) <= 9


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 1], [2, 9]], r"pairs\[1\] = \(2, 9\) is out of range; samples are numbered 0 to 8"),
        ([[-1, 0]], r"pairs\[0\] = \(-1, 0\)"),
        ([[0, 1, 2]], r"pairs has shape \(1, 3\); expected \(m, 2\)"),
        ([[0.5, 1.0]], "dtype float64; expected integers"),
    ],
)
def test_bad_pairs_raise_an_error(indices, message):
    with pytest.raises(ValueError, match=message):
        Pairs(indices, 9)


def test_bad_triplets_and_matrices_raise_an_error(rng):
    with pytest.raises(ValueError, match=r"triplets\[0\] = \(0, 1, 5\)"):
        Triplets([[0, 1, 5]], 5)
    with pytest.raises(ValueError, match=r"quadruplets\[0\] = \(0, 1, 5, 2\)"):
        Quadruplets([[0, 1, 5, 2]], 5)
    with pytest.raises(ValueError, match=r"entries\[1\] = \(5, 0\)"):
        Entries([[0, 1], [5, 0]], 5)
    with pytest.raises(ValueError, match=r"expected \(m, d, d\)"):
        Dense(rng.standard_normal((3, 4, 5)))


def test_triplets_are_quadruplets_that_share_a_sample(rng):
    Z, T, weight, triplets = (*rng.standard_normal((2, 9, 3)), rng.standard_normal(20), rng.integers(9, size=(20, 3)))
    one, other = Triplets(triplets), Quadruplets(triplets[:, [0, 1, 0, 2]])
    np.testing.assert_allclose(other.predict(Z), one.predict(Z), atol=1e-12)
    np.testing.assert_allclose(other.along(Z, T), one.along(Z, T), atol=1e-12)
    np.testing.assert_allclose(other.weigh(weight, Z), one.weigh(weight, Z), atol=1e-12)


def test_squared_distances_are_sums_of_entries(rng):
    Z, (i, j) = rng.standard_normal((9, 3)), rng.integers(9, size=(2, 20))
    W_ii, W_jj, W_ij = (Entries(np.column_stack(pair)).predict(Z) for pair in ((i, i), (j, j), (i, j)))
    np.testing.assert_allclose(W_ii + W_jj - 2 * W_ij, Pairs(np.column_stack([i, j])).predict(Z), atol=1e-12)
    np.testing.assert_array_equal(Entries(np.column_stack([j, i])).predict(Z), W_ij)


def test_a_positive_semidefinite_matrix_is_completed_from_some_of_its_entries(rng):
    d, G = 30, rng.standard_normal((30, 2))
    W, known = G @ G.T, np.argwhere(np.triu(rng.random((d, d)) < 0.5))
    problem = Problem([Block(Identity(d), [Term(Entries(known, d), W[tuple(known.T)])])])
    point = minimize(problem, ConjugateGradient(), Scaled().point(rng.standard_normal((d, 2))), tol=1e-14).point
    np.testing.assert_allclose(point.G @ point.G.T, W, atol=1e-5)
