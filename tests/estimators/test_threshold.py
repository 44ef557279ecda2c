"""The threshold of learned distances: the best one there is, kept by streams, and restored with the rest."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from gramian import MetricLearner
from gramian.baselines import ITML, LEGO
from gramian.estimators._distance import LearnedDistance, best_threshold
from gramian.supervision import labelled_pairs


class Line(LearnedDistance, BaseEstimator):
    """The distance of points on a line, without a fit."""

    def __init__(self, dtype=np.float64):
        self.dtype = dtype
        self.components_, self.n_features_in_ = np.eye(1, dtype=dtype), 1

    def fit(self, X, y=None):
        return self


def accuracy(distance, y, threshold, strategy):
    """Return the share of pairs that a threshold classifies correctly; the mean over the kinds if balanced."""
    right = np.where(distance <= threshold, 1, -1) == y
    return right.mean() if strategy == "accuracy" else (right[y > 0].mean() + right[y < 0].mean()) / 2


def draw_case(rng, dtype):
    """Return distances (m,) with ties and zeros, and signs of both kinds."""
    m = int(rng.integers(2, 12))
    distance = rng.integers(0, int(rng.integers(1, 6)), m) * 10.0 ** rng.integers(-3, 4)
    distance = distance + (rng.random() < 0.3) * rng.random(m)
    y = np.where(rng.random(m) < rng.random(), 1, -1)
    y[:2] = 1, -1
    return distance.astype(dtype), y


@pytest.mark.parametrize("strategy", ["accuracy", "balanced"])
def test_no_threshold_is_better_than_the_calibrated_one(strategy, dtype, rng):
    for _ in range(1000):
        distance, y = draw_case(rng, dtype)
        model = Line(dtype).calibrate_threshold(
            pairs := np.c_[distance, 0 * distance][:, :, None], y, strategy=strategy
        )
        best = max(accuracy(distance, y, t, strategy) for t in (-1.0, *distance))
        right = model.predict(pairs) == y
        found = right.mean() if strategy == "accuracy" else (right[y > 0].mean() + right[y < 0].mean()) / 2
        assert found == pytest.approx(best), (distance, y, model.threshold_)
        np.testing.assert_array_equal(model.decision_function(pairs) >= 0, model.predict(pairs) > 0)


@pytest.mark.parametrize("size", [1e-320, 1e-30, 1.0, 1.7e308])
def test_neighbouring_distances_are_told_apart_at_every_scale(size):
    low, high = np.float64(size), np.nextafter(np.float64(size), np.inf)
    distance, y = np.array([low, high]), np.array([1, -1])
    threshold = best_threshold(distance, y, "accuracy")
    np.testing.assert_array_equal(np.where(distance <= threshold, 1, -1), y)
    assert best_threshold(distance, -y, "accuracy") < low or best_threshold(distance, -y, "accuracy") >= high


def test_equal_distances_give_the_kind_that_is_more_frequent():
    for distance in (np.zeros(3), np.ones(3)):
        assert (distance > best_threshold(distance, np.array([1, -1, -1]), "accuracy")).all()
        assert (distance <= best_threshold(distance, np.array([1, 1, -1]), "accuracy")).all()


def test_calibration_without_pairs_says_so():
    X = np.zeros((3, 1))
    for pairs in (np.empty((0, 2), int), []):
        with pytest.raises(ValueError, match="pairs is empty"):
            Line().calibrate_threshold(pairs, [], X)
    with pytest.raises(ValueError, match="pairs is empty"):
        Line().calibrate_threshold(np.empty((0, 2, 1)), [])


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_distances_are_right_where_their_squares_are_not(size):
    pairs = np.array([[[3 * size], [0.0]], [[size], [0.0]]])
    np.testing.assert_allclose(Line().pair_distance(pairs), [3 * size, size])
    assert Line().calibrate_threshold(pairs, [-1, 1]).threshold_ == pytest.approx(2 * size)


@pytest.mark.filterwarnings("ignore:overflow")
def test_calibration_refuses_distances_that_overflow():
    with pytest.raises(ValueError, match=r"pairs\[0\] is not finite: it overflows. Scale the data"):
        Line().calibrate_threshold(np.array([[[1e308], [-1e308]], [[1.0], [0.0]]]), [1, -1])


@pytest.mark.parametrize("value", [np.nan, "a", None, 1j, True, [1.0]])
def test_a_threshold_is_a_number(value):
    with pytest.raises(ValueError, match=r"threshold=.* is not valid"):
        Line().set_threshold(value)


def test_thresholds_are_stored_as_floats():
    assert Line().set_threshold(np.float32(0.5)).threshold_ == 0.5
    assert Line().set_threshold(2).threshold_ == 2.0
    assert Line().set_threshold(np.inf).threshold_ == np.inf


@pytest.mark.parametrize("name", ["predict", "decision_function"])
def test_a_missing_threshold_is_named_as_the_cause(name):
    assert not hasattr(MetricLearner(), name)
    with pytest.raises(AttributeError, match=f"MetricLearner.*{name}.*no threshold is set. Call calibrate_threshold"):
        getattr(MetricLearner(), name)


@pytest.fixture
def signed(rng):
    """Return samples (60, 3), pairs (200, 2) and signs."""
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 3)) + y[:, None]
    pairs, same = labelled_pairs(y, 200, balanced=True, random_state=0)
    return X, pairs, np.where(same, 1, -1)


@pytest.mark.parametrize("model", [MetricLearner(2, random_state=0), LEGO()], ids=["MetricLearner", "LEGO"])
def test_streams_of_signed_pairs_keep_a_threshold(model, signed):
    X, pairs, y = signed
    model.partial_fit_pairs(X, pairs[:100], y=y[:100]).partial_fit_pairs(X, pairs[100:], y=y[100:])
    second = model.threshold_
    assert second == model.calibrate_threshold(pairs[100:], y[100:], X).threshold_
    near = pairs[y > 0]
    model.partial_fit_pairs(X, near, y=np.ones(len(near), int))
    assert model.threshold_ == second
    model.partial_fit_pairs(X[pairs], y=y)
    assert model.threshold_ == model.calibrate_threshold(pairs, y, X).threshold_


@pytest.mark.parametrize("model", [MetricLearner(2, random_state=0), LEGO(), ITML()], ids=lambda m: type(m).__name__)
def test_a_calibration_that_fails_leaves_the_estimator_as_it_was(model, signed, monkeypatch):
    X, pairs, y = signed
    before = dict(vars(model.fit_pairs(X, pairs, y=y)))

    def fail(*_, **__):
        raise ValueError("calibration failed")

    monkeypatch.setattr(type(model), "calibrate_threshold", fail)
    for call in (model.fit_pairs, getattr(model, "partial_fit_pairs", model.fit_pairs)):
        with pytest.raises(ValueError, match="calibration failed"):
            call(2 * X, pairs, y=y)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)
