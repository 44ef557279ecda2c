"""The threshold of learned distances: the best one there is, kept by streams, and restored with the rest."""

from copy import copy
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from gramian import MetricLearner
from gramian.baselines import ITML, LEGO, POLA
from gramian.estimators import _distance
from gramian.estimators._distance import LearnedDistance
from gramian.estimators._threshold import Calibration, best_threshold
from gramian.supervision import labelled_pairs


class Line(LearnedDistance, BaseEstimator):
    """The distance of points on a line, without a fit."""

    def __init__(self, dtype=np.float64):
        self.dtype = dtype
        self.components_, self.n_features_in_ = np.eye(1, dtype=dtype), 1

    def fit(self, X, y=None):
        return self


def merit(distance, y, threshold, strategy, beta=1.0, min_rate=None):
    """Return what a strategy makes as large as it can, for one threshold; exact, and None if it is not allowed."""
    called, similar = distance <= threshold, y > 0
    tp, fp, fn, tn = (int(np.sum(a & b)) for a, b in product((called, ~called), (similar, ~similar)))
    tpr, tnr = Fraction(tp, tp + fn), Fraction(tn, tn + fp)
    if strategy == "accuracy":
        return Fraction(tp + tn, len(y))
    if strategy == "balanced":
        return (tpr + tnr) / 2
    if strategy == "f_beta":
        weight = Fraction(beta) ** 2
        return (1 + weight) * tp / ((1 + weight) * tp + weight * fn + fp) if tp else Fraction(0)
    rate, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
    return rate if float(other) >= min_rate else None


def draw_case(rng, dtype):
    """Return distances (m,) with ties and zeros, and signs of both kinds."""
    m = int(rng.integers(2, 12))
    distance = rng.integers(0, int(rng.integers(1, 6)), m) * 10.0 ** rng.integers(-3, 4)
    distance = distance + (rng.random() < 0.3) * rng.random(m)
    y = np.where(rng.random(m) < rng.random(), 1, -1)
    y[:2] = 1, -1
    return distance.astype(dtype), y


CALIBRATIONS = [
    {"strategy": "accuracy"},
    {"strategy": "balanced"},
    {"strategy": "f_beta"},
    {"strategy": "f_beta", "beta": 0},
    {"strategy": "f_beta", "beta": 0.3},
    {"strategy": "f_beta", "beta": 1e200},
    *({"strategy": name, "min_rate": rate} for name in ("max_tpr", "max_tnr") for rate in (0, 0.2, 0.5, 0.7, 1)),
]


@pytest.mark.parametrize("params", CALIBRATIONS, ids=lambda params: "-".join(map(str, params.values())))
def test_no_threshold_is_better_than_the_calibrated_one(params, dtype, rng):
    for _ in range(200):
        distance, y = draw_case(rng, dtype)
        points = np.c_[distance, 0 * distance][:, :, None]
        model = Line(dtype).calibrate_threshold(points, y, **params)
        cuts = [-1.0, *np.unique(distance)]
        merits = [merit(distance, y, cut, **params) for cut in cuts]
        best = max(value for value in merits if value is not None)
        assert merit(distance, y, model.threshold_, **params) == best, (distance, y, model.threshold_)
        np.testing.assert_array_equal(model.decision_function(points) >= 0, model.predict(points) > 0)
        if params["strategy"] in ("accuracy", "balanced", "f_beta"):
            lowest = cuts[merits.index(best)]
            np.testing.assert_array_equal(distance <= model.threshold_, distance <= lowest)


def test_of_thresholds_with_the_same_rate_the_one_with_the_better_other_rate_is_taken():
    distance, y = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1, 1, -1, -1, 1])
    points = np.c_[distance, 0 * distance][:, :, None]
    for min_rate, threshold in ((0.3, 2.5), (0.6, 2.5), (1.0, 7.5)):
        model = Line().calibrate_threshold(points, y, strategy="max_tnr", min_rate=min_rate)
        assert model.threshold_ == threshold
    for min_rate, threshold in ((1.0, 2.5), (0.1, 2.5), (0.0, 7.5)):
        model = Line().calibrate_threshold(points, y, strategy="max_tpr", min_rate=min_rate)
        assert model.threshold_ == threshold


def test_a_rate_that_equals_min_rate_is_enough():
    # 0.07 * 100 is above 7 in floating point.
    distance = np.arange(101.0)
    y = np.r_[np.full(93, -1), 1, np.full(7, -1)]
    model = Line().calibrate_threshold(np.c_[distance, 0 * distance][:, :, None], y, strategy="max_tpr", min_rate=0.07)
    assert model.threshold_ == 93.5


BAD_CALIBRATIONS = {
    "strategy='best' is unknown. Choose one of 'accuracy', 'balanced', 'f_beta'": {"strategy": "best"},
    "strategy=None is unknown": {"strategy": None},
    "beta=-1 is not valid. Choose a number of at least 0": {"strategy": "f_beta", "beta": -1},
    "beta=nan is not valid": {"strategy": "f_beta", "beta": np.nan},
    "min_rate is missing; strategy='max_tpr' needs it. Give a number from 0 to 1": {"strategy": "max_tpr"},
    "min_rate is missing; strategy='max_tnr' needs it": {"strategy": "max_tnr"},
    "min_rate=1.5 is not valid. Choose a number from 0 to 1": {"strategy": "max_tpr", "min_rate": 1.5},
    "min_rate=-0.1 is not valid": {"strategy": "max_tnr", "min_rate": -0.1},
    "min_rate=nan is not valid": {"strategy": "max_tnr", "min_rate": np.nan},
    "min_rate='a' is not valid": {"strategy": "max_tnr", "min_rate": "a"},
}


@pytest.mark.parametrize("message", BAD_CALIBRATIONS)
def test_a_calibration_that_is_not_valid_is_refused(message):
    with pytest.raises(ValueError, match=message):
        Line().calibrate_threshold(np.array([[[1.0], [0.0]], [[2.0], [0.0]]]), [1, -1], **BAD_CALIBRATIONS[message])


OF_PAIRS = [MetricLearner(2, max_iter=3, random_state=0), LEGO(), ITML(), POLA()]
CALLS = [(model, name) for model in OF_PAIRS for name in ("fit_pairs", "partial_fit_pairs") if hasattr(model, name)]


@pytest.mark.parametrize(
    ("model", "learn"), CALLS, ids=lambda part: part if isinstance(part, str) else type(part).__name__
)
@pytest.mark.filterwarnings("ignore:not converged")
def test_a_fit_takes_the_parameters_of_its_calibration(model, learn, signed):
    X, pairs, y = signed
    model = clone(model)
    for params in ({"strategy": "max_tnr", "min_rate": 0.9}, {"strategy": "f_beta", "beta": 3.0}):
        getattr(model, learn)(X, pairs, y, calibration_params=params)
        assert model.threshold_ == clone_with_metric(model).calibrate_threshold(X, pairs, y, **params).threshold_
    before = dict(vars(model))
    refused = {
        "calibration_params has the key 'rate', which is unknown. Choose from": {"rate": 1},
        "calibration_params=0.5 is not valid. Give a dict": 0.5,
        "min_rate is missing": {"strategy": "max_tpr"},
    }
    for message, params in refused.items():
        with pytest.raises(ValueError, match=message):
            getattr(model, learn)(2 * X, pairs, y, calibration_params=params)
        assert vars(model) == before
    if not isinstance(model, POLA):
        with pytest.raises(ValueError, match="calibration_params is given without y"):
            getattr(model, learn)(X, pairs, target=1.0, calibration_params={"strategy": "accuracy"})


def clone_with_metric(model):
    """Return a copy of a fitted learner without its threshold."""
    same = copy(model)
    del same.threshold_
    return same


@pytest.mark.parametrize("size", [1e-320, 1e-30, 1.0, 1.7e308])
def test_neighbouring_distances_are_told_apart_at_every_scale(size):
    low, high = np.float64(size), np.nextafter(np.float64(size), np.inf)
    distance, y = np.array([low, high]), np.array([1, -1])
    threshold = best_threshold(distance, y, Calibration())
    np.testing.assert_array_equal(np.where(distance <= threshold, 1, -1), y)
    assert best_threshold(distance, -y, Calibration()) < low or best_threshold(distance, -y, Calibration()) >= high


def test_equal_distances_give_the_kind_that_is_more_frequent():
    for distance in (np.zeros(3), np.ones(3)):
        assert (distance > best_threshold(distance, np.array([1, -1, -1]), Calibration())).all()
        assert (distance <= best_threshold(distance, np.array([1, 1, -1]), Calibration())).all()


def test_calibration_without_pairs_says_so():
    X = np.zeros((3, 1))
    for pairs in (np.empty((0, 2), int), []):
        with pytest.raises(ValueError, match="pairs is empty"):
            Line().calibrate_threshold(X, pairs, [])
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
    assert not hasattr(Line(), name)
    with pytest.raises(AttributeError, match=f"Line.*{name}.*no threshold is set. Call calibrate_threshold"):
        getattr(Line(), name)


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
    assert second == model.calibrate_threshold(X, pairs[100:], y[100:]).threshold_
    near = pairs[y > 0]
    model.partial_fit_pairs(X, near, y=np.ones(len(near), int))
    assert model.threshold_ == second
    model.partial_fit_pairs(X[pairs], y=y)
    assert model.threshold_ == model.calibrate_threshold(X, pairs, y).threshold_


@pytest.mark.parametrize("model", [MetricLearner(2, random_state=0), LEGO(), ITML()], ids=lambda m: type(m).__name__)
def test_a_calibration_that_fails_leaves_the_estimator_as_it_was(model, signed, monkeypatch):
    X, pairs, y = signed
    before = dict(vars(model.fit_pairs(X, pairs, y=y)))

    def fail(*_, **__):
        raise ValueError("calibration failed")

    monkeypatch.setattr(_distance, "best_threshold", fail)
    for call in (model.fit_pairs, getattr(model, "partial_fit_pairs", model.fit_pairs)):
        with pytest.raises(ValueError, match="calibration failed"):
            call(2 * X, pairs, y=y)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)
