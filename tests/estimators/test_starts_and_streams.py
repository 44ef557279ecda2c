"""Warm starts, two spellings of a parameter, and streams whose first chunks have one class."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from gramian import MetricLearner
from gramian.estimators import _stream
from gramian.solvers import Online
from gramian.supervision import nearest_triplets

pytestmark = pytest.mark.filterwarnings("ignore:not converged")


@pytest.fixture
def labelled(rng):
    """Return shuffled samples (60, 4) of three classes, and labels."""
    labels = rng.permutation(np.repeat([0, 1, 2], 20))
    return rng.standard_normal((60, 4)) + 2 * labels[:, None], labels


def make_learner(**params):
    return MetricLearner(2, **{"constraints": "triplets", "max_iter": 10, "random_state": 0, **params})


@pytest.mark.parametrize("constraints", ["triplets", "neighbourhoods"])
def test_a_warm_start_is_the_factor_as_init(constraints, labelled):
    X, y = labelled
    cold = make_learner(constraints=constraints).fit(X, y)
    warm = make_learner(constraints=constraints, warm_start=True).fit(X, y)
    np.testing.assert_array_equal(warm.factor_, cold.factor_)
    assert warm.message_ == cold.message_
    warm.fit(X, y)
    given = make_learner(constraints=constraints, init=cold.factor_).fit(X, y)
    np.testing.assert_allclose(warm.factor_, given.factor_, atol=1e-9)
    assert warm.message_ == given.message_ + "; started from the factor of the fit before"
    np.testing.assert_array_equal(cold.fit(X, y).factor_, make_learner(constraints=constraints).fit(X, y).factor_)


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "signs"])
def test_warm_starts_from_pairs_keep_the_scale(labels, labelled):
    X, y = labelled
    pairs = np.random.default_rng(0).integers(60, size=(200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    model = make_learner(constraints="pairs", warm_start=True)
    fit = (lambda: model.fit(X, y)) if labels else (lambda: model.fit_pairs(X, pairs, signs))
    first = fit().bounds_
    for _ in range(4):
        np.testing.assert_allclose(fit().bounds_.far, first.far, rtol=1e-12)
    assert np.sum(model.factor_**2) < 1.5 * np.sum(make_learner(constraints="pairs").fit(X, y).factor_ ** 2)


@pytest.mark.parametrize("solver", ["auto", "online"])
def test_a_stream_of_pairs_of_labels_keeps_its_bounds(solver, labelled):
    X, y = labelled
    model = make_learner(constraints="pairs", solver=solver).partial_fit(X[:30], y[:30])
    first = model.bounds_
    np.testing.assert_allclose(model.partial_fit(X[30:], y[30:]).bounds_, first, rtol=1e-12)


@pytest.mark.parametrize("solver", ["auto", "online"])
def test_a_stream_of_signed_pairs_keeps_its_bounds(solver, labelled):
    X, y = labelled
    pairs = np.random.default_rng(0).permutation(60).reshape(3, 10, 2)
    signs = np.where(y[pairs[:, :, 0]] == y[pairs[:, :, 1]], 1, -1)
    model = make_learner(solver=solver).partial_fit_pairs(X, pairs[0], signs[0])
    first = model.bounds_
    np.testing.assert_allclose(model.partial_fit_pairs(X, pairs[1], signs[1]).bounds_, first, rtol=1e-12)
    model.partial_fit_pairs(X, pairs[2], signs[2], bounds=(1.0, 2.0))
    np.testing.assert_allclose(model.bounds_, (1.0, 2.0), rtol=1e-12)
    np.testing.assert_allclose(model.partial_fit_pairs(X, pairs[0], signs[0]).bounds_, (1.0, 2.0), rtol=1e-12)


def test_a_warm_start_goes_on_where_the_fit_before_ended(labelled):
    X, y = labelled
    triplets = nearest_triplets(X, y)
    model = make_learner(warm_start=True, regularisation=0.0, max_iter=500, tol=1e-8).fit_triplets(X, triplets)
    first = model.history_["cost"]
    model.set_params(tol=1e-6).fit_triplets(X, triplets)
    assert model.history_["cost"][-1] <= first[-1] * (1 + 1e-3)
    assert len(model.history_["cost"]) < len(first)


def test_a_warm_start_keeps_the_plan(labelled):
    X, y = labelled
    model = MetricLearner(2, max_iter=3, random_state=0, warm_start=True).fit(X, y)
    choice = model.choice_
    assert choice.errors
    assert model.fit(X, y).choice_ == choice
    assert "choosing a plan" in model.timings_


def test_a_warm_start_of_another_shape_is_refused(labelled):
    X, y = labelled
    model = make_learner(warm_start=True).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"X has 3 features, but the warm start has 4. Set warm_start=False"):
        model.fit(X[:, :3], y)
    assert vars(model) == before
    with pytest.raises(ValueError, match=r"n_components=3, but the warm start has 2. Set warm_start=False"):
        model.set_params(n_components=3).fit(X, y)
    assert model.set_params(warm_start=False).fit(X, y).components_.shape == (3, 4)
    with pytest.raises(ValueError, match=r"warm_start='yes' is not valid. Choose True or False"):
        model.set_params(warm_start="yes").fit(X, y)


def test_wide_data_can_be_started_warm(rng):
    X, y = rng.standard_normal((20, 50)), np.repeat([0, 1], 10)
    model = make_learner(warm_start=True).fit(X, y).fit(X, y)
    assert model.components_.shape == (2, 50)
    assert np.isfinite(model.components_).all()


def test_regularization_is_another_spelling(labelled):
    X, y = labelled
    british, american = make_learner(regularisation=3.0), make_learner(regularization=3.0)
    np.testing.assert_array_equal(american.fit(X, y).factor_, british.fit(X, y).factor_)
    assert not np.allclose(make_learner().fit(X, y).factor_, british.factor_)
    assert clone(american).get_params()["regularization"] == 3.0
    assert american.get_params()["regularisation"] == "auto"
    np.testing.assert_array_equal(
        make_learner().set_params(regularization="auto").fit(X, y).factor_, make_learner().fit(X, y).factor_
    )
    with pytest.raises(ValueError, match=r"regularisation=3.0 and regularization=1.0 are both set, but they are one"):
        british.set_params(regularization=1.0).fit(X, y)
    with pytest.raises(ValueError, match="regularization=-1 is not valid"):
        make_learner(regularization=-1).fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, scipy.sparse.csr_array, pd.DataFrame], ids=["array", "csr", "frame"])
def test_chunks_of_one_class_are_kept_and_learned_from_later(container, labelled):
    X, y = labelled
    if container is pd.DataFrame:
        X = pd.DataFrame(X, columns=list("abcd"))
    order = np.argsort(y, kind="stable")
    rows = [order[:1], order[1:20], order[20:21], order[21:]]
    model = make_learner()
    take = (lambda part: X.iloc[part]) if container is pd.DataFrame else (lambda part: container(X[part]))
    for part in rows[:2]:
        model.partial_fit(take(part), y[part])
        with pytest.raises(NotFittedError):
            model.transform(take(part))
    assert model.kept_.X.shape == (20, 4)
    np.testing.assert_array_equal(model.kept_.y, np.zeros(20))
    assert not hasattr(model, "n_seen_")
    model.partial_fit(take(rows[2]), y[rows[2]])
    assert model.n_seen_ == 21
    assert model.kept_ is None
    whole = make_learner().partial_fit(take(order[:21]), y[order[:21]])
    np.testing.assert_allclose(model.factor_, whole.factor_, atol=1e-12)
    model.partial_fit(take(rows[3]), y[rows[3]])
    assert model.n_seen_ == 60


@pytest.mark.parametrize("constraints", ["auto", "triplets", "neighbourhoods", "pairs"])
def test_rows_come_one_by_one_at_a_rank_above_their_number(constraints, rng):
    y = np.tile([0, 0, 1], 7)
    X = rng.standard_normal((21, 8)) + y[:, None]
    model = MetricLearner(5, constraints=constraints, max_iter=3, random_state=0)
    for row in range(21):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        assert hasattr(model, "components_") == (row >= 5)
        if row == 5:
            np.testing.assert_allclose(model.factor_, clone(model).partial_fit(X[:6], y[:6]).factor_, atol=1e-12)
    if constraints != "pairs":
        assert model.n_seen_ + len(model.kept_.y if model.kept_ else ()) == 21
    whole = MetricLearner(constraints=constraints, max_iter=3, random_state=0)
    assert [hasattr(whole.partial_fit(X[i : i + 1], y[i : i + 1]), "components_") for i in range(3)] == [0, 0, 1]
    with pytest.raises(ValueError, match="n_components=9 exceeds n_features=8"):
        MetricLearner(9, constraints=constraints).partial_fit(X[:5], y[:5])


def test_pairs_come_one_by_one_with_one_sign_first(rng):
    points = rng.standard_normal((12, 2, 8))
    y = np.array([1, 1, 1, 1, -1, 1, -1, -1, -1, 1, 1, -1])
    model = MetricLearner(3, max_iter=5, random_state=0)
    for index in range(12):
        model.partial_fit(points[index : index + 1], y[index : index + 1])
        assert hasattr(model, "components_") == (index >= 4)
        assert ("pairs" in model.kept_tuples_) == (index < 4)
        if index == 4:
            whole = clone(model).partial_fit(points[:5], y[:5])
            np.testing.assert_allclose(model.factor_, whole.factor_, atol=1e-12)
            assert (model.threshold_, model.bounds_) == (pytest.approx(whole.threshold_), pytest.approx(whole.bounds_))
    assert model.n_seen_ == 12
    by_rank = MetricLearner(5, max_iter=5, random_state=0)
    seen = [hasattr(by_rank.partial_fit(points[i : i + 1], y[i : i + 1]), "components_") for i in range(2, 6)]
    assert seen == [False, False, True, True]


def test_the_first_pairs_of_a_stream_may_be_of_one_sign(labelled):
    X, _ = labelled
    pairs = np.arange(60).reshape(30, 2)
    y = np.where(np.arange(30) < 10, 1, -1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_learner().partial_fit_pairs(frame, pairs[:10], y[:10], sample_weight=np.arange(10))
    assert len(model.kept_tuples_["pairs"].tuples) == 9
    same = pickle.loads(pickle.dumps(model))
    whole = make_learner().fit_pairs(X[2:], pairs[:-1], y[1:], sample_weight=[*range(1, 10), *[1] * 20])
    for stream in (model, same):
        stream.partial_fit_pairs(frame, pairs[10:], y[10:])
        np.testing.assert_allclose(stream.factor_, whole.factor_, atol=1e-9)
        assert list(stream.feature_names_in_) == list("abcd")
        assert not stream.kept_tuples_
    # With bounds, or after others, one sign is enough.
    assert make_learner().partial_fit_pairs(X, pairs[:9], y[:9], bounds=(1, 2)).n_seen_ == 9
    assert model.partial_fit_pairs(frame, pairs[:1], y[:1]).n_seen_ == 30
    # Signs after labels: no bounds are known yet.
    model.fit_triplets(X, [[0, 1, 2]]).partial_fit_pairs(X, pairs[:1], y[:1])
    assert "pairs" in model.kept_tuples_
    assert not model.fit_triplets(X, [[0, 1, 2]]).kept_tuples_


@pytest.mark.parametrize(("size", "name"), [(3, "triplets"), (4, "quadruplets")])
def test_tuples_are_kept_until_they_have_more_samples_than_components(size, name, rng):
    points = rng.standard_normal((9, size, 8))
    model = MetricLearner(6, max_iter=5, random_state=0)
    for index in range(9):
        model.partial_fit(points[index : index + 1])
        assert hasattr(model, "components_") == (size * (index + 1) > 6)
    assert model.n_seen_ == 9
    assert not model.kept_tuples_
    X = scipy.sparse.csr_array(points.reshape(-1, 8))
    tuples = np.arange(9 * size).reshape(9, size)
    other = MetricLearner(6, max_iter=5, random_state=0)
    for part in ([0], [1], [2]):
        getattr(other, f"partial_fit_{name}")(X[tuples[part].ravel()], [np.arange(size)])
    first = 6 // size + 1
    whole = clone(model).partial_fit(points[:first])
    whole = whole.partial_fit(points[first:3]) if first < 3 else whole
    np.testing.assert_allclose(other.factor_, whole.factor_, atol=1e-6)


def test_tuples_that_cannot_be_kept_change_nothing(labelled, monkeypatch):
    X, _ = labelled
    monkeypatch.setattr(_stream, "MOST_KEPT", 3)
    model = make_learner().partial_fit_pairs(X, [[0, 1], [2, 3]], [1, 1])
    before = dict(vars(model))
    for call, message in (
        (lambda: model.partial_fit_pairs(X, [[0, 1], [2, 3]], [1, 1]), "4 pairs of the stream would have to be kept"),
        (lambda: model.partial_fit_pairs(X, [[0, 1]], target=1.0), "target is given, but the pairs that are kept have"),
        (
            lambda: model.partial_fit_pairs(X[:, :3], [[0, 1]], [1]),
            "X has 3 features, but MetricLearner is expecting 4",
        ),
        (lambda: model.partial_fit_pairs(X, [[0, 1]], [0]), "y holds 0 and 1"),
        (lambda: model.partial_fit_pairs(X, [[0, 0]], [1]), "joins a sample to itself"),
        (lambda: model.partial_fit_pairs(X, np.empty((0, 2), int), []), "pairs is empty"),
        (lambda: model.partial_fit_pairs(X, [[0, 1]], [1], sample_weight=[-1]), "sample_weight"),
        (lambda: model.partial_fit_pairs(np.full((2, 4), np.nan), [[0, 1]], [1]), "Input X contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert vars(model) == before


def test_a_later_chunk_that_is_too_small_is_kept_by_pickles_and_forgotten_by_fits(labelled):
    X, y = labelled
    model = make_learner().partial_fit(X[:50], y[:50])
    factor = model.factor_
    model.partial_fit(X[50:51], y[50:51])
    assert model.factor_ is factor
    assert (model.n_seen_, len(model.kept_.y)) == (50, 1)
    same = pickle.loads(pickle.dumps(model))
    for stream in (model, same):
        stream.partial_fit(X[51:], y[51:])
        assert stream.n_seen_ == 60
    np.testing.assert_array_equal(same.factor_, model.factor_)
    wanted = make_learner().partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    np.testing.assert_allclose(model.factor_, wanted.factor_, atol=1e-12)
    model.partial_fit(X[:1], y[:1])
    assert model.kept_ is not None
    assert model.fit(X, y).kept_ is None
    assert clone(same.partial_fit(X[:1], y[:1])).kept_ is None


def test_what_is_kept_stays_beside_other_streams_of_the_same_features(labelled):
    X, y = labelled
    triplets = nearest_triplets(X, y)
    model = make_learner().partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="X has 3 features, but MetricLearner is expecting 4"):
        model.partial_fit_triplets(X[:, :3], triplets)
    model.partial_fit_triplets(X, triplets)
    assert (model.n_seen_, len(model.kept_.y)) == (len(triplets), 1)
    assert model.partial_fit(X[1:], y[1:]).n_seen_ == len(triplets) + 60


def test_a_chunk_that_cannot_be_learned_from_changes_nothing(labelled):
    X, y = labelled
    model = make_learner().partial_fit(X[:1], y[:1])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="n_components=9 exceeds n_features=4"):
        model.set_params(n_components=9).partial_fit(X[1:], y[1:])
    assert vars(model.set_params(n_components=2)) == before
    fresh = MetricLearner(9)
    with pytest.raises(ValueError, match="n_components=9 exceeds n_features=4"):
        fresh.partial_fit(X, y)
    assert vars(fresh) == vars(MetricLearner(9))


def test_kept_samples_have_weights_and_labels_of_one_type(labelled):
    X, y = labelled
    order = np.argsort(y, kind="stable")
    one, rest = order[:20], order[20:]
    weight = np.linspace(1, 5, 60)
    model = make_learner().partial_fit(X[one], y[one], sample_weight=weight[one])
    model.partial_fit(X[rest], y[rest], sample_weight=weight[rest])
    whole = make_learner().partial_fit(X[order], y[order], sample_weight=weight[order])
    np.testing.assert_allclose(model.factor_, whole.factor_, atol=1e-12)
    plain = make_learner().partial_fit(X[one], y[one], sample_weight=np.ones(20)).partial_fit(X[rest], y[rest])
    np.testing.assert_allclose(plain.factor_, make_learner().partial_fit(X[order], y[order]).factor_, atol=1e-12)
    names = np.array(["a", "bb", "ccc"])[y]
    by_name = make_learner().partial_fit(X[one], names[one]).partial_fit(X[rest], names[rest])
    np.testing.assert_allclose(by_name.factor_, plain.factor_, atol=1e-12)
    mixed = make_learner().partial_fit(X[one], names[one])
    with pytest.raises(ValueError, match="y has labels of different types"):
        mixed.partial_fit(X[rest], y[rest])
    assert len(mixed.kept_.y) == 20


def test_what_is_kept_is_limited_and_checked(labelled, monkeypatch):
    X, y = labelled
    monkeypatch.setattr(_stream, "MOST_KEPT", 30)
    model = make_learner().partial_fit(X[:20], np.zeros(20, int)).partial_fit(X[20:30], np.zeros(10, int))
    with pytest.raises(ValueError, match="31 samples of the stream would have to be kept, more than 30"):
        model.partial_fit(X[:1], [0])
    assert len(model.kept_.y) == 30
    for bad, message in (
        (X[:1, :3], "X has 3 features, but MetricLearner is expecting 4"),
        (np.full((1, 4), np.nan), "Input X contains NaN"),
        (np.full((1, 4), 1e200), "the largest entry of X in absolute value is 1e.200"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad, [0])
        assert len(model.kept_.y) == 30
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="constraints='nonsense' is unknown"):
        make_learner(constraints="nonsense").partial_fit(X[:1], [0])
    assert model.partial_fit(X, y).n_seen_ == 90


def test_a_stream_of_mini_batches_goes_on_with_its_step_sizes(labelled):
    X, y = labelled
    model = make_learner(solver="online", n_epochs=3).partial_fit(X[:40], y[:40])
    assert (model.n_iter_, model.message_) == (12, "3 epochs in each of n_rounds=4 rounds done")
    first, factor = model._stream.schedule, model.factor_
    model.partial_fit(X[40:], y[40:])
    later = model._stream.schedule
    assert (later.scale, later.horizon) == (first.scale, first.horizon)
    assert later.seen > first.seen
    assert (model.n_iter_, model.message_) == (1, "1 epoch done")
    assert np.isnan(model.history_["gradient_norm"]).all(), "a batch solver took the place of mini-batches"
    assert not np.array_equal(model.factor_, factor)
    assert "choosing step sizes" not in model.timings_
    model.set_params(solver="cg").partial_fit(X, y)
    assert model._stream is None
    assert np.isfinite(model.history_["gradient_norm"]).all()


def test_a_stream_of_mini_batches_does_not_depend_on_units(labelled):
    X, _ = labelled
    signs, pairs = np.tile([1, -1], 15), np.arange(60).reshape(30, 2)
    factors = []
    for scale in (1.0, 2.0**11):
        # The second half is larger: on its own it would have another power of two as its unit.
        halves = (scale * X, 1.9 * scale * X)
        model = MetricLearner(2, solver="online", random_state=0)
        for half in halves:
            model.partial_fit_pairs(half, pairs, signs)
        factors.append(scale * model.factor_)
        assert model._stream.schedule.seen == 6 * 30
    np.testing.assert_allclose(factors[0], factors[1], rtol=1e-9)


def test_a_stream_of_mini_batches_improves_the_distance(rng):
    labels = rng.integers(3, size=900)
    X = np.column_stack([rng.standard_normal((900, 2)) + 2 * labels[:, None], 3 * rng.standard_normal((900, 6))])
    model, shares = make_learner(solver="online", init="random"), []
    for rows in np.split(np.arange(900), 9):
        model.partial_fit(X[rows], labels[rows])
        shares.append(np.linalg.norm(model.factor_[:2]) / np.linalg.norm(model.factor_))
    assert shares[-1] > shares[0] + 0.02


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_caller_may_fill_one_buffer_with_every_chunk(form, labelled):
    X, y = labelled
    copies, model, buffer = make_learner(), make_learner(), form(X[:20].copy())
    labels, weight = np.zeros(20, int), np.ones(20)
    for rows in np.argsort(y, kind="stable").reshape(3, 20):
        buffer[:] = X[rows]
        labels[:], weight[:] = y[rows], 1.0 + y[rows]
        copies.partial_fit(form(X[rows]), y[rows], 1.0 + y[rows])
        model.partial_fit(buffer, labels, weight)
    np.testing.assert_array_equal(model.factor_, copies.factor_)


def test_a_caller_may_fill_one_buffer_with_the_points_and_signs_of_every_chunk(labelled):
    X, _ = labelled
    points, signs = X.reshape(30, 2, 4), np.repeat([1, -1], 15)
    copies, model, buffer, sign = make_learner(), make_learner(), np.empty((15, 2, 4)), np.empty(15, int)
    for rows in (slice(0, 15), slice(15, 30)):
        buffer[:], sign[:] = points[rows], signs[rows]
        copies.partial_fit(points[rows], signs[rows])
        model.partial_fit(buffer, sign)
    np.testing.assert_array_equal(model.factor_, copies.factor_)


def test_bounds_last_through_other_kinds_of_constraints(labelled):
    X, y = labelled
    pairs = np.random.default_rng(0).permutation(60).reshape(30, 2)
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    model = make_learner().partial_fit_pairs(X, pairs, signs)
    first = model.bounds_
    assert model.partial_fit_triplets(X, nearest_triplets(X, y)).bounds_ == first
    assert model.partial_fit_pairs(X, pairs, target=1.0, sense="equal").bounds_ == first
    np.testing.assert_allclose(model.partial_fit_pairs(X, pairs, signs).bounds_, first, rtol=1e-12)
    assert not hasattr(model.fit(X, y), "bounds_")


def test_a_warm_start_from_pairs_of_one_sign_has_the_bounds_before(labelled):
    X, y = labelled
    pairs = np.random.default_rng(0).permutation(60).reshape(30, 2)
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    model = make_learner(warm_start=True).fit_pairs(X, pairs, signs)
    first, near = model.bounds_, signs > 0
    np.testing.assert_allclose(model.fit_pairs(X, pairs[near], signs[near]).bounds_, first, rtol=1e-12)


def test_bounds_of_duplicates_are_kept_for_one_sign_and_replaced_for_two(rng):
    X = np.concatenate([np.zeros((40, 3)), rng.standard_normal((40, 3))])
    duplicates, others = np.arange(40).reshape(20, 2), np.arange(40, 80).reshape(20, 2)
    pairs, signs = np.concatenate([duplicates, others[:1]]), np.append(np.ones(20, int), -1)
    model = make_learner().partial_fit_pairs(X, pairs, signs)
    assert model.bounds_ == (0, 0)
    assert model.partial_fit_pairs(X, others, np.ones(20, int)).bounds_ == (0, 0)
    assert model.partial_fit_pairs(X, others, np.tile([1, -1], 10)).bounds_.far > 0


def test_a_rise_of_the_cost_is_judged_by_the_call_that_raised_it(rng):
    """Costs below tol times that of W = 0 count as zero; with tol=1, those of the first call all do."""
    X, pairs = rng.standard_normal((60, 3)), np.arange(60).reshape(-1, 2)
    squared = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    solver = Online(batch_size=1, step_size=2.0, delay=1e6)
    model = MetricLearner(init="identity", solver=solver, n_epochs=1, tol=1.0, random_state=0)
    model.fit_pairs(X, pairs, target=squared).partial_fit_pairs(X, pairs, target=squared)
    with pytest.warns(ConvergenceWarning, match="the cost rose from"):
        model.set_params(tol=1e-6).partial_fit_pairs(X, pairs, target=squared * rng.uniform(0.8, 1.2, 30))
