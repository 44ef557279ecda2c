"""Fewer features of sparse samples: those that never occur, and those that occur once."""

import numpy as np
import pytest
import scipy.sparse

from gramian import MetricLearner
from gramian.columns import fewer_columns, joins_columns
from gramian.coordinates import Coordinates


@pytest.fixture(autouse=True)
def few_may_be_left(monkeypatch):
    monkeypatch.setattr("gramian.columns.FEWEST", 0)


def texts(rng, n=60, common=30, own=50, dtype=np.float64):
    """Sparse samples (n, 5000): common features in some, and others that one sample has alone; and their labels."""
    labels = rng.integers(3, size=n)
    rows = [np.repeat(np.arange(n), own // 2), np.arange(n).repeat(common)]
    columns = [100 + rng.choice(4900, n * (own // 2), replace=False), np.tile(np.arange(common), n)]
    values = [rng.exponential(size=len(columns[0])), (rng.random((n, common)) + labels[:, None] / 2).ravel()]
    rows, columns, values = (np.concatenate(parts) for parts in (rows, columns, values))
    order = rng.permutation(5000)
    return scipy.sparse.csr_array((values.astype(dtype), (rows, order[columns])), shape=(n, 5000)), labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_joined_features_have_the_distances_of_all(rng, dtype):
    X, _ = texts(rng, dtype=dtype)
    columns = fewer_columns(X)
    joined = columns.features.X
    assert joined.shape == (60, 30 + 60)
    assert joined.dtype == dtype
    assert joined.has_canonical_format
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose((joined @ joined.T).toarray(), (X @ X.T).toarray(), rtol=tolerance)
    basis = columns.lift(np.eye(90))
    np.testing.assert_allclose(X @ basis, joined.toarray(), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(basis.T @ basis, np.eye(90), atol=tolerance)


@pytest.mark.parametrize("constraints", ["triplets", "pairs"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_joining_does_not_change_the_distance(constraints, rng, monkeypatch):
    X, y = texts(rng)
    # The default start, and the default penalties of pairs, depend on the number of features.
    settings = {"init": "pca", "regularisation": 0.1, "shrinkage": 0.1, "random_state": 0}
    learner = MetricLearner(2, constraints=constraints, **settings)
    joined = learner.fit(X, y).factor_
    monkeypatch.setattr("gramian.columns.MOST_ENTRIES", 0)
    apart = learner.fit(X, y).factor_
    np.testing.assert_allclose(joined @ joined.T, apart @ apart.T, rtol=1e-6, atol=1e-8)


def test_few_single_features_and_many_entries_are_left_as_they_are(rng, monkeypatch):
    X, _ = texts(rng)
    counts = np.bincount(X.indices, minlength=5000)
    assert joins_columns(counts, 60)
    assert not joins_columns(counts, 2000)
    assert not joins_columns(100 * counts, 60)
    assert fewer_columns(X, join=False).features.shape == (60, np.count_nonzero(counts))
    monkeypatch.setattr("gramian.columns.FEWEST", 2000)
    assert fewer_columns(X[:, :1000]) is None
    assert not joins_columns(counts, 60), "the moments of few features are formed, which takes longer"


def test_zeros_that_are_stored_and_samples_without_single_features(rng):
    X, _ = texts(rng)
    counts = np.bincount(X.indices, minlength=5000)
    X.data[(counts[X.indices] == 1) & (np.repeat(np.arange(60), np.diff(X.indptr)) < 5)] = 0
    columns = fewer_columns(X)
    assert np.isfinite(columns.weights).all()
    assert not columns.features.dense()[:5, 30:].any()
    np.testing.assert_allclose(X @ columns.lift(np.eye(90)), columns.features.dense(), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("top", [False, True])
def test_norms_of_the_smallest_and_largest_numbers_are_in_range(top, dtype, rng):
    X, _ = texts(rng, dtype=dtype)
    X.data = X.data.clip(0.1, 2)
    scale = np.finfo(dtype).max / 4 if top else np.finfo(dtype).tiny * 2**30
    features = Coordinates.of_distances(X * dtype(scale), in_span=True).features
    assert features.shape[1] == (30 + 25 * 60 if top else 90)
    assert np.isfinite(features.dense()).all()
    assert (np.abs(features.dense()).max(axis=1) > 0.1).all()
