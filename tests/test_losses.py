import numpy as np
import pytest

from gramian.losses import LOSSES, Loss, Squared


def data(rng, dtype=np.float64, m=200, senses=(-1, 0, 1)):
    prediction, target = rng.standard_normal((2, m)).astype(dtype)
    return prediction, target, rng.choice(senses, size=m).astype(np.int8), rng.random(m).astype(dtype)


@pytest.fixture(params=LOSSES, ids=str)
def loss(request):
    return LOSSES[request.param]()


def test_slope_and_curvature_are_derivatives(loss, rng):
    prediction, target, sense, _ = data(rng)
    h = 1e-6
    _, slope, curvature = loss(prediction, target, sense)
    above, below = loss(prediction + h, target, sense), loss(prediction - h, target, sense)
    away = np.abs(prediction - target) > 2 * h
    np.testing.assert_allclose(((above[0] - below[0]) / (2 * h))[away], slope[away], atol=1e-8)
    np.testing.assert_allclose(((above[1] - below[1]) / (2 * h))[away], curvature[away], atol=1e-8)


def test_sums_agree_with_the_elementwise_loss(loss, rng, dtype):
    prediction, target, sense, weight = data(rng, dtype)
    value, slope, scale = loss.value_and_slopes(prediction, target, sense, weight)
    reference = Loss.value_and_slopes(loss, prediction, target, sense, weight)
    assert value == pytest.approx(reference[0], rel=1e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_allclose(slope, reference[1], rtol=1e-6)
    assert scale == pytest.approx(reference[2], rel=1e-5)
    assert slope.dtype == dtype
    assert isinstance(value, float)


def test_sums_along_a_line_agree_with_the_elementwise_loss(loss, rng, dtype):
    a, target, sense, weight = data(rng, dtype)
    b, c, _, _ = data(rng, dtype)
    for s in (0.0, 0.7, 3.0):
        found = loss.along((a, b, c), target, sense, weight, s)
        expected = Loss.along(loss, (a, b, c), target, sense, weight, s)
        assert found == pytest.approx(expected, rel=1e-4 if dtype == np.float32 else 1e-12)


def test_sums_along_a_line_are_derivatives(loss, rng):
    a, target, sense, weight = data(rng)
    b, c, _, _ = data(rng)
    h, s = 1e-5, 0.3
    value, slope, curvature = (loss.along((a, b, c), target, sense, weight, x) for x in (s - h, s, s + h))
    assert (curvature[0] - value[0]) / (2 * h) == pytest.approx(slope[1], rel=1e-6)
    assert (curvature[1] - value[1]) / (2 * h) == pytest.approx(slope[2], rel=1e-2)


def test_the_quartic_is_the_loss_along_the_line(rng):
    a, target, _, weight = data(rng)
    b, c, _, _ = data(rng)
    equal = np.zeros(len(a), np.int8)
    quartic = Squared().quartic((a, b, c), target, equal, weight)
    for s in (0.0, 0.4, -2.0):
        expected = Squared().along((a, b, c), target, equal, weight, s)[0]
        assert np.polynomial.polynomial.polyval(s, quartic) == pytest.approx(expected, rel=1e-12)
    assert Squared().quartic((a, b, c), target, equal - 1, weight) is None


def test_satisfied_inequalities_cost_nothing():
    prediction, target = np.array([1.0, 3.0, 1.0, 3.0]), np.full(4, 2.0)
    value, slope, curvature = Squared()(prediction, target, np.array([-1, -1, 1, 1]))
    np.testing.assert_array_equal(value, [0, 0.5, 0.5, 0])
    np.testing.assert_array_equal(slope, [0, 1, -1, 0])
    np.testing.assert_array_equal(curvature, [0, 1, 1, 0])


@pytest.mark.parametrize("sense", [-1, 0, 1])
def test_a_prediction_that_is_not_a_number_satisfies_nothing(sense):
    one = np.ones(1)
    value, _, _ = Squared().value_and_slopes(np.array([np.nan]), one, np.array([sense], np.int8), one)
    assert np.isnan(value)
    assert np.isnan(Squared().along((np.array([np.nan]), one, one), one, np.array([sense], np.int8), one, 1.0)[0])
