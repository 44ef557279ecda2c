import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import MetricLearner
from gramian.geometries import Polar
from gramian.losses import Squared
from gramian.supervision import SUPERVISIONS, labelled_pairs, nearest_triplets

# A sample of weight 2 is an anchor that counts twice; a row that is repeated is also a neighbour of itself.
NOT_REPEATS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weights are of anchors, a repeated row is a neighbour too"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [MetricLearner(), MetricLearner(1, constraints="pairs")], expected_failed_checks=lambda _: NOT_REPEATS
)
def test_estimator_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def neighbour_error(learner, X, y):
    steps = [StandardScaler(), KNeighborsClassifier(5)]
    if learner is not None:
        steps.insert(1, learner)
    return 1 - cross_val_score(make_pipeline(*steps), X, y, cv=5).mean()


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_neighbours_get_no_worse(load):
    X, y = load(return_X_y=True)
    # One sample of 150 is an error of 0.007.
    assert neighbour_error(MetricLearner(random_state=0), X, y) <= neighbour_error(None, X, y) + 0.008
    assert neighbour_error(MetricLearner(2, random_state=0), X, y) <= neighbour_error(None, X, y) + 0.02


def test_few_pairs_do_not_overfit():
    X, y = load_breast_cancer(return_X_y=True)
    pairs = MetricLearner(constraints="pairs", random_state=0)
    assert neighbour_error(pairs, X, y) <= neighbour_error(None, X, y) + 0.005
    # Without the penalty on the change from the identity, 80 pairs on 30 features overfit.
    free = clone(pairs).set_params(regularisation=0.0, shrinkage=0.0, tol=1e-3, max_iter=5000)
    assert neighbour_error(free, X, y) > neighbour_error(pairs, X, y) + 0.02


def test_low_rank_beats_principal_components():
    data, labels = load_digits(return_X_y=True)
    scores = []
    for seed in range(4):
        some = np.random.default_rng(seed).permutation(len(data))[:900]
        X, y = data[some], labels[some]
        learned = MetricLearner(5, random_state=0).fit(X[:600], y[:600])
        centred = X[:600] - X[:600].mean(axis=0)
        principal = np.linalg.svd(centred, full_matrices=False)[2][:5].T
        scores.append(
            [
                KNeighborsClassifier(5).fit(Z[:600], y[:600]).score(Z[600:], y[600:])
                for Z in (learned.transform(X), X @ principal)
            ]
        )
    ours, principal_score = np.mean(scores, axis=0)
    assert ours > principal_score + 0.02


@pytest.mark.parametrize("geometry", ["scaled", "flat", "polar", "affine", "log-euclidean"])
@pytest.mark.parametrize("constraints", ["triplets", "pairs"])
def test_every_geometry_learns(geometry, constraints, wine):
    X, y = wine
    full = geometry in ("affine", "log-euclidean")
    model = MetricLearner(None if full else 3, geometry=geometry, constraints=constraints, random_state=0).fit(X, y)
    assert model.history_["cost"][-1] < model.history_["cost"][0]
    assert model.components_.shape == (13 if full else 3, 13)


def test_learned_distances_are_pseudo_metrics(wine):
    X, y = wine
    for r in (None, 2):
        model = MetricLearner(r, random_state=0).fit(X, y)
        metric = model.get_metric()
        u, v, w = X[:3]
        assert metric(u, u) == 0
        assert metric(u, v) == pytest.approx(metric(v, u))
        assert metric(u, v) >= 0
        assert metric(u, w) <= metric(u, v) + metric(v, w) + 1e-12
        assert metric(u, v, squared=True) == pytest.approx(metric(u, v) ** 2)
        W = model.get_mahalanobis_matrix()
        np.testing.assert_allclose((u - v) @ W @ (u - v), metric(u, v) ** 2)
        Z = model.transform(X)
        assert np.linalg.norm(Z[0] - Z[1]) == pytest.approx(metric(u, v))
        pairs = np.array([[0, 1], [1, 2]])
        np.testing.assert_allclose(model.pair_distance(X[pairs]), model.pair_distance(X, pairs))
        np.testing.assert_allclose(model.pair_score(X[pairs]), -model.pair_distance(X[pairs]))
        assert np.linalg.eigvalsh(W).min() > -1e-9 * np.linalg.eigvalsh(W).max()


def test_pairs_with_targets_are_met(rng):
    X = rng.standard_normal((200, 6))
    truth = rng.standard_normal((6, 2))
    pairs = rng.integers(200, size=(1500, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    target = np.sum(((X[pairs[:, 0]] - X[pairs[:, 1]]) @ truth) ** 2, axis=1)
    model = MetricLearner(2, regularisation=0.0, tol=1e-12, random_state=0).fit_pairs(
        X, pairs, target=target, sense="equal"
    )
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), truth @ truth.T, atol=1e-4)
    points = MetricLearner(2, regularisation=0.0, tol=1e-12, random_state=0).fit_pairs(X[pairs], target=target, sense=0)
    np.testing.assert_allclose(points.get_mahalanobis_matrix(), truth @ truth.T, atol=1e-4)


def test_signed_pairs_give_a_threshold(wine):
    X, y = wine
    pairs, same = labelled_pairs(y, 600, balanced=True, random_state=0)
    sign = np.where(same, 1, -1)
    model = MetricLearner(random_state=0).fit_pairs(X, pairs, y=sign)
    assert np.mean(model.predict(X, pairs) == sign) > 0.9
    np.testing.assert_array_equal(model.predict(X[pairs]), model.predict(X, pairs))
    assert (model.set_threshold(0.0).predict(X, pairs) == -1).all()
    assert (model.set_threshold(np.inf).predict(X, pairs) == 1).all()
    model.calibrate_threshold(X, pairs, sign, strategy="balanced")
    np.testing.assert_array_equal(model.decision_function(X, pairs) >= 0, model.predict(X, pairs) > 0)
    assert np.mean(model.predict(X, pairs) == sign) > 0.9
    with pytest.raises(AttributeError, match="has no attribute 'predict'"):
        MetricLearner(random_state=0).fit(X, y).predict(X, pairs)


def test_triplets_are_met(wine):
    X, y = wine
    triplets = nearest_triplets(X, y)
    model = MetricLearner(random_state=0, max_iter=1000).fit_triplets(X, triplets)
    a, near, far = (model.transform(X)[triplets[:, k]] for k in range(3))
    wrong = np.mean(np.sum((a - far) ** 2, axis=1) < np.sum((a - near) ** 2, axis=1))
    a, near, far = (X[triplets[:, k]] for k in range(3))
    assert wrong < 0.5 * np.mean(np.sum((a - far) ** 2, axis=1) < np.sum((a - near) ** 2, axis=1))


def test_streams_move_less_and_less(wine, rng):
    X, y = wine
    order = rng.permutation(len(X))
    model = MetricLearner(3, random_state=0)
    moves = []
    for part in np.array_split(order, 5):
        before = model.get_mahalanobis_matrix() if hasattr(model, "components_") else None
        model.partial_fit(X[part], y[part])
        if before is not None:
            moves.append(np.linalg.norm(model.get_mahalanobis_matrix() - before) / np.linalg.norm(before))
    assert model.n_seen_ == len(X)
    assert 0 < moves[-1] < moves[0]
    triplets = nearest_triplets(X, y)
    assert MetricLearner(2).partial_fit_triplets(X, triplets).partial_fit_triplets(X, triplets).n_seen_ == 2 * len(
        triplets
    )
    pairs = np.array([[0, 1], [2, 100]])
    stream = MetricLearner(2).partial_fit_pairs(X, pairs, target=[1.0, 9.0], sense=[-1, 1])
    assert stream.partial_fit_pairs(X, pairs, target=[1.0, 9.0], sense=[-1, 1]).components_.shape == (2, 13)


def test_few_samples_are_solved_in_their_span(rng):
    """The result equals that of samples rotated explicitly into their span."""
    labels = np.repeat([0, 1], 10)
    X = rng.standard_normal((20, 60)) + labels[:, None] * rng.standard_normal(60)
    model = MetricLearner(3, random_state=0).fit(X, labels)
    assert model.components_.shape == (3, 60)
    centred = X - X.mean(axis=0)
    basis = np.linalg.svd(centred, full_matrices=False)[2][:19].T
    np.testing.assert_allclose(model.components_ @ basis @ basis.T, model.components_, atol=1e-9)
    inside = MetricLearner(3, random_state=0).fit(centred @ basis, labels)
    np.testing.assert_allclose(
        basis @ inside.get_mahalanobis_matrix() @ basis.T, model.get_mahalanobis_matrix(), atol=1e-5
    )
    assert MetricLearner(random_state=0).fit(X, labels).components_.shape == (19, 60)


def test_sparse_data_is_not_made_dense(rng):
    labels = rng.integers(3, size=150)
    X = scipy.sparse.csr_array(scipy.sparse.random(150, 3000, 0.02, "csr", None, rng))
    X = X + scipy.sparse.csr_array((labels[:, None] == np.arange(3)).astype(float) @ (rng.random((3, 3000)) < 0.01))
    model = MetricLearner(4, random_state=0).fit(X, labels)
    assert model.transform(X).shape == (150, 4)
    Z = model.transform(X)
    assert KNeighborsClassifier(3).fit(Z, labels).score(Z, labels) > 0.9


def test_float32_in_float32_out(wine):
    X, y = wine
    model = MetricLearner(3, random_state=0).fit(X.astype(np.float32), y)
    assert model.components_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32


def test_a_large_mean_does_not_matter(wine):
    X, y = wine
    plain = MetricLearner(3, random_state=0).fit(X, y)
    shifted = MetricLearner(3, random_state=0).fit(X + 1e5, y)
    np.testing.assert_allclose(shifted.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix(), rtol=1e-3, atol=1e-5)


def test_bounds_are_those_of_the_paper(wine):
    """The bounds l and u are the 5th and 95th percentiles of the squared distances under the identity."""
    X, y = wine
    pairs, same = labelled_pairs(y, 500, random_state=0)
    model = MetricLearner(regularisation=0.0, geometry=Polar()).fit_pairs(X, pairs, y=np.where(same, 1, -1))
    euclid = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    np.testing.assert_allclose(model.bounds_, np.percentile(euclid, [5, 95]))
    squared = model.pair_distance(X, pairs) ** 2
    near, far = model.bounds_
    violation = np.where(same, np.maximum(squared - near, 0), np.maximum(far - squared, 0))
    before = np.where(same, np.maximum(euclid - near, 0), np.maximum(far - euclid, 0))
    assert np.mean(violation**2) < 0.5 * np.mean(before**2)


@pytest.mark.parametrize("solver", ["gd", "lbfgs", "trust-region", "online"])
def test_other_solvers(solver, wine):
    X, y = wine
    model = MetricLearner(3, solver=solver, constraints="pairs", random_state=0).fit(X, y)
    assert model.history_["cost"][-1] < model.history_["cost"][0]


def test_lives_in_searches_pickles_and_names_its_features(wine):
    X, y = wine
    pipeline = make_pipeline(MetricLearner(random_state=0), KNeighborsClassifier(5))
    search = GridSearchCV(pipeline, {"metriclearner__n_components": [1, 3]}, cv=3).fit(X, y)
    assert search.best_params_["metriclearner__n_components"] == 3
    model = MetricLearner(2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    assert list(model.get_feature_names_out()) == ["metriclearner0", "metriclearner1"]
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == ["metriclearner0", "metriclearner1"]
    pairs = np.array([[0, 1]])
    assert model.pair_distance(X, pairs) == pytest.approx(model.pair_distance(X[pairs]))
    metric = pickle.loads(pickle.dumps(model.get_metric()))
    assert metric(X[0], X[1]) == pytest.approx(model.pair_distance(X, pairs)[0])


BAD = {
    "one class": (lambda m, X, y: m.fit(X, np.zeros(len(X), int)), "y has one class only"),
    "classes of one sample": (lambda m, X, y: m.fit(X[:3], [0, 1, 2]), "a single sample in every class"),
    "too many components": (
        lambda m, X, y: m.set_params(n_components=14).fit(X, y),
        "n_components=14 exceeds n_features=13",
    ),
    "unknown constraints": (lambda m, X, y: m.set_params(constraints="all").fit(X, y), "constraints='all' is unknown"),
    "unknown init": (lambda m, X, y: m.set_params(init="lucky").fit(X, y), "init='lucky' is unknown"),
    "lda without labels": (
        lambda m, X, y: m.set_params(init="lda").fit_triplets(X, [[0, 1, 2]]),
        "init='lda' needs class labels",
    ),
    "low rank in a cone": (
        lambda m, X, y: m.set_params(n_components=2, geometry="affine").fit(X, y),
        "learns full-rank distances",
    ),
    "self pair": (
        lambda m, X, y: m.fit_pairs(X, [[4, 4]], target=1.0, sense=-1),
        r"pairs\[0\] = \(4, 4\) joins a sample to itself",
    ),
    "index out of range": (
        lambda m, X, y: m.fit_pairs(X, [[0, 999]], target=1.0, sense=-1),
        r"pairs\[0\] = \(0, 999\) is out of range",
    ),
    "no pairs": (lambda m, X, y: m.fit_pairs(X, np.empty((0, 2), int), target=1.0, sense=-1), "pairs is empty"),
    "contradiction": (
        lambda m, X, y: m.fit_pairs(X, [[0, 1], [1, 0]], target=[1.0, 4.0], sense=[-1, 1]),
        r"pairs\[0\] = \(0, 1\) is contradicted .*at most 1, against at least 4\. Give each pair once",
    ),
    "negative target": (lambda m, X, y: m.fit_pairs(X, [[0, 1]], target=-1.0, sense=-1), r"target\[0\] = -1.0"),
    "no target": (lambda m, X, y: m.fit_pairs(X, [[0, 1]]), "target is missing"),
    "signs": (lambda m, X, y: m.fit_pairs(X, [[0, 1], [0, 2]], y=[2, 1]), r"y must be \+1 \(same\) or -1"),
    "signs of one kind": (lambda m, X, y: m.fit_pairs(X, [[0, 1], [0, 2]], y=[1, 1]), "Give pairs of both kinds"),
    "triplet": (lambda m, X, y: m.fit_triplets(X, [[0, 1, 1]]), r"triplets\[0\] = \(0, 1, 1\) names a sample twice"),
    "points": (lambda m, X, y: m.fit_pairs(X, target=1.0), r"expected pairs of points \(m, 2, d\)"),
    "numbers": (
        lambda m, X, y: m.fit(X, X[:, 0]),
        r"Unknown label type: continuous.*use MetricLearner\(\)\.fit_targets\(X, y\)",
    ),
    "no labels": (lambda m, X, y: m.fit(X, None), "requires y to be passed"),
    "more components than samples": (
        lambda m, X, y: m.set_params(n_components=10).fit(X[:6], [0, 0, 0, 1, 1, 1]),
        "n_components=10 exceeds the 5 directions that 6 samples span",
    ),
    "a geometry without a scale": (lambda m, X, y: m.set_params(geometry="grassmann").fit(X, y), "has no scale"),
    "points and pairs": (lambda m, X, y: m.fit_pairs(X[[[0, 1]]], [[0, 1]], [1]), "`pairs` must not be given"),
    "signs and targets": (
        lambda m, X, y: m.fit_pairs(X, [[0, 1], [0, 2]], [1, -1], target=1.0),
        "Give one or the other",
    ),
    "full rank in many dimensions": (
        lambda m, X, y: m.fit(scipy.sparse.csr_array((178, 6000)), y),
        "n_components=None would learn a 6000 x 6000 matrix",
    ),
    "regularisation": (lambda m, X, y: m.set_params(regularisation=-1).fit(X, y), "regularisation=-1 is not valid"),
    "rounds": (lambda m, X, y: m.set_params(n_rounds=0).fit(X, y), "n_rounds=0 is not valid"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_lost(case, wine):
    X, y = wine
    act, message = BAD[case]
    model = MetricLearner(random_state=0)
    with pytest.raises(ValueError, match=message):
        act(model, X, y)
    assert not hasattr(model, "components_")
    assert not hasattr(model, "n_features_in_")


def test_constant_features_and_duplicates_do_no_harm(wine):
    X, y = wine
    X = np.column_stack([X, np.ones(len(X)), X[:, 0]])
    X = np.concatenate([X, X[:20]])
    y = np.concatenate([y, y[:20]])
    for r in (None, 3):
        model = MetricLearner(r, random_state=0).fit(X, y)
        assert np.isfinite(model.components_).all()


def learn_matrix(X, y, **settings):
    learner = MetricLearner(constraints="triplets", random_state=0, **settings)
    return learner.fit(X, y).get_mahalanobis_matrix()


def test_penalties_have_their_documented_effects(wine):
    X, y = wine
    start = learn_matrix(X, y, regularisation=1e6)
    np.testing.assert_allclose(start, start[0, 0] * np.eye(13), atol=1e-3 * start[0, 0])
    moved = [np.linalg.norm(learn_matrix(X, y, regularisation=weight) - start) for weight in (0.01, 1.0)]
    assert moved[1] < moved[0]
    assert np.trace(learn_matrix(X, y, shrinkage=1.0)) < 0.9 * np.trace(learn_matrix(X, y, shrinkage=0.0))
    a, near = nearest_triplets(X, y)[:, :2].T
    mean = [
        np.mean(np.einsum("ni,ij,nj->n", X[a] - X[near], W, X[a] - X[near]))
        for W in (learn_matrix(X, y, pull=0.0), learn_matrix(X, y, pull=1.0))
    ]
    assert mean[1] < 0.9 * mean[0]


def test_weights_of_pairs_count(wine):
    X, _ = wine
    pairs = np.array([[0, 1], [0, 100]])
    heavy = MetricLearner(regularisation=0.5).fit_pairs(
        X, pairs, target=[0.0, 0.0], sense=[0, 0], sample_weight=[1.0, 0.0]
    )
    alone = MetricLearner(regularisation=0.5).fit_pairs(X, pairs[:1], target=[0.0], sense=[0])
    np.testing.assert_allclose(heavy.get_mahalanobis_matrix(), alone.get_mahalanobis_matrix(), atol=1e-6)


def test_balanced_pairs_change_the_bounds(wine):
    X, y = wine
    bounds = [
        MetricLearner(constraints="pairs", n_constraints=2000, balanced=b, random_state=0).fit(X, y).bounds_
        for b in (False, True)
    ]
    # Half of the pairs are within classes, instead of a third, so that more of them are near.
    assert bounds[1][0] < bounds[0][0]


def test_a_given_start_is_the_start(wine):
    X, y = wine
    start = np.eye(13, 3)
    W = learn_matrix(X, y, n_components=3, init=start, regularisation=1e6)
    np.testing.assert_allclose(W / W[0, 0], start @ start.T, atol=1e-3)


def test_thresholds_lie_between_distances():
    model = MetricLearner(regularisation=0.0)
    X = np.array([[0.0], [1.0], [3.0], [10.0]])
    model.fit(X, [0, 0, 1, 1])
    pairs, sign = np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), np.array([1, 1, -1, -1])
    model.calibrate_threshold(X, pairs, sign)
    np.testing.assert_array_equal(model.predict(X, pairs), sign)
    d = np.sort(model.pair_distance(X, pairs))
    assert model.threshold_ == pytest.approx((d[1] + d[2]) / 2)
    lopsided = np.array([[0, 1], [0, 2], [0, 3], [1, 3], [1, 2]])
    truth = np.array([-1, 1, -1, -1, -1])
    assert (model.calibrate_threshold(X, lopsided, truth).predict(X, lopsided) == -1).all()
    assert (model.calibrate_threshold(X, lopsided, truth, strategy="balanced").predict(X, lopsided) == 1).any()


def test_a_new_fit_forgets_the_threshold(wine):
    X, y = wine
    pairs, same = labelled_pairs(y, 200, balanced=True, random_state=0)
    model = MetricLearner(2, random_state=0).fit_pairs(X, pairs, y=np.where(same, 1, -1))
    assert hasattr(model, "predict")
    model.fit(X, y)
    assert not hasattr(model, "threshold_")
    assert not hasattr(model, "bounds_")


def test_streams_learn_from_their_labels(wine, rng):
    X, y = wine
    first, rest = np.arange(0, 178, 6), np.setdiff1d(np.arange(178), np.arange(0, 178, 6))
    scores = []
    for labels in (y[rest], rng.permutation(y[rest])):
        model = MetricLearner(4, random_state=0).partial_fit(X[first], y[first])
        for part in np.array_split(rng.permutation(len(rest)), 4):
            model.partial_fit(X[rest][part], labels[part])
        triplets = nearest_triplets(X, y)
        a, near, far = (model.transform(X)[triplets[:, k]] for k in range(3))
        scores.append(np.mean(np.sum((a - far) ** 2, axis=1) > np.sum((a - near) ** 2, axis=1)))
    # The penalty and the labels of the first call keep even the second metric useful.
    assert scores[0] > scores[1] + 0.005


def test_streams_refuse_another_rank_and_check_settings(wine):
    X, y = wine
    model = MetricLearner(2, random_state=0).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"n_components=5, but the stream has 2"):
        model.set_params(n_components=5).partial_fit(X, y)
    with pytest.raises(ValueError, match="solver='nonsense' is unknown"):
        model.set_params(n_components=2, solver="nonsense").partial_fit(X, y)


def test_few_pairs_leave_other_directions_unchanged(wine):
    """Outside the span of few pairs of points, the distance stays Euclidean."""
    X, y = wine
    pairs, same = labelled_pairs(y, 3, balanced=True, random_state=0)
    points = MetricLearner().fit_pairs(X[pairs], y=np.where(same, 1, -1))
    index = MetricLearner().fit_pairs(X, pairs, y=np.where(same, 1, -1))
    assert points.components_.shape == (13, 13)
    np.testing.assert_allclose(points.get_mahalanobis_matrix(), index.get_mahalanobis_matrix(), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("unit", [1e-12, 1e4, 1e12])
def test_units_do_not_matter(unit, dtype, wine):
    X, y = wine
    plain = MetricLearner(3, random_state=0).fit(X.astype(dtype), y)
    other = MetricLearner(3, random_state=0).fit((unit * X).astype(dtype), y)
    Z, Y = plain.transform(X.astype(dtype)), other.transform((unit * X).astype(dtype))
    Z, Y = (KNeighborsClassifier(5).fit(M, y).score(M, y) for M in (Z / np.abs(Z).max(), Y / np.abs(Y).max()))
    assert pytest.approx(Z, abs=0.02) == Y
    assert other.n_iter_ > 10


def test_callbacks_see_one_run_and_stop_it_whole(wine):
    X, y = wine
    seen = []
    MetricLearner(3, random_state=0, callback=seen.append).fit(X, y)
    assert [r.iteration for r in seen] == list(range(len(seen)))
    stopped = MetricLearner(3, random_state=0, callback=lambda r: r.iteration == 2).fit(X, y)
    assert stopped.n_iter_ == 2
    assert not stopped.converged_


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_classes_without_spread_do_no_harm(dtype, wine):
    X, _ = wine
    copies = np.repeat(X[[0, 80, 170]], 10, axis=0).astype(dtype)
    model = MetricLearner(2, random_state=0).fit(copies, np.repeat([0, 1, 2], 10))
    assert np.isfinite(model.components_).all()


def test_rare_classes_still_give_pairs(wine):
    X, _ = wine
    rare = np.zeros(178, int)
    rare[:2] = 1
    for seed in range(10):
        MetricLearner(constraints="pairs", random_state=seed).fit(X, rare)


def test_string_labels_and_frames(wine):
    X, y = wine
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(13)])
    model = MetricLearner(2, constraints="triplets", random_state=0).fit(frame, np.array(["a", "b", "c"])[y])
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), learn_matrix(X, y, n_components=2), atol=1e-8)


def test_a_stream_does_not_go_on_from_a_zero_distance(wine):
    X, y = wine
    model = MetricLearner(2, constraints="triplets", random_state=0).partial_fit(X, y)
    model.factor_ = 0 * model.factor_
    with pytest.raises(ValueError, match="the present distance is zero"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_start_of_ones_own_on_wide_data(sparse, rng):
    X, y = rng.standard_normal((90, 200)), np.arange(90) % 3
    X[:, :3] += 3 * np.eye(3)[y]
    start = rng.standard_normal((200, 2))
    given = scipy.sparse.csr_array(X) if sparse else X
    model = MetricLearner(2, init=start, random_state=0).fit(given, y)
    assert model.choice_.errors
    assert model.components_.shape == (2, 200)


def test_a_named_start_is_tried_once():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    named = MetricLearner(init="pca", random_state=0).fit(X, y).choice_.errors
    assert not [name for name in named if "discriminants" in name]
    free = MetricLearner(random_state=0).fit(X, y).choice_.errors
    assert [name for name in free if "discriminants" in name]


@pytest.mark.parametrize("loss", ["huber", "logistic", "hinge"])
def test_other_losses_of_pairs_and_triplets(loss, rng):
    X = rng.standard_normal((120, 4))
    near = np.abs(X[:, None, 0] - X[:, 0]) < 0.3
    pairs = rng.integers(120, size=(600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    y = np.where(near[pairs[:, 0], pairs[:, 1]], 1, -1)
    by_pairs = MetricLearner(2, loss=loss, random_state=0).fit_pairs(X, pairs, y)
    by_labels = MetricLearner(2, loss=loss, constraints="triplets", random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    for model in (by_pairs, by_labels):
        assert model.history_["cost"][-1] < model.history_["cost"][0]
        W = model.get_mahalanobis_matrix()
        assert W[0, 0] > 3 * np.diag(W)[1:].max()
    # The units of X do not matter.
    scaled = MetricLearner(2, loss=loss, random_state=0).fit_pairs(X * 2.0**12, pairs, y)
    np.testing.assert_allclose(scaled.components_, by_pairs.components_, rtol=1e-6, atol=1e-8)


def test_outliers_count_less_with_huber(rng):
    X = rng.standard_normal((200, 5))
    pairs = rng.integers(200, size=(2000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    truth = np.diag([4.0, 1.0, 0.2, 0.2, 0.2])
    difference = X[pairs[:, 0]] - X[pairs[:, 1]]
    target = np.einsum("ij,jk,ik->i", difference, truth, difference)
    target[::20] *= 30
    errors = {}
    for loss in ("squared", "huber"):
        model = MetricLearner(loss=loss, regularisation=0, max_iter=2000, random_state=0)
        W = model.fit_pairs(X, pairs, target=target, sense="equal").get_mahalanobis_matrix()
        errors[loss] = np.linalg.norm(W - truth)
    assert errors["huber"] < 0.5 * errors["squared"]


def test_a_loss_without_a_least_value_is_refused(rng):
    with pytest.raises(ValueError, match="loss='linear' has no lower bound"):
        MetricLearner(1, loss="linear").fit_triplets(rng.standard_normal((5, 2)), [[0, 1, 2]])


def test_a_loss_that_would_be_ignored_is_refused(rng):
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    message = "loss='logistic' has no effect on {!r}, which has an objective of its own"
    for constraints in ("neighbourhoods", "start"):
        with pytest.raises(ValueError, match=message.format(constraints)):
            MetricLearner(1, loss="logistic", constraints=constraints).fit(X, y)
        MetricLearner(1, loss=Squared(), constraints=constraints).fit(X, y)
    with pytest.raises(ValueError, match=message.format("targets")):
        MetricLearner(1, loss="logistic").fit_targets(X, X[:, 0])
    assert {name for name, kind in SUPERVISIONS.items() if not kind.uses_loss} == {"neighbourhoods", "start", "targets"}
