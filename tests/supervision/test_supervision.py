"""The contract of supervision, over the registry; and the estimators that learn from it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, Problem, Term
from gramian.baselines import ITML, LEGO, POLA
from gramian.features import Array
from gramian.measurements import Pairs
from gramian.objective import Block
from gramian.supervision import SUPERVISIONS, GivenPairs, GivenTriplets, LabelPairs, LabelTriplets, Scene, Supervision


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
    return SUPERVISIONS[name](labels)


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_every_kind_makes_a_problem_that_can_be_lowered(name, wine, rng):
    X, y = wine
    supervision = make(name, y, rng)
    supervision.check(len(X))
    scene = Scene(Array(X), rng)
    start = supervision.begin(scene, np.eye(13)[:, :3])
    assert start.shape == (13, 3)
    assert len(supervision) > 0
    assert supervision.default_penalty(3, 13) > 0
    for _ in range(supervision.n_rounds):
        terms = supervision.terms(scene, start)
        assert all(isinstance(term, Term) for term in terms)
        assert Problem([Block(scene.features, terms)]).value_at_zero > 0
    model = MetricLearner(3, random_state=0).fit_supervised(X, make(name, y, rng))
    assert model.history_["cost"][-1] < model.history_["cost"][0]


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_resuming_keeps_the_scale_of_the_factor(name, wine, rng):
    X, y = wine
    supervision = make(name, y, rng)
    supervision.check(len(X))
    factor = 7 * np.eye(13)[:, :3]
    np.testing.assert_array_equal(supervision.begin(Scene(Array(X), rng), factor, resume=True), factor)


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_only_kinds_with_labels_can_be_named_as_constraints(name, wine):
    kind = SUPERVISIONS[name]
    if kind.from_labels:
        assert isinstance(kind.from_learner(wine[1], MetricLearner()), kind)
        return
    with pytest.raises(ValueError, match="is not made from class labels"):
        kind.from_learner(wine[1], MetricLearner())
    with pytest.raises(ValueError, match=f"constraints='{name}' is unknown. Choose 'triplets' or 'pairs'"):
        MetricLearner(constraints=name).fit(*wine)


def test_label_triplets_are_found_anew_in_the_present_metric(wine, rng):
    X, y = wine
    supervision = LabelTriplets(y, n_targets=1, n_impostors=1)
    supervision.check(len(X))
    scene = Scene(Array(X), rng)
    first = supervision.terms(scene, supervision.begin(scene, np.eye(13)))[0].measurement.triplets
    again = supervision.terms(scene, np.eye(13))[0].measurement.triplets
    other = supervision.terms(scene, np.diag(np.arange(13.0)))[0].measurement.triplets
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("name", SUPERVISIONS)
def test_the_length_is_known_before_the_fit_begins(name, wine, rng):
    supervision = make(name, wine[1], rng)
    supervision.check(len(wine[0]))
    before = len(supervision)
    supervision.begin(Scene(Array(wine[0]), rng), np.eye(13))
    assert len(supervision) == before > 0


def test_label_pairs_are_of_both_kinds_and_bounded_by_percentiles(wine, rng):
    X, y = wine
    supervision = LabelPairs(y, 200)
    supervision.check(len(X))
    supervision.begin(Scene(Array(X), rng), np.eye(13))
    squared = Pairs(supervision.given.pairs).predict(X)
    np.testing.assert_allclose(supervision.summary()["bounds_"], np.percentile(squared, [5, 95]))
    assert set(np.unique(supervision.given.y)) == {-1, 1}


def test_a_stream_of_labels_keeps_the_kind_of_its_constraints(wine):
    """constraints="pairs" asks for pairs in every call, not only in the first."""
    X, y = wine
    order = np.random.default_rng(0).permutation(len(X))
    model = MetricLearner(3, constraints="pairs", n_constraints=50, random_state=0)
    for part in np.array_split(order, 3):
        model.partial_fit(X[part], y[part])
        assert hasattr(model, "bounds_")
    assert model.n_seen_ == 150


class Quantiles(Supervision):
    """Samples near in a target should be near in distance: the smallest kind one can write."""

    def __init__(self, y):
        self.y = np.asarray(y, float)

    def __len__(self):
        return len(self.y)

    def check(self, n_samples):
        if len(self.y) != n_samples:
            raise ValueError(f"y has {len(self.y)} entries, but there are {n_samples} samples.")

    def begin(self, scene, start, *, resume=False):
        self.pairs = scene.rng.integers(len(self.y), size=(500, 2))
        return start

    def terms(self, scene, factor):
        target = (self.y[self.pairs[:, 0]] - self.y[self.pairs[:, 1]]) ** 2
        return [Term(Pairs(self.pairs), target)]

    def default_penalty(self, rank, n_features):
        return 0.0


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
    supervision = LabelPairs(np.repeat(np.arange(classes), size))
    supervision.check(classes * size)
    assert len(supervision.draw(np.random.default_rng(0))) == expected


def test_a_given_number_of_pairs_is_used_as_it_is():
    supervision = LabelPairs([0, 0, 1, 1], n_pairs=50_000)
    supervision.check(4)
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
        LabelPairs([0, 0, 1, 1], n_pairs=count).check(4)
    for name in ("n_targets", "n_impostors", "n_rounds"):
        with pytest.raises(ValueError, match=f"{name}=.* is not valid"):
            LabelTriplets([0, 0, 1, 1], **{name: count}).check(4)
