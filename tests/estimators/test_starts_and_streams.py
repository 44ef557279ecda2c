"""Warm starts, two spellings of a parameter, and streams whose first chunks have one class."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gramian import MetricLearner
from gramian.estimators import _stream
from gramian.supervision import nearest_triplets

pytestmark = pytest.mark.filterwarnings("ignore:not converged")


@pytest.fixture
def labelled(rng):
    """Return shuffled samples (60, 4) of three classes, and labels."""
    labels = rng.permutation(np.repeat([0, 1, 2], 20))
    return rng.standard_normal((60, 4)) + 2 * labels[:, None], labels


def make_learner(**params):
    return MetricLearner(2, **{"constraints": "triplets", "max_iter": 10, "random_state": 0, **params})


@pytest.mark.parametrize("constraints", ["triplets", "neighbourhoods", "pairs"])
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
