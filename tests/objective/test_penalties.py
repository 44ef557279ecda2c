"""The penalty ½ strength ‖W - W₀‖²/‖W₀‖² + trace · tr(W), against matrices (d, d) that are formed."""

import numpy as np
import pytest

from gramian.penalties import Toward

STRENGTH, TRACE = 0.7, 0.3


@pytest.fixture
def factors(rng, dtype):
    """A penalty, a factor, and another matrix of its shape."""
    G0, G, T = rng.standard_normal((6, 2)), rng.standard_normal((6, 3)), rng.standard_normal((6, 3))
    return Toward(G0.astype(dtype), STRENGTH, TRACE), G.astype(dtype), T.astype(dtype)


def explicit(penalty, G):
    """Return the value at G Gᵀ and its derivative in W."""
    W, W0 = (A.astype(float) @ A.T for A in (G, penalty.factor))
    scale = STRENGTH / np.sum(W0**2)
    return 0.5 * scale * np.sum((W - W0) ** 2) + TRACE * np.trace(W), scale * (W - W0) + TRACE * np.eye(6)


def test_value_and_slopes_equal_those_of_formed_matrices(factors, dtype):
    penalty, G, T = factors
    value, slopes, _ = penalty.value_and_slopes(penalty.predict(G))
    expected, M = explicit(penalty, G)
    tolerance = {"rtol": 1e-5 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(value, expected, **tolerance)
    for Z in (G, G.copy(), T, T[:, :2].copy()):
        found = penalty.weigh(slopes, Z)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, M @ Z, atol=tolerance["rtol"], **tolerance)


def test_small_products_are_carried_along_a_line(factors, dtype):
    penalty, G, T = factors
    line, s = penalty.line(penalty.predict(G), G, T), 0.4
    fresh = penalty.predict(G + dtype.type(s) * T)
    moved = penalty.predict_along(line, s, fresh.G)
    for found, expected in zip(moved, fresh, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-12)
    value = penalty.value_and_slopes(fresh).value
    np.testing.assert_allclose(penalty.along(line, s).value, value, rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert moved.G is fresh.G
