"""Further starts of PSDRegressor: where they are tried, what they find, and that they change nothing else."""

import numpy as np
import pytest

from gramian import PSDRegressor

from helpers import regression


def make_trap(seed, n=40, d=20, r=1):
    """Return a noise-free problem with few measurements, and W."""
    rng = np.random.default_rng(seed)
    X, G = rng.standard_normal((n, d)), rng.standard_normal((d, r))
    return X, np.sum((X @ G) ** 2, axis=1), G @ G.T


def is_found(model, X, y):
    return model.history_["cost"][-1] <= 1e-6 * np.mean(y**2)


@pytest.mark.parametrize(("n", "d", "r", "least"), [(40, 20, 1, 18), (60, 20, 1, 19), (60, 10, 2, 19)])
def test_further_starts_leave_local_minima(n, d, r, least):
    problems = [make_trap(seed, n, d, r)[:2] for seed in range(20)]
    models = [PSDRegressor(r, random_state=0).fit(X, y) for X, y in problems]
    assert sum(is_found(model, *problem) for model, problem in zip(models, problems, strict=True)) >= least
    assert max(model.n_starts_ for model in models) > 1
    for model in models:
        assert (np.diff(model.history_["cost"]) <= 1e-9 * model.history_["cost"][0]).all()
        assert (np.diff(model.history_["passes"]) >= 0).all()
        assert model.n_iter_ == len(model.history_["cost"]) - 1


def test_the_last_cost_is_that_of_a_further_start_that_is_right_at_once():
    """A further start ends at the accuracy of the fit, and often nothing is left to minimise from there."""
    problems = [make_trap(seed, 10, 5)[:2] for seed in range(30)]
    models = [PSDRegressor(1, n_init=4, solver="trust-region", random_state=0).fit(X, y) for X, y in problems]
    assert sum(model.n_starts_ > 1 for model in models) > 3
    for model, (X, y) in zip(models, problems, strict=True):
        cost = 0.5 * np.mean((model.predict(X) - y) ** 2)
        assert model.history_["cost"][-1] == pytest.approx(cost, rel=1e-3, abs=1e-12)
        assert model.n_iter_ == len(model.history_["cost"]) - 1
        assert (np.diff(model.history_["passes"]) >= 0).all()


def test_a_fit_that_no_start_improves_is_that_of_the_first_start_to_the_last_bit(rng):
    X, y, _, _ = regression(rng, 120, 10, 3)
    y = y + 0.1 * y.std() * rng.standard_normal(120)
    generators = [np.random.default_rng(0), np.random.default_rng(0)]
    one, auto = (
        PSDRegressor(3, n_init=n, random_state=g).fit(X, y) for n, g in zip((1, "auto"), generators, strict=True)
    )
    assert (one.n_starts_, auto.n_starts_) == (1, 2)
    np.testing.assert_array_equal(one.factor_, auto.factor_)
    np.testing.assert_array_equal(one.history_["cost"], auto.history_["cost"])
    assert one.message_ == auto.message_
    assert generators[0].random() == generators[1].random()


@pytest.mark.filterwarnings("ignore:no prediction should be above 0")
def test_no_further_start_is_tried_where_none_is_needed(rng):
    X, y, _, start = regression(rng, 100, 10, 2)
    noisy = y + 0.1 * y.std() * rng.standard_normal(100)
    many = np.tile(X, (6, 1)) + 1e-3 * rng.standard_normal((600, 10))
    assert PSDRegressor(2, random_state=0).fit(many, np.tile(noisy, 6)).n_starts_ == 1
    assert PSDRegressor(2, random_state=0, init=start).fit(X, noisy).n_starts_ == 1
    assert PSDRegressor(2, random_state=0, init="random").fit(X, noisy).n_starts_ == 1
    assert PSDRegressor(2, random_state=0, loss="huber").fit(X, noisy).n_starts_ == 1
    assert PSDRegressor(2, random_state=0, solver="online").fit(X, noisy).n_starts_ == 1
    assert PSDRegressor(2, random_state=0).fit(X, noisy, sense="at most").n_starts_ == 1
    assert PSDRegressor(2, random_state=0, n_init=4).fit(X, noisy).n_starts_ == 4
    assert PSDRegressor(2, random_state=0, n_init=4).fit(X, y).n_starts_ == 1


@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_further_starts_on_every_geometry_of_fixed_rank(geometry):
    X, y, _ = make_trap(0, 30, 10, 1)
    y = y + 0.3 * y.std() * np.random.default_rng(1).standard_normal(30)
    one, some = (PSDRegressor(1, geometry=geometry, n_init=n, random_state=0).fit(X, y) for n in (1, 3))
    assert some.n_starts_ == 3
    assert some.history_["cost"][-1] <= one.history_["cost"][-1]


def test_bad_n_init_raises_an_error(rng):
    data = regression(rng, 100, 6, 2)[:2]
    for n_init in ("many", 0, 1.5):
        with pytest.raises(ValueError, match="n_init="):
            PSDRegressor(n_init=n_init).fit(*data)
    with pytest.raises(ValueError, match="n_init=3 needs a batch solver"):
        PSDRegressor(n_init=3, solver="online").fit(*data)
