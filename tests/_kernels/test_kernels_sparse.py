"""Sparse products equal their reference and SciPy's."""

import pickle

import numpy as np
import pytest
import scipy.sparse

from gramian import features
from gramian._kernels import reference_sparse, sparse
from gramian.features import Centred, Sparse


def draw(rng, dtype, shape=(30, 50), density=0.15):
    X = np.where(rng.random(shape) < density, rng.standard_normal(shape), 0).astype(dtype)
    X[3] = 0
    return scipy.sparse.csr_array(X)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_kernel_equals_reference(rng, dtype, index):
    X, B = draw(rng, dtype), rng.standard_normal((50, 7)).astype(dtype)
    found, expected = np.full((30, 7), np.nan, dtype), np.empty((30, 7), dtype)
    parts = (X.data, X.indices.astype(index), X.indptr.astype(index), B)
    sparse.sparse_times(*parts, found)
    reference_sparse.sparse_times(*parts, expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("k", [1, sparse.LEAST_COLUMNS - 1, sparse.LEAST_COLUMNS, 40])
@pytest.mark.parametrize("limit", [0, 10**6])
def test_products_equal_those_of_dense_data(rng, dtype, k, limit, monkeypatch):
    monkeypatch.setattr(features, "MOST_TRANSPOSED", limit)
    X, tolerance = draw(rng, dtype), 1e-5 if dtype == np.float32 else 1e-13
    B, S = rng.standard_normal((50, k)).astype(dtype), np.asfortranarray(rng.standard_normal((30, k)).astype(dtype))
    for found, expected in ((Sparse(X).image(B), X.toarray() @ B), (Sparse(X).pull(S), X.toarray().T @ S)):
        assert found.dtype == dtype
        assert found.flags.writeable
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_a_product_does_not_depend_on_those_before(rng):
    X, S = Sparse(draw(rng, np.float64)), rng.standard_normal((30, 20))
    first = X.pull(S)
    np.testing.assert_array_equal(first, X.pull(S))
    np.testing.assert_array_equal(first, Sparse(X.X).pull(S))


def test_other_dtypes_are_those_of_scipy(rng):
    X, B = draw(rng, np.float32), rng.standard_normal((50, 20))
    assert Sparse(X).image(B).dtype == np.float64
    np.testing.assert_array_equal(Sparse(X).image(B), X @ B)


def test_the_transposed_matrix_is_not_sent(rng):
    X = Centred(Sparse(draw(rng, np.float64, (300, 500))), np.zeros(500))
    before = len(pickle.dumps(X))
    X.pull(rng.standard_normal((300, 20)))
    assert "transposed" in vars(X.features)
    assert len(pickle.dumps(X)) == before
