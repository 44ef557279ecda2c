"""Compiled LogDet projections equal their NumPy references."""

import inspect

import numpy as np
import pytest

from gramian._kernels import logdet, logdet_metric, reference_logdet, reference_logdet_metric


@pytest.mark.parametrize("share", [0.5, 0.99, 1.0])
@pytest.mark.parametrize("r", [1, 2, 5, 8])
def test_the_compiled_sweep_equals_the_reference(rng, share, r):
    G, m = rng.standard_normal((20, r)), 60
    first = rng.integers(20, size=m)
    second = (first + rng.integers(1, 20, size=m)) % 20
    inverse, sense = 1 / (0.1 + 5 * rng.random(m)), rng.integers(-1, 2, size=m).astype(np.int8)
    inverse[np.flatnonzero(sense > 0)[:3]] = np.inf
    duals, cores = np.zeros((2, m)), np.stack([np.eye(r)] * 2)
    for _ in range(3):
        order = rng.permutation(m)
        changes = [
            module.logdet_sweep(G, first, second, inverse, sense, share, order, dual, core)
            for module, dual, core in zip((logdet, reference_logdet), duals, cores, strict=True)
        ]
        assert changes[0] == pytest.approx(changes[1], rel=1e-9)
    np.testing.assert_allclose(duals[0], duals[1], rtol=1e-8, atol=1e-8 * np.abs(duals).max())
    np.testing.assert_allclose(cores[0], cores[1], rtol=1e-8, atol=1e-8 * np.abs(cores).max())


def test_the_reference_step_is_a_cholesky_factor(rng):
    w = rng.standard_normal(6)
    for beta in (3.0, -0.9 / (w @ w)):
        L = reference_logdet.cholesky_step(beta, w)
        np.testing.assert_allclose(L, np.linalg.cholesky(np.eye(6) + beta * np.outer(w, w)), atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_kernels_equal_their_references(rng, d):
    X = rng.standard_normal((30, d))
    first, second = np.arange(20), np.arange(20) + rng.integers(1, 10, size=20)
    sense, target = rng.integers(-1, 2, size=20), rng.uniform(0.5, 4, size=20)
    found = []
    for kernels in (logdet_metric, reference_logdet_metric):
        A, B, dual, inverse = np.eye(d), np.eye(d), np.zeros(20), 1 / target
        change = [kernels.itml_cycle(X, first, second, sense, 0.7, A, dual, inverse) for _ in range(3)]
        updates = kernels.lego_pass(X, first, second, target, sense, 0.3, B)
        found.append([*change, A, dual, inverse, updates, B])
    assert 0 < updates < 20
    for compiled, plain in zip(*found, strict=True):
        assert np.allclose(compiled, plain, rtol=1e-11, atol=1e-13)
    references = {name for name, _ in inspect.getmembers(reference_logdet_metric, inspect.isfunction)}
    assert references == {"itml_cycle", "lego_pass"}
