"""Continuous targets: what is learned from them, and what is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import DataConversionWarning
from sklearn.neighbors import KNeighborsRegressor

from gramian import MetricLearner, MetricLearnerCV
from gramian.features import Array
from gramian.supervision import Situation, Targets


@pytest.fixture(scope="module")
def ring():
    """A target that depends on two of twelve features, and on neither of them monotonically."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 12))
    return X, np.sin(2 * np.hypot(X[:, 0], X[:, 1])) + 0.1 * rng.standard_normal(400)


def r_squared(train, y, test, truth):
    return KNeighborsRegressor(5).fit(train, y).score(test, truth)


@pytest.mark.parametrize("rank", [2, None])
def test_neighbours_predict_the_targets_of_new_samples(rank, ring):
    X, y = ring
    train, test = np.arange(0, 400, 2), np.arange(1, 400, 2)
    learner = MetricLearner(rank, random_state=0).fit_targets(X[train], y[train])
    learned = r_squared(learner.transform(X[train]), y[train], learner.transform(X[test]), y[test])
    assert r_squared(X[train], y[train], X[test], y[test]) < 0.3
    pca = PCA(2).fit(X[train])
    assert r_squared(pca.transform(X[train]), y[train], pca.transform(X[test]), y[test]) < 0.3
    assert learned > 0.65
    # The two features that matter have most of the trace of W.
    assert np.sum(learner.factor_[:2] ** 2) > 0.8 * np.sum(learner.factor_**2)
    assert learner.init == "auto"


def test_units_and_origin_of_the_targets_do_not_matter(ring):
    X, y = ring
    one = MetricLearner(2, random_state=0).fit_targets(X, y)
    other = MetricLearner(2, random_state=0).fit_targets(X, 1024 * y - 512)
    np.testing.assert_allclose(other.factor_, one.factor_, rtol=1e-6, atol=1e-8)
    mirrored = Targets(-y).validate(400)
    np.testing.assert_allclose(mirrored.y, -Targets(y).validate(400).y)
    large = Targets(1e300 * y).validate(400)
    np.testing.assert_allclose(large.y, Targets(y).validate(400).y, rtol=1e-12)


def test_the_supervision_can_be_given_as_an_object(ring, rng):
    X, y = ring
    learner = MetricLearner(2, random_state=0).fit_supervised(X, Targets(y + 3 * X[:, 0]))
    assert learner.history_["cost"][-1] < 0.5 * learner.history_["cost"][0]
    situation = Situation(Array(X), rng)
    begun = Targets(y).validate(400).begin(situation, np.eye(12)[:, :2])
    assert begun.supervision.error(situation, begun.start) < 0.5


def test_samples_without_weight_are_neighbours_only(ring):
    X, y = ring
    wrong = y.copy()
    wrong[::4] = 50.0
    weight = np.where(np.arange(400) % 4, 1.0, 0.0)
    targets = Targets(wrong, weight).validate(400)
    assert set(targets.draw(0, 1000).anchors) == set(np.flatnonzero(weight))
    np.testing.assert_allclose(targets.draw(0, 1000).weight.sum(), 1.0)
    learner = MetricLearner(2, random_state=0).fit_targets(X, y, weight)
    assert np.sum(learner.factor_[:2] ** 2) > 0.8 * np.sum(learner.factor_**2)


def test_many_samples_are_drawn(rng):
    targets = Targets(rng.standard_normal(9000)).validate(9000)
    assert targets.round_sizes == [1000, 2000, 4000]
    assert len(targets.subset(0)) == 8000
    assert len(targets.draw(0, 1000)) == 1000


def test_groups_of_targets_are_of_similar_sizes(rng):
    groups = Targets(rng.standard_normal(200) ** 3).validate(200).labels
    assert np.bincount(groups).tolist() == [20] * 10
    assert len(np.unique(Targets([0.0, 0.0, 0.0, 1.0]).validate(4).labels)) == 2


def test_sparse_samples_and_wide_samples(rng):
    X = rng.standard_normal((60, 80)).astype(np.float32)
    X[np.abs(X) < 0.8] = 0
    y = X[:, 0].astype(float)
    dense, sparse = (MetricLearner(2, random_state=0).fit_targets(each, y) for each in (X, csr_array(X)))
    assert dense.factor_.shape == sparse.factor_.shape == (80, 2)
    for learner in (dense, sparse):
        assert np.abs(np.corrcoef(learner.transform(X).T, y)[-1, :-1]).max() > 0.7


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(400), "all 400 targets in y are equal"),
        (np.full(400, 0.1), "all 400 targets in y are equal"),
        (np.where(np.arange(400) == 7, np.nan, 1.0), r"y\[7\] = nan is not finite"),
        (np.where(np.arange(400) == 7, np.inf, 1.0), r"y\[7\] = inf is not finite"),
        (np.arange(3.0), r"y has shape \(3,\); expected \(400,\)"),
        (np.ones((400, 2)), r"y has shape \(400, 2\)"),
        (["a"] * 400, "y cannot be read as numbers"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused(y, message, ring):
    with pytest.raises(ValueError, match=message):
        MetricLearner(2).fit_targets(ring[0], y)


def test_mistakes_in_other_arguments_are_named(ring):
    X, y = ring
    with pytest.raises(ValueError, match="sample_weight"):
        MetricLearner(2).fit_targets(X, y, -np.ones(400))
    with pytest.raises(ValueError, match="n_components=13 exceeds n_features=12"):
        MetricLearner(13).fit_targets(X, y)
    with pytest.raises(ValueError, match="2D array"):
        MetricLearner(2).fit_targets(X[0], y)
    learner = MetricLearner(2, init="pca", random_state=0).fit_targets(X, y)
    assert learner.init == "pca"


def test_a_warm_start_goes_on_from_the_current_factor(ring):
    X, y = ring
    learner = MetricLearner(2, warm_start=True, random_state=0).fit_targets(X, y)
    cost = learner.history_["cost"][-1]
    learner.fit_targets(X, y)
    assert learner.history_["cost"][0] < 1.5 * cost
    assert learner.init == "auto"


def test_fewer_samples_than_the_rank_of_the_first_step(rng):
    X = rng.standard_normal((20, 50))
    assert MetricLearner(2, random_state=0).fit_targets(X, X[:, 0]).components_.shape == (2, 50)


def test_both_steps_are_one_fit(ring):
    X, y = ring
    X = np.hstack([X, np.random.default_rng(1).standard_normal((400, 28))])
    seen = []
    learner = MetricLearner(2, random_state=0, callback=lambda record: seen.append((record.iteration, learner.init)))
    learner.fit_targets(X, y)
    iterations, inits = zip(*seen, strict=True)
    assert iterations == tuple(range(len(seen))) == tuple(learner.history_["iteration"])
    assert set(inits) == {"auto"}, "a parameter changed during the fit"
    assert learner.n_iter_ == len(seen) - 1
    wide = MetricLearner(30, random_state=0).fit_supervised(X, Targets(y)).history_["cost"]
    np.testing.assert_allclose(learner.history_["cost"][: len(wide)], wide, rtol=1e-9)
    assert len(learner.history_["cost"]) > len(wide)
    assert learner.factor_.shape == (40, 2)
    halted = MetricLearner(2, random_state=0, callback=lambda record: record.iteration == 5)
    assert halted.fit_targets(X, y).factor_.shape == (40, 2), "stopped in the step of higher rank"
    assert halted.n_iter_ == 5


def search_of(learner):
    return MetricLearnerCV([1], estimator=learner, cv=2, random_state=0)


@pytest.mark.parametrize("wrap", [clone, search_of], ids=["MetricLearner", "MetricLearnerCV"])
def test_samples_may_be_indices_into_the_preprocessor(wrap, ring):
    X, y = ring
    rows = np.arange(0, 400, 4)
    plain = wrap(MetricLearner(1, max_iter=5, random_state=0)).fit_targets(X[rows], y[rows])
    model = wrap(MetricLearner(1, max_iter=5, random_state=0, preprocessor=X)).fit_targets(rows, y[rows])
    np.testing.assert_array_equal(model.components_, plain.components_)
    with pytest.raises(ValueError, match=r"X\[0\] = 400 is out of range: preprocessor has 400 samples"):
        model.fit_targets(rows + 400, y[rows])


@pytest.mark.parametrize("wrap", [clone, search_of], ids=["MetricLearner", "MetricLearnerCV"])
def test_a_column_of_targets_is_flattened_with_a_warning(wrap, ring):
    X, y = ring[0][::4], ring[1][::4]
    model = wrap(MetricLearner(1, max_iter=5, random_state=0))
    plain = model.fit_targets(X, y).components_
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        np.testing.assert_array_equal(model.fit_targets(X, y[:, None]).components_, plain)
