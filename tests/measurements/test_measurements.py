"""The identities of gramian.contracts on all measurements, and the errors that measurements raise."""

import numpy as np
import pytest

from gramian.contracts.measurement import MEASUREMENT_IDENTITIES, Measured
from gramian.measurements import MEASUREMENTS, Dense, Pairs, Triplets

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
    with pytest.raises(ValueError, match=r"expected \(m, d, d\)"):
        Dense(rng.standard_normal((3, 4, 5)))
