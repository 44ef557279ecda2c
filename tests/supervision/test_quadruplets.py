"""Learning from weighted triplets and quadruplets."""

import numpy as np
import pytest

from gramian import MetricLearner
from gramian.features import Array
from gramian.supervision import GivenQuadruplets, GivenTriplets, Situation


@pytest.fixture
def judged(rng):
    """Samples X (80, 5), quadruplets (m, 4) that are true of the first two features, and all others swapped."""
    X = rng.standard_normal((80, 5))
    index = np.array([rng.permutation(80)[:4] for _ in range(600)])
    squared = [np.sum((X[index[:, i], :2] - X[index[:, j], :2]) ** 2, axis=1) for i, j in ((0, 1), (2, 3))]
    return X, np.where((squared[0] < squared[1])[:, None], index, index[:, [2, 3, 0, 1]])


def fit(X, supervision, **settings):
    return MetricLearner(random_state=0, **settings).fit_supervised(X, supervision)


@pytest.mark.parametrize(
    "settings", [{"n_components": 2}, {"n_components": None}, {"n_components": 2, "n_jobs": 2}], ids=str
)
def test_quadruplets_are_satisfied_by_the_learned_distance(judged, settings):
    X, quadruplets = judged
    model = fit(X, GivenQuadruplets(quadruplets), **settings)
    Z, (a, b, c, e) = X @ model.components_.T, quadruplets.T
    satisfied = np.sum((Z[a] - Z[b]) ** 2, axis=1) < np.sum((Z[c] - Z[e]) ** 2, axis=1)
    assert satisfied.mean() > 0.97
    W = model.get_mahalanobis_matrix()
    assert np.trace(W[2:, 2:]) < 0.05 * np.trace(W)


def test_quadruplets_are_learned_from_online(judged):
    X, quadruplets = judged
    model = fit(X, GivenQuadruplets(quadruplets), n_components=2, solver="online")
    W = model.get_mahalanobis_matrix()
    assert np.trace(W[2:, 2:]) < 0.4 * np.trace(W)


def test_triplets_are_quadruplets_that_share_a_sample(judged):
    X, quadruplets = judged
    triplets = quadruplets[:, :3]
    one = fit(X, GivenTriplets(triplets), n_components=2)
    other = fit(X, GivenQuadruplets(triplets[:, [0, 1, 0, 2]]), n_components=2)
    np.testing.assert_allclose(one.get_mahalanobis_matrix(), other.get_mahalanobis_matrix(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("kind", "columns"), [(GivenTriplets, 3), (GivenQuadruplets, 4)])
def test_weights_count(judged, kind, columns):
    X, quadruplets = judged
    index = quadruplets[:100, :columns]
    plain = fit(X, kind(index), n_components=2)
    equal = fit(X, kind(index, np.full(100, 3.0)), n_components=2)
    np.testing.assert_allclose(equal.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix(), rtol=1e-6, atol=1e-8)
    weight = np.r_[np.ones(60), np.zeros(40)]
    some, none = fit(X, kind(index[:60]), n_components=2), fit(X, kind(index, weight), n_components=2)
    np.testing.assert_allclose(none.get_mahalanobis_matrix(), some.get_mahalanobis_matrix(), rtol=1e-6, atol=1e-8)
    assert np.abs(some.get_mahalanobis_matrix() - plain.get_mahalanobis_matrix()).max() > 1e-3


@pytest.mark.parametrize(("kind", "swapped"), [(GivenTriplets, [0, 2, 1]), (GivenQuadruplets, [2, 3, 0, 1])])
def test_of_a_contradiction_the_heavier_side_wins(judged, kind, swapped):
    X, quadruplets = judged
    index = quadruplets[:1, : len(swapped)]
    both = np.vstack([index, index[:, swapped]])
    situation = Situation(Array(X), np.random.default_rng(0))
    for weight, sign in (([10.0, 1.0], -1), ([1.0, 10.0], 1)):
        supervision, start = kind(both, weight).validate(80).begin(situation, np.eye(5))
        term = supervision.terms(situation, start)[0]
        slopes = term.value_and_slopes(np.zeros(2)).slopes
        assert term.weight.sum() == pytest.approx(1)
        assert np.sign(slopes[0] - slopes[1]) == sign


def test_the_start_has_far_pairs_at_twice_the_margin(judged):
    X, quadruplets = judged
    situation = Situation(Array(X), np.random.default_rng(0))
    start = GivenQuadruplets(quadruplets).validate(80).begin(situation, 1e6 * np.eye(5)).start
    c, e = quadruplets[:, 2:].T
    assert np.median(np.sum(((X[c] - X[e]) @ start) ** 2, axis=1)) == pytest.approx(2)


def test_the_learner_has_methods_for_quadruplets(rng):
    X = rng.standard_normal((40, 3))
    quadruplets = rng.permuted(np.tile(np.arange(40), (60, 1)), axis=1)[:, :4]
    learner = MetricLearner(2, random_state=0).fit_quadruplets(X, quadruplets)
    same = MetricLearner(2, random_state=0).fit_supervised(X, GivenQuadruplets(quadruplets))
    np.testing.assert_array_equal(learner.components_, same.components_)
    twice = MetricLearner(2, random_state=0).partial_fit_quadruplets(X, quadruplets)
    np.testing.assert_allclose(twice.components_, learner.components_)
    assert twice.partial_fit_quadruplets(X, quadruplets).n_seen_ == 120
    weights = np.r_[np.ones(30), np.zeros(30)]
    weighted = MetricLearner(2, random_state=0).fit_quadruplets(X, quadruplets, weights)
    half = MetricLearner(2, random_state=0).fit_quadruplets(X, quadruplets[:30])
    np.testing.assert_allclose(weighted.get_mahalanobis_matrix(), half.get_mahalanobis_matrix(), rtol=1e-6)
