"""Extremes of columns equal those that NumPy finds, for every shape and layout."""

import numpy as np
import pytest
import scipy.sparse

from gramian.execution import Serial, Threads
from gramian.extremes import TILE_ENTRIES, Extremes, extremes_of, largest


def reference(X):
    return Extremes(np.nanmin(X, axis=0), np.nanmax(X, axis=0))


def assert_same(found, expected):
    np.testing.assert_array_equal(found.low, expected.low)
    np.testing.assert_array_equal(found.high, expected.high)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5000), (3, 7), (2049, 1), (4001, 50), (TILE_ENTRIES // 8, 33)])
def test_extremes_of_arrays(rng, shape, dtype):
    X = rng.standard_normal(shape).astype(dtype)
    for layout in (X, np.asfortranarray(X), X[::-1]):
        assert_same(extremes_of(layout), reference(X))
    assert largest(X) == np.abs(X).max()


def test_nan_is_ignored(rng):
    X = rng.standard_normal((3000, 3))
    X[rng.integers(3000, size=500), rng.integers(3, size=500)] = np.nan
    for layout in (X, np.asfortranarray(X)):
        assert_same(extremes_of(layout), reference(X))


@pytest.mark.parametrize("place", [(0, 0), (4000, 49), (1234, 7)])
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_one_entry_that_is_not_finite_is_seen(rng, place, entry, dtype):
    X = rng.standard_normal((4001, 50)).astype(dtype)
    executions = (None, Serial(), Threads(2))
    assert all(extremes_of(X, execution).finite for execution in executions)
    X[place] = entry
    assert not any(extremes_of(layout, each).finite for layout in (X, X[::-1]) for each in executions)
    assert not extremes_of(scipy.sparse.csr_array(X)).finite


def test_other_dimensions_and_sparse(rng):
    X = rng.standard_normal((20, 3, 3))
    assert largest(X) == np.abs(X).max()
    assert largest(X.ravel()) == np.abs(X).max()
    assert largest(np.zeros(0)) == 0
    S = scipy.sparse.csr_array(np.where(rng.random((30, 6)) < 0.2, rng.standard_normal((30, 6)), 0))
    assert_same(extremes_of(S), reference(S.toarray()))
    assert extremes_of(np.ones((4, 2))).constant
    assert not extremes_of(np.eye(2)).constant
