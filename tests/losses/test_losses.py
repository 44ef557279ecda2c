"""The identities of gramian.contracts on all losses, and the formulas of single losses."""

import numba
import numpy as np
import pytest

from gramian.contracts.loss import LOSS_IDENTITIES, check_dtype
from gramian.losses import LOSSES, Hinge, Huber, Linear, Logistic, Loss, Squared

EXAMPLES = [loss for kind in LOSSES.values() for loss in kind.examples]
#: Losses that are 0 where an inequality is satisfied; the others reward larger margins.
FLAT = [loss for loss in EXAMPLES if not isinstance(loss, Linear | Logistic)]


@pytest.mark.parametrize("identity", LOSS_IDENTITIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("loss", EXAMPLES, ids=repr)
def test_every_loss_satisfies_its_identities(loss, identity, rng):
    if numba.config.DISABLE_JIT and identity is check_dtype:
        pytest.skip("without machine code a kernel returns NumPy's scalars")
    identity(loss, rng)


def test_every_loss_is_registered_with_examples():
    kinds = {kind for kind in Loss.__subclasses__() if kind.__module__.startswith("gramian.losses.")}
    assert set(LOSSES.values()) == kinds
    for kind in kinds:
        assert kind() in kind.examples
        assert all(type(example) is kind for example in kind.examples)


def test_losses_are_equal_if_their_settings_are():
    assert Squared() == Squared()
    assert Huber(2) == Huber(2.0) != Huber(1.0)
    assert len(set(EXAMPLES)) == len(EXAMPLES)
    assert repr(Hinge(0.5)) == "Hinge(width=0.5)"
    assert Huber(0.5).rescaled(4.0) == Huber(2.0)
    assert Hinge(0.5).rescaled(4.0) == Hinge(2.0)
    assert Logistic(0.5).rescaled(4.0) == Logistic(2.0)
    assert Linear().rescaled(4.0) == Linear()


@pytest.mark.parametrize("value", [-1, 0, np.nan, np.inf, "1", True, None])
@pytest.mark.parametrize(("kind", "name"), [(Huber, "delta"), (Hinge, "width"), (Logistic, "scale")])
def test_bad_parameters_raise_an_error(kind, name, value):
    with pytest.raises(ValueError, match=rf"{name}={value!r} is not valid. Choose a number above 0."):
        kind(value)


@pytest.mark.parametrize("kind", [Huber, Hinge, Logistic])
def test_numpy_parameters_do_not_change_the_dtype(kind):
    one = np.ones(3, np.float32)
    value, slope, curvature = kind(np.float64(0.5))(one, 3 * one, np.zeros(3, np.int8))
    assert value.dtype == slope.dtype == curvature.dtype == np.float32


@pytest.mark.parametrize("loss", FLAT, ids=repr)
def test_satisfied_inequalities_cost_nothing(loss):
    prediction, target = np.array([1.0, 2.0, 2.0, 3.0]), np.full(4, 2.0)
    for part in loss(prediction, target, np.array([-1, -1, 1, 1], np.int8)):
        np.testing.assert_array_equal(part, 0)


@pytest.mark.parametrize("loss", FLAT, ids=repr)
def test_the_loss_of_an_equality_is_the_sum_of_two_inequalities(loss):
    error = np.array([-3.0, -0.1, 0.1, 3.0])
    at_most, equal, at_least = (loss(error, np.zeros(4), np.full(4, sense, np.int8)) for sense in (-1, 0, 1))
    for x, y, z in zip(at_most, equal, at_least, strict=True):
        np.testing.assert_array_equal(x + z, y)


def test_squared_is_its_formula():
    prediction, target = np.array([1.0, 3.0, 1.0, 3.0]), np.full(4, 2.0)
    value, slope, curvature = Squared()(prediction, target, np.array([-1, -1, 1, 1]))
    np.testing.assert_array_equal(value, [0, 0.5, 0.5, 0])
    np.testing.assert_array_equal(slope, [0, 1, -1, 0])
    np.testing.assert_array_equal(curvature, [0, 1, 1, 0])


def test_only_squared_equalities_have_a_quartic():
    one = np.ones(3)
    for loss in EXAMPLES:
        for sense in (-1, 0, 1):
            quartic = loss.quartic((one, one, one), one, np.full(3, sense, np.int8), one)
            assert (quartic is not None) == (loss == Squared() and sense == 0)


def test_huber_is_its_formula():
    error, delta = np.linspace(-3, 3, 61), 0.75
    value, slope, _ = Huber(delta)(error, np.zeros(61), np.zeros(61, np.int8))
    inside = np.abs(error) <= delta
    np.testing.assert_allclose(value, np.where(inside, error**2 / 2, delta * (np.abs(error) - delta / 2)))
    assert np.abs(slope).max() == delta


def test_huber_is_squared_for_small_errors():
    prediction, sense = np.array([-1.0, 0.5, 1.0]), np.zeros(3, np.int8)
    for found, expected in zip(Huber(10.0)(prediction, 0, sense), Squared()(prediction, 0, sense), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sense", [-1, 0, 1])
def test_smooth_hinge_is_within_half_its_width_of_the_hinge(sense):
    prediction = np.linspace(-3, 3, 601)
    value, slope, _ = Hinge(0.25)(prediction, np.full(601, 0.5), np.full(601, sense, np.int8))
    error = prediction - 0.5
    excess = np.abs(error) if sense == 0 else np.maximum(-sense * error, 0)
    assert ((excess - 0.125 <= value) & (value <= excess)).all()
    assert np.abs(slope).max() == 1


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_logistic_is_its_formula(scale):
    error, zero = np.linspace(-3, 3, 61), np.zeros(61)
    for sense in (-1, 1):
        value, slope, _ = Logistic(scale)(error, zero, np.full(61, sense, np.int8))
        np.testing.assert_allclose(value, scale * np.log1p(np.exp(-sense * error / scale)), rtol=1e-10)
        assert (sense * np.diff(value) < 0).all()
        assert (sense * slope < 0).all()
    value, slope, _ = Logistic(scale)(error, zero, np.zeros(61, np.int8))
    np.testing.assert_allclose(value, 2 * scale * np.log(np.cosh(error / (2 * scale))), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(slope, np.tanh(error / (2 * scale)), rtol=1e-12)


def test_logistic_equality_is_the_sum_of_two_inequalities_but_for_a_constant():
    error = np.array([-30.0, -0.1, 0.0, 0.1, 0.9, 1.1, 3.0])
    at_most, equal, at_least = (Logistic(0.5)(error, np.zeros(7), np.full(7, sense, np.int8)) for sense in (-1, 0, 1))
    for x, y, z, constant in zip(at_most, equal, at_least, (np.log(2), 0, 0), strict=True):
        np.testing.assert_allclose(x + z - constant, y, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logistic_keeps_its_digits_for_small_and_for_large_errors(dtype):
    error = np.array([1e-9, 1e-3, 1e30, -1e30], dtype)
    one, equal, at_least = np.ones(4, dtype), np.zeros(4, np.int8), np.ones(4, np.int8)
    for sense, expected in ((equal, [0.25e-18, 0.25e-6, 1e30, 1e30]), (at_least, [np.log(2), 0.692647, 0, 1e30])):
        value, slope, curvature = Logistic()(error, 0 * one, sense)
        np.testing.assert_allclose(value, expected, rtol=1e-5)
        assert np.isfinite(slope).all()
        assert np.isfinite(curvature).all()
        for e in range(4):
            total = Logistic().value_and_slopes(error[e : e + 1], 0 * one[:1], sense[:1], one[:1]).value
            assert total == pytest.approx(expected[e], rel=1e-5)


def test_only_squared_is_compiled_for_online_solvers():
    assert [name for name, kind in LOSSES.items() if kind.compiled] == ["squared"]
