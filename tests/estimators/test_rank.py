"""The rank that is chosen, and certificates of global minima."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from gramian import KernelLearner, PSDRegressor, SStressMDS
from gramian.geometries import Grassmann


def planted(seed, rank, d=12, noise=0.0, per_unknown=6):
    rng = np.random.default_rng(seed)
    truth, X = rng.standard_normal((d, rank)), rng.standard_normal((per_unknown * d * rank, d))
    y = np.sum((X @ truth) ** 2, axis=1)
    return X, y + noise * y.std() * rng.standard_normal(len(y)), truth


def distances_of(seed, rank, n=30):
    points = np.random.default_rng(seed).standard_normal((n, rank))
    return np.linalg.norm(points[:, None] - points, axis=2)


@pytest.mark.parametrize("rank", [1, 2, 4, 6])
def test_the_planted_rank_is_found_and_certified(rank):
    X, y, truth = planted(rank, rank)
    model = PSDRegressor("auto", random_state=0).fit(X, y)
    assert model.rank_ == rank == model.factor_.shape[1]
    assert np.allclose(model.matrix(), truth @ truth.T, atol=1e-2)
    assert model.certificate_.is_global
    assert model.certificate_.is_bound
    assert [trial.rank for trial in model.rank_path_] == list(range(1, len(model.rank_path_) + 1))


@pytest.mark.parametrize("seed", range(4))
def test_with_noise_the_rank_is_near_the_best_on_fresh_samples(seed):
    rank = 1 + seed
    X, y, truth = planted(seed, rank, noise=0.1)
    fresh = np.random.default_rng(99).standard_normal((2000, 12))
    wanted = np.sum((fresh @ truth) ** 2, axis=1)
    errors = [np.mean((PSDRegressor(r, random_state=0).fit(X, y).predict(fresh) - wanted) ** 2) for r in range(1, 8)]
    assert abs(PSDRegressor("auto", random_state=0).fit(X, y).rank_ - (1 + int(np.argmin(errors)))) <= 1


def test_a_certificate_bounds_what_higher_ranks_gain():
    X, y, _ = planted(0, 3, noise=0.1)
    low, best = (PSDRegressor(r, certificate=True, tol=1e-9, random_state=0).fit(X, y) for r in (2, None))
    gain = low.history_["cost"][-1] - best.history_["cost"][-1]
    assert 0 < gain <= low.certificate_.gap
    assert low.certificate_.smallest_eigenvalue < 0
    assert not low.certificate_.is_global
    assert best.certificate_.is_global
    assert best.certificate_.gap < 0.01 * gain


def test_a_certificate_is_in_the_units_of_the_user():
    X, y, _ = planted(1, 2, noise=0.1)
    plain, scaled = (
        PSDRegressor(1, certificate=True, tol=1e-10).fit(X * a, y * b) for a, b in ((1, 1), (2**14, 2**22))
    )
    assert np.isclose(scaled.certificate_.gap, plain.certificate_.gap * 2.0**44, rtol=1e-3)
    # The gradient in W is a cost over the unit b/a² of W.
    unit = 2.0**44 * 2.0**28 / 2.0**22
    assert np.isclose(scaled.certificate_.smallest_eigenvalue, plain.certificate_.smallest_eigenvalue * unit, rtol=1e-2)


def test_lanczos_and_a_dense_matrix_find_the_same_eigenvalue(monkeypatch):
    X, y, _ = planted(2, 2, noise=0.1)
    dense = PSDRegressor(1, certificate=True, tol=1e-10).fit(X, y).certificate_
    monkeypatch.setattr("gramian.certificate.LARGEST_DENSE", 5)
    lanczos = PSDRegressor(1, certificate=True, tol=1e-10).fit(X, y).certificate_
    assert np.isclose(lanczos.smallest_eigenvalue, dense.smallest_eigenvalue, rtol=1e-4)
    assert not lanczos.is_global


def test_a_loss_that_is_no_polynomial_finds_its_rank():
    X, y, _ = planted(3, 2)
    y[:5] *= 3
    model = PSDRegressor("auto", loss="huber", random_state=0).fit(X, y)
    assert 2 <= model.rank_ <= 3


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_samples_have_a_low_rank(n):
    X, y, _ = planted(0, 2)
    model = PSDRegressor("auto", random_state=0).fit(X[:n], y[:n])
    assert model.rank_ == 1
    assert np.allclose(model.predict(X[:n]), y[:n], rtol=1e-2)


def test_a_certificate_of_an_earlier_fit_is_dropped():
    X, y, _ = planted(0, 1)
    model = PSDRegressor(1, certificate=True).fit(X, y)
    assert model.certificate_.is_global
    assert not hasattr(model.set_params(certificate=False).fit(X, y), "certificate_")


@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_the_dimension_of_a_map_is_found(unknown):
    D, rng = distances_of(0, 3), np.random.default_rng(0)
    hidden = np.triu(rng.random(D.shape) < unknown, 1)
    D[hidden | hidden.T] = np.nan
    model = SStressMDS("auto", random_state=0).fit(D)
    assert model.rank_ == 3
    assert model.stress_ < 1e-6
    assert model.certificate_.is_global
    assert model.partial_fit(D).embedding_.shape == (30, 3)


def test_the_dimension_of_a_noisy_map_is_found():
    D, rng = distances_of(1, 2), np.random.default_rng(1)
    error = np.triu(0.05 * rng.standard_normal(D.shape), 1)
    assert SStressMDS("auto", random_state=0).fit(D * np.abs(1 + error + error.T)).rank_ in (2, 3)


def test_the_rank_of_a_kernel_is_chosen_as_a_fit_of_that_rank():
    X, y = load_iris(return_X_y=True)
    model = KernelLearner("auto", random_state=0).fit(X, y)
    assert 1 <= model.rank_ <= 4
    assert len(model.rank_path_) >= 1
    again = KernelLearner(model.rank_, random_state=0).fit(X, y)
    assert np.allclose(model.embedding_, again.embedding_)
    assert model.certificate_.gap >= 0
    assert model.certificate_.is_global


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"solver": "online"}, "batch solver"),
        ({"geometry": "affine"}, "every rank"),
        ({"geometry": Grassmann()}, "every rank"),
        ({"init": np.ones((12, 1))}, "init is an array"),
    ],
)
def test_settings_that_do_not_suit_a_chosen_rank_are_refused(settings, words):
    X, y, _ = planted(0, 1)
    with pytest.raises(ValueError, match=words):
        PSDRegressor("auto", **settings).fit(X, y)


def test_a_chosen_rank_can_be_cloned_and_repeated():
    X, y, _ = planted(1, 2, noise=0.1)
    model = PSDRegressor("auto", random_state=0)
    first, second = (clone(model).fit(X, y) for _ in range(2))
    assert np.array_equal(first.factor_, second.factor_)
    assert first.rank_path_ == second.rank_path_


def test_pairs_of_weight_zero_are_not_held_out(rng):
    X, weight = rng.standard_normal((40, 4)), np.zeros(40)
    weight[0] = 1
    pairs = np.array([[i, (i + 7) % 40] for i in range(40)])
    model = KernelLearner("auto", random_state=0).fit_pairs(X, pairs, np.ones(40), 0, weight)
    assert np.isfinite(model.embedding_).all()
