"""Fits of rare classes, few weights, few samples; refits and streams after another kind of supervision."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gramian import MetricLearner, MetricLearnerCV, PSDRegressor
from gramian.estimators import _choice
from gramian.supervision import LabelNeighbourhoods, LabelTriplets, Plan, anchors


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("n_rare", [2, 10])
@pytest.mark.parametrize("constraints", ["auto", "neighbourhoods", "start"])
def test_a_rare_class_among_many_samples(constraints, n_rare, rng, monkeypatch):
    monkeypatch.setattr(anchors, "MOST_SAMPLES", 200)
    monkeypatch.setattr(_choice, "PART", 150)
    X, y = rng.standard_normal((2000, 4)), np.zeros(2000, int)
    X[:n_rare] += 3
    y[:n_rare] = 1
    for seed in range(2):
        model = MetricLearner(2, constraints=constraints, max_iter=3, tol=1.0, random_state=seed).fit(X, y)
        assert np.isfinite(model.components_).all()


def test_targets_with_a_ceiling(rng):
    X = rng.standard_normal((200, 40))
    model = MetricLearner(2, random_state=0).fit_targets(X, np.minimum(X[:, 0], -1.5))
    assert np.isfinite(model.components_).all()


def test_targets_of_few_weights_among_many_samples(rng, monkeypatch):
    monkeypatch.setattr(anchors, "MOST_SAMPLES", 200)
    X, weight = rng.standard_normal((2000, 3)), np.zeros(2000)
    weight[:2] = 1
    for seed in range(3):
        MetricLearner(2, max_iter=2, tol=1.0, random_state=seed).fit_targets(X, X[:, 0], weight)


@pytest.mark.parametrize("constraints", ["auto", "triplets", "pairs"])
def test_full_rank_of_few_samples_goes_on(constraints, rng):
    X, y = rng.standard_normal((40, 60)), np.arange(40) % 3
    model = MetricLearner(constraints=constraints, warm_start=True, random_state=0).fit(X, y)
    assert model.fit(X, y).components_.shape == (60, 60)
    model = MetricLearner(constraints=constraints, random_state=0).fit(X, y)
    assert model.partial_fit(X, y).components_.shape == (60, 60)


def test_the_start_learns_nothing_in_a_stream_either(iris):
    X, y = iris
    model = MetricLearner(2, constraints="start", random_state=0).partial_fit(X[::2], y[::2])
    before = model.factor_.copy()
    model.partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(model.factor_, before, rtol=1e-10)


def test_the_start_after_a_choice(iris):
    X, y = iris
    model = MetricLearner(2, random_state=0).fit(X, y).set_params(constraints="start")
    assert model.partial_fit(X, y).n_iter_ == 0


def test_the_choice_is_of_the_plan_that_is_used(iris):
    X, y = iris
    model = MetricLearner(random_state=0, warm_start=True, geometry="affine").fit(X, y)
    assert model.fit(X, y).choice_.plan != "discriminants"
    assert not hasattr(model.set_params(constraints="triplets").fit(X, y), "choice_")


def test_pairs_of_weight_zero_are_left_out(iris):
    X, _ = iris
    pairs = np.array(
        [[i, i + 1] for i in range(48)] + [[i, 100 + i] for i in range(48)] + [[i, 50 + i] for i in range(48)]
    )
    signs, weight = np.repeat([1, -1, 1], 48), np.repeat([1.0, 1.0, 0.0], 48)
    weighed = MetricLearner(2, random_state=0).fit_pairs(X, pairs, signs, sample_weight=weight)
    fewer = MetricLearner(2, random_state=0).fit_pairs(X, pairs[:96], signs[:96])
    np.testing.assert_allclose(weighed.components_, fewer.components_)
    assert weighed.threshold_ == pytest.approx(fewer.threshold_)
    # A contradiction of weight 0 is none.
    MetricLearner(2, random_state=0).fit_pairs(X, [[0, 1], [0, 100], [0, 1]], [1, -1, -1], sample_weight=[1, 1, 0])
    with pytest.raises(ValueError, match="y has one sign only where sample_weight is above 0"):
        MetricLearner(2).fit_pairs(X, [[0, 1], [0, 100]], [1, -1], sample_weight=[1, 0])


def test_a_refit_forgets_the_kind_before(iris):
    X, y = iris
    searched = MetricLearnerCV(ranks=[1, 2], cv=2, random_state=0).fit_triplets(X, [[0, 1, 100], [2, 3, 60]] * 5)
    assert not hasattr(searched.fit(X, y), "tuple_size_")
    model = PSDRegressor("auto", random_state=0).fit(X, X[:, 0] ** 2)
    assert not hasattr(model.set_params(rank=2).fit(X, X[:, 0] ** 2), "rank_path_")


class TwoStages(LabelTriplets):
    def plans(self, rank, n_features):
        return [Plan("two", (LabelTriplets(self.labels, n_rounds=1), LabelNeighbourhoods(self.labels)))]


@pytest.mark.filterwarnings("ignore:not converged")
def test_all_stages_of_a_single_plan_are_carried_out(iris):
    X, y = iris
    model = MetricLearner(2, max_iter=3, random_state=0).fit_supervised(X, TwoStages(y))
    alone = MetricLearner(2, max_iter=3, random_state=0).fit_supervised(X, LabelNeighbourhoods(y))
    assert (model.n_iter_, alone.n_iter_) == (9, 6)
    assert not np.allclose(model.components_, alone.components_)


@pytest.mark.parametrize("constraints", ["neighbourhoods", "start"])
def test_mini_batches_need_pairs_or_triplets(constraints, iris):
    with pytest.raises(ValueError, match="solver='online' learns from pairs and triplets"):
        MetricLearner(2, solver="online", constraints=constraints).fit(*iris)
