"""What users of metric-learn write, by its names, on the learners here."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine, make_friedman1
from sklearn.metrics import accuracy_score, f1_score, pairwise_distances, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner
from gramian.baselines import ITML, LEGO, LMNN, POLA

pytestmark = pytest.mark.filterwarnings("ignore:not converged")

SUPERVISED = [
    MetricLearner(constraints="triplets", max_iter=10, random_state=0),
    LMNN(max_iter=10),
    ITML(max_iter=50, random_state=0),
]
OF_PAIRS = [MetricLearner(max_iter=20, random_state=0), ITML(max_iter=50), LEGO()]


def class_name(learner):
    return type(learner).__name__


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def drinks(wine):
    """Return pairs of points (200, 2, 13) of wines, and whether a taster calls them the same, +1 or -1."""
    X, y = wine
    rng = np.random.default_rng(5)
    first, second = rng.integers(len(X), size=(2, 600))
    same = y[first] == y[second]
    keep = np.concatenate([np.flatnonzero(same & (first != second))[:100], np.flatnonzero(~same)[:100]])
    keep = rng.permutation(keep)
    return np.stack([X[first[keep]], X[second[keep]]], axis=1), np.where(same[keep], 1, -1)


@pytest.mark.parametrize("learner", SUPERVISED, ids=class_name)
def test_a_supervised_learner_fits_transforms_and_has_a_matrix(learner, wine):
    X, y = wine
    model = clone(learner).fit(X, y)
    embedded = model.transform(X)
    np.testing.assert_allclose(clone(learner).fit_transform(X, y), embedded)
    np.testing.assert_allclose(embedded, X @ model.components_.T, atol=1e-10)
    M = model.get_mahalanobis_matrix()
    np.testing.assert_allclose(M, model.components_.T @ model.components_)
    assert np.linalg.eigvalsh(M).min() > -1e-8
    difference = X[3] - X[90]
    distance = float(np.sqrt(difference @ M @ difference))
    assert model.get_metric()(X[3], X[90]) == pytest.approx(distance)
    assert model.get_metric()(X[3:4], X[90:91]) == pytest.approx(distance)
    assert model.get_metric()(X[3], X[90], squared=True) == pytest.approx(distance**2)
    pairs = X[[[3, 90], [3, 3]]]
    np.testing.assert_allclose(model.pair_distance(pairs), [distance, 0], atol=1e-12)
    np.testing.assert_allclose(model.pair_score(pairs), [-distance, 0], atol=1e-12)
    np.testing.assert_allclose(model.pair_distance(pairs.tolist()), [distance, 0], atol=1e-12)


def test_a_learned_metric_is_given_to_neighbours(wine):
    X, y = wine
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = MetricLearner(3, constraints="triplets", random_state=0).fit(train, y_train)
    by_metric = KNeighborsClassifier(3, metric=model.get_metric(), algorithm="brute").fit(train, y_train)
    by_transform = KNeighborsClassifier(3).fit(model.transform(train), y_train)
    np.testing.assert_array_equal(by_metric.predict(test), by_transform.predict(model.transform(test)))
    assert by_metric.score(test, y_test) > 0.9


def test_pipelines_with_neighbours_are_cross_validated_and_searched(wine):
    X, y = wine
    steps = make_pipeline(MetricLearner(constraints="triplets", random_state=0), KNeighborsClassifier())
    assert cross_val_score(steps, X, y, cv=3).mean() > 0.93
    grid = {"metriclearner__n_components": [2, 5], "kneighborsclassifier__n_neighbors": [3]}
    assert GridSearchCV(steps, grid, cv=3).fit(X, y).best_score_ > 0.93


def test_clusters_are_found_in_the_learned_space(wine):
    X, y = wine
    Z = MetricLearner(2, constraints="triplets", random_state=0).fit_transform(X, y)
    found = KMeans(3, n_init=3, random_state=0).fit_predict(Z)
    # Most pairs of samples are together in a cluster if and only if they are of one class.
    together, same = found[:, None] == found, y[:, None] == y
    assert np.mean(together == same) > 0.93


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_a_learner_of_pairs_predicts_and_scores(learner, drinks):
    pairs, y = drinks
    train, test, y_train, y_test = train_test_split(pairs, y, random_state=0, stratify=y)
    model = clone(learner).fit(train, y_train)
    predicted = model.predict(test)
    assert set(predicted) == {-1, 1}
    np.testing.assert_array_equal(predicted, np.where(model.pair_distance(test) <= model.threshold_, 1, -1))
    assert accuracy_score(y_test, predicted) > 0.75
    assert model.score(test, y_test) == pytest.approx(roc_auc_score(y_test, model.pair_score(test)))
    assert model.score(test, y_test) == pytest.approx(roc_auc_score(y_test, model.decision_function(test)))
    assert model.transform(test[:, 0]).shape == (len(test), 13)


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_thresholds_are_calibrated_by_every_strategy_and_set_by_hand(learner, drinks):
    pairs, y = drinks
    train, valid, y_train, y_valid = train_test_split(pairs, y, random_state=0, stratify=y)
    model = clone(learner).fit(train, y_train, calibration_params={"strategy": "f_beta", "beta": 2.0})
    at_fit = f1_score(y_train, model.predict(train))
    assert at_fit > 0.7
    model.calibrate_threshold(valid, y_valid, strategy="accuracy")
    best = accuracy_score(y_valid, model.predict(valid))
    for threshold in np.linspace(0, model.pair_distance(valid).max(), 20):
        assert accuracy_score(y_valid, model.set_threshold(threshold).predict(valid)) <= best
    model.calibrate_threshold(valid, y_valid, strategy="max_tpr", min_rate=0.9)
    assert np.mean(model.predict(valid[y_valid < 0]) == -1) >= 0.9
    model.calibrate_threshold(valid, y_valid, strategy="max_tnr", min_rate=0.9)
    assert np.mean(model.predict(valid[y_valid > 0]) == 1) >= 0.9
    assert (model.set_threshold(np.inf).predict(valid) == 1).all()
    for bad in ("x", None):
        with pytest.raises(ValueError, match=r"threshold=.* is not valid"):
            model.set_threshold(bad)
    with pytest.raises(ValueError, match="strategy='weird' is unknown"):
        model.calibrate_threshold(valid, y_valid, strategy="weird")


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_learners_of_pairs_are_cross_validated_and_searched(learner, drinks):
    pairs, y = drinks
    found = cross_val_predict(learner, pairs, y, cv=3)
    assert np.mean(found == y) > 0.65
    scores = cross_val_score(learner, pairs, y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(learner, pairs, y, cv=3, scoring="roc_auc"))
    assert scores.mean() > 0.75
    name, values = {
        "MetricLearner": ("regularization", [0.05, 1.0]),
        "ITML": ("gamma", [0.1, 1.0]),
        "LEGO": ("eta", [1e-4, 1e-2]),
    }[class_name(learner)]
    search = GridSearchCV(learner, {name: values}, cv=3, scoring="accuracy").fit(pairs, y)
    assert search.best_params_[name] in values
    assert search.best_score_ > 0.7


def test_bounds_are_given_to_the_fit(drinks):
    pairs, y = drinks
    model = ITML(gamma=10.0, max_iter=50).fit(pairs, y, bounds=[4.0, 25.0])
    assert model.bounds_ == (4.0, 25.0)
    near, far = (np.mean(model.pair_distance(pairs[y == sign]) ** 2) for sign in (1, -1))
    assert near < far


def test_triplets_and_quadruplets_learn_an_order(wine):
    X, y = wine
    rng = np.random.default_rng(3)
    a, b, c, e = rng.integers(len(X), size=(4, 4000))
    right = (y[a] == y[b]) & (y[a] != y[c])
    triplets = X[np.stack([a, b, c], axis=1)[right & (a != b)][:300]]
    both = (y[a] == y[b]) & (y[c] != y[e]) & (a != b)
    quadruplets = X[np.stack([a, b, c, e], axis=1)[both][:300]]
    for tuples in (triplets, quadruplets):
        train, test = train_test_split(tuples, random_state=0)
        model = MetricLearner(2, max_iter=30, random_state=0).fit(train)
        assert set(np.unique(model.predict(test))) <= {-1, 1}
        assert model.score(test) == np.mean(model.predict(test) == 1) == np.mean(model.decision_function(test) > 0)
        plain = tuples_in_order(test)
        assert model.score(test) > plain + 0.03
        assert cross_val_score(MetricLearner(2, max_iter=5, random_state=0), tuples, cv=2).min() > plain


def tuples_in_order(points):
    """Return the share of tuples (m, k, d) that are in order by Euclidean distance."""
    near = np.linalg.norm(points[:, 0] - points[:, 1], axis=1)
    return np.mean(np.linalg.norm(points[:, 2 if points.shape[1] == 4 else 0] - points[:, -1], axis=1) > near)


@pytest.fixture(scope="module")
def sandwich():
    """Return points (54, 2) in six thin layers of nine, and their layers: the nearest point is of another layer."""
    rng = np.random.default_rng(0)
    layers = np.repeat(np.arange(6), 9)
    centres = np.column_stack([np.tile(np.arange(9.0), 6), 0.7 * layers])
    return centres + 0.1 * rng.standard_normal((54, 2)), layers


def share_of_right_neighbours(X, y):
    """Return the share of points (n, r) whose nearest other point is of the same class."""
    D = pairwise_distances(X)
    np.fill_diagonal(D, np.inf)
    return np.mean(y[D.argmin(axis=1)] == y)


@pytest.mark.parametrize("learner", [MetricLearner(random_state=0), *SUPERVISED[1:]], ids=class_name)
def test_layers_of_a_sandwich_are_told_apart(learner, sandwich):
    X, y = sandwich
    plain = share_of_right_neighbours(X, y)
    assert plain < 0.3
    assert share_of_right_neighbours(clone(learner).fit_transform(X, y), y) > plain + 0.3


def test_layers_of_a_sandwich_are_told_apart_by_quadruplets_with_weights(sandwich):
    X, y = sandwich
    rng = np.random.default_rng(1)
    a, b, c, e = rng.integers(54, size=(4, 6000))
    right = (y[a] == y[b]) & (y[c] != y[e]) & (a != b)
    quadruplets = np.stack([a, b, c, e], axis=1)[right][:400]
    wrong = quadruplets[:300, [2, 3, 0, 1]]
    given, weight = np.concatenate([quadruplets, wrong]), np.repeat([1.0, 0.05], [400, 300])
    learner = MetricLearner(max_iter=100, random_state=0, preprocessor=X)
    learned = clone(learner).fit(given, sample_weight=weight)
    assert share_of_right_neighbours(learned.transform(X), y) > share_of_right_neighbours(X, y) + 0.3
    misled = clone(learner).fit(given)
    assert learned.score(quadruplets) > misled.score(quadruplets)
    without = clone(learner).fit(given, sample_weight=weight > 0.5)
    np.testing.assert_allclose(without.components_, clone(learner).fit(quadruplets).components_, atol=1e-8)


def test_numbers_are_predicted_from_neighbours_in_a_learned_distance():
    """As metric-learn's kernel regression does: five of ten features matter."""
    X, y = make_friedman1(300, random_state=0)
    X = StandardScaler().fit_transform(X)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = MetricLearner(3, random_state=0).fit_targets(train, y_train)
    assert model.transform(test).shape == (75, 3)
    plain = KNeighborsRegressor(5).fit(train, y_train).score(test, y_test)
    learned = KNeighborsRegressor(5).fit(model.transform(train), y_train).score(model.transform(test), y_test)
    assert learned > plain + 0.15
    W = np.diag(model.get_mahalanobis_matrix())
    assert W[:4].min() > 3 * W[5:].max()


def test_a_preprocessor_stands_for_the_points(wine):
    X, y = wine
    rng = np.random.default_rng(0)
    pairs = rng.permutation(len(X))[:160].reshape(80, 2)
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    model = MetricLearner(max_iter=20, random_state=0, preprocessor=X).fit(pairs, signs)
    np.testing.assert_allclose(model.pair_distance(pairs), model.pair_distance(X[pairs]))
    np.testing.assert_array_equal(model.predict(pairs), model.predict(X[pairs]))
    assert model.score(pairs, signs) == pytest.approx(model.score(X[pairs], signs))
    assert model.calibrate_threshold(pairs, signs).threshold_ == pytest.approx(
        model.calibrate_threshold(X[pairs], signs).threshold_
    )
    np.testing.assert_allclose(model.transform(np.arange(5)), model.transform(X[:5]))
    assert len(model.transform(X)) == len(X)


@pytest.mark.parametrize("learner", [*SUPERVISED, LEGO(), POLA()], ids=class_name)
def test_the_distance_is_a_pseudo_metric(learner):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)[::5]
    metric = clone(learner).fit(X, y[::5]).get_metric()
    D = pairwise_distances(X, metric=metric)
    np.testing.assert_allclose(D, D.T)
    assert (D >= 0).all()
    np.testing.assert_array_equal(np.diag(D), 0)
    assert (D[:, :, None] <= D[:, None, :] + D.T[None] + 1e-9).all()
