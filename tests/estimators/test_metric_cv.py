"""The choice of rank and penalties by cross-validation."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, MetricLearnerCV
from gramian.estimators._learning import with_full_rank
from gramian.estimators._path import (
    Fold,
    LabelTask,
    TupleTask,
    choose_plans,
    find_plan,
    fit_path,
    fit_stages,
    reduce_factor,
)
from gramian.estimators.metric_cv import Candidate, choose_candidate, resolve_ranks
from gramian.supervision import LabelChoice, LabelTriplets, Plan

pytestmark = pytest.mark.filterwarnings("ignore:not converged")

TRIPLETS = MetricLearner(constraints="triplets", n_rounds=1, tol=1e-2)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def plant(seed):
    """Three informative features of twelve: a distance of rank 3 or less suffices."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((240, 12))
    y = (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0)
    return X, y


@pytest.fixture(scope="module")
def planted():
    return plant(0)


@pytest.fixture(scope="module")
def model(wine):
    X, y = wine
    return MetricLearnerCV([4, 5, None], cv=2, random_state=0).fit(X[::3], y[::3])


def test_the_results_are_those_of_a_grid_search(model):
    table = model.cv_results_
    assert [params["n_components"] for params in table["params"]] == [4, 5, None]
    scores = np.array([table[f"split{i}_test_score"] for i in range(2)])
    np.testing.assert_allclose(table["mean_test_score"], scores.mean(axis=0))
    np.testing.assert_allclose(table["std_test_score"], scores.std(axis=0))
    assert table["mean_fit_time"].min() > 0
    assert table["rank_test_score"].min() == 1
    best = int(np.argmax(table["mean_test_score"]))
    assert model.best_params_ == table["params"][best]
    assert model.best_score_ == table["mean_test_score"][best] > 0.8
    assert model.n_splits_ == 2


def test_the_curve_has_the_ranks_ascending_and_standard_errors(model):
    np.testing.assert_array_equal(model.curve_.ranks, [4, 5, 13])
    np.testing.assert_array_equal(model.curve_.mean, model.cv_results_["mean_test_score"])
    scores = [model.cv_results_[f"split{i}_test_score"] for i in range(2)]
    np.testing.assert_allclose(model.curve_.standard_error, np.std(scores, axis=0, ddof=1) / 2**0.5)


def test_it_is_the_learner_of_the_chosen_parameters_on_all_data(model, wine):
    X, y = (each[::3] for each in wine)
    alone = MetricLearner(**model.best_params_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.components_, alone.components_)
    np.testing.assert_array_equal(model.transform(X), alone.transform(X))
    np.testing.assert_array_equal(model.factor_, alone.factor_)
    np.testing.assert_array_equal(model.spectrum_, alone.spectrum_)
    assert model.n_components_ == len(model.components_)
    assert model.get_metric()(X[0], X[1]) == pytest.approx(alone.pair_distance(X, [[0, 1]])[0])
    assert model.choice_ == alone.choice_
    assert model.get_feature_names_out()[0] == "metriclearnercv0"
    assert "n_components" in model.best_estimator_.get_params()


def test_it_clones_and_pickles_and_works_in_a_pipeline(model, wine):
    X, y = wine
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert not hasattr(clone(model), "components_")
    pipeline = make_pipeline(StandardScaler(), MetricLearnerCV([2], estimator=TRIPLETS, cv=2), KNeighborsClassifier(5))
    assert pipeline.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    with pytest.raises(NotFittedError):
        clone(model).transform(X)


def test_nothing_of_a_held_out_part_is_seen_by_its_fits(wine):
    """Labels and samples of one fold are changed: the fits of that fold, and the plan, stay the same."""
    X, y = (each[::3] for each in wine)
    fold = next(iter(StratifiedKFold(2).split(X, y)))
    other_X, other_y = X.copy(), y.copy()
    other_X[fold[1]] += 100
    other_y[fold[1]] = 0
    learner = MetricLearner(random_state=0)
    fitted = []
    for task in (LabelTask(X, y, 5), LabelTask(other_X, other_y, 5)):
        plans = choose_plans(task, learner, fold[0], [2, 1])
        path = fit_path(task, learner, fold[0], [2, 1], plans, warm=True)
        fitted.append((plans, [each.learner.factor_ for each in path]))
    assert fitted[0][0] == fitted[1][0]
    for one, other in zip(fitted[0][1], fitted[1][1], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_nothing_of_held_out_points_is_seen_by_their_fits(size, planted, rng):
    X, (tuples, y) = planted[0], draw_planted(planted[0], rng, size)
    train, known = np.arange(30), np.setdiff1d(np.arange(240), np.setdiff1d(tuples, tuples[:30]))
    other, learner, fitted = np.where(np.isin(np.arange(240), known)[:, None], X, X + 100), MetricLearner(2), []
    for samples in (X, other):
        task = TupleTask(samples, tuples, y)
        assert task.samples(slice(None)) is samples
        fitted += [each.learner.factor_ for each in fit_path(task, learner, train, [2], {}, warm=True)]
    assert len(known) < 200
    np.testing.assert_array_equal(fitted[0], fitted[1])


def test_the_folds_share_the_plans_that_the_first_chooses(wine, monkeypatch):
    calls = []

    def choose(task, learner, rows, ranks):
        calls.append(rows)
        return dict.fromkeys(ranks, "triplets")

    monkeypatch.setattr("gramian.estimators.metric_cv.choose_plans", choose)
    learner = MetricLearner(max_iter=2, random_state=0)
    model = MetricLearnerCV([1, 2], estimator=learner, cv=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            model.fit(*wine)
    assert [len(rows) for rows in calls] == [118, 118]
    assert model.plans_ == [{1: "triplets", 2: "triplets"}] * 3


def test_paths_score_as_independent_fits_do_in_fewer_iterations():
    learner = MetricLearner(constraints="neighbourhoods", random_state=0)
    fold, ranks = Fold(np.arange(0, 240, 2), np.arange(1, 240, 2)), [None, 8, 6, 4]
    scores, iterations = {True: [], False: []}, {True: 0, False: 0}
    for seed in range(4):
        task = LabelTask(*plant(seed), 5)
        for warm in (True, False):
            trained = [each.learner for each in fit_path(task, learner, fold.train, ranks, {}, warm=warm)]
            scores[warm] += [task.score(each, fold) for each in trained]
            iterations[warm] += sum(each.n_iter_ for each in trained[1:])
    assert iterations[True] < 0.9 * iterations[False]
    assert np.mean(scores[True]) > np.mean(scores[False]) - 0.03


def test_a_large_factor_is_reduced_to_the_directions_in_which_samples_vary_most(rng):
    X = rng.standard_normal((100, 4)) * [1.0, 5.0, 0.1, 3.0]
    reduced = reduce_factor(np.eye(4), X, 2)
    values = np.linalg.eigvalsh(np.cov(X @ reduced, rowvar=False))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(np.cov(X, rowvar=False))[2:])
    np.testing.assert_allclose(reduce_factor(np.eye(4), csr_array(X), 2), reduced)
    assert reduce_factor(np.eye(4)[:, [0, 0]], X, 2) is None


def test_a_stage_goes_on_from_a_factor_that_lost_a_direction(wine, monkeypatch):
    X, y = wine
    stage = LabelTriplets(y, n_rounds=1)
    fit = MetricLearner.fit_supervised

    def fit_and_lose_a_direction(learner, X, supervision):
        fit(learner, X, supervision)
        learner.factor_ = learner.factor_ * np.array([1.0, 1.0, 0.0])
        return learner

    monkeypatch.setattr(MetricLearner, "fit_supervised", fit_and_lose_a_direction)
    learner = clone(TRIPLETS).set_params(n_components=3, random_state=0)
    fit_stages(learner, X, Plan("twice", (stage, stage)), None)
    assert np.linalg.matrix_rank(learner.factor_) == 2
    for kind in (np.float32, np.float64):
        assert np.linalg.matrix_rank(with_full_rank(learner.factor_.astype(kind))) == 3
    completed = with_full_rank(learner.factor_)
    W = learner.factor_ @ learner.factor_.T
    np.testing.assert_allclose(completed @ completed.T, W, atol=1e-6 * np.abs(W).max())


def test_a_factor_whose_columns_are_dependent_up_to_rounding_is_no_start(rng):
    X = rng.standard_normal((100, 4)).astype(np.float32)
    factor = np.diag([1.0, 1.0, 1e-7, 1e-7]).astype(np.float32)
    # Samples may vary enough, and the factor still be refused as `init`.
    assert reduce_factor(factor, X * [1.0, 1.0, 1e6, 1e6], 3) is None
    assert reduce_factor(factor, X, 2) is not None


def test_plans_are_found_at_every_rank():
    choice = LabelChoice([0, 0, 1, 1])
    names = {plan.name for rank in (2, 5) for plan in choice.plans(rank, 5) if not plan.idle}
    for name in names:
        for rank in (2, 5):
            assert find_plan(choice, name, rank, 5).name in [plan.name for plan in choice.plans(rank, 5)]
    # At low rank the discriminants are the start of all plans; each fit then chooses.
    assert find_plan(choice, "discriminants", 2, 5).name == ""
    assert find_plan(choice, "mean of three", 5, 5).name == "triplets"
    assert find_plan(choice, "triplets from discriminants", 2, 5).name == "triplets"
    assert find_plan(choice, "neighbourhoods", 5, 5).name == "neighbourhoods from discriminants"


def test_folds_of_few_samples_have_the_plans_of_a_fit_in_their_span(rng):
    X, y = rng.standard_normal((30, 100)), np.arange(30) % 3
    path = fit_path(LabelTask(X, y, 5), MetricLearner(random_state=0), np.arange(30), [2], {2: "triplets"}, warm=True)
    alone = MetricLearner(2, constraints="triplets", random_state=0).fit(X, y)
    np.testing.assert_array_equal(next(path).learner.factor_, alone.factor_)


def test_without_a_choice_no_plan_is_tried(wine, monkeypatch):
    monkeypatch.setattr(MetricLearner, "fit_supervised", None)
    assert choose_plans(LabelTask(*wine, 5), TRIPLETS, np.arange(178), [5, 1]) == {}


def test_the_smallest_rank_within_one_standard_error_is_taken():
    candidates = [Candidate(rank, "auto", price) for rank in (1, 3, None) for price in ("auto", 0.1)]
    scores = np.array([[0.5, 0.5], [0.5, 0.5], [0.84, 0.85], [0.85, 0.86], [0.8, 0.92], [0.1, 0.1]])
    assert choose_candidate(candidates, scores, one_standard_error=False) == 4
    assert choose_candidate(candidates, scores, one_standard_error=True) == 3
    assert choose_candidate(candidates, scores - np.array([[0.03, -0.03]] * 4 + [[-0.05, 0.07]] * 2), False) == 3


def test_penalties_are_chosen_too(planted):
    X, y = planted
    model = MetricLearnerCV([3], shrinkages=["auto", 1e4], estimator=TRIPLETS, cv=2, random_state=0).fit(X, y)
    assert model.best_params_["shrinkage"] == "auto"
    assert list(model.cv_results_["param_shrinkage"]) == ["auto", 1e4]
    assert len(model.curve_.ranks) == 1


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", lambda pipeline, X, y: pipeline.predict_proba(X)[:, 0].mean()]
)
def test_any_scorer_is_used_on_nearest_neighbours(scoring, wine):
    model = MetricLearnerCV([2], estimator=TRIPLETS, cv=2, scoring=scoring, random_state=0).fit(*wine)
    accuracy = MetricLearnerCV([2], estimator=TRIPLETS, cv=2, random_state=0).fit(*wine).best_score_
    assert 0 < model.best_score_ <= 1
    assert model.best_score_ != accuracy


def test_pairs_are_scored_by_the_area_under_the_roc_curve(planted, rng):
    X, _ = planted
    pairs = rng.integers(240, size=(400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    signs = np.where((X[pairs[:, 0], 2] > 0) == (X[pairs[:, 1], 2] > 0), 1, -1)
    model = MetricLearnerCV([1, 4], cv=2, random_state=0).fit_pairs(X, pairs, signs)
    assert model.best_score_ > 0.8
    assert model.n_components_ == 1
    assert np.mean(model.predict(X, pairs) == signs) > 0.7
    points = MetricLearnerCV([1, 4], cv=2, random_state=0).fit_pairs(X[pairs], signs)
    np.testing.assert_allclose(points.best_score_, model.best_score_, atol=0.02)


def test_triplets_are_scored_by_the_share_that_holds(planted, rng):
    X, _ = planted
    triplets = np.array([rng.permutation(240)[:3] for _ in range(400)])
    a, b, c = X[triplets.T, 0]
    wrong = np.abs(a - b) > np.abs(a - c)
    triplets[wrong] = triplets[wrong][:, [0, 2, 1]]
    model = MetricLearnerCV([1, None], cv=KFold(2), random_state=0).fit_triplets(X, triplets)
    assert model.n_components_ == 1
    assert model.best_score_ > 0.8


def draw_planted(X, rng, size):
    """Return tuples of samples that agree with their first feature, half of them exchanged, and signs."""
    tuples = np.array([rng.permutation(len(X))[:size] for _ in range(300)])
    first = X[tuples, 0]
    near, far = np.abs(first[:, 0] - first[:, 1]), np.abs(first[:, 2 * (size == 4)] - first[:, -1])
    return tuples, np.where(near < (0.7 if size == 2 else far), 1, -1)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_fit_takes_tuples_of_points_and_of_indices_with_any_scorer(size, planted, rng):
    X = planted[0]
    tuples, y = draw_planted(X, rng, size)
    name = {2: "pairs", 3: "triplets", 4: "quadruplets"}[size]
    settings = {"ranks": [1, 3], "cv": 2, "random_state": 0}
    default = MetricLearnerCV(**settings).fit(X[tuples], y)
    assert default.n_components_ == 1
    assert default.best_score_ > 0.8
    assert default.predict(X[tuples]).shape == (300,)
    by_index = MetricLearnerCV(estimator=MetricLearner(preprocessor=X), **settings).fit(tuples, y)
    assert by_index.score(tuples, y) == pytest.approx(by_index.score(X[tuples], y))
    named = getattr(MetricLearnerCV(**settings), f"fit_{name}")(X, tuples, y=y)
    assert named.best_score_ == by_index.best_score_
    # The other score of each kind.
    scoring = "accuracy" if size == 2 else "roc_auc"
    scored = getattr(MetricLearnerCV(scoring=scoring, **settings), f"fit_{name}")(X, tuples, y=y)
    assert scored.best_score_ != named.best_score_
    assert scored.best_score_ > 0.7
    # Both folds know the same samples.
    tuples, y = np.concatenate([tuples[:200], tuples[:100]]), np.concatenate([y[:200], y[:100]])
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    splits = [(np.arange(200), np.arange(200, 300)), (np.arange(300), np.arange(200, 300))]
    weighed = MetricLearnerCV([1], cv=splits, random_state=0)
    getattr(weighed, f"fit_{name}")(X, tuples, y=y, sample_weight=weight)
    assert weighed.cv_results_["split0_test_score"] == weighed.cv_results_["split1_test_score"]


def test_a_score_that_needs_both_signs_says_so(planted, rng):
    X = planted[0]
    triplets, y = draw_planted(X, rng, 3)
    right = np.where(y[:, None] > 0, triplets, triplets[:, [0, 2, 1]])
    with pytest.raises(ValueError, match=r"scoring='roc_auc' is nan on a fold. Give signs y of both kinds"):
        MetricLearnerCV([1], cv=2, scoring="roc_auc").fit(X[right])
    assert MetricLearnerCV([1], cv=2, scoring="accuracy", random_state=0).fit(X[right]).best_score_ > 0.8


def test_targets_are_scored_by_regression_of_neighbours(planted):
    X = planted[0]
    y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
    model = MetricLearnerCV([1, 4], cv=2, random_state=0).fit_targets(X, y)
    assert model.best_score_ > 0.8
    np.testing.assert_allclose(
        model.factor_, MetricLearner(model.n_components_, random_state=0).fit_targets(X, y).factor_
    )
    other = MetricLearnerCV([1], cv=2, scoring="neg_mean_absolute_error", random_state=0).fit_targets(X, y)
    assert -0.5 < other.best_score_ < 0


def test_labels_have_weights_and_may_be_of_indices(wine):
    X, y = wine
    weight = (np.arange(178) % 3 > 0).astype(float)
    model = MetricLearnerCV([2], estimator=TRIPLETS, cv=2, random_state=0).fit(X, y, sample_weight=weight)
    learner = clone(TRIPLETS).set_params(n_components=2, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.factor_, learner.factor_)
    by_index = MetricLearnerCV([2], estimator=clone(TRIPLETS).set_params(preprocessor=X), cv=2, random_state=0)
    by_index.fit(np.arange(178), y, sample_weight=weight)
    np.testing.assert_array_equal(by_index.factor_, learner.factor_)
    np.testing.assert_array_equal(by_index.transform([3, 5]), by_index.transform(X[[3, 5]]))


@pytest.mark.parametrize("spelling", ["regularisation", "regularization"])
def test_penalties_of_the_estimator_are_the_defaults(spelling, wine):
    settings = clone(TRIPLETS).set_params(shrinkage=0.3, **{spelling: 7.0})
    model = MetricLearnerCV([2], estimator=settings, cv=2, random_state=0).fit(*wine)
    assert model.best_params_ == {"n_components": 2, "regularisation": 7.0, "shrinkage": 0.3}
    several = MetricLearnerCV([2], regularisations=["auto", 1.0], estimator=settings, cv=2, random_state=0).fit(*wine)
    assert [row["regularisation"] for row in several.cv_results_["params"]] == ["auto", 1.0]
    assert several.best_params_["shrinkage"] == 0.3


def test_samples_fewer_than_features_and_sparse_samples(rng):
    X, y = rng.standard_normal((40, 60)), np.arange(40) % 2
    X[:, 0] += 4 * y
    dense = MetricLearnerCV([1, 3], estimator=TRIPLETS, cv=2, random_state=0).fit(X, y)
    sparse = MetricLearnerCV([1, 3], estimator=TRIPLETS, cv=2, random_state=0).fit(csr_array(X), y)
    assert dense.components_.shape[1] == sparse.components_.shape[1] == 60
    np.testing.assert_allclose(dense.curve_.mean, sparse.curve_.mean, atol=0.1)


@pytest.mark.parametrize(
    ("n", "d", "expected"),
    [
        (100, 13, [1, 2, 3, 5, 8, 12, None]),
        (10, 1, [None]),
        (10, 13, [1, 2, 3, 5, 8]),
        (9999, 201, [1, 2, 3, 5, 8, 12, 20, 32, 50, 80]),
    ],
)
def test_the_ladder_of_ranks(n, d, expected):
    assert resolve_ranks("auto", n, d) == expected


def test_ranks_are_different_and_ascending():
    assert resolve_ranks([5, 2, None, 2, 7], 100, 7) == [2, 5, None]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranks": [14]}, r"ranks\[0\]=14 exceeds 13"),
        ({"ranks": [0]}, r"ranks\[0\]=0 is not valid"),
        ({"ranks": []}, r"ranks=\[\] is not valid"),
        ({"ranks": "all"}, "ranks='all' is not valid"),
        ({"ranks": 3}, "ranks=3 is not valid"),
        ({"shrinkages": 0.1}, "shrinkages=0.1 is not valid"),
        ({"regularisations": "auto"}, "regularisations='auto' is not valid"),
        ({"regularisations": [-1.0]}, r"regularisations\[0\]=-1.0 is not valid"),
        ({"estimator": KNeighborsClassifier()}, "estimator=.* is not valid. Give a MetricLearner"),
        ({"estimator": MetricLearner(preprocessor=np.eye(3))}, "with a preprocessor X holds tuples of indices"),
        ({"n_neighbors": 0}, "n_neighbors=0 is not valid"),
        ({"cv": [(np.arange(10), np.arange(10, 20))]}, "gives 1 folds"),
    ],
)
def test_mistakes_are_named(parameters, message, wine):
    with pytest.raises(ValueError, match=message):
        MetricLearnerCV(**parameters).fit(*wine)


def test_progress_is_reported(wine, capsys):
    MetricLearnerCV([1, 2], estimator=TRIPLETS, cv=2, verbose=2, random_state=0).fit(*wine)
    lines = capsys.readouterr().err.splitlines()
    assert sum(line.startswith("fold ") for line in lines) == 2
    assert sum("score" in line and line.startswith("  ") for line in lines) == 4
    assert lines[-1].startswith("chosen: ")
    assert not any("Candidate" in line for line in lines)


def test_candidates_are_told_in_plain_words():
    assert str(Candidate(1, "auto", "auto")) == "1 component"
    assert str(Candidate(5, 0.1, "auto")) == "5 components, regularisation 0.1"
    assert f"{Candidate(None, 'auto', 0.5)}" == "full rank, shrinkage 0.5"


def test_n_jobs_is_handed_to_all_fits(wine, monkeypatch):
    X, y = wine
    seen, fit = set(), MetricLearner._fit

    def record(learner, *args, **options):
        seen.add(learner.n_jobs)
        return fit(learner, *args, **options)

    monkeypatch.setattr(MetricLearner, "_fit", record)
    learner = MetricLearner(constraints="triplets", max_iter=3, n_jobs=3)
    models = [MetricLearnerCV([2], estimator=learner, cv=2, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2, None)]
    assert seen == {1, 2, 3}
    for model in models:
        np.testing.assert_array_equal(model.factor_, models[0].factor_)
    assert learner.n_jobs == 3


@pytest.mark.parametrize("scoring", [{"a": "accuracy"}, ["accuracy", "f1"], 3], ids=["dict", "list", "number"])
def test_several_scores_are_refused(scoring, wine):
    with pytest.raises(ValueError, match=r"scoring=.* is not valid. Choose by one score: the name of a scorer, a func"):
        MetricLearnerCV([1], estimator=TRIPLETS, cv=2, scoring=scoring).fit(*wine)
