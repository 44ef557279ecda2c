import numpy as np
import pytest

from gramian import PSDRegressor
from gramian.starts import initial_factor

from helpers import EXAMPLES, make_problem, rank_one, regression


@pytest.mark.parametrize("name", ["spectral", "random", "pca", "identity"])
def test_starts_have_full_rank_and_fit_in_scale(name, rng, dtype):
    X, y, _, _ = regression(rng, 400, 7, 2, dtype=dtype)
    problem = rank_one(X, y)
    G = initial_factor(name, problem, 3, rng)
    assert G.shape == (7, 3)
    assert G.dtype == dtype
    assert np.linalg.matrix_rank(G) == 3
    predicted = np.sum((X @ G) ** 2, axis=1)
    assert predicted @ y / (predicted @ predicted) == pytest.approx(1, rel=1e-3)


def test_spectral_start_finds_the_subspace(rng):
    X, y, truth, _ = regression(rng, 20000, 10, 2)
    G = initial_factor("auto", rank_one(X, y), 2, rng)
    assert np.linalg.svd(np.linalg.qr(G)[0].T @ np.linalg.qr(truth)[0])[1].min() > 0.98


def test_lanczos_agrees_with_the_formed_matrix(rng, monkeypatch):
    X, y, _, _ = regression(rng, 3000, 12, 2, condition=4)
    formed = initial_factor("spectral", rank_one(X, y), 2, np.random.default_rng(0))
    monkeypatch.setattr("gramian.starts.spectral.LARGEST_FORMED", 4)
    iterative = initial_factor("spectral", rank_one(X, y), 2, np.random.default_rng(0))
    np.testing.assert_allclose(iterative @ iterative.T, formed @ formed.T, atol=0.02 * np.abs(formed @ formed.T).max())


def test_pca_start_is_the_principal_subspace(rng):
    X = rng.standard_normal((300, 6)) * np.array([5, 4, 1, 1, 1, 1])
    G = initial_factor("pca", rank_one(X, X[:, 0] ** 2), 2, rng)
    principal = np.linalg.svd(X, full_matrices=False)[2][:2].T
    assert np.linalg.svd(np.linalg.qr(G)[0].T @ principal)[1].min() == pytest.approx(1)


@pytest.mark.parametrize("target", [np.zeros(50), -np.ones(50)])
def test_targets_without_a_positive_fit_still_give_a_start(target, rng):
    G = initial_factor("auto", rank_one(rng.standard_normal((50, 4)), target), 2, rng)
    assert np.isfinite(G).all()
    assert np.linalg.matrix_rank(G) == 2


def test_auto_is_the_identity_at_full_rank(rng):
    X, y, _, _ = regression(rng, 50, 4, 2)
    G = initial_factor("auto", rank_one(X, y), 4, rng)
    np.testing.assert_allclose(G, G[0, 0] * np.eye(4))


def test_bad_names_are_refused(rng):
    X, y, _, _ = regression(rng, 50, 4, 2)
    with pytest.raises(ValueError, match=r"init='lucky' is unknown. Choose one of 'auto', 'spectral'"):
        initial_factor("lucky", rank_one(X, y), 2, rng)
    with pytest.raises(ValueError, match="init='pca' is unknown"):
        initial_factor("pca", make_problem(EXAMPLES["dense"](rng, np.float64), rng), 2, rng)


@pytest.mark.parametrize("kind", ["two groups of features", "one feature at a time"])
def test_features_that_occur_in_different_samples_are_all_learned(kind, rng):
    if kind == "two groups of features":
        X = np.kron(np.eye(2), rng.random((100, 3)))
        y = X.sum(axis=1) ** 2
    else:
        X = np.eye(4)[rng.integers(4, size=200)]
        y = X @ [1.0, 2.0, 3.0, 6.0]
    for seed in range(3):
        assert PSDRegressor(1, random_state=seed).fit(X, y).score(X, y) > 0.999
