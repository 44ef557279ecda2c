"""Products of tall matrices in tiles equal those of NumPy."""

import numpy as np
import pytest

from gramian._kernels.tall import ROWS, inner_products, subtract_product


@pytest.mark.parametrize("d", [1, 5, ROWS, 3 * ROWS + 7])
def test_inner_products_in_tiles(d, rng, dtype):
    A, B = (rng.standard_normal((d, k)).astype(dtype) for k in (3, 4))
    found = inner_products((A, B, A[:, ::2]), B)
    for total, other in zip(found, (A, B, A[:, ::2]), strict=True):
        assert total.dtype == dtype
        np.testing.assert_allclose(total, other.T @ B, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-3)
    np.testing.assert_array_equal(found[1], found[1].T)


@pytest.mark.parametrize("order", ["C", "F"])
def test_subtract_product(order, rng, dtype):
    total, B, Q = (rng.standard_normal(shape).astype(dtype) for shape in ((50, 4), (50, 3), (3, 4)))
    expected = total - B @ Q
    given = np.array(total, order=order)
    found = subtract_product(given, B, Q)
    assert found.dtype == dtype
    assert np.shares_memory(found, given)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if dtype == np.float32 else 1e-13)
