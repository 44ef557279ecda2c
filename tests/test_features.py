import numpy as np
import pytest
import scipy.sparse

from gramian.features import Array, Identity, Sparse, as_features


def make_features(kind, rng, dtype):
    X = rng.standard_normal((6, 6)).astype(dtype)
    if kind == "array":
        return Array(X), X
    if kind == "sparse":
        X[rng.random(X.shape) < 0.6] = 0
        return Sparse(scipy.sparse.csr_array(X)), X
    return Identity(6, dtype), np.eye(6, dtype=dtype)


@pytest.mark.parametrize("kind", ["array", "sparse", "identity"])
def test_features_equal_the_explicit_matrix(kind, rng, dtype):
    features, X = make_features(kind, rng, dtype)
    B = rng.standard_normal((6, 3)).astype(dtype)
    rows = np.array([4, 1, 1])
    basis = rng.standard_normal((6, 2)).astype(dtype)
    tol = {"rtol": 0, "atol": 50 * np.finfo(dtype).eps}
    assert features.shape == X.shape
    assert features.dtype == dtype
    np.testing.assert_allclose(features.image(B), X @ B, **tol)
    np.testing.assert_allclose(features.pull(B), X.T @ B, **tol)
    np.testing.assert_allclose(features.take(rows).image(B), (X @ B)[rows], **tol)
    np.testing.assert_allclose(features.take(rows).pull(B[:3]), X[rows].T @ B[:3], **tol)
    np.testing.assert_allclose(features.restrict(basis).image(basis[:2]), X @ basis @ basis[:2], **tol)
    np.testing.assert_array_equal(features.take(rows).dense(), X[rows])
    np.testing.assert_array_equal(features.dense(), X)
    assert features.image(B).dtype == features.pull(B).dtype == dtype


def test_as_features_keeps_sparse_data_sparse(rng):
    X = scipy.sparse.random_array((5, 4), density=0.5, rng=rng)
    assert isinstance(as_features(X), Sparse)
    assert isinstance(as_features(X.toarray()), Array)
