"""Weights of labelled samples: a weight of 2 is an anchor that counts twice, a weight of 0 one that is left out."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from gramian import MetricLearner
from gramian.estimators import _trial
from gramian.features import Array
from gramian.supervision import LabelChoice, LabelNeighbourhoods, LabelPairs, LabelTriplets, Situation, anchors
from gramian.supervision.triplets import MARGIN

pytestmark = pytest.mark.filterwarnings("ignore:not converged")


@pytest.fixture
def labelled(rng):
    """Return samples (40, 3), labels, and whole weights, some of them 0."""
    labels = np.repeat([0, 1, 2, 3], [15, 12, 12, 1])
    X = rng.standard_normal((40, 3)) + labels[:, None]
    weight = rng.integers(0, 4, 40).astype(float)
    weight[:2] = 0.0, 2.0
    return X, labels, weight


def value_at(supervision, X, factor, index=0):
    """Return the values of the terms at the image of a factor."""
    situation = Situation(Array(X), np.random.default_rng(0))
    terms = supervision.terms(situation, factor, index)
    return [term.value_and_slopes(term.predict(X @ factor)).value for term in terms]


def begin(supervision, X):
    situation = Situation(Array(X), np.random.default_rng(0))
    return supervision.validate(len(X)).begin(situation, np.eye(X.shape[1]))


def test_triplets_count_by_the_weights_of_their_anchors(labelled):
    X, labels, weight = labelled
    begun = begin(LabelTriplets(labels, sample_weight=7 * weight), X)
    (total,) = value_at(begun.supervision, X, begun.start)
    (value,) = value_at(replace(begun.supervision, pull=0.0), X, begun.start)
    pull = total - value
    anchors, near, far = begun.supervision.first.triplets.T
    assert set(anchors) == set(np.flatnonzero((weight > 0) & (labels != 3)))
    Z = X @ begun.start
    gap = np.sum((Z[anchors] - Z[far]) ** 2, axis=1) - np.sum((Z[anchors] - Z[near]) ** 2, axis=1)
    loss = np.maximum(0, MARGIN - gap) ** 2 / 2
    assert value == pytest.approx(np.average(loss, weights=weight[anchors]))
    # Each anchor counted as often as its weight says.
    assert value == pytest.approx(np.mean(np.repeat(loss, weight[anchors].astype(int))))
    pairs = np.unique(np.column_stack([anchors, near]), axis=0)
    squared = np.sum((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2, axis=1)
    assert pull == pytest.approx(0.1 * np.average(squared, weights=weight[pairs[:, 0]]))


def test_neighbourhoods_count_by_the_weights_of_their_anchors(labelled):
    X, labels, weight = labelled
    begun = begin(LabelNeighbourhoods(labels, sample_weight=weight), X)
    (value,) = value_at(begun.supervision, X, begun.start)
    Z = X @ begun.start
    near = np.exp(-np.sum((Z[:, None] - Z) ** 2, axis=2)) * (1 - np.eye(len(X)))
    hit = np.sum(near * (labels[:, None] == labels), axis=1) / near.sum(axis=1)
    able = labels != 3
    assert value == pytest.approx(np.average(-np.log(hit[able]), weights=weight[able]))
    times = np.repeat(np.flatnonzero(able), weight[able].astype(int))
    assert value == pytest.approx(np.mean(-np.log(hit[times])))


def test_pairs_count_by_the_product_of_the_weights_of_their_samples(labelled):
    X, labels, weight = labelled
    drawn = LabelPairs(labels, 300, sample_weight=weight).validate(40).draw(np.random.default_rng(0))
    assert (weight[drawn.pairs] > 0).all()
    product = weight[drawn.pairs].prod(axis=1)
    np.testing.assert_allclose(drawn.sample_weight, product / product.max())
    begun = drawn.begin(Situation(Array(X), np.random.default_rng(0)), np.eye(3))
    (value,) = value_at(begun.supervision, X, begun.start)
    target, sense = begun.supervision.targets
    Z = X @ begun.start
    over = -sense * (np.sum((Z[drawn.pairs[:, 0]] - Z[drawn.pairs[:, 1]]) ** 2, axis=1) - target)
    loss = np.maximum(over, 0) ** 2 / 2 / np.mean(target**2)
    assert value == pytest.approx(np.average(loss, weights=product))


@pytest.mark.parametrize("constraints", ["triplets", "neighbourhoods", "pairs"])
def test_equal_weights_change_nothing_and_their_unit_does_not_matter(constraints, labelled):
    X, labels, weight = labelled
    learner = MetricLearner(2, constraints=constraints, max_iter=10, random_state=0)
    plain = learner.fit(X, labels).components_
    np.testing.assert_array_equal(learner.fit(X, labels, sample_weight=np.full(40, 3.0)).components_, plain)
    weighted = learner.fit(X, labels, sample_weight=weight).components_
    np.testing.assert_array_equal(learner.fit(X, labels, sample_weight=4 * weight).components_, weighted)
    assert not np.allclose(weighted, plain)


@pytest.mark.parametrize("constraints", ["auto", "triplets", "neighbourhoods", "pairs"])
def test_weights_of_classes_are_weights_of_their_samples(constraints, labelled):
    X, labels, _ = labelled
    learner = MetricLearner(2, constraints=constraints, max_iter=2, random_state=0)
    weight = {0: 1.0, 1: 5.0, 2: 0.5, 3: 1.0}
    wanted = learner.fit(X, labels, sample_weight=[weight[label] for label in labels]).components_
    learner.set_params(class_weight=weight)
    np.testing.assert_allclose(learner.fit(X, labels).components_, wanted, atol=1e-10)
    learner.set_params(class_weight="balanced")
    balanced = learner.fit(X, labels).components_
    counts = np.bincount(labels)[labels]
    learner.set_params(class_weight=None)
    np.testing.assert_allclose(learner.fit(X, labels, sample_weight=1 / counts).components_, balanced, atol=1e-10)


def test_trials_learn_and_judge_by_weights(labelled, monkeypatch):
    X, labels, _ = labelled
    X, labels = np.tile(X, (3, 1)) + np.random.default_rng(0).standard_normal((120, 3)), np.tile(labels, 3)
    weight = np.where(labels == 0, 1.0, 0.25)
    seen = []

    class Recording(_trial.Trial):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            seen.append((self.labels, self.weight, self.truth, self.weight_held_out))

    monkeypatch.setattr(_trial, "Trial", Recording)
    model = MetricLearner(2, max_iter=3, random_state=0).fit(X, labels, sample_weight=weight)
    assert len(model.choice_.errors) > 3
    assert seen
    for train, train_weight, test, test_weight in seen:
        np.testing.assert_array_equal(train_weight, np.where(train == 0, 1.0, 0.25))
        np.testing.assert_array_equal(test_weight, np.where(test == 0, 1.0, 0.25))


def test_held_out_errors_are_weighted_means(labelled):
    X, labels, _ = labelled
    situation = Situation(Array(X), np.random.default_rng(0), labels=labels)
    split = _trial.Split(np.arange(0, 40, 2), np.arange(1, 40, 2))
    learner, errors = MetricLearner(), []
    for weight in (None, np.where(labels == 0, 1.0, 0.0), np.where(labels == 0, 0.0, 1.0)):
        errors.append(_trial.Trial(learner, situation, labels, split, 3, weight).error(np.eye(3)))
    share = np.mean(labels[split.test] == 0)
    assert errors[0] == pytest.approx(share * errors[1] + (1 - share) * errors[2])
    assert errors[1] != errors[2]


def test_many_samples_of_which_few_have_weights_keep_their_anchors(monkeypatch):
    monkeypatch.setattr(anchors, "MOST_SAMPLES", 20)
    labels = np.arange(400) // 2
    weight = np.where(np.isin(np.arange(400), [7, 250]), 1.0, 0.0)
    supervision = LabelNeighbourhoods(labels, sample_weight=weight).validate(400)
    for seed in range(20):
        term = replace(supervision, seed=seed).draw(0, 100)
        assert len(term.anchors) == 2
        np.testing.assert_allclose(term.weight, 0.5)


REFUSED = {
    "sample_weight is zero for every sample": np.zeros(40),
    r"sample_weight\[3\] = -1.0; weights must be finite and not negative": np.r_[1, 1, 1, -1.0, np.ones(36)],
    r"sample_weight has shape \(3,\); expected \(40,\)": np.ones(3),
    "sample_weight is zero for all samples but those that are alone in their class": np.r_[np.zeros(39), 1.0],
}


@pytest.mark.parametrize("message", REFUSED)
@pytest.mark.parametrize("kind", [LabelTriplets, LabelNeighbourhoods, LabelPairs, LabelChoice])
def test_weights_that_cannot_be_used_are_refused(kind, message, labelled):
    with pytest.raises(ValueError, match=message):
        kind(labelled[1], sample_weight=REFUSED[message]).validate(40)


@dataclass(frozen=True)
class PlainLabels:
    """Labels of a kind that takes no weights."""

    labels: object


def test_a_kind_without_weights_says_so(labelled, monkeypatch):
    X, labels, weight = labelled
    from_learner = classmethod(lambda cls, y, learner: PlainLabels(y))
    monkeypatch.setattr(LabelChoice, "from_learner", from_learner)
    with pytest.raises(ValueError, match=r"PlainLabels takes no weights of samples. Leave out sample_weight"):
        MetricLearner().fit(X, labels, sample_weight=weight)


def test_pairs_need_weights_of_two_classes(labelled):
    _, labels, _ = labelled
    with pytest.raises(ValueError, match=r"zero for all samples but those of one class. Weigh another class too"):
        LabelPairs(labels, sample_weight=np.where(labels == 1, 1.0, 0.0)).validate(40)


def test_weights_of_classes_that_cannot_be_used_are_refused(labelled):
    X, labels, _ = labelled
    for bad, message in (
        ("heavy", "class_weight='heavy' is not valid. Choose None, 'balanced', or a dict"),
        ({0: -1.0}, r"class_weight\[0\]=-1.0 is not valid"),
        (3.0, "class_weight=3.0 is not valid"),
    ):
        with pytest.raises(ValueError, match=message):
            MetricLearner(class_weight=bad).fit(X, labels)


@pytest.mark.parametrize("constraints", ["triplets", "neighbourhoods", "pairs"])
def test_balanced_classes_have_the_same_total_of_their_own_weights(constraints, labelled):
    X, labels, weight = labelled
    weight = np.where(labels == 0, 0.01, 1.0) * weight
    learner = MetricLearner(2, constraints=constraints, max_iter=5, random_state=0)
    totals = np.bincount(labels, weight)[labels]
    wanted = learner.fit(X, labels, sample_weight=weight / totals).components_
    learner.set_params(class_weight="balanced")
    np.testing.assert_allclose(learner.fit(X, labels, sample_weight=weight).components_, wanted, atol=1e-8)
    np.testing.assert_allclose(learner.fit(X, labels, sample_weight=1e-6 * weight).components_, wanted, atol=1e-8)


def test_a_class_without_weight_does_not_count_for_the_balance(labelled):
    X, labels, _ = labelled
    weight = np.where(labels == 1, 0.0, np.where(labels == 0, 0.1, 1.0))
    learner = MetricLearner(2, constraints="triplets", max_iter=5, random_state=0)
    totals = np.bincount(labels, weight)[labels]
    wanted = learner.fit(X, labels, sample_weight=weight / np.where(totals > 0, totals, 1)).components_
    learner.set_params(class_weight="balanced")
    np.testing.assert_allclose(learner.fit(X, labels, sample_weight=weight).components_, wanted, atol=1e-8)


def test_pairs_of_weight_0_do_not_count_for_the_balance(rng):
    X, pairs = rng.standard_normal((40, 4)), np.arange(40).reshape(20, 2)
    y, weight = np.where(np.arange(20) < 5, 1, -1), np.where(np.arange(20) % 3, rng.uniform(0.5, 2, 20), 0.0)
    used = weight > 0
    learner = MetricLearner(2, class_weight="balanced", max_iter=5, random_state=0)
    wanted = learner.fit_pairs(X, pairs[used], y[used], sample_weight=weight[used]).components_
    np.testing.assert_allclose(learner.fit_pairs(X, pairs, y, sample_weight=weight).components_, wanted, atol=1e-10)
    learner.set_params(class_weight=None)
    totals = np.where(y > 0, weight[y > 0].sum(), weight[y < 0].sum())
    by_hand = learner.fit_pairs(X, pairs, y, sample_weight=weight / totals).components_
    np.testing.assert_allclose(by_hand, wanted, atol=1e-10)
