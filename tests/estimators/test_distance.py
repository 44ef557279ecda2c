"""The methods of learned distances: orders of arguments, scores, inverse maps and refusals, for every learner."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances, roc_auc_score
from sklearn.neighbors import NearestNeighbors

from gramian import MetricLearner
from gramian.baselines import ITML, LEGO, LMNN, POLA
from gramian.estimators._distance import Metric
from gramian.supervision import labelled_pairs

LEARNERS = [
    MetricLearner(2, max_iter=3, random_state=0),
    ITML(max_iter=50, random_state=0),
    LEGO(random_state=0),
    POLA(random_state=0),
    LMNN(2, max_iter=2, random_state=0),
]
OF_PAIRS = [learner for learner in LEARNERS if hasattr(learner, "fit_pairs")]

pytestmark = pytest.mark.filterwarnings("ignore:not converged")


def class_name(learner):
    return type(learner).__name__


@pytest.fixture
def signed(rng):
    """Return samples (40, 3), labels, pairs (80, 2) and signs."""
    labels = np.repeat([0, 1], 20)
    X = rng.standard_normal((40, 3)) + labels[:, None]
    pairs, same = labelled_pairs(labels, 80, balanced=True, random_state=0)
    return X, labels, pairs, np.where(same, 1, -1)


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_points_and_index_pairs_have_the_same_distances_scores_and_signs(learner, signed):
    X, labels, pairs, y = signed
    model = clone(learner).fit(X, labels).calibrate_threshold(X[pairs], y)
    threshold = model.threshold_
    assert model.calibrate_threshold(X, pairs, y).threshold_ == pytest.approx(threshold)
    for name in ("pair_distance", "pair_score", "decision_function"):
        np.testing.assert_allclose(getattr(model, name)(X, pairs), getattr(model, name)(X[pairs]), atol=1e-12)
        np.testing.assert_array_equal(getattr(model, name)(X, pairs), getattr(model, name)(pairs=pairs, X=X))
    np.testing.assert_array_equal(model.predict(X, pairs), model.predict(X[pairs]))
    expected = roc_auc_score(y, model.pair_score(X, pairs))
    assert model.score(X, pairs, y) == model.score(X, pairs, y=y) == expected
    assert model.score(X[pairs], y) == model.score(X[pairs], y=y) == pytest.approx(expected)
    assert model.set_threshold(1e9).score(X, pairs, y) == expected
    assert expected == pytest.approx(roc_auc_score(y, model.set_threshold(0.0).decision_function(X, pairs)))


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_signs_follow_index_pairs_or_points(learner, signed):
    X, _, pairs, y = signed
    fits = [((X, pairs, y), {}), ((X, pairs), {"y": y}), ((X[pairs], y), {}), ((X[pairs],), {"y": y})]
    models = [clone(learner).fit_pairs(*arguments, **named) for arguments, named in fits]
    by_row, by_name, by_point, by_point_and_name = (model.components_ for model in models)
    np.testing.assert_array_equal(by_row, by_name)
    np.testing.assert_array_equal(by_point, by_point_and_name)
    if not isinstance(learner, MetricLearner):  # Its principal directions, a start, are those of repeated points.
        np.testing.assert_allclose(by_row, by_point, atol=1e-10)
    with pytest.raises(ValueError, match="`pairs` must not be given"):
        models[0].fit_pairs(X[pairs], pairs, y)


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_a_learner_that_is_not_fitted_says_so(learner, signed):
    X, labels, pairs, y = signed
    model = clone(learner)
    calls = {
        **dict.fromkeys(("pair_distance", "pair_score", "decision_function", "predict"), (X, pairs)),
        **dict.fromkeys(("score", "calibrate_threshold"), (X, pairs, y)),
        "inverse_transform": (X,),
        "get_metric": (),
    }
    for name, arguments in calls.items():
        with pytest.raises(NotFittedError, match=f"{class_name(learner)} instance is not fitted"):
            getattr(model, name)(*arguments)
    with pytest.raises(NotFittedError):
        _ = model.spectrum_
    model.fit(X, labels)
    for name in ("decision_function", "predict", "score"):
        with pytest.raises(AttributeError, match="no threshold is set") as raised:
            getattr(model, name)
        assert not isinstance(raised.value, NotFittedError)


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_signs_of_other_codes_are_refused_with_what_to_do(learner, signed):
    X, _, pairs, y = signed
    model = clone(learner).fit_pairs(X, pairs, y)
    for coded, message in (
        (
            (y + 1) // 2,
            r"y holds 0 and 1; expected \+1 \(same\) and -1 \(different\). If 1 means the same, give np.where",
        ),
        (0 * y, "y holds 0 and 1; expected"),
        (y > 0, "y holds True and False; expected .* If True means the same, give np.where"),
        (
            np.where(y > 0, 1, 2),
            r"y must be \+1 \(same\) or -1 .*; y\[\d+\] = 2. Squared distances are given as target=",
        ),
    ):
        for call in (clone(learner).fit_pairs, model.calibrate_threshold, model.score):
            with pytest.raises(ValueError, match=message):
                call(X, pairs, coded)
    for call in (model.calibrate_threshold, model.score):
        with pytest.raises(ValueError, match="y is missing"):
            call(X, pairs)


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_the_metric_takes_vectors_as_scikit_learn_passes_them(learner, signed):
    X, labels, _, _ = signed
    model = clone(learner).fit(X, labels)
    metric, wanted = model.get_metric(), pairwise_distances(model.transform(X))
    assert metric(X[:1], X[1:2]) == metric(X[0], X[1]) == pytest.approx(wanted[0, 1])
    assert metric(X[:1], X[1]) == metric(X[0], X[1])
    np.testing.assert_allclose(pairwise_distances(X, metric=metric), wanted, atol=1e-10)
    np.testing.assert_allclose(pairwise_distances(scipy.sparse.csr_array(X), metric=metric), wanted, atol=1e-10)
    nearest = NearestNeighbors(n_neighbors=3, metric=metric).fit(X).kneighbors(X)[0]
    np.testing.assert_allclose(nearest, np.sort(wanted, axis=1)[:, :3], atol=1e-7)
    with pytest.raises(ValueError, match=r"v has shape \(2, 3\); expected \(3,\) or \(1, 3\)"):
        metric(X[0], X[:2])


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_the_inverse_map_and_the_spectrum_are_those_of_the_matrix(learner, signed, dtype):
    X, labels, _, _ = signed
    X = X.astype(dtype)
    model = clone(learner).fit(X, labels)
    tolerance = 1e-8 if dtype == np.float64 else 1e-3
    Z = model.transform(X)
    back = model.inverse_transform(Z)
    assert back.shape == X.shape
    assert back.dtype == dtype
    np.testing.assert_allclose(model.transform(back), Z, atol=tolerance)
    cutoff = max(model.components_.shape) * np.finfo(dtype).eps
    solved = np.linalg.lstsq(model.components_.astype(float), Z.T.astype(float), rcond=cutoff)[0].T
    np.testing.assert_allclose(back, solved, atol=10 * tolerance)
    values = np.linalg.eigvalsh(model.get_mahalanobis_matrix())[::-1]
    np.testing.assert_allclose(model.spectrum_, values[: len(model.components_)], atol=tolerance * values[0])
    with pytest.raises(ValueError, match=f"Z has 5 columns; expected {len(model.components_)}"):
        model.inverse_transform(np.ones((2, 5)))


def test_the_inverse_map_keeps_the_digits_of_strong_directions_beside_a_weak_one(signed, rng):
    X, labels, _, _ = signed
    model = POLA(random_state=0).fit(X, labels)
    for _ in range(20):
        turned = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2)]
        model.components_ = turned[0] @ np.diag([2.0, 1.0, 1e-9]) @ turned[1]
        Z = model.transform(X)
        np.testing.assert_allclose(model.transform(model.inverse_transform(Z)), Z, atol=1e-12)


def test_the_inverse_map_ignores_directions_below_the_rounding_of_its_samples(signed, dtype):
    X, labels, _, _ = signed
    model = POLA(random_state=0).fit(X, labels)
    # As the root of a singular matrix has them: eigenvalues of 1e-16 from rounding.
    model.components_ = np.diag([2.0, 1.0, 1e-8])
    Z = model.transform(X.astype(dtype))
    back = model.inverse_transform(Z)
    assert np.abs(back).max() < 10 * np.abs(X).max()
    np.testing.assert_allclose(back[:, :2], X[:, :2], atol=1e-5)
    np.testing.assert_allclose(model.transform(back), Z, atol=1e-5)
    if dtype == np.float32:
        rounded = Z + np.array([0, 0, 1e-6], dtype)
        assert np.abs(model.inverse_transform(rounded)).max() < 10 * np.abs(X).max()


def test_a_metric_of_two_vectors_has_the_range_of_numbers():
    metric = Metric(np.array([[1.0, 0.0]]))
    for size in (1e-200, 1.0, 1e200):
        assert metric([3 * size, 0], [size, 5]) == pytest.approx(2 * size)
    assert metric([3e200, 0], [0, 0], squared=True) == np.inf


def test_images_that_overflow_are_refused_by_name(signed):
    X, labels, _, _ = signed
    model = LEGO(random_state=0).fit(X, labels)
    model.components_ = 1e3 * np.eye(3)
    with pytest.raises(ValueError, match=r"the images of X overflow float32. Scale X as in the fit"):
        model.transform((1e37 * X).astype(np.float32))
    with pytest.raises(ValueError, match="the images of X overflow float64"):
        model.transform(1e307 * X)


@pytest.mark.parametrize("learner", [ITML(random_state=0), LEGO(random_state=0), POLA(random_state=0)], ids=class_name)
def test_float32_samples_whose_images_could_overflow_are_refused(learner, signed):
    X, labels, _, _ = signed
    with pytest.raises(ValueError, match=r"the largest entry of X in absolute value is .* Scale X"):
        clone(learner).fit((1e37 * X).astype(np.float32), labels)
