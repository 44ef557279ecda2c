import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import PSDRegressor
from gramian.estimators._base import check_finite
from gramian.geometries import Polar
from gramian.solvers import Ending, GradientDescent, Journal, Online, Result

from helpers import regression


@pytest.fixture
def data(rng):
    X, y, _, _ = regression(rng, 300, 6, 2)
    return X, y


@pytest.mark.parametrize("solver", ["gd", "cg", "trust-region", "online"])
@pytest.mark.parametrize("geometry", ["flat", "scaled", "polar", "affine", "log-euclidean"])
def test_every_geometry_with_every_solver(geometry, solver, rng):
    full = geometry in ("affine", "log-euclidean")
    X, y, _, _ = regression(rng, 400, 6, 6 if full else 2, condition=10)
    model = PSDRegressor(
        rank=None if full else 2,
        geometry=geometry,
        solver=solver,
        random_state=0,
        n_epochs=20,
        max_iter=3000,
        tol=1e-5 if solver == "gd" else 1e-8,
    )
    model.fit(X, y)
    assert model.score(X, y) > (0.98 if solver == "online" else 0.999)
    assert model.factor_.shape == (6, 6 if full else 2)
    np.testing.assert_allclose(model.predict(X), np.einsum("ni,ij,nj->n", X, model.matrix(), X), rtol=1e-8)


def test_matrices_are_the_same_as_their_vectors(data):
    X, y = data
    vectors = PSDRegressor(random_state=0, tol=1e-10).fit(X, y)
    matrices = PSDRegressor(random_state=0, tol=1e-10).fit(X[:, :, None] * X[:, None, :], y)
    np.testing.assert_allclose(matrices.matrix(), vectors.matrix(), atol=1e-4)
    np.testing.assert_allclose(matrices.predict(X[:, :, None] * X[:, None, :]), vectors.predict(X), atol=1e-3)


def test_only_the_symmetric_part_of_a_matrix_counts(rng, data):
    X, y = data
    skew = rng.standard_normal((len(X), 6, 6))
    matrices = X[:, :, None] * X[:, None, :]
    plain = PSDRegressor(random_state=0).fit(matrices, y)
    other = PSDRegressor(random_state=0).fit(matrices + skew - skew.transpose(0, 2, 1), y)
    np.testing.assert_allclose(other.matrix(), plain.matrix(), atol=1e-5)


def test_sparse_data_gives_the_dense_result(data):
    X, y = data
    X = np.where(np.abs(X) > 0.7, X, 0)
    dense = PSDRegressor(random_state=0).fit(X, y)
    sparse = PSDRegressor(random_state=0).fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.matrix(), dense.matrix(), atol=1e-6)
    np.testing.assert_allclose(sparse.predict(scipy.sparse.csr_array(X)), dense.predict(X), atol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_uneven_columns_stay_in_float32(make, rng):
    X = (rng.standard_normal((60, 4)) * [1e-4, 1, 1, 1e4]).astype(np.float32)
    model = PSDRegressor(2, random_state=0).fit(make(X), np.sum(X[:, 1:3] ** 2, axis=1))
    assert model.factor_.dtype == model.predict(make(X)).dtype == np.float32


def test_float32_in_float32_out(data):
    X, y = (a.astype(np.float32) for a in data)
    model = PSDRegressor(random_state=0).fit(X, y)
    assert model.factor_.dtype == model.predict(X).dtype == np.float32


def test_senses_are_kept(rng):
    X, y, _, _ = regression(rng, 200, 5, 2)
    slack = rng.random(200) * y
    sense = np.array(["at most", "at least"])[rng.integers(2, size=200)]
    target = np.where(sense == "at most", y + slack, y - slack)
    model = PSDRegressor(2, random_state=0, tol=1e-12).fit(X, target, sense=sense)
    predicted = model.predict(X)
    violation = np.where(sense == "at most", predicted - target, target - predicted)
    assert violation.max() < 1e-3 * y.mean()
    words = PSDRegressor(2, random_state=0).fit(X, y, sense="at most")
    numbers = PSDRegressor(2, random_state=0).fit(X, y, sense=-1)
    np.testing.assert_array_equal(words.factor_, numbers.factor_)


def test_weights_of_zero_drop_samples(data, rng):
    X, y = data
    weight = (rng.random(len(y)) < 0.7).astype(float)
    wrong = np.where(weight > 0, y, -100)
    weighted = PSDRegressor(random_state=0).fit(X, wrong, sample_weight=weight)
    dropped = PSDRegressor(random_state=0).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(weighted.factor_, dropped.factor_, atol=1e-8)


def test_fit_equals_the_same_batches_through_partial_fit(data):
    X, y = data
    solver = Online(batch_size=20, step_size=0.05, delay=2.0, shuffle=False, subset=100)
    for geometry in ("flat", "polar", "scaled"):
        start = np.eye(6, 2)
        first = PSDRegressor(solver=solver, geometry=geometry, init=start, n_epochs=1).fit(X[:100], y[:100])
        once = PSDRegressor(solver=solver, geometry=geometry, init=start).partial_fit(X[:100], y[:100])
        np.testing.assert_allclose(once.factor_, first.factor_, rtol=1e-12)
        # The result does not depend on how the stream is divided into calls.
        whole, cut = once, clone(once).partial_fit(X[:100], y[:100])
        whole.partial_fit(X[100:], y[100:])
        for part in (slice(100, 160), slice(160, 200), slice(200, 300)):
            cut.partial_fit(X[part], y[part])
        np.testing.assert_allclose(cut.factor_, whole.factor_, rtol=1e-10)


def test_partial_fit_goes_on_from_fit(data):
    X, y = data
    model = PSDRegressor(solver="online", n_epochs=2, random_state=0).fit(X, y)
    before = model.score(X, y)
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.score(X, y) > before
    assert model.n_iter_ == 7


def test_partial_fit_goes_on_from_a_batch_fit(data):
    X, y = data
    model = PSDRegressor(random_state=0, tol=1e-10).fit(X, y)
    factor = model.factor_
    model.set_params(solver=Online(step_size=1e-9, delay=1.0)).partial_fit(X, y)
    np.testing.assert_allclose(model.factor_, factor, atol=1e-6)


def test_partial_fit_needs_the_online_solver(data):
    assert not hasattr(PSDRegressor(), "partial_fit")
    assert hasattr(PSDRegressor(solver="online"), "partial_fit")
    assert hasattr(PSDRegressor(solver=Online()), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        PSDRegressor().partial_fit(*data)


def test_lives_in_pipelines_and_searches(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(with_mean=False), PSDRegressor(random_state=0))
    search = GridSearchCV(pipeline, {"psdregressor__rank": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_ == {"psdregressor__rank": 2}
    assert search.best_score_ > 0.99


def test_clones_and_pickles_with_objects_for_settings(data):
    X, y = data
    model = PSDRegressor(geometry=Polar(0.3), solver=GradientDescent(), max_iter=2000, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).geometry == Polar(0.3)


def test_history_has_a_row_an_iteration(data):
    model = PSDRegressor(random_state=0).fit(*data)
    assert list(model.history_) == ["iteration", "cost", "gradient_norm", "step", "time", "passes"]
    assert {len(column) for column in model.history_.values()} == {model.n_iter_ + 1}
    assert model.converged_


def test_no_convergence_is_a_warning_that_says_what_to_raise(data):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .*gradient's norm is .*Raise max_iter or tol"):
        model = PSDRegressor(max_iter=2, tol=1e-12, random_state=0).fit(*data)
    assert not model.converged_


def test_callback_and_verbose(data, capsys):
    seen = []
    PSDRegressor(random_state=0, verbose=2, callback=seen.append).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(seen) + 2  # the heading, and why it ended
    model = PSDRegressor(random_state=0, verbose=1).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("iteration")
    assert int(lines[-2].split()[0]) == model.n_iter_
    assert lines[-1] == model.message_


BAD = {
    "NaN in X": ({}, lambda X, y: (np.where(X > 2, np.nan, X), y), "NaN"),
    "infinity in X": ({}, lambda X, y: (np.where(X > 2, np.inf, X), y), "infinity"),
    "NaN in y": ({}, lambda X, y: (X, np.where(y > 5, np.nan, y)), "NaN"),
    "1-d X": ({}, lambda X, y: (X[:, 0], y), "Expected 2D array"),
    "matrices not square": ({}, lambda X, y: (X[:, :, None], y), r"expected vectors \(n, d\) or square matrices"),
    "4-d X": ({}, lambda X, y: (X[:, :, None, None], y), r"X has shape \(300, 6, 1, 1\)"),
    "y of another length": ({}, lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
    "no samples": ({}, lambda X, y: (X[:0], y[:0]), "0 sample"),
    "rank 0": ({"rank": 0}, None, "rank=0 is not valid. Choose an integer of at least 1"),
    "rank 1.5": ({"rank": 1.5}, None, "rank=1.5 is not valid"),
    "rank above d": ({"rank": 7}, None, "rank=7 exceeds n_features=6. Choose rank <= 6"),
    "low rank in a cone": ({"geometry": "affine"}, None, "'affine' learns full-rank matrices.*Choose rank=None"),
    "unknown geometry": ({"geometry": "round"}, None, "geometry='round' is unknown. Choose one of 'flat', 'scaled'"),
    "unknown solver": ({"solver": "bfgs"}, None, "solver='bfgs' is unknown"),
    "unknown loss": ({"loss": "cauchy"}, None, "loss='cauchy' is unknown"),
    "unknown init": ({"init": "lucky"}, None, "init='lucky' is unknown"),
    "init of another shape": ({"init": np.ones((2, 2))}, None, r"init has shape \(2, 2\); expected .* = \(6, 2\)"),
    "NaN in init": ({"init": np.full((6, 2), np.nan)}, None, "init contains NaN"),
    "init of lower rank": ({"init": np.ones((6, 2)), "geometry": "polar"}, None, "rank 1 but 2 columns"),
    "init of zeros": ({"init": np.zeros((6, 2))}, None, "init has rank 0 but 2 columns"),
    "init of words": ({"init": [["a"]]}, None, "init cannot be read as numbers"),
    "a class for an object": ({"geometry": Polar}, None, r"geometry=Polar is a class. Give an object: Polar\(\)"),
    "callback": ({"callback": 3}, None, "callback=3 cannot be called"),
    "verbose": ({"verbose": "yes"}, None, "verbose='yes' is not valid"),
    "negative tol": ({"tol": -1}, None, "tol=-1 is not valid"),
    "infinite tol": ({"tol": np.inf}, None, "tol=inf is not valid"),
    "negative max_iter": ({"max_iter": -1}, None, "max_iter=-1 is not valid"),
    "batch_size 0": ({"batch_size": 0}, None, "batch_size=0 is not valid"),
    "n_epochs 1.5": ({"n_epochs": 1.5}, None, "n_epochs=1.5 is not valid. Choose an integer"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_lost(case, data):
    settings, spoil, message = BAD[case]
    X, y = data
    model = PSDRegressor(random_state=0).fit(X, y)
    before = dict(vars(model.set_params(**settings)))
    with pytest.raises(ValueError, match=message):
        model.fit(*(spoil(X, y) if spoil else (X, y)))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(300), r"sample_weight\[0\] = -1.0; weights must be finite and not negative"),
        (np.full(300, np.nan), r"sample_weight\[0\] = nan"),
        (np.zeros(300), "zero for every sample"),
        (np.ones(3), r"sample_weight has shape \(3,\); expected \(300,\)"),
    ],
)
def test_bad_weights_are_refused(weight, message, data):
    with pytest.raises(ValueError, match=message):
        PSDRegressor().fit(*data, sample_weight=weight)


@pytest.mark.parametrize(
    ("sense", "message"),
    [
        (2, r"sense\[0\] = 2 is unknown"),
        (["at most"] * 299 + ["most"], r"sense\[299\] = 'most' is unknown. Choose 0 or 'equal'"),
        (np.zeros(7), r"sense has shape \(7,\); expected \(300,\)"),
    ],
)
def test_bad_senses_are_refused(sense, message, data):
    with pytest.raises(ValueError, match=message):
        PSDRegressor().fit(*data, sense=sense)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(data):
    X, y = data
    model = PSDRegressor(random_state=0).fit(X, y)
    predicted = model.predict(X)

    def interrupt(record):
        if record.iteration == 2:
            raise MemoryError

    model.set_params(callback=interrupt)
    with pytest.raises(MemoryError):
        model.fit(X[:, :4], y)
    np.testing.assert_array_equal(model.predict(X), predicted)


def test_a_bad_batch_leaves_the_stream_as_it_was(data):
    X, y = data
    model = PSDRegressor(solver="online", random_state=0).partial_fit(X, y)
    factor = model.factor_.copy()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, 6), np.nan), y[:3])
    with pytest.raises(ValueError, match="0 sample"):
        model.partial_fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(X[:, :5], y)
    np.testing.assert_array_equal(model.factor_, factor)
    model.partial_fit(X, y)


def test_predict_before_fit(data):
    with pytest.raises(NotFittedError):
        PSDRegressor().predict(data[0])
    with pytest.raises(NotFittedError):
        PSDRegressor().matrix()


def test_edge_cases_have_right_answers(rng):
    one = PSDRegressor(rank=1, random_state=0).fit([[1.0, 2.0]], [5.0])
    assert one.predict([[1.0, 2.0]])[0] == pytest.approx(5, rel=1e-2)
    constant = np.column_stack([rng.standard_normal(100), np.ones(100)])
    model = PSDRegressor(rank=2, random_state=0, tol=1e-10).fit(constant, constant[:, 0] ** 2 + 3)
    assert model.score(constant, constant[:, 0] ** 2 + 3) > 0.999
    nothing = PSDRegressor(rank=1, random_state=0).fit(constant, np.zeros(100))
    assert np.abs(nothing.predict(constant)).max() < 1e-2
    with pytest.warns(UserWarning, match="W = 0 is the best fit"):
        negative = PSDRegressor(rank=1, random_state=0).fit(constant, -np.ones(100))
    assert np.abs(negative.predict(constant)).max() < 1e-2


def test_online_that_ends_higher_than_it_began_warns():
    model = PSDRegressor(solver="online")
    model.history_, model.factor_ = {"cost": np.array([1.0, 2.0]), "gradient_norm": np.full(2, np.nan)}, np.eye(1)
    result = Result(None, 2.0, 1, Ending.EXHAUSTED, "", model.history_, stops=False)
    with pytest.warns(ConvergenceWarning, match=r"the cost rose from 1.00e\+00 to 2.00e\+00. Give smaller steps"):
        model._warn(result, Journal())


def test_a_seed_fixes_the_result(data):
    for solver in ("cg", "online"):
        first, second = (
            PSDRegressor(init="random", solver=solver, random_state=3).fit(*data).factor_ for _ in range(2)
        )
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("units", "target"), [(1e-10, 1.0), (1e5, 1e-3), (1.0, 1e-14), (1.0, 1e10), (1e4, 1e8)])
@pytest.mark.parametrize("geometry", ["scaled", "flat", "polar"])
@pytest.mark.parametrize("solver", ["cg", "gd", "online"])
def test_units_do_not_matter(units, target, dtype, geometry, solver, data):
    X, y = data
    plain = PSDRegressor(geometry=geometry, solver=solver, random_state=0, max_iter=2000)
    plain.fit(X.astype(dtype), y.astype(dtype))
    other = clone(plain).fit((units * X).astype(dtype), (target * y).astype(dtype))
    assert other.score(units * X, target * y) == pytest.approx(
        plain.score(X, y), abs=2e-2 if solver == "online" else 1e-3
    )
    assert other.history_["cost"][0] == pytest.approx(target**2 * plain.history_["cost"][0], rel=0.3)


def test_the_conditioning_of_the_data_does_not_matter(data):
    X, y = data
    stretched = X * np.logspace(0, 4, 6)
    model = PSDRegressor(random_state=0, tol=1e-10, max_iter=60).fit(stretched, y)
    assert model.score(stretched, y) > 0.9999


@pytest.mark.parametrize("n_features", [12, 600])
def test_features_that_are_always_zero_cost_no_rank(n_features, rng):
    A = np.zeros((1500, n_features))
    A[:, :5] = rng.uniform(-1, 1, (1500, 5))
    y = np.sum((A[:, :5] @ rng.standard_normal((5, 4))) ** 2, axis=1)
    assert PSDRegressor(4, random_state=0, tol=1e-12).fit(A, y).score(A, y) > 1 - 1e-8


def test_targets_that_are_all_zero_in_many_dimensions(rng):
    model = PSDRegressor(random_state=0).fit(rng.standard_normal((100, 600)), np.zeros(100))
    assert np.isfinite(model.factor_).all()


def test_a_warm_start_at_the_minimum_stays_silent(data, rng):
    X, y = data
    y = y + rng.standard_normal(len(y))
    first = PSDRegressor(solver="trust-region", tol=1e-15, random_state=0).fit(X, y)
    for geometry in ("scaled", "flat", "polar"):
        again = PSDRegressor(init=first.factor_, geometry=geometry).fit(X, y)
        assert again.converged_


def test_a_loss_without_a_minimum_is_refused(data):
    for solver in ("cg", "online", "trust-region"):
        with pytest.raises(ValueError, match=r"loss='linear' has no minimum unless W is bounded"):
            PSDRegressor(loss="linear", solver=solver).fit(*data)
    PSDRegressor(loss="linear", geometry="grassmann", random_state=0).fit(*data)


def test_one_wild_batch_does_not_end_the_stream(data):
    X, y = data
    model = PSDRegressor(geometry="flat", solver="online", random_state=0).partial_fit(X, y)
    wild, target = X[:50].copy(), y[:50].copy()
    wild[7] *= 100
    target[7] *= 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.partial_fit(wild, target)
    before = model.score(X, y)
    for _ in range(20):
        model.partial_fit(X, y)
    assert model.score(X, y) > before + 0.1 * (1 - before)


def test_a_stream_follows_its_settings_and_its_data_s_type(data):
    X, y = data
    model = PSDRegressor(geometry="flat", solver="online", random_state=0).partial_fit(X, y)
    model.set_params(geometry="polar").partial_fit(X.astype(np.float32), y)
    assert model.factor_.dtype == np.float32
    with pytest.raises(ValueError, match=r"rank=1, but the stream has rank 2. Call fit"):
        model.set_params(rank=1).partial_fit(X, y)


def test_online_on_raw_data_is_finite(rng):
    for X, y in (load_digits(return_X_y=True), load_breast_cancer(return_X_y=True)):
        for geometry in ("scaled", "flat", "polar"):
            model = PSDRegressor(3, geometry=geometry, solver="online", random_state=0, n_epochs=1).fit(X, y)
            assert np.isfinite(model.factor_).all()


def test_senses_may_mix_words_and_numbers(data):
    X, y = data
    mixed = PSDRegressor(random_state=0).fit(X, y, sense=["at most", 0] * 150)
    numbers = PSDRegressor(random_state=0).fit(X, y, sense=[-1, 0] * 150)
    np.testing.assert_array_equal(mixed.factor_, numbers.factor_)


def test_weights_of_any_size_are_relative(data):
    X, y = data
    plain = PSDRegressor(random_state=0).fit(X, y)
    for size in (1e307, 1e-300):
        heavy = PSDRegressor(random_state=0).fit(X, y, sample_weight=np.full(300, size))
        np.testing.assert_allclose(heavy.factor_, plain.factor_)
        PSDRegressor(random_state=0).fit(X.astype(np.float32), y, sample_weight=np.full(300, size))


def test_a_callback_that_stops_an_online_fit_leaves_it_unconverged(data):
    assert not PSDRegressor(solver="online", callback=lambda record: True, random_state=0).fit(*data).converged_
    stopped = PSDRegressor(callback=lambda record: record.iteration == 1, random_state=0).fit(*data)
    assert stopped.n_iter_ == 1
    assert not stopped.converged_


def test_no_iterations_give_the_start(data):
    with pytest.warns(ConvergenceWarning):
        batch = PSDRegressor(max_iter=0, init=np.eye(6, 2)).fit(*data)
    np.testing.assert_allclose(batch.factor_, np.eye(6, 2))
    PSDRegressor(solver="online", n_epochs=0, random_state=0).fit(*data)


def test_a_factor_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="no longer finite"):
        check_finite(np.array([[np.nan]]))
