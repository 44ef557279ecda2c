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
    tol = {"rtol": 0, "atol": 50 * np.finfo(dtype).eps}
    assert features.shape == X.shape
    assert features.dtype == dtype
    np.testing.assert_allclose(features.image(B), X @ B, **tol)
    np.testing.assert_allclose(features.pull(B), X.T @ B, **tol)
    np.testing.assert_allclose(features.take(rows).image(B), (X @ B)[rows], **tol)
    np.testing.assert_allclose(features.take(rows).pull(B[:3]), X[rows].T @ B[:3], **tol)
    np.testing.assert_array_equal(features.take(rows).dense(), X[rows])
    np.testing.assert_array_equal(features.dense(), X)
    assert features.image(B).dtype == features.pull(B).dtype == dtype


def test_as_features_keeps_sparse_data_sparse(rng):
    X = scipy.sparse.csr_array(scipy.sparse.random(5, 4, 0.5, "csr", None, rng))
    assert isinstance(as_features(X), Sparse)
    assert isinstance(as_features(X.toarray()), Array)


def spoil(X, part, at, value):
    """Return X with one entry of one of its parts replaced; SciPy does not notice."""
    index = getattr(X, part).copy()
    index[at] = value
    setattr(X, part, index)
    return X


BAD_ENTRIES = [
    ("csr", "indices", 3, 10**6, r"X\.indices\[3\] = 1000000 is out of range: it must be at least 0 and below 4"),
    ("csr", "indices", 0, -1, r"X\.indices\[0\] = -1 is out of range"),
    ("csr", "indptr", 0, 1, r"X\.indptr\[0\] = 1; it must be 0"),
    ("csr", "indptr", 2, 10**6, r"X\.indptr\[3\] = \d is below the one before it, 1000000"),
    ("csr", "indptr", 5, 10**6, r"X\.indptr\[5\] = 1000000; it must be the number of entries, 12"),
    ("csr", "indptr", 5, 11, r"X\.indptr\[5\] = 11; it must be the number of entries, 12"),
    ("csc", "indices", 3, 5, r"X\.indices\[3\] = 5 is out of range: it must be at least 0 and below 5"),
    ("csc", "indptr", 4, 13, r"X\.indptr\[4\] = 13; it must be the number of entries"),
    ("bsr", "indices", 1, 4, r"X\.indices\[1\] = 4 is out of range"),
    ("coo", "row", 2, 5, r"X\.row\[2\] = 5 is out of range"),
    ("coo", "col", 2, -3, r"X\.col\[2\] = -3 is out of range"),
]


@pytest.fixture
def sparse():
    X = np.arange(20.0).reshape(5, 4)
    return scipy.sparse.csr_matrix(np.where(np.arange(20).reshape(5, 4) % 5 < 3, X + 1, 0))


@pytest.mark.parametrize(("kind", "part", "at", "value", "message"), BAD_ENTRIES)
def test_entries_outside_a_sparse_matrix_are_refused(kind, part, at, value, message, sparse):
    with pytest.raises(ValueError, match=message):
        as_features(spoil(sparse.asformat(kind), part, at, value))


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        (
            "indices",
            np.zeros(11, np.int32),
            r"X\.indices is int32 of shape \(11,\); expected integers of shape \(12,\)",
        ),
        ("indices", np.zeros(12), r"X\.indices is float64 of shape \(12,\); expected integers"),
        ("indices", [0] * 12, r"X\.indices is list of shape \(12,\); expected integers"),
        ("indptr", np.zeros(5, np.int32), r"X\.indptr is int32 of shape \(5,\); expected integers of shape \(6,\)"),
        ("data", np.ones((12, 1)), r"X\.data has shape \(12, 1\); expected one dimension"),
        ("_shape", (5, -4), r"X\.shape = \(5, -4\) is negative"),
        ("_shape", (9, 4), r"X\.indptr is int32 of shape \(6,\); expected integers of shape \(10,\)"),
    ],
)
def test_parts_of_a_sparse_matrix_that_do_not_fit_are_refused(part, value, message, sparse):
    setattr(sparse, part, value)
    with pytest.raises(ValueError, match=message):
        Sparse(sparse)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_every_format_of_good_sparse_data_is_taken(kind, sparse):
    np.testing.assert_array_equal(as_features(sparse.asformat(kind)).dense(), sparse.toarray())


@pytest.mark.parametrize("index", ["int16", "uint32", "uint64"])
def test_unusual_types_of_indices_are_converted(index, sparse):
    expected = sparse.toarray()
    sparse.indices = sparse.indices.astype(index)
    features = Sparse(sparse)
    np.testing.assert_array_equal(features.image(np.eye(4)), expected)
    np.testing.assert_array_equal(features.pull(np.eye(5)), expected.T)


def test_unusual_types_of_indices_of_columns_are_converted(sparse):
    columns = sparse.tocsc()
    columns.indices = columns.indices.astype("uint64")
    np.testing.assert_array_equal(Sparse(columns).dense(), sparse.toarray())


def test_empty_sparse_data_is_taken():
    assert Sparse(scipy.sparse.csr_array((0, 3))).shape == (0, 3)
    assert Sparse(scipy.sparse.csr_array((3, 0))).shape == (3, 0)


def test_rows_of_checked_data_are_not_checked_again(sparse, monkeypatch):
    features = Sparse(sparse)
    monkeypatch.setattr("gramian.features.check_sparse", None)
    assert features.take(slice(1, 3)).shape == (2, 4)
    assert features.take(np.array([4, 0, 0])).shape == (3, 4)
