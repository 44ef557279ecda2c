"""The baselines that learn Mahalanobis distances: optimality conditions, and shared behaviour."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian.baselines import ITML, LEGO, LMNN, POLA
from gramian.baselines.pola import project_onto_cone, project_onto_pair
from gramian.supervision import labelled_pairs

LEARNERS = [ITML(random_state=0), LEGO(random_state=0), LMNN(random_state=0), POLA(random_state=0)]
OF_PAIRS = [model for model in LEARNERS if hasattr(model, "fit_pairs")]
STREAMS = [model for model in LEARNERS if hasattr(model, "partial_fit_pairs")]
BOUNDED = [ITML(), LEGO()]


def class_name(model):
    return type(model).__name__


@parametrize_with_checks(LEARNERS)
def test_estimator_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def draw_signed_pairs(y, m, seed=0):
    pairs, same = labelled_pairs(y, m, balanced=True, random_state=seed)
    return pairs, np.where(same, 1, -1)


def differences(X, pairs):
    return X[pairs[:, 0]] - X[pairs[:, 1]]


def squared_lengths(A, z):
    return np.einsum("ij,jk,ik->i", z, A, z)


# Shared behaviour.


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_neighbours_get_no_worse(learner, wine):
    X, y = wine
    train = np.arange(len(y)) % 2 == 0
    model = clone(learner).fit(X[train], y[train])

    def score(map_):
        return KNeighborsClassifier(5).fit(map_(X[train]), y[train]).score(map_(X[~train]), y[~train])

    assert score(model.transform) >= score(lambda X: X)


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_the_distance_is_that_of_the_matrix(learner, iris):
    X, y = iris
    model = pickle.loads(pickle.dumps(clone(learner).fit(X, y)))
    A = model.get_mahalanobis_matrix()
    pairs = np.array([[0, 1], [0, 149], [77, 3]])
    distance = np.sqrt(squared_lengths(A, differences(X, pairs)))
    assert np.allclose(model.pair_distance(X, pairs), distance)
    assert np.allclose(model.pair_score(X[pairs]), -distance)
    assert np.isclose(model.get_metric()(X[0], X[149]), distance[1])
    assert np.linalg.eigvalsh(A)[0] >= -1e-12 * np.trace(A)


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_float32_is_learned_from_alike(learner, iris):
    X, y = iris
    coarse, fine = (clone(learner).fit(X.astype(kind), y) for kind in (np.float32, np.float64))
    assert coarse.transform(X.astype(np.float32)).dtype == np.float32
    # LMNN searches for impostors by distance and stops by tol, so rounding of X may change a few impostors.
    atol = 1e-2 if isinstance(learner, LMNN) else 1e-4
    difference = coarse.get_mahalanobis_matrix() - fine.get_mahalanobis_matrix()
    assert np.abs(difference).max() <= atol * np.abs(fine.get_mahalanobis_matrix()).max()


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_one_class_or_bad_settings_change_nothing(learner, iris):
    X, y = iris
    model = clone(learner).fit(X, y)
    before = model.components_
    with pytest.raises(ValueError, match="y has one class only"):
        model.fit(X[:50], y[:50])
    assert model.components_ is before
    wrong = {"ITML": "gamma", "LEGO": "eta", "LMNN": "mu", "POLA": "n_epochs"}[class_name(learner)]
    with pytest.raises(ValueError, match=f"{wrong}=-1 is not valid"):
        model.set_params(**{wrong: -1}).fit(X, y)
    assert model.components_ is before


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_pairs_of_points_are_pairs_of_rows(learner, iris):
    X, y = iris
    pairs, signs = draw_signed_pairs(y, 100)
    by_row = clone(learner).fit_pairs(X, pairs, y=signs)
    by_point = clone(learner).fit_pairs(X[pairs], signs)
    assert np.array_equal(by_row.components_, by_point.components_)
    assert np.mean(by_row.predict(X, pairs) == signs) > 0.8
    assert by_row.threshold_ == by_point.threshold_


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_feature_names_are_kept(learner, iris):
    X, y = load_iris(return_X_y=True, as_frame=True)
    pairs, signs = draw_signed_pairs(y.to_numpy(), 60)
    model = clone(learner).fit_pairs(X, pairs, y=signs)
    assert list(model.feature_names_in_) == list(X.columns)


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
@pytest.mark.parametrize(
    ("pairs", "y", "message"),
    [
        ([[0, 1], [2, 2]], [1, -1], r"pairs\[1\] = \(2, 2\) joins a sample to itself"),
        ([[0, 1], [2, 3]], [1, 0], r"y holds 0 and 1"),
        ([[0, 1], [2, 3]], None, "is missing"),
        ([[0, 1], [2, 500]], [1, -1], "pairs"),
    ],
)
def test_bad_pairs_are_refused(learner, iris, pairs, y, message):
    with pytest.raises(ValueError, match=message):
        clone(learner).fit_pairs(iris[0], pairs, y=y)


@pytest.mark.parametrize("learner", BOUNDED, ids=class_name)
def test_bounds_need_pairs_of_both_kinds(learner, iris):
    with pytest.raises(ValueError, match="Give pairs of both kinds"):
        clone(learner).fit_pairs(iris[0], [[0, 1], [2, 3]], y=[1, 1])


def test_a_stream_begins_with_one_pair_that_has_bounds(iris):
    with pytest.raises(ValueError, match="Give pairs of both kinds, or bounds="):
        LEGO().partial_fit_pairs(iris[0], [[0, 1]], [1])
    model = (
        LEGO().partial_fit_pairs(iris[0], [[0, 1]], [1], bounds=(0.5, 2)).partial_fit_pairs(iris[0], [[0, 99]], [-1])
    )
    assert model.bounds_ == (0.5, 2)


@pytest.mark.parametrize("learner", STREAMS, ids=class_name)
def test_a_stream_goes_on_pair_by_pair(learner, iris):
    X, y = iris
    pairs, signs = draw_signed_pairs(y, 120)
    one_by_one, at_once = (clone(learner).fit_pairs(X, pairs[:40], y=signs[:40]) for _ in range(2))
    calibrated = one_by_one.threshold_
    for pair, sign in zip(pairs[40:], signs[40:], strict=True):
        one_by_one.partial_fit_pairs(X, [pair], y=[sign])
    at_once.partial_fit_pairs(X, pairs[40:], y=signs[40:])
    A = at_once.get_mahalanobis_matrix()
    assert np.allclose(one_by_one.get_mahalanobis_matrix(), A, rtol=1e-8, atol=1e-10)
    # POLA learns its threshold; the others need pairs of both kinds to calibrate it.
    kept = at_once.bias_**0.5 if isinstance(learner, POLA) else calibrated
    assert np.isclose(one_by_one.threshold_, kept)


@pytest.mark.parametrize("learner", STREAMS, ids=class_name)
def test_one_pair_leaves_no_threshold_where_there_was_none(learner, iris):
    X, y = iris
    model = clone(learner).fit(X, y).partial_fit_pairs(X, [[0, 149]], y=[-1])
    assert hasattr(model, "threshold_") == isinstance(learner, POLA)


@pytest.mark.parametrize("learner", STREAMS, ids=class_name)
def test_a_stream_in_two_parts_is_the_stream(learner, iris):
    X, y = iris
    pairs, signs = draw_signed_pairs(y, 200)
    order = np.random.default_rng(0).permutation(200)
    pairs, signs = pairs[order], signs[order]
    whole = clone(learner).fit_pairs(X, pairs, y=signs)
    # LEGO takes its bounds from the first call.
    given = (
        {"target": np.where(signs > 0, *whole.bounds_), "sense": -signs} if hasattr(whole, "bounds_") else {"y": signs}
    )
    parts = clone(learner)
    for part in (slice(0, 90), slice(90, 200)):
        parts.partial_fit_pairs(X, pairs[part], **{name: values[part] for name, values in given.items()})
    assert np.allclose(parts.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("learner", STREAMS, ids=class_name)
def test_labels_can_be_streamed(learner, wine):
    X, y = wine
    model = clone(learner).partial_fit(X[::2], y[::2])
    first = model.components_
    assert np.array_equal(first, clone(learner).fit(X[::2], y[::2]).components_)
    assert not np.array_equal(model.partial_fit(X[1::2], y[1::2]).components_, first)
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(X[:, :5], y)


@pytest.mark.parametrize("learner", BOUNDED, ids=class_name)
def test_the_prior_is_where_it_starts(learner, wine):
    X, y = wine
    pairs, _ = draw_signed_pairs(y, 50)
    z = differences(X, pairs)
    for prior, A in [
        ("identity", np.eye(13)),
        ("covariance", np.linalg.inv(np.cov(X.T))),
        (np.diag(np.arange(1.0, 14)), np.diag(np.arange(1.0, 14))),
    ]:
        # Every constraint holds, so A does not change.
        model = (
            clone(learner)
            .set_params(prior=prior)
            .fit_pairs(X, pairs, target=1.01 * squared_lengths(A, z), sense="at most")
        )
        assert np.allclose(model.get_mahalanobis_matrix(), A, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("learner", BOUNDED, ids=class_name)
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("euclid", "prior='euclid' is unknown"),
        (np.eye(3), r"prior has shape \(3, 3\); expected .* = \(13, 13\)"),
        (-np.eye(13), "not a symmetric positive definite"),
        ("covariance", "covariance of X is singular"),
    ],
)
def test_bad_priors_are_refused(learner, wine, prior, message):
    X, y = wine
    X = np.hstack([X[:, :12], X[:, :1]])
    with pytest.raises(ValueError, match=message):
        clone(learner).set_params(prior=prior).fit(X, y)


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_coincident_samples_say_nothing(learner, iris):
    X, y = iris
    pairs, signs = draw_signed_pairs(y, 80)
    twice = np.vstack([X, X])
    more = np.vstack([pairs, [[0, 150], [7, 157]]])
    model, known = (clone(learner) for _ in range(2))
    model.fit_pairs(twice, more, y=np.r_[signs, 1, -1])
    known.fit_pairs(X, pairs, y=signs)
    for learned in ("bounds_", "bias_"):
        assert getattr(model, learned, None) == getattr(known, learned, None)
    assert np.array_equal(model.components_, known.components_)
    for learn in (model.fit_pairs, getattr(model, "partial_fit_pairs", model.fit_pairs)):
        with pytest.raises(ValueError, match="the samples of every pair coincide"):
            learn(twice, [[0, 150], [7, 157]], y=[1, -1])


# ITML


@pytest.fixture(params=[0.1, 1.0, 100.0])
def solved(request, wine):
    """Return a converged model, the differences of its pairs (m, d), the signs ρ (m,) and the bounds (m,)."""
    X, y = wine
    pairs, signs = draw_signed_pairs(y, 60)
    model = ITML(request.param, tol=1e-12, max_iter=20000).fit_pairs(X, pairs, y=signs)
    return model, differences(X, pairs), signs, np.where(signs > 0, *model.bounds_)


def test_itml_duals_give_the_matrix(solved):
    model, z, rho, _ = solved
    inverse = np.eye(13) + (z.T * (rho * model.dual_)) @ z
    assert np.allclose(model.get_mahalanobis_matrix() @ inverse, np.eye(13), atol=1e-8)
    assert np.linalg.eigvalsh(model.get_mahalanobis_matrix())[0] > 0


def test_itml_complementary_slackness(solved):
    model, z, rho, b = solved
    slacked = 1 / (1 / b - rho * model.dual_ / model.gamma)
    excess = rho * (squared_lengths(model.get_mahalanobis_matrix(), z) - slacked) / slacked
    assert model.converged_
    assert (model.dual_ >= 0).all()
    assert excess.max() < 1e-7
    active = model.dual_ > 0
    assert 0 < active.sum() < len(active)
    assert np.abs(excess[active]).max() < 1e-7


def logdet_objective(model, z, rho, b, A):
    """Return D(A, I) + γ Σ D(ξ, b), minimised over ξ: b if the bound holds, else zᵀAz; for ρ = 0 always zᵀAz."""
    p = squared_lengths(A, z)
    slacked = np.where((rho * (p - b) > 0) | (rho == 0), p, b)
    slack = np.sum(slacked / b - np.log(slacked / b) - 1)
    return np.trace(A) - np.linalg.slogdet(A)[1] - len(A) + model.gamma * slack


def test_itml_is_the_minimum(rng, solved):
    model, z, rho, b = solved
    A = model.get_mahalanobis_matrix()
    least = logdet_objective(model, z, rho, b, A)
    for _ in range(20):
        E = rng.standard_normal(A.shape)
        nearby = A + 1e-3 * model.components_ @ (E + E.T) @ model.components_
        assert logdet_objective(model, z, rho, b, nearby) > least


@pytest.mark.parametrize(("sense", "b"), [(-1, 0.5), (-1, 9.0), (1, 40.0), (1, 0.5), (0, 0.5), (0, 40.0)])
def test_itml_with_one_pair_has_a_closed_form(sense, b):
    z, gamma = np.array([1.0, 2.0]), 3.0
    model = ITML(gamma, tol=1e-14).fit_pairs(np.array([z, [0, 0]]), [[0, 1]], target=b, sense=sense)
    # A⁻¹ = I + ρλ z zᵀ and ξ = zᵀAz: 1/p = 1/‖z‖² + ρλ and 1/p = 1/b - ρλ/γ.
    rho_lambda = gamma / (gamma + 1) * (1 / b - 1 / 5)
    if sense * rho_lambda > 0:
        rho_lambda = 0
    A = np.linalg.inv(np.eye(2) + rho_lambda * np.outer(z, z))
    assert np.allclose(model.get_mahalanobis_matrix(), A, rtol=1e-9)


def test_itml_does_not_see_units(iris):
    X, y = iris
    small, large = (ITML(random_state=0).fit(c * X, y).get_mahalanobis_matrix() for c in (1e-6, 1e6))
    assert np.allclose(small, large, rtol=1e-6)


def test_itml_says_when_it_has_not_converged(iris):
    with pytest.warns(ConvergenceWarning, match="max_iter=2 cycles"):
        model = ITML(max_iter=2, random_state=0).fit(*iris)
    assert not model.converged_
    assert model.n_iter_ == 2
    with pytest.raises(ValueError, match="target is 0"):
        ITML().fit_pairs(iris[0], [[0, 1]], target=0.0, sense="at most")


@pytest.mark.parametrize("model", [ITML(max_iter=1, random_state=0), LMNN(max_iter=1)], ids=class_name)
def test_a_fit_that_did_not_converge_is_stored_where_warnings_are_errors(model, iris):
    with pytest.raises(ConvergenceWarning, match="not converged after max_iter=1"):
        model.fit(*iris)
    assert (model.n_iter_, model.converged_) == (1, False)
    assert model.transform(iris[0]).shape == (150, 4)


# LEGO


def fit_one_pair(eta, target, sense, z):
    return LEGO(eta).fit_pairs(np.array([z, 0 * z]), [[0, 1]], target=target, sense=sense)


@pytest.mark.parametrize("target", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("eta", [1e-3, 1.0, 1e3])
def test_lego_takes_the_exact_step(eta, target, rng):
    z = rng.standard_normal(3)
    A = fit_one_pair(eta, target, "equal", z).get_mahalanobis_matrix()
    p, s = z @ z, z @ A @ z
    # The gradient is taken at the new A; the published update gives the same matrix.
    assert np.allclose(np.linalg.inv(A), np.eye(3) + eta * (s - target) * np.outer(z, z), rtol=1e-6, atol=1e-6)
    update = eta * (s - target) / (1 + eta * (s - target) * p)
    assert np.allclose(A, np.eye(3) - update * np.outer(z, z), rtol=1e-6, atol=1e-8)


def test_lego_step_is_the_minimum(rng):
    eta, target, z = 0.5, 1.0, rng.standard_normal(3) + 1

    def objective(A):
        return np.trace(A) - np.linalg.slogdet(A)[1] + 0.5 * eta * (z @ A @ z - target) ** 2

    A = fit_one_pair(eta, target, "at most", z).get_mahalanobis_matrix()
    best = minimize(lambda g: objective(g.reshape(3, 3) @ g.reshape(3, 3).T), np.eye(3).ravel(), tol=1e-12)
    assert np.isclose(objective(A), best.fun, rtol=1e-8)


def test_lego_moves_for_violated_pairs_only():
    z = np.array([1.0, 1.0])
    for sense, target, moves in [(-1, 1, 1), (-1, 3, 0), (1, 3, 1), (1, 1, 0), (0, 2, 0), (0, 1, 1)]:
        model = fit_one_pair(0.1, target, sense, z)
        assert model.n_updates_ == moves
        assert np.allclose(model.components_, np.eye(2)) == (not moves)


@pytest.mark.parametrize("eta", [1e-6, 1.0, 1e3, 1e6])
def test_lego_is_positive_definite_under_wild_steps(eta, rng):
    X = rng.standard_normal((60, 6)) * np.logspace(-2, 2, 6)
    pairs, signs = draw_signed_pairs(rng.integers(2, size=60), 500)
    A = LEGO(eta, n_epochs=3).fit_pairs(X, pairs, y=signs).get_mahalanobis_matrix()
    assert np.linalg.eigvalsh(A)[0] > 1e-12 * np.trace(A)


def test_lego_keeps_the_bounds_of_a_stream(iris):
    X, y = iris
    pairs, signs = draw_signed_pairs(y, 100)
    model = LEGO().partial_fit_pairs(X, pairs, y=signs)
    bounds = model.bounds_
    again = clone(model).fit_pairs(X, pairs, y=signs)
    again.partial_fit_pairs(10 * X, pairs, target=np.where(signs > 0, *bounds), sense=-signs)
    model.partial_fit_pairs(10 * X, pairs, y=signs)
    assert model.bounds_ == bounds
    assert np.array_equal(model.components_, again.components_)
    with pytest.raises(ValueError, match="y stands in place of target"):
        model.partial_fit_pairs(X, pairs, signs, target=1.0)


# POLA


@pytest.mark.parametrize("sign", [1, -1])
def test_pola_projects_onto_the_nearest_point(sign, rng):
    root, z = rng.standard_normal((3, 3)), rng.standard_normal(3)
    A = root @ root.T
    # The margin is violated.
    b = z @ A @ z - 0.5 * sign
    moved, bias = project_onto_pair(A, b, z, sign)
    assert np.isclose(sign * (bias - z @ moved @ z), 1)

    def distance(x):
        return np.sum((x[:9].reshape(3, 3) - A) ** 2) + (x[9] - b) ** 2

    margin = {"type": "ineq", "fun": lambda x: sign * (x[9] - z @ x[:9].reshape(3, 3) @ z) - 1}
    best = minimize(distance, np.zeros(10), constraints=[margin], method="SLSQP", options={"ftol": 1e-14})
    assert np.allclose(np.r_[moved.ravel(), bias], best.x, atol=1e-5)
    assert project_onto_pair(moved, bias + sign * 1e-9, z, sign)[0] is moved


def test_pola_projects_onto_the_cone(rng):
    root, z = rng.standard_normal((3, 3)), rng.standard_normal(3)
    outside = root @ root.T - 30 * np.outer(z, z)
    A, b = project_onto_cone(outside, 0.2, 1)
    assert np.linalg.eigvalsh(outside)[0] < -0.1
    assert np.linalg.eigvalsh(A)[0] > -1e-12
    assert b == 1
    nearest = minimize(
        lambda g: np.sum((g.reshape(3, 3) @ g.reshape(3, 3).T - outside) ** 2), np.eye(3).ravel(), tol=1e-12
    )
    G = nearest.x.reshape(3, 3)
    assert np.allclose(A, G @ G.T, atol=1e-5)


def test_pola_ends_on_the_right_side_of_a_far_pair():
    z = np.array([1.0, 2.0])
    X, pairs = np.array([z, [0, 0], [0, 1e-3]]), [[1, 2], [0, 1]]
    model = POLA().fit_pairs(X, pairs, y=[1, -1])
    # At A = 0, b = 1 the constraint of the near pair holds, and that of the far pair is zᵀAz >= b + 1.
    moved, bias = project_onto_pair(np.zeros((2, 2)), 1.0, z, -1)
    assert model.n_updates_ == 1
    assert model.bias_ == max(1, bias)
    assert model.threshold_ == model.bias_**0.5
    assert np.allclose(model.get_mahalanobis_matrix(), moved)
    assert np.array_equal(model.predict(X, pairs), [1, -1])


def test_pola_does_not_take_signs_for_targets(iris):
    model = POLA()
    for learn in (model.fit_pairs, model.partial_fit_pairs):
        with pytest.raises(TypeError, match="positional"):
            learn(iris[0], [[0, 1], [0, 149]], [1, -1], 4.0)


def test_pola_learns_from_pairs_of_one_kind():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    near, far = (POLA().partial_fit_pairs(X, [[0, 1]], y=[sign]) for sign in (1, -1))
    # At A = 0 all distances are 0.
    assert not near.components_.any()
    assert far.pair_distance(X, [[0, 1]])[0] > far.threshold_


def test_pola_separates_what_can_be_separated(rng):
    X = rng.standard_normal((40, 3))
    X[20:, 0] += 10
    pairs, signs = draw_signed_pairs(np.repeat([0, 1], 20), 200)
    model = POLA(n_epochs=30).fit_pairs(X, pairs, y=signs)
    margin = signs * (model.bias_ - model.pair_distance(X, pairs) ** 2)
    assert margin.min() > 0
    assert np.array_equal(model.predict(X, pairs), signs)
    assert POLA(n_epochs=30).fit_pairs(X, pairs, y=signs).n_updates_ == model.n_updates_


@pytest.mark.parametrize("learner", [ITML(), LEGO()], ids=class_name)
def test_singular_priors_are_refused_whatever_the_rounding(learner, iris, rng):
    X, y = iris
    for _ in range(20):
        B = rng.standard_normal((4, 3)) * 10.0 ** rng.integers(-6, 7)
        with pytest.raises(
            ValueError, match=r"prior is not .* definite matrix: its eigenvalues .*multiple of the identity"
        ):
            clone(learner).set_params(prior=B @ B.T).fit(X, y)
    with pytest.raises(ValueError, match="prior is not"):
        clone(learner).set_params(prior=np.zeros((4, 4))).fit(X, y)


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_pairs_of_indices_stand_for_samples_of_a_preprocessor(learner, iris):
    X, labels = iris
    pairs, y = draw_signed_pairs(labels, 120)
    given = clone(learner).fit_pairs(X, pairs, y)
    points = clone(learner).fit(X[pairs], y)
    np.testing.assert_allclose(points.components_, given.components_, rtol=1e-6, atol=1e-9)
    assert points.threshold_ == pytest.approx(given.threshold_)
    for table in (X, pd.DataFrame(X)):
        by_index = clone(learner).set_params(preprocessor=table)
        np.testing.assert_array_equal(by_index.fit(pairs, y).components_, given.components_)
        np.testing.assert_array_equal(by_index.predict(pairs), given.predict(X, pairs))
        assert by_index.score(pairs, y) == given.score(X, pairs, y)
        np.testing.assert_array_equal(by_index.fit_pairs(pairs, y).components_, given.components_)
        if hasattr(learner, "partial_fit"):
            by_index.partial_fit(pairs[:30], y[:30])
            given.partial_fit(X[pairs[:30]], y[:30])
            np.testing.assert_allclose(by_index.components_, given.components_, rtol=1e-6, atol=1e-9)
            given = clone(learner).fit_pairs(X, pairs, y)


@pytest.mark.parametrize("learner", LEARNERS, ids=class_name)
def test_indices_with_labels_stand_for_samples_of_a_preprocessor(learner, iris):
    X, y = iris
    rows = np.arange(0, 150, 3)
    by_index = clone(learner).set_params(preprocessor=X).fit(rows, y[rows])
    np.testing.assert_array_equal(by_index.components_, clone(learner).fit(X[rows], y[rows]).components_)
    np.testing.assert_array_equal(by_index.transform([0, 5]), by_index.transform(X[[0, 5]]))
    np.testing.assert_allclose(by_index.pair_distance([[0, 5]]), by_index.pair_distance(X, [[0, 5]]))
    with pytest.raises(ValueError, match="calibration_params is given, but X holds samples"):
        POLA().fit(X, y, calibration_params={})


@pytest.mark.parametrize("kind", [np.int8, np.float16, float, object])
@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_signs_may_be_of_any_dtype(learner, kind, iris):
    X, y = iris
    pairs, signs = draw_signed_pairs(y, 60)
    plain, model = (clone(learner).fit_pairs(X, pairs, each) for each in (signs, signs.astype(kind)))
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert model.threshold_ == plain.threshold_


@pytest.mark.parametrize("learner", OF_PAIRS, ids=class_name)
def test_unsigned_signs_say_near(learner, iris):
    X, y = iris
    near, signs, matrices = draw_signed_pairs(y, 60)[0][:30], np.ones(30, int), []
    for each in (signs, signs.astype(np.uint8)):
        if isinstance(learner, POLA):
            model = clone(learner).fit(X, y).partial_fit_pairs(X, near, each)
        else:
            model = clone(learner).fit_pairs(X, near, each, bounds=(1.0, 20.0))
        matrices.append(model.components_)
    np.testing.assert_array_equal(*matrices)
