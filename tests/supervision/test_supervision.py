"""The contract of supervision, over the registry; and the estimators that learn from it."""

from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, Problem, Term
from gramian.baselines import ITML, LEGO, POLA
from gramian.features import Array
from gramian.measurements import Pairs
from gramian.objective import Block, KernelRegression, Margins, Neighbourhoods
from gramian.supervision import (
    SUPERVISIONS,
    Begun,
    GivenPairs,
    GivenQuadruplets,
    GivenTriplets,
    LabelChoice,
    LabelPairs,
    LabelTriplets,
    Situation,
    Supervision,
)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def make(name, labels, rng):
    """One of each kind, on samples with labels."""
    n = len(labels)
    if name == "given pairs":
        pairs = rng.permutation(n)[: n // 2 * 2].reshape(-1, 2)
        return GivenPairs(pairs, y=np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1))
    if name == "given triplets":
        return GivenTriplets(rng.permutation(n)[: n // 3 * 3].reshape(-1, 3))
    if name == "given quadruplets":
        return GivenQuadruplets(rng.permutation(n)[: n // 4 * 4].reshape(-1, 4))
    return SUPERVISIONS[name](labels)


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_every_kind_makes_a_problem_that_can_be_lowered(name, wine, rng):
    X, y = wine
    situation = Situation(Array(X), rng)
    supervision, start = make(name, y, rng).validate(len(X)).begin(situation, np.eye(13)[:, :3])
    assert start.shape == (13, 3)
    assert len(supervision) > 0
    assert supervision.default_penalty(3, 13) >= 0
    for index in range(supervision.n_rounds):
        terms = supervision.terms(situation, start, index)
        assert all(isinstance(term, Term | Margins | Neighbourhoods | KernelRegression) for term in terms)
        assert Problem([Block(situation.features, terms)]).value_at_zero > 0
    model = MetricLearner(3, random_state=0).fit_supervised(X, make(name, y, rng))
    learns = SUPERVISIONS[name].round_length != 0 and not (name == "auto" and model.choice_.plan == "start")
    assert bool(model.history_["cost"][-1] < model.history_["cost"][0]) is learns


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_resuming_keeps_the_scale_of_the_factor(name, wine, rng):
    X, y = wine
    supervision, factor = make(name, y, rng).validate(len(X)), 7 * np.eye(13)[:, :3]
    begun = supervision.begin(Situation(Array(X), rng), factor, resume=True)
    np.testing.assert_array_equal(begun.start, factor)


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_only_kinds_with_labels_can_be_named_as_constraints(name, wine):
    kind = SUPERVISIONS[name]
    if kind.from_labels:
        assert isinstance(kind.from_learner(wine[1], MetricLearner()), kind)
        return
    with pytest.raises(ValueError, match="is not made from class labels"):
        kind.from_learner(wine[1], MetricLearner())
    with pytest.raises(
        ValueError, match=f"constraints='{name}' is unknown. Choose 'auto', 'neighbourhoods', 'triplets', 'pairs' or"
    ):
        MetricLearner(constraints=name).fit(*wine)


def test_label_triplets_are_found_anew_in_the_present_metric(wine, rng):
    X, y = wine
    situation = Situation(Array(X), rng)
    supervision, start = LabelTriplets(y, n_targets=1, n_impostors=1).validate(len(X)).begin(situation, np.eye(13))
    first = supervision.terms(situation, start)[0].triplets
    again = supervision.terms(situation, np.eye(13), 1)[0].triplets
    other = supervision.terms(situation, np.diag(np.arange(13.0)), 2)[0].triplets
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_the_length_is_known_before_the_fit_begins(name, wine, rng):
    supervision = make(name, wine[1], rng).validate(len(wine[0]))
    begun = supervision.begin(Situation(Array(wine[0]), rng), np.eye(13))
    assert len(begun.supervision) == len(supervision) > 0


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_a_fit_does_not_change_the_supervision(name, wine, rng):
    X, y = wine
    supervision = make(name, y, rng)
    before = {key: np.array(value) for key, value in vars(supervision).items() if value is not None}
    one, other = (MetricLearner(3, random_state=0).fit_supervised(X, supervision) for _ in range(2))
    np.testing.assert_array_equal(one.components_, other.components_)
    assert {key for key, value in vars(supervision).items() if value is not None} == set(before)
    for key, value in before.items():
        np.testing.assert_array_equal(getattr(supervision, key), value)
    with pytest.raises(FrozenInstanceError):
        supervision.labels = y


@pytest.mark.parametrize(
    ("supervision", "message"),
    [
        (GivenPairs([[0, 1]], 1.0, y=[1]), "y stands in place of target and sense"),
        (GivenPairs([[0, 1]], y=[1]), "Give pairs of both kinds"),
        (GivenPairs([[0, 1]], y=[2]), "y must be"),
        (GivenPairs([[0, 1]], -1.0), "must be finite and not negative"),
        (GivenPairs([[0, 1], [1, 0]], [1.0, 2.0], [-1, 1]), "at most 1, against at least 2"),
        (GivenTriplets([[0, 1, 1]]), "names a sample twice"),
        (GivenTriplets([[0, 1, 2]], [-0.5]), "weights must be finite and not negative"),
        (GivenQuadruplets([[0, 1, 2, 178]]), r"quadruplets\[0\] = \(0, 1, 2, 178\) is out of range"),
        (GivenQuadruplets(np.empty((0, 4), int)), "quadruplets is empty"),
        (GivenQuadruplets([[0, 1, 2]]), r"quadruplets has shape \(1, 3\); expected \(m, 4\)"),
        (GivenQuadruplets([[0, 1, 2, 3], [0, 1, 1, 0]]), r"quadruplets\[1\] = \(0, 1, 1, 0\) has the same pair twice"),
        (GivenQuadruplets([[0, 0, 2, 3]]), "joins a sample to itself"),
        (GivenQuadruplets([[0, 1, 2, 2]]), "joins a sample to itself"),
        (GivenQuadruplets([[0, 1, 2, 3]], [1.0, 2.0]), r"sample_weight has shape \(2,\)"),
        (GivenQuadruplets([[0, 1, 2, 3]], [0.0]), "at least one must be positive"),
        (LabelTriplets(np.zeros(178)), "one class only"),
        (LabelPairs(np.zeros(178)), "one class only"),
    ],
)
def test_supervision_is_validated_before_anything_is_computed(supervision, message, wine, monkeypatch):
    monkeypatch.setattr("gramian.coordinates.Coordinates.of_distances", None)
    with pytest.raises(ValueError, match=message):
        MetricLearner(2).fit_supervised(wine[0], supervision)


def test_label_pairs_have_no_terms_before_they_are_drawn(wine, rng):
    with pytest.raises(TypeError, match="Ask the supervision that begin returns"):
        LabelPairs(wine[1]).terms(Situation(Array(wine[0]), rng), np.eye(13))


def test_label_pairs_are_of_both_kinds_and_bounded_by_percentiles(wine, rng):
    X, y = wine
    given = LabelPairs(y, 200).validate(len(X)).begin(Situation(Array(X), rng), np.eye(13)).supervision
    squared = Pairs(given.pairs).predict(X)
    np.testing.assert_allclose(given.summary()["bounds_"], np.percentile(squared, [5, 95]))
    assert set(np.unique(given.y)) == {-1, 1}


def test_a_stream_of_labels_keeps_the_kind_of_its_constraints(wine):
    """constraints="pairs" asks for pairs in every call, not only in the first."""
    X, y = wine
    order = np.random.default_rng(0).permutation(len(X))
    model = MetricLearner(3, constraints="pairs", n_constraints=50, random_state=0)
    for part in np.array_split(order, 3):
        model.partial_fit(X[part], y[part])
        assert hasattr(model, "bounds_")
    assert model.n_seen_ == 150


@dataclass(frozen=True, eq=False)
class Quantiles(Supervision):
    """Samples near in a target should be near in distance: the smallest kind one can write."""

    y: Any
    pairs: Any = None

    def __len__(self):
        return len(self.y)

    def validate(self, n_samples):
        if len(self.y) != n_samples:
            raise ValueError(f"y has {len(self.y)} entries, but there are {n_samples} samples.")
        return self

    def begin(self, situation, start, *, resume=False):
        return Begun(replace(self, pairs=situation.rng.integers(len(self.y), size=(500, 2))), start)

    def terms(self, situation, factor, index=0):
        target = (self.y[self.pairs[:, 0]] - self.y[self.pairs[:, 1]]) ** 2
        return [Term(Pairs(self.pairs), target)]


def test_supervision_of_one_s_own_is_learned_from(rng):
    X, _ = load_iris(return_X_y=True)
    target = X @ [0.0, 2.0, 0.0, 0.0]
    model = MetricLearner(1, random_state=0).fit_supervised(X, Quantiles(target))
    np.testing.assert_allclose(np.abs(model.factor_.ravel()), [0, 2, 0, 0], atol=1e-2)
    with pytest.raises(ValueError, match="y has 3 entries, but there are 150 samples"):
        MetricLearner(1).fit_supervised(X, Quantiles([1, 2, 3]))


@pytest.mark.parametrize(
    ("classes", "size", "expected"), [(3, 50, 240), (2, 4, 28), (50, 4, 19_900), (1000, 4, 30_000), (27, 20, 28_080)]
)
def test_the_default_number_of_pairs_is_capped(classes, size, expected):
    supervision = LabelPairs(np.repeat(np.arange(classes), size)).validate(classes * size)
    assert len(supervision.draw(np.random.default_rng(0))) == expected


def test_a_given_number_of_pairs_is_used_as_it_is():
    supervision = LabelPairs([0, 0, 1, 1], n_pairs=50_000).validate(4)
    assert len(supervision.draw(np.random.default_rng(0))) == 50_000


@pytest.mark.parametrize("model", [ITML(), LEGO(), POLA(), MetricLearner(2, constraints="pairs")], ids=repr)
def test_many_classes_are_learned_from_few_pairs(model, rng):
    y = np.repeat(np.arange(200), 3)
    X = rng.standard_normal((600, 4)) + 3 * rng.standard_normal((200, 4))[y]
    model.set_params(random_state=0).fit(X, y)
    assert np.isfinite(model.components_).all()
    assert "at most 30,000" in type(model).__doc__


@pytest.mark.parametrize("count", [1.5, 0, "a", np.nan])
def test_counts_are_whole_numbers(count):
    with pytest.raises(ValueError, match=r"n_pairs=.* is not valid"):
        LabelPairs([0, 0, 1, 1], n_pairs=count).validate(4)
    for name in ("n_targets", "n_impostors", "n_rounds"):
        with pytest.raises(ValueError, match=f"{name}=.* is not valid"):
            LabelTriplets([0, 0, 1, 1], **{name: count}).validate(4)


def test_triplets_of_very_many_samples_are_sought_among_some(rng, monkeypatch):
    monkeypatch.setattr("gramian.supervision.labels.MOST_SAMPLES", 60)
    y = np.append(rng.integers(3, size=298), [3, 3])
    X = rng.standard_normal((300, 4)) + 4 * np.eye(4)[y]
    situation = Situation(Array(X), np.random.default_rng(0), labels=y)
    begun = LabelTriplets(y, n_targets=2, n_impostors=3).validate(300).begin(situation, np.eye(4))
    rows = [begun.supervision.subset(index) for index in range(2)]
    assert not np.array_equal(*rows)
    for index, drawn in enumerate(rows):
        assert {298, 299} <= set(drawn)
        assert len(drawn) <= 62
        (term,) = begun.supervision.terms(situation, begun.start, index)
        anchor, near, far = y[drawn][term.triplets].T
        assert (anchor == near).all()
        assert (anchor != far).all()
        term.check(len(drawn))
    learned = MetricLearner(2, constraints="triplets", random_state=0).fit(X, y)
    image = learned.transform(X)
    assert KNeighborsClassifier(1).fit(image[::2], y[::2]).score(image[1::2], y[1::2]) > 0.9


def test_rounds_of_triplets_grow(rng, monkeypatch):
    monkeypatch.setattr("gramian.supervision.labels.ANCHORS", 70)
    monkeypatch.setattr("gramian.supervision.labels.FEWER_ANCHORS", 60)
    y = rng.integers(3, size=300)
    X = rng.standard_normal((300, 4)) + 4 * np.eye(4)[y]
    situation = Situation(Array(X), np.random.default_rng(0), labels=y)
    supervision = LabelTriplets(y).validate(300)
    low, full = (np.eye(4, 2), [60, 60, 100, None], [60, 70]), (np.eye(4), [75, 75, 150, None], [70, 300])
    for start, sizes, (before, last) in (low, full):
        begun = supervision.begin(situation, start).supervision
        rows = [begun.subset(index) for index in range(4)]
        assert [None if drawn is None else len(drawn) for drawn in rows] == sizes
        assert not np.array_equal(rows[0], rows[1])
        for index in range(4):
            (term,) = begun.terms(situation, start, index)
            assert len(term) == (before if index < 3 else last)
            term.check(300 if rows[index] is None else len(rows[index]))
    # A batch of a stream has one round, of all its samples.
    assert supervision.begin(situation, np.eye(4), resume=True).supervision.subset(0) is None
    learned = MetricLearner(2, constraints="triplets", random_state=0).fit(X, y)
    assert learned.n_iter_ <= 40
    # A product with some of the samples is a part of a pass: those of three rounds are of a fifth, or a third.
    assert learned.history_["passes"][-1] < 2 * (10 + 2) * (0.2 + 0.2 + 0.34 + 1)
    image = learned.transform(X)
    assert KNeighborsClassifier(1).fit(image[::2], y[::2]).score(image[1::2], y[1::2]) > 0.9
    # Few samples are all used in every round.
    assert [LabelTriplets(y[:70]).subset(index) for index in range(4)] == [None] * 4


def test_weighted_anchors_are_among_the_samples_of_a_round(rng, monkeypatch):
    monkeypatch.setattr("gramian.supervision.labels.MOST_SAMPLES", 40)
    y, weight = rng.integers(3, size=300), np.zeros(300)
    weight[[5, 17, 200]] = [1.0, 2.0, 3.0]
    situation = Situation(Array(rng.standard_normal((300, 4))), np.random.default_rng(0), labels=y)
    supervision = LabelTriplets(y, sample_weight=weight).validate(300).begin(situation, np.eye(4)).supervision
    term = supervision.terms(situation, np.eye(4), 1)[0]
    assert set(supervision.subset(1)[term.triplets[:, 0]]) == {5, 17, 200}


def test_few_triplets_come_first_with_many_samples_unless_the_rank_is_low(monkeypatch):
    monkeypatch.setattr("gramian.supervision.choice.LARGE", 20)
    y = np.arange(60) % 3
    for most, rank, first in ((40, 10, "triplets"), (100, 10, "many triplets"), (40, 5, "many triplets")):
        monkeypatch.setattr("gramian.supervision.choice.ANCHORS", most)
        assert LabelChoice(y).plans(rank, 30)[0].name == first


def test_signs_may_be_a_list_before_they_are_validated():
    assert [plan.start for plan in GivenPairs([[0, 1], [1, 2]], y=[1, -1]).plans(1, 5)] == ["pairs"]
