"""Tuples of points and of indices, for fits and judgements, in searches and cross-validation, and their refusals."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from gramian import MetricLearner
from gramian.baselines import ITML, LEGO
from gramian.supervision import labelled_pairs, nearest_triplets

FITS = {2: "fit_pairs", 3: "fit_triplets", 4: "fit_quadruplets"}
SIZES = tuple(FITS)

pytestmark = pytest.mark.filterwarnings("ignore:not converged")


def make_learner(**params):
    return MetricLearner(2, max_iter=10, random_state=0, **params)


@pytest.fixture
def samples(rng):
    """Return samples (60, 4), of which the first two features tell three classes apart, and labels."""
    labels = np.repeat([0, 1, 2], 20)
    X = rng.standard_normal((60, 4))
    X[:, :2] += 3 * np.array([[0, 0], [1, 0], [0, 1]])[labels]
    return X, labels


def draw_tuples(X, labels, size):
    """Return index tuples (m, size), and signs for pairs, else None."""
    if size == 2:
        pairs, same = labelled_pairs(labels, 150, balanced=True, random_state=1)
        return pairs, np.where(same, 1, -1)
    triplets = nearest_triplets(X, labels, n_targets=1, n_impostors=2)
    return (triplets if size == 3 else triplets[:, [0, 1, 0, 2]]), None


def explicit_decision(model, points):
    """Return the decision function of tuples of points (m, k, d), from transformed points."""
    Z = np.stack([model.transform(points[:, i]) for i in range(points.shape[1])], axis=1)
    near = np.linalg.norm(Z[:, 0] - Z[:, 1], axis=1)
    if points.shape[1] == 2:
        return model.threshold_ - near
    return np.linalg.norm(Z[:, -2 if points.shape[1] == 4 else 0] - Z[:, -1], axis=1) - near


@pytest.mark.parametrize("size", SIZES)
def test_fit_of_points_is_the_method_of_the_kind(size, samples):
    X, labels = samples
    tuples, y = draw_tuples(X, labels, size)
    signs = () if y is None else (y,)
    by_fit = make_learner().fit(X[tuples], *signs)
    by_name = getattr(make_learner(), FITS[size])(X[tuples], *signs)
    np.testing.assert_array_equal(by_fit.components_, by_name.components_)
    assert by_fit.n_seen_ == len(tuples)
    as_lists = make_learner().fit(X[tuples].tolist(), *(part.tolist() for part in signs))
    np.testing.assert_array_equal(as_lists.components_, by_fit.components_)
    streamed = make_learner().partial_fit(X[tuples], *signs).partial_fit(X[tuples], *signs)
    assert streamed.n_seen_ == 2 * len(tuples)
    half = np.arange(len(tuples)) % 2 + 1.0
    weighted = make_learner().fit(X[tuples], *signs, sample_weight=half)
    assert not np.allclose(weighted.components_, by_fit.components_)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("table", [np.asarray, scipy.sparse.csr_array, pd.DataFrame], ids=["array", "sparse", "frame"])
def test_indices_into_a_preprocessor_are_pairs_of_its_rows(table, size, samples):
    X, labels = samples
    tuples, y = draw_tuples(X, labels, size)
    signs = () if y is None else (y,)
    model = make_learner(preprocessor=table(X) if table is not pd.DataFrame else pd.DataFrame(X, columns=list("abcd")))
    model.fit(tuples, *signs)
    named = getattr(make_learner(), FITS[size])(model.preprocessor, tuples, *signs)
    np.testing.assert_array_equal(model.components_, named.components_)
    np.testing.assert_allclose(model.decision_function(tuples), named.decision_function(X[tuples]), atol=1e-10)
    np.testing.assert_array_equal(model.predict(tuples), named.predict(X[tuples]))
    assert model.score(tuples, *signs) == pytest.approx(named.score(X[tuples], *signs))
    assert model.score(X[tuples], *signs) == pytest.approx(named.score(X[tuples], *signs))
    np.testing.assert_array_equal(make_learner(preprocessor=X).fit(tuples + 0.0, *signs).n_seen_, len(tuples))
    pairs = tuples[:, :2]
    np.testing.assert_allclose(model.pair_distance(pairs), named.pair_distance(X[pairs]), atol=1e-10)
    np.testing.assert_array_equal(model.pair_score(pairs), -model.pair_distance(pairs))


def test_a_vector_of_indices_takes_labelled_samples_of_the_preprocessor(samples):
    X, labels = samples
    rows = np.arange(0, 60, 2)
    wanted = make_learner(constraints="triplets").fit(X[rows], labels[rows]).components_
    for table in (X, scipy.sparse.coo_array(X), pd.DataFrame(X)):
        model = make_learner(constraints="triplets", preprocessor=table).fit(rows, labels[rows])
        np.testing.assert_allclose(model.components_, wanted, atol=1e-10)
    with pytest.raises(ValueError, match=r"X\[0\] = 99 is out of range: preprocessor has 60 samples"):
        make_learner(preprocessor=X).fit([99, 1], [0, 1])


@pytest.mark.parametrize("size", SIZES)
def test_judgements_are_those_of_the_distances(size, samples):
    X, labels = samples
    tuples, y = draw_tuples(X, labels, size)
    model = make_learner().fit(X[tuples], y)
    decision = explicit_decision(model, X[tuples])
    np.testing.assert_allclose(model.decision_function(X[tuples]), decision, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X, tuples), decision, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X[tuples]), np.where(decision >= 0, 1, -1))
    wanted = roc_auc_score(y, decision) if size == 2 else np.mean(decision > 0)
    assert model.score(X[tuples], y) == pytest.approx(wanted)
    assert wanted > 0.8
    if size > 2:
        assert model.tuple_size_ == size
        reverse = tuples[:, [0, 2, 1] if size == 3 else [2, 3, 0, 1]]
        assert model.score(X[reverse]) == pytest.approx(1 - wanted)
        ties = X[np.repeat(tuples[:, :1], size, axis=1)]
        assert (model.predict(ties) == -1).all()
        assert model.score(X[tuples], np.ones(len(tuples))) == pytest.approx(wanted)
        signs = np.where(np.arange(len(tuples)) % 2, 1, -1)
        mixed = np.where(signs[:, None] > 0, tuples, reverse)
        assert model.score(X[mixed], signs) == model.score(X, mixed, signs) == pytest.approx(wanted)
        assert model.score(ties, signs) == np.mean(signs == -1)
        with pytest.raises(ValueError, match=r"y must be \+1, or -1 where near and far are exchanged"):
            model.score(X[tuples], np.zeros(len(tuples)))
        with pytest.raises(AttributeError, match="no threshold is set"):
            model.predict(X[tuples[:, :2]])
        assert (model.set_threshold(1e9).predict(X[tuples[:, :2]]) == 1).all()
        assert not hasattr(model.fit(X, labels), "tuple_size_")
        assert not hasattr(model, "predict")


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("by_index", [False, True], ids=["points", "indices"])
def test_signs_exchange_near_and_far(size, by_index, samples):
    X, labels = samples
    tuples, _ = draw_tuples(X, labels, size)
    tuples = np.random.default_rng(0).permutation(tuples)
    signs = np.where(np.arange(len(tuples)) % 2, 1, -1)
    mixed = np.where(signs[:, None] > 0, tuples, tuples[:, [0, 2, 1] if size == 3 else [2, 3, 0, 1]])
    right, given = (tuples, mixed) if by_index else (X[tuples], X[mixed])
    learner = make_learner(preprocessor=X if by_index else None)
    model, wanted = clone(learner).fit(given, signs), clone(learner).fit(right)
    # The samples of tuples of points come in another order.
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), wanted.get_mahalanobis_matrix(), rtol=1e-5, atol=1e-6)
    stream = clone(learner).partial_fit(given, signs)
    np.testing.assert_allclose(stream.get_mahalanobis_matrix(), wanted.get_mahalanobis_matrix(), rtol=1e-5, atol=1e-6)
    assert is_classifier(model)
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    assert model.score(given, signs) == np.mean(model.predict(given) == signs) > 0.8
    scores = cross_val_score(learner, given, signs, scoring="roc_auc", cv=3, error_score="raise")
    assert scores.min() > 0.8
    search = GridSearchCV(learner, {"regularisation": [0.1, 1.0]}, scoring="roc_auc", cv=2, error_score="raise")
    assert search.fit(given, signs).score(given, signs) == roc_auc_score(signs, search.decision_function(given))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("by_index", [False, True], ids=["points", "indices"])
def test_searches_and_cross_validation_work_on_tuples(size, by_index, samples):
    X, labels = samples
    tuples, y = draw_tuples(X, labels, size)
    shuffled = np.random.default_rng(0).permutation(len(tuples))
    tuples, y = tuples[shuffled], None if y is None else y[shuffled]
    given, table = (tuples, X) if by_index else (X[tuples], None)
    search = GridSearchCV(make_learner(preprocessor=table), {"regularisation": [0.01, 1e4]}, cv=2).fit(given, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_score_ > 0.8
    assert search.score(given, y) == search.best_estimator_.score(given, y)
    assert len(search.predict(given)) == len(given)
    if size == 2:
        model = make_learner(preprocessor=table)
        named, default = (cross_val_score(model, given, y, cv=2, scoring=name) for name in ("roc_auc", None))
        np.testing.assert_allclose(named, default)
        assert (cross_val_score(model, given, y, cv=2, scoring="accuracy") > 0.6).all()


def test_a_learner_with_a_threshold_is_a_classifier_of_pairs(samples):
    X, labels = samples
    pairs, y = draw_tuples(X, labels, 2)
    for learner in (make_learner(), ITML(max_iter=20), LEGO()):
        model = clone(learner)
        assert not is_classifier(model)
        assert not hasattr(model, "classes_")
        model.fit_pairs(X[pairs], y)
        assert is_classifier(model)
        np.testing.assert_array_equal(model.classes_, [-1, 1])
        assert not is_classifier(clone(model))


def test_calibration_parameters_pass_through_fit(samples):
    X, labels = samples
    pairs, y = draw_tuples(X, labels, 2)
    params = {"strategy": "max_tpr", "min_rate": 0.95}
    model = make_learner().fit(X[pairs], y, calibration_params=params)
    assert model.threshold_ == make_learner().fit_pairs(X[pairs], y, calibration_params=params).threshold_
    assert np.mean(model.predict(X[pairs][y < 0]) == -1) >= 0.95
    assert model.threshold_ != make_learner().fit(X[pairs], y).threshold_
    with pytest.raises(ValueError, match="calibration_params is given, but X holds samples"):
        make_learner().fit(X, labels, calibration_params=params)


# Penalties are given, since their defaults are others for signs than for targets.
WITH_BOUNDS = [MetricLearner(max_iter=10, regularisation=0.1, shrinkage=0.0, random_state=0), ITML(), LEGO()]


@pytest.mark.parametrize("learner", WITH_BOUNDS, ids=type)
def test_bounds_are_taken_in_place_of_percentiles(learner, samples):
    X, labels = samples
    pairs, y = draw_tuples(X, labels, 2)
    model = clone(learner).fit_pairs(X, pairs, y, bounds=(1.0, 30.0))
    assert model.bounds_ == (1.0, 30.0)
    assert hasattr(model, "threshold_")
    explicit = clone(learner).fit_pairs(X, pairs, target=np.where(y > 0, 1.0, 30.0), sense=-y)
    np.testing.assert_allclose(model.components_, explicit.components_, atol=1e-8)
    by_labels = clone(learner)
    if isinstance(learner, MetricLearner):
        by_labels.set_params(constraints="pairs")
        assert clone(learner).fit(X[pairs], y, bounds=[1.0, 30.0]).bounds_ == (1.0, 30.0)
        with pytest.raises(ValueError, match="bounds are of pairs, but constraints='auto'"):
            clone(learner).fit(X, labels, bounds=(1.0, 30.0))
    assert by_labels.fit(X, labels, bounds=(1.0, 30.0)).bounds_ == (1.0, 30.0)
    near = pairs[y > 0]
    assert clone(learner).fit_pairs(X, near, np.ones(len(near), int), bounds=(1.0, 30.0)).bounds_ == (1.0, 30.0)
    for bad in ((3.0, 1.0), (-1.0, 2.0), (0.0, 0.0), (1.0,), (np.nan, 1.0)):
        with pytest.raises(ValueError, match=r"bounds=.* is not valid. Give two squared distances"):
            clone(learner).fit_pairs(X, pairs, y, bounds=bad)
    with pytest.raises(ValueError, match="bounds are given without y"):
        clone(learner).fit_pairs(X, pairs, target=1.0, bounds=(1.0, 2.0))


REFUSED = {
    r"requires y to be passed, but the target y is None. X holds samples \(n, d\), for which y is the class labels": (
        lambda m, X, p, y: m.fit(X)
    ),
    "y is missing: X holds pairs. Give .1 .same. or -1": lambda m, X, p, y: m.fit(X[p]),
    "y holds 0 and 1; expected": lambda m, X, p, y: m.fit(X[p], (y + 1) // 2),
    r"y must be \+1, or -1 where near and far are exchanged, for each of the triplets; y\[0\] = 2": (
        lambda m, X, p, y: m.fit(X[p[:, [0, 1, 0]]], 2 + 0 * y)
    ),
    r"y has shape \(3,\); expected \(150,\), one for each of the triplets": (
        lambda m, X, p, y: m.fit(X[p[:, [0, 1, 0]]], [1, 1, 1])
    ),
    "bounds is given, but X holds triplets": lambda m, X, p, y: m.fit(X[p[:, [0, 1, 0]]], bounds=(1, 2)),
    r"X has shape \(150, 5, 4\); expected pairs of points \(m, 2, d\)": lambda m, X, p, y: m.fit(X[p[:, [0] * 5]], y),
    r"X has shape \(60, 1, 4\); expected pairs": lambda m, X, p, y: m.fit(X[:, None], y),
    r"X has shape \(150, 5\), but with a preprocessor X holds tuples of indices into it, 2 \(pairs\), 3": (
        lambda m, X, p, y: m.set_params(preprocessor=X).fit(p[:, [0] * 5], y)
    ),
    r"X holds other numbers than integers \(dtype float64\), but with a preprocessor.* set preprocessor=None": (
        lambda m, X, p, y: m.set_params(preprocessor=X).fit(X, np.repeat([0, 1, 2], 20))
    ),
    r"pairs\[0\] = .* is out of range": lambda m, X, p, y: m.set_params(preprocessor=X).fit(p + 1000, y),
    "preprocessor is a function. Give samples": lambda m, X, p, y: m.set_params(preprocessor=len).fit(p, y),
    r"preprocessor has shape \(3,\); expected samples": (
        lambda m, X, p, y: m.set_params(preprocessor=np.ones(3)).fit(p, y)
    ),
    r"y\[0\] = 0.5. Weights are given as sample_weight=": (
        lambda m, X, p, y: m.fit_triplets(X[p[:, [0, 1, 0]]], np.full(150, 0.5))
    ),
    r"expected triplets of points \(m, 3, d\), or samples with `triplets`": lambda m, X, p, y: m.fit_triplets(X[p]),
    "`pairs` must not be given": lambda m, X, p, y: m.fit_pairs(X[p], p, y),
    "names a sample twice": lambda m, X, p, y: m.set_params(preprocessor=X).fit(p[:, [0, 1, 0]]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_ambiguous_or_wrong_is_refused_and_nothing_is_lost(message, samples):
    X, labels = samples
    pairs, y = draw_tuples(X, labels, 2)
    model = make_learner()
    with pytest.raises(ValueError, match=message):
        REFUSED[message](model, X, pairs, y)
    assert not hasattr(model, "components_")
    assert not hasattr(model, "n_features_in_")


def test_a_learner_that_is_not_fitted_can_be_searched_and_says_that_it_is_not_fitted(samples):
    X, labels = samples
    pairs, y = draw_tuples(X, labels, 2)
    model = make_learner()
    assert hasattr(model, "score")
    for call in (lambda: model.score(X[pairs], y), lambda: model.decision_function(X[pairs]), model.get_metric):
        with pytest.raises(NotFittedError):
            call()
    model.fit(X, labels)
    assert not hasattr(model, "score")
    assert cross_val_score(clone(model), X[pairs], y, cv=2).min() > 0.5
    assert model.set_threshold(1.0).score(X[pairs], y) > 0.5
    with pytest.raises(ValueError, match=r"expected \(m, 2\), sample indices in each row"):
        model.pair_distance(X, [0, 1])


def test_class_weight_weighs_pairs_by_their_sign(rng):
    X, pairs = rng.standard_normal((40, 4)), np.arange(40).reshape(20, 2)
    y = np.where(np.arange(20) < 5, 1, -1)

    def fit(class_weight=None, **options):
        return MetricLearner(2, class_weight=class_weight, max_iter=5, random_state=0).fit_pairs(X, pairs, y, **options)

    plain = fit()
    balanced = fit(sample_weight=np.where(y > 0, 3, 1))
    assert not np.allclose(balanced.factor_, plain.factor_)
    for weight in ("balanced", {1: 3}, {1: 3.0, -1: 1.0}):
        np.testing.assert_allclose(fit(weight).factor_, balanced.factor_, atol=1e-10)
    own = np.linspace(1, 2, 20)
    twice = fit(sample_weight=np.where(y > 0, 3, 1) * own)
    np.testing.assert_allclose(fit({1: 3}, sample_weight=own).factor_, twice.factor_, atol=1e-10)
    stream = MetricLearner(2, class_weight={1: 3}, max_iter=5, random_state=0)
    stream.partial_fit_pairs(X, pairs[:5], y[:5]).partial_fit_pairs(X, pairs[5:], y[5:])
    np.testing.assert_allclose(stream.factor_, balanced.factor_, atol=1e-10)
    assert stream.partial_fit_pairs(X, pairs[:1], y[:1]).n_seen_ == 21
    with pytest.raises(ValueError, match="class_weight has the key 'near'"):
        fit({"near": 1})
    with pytest.raises(ValueError, match="one sign only where sample_weight is above 0"):
        fit({1: 0})


def test_class_weight_is_refused_where_there_are_no_classes(rng):
    X = rng.standard_normal((40, 4))
    learner = MetricLearner(2, class_weight="balanced")
    message = "weighs classes of labels, or signs of pairs, but {} has neither. Give sample_weight"
    with pytest.raises(ValueError, match=message.format("GivenTriplets")):
        learner.fit_triplets(X, [[0, 1, 2]])
    with pytest.raises(ValueError, match=message.format("GivenQuadruplets")):
        learner.fit(X.reshape(10, 4, 4))
    with pytest.raises(ValueError, match=message.format("Targets")):
        learner.fit_targets(X, X[:, 0])
    with pytest.raises(ValueError, match=message.format("GivenPairs")):
        learner.fit_pairs(X, [[0, 1]], target=1.0)


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.float32, float, object])
def test_signs_may_be_of_any_dtype(kind, samples):
    X, labels = samples
    pairs, y = draw_tuples(X, labels, 2)
    plain = make_learner().fit_pairs(X, pairs, y)
    model = make_learner().fit_pairs(X, pairs, y.astype(kind))
    np.testing.assert_array_equal(model.factor_, plain.factor_)
    assert model.threshold_ == plain.threshold_ == model.calibrate_threshold(X, pairs, y.astype(kind)).threshold_
    assert model.score(X, pairs, y.astype(kind)) == plain.score(X, pairs, y)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64])
def test_unsigned_signs_say_near(kind, samples):
    X, labels = samples
    near, _ = draw_tuples(X, labels, 2)
    signs, bounds = np.ones(len(near), int), (1.0, 20.0)
    factors = [make_learner().fit_pairs(X, near, y, bounds=bounds).factor_ for y in (signs, signs.astype(kind))]
    np.testing.assert_array_equal(*factors)
    with pytest.raises(ValueError, match=r"y must be \+1 \(same\) or -1 \(different\).*y\[0\] = 255"):
        make_learner().fit_pairs(X, near, (-signs).astype(np.uint8), bounds=bounds)
