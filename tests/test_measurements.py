import numpy as np
import pytest

from gramian.measurements import MEASUREMENTS, Dense, Pairs, Triplets

from helpers import EXAMPLES


@pytest.fixture(params=EXAMPLES, ids=str)
def example(request, rng, dtype):
    return EXAMPLES[request.param](rng, dtype)


def factor(example, rng, r=2):
    return rng.standard_normal((example.features.shape[1], r)).astype(example.features.dtype)


def close(a, b, example):
    scale = max(1.0, float(np.abs(b).max()))
    np.testing.assert_allclose(a, b, rtol=0, atol=200 * np.finfo(example.features.dtype).eps * scale)


def test_every_registered_measurement_has_an_example(rng):
    kinds = {type(make(rng, np.float64).measurement) for make in EXAMPLES.values()}
    assert kinds == set(MEASUREMENTS.values())


def test_predictions_are_traces(example, rng):
    G = factor(example, rng)
    expected = np.einsum("mij,ik,jk->m", example.matrices, G, G)
    predicted = example.measurement.predict(example.features.image(G))
    close(predicted, expected, example)
    assert predicted.dtype == G.dtype
    assert len(example.measurement) == len(predicted)


def test_predictions_along_a_line_are_quadratic(example, rng):
    G, T = factor(example, rng), factor(example, rng)
    Z, XT = example.features.image(G), example.features.image(T)
    measurement = example.measurement
    b, c = measurement.along(Z, XT)
    for s in (0.5, -2.0):
        close(measurement.predict(Z) + b * s + c * s * s, measurement.predict(Z + s * XT), example)


def test_weigh_is_the_weighted_sum_of_matrices(example, rng):
    G = factor(example, rng)
    weight = rng.standard_normal(len(example.measurement)).astype(G.dtype)
    pulled = example.features.pull(example.measurement.weigh(weight, example.features.image(G)))
    close(pulled, np.einsum("m,mij,jk->ik", weight, example.matrices, G), example)
    assert pulled.dtype == G.dtype


def test_weigh_is_adjoint_to_predict(example, rng):
    Z = example.features.image(factor(example, rng))
    weight = rng.standard_normal(len(example.measurement)).astype(Z.dtype)
    measurement = example.measurement
    close(np.vdot(Z, measurement.weigh(weight, Z)), weight @ measurement.predict(Z), example)


def test_take_keeps_only_the_samples_it_touches(example, rng):
    G = factor(example, rng)
    rows = np.array([7, 2, 2])
    taken, samples = example.measurement.take(rows)
    features = example.features if samples is None else example.features.take(samples)
    close(taken.predict(features.image(G)), example.measurement.predict(example.features.image(G))[rows], example)
    assert features.shape[0] <= max(9, example.features.shape[1])


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 1], [2, 9]], r"pairs\[1\] = \(2, 9\) is out of range; samples are numbered 0 to 8"),
        ([[-1, 0]], r"pairs\[0\] = \(-1, 0\)"),
        ([[0, 1, 2]], r"pairs has shape \(1, 3\); expected \(m, 2\)"),
        ([[0.5, 1.0]], "dtype float64; expected integers"),
    ],
)
def test_bad_pairs_are_refused(indices, message):
    with pytest.raises(ValueError, match=message):
        Pairs(indices, 9)


def test_bad_triplets_and_matrices_are_refused(rng):
    with pytest.raises(ValueError, match=r"triplets\[0\] = \(0, 1, 5\)"):
        Triplets([[0, 1, 5]], 5)
    with pytest.raises(ValueError, match=r"expected \(m, d, d\)"):
        Dense(rng.standard_normal((3, 4, 5)))
