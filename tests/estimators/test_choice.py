"""The choice between plans: which are tried, which is taken, and what is reported."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, PSDRegressor
from gramian.estimators._blend import average_distances, learn_from_start
from gramian.estimators._choice import Tally, warn_if_idle
from gramian.estimators._learning import most_iterations
from gramian.estimators._rounds import STREAM_LENGTH
from gramian.estimators._trial import in_single_precision, majorities
from gramian.features import Array, Centred, Sparse
from gramian.situation import Situation
from gramian.solvers import LBFGS, SOLVERS, ConjugateGradient, Ending
from gramian.supervision import (
    SUPERVISIONS,
    LabelChoice,
    LabelNeighbourhoods,
    LabelStart,
    LabelTriplets,
    Plan,
)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def plans(*names):
    return [Plan(name, (LabelTriplets([0, 0, 1, 1]),)) for name in names]


def test_plans_that_are_clearly_behind_are_not_tried_again():
    for tied, name in ((1.0, "a"), (0.5, "b")):
        tally = Tally(plans("a", "b", "c"), tied)
        tally.add({"a": 0.11, "b": 0.10, "c": 0.30}, 100)
        assert [plan.name for plan in tally.plans] == ["a", "b"]
        tally.add({"a": 0.13, "b": 0.10}, 100)
        assert tally.means == pytest.approx({"a": 0.12, "b": 0.10, "c": 0.30})
        # One standard error of 0.1 with 200 samples is 0.022.
        assert tally.select().name == name


@pytest.mark.parametrize(("tied", "left"), [(0.5, ["a"]), (1.5, ["a", "b"])])
def test_a_plan_that_may_still_be_tied_is_tried_again(tied, left):
    tally = Tally(plans("a", "b"), tied)
    # One standard error of 0.1 with 100 samples is 0.032: the second plan is 1.6 of them behind.
    tally.add({"a": 0.10, "b": 0.15}, 100)
    assert [plan.name for plan in tally.plans] == left


def test_nothing_is_learned_only_if_all_plans_are_clearly_behind():
    still = Plan("start", (LabelStart([0, 0, 1, 1]),))
    for error, name in ((0.11, "a"), (0.14, "start")):
        tally = Tally([*plans("b", "a"), still], 0.25)
        tally.add({"b": error + 0.01, "a": error, "start": 0.10}, 200)
        assert tally.select().name == name


def test_the_plan_is_reported(wine, capfd):
    model = MetricLearner(2, verbose=1, random_state=0).fit(*wine)
    assert f"plan: {model.choice_.plan}; errors on held-out samples: neighbourhoods " in capfd.readouterr().err


@pytest.mark.parametrize(("rank", "name"), [(2, "start"), (None, "euclid")])
def test_a_fit_that_finds_nothing_better_than_its_start_says_so(rank, name, wine, monkeypatch):
    errors = {"neighbourhoods": 0.3, "triplets": 0.2}
    monkeypatch.setattr(
        "gramian.estimators._choice.compare_plans",
        lambda *args: {plan.name: 0.1 if plan.name == name else errors.get(plan.name, 0.5) for plan in args[6]},
    )
    with pytest.warns(UserWarning, match=r"does not lower the error on held-out samples: .* has 10.0%, .* 20.0%"):
        model = MetricLearner(rank, random_state=0).fit(*wine)
    assert model.choice_.plan == name
    assert model.n_iter_ == 0
    assert model.message_.startswith("nothing was learned, as planned")
    if rank is None:
        W = model.factor_ @ model.factor_.T
        np.testing.assert_allclose(W, W[0, 0] * np.eye(13), atol=1e-10 * W[0, 0])


def test_a_plan_that_does_not_beat_the_start_but_may_by_chance_is_learned_with_a_warning(wine, monkeypatch):
    errors = {"start": 0.10, "triplets": 0.105}
    monkeypatch.setattr(
        "gramian.estimators._choice.compare_plans",
        lambda *args: {plan.name: errors.get(plan.name, 0.5) for plan in args[6]},
    )
    with pytest.warns(UserWarning, match=r"has 10.0%, .* may be chance, so .triplets. is learned"):
        model = MetricLearner(2, random_state=0).fit(*wine)
    assert model.choice_.plan == "triplets"
    assert model.n_iter_ > 0


@pytest.mark.parametrize(
    ("euclid", "start", "words"),
    [
        (0.05, 0.5, r"of all 13 features has .* 5.0%, than the best plan of rank 2, 'triplets', 20.0%"),
        (0.18, 0.5, None),
        # The start says more: one warning is enough.
        (0.05, 0.1, r"the start, .* has 10.0%, .* 20.0%. Nothing is learned"),
    ],
)
def test_low_rank_that_is_clearly_behind_plain_distance_says_so(euclid, start, words, wine, monkeypatch):
    errors = {"triplets": 0.2, "start": start}
    monkeypatch.setattr(
        "gramian.estimators._choice.compare_plans",
        lambda *args: {plan.name: errors.get(plan.name, 0.5) for plan in args[6]} | {"euclid": euclid},
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MetricLearner(2, random_state=0).fit(*wine)
    assert [bool(re.search(words or "", str(each.message))) for each in caught] == [True] * bool(words)
    assert model.choice_.plan == ("start" if start < 0.2 else "triplets")


def test_a_plan_that_was_dropped_early_warns_of_nothing():
    tally = Tally([*plans("triplets"), Plan("start", (LabelStart([0, 0, 1, 1]),))], 0.5)
    tally.add({"triplets": 0.05, "start": 0.4}, 100)
    tally.add({"triplets": 0.77}, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_idle(tally.plans[0], tally.plans, tally.means)


def test_a_trial_of_the_start_needs_no_scale(wine):
    X, y = wine
    start = 1e150 * np.eye(13)[:, :2]
    full, brief = (
        supervision.begin(Situation(Array(X), np.random.default_rng(0)), start).start
        for supervision in (LabelStart(y), LabelStart(y).brief())
    )
    assert 0.5 <= brief[0, 0] <= 2
    assert full[0, 0] != brief[0, 0]
    np.testing.assert_allclose(full * (brief[0, 0] / full[0, 0]), brief)


def test_a_start_that_a_stopping_rule_accepts_has_not_converged(rng):
    X, y = np.repeat(np.eye(3), 20, axis=0) + 1e-3 * rng.standard_normal((60, 3)), np.repeat(np.arange(3), 20)
    model = MetricLearner(init="lda", random_state=0).fit_supervised(X, LabelStart(y))
    assert model.history_["cost"][-1] < 1e-6
    assert (model.n_iter_, model.converged_) == (0, False)
    assert model.message_.startswith("nothing was learned, as planned")


def test_a_mean_has_converged_only_if_all_of_its_parts_have(wine, monkeypatch):
    class Mean(LabelChoice):
        def plans(self, rank, n_features):
            return [super().plans(rank, n_features)[0]]

    learn, converged = learn_from_start, []

    def end_well_at_last(*args):
        found = learn(*args)
        converged.append(len(converged) == 2)
        ending = Ending.CONVERGED if converged[-1] else Ending.EXHAUSTED
        return found._replace(result=replace(found.result, ending=ending), planned=True)

    monkeypatch.setattr("gramian.estimators._blend.learn_from_start", end_well_at_last)
    model = MetricLearner(random_state=0).fit_supervised(wine[0], Mean(wine[1]))
    assert converged == [False, False, True]
    assert not model.converged_


def test_the_mean_of_distances_is_that_of_matrices_of_one_unit(rng):
    X = rng.standard_normal((300, 4)) * [1, 2, 3, 4]
    situation = Situation(Array(X), rng)
    A, B = rng.standard_normal((4, 4)), 50 * rng.standard_normal((4, 2))
    G = average_distances(situation, [A, B])
    assert G.shape == (4, 4)
    cov = np.cov(X, rowvar=False)
    unit = np.trace(A.T @ cov @ A)
    expected = (A @ A.T + B @ B.T * unit / np.trace(B.T @ cov @ B)) / 2
    np.testing.assert_allclose(G @ G.T, expected, rtol=1e-10)
    np.testing.assert_allclose(average_distances(situation, [A, 0 * B]), A)


def test_a_mean_counts_the_iterations_of_all_parts(wine):
    X, y = wine

    class Mean(LabelChoice):
        def plans(self, rank, n_features):
            return [super().plans(rank, n_features)[0]]

    model = MetricLearner(random_state=0).fit_supervised(X, Mean(y))
    assert model.message_.startswith("mean of 3 distances: ")
    alone = MetricLearner(constraints="triplets", random_state=0).fit(X, y)
    assert model.n_iter_ > 1.5 * alone.n_iter_
    assert model.factor_.shape == (13, 13)
    assert np.linalg.matrix_rank(model.factor_) == 13


def test_a_fit_that_goes_on_expects_the_iterations_of_one_stage(wine):
    X, y = wine
    mean = LabelChoice(y).validate(len(X)).plans(13, 13)[0]
    assert len(mean.parts) == 3
    assert most_iterations(MetricLearner(), mean.last_stage(), resume=True) == STREAM_LENGTH


def test_heavy_samples_count_as_fewer(rng):
    X, y = rng.standard_normal((100, 3)), np.arange(100) % 2
    situation = Situation(Array(X), rng)
    weight = np.where(np.arange(100) < 10, 10.0, 1.0)
    plain, weighted = (
        LabelNeighbourhoods(y, sample_weight=w).default_shrinkage(situation, np.eye(3)) for w in (None, weight)
    )
    assert weighted == pytest.approx(plain * 100 / (weight.sum() ** 2 / (weight**2).sum()))


def test_a_stream_after_a_mean_goes_on_by_triplets_and_says_so(wine):
    X, y = wine
    model = MetricLearner(random_state=0).fit(X, y)
    model.choice_ = model.choice_._replace(plan="mean of three")
    assert model.partial_fit(X[::2], y[::2]).choice_.plan == "triplets"


def test_a_stream_after_many_triplets_goes_on_by_triplets_where_a_batch_has_few_samples(wine):
    X, y = wine
    model = MetricLearner(2, random_state=0).fit(X, y)
    model.choice_ = model.choice_._replace(plan="many triplets")
    assert model.partial_fit(X[::2], y[::2]).choice_.plan == "triplets"


@pytest.mark.parametrize("rank", [2, None])
def test_only_plans_that_use_the_loss_are_compared(rank, wine):
    model = MetricLearner(rank, loss="logistic", random_state=0).fit(*wine)
    assert not any("neighbourhood" in name or "mean" in name for name in model.choice_.errors)
    assert "triplets" in model.choice_.errors


def test_rounds_and_penalties_follow_the_numbers_of_samples_and_features(rng):
    few, some, many = (LabelTriplets(np.arange(n) % 2) for n in (1_000, 4_000, 40_000))
    assert [plan.stages[0].n_rounds for plan in LabelChoice(some.labels).plans(20, 50)[:2]] == [8, 4]
    assert [plan.stages[0].n_rounds for plan in LabelChoice(some.labels).plans(20, 9_000)[:2]] == [2, 2]
    assert few.lightness == some.lightness == 1
    assert many.lightness == 0.25
    assert many.default_penalty(2, 50) < some.default_penalty(2, 50) / 3.9
    situation = Situation(Array(rng.standard_normal((10, 5))), rng)
    assert many.default_shrinkage(situation, np.eye(5)) == pytest.approx(0.015)
    assert many.default_shrinkage(situation, np.eye(5)[:, :2]) == some.default_shrinkage(situation, np.eye(5)[:, :2])


@pytest.mark.parametrize(("scale", "dtype"), [(1.0, np.float32), (1e-6, np.float64)])
def test_trials_learn_in_float32_unless_features_are_uneven(scale, dtype, rng):
    X = rng.standard_normal((60, 4)) + 1e5
    X[:, 0] = X[:, 0] * scale
    features = Centred(Array(X), X.mean(axis=0))
    single = in_single_precision(features)
    assert single.dtype == dtype
    # Centred before it is rounded: the mean costs no digits.
    np.testing.assert_allclose(single.dense(), X - X.mean(axis=0), atol=1e-6)
    assert in_single_precision(Array(X.astype(np.float32))).dtype == np.float32


def test_sparse_trials_keep_their_precision(rng):
    X = Sparse(scipy.sparse.csr_array(rng.standard_normal((60, 4))))
    assert in_single_precision(X) is X


@pytest.mark.parametrize("scale", [1e-50, 1.0, 1e40])
@pytest.mark.parametrize("geometry", ["scaled", "polar"])
def test_starts_beyond_float32_are_tried(geometry, scale, rng):
    labels = np.arange(60) % 3
    X = rng.standard_normal((60, 4)) + labels[:, None] * [2, 0, 1, 0]
    # The second direction is below the precision of float32.
    start = scale * np.linalg.qr(rng.standard_normal((4, 2)))[0] * [1, 1e-9]
    model = MetricLearner(2, geometry=geometry, init=start, random_state=0).fit(X, labels)
    assert model.choice_.plan in model.choice_.errors
    assert np.isfinite(model.factor_).all()


def test_every_supervision_names_a_solver_that_suits_it():
    learner = MetricLearner()
    costly = {name for name, kind in SUPERVISIONS.items() if kind.solver == "lbfgs"}
    assert costly == {"neighbourhoods", "targets"}
    for kind in SUPERVISIONS.values():
        assert isinstance(learner._resolve_solver(np.random.default_rng(0), kind.solver), SOLVERS[kind.solver])


@pytest.mark.filterwarnings("ignore:not converged")
def test_auto_is_the_solver_of_the_supervision(wine, monkeypatch):
    used = []
    for kind in (LBFGS, ConjugateGradient):
        step = kind.step
        monkeypatch.setattr(
            kind, "step", lambda solver, *rest, step=step: used.append(type(solver)) or step(solver, *rest)
        )
    for constraints, kind in (("neighbourhoods", LBFGS), ("triplets", ConjugateGradient)):
        used.clear()
        MetricLearner(2, constraints=constraints, max_iter=2, random_state=0).fit(*wine)
        assert set(used) == {kind}


@pytest.mark.parametrize(("estimator", "names"), [(MetricLearner(2), "'auto', 'gd'"), (PSDRegressor(2), "'gd', 'cg'")])
def test_an_unknown_solver_is_answered_by_those_that_are_known(estimator, names, wine):
    with pytest.raises(ValueError, match=f"solver='bfgs' is unknown. Choose one of {names}"):
        estimator.set_params(solver="bfgs").fit(*wine)
    if isinstance(estimator, PSDRegressor):
        with pytest.raises(ValueError, match="solver='auto' is unknown"):
            estimator.set_params(solver="auto").fit(*wine)


@pytest.mark.parametrize(("n", "length", "brief"), [(1000, 20, 20), (1001, 12, 20)])
def test_rounds_of_many_samples_are_short(n, length, brief):
    supervision = LabelNeighbourhoods(np.arange(n) % 2)
    assert (supervision.round_length, supervision.brief().round_length) == (length, brief)


def test_the_penalty_of_neighbourhoods_on_the_trace_is_the_same_at_every_rank(rng):
    X = rng.standard_normal((50, 12))
    situation = Situation(Array(X), rng)
    supervision = LabelNeighbourhoods(np.arange(50) % 2).validate(50)
    weights = [supervision.default_shrinkage(situation, np.eye(12)[:, :rank]) / rank for rank in (1, 2, 4, 10, 12)]
    np.testing.assert_allclose(weights, 0.3 * 12 / 50 * X.var(axis=0).mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbourhoods_of_classes_that_the_start_separates_are_learned_to_the_end(dtype, wine):
    """The start is at a scale that its penalty allows; from the largest scale, 20 iterations end anywhere."""
    X, y = wine
    fits = []
    for noise in (0.0, 1e-9):
        moved = X + noise * np.random.default_rng(0).standard_normal(X.shape)
        learner = MetricLearner(3, constraints="neighbourhoods", random_state=0).fit(moved.astype(dtype), y)
        assert learner.converged_
        assert learner.history_["cost"][0] < 2 * learner.history_["cost"][-1]
        fits.append(learner.get_mahalanobis_matrix())
    np.testing.assert_allclose(fits[0], fits[1], atol=2e-2 * np.abs(fits[0]).max())


@pytest.mark.parametrize("n_labels", [1, 2, 30])
def test_majorities_are_those_of_counts(n_labels, rng):
    labels = rng.integers(n_labels, size=(200, 9))
    counts = np.sum(labels[:, :, None] == np.arange(n_labels), axis=1)
    np.testing.assert_array_equal(majorities(labels), counts.argmax(axis=1))
