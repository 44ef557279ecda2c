"""Certificates form the gradient M once."""

import numpy as np
import pytest

from gramian import PSDRegressor, certificate


@pytest.fixture
def regression(rng):
    X = rng.standard_normal((100, 8))
    return X, np.sum((X @ rng.standard_normal((8, 3))) ** 2, axis=1) + 0.1 * rng.standard_normal(100)


def count_calls(monkeypatch, name):
    """Return a list that grows by one entry with every call of a function of the module."""
    calls, function = [], getattr(certificate, name)

    def note(*arguments):
        calls.append(name)
        return function(*arguments)

    monkeypatch.setattr(certificate, name, note)
    return calls


@pytest.mark.parametrize(("loss", "formed"), [("squared", 2), ("huber", 1)])
def test_the_gradient_is_formed_once(regression, monkeypatch, loss, formed):
    """For the squared loss the matrix C is formed too."""
    calls = count_calls(monkeypatch, "form_gradient")
    assert not PSDRegressor(1, loss=loss, certificate=True).fit(*regression).certificate_.is_global
    assert len(calls) == formed


@pytest.mark.parametrize(("sizes", "runs"), [(1, 2), (2.0 ** np.arange(0, 32, 4), 4)])
def test_lanczos_iterations_run_twice_unless_columns_are_scaled(regression, monkeypatch, sizes, runs):
    """One run finds the norm of M, one its smallest eigenvalue; scaled columns need those of another matrix too."""
    X, y = regression
    dense = PSDRegressor(1, certificate=True, tol=1e-10).fit(X * sizes, 1e3 * y).certificate_
    monkeypatch.setattr(certificate, "LARGEST_DENSE", 5)
    calls = count_calls(monkeypatch, "lanczos")
    found = PSDRegressor(1, certificate=True, tol=1e-10).fit(X * sizes, 1e3 * y).certificate_
    assert np.isclose(found.smallest_eigenvalue, dense.smallest_eigenvalue, rtol=1e-4)
    assert len(calls) == runs
