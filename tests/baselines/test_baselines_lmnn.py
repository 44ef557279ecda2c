"""LMNN minimises its objective. Behaviour shared with other baselines is in test_baselines_mahalanobis.py."""

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from gramian.baselines import LMNN, lmnn
from gramian.baselines._impostors import all_triplets, count_triplets, find_violations, lmnn_objective, merge_triplets
from gramian.solvers import Ending
from gramian.supervision import nearest_triplets


def load_standardised(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris():
    return load_standardised(load_iris)


@pytest.fixture(scope="module")
def wine():
    return load_standardised(load_wine)


class Part(NamedTuple):
    """How many triplets a problem was built of, and how many each of them stands for."""

    count: int
    copies: int


def spy_on_parts(monkeypatch):
    """Return a list to which every problem that is built adds its `Part`."""
    used, build = [], lmnn.build_problem

    def build_and_note(situation, targets, triplets, mu, width, copies=1):
        used.append(Part(len(triplets), copies))
        return build(situation, targets, triplets, mu, width, copies)

    monkeypatch.setattr(lmnn, "build_problem", build_and_note)
    return used


def hinges(Z, triplets):
    """The sum of the hinges of triplets (m, 3) of mapped samples."""
    near, far = (np.sum((Z[triplets[:, 0]] - Z[triplets[:, k]]) ** 2, axis=1) for k in (1, 2))
    return np.sum(np.maximum(1 + near - far, 0))


def explicit_objective(X, y, k, mu):
    """Return the objective and gradient of a factor as a function, over all triplets, and the target pairs (k, 2)."""
    d = X.shape[1]
    targets = nearest_triplets(X, y, n_targets=k, n_impostors=1)[:, :2]
    triplets = np.array([(i, j, far) for i, j in targets for far in np.flatnonzero(y != y[i])])
    pull, near, far = (X[i] - X[j] for i, j in (targets.T, triplets[:, :2].T, triplets[:, [0, 2]].T))

    def objective(flat):
        G = flat.reshape(d, -1)
        hinge = 1 + np.sum((near @ G) ** 2, axis=1) - np.sum((far @ G) ** 2, axis=1)
        out = hinge > 0
        value = (1 - mu) * np.sum((pull @ G) ** 2) + mu * hinge[out].sum()
        M = (1 - mu) * pull.T @ pull + mu * (near[out].T @ near[out] - far[out].T @ far[out])
        return value, (2 * M @ G).ravel()

    return objective, targets


@pytest.mark.filterwarnings("ignore:not converged")
def test_lmnn_of_wide_data_is_solved_in_the_span(rng):
    y = np.repeat([0, 1, 2], 10)
    X = rng.standard_normal((30, 40)) + y[:, None]
    wide = LMNN(tol=1e-5).fit(X, y)
    assert wide.components_.shape == (29, 40)
    assert wide.objective_ <= 1.01 * LMNN(tol=1e-5, init=np.eye(40)).fit(X, y).objective_
    # With so many more features, it would take half a minute in all directions.
    X = rng.standard_normal((60, 1200)) + np.tile(y, 2)[:, None]
    assert LMNN().fit(X, np.tile(y, 2)).components_.shape == (59, 1200)


@pytest.mark.parametrize(("load", "mu", "k"), [(load_iris, 0.5, 3), (load_iris, 0.2, 1), (load_wine, 0.5, 3)])
def test_lmnn_reaches_the_least_objective(load, mu, k):
    X, y = (part[::3] for part in load_standardised(load))
    objective, targets = explicit_objective(X, y, k, mu)
    best = minimize(objective, np.eye(X.shape[1]).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 3000})
    model = LMNN(n_neighbors=k, mu=mu, tol=1e-5).fit(X, y)
    assert model.converged_
    assert np.isclose(model.objective_, objective(model.components_.T.ravel())[0], rtol=1e-9)
    assert np.isclose(model.objective_, lmnn_objective(model.transform(X), y, targets, mu), rtol=1e-9)
    assert model.objective_ <= best.fun * (1 + 1e-3)


def test_lmnn_reaches_it_from_raw_features_too():
    X, y = (part[::3] for part in load_wine(return_X_y=True))
    objective, _ = explicit_objective(X, y, 3, 0.5)
    scale = 1 / X.std(axis=0)[:, None]

    def objective_on_standardised(flat):
        value, slope = objective((scale * flat.reshape(13, 13)).ravel())
        return value, (scale * slope.reshape(13, 13)).ravel()

    best = minimize(
        objective_on_standardised, np.eye(13).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 3000}
    )
    model = LMNN().fit(X, y)
    assert model.converged_
    assert model.objective_ <= best.fun * (1 + 1e-2)


def test_lmnn_is_converged_only_where_a_smaller_tol_gains_little():
    X, y = load_wine(return_X_y=True)
    coarse, fine = (LMNN(tol=tol).fit(X, y) for tol in (1e-4, 1e-6))
    assert coarse.converged_
    assert fine.converged_
    assert fine.objective_ <= coarse.objective_ <= fine.objective_ * (1 + 1e-2)


def test_lmnn_does_not_take_rounds_cut_short_for_convergence(iris, monkeypatch):
    monkeypatch.setattr("gramian.baselines.lmnn.ROUND_LENGTH", 1)
    with pytest.warns(ConvergenceWarning, match="max_iter=5 rounds"):
        # The change between rounds is below tol; only the limit of iterations shows that it has not converged.
        assert not LMNN(max_iter=5, tol=0.5).fit(*iris).converged_


def test_lmnn_knows_of_all_impostors_in_the_end(iris):
    X, y = iris
    few, many = (LMNN(n_impostors=m, tol=1e-5).fit(X, y).objective_ for m in (1, 100))
    assert np.isclose(few, many, rtol=1e-3)


def test_lmnn_does_not_see_units(iris):
    X, y = iris
    plain = LMNN().fit(X, y).objective_
    for unit in (2.0**-400, 2.0**-20, 2.0**20, 2.0**400):
        assert np.isclose(LMNN().fit(unit * X, y).objective_, plain, rtol=1e-6)


def test_lmnn_of_low_rank(wine):
    X, y = wine
    model = LMNN(2).fit(X, y)
    assert model.transform(X).shape == (178, 2)
    assert KNeighborsClassifier(3).fit(model.transform(X), y).score(model.transform(X), y) > 0.97
    assert model.objective_ > LMNN().fit(X, y).objective_ * 0.999
    with pytest.raises(ValueError, match="n_components=14 exceeds n_features=13"):
        LMNN(14).fit(X, y)


def test_lmnn_says_when_it_has_not_converged(iris):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        assert not LMNN(max_iter=1).fit(*iris).converged_


def hard_problem(seed):
    """Return samples whose classes overlap in every plane, so that most triplets violate the margin."""
    X, y = make_classification(200, 10, n_informative=5, random_state=seed)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("seed", [0, 1])
def test_lmnn_takes_all_triplets_of_a_hard_problem(seed):
    X, y = hard_problem(seed)
    model = LMNN(1).fit(X, y)
    everything = LMNN(1, n_impostors=len(X)).fit(X, y)
    assert model.converged_
    # Rounds that add some violated triplets at a time take 7 or 8, and one ended 15% above.
    assert model.n_iter_ <= 6
    assert model.objective_ <= everything.objective_ * (1 + 1e-4)
    objective, _ = explicit_objective(X, y, 3, 0.5)
    assert np.isclose(model.objective_, objective(model.components_.T.ravel())[0], rtol=1e-9)


def test_lmnn_of_a_hard_problem_within_its_memory(monkeypatch):
    monkeypatch.setattr("gramian.baselines.lmnn.TRIPLETS_IN_PART", 2000)
    monkeypatch.setattr("gramian.baselines.lmnn.TRIPLETS_IN_MEMORY", 3000)
    used = spy_on_parts(monkeypatch)
    X, y = hard_problem(0)
    limited = LMNN(2).fit(X, y)
    assert limited.converged_
    first = next(i for i, part in enumerate(used) if part.copies > 1)
    after = next(part for part in used[first:] if part.copies == 1)
    assert after.count <= 5000
    monkeypatch.undo()
    assert LMNN(2).fit(X, y).objective_ <= limited.objective_ * (1 + 1e-4)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4, 5])
def test_the_objective_is_that_of_the_distance_wherever_rounds_end(max_iter):
    X, y = hard_problem(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LMNN(1, max_iter=max_iter).fit(X, y)
    objective, _ = explicit_objective(X, y, 3, 0.5)
    assert np.isclose(model.objective_, objective(model.components_.T.ravel())[0], rtol=1e-9)


def test_the_metric_knows_a_feature_of_one_sample(monkeypatch):
    X, y = make_blobs(2500, 20, centers=3, random_state=0)
    rare = np.zeros(len(X))
    rare[1] = 50.0
    moments, make = [], lmnn.make_whitened_geometry

    def make_and_note(*args, **settings):
        geometry = make(*args, **settings)
        moments.append(geometry.moment)
        return geometry

    monkeypatch.setattr(lmnn, "make_whitened_geometry", make_and_note)
    LMNN(2).fit(np.column_stack([X, rare]), y)
    # In every fourth row, which would be enough for the others, it is zero.
    variances = np.diag(moments[0])
    assert variances[-1] / variances[0] == pytest.approx(np.var(rare) / np.var(X[:, 0]), rel=1e-3)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_part_of_many_triplets_leads_to_the_same_objective(seed, monkeypatch):
    X, y = hard_problem(seed)
    whole = LMNN(2).fit(X, y)
    monkeypatch.setattr("gramian.baselines.lmnn.TRIPLETS_IN_PART", 1000)
    part = LMNN(2).fit(X, y)
    assert part.converged_
    assert part.objective_ <= whole.objective_ * (1 + 1e-3)
    objective, _ = explicit_objective(X, y, 3, 0.5)
    assert np.isclose(part.objective_, objective(part.components_.T.ravel())[0], rtol=1e-9)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_violations_are_the_worst_of_each_target_pair(rng, most, monkeypatch):
    monkeypatch.setattr("gramian.baselines._impostors.DISTANCES_IN_MEMORY", 50)
    Z, y = rng.standard_normal((20, 2)), np.arange(20) % 3
    targets = np.array([[i, (i + 3) % 18] for i in range(18)])
    objective, found = find_violations(Z, y, targets, 0.3, most)
    hinge, wanted = 0.0, set()
    near = np.sum((Z[targets[:, 0]] - Z[targets[:, 1]]) ** 2, axis=1)
    for (i, j), squared in zip(targets.tolist(), near, strict=True):
        excess = {far: 1 + squared - np.sum((Z[i] - Z[far]) ** 2) for far in np.flatnonzero(y != y[i]).tolist()}
        violated = sorted((far for far in excess if excess[far] > 0), key=excess.__getitem__)[::-1]
        hinge += sum(excess[far] for far in violated)
        wanted |= {(i, j, far) for far in violated[:most]}
    assert np.isclose(objective, 0.7 * near.sum() + 0.3 * hinge)
    assert {tuple(row) for row in found.tolist()} == wanted
    assert len(found) == len(wanted)


def test_triplets_are_merged_and_enumerated(rng):
    known, found = (np.array(rows) for rows in ([[2, 0, 1], [0, 2, 1]], [[1, 0, 2], [2, 0, 1], [2, 0, 1]]))
    assert merge_triplets([known, found], 3).tolist() == [[0, 2, 1], [1, 0, 2], [2, 0, 1]]
    y, targets = np.array([0, 1, 0, 2, 1]), np.array([[0, 2], [1, 4], [4, 1]])
    expected = [(i, j, far) for i, j in targets.tolist() for far in range(5) if y[far] != y[i]]
    assert all_triplets(y, targets).tolist() == [list(row) for row in expected]
    assert count_triplets(y, targets) == len(expected)


def test_a_part_of_all_triplets_has_every_pair_and_impostor(rng):
    y = rng.integers(3, size=60)
    pairs = np.array([(i, j) for i in range(60) for j in range(60) if i != j and y[i] == y[j]])
    everything, part = all_triplets(y, pairs), all_triplets(y, pairs, 7)
    assert len(part) == pytest.approx(len(everything) / 7, rel=0.05)
    assert {tuple(row) for row in part.tolist()} <= {tuple(row) for row in everything.tolist()}
    assert np.all(np.diff(part[:, 0]) >= 0)
    np.testing.assert_array_equal(np.unique(part[:, :2], axis=0), np.unique(pairs, axis=0))
    np.testing.assert_array_equal(np.unique(part[:, 2]), np.arange(60))


def test_many_triplets_are_learned_from_in_part(monkeypatch):
    X, y = make_blobs(300, 6, centers=8, cluster_std=3.0, random_state=0)
    whole = LMNN(2).fit(X, y)
    monkeypatch.setattr(lmnn, "TRIPLETS_IN_PART", 20_000)
    used = spy_on_parts(monkeypatch)
    part = LMNN(2).fit(X, y)
    assert part.converged_
    assert part.objective_ <= 1.06 * whole.objective_
    copies = [each.copies for each in used]
    assert max(copies) == 12
    assert copies[-1] == 1


def test_a_part_has_the_hinges_of_all_triplets(rng):
    y = rng.integers(4, size=200)
    pairs = np.array([(i, j) for i in range(200) for j in range(i) if y[i] == y[j]])
    Z = rng.standard_normal((200, 2))
    sums = [stride * hinges(Z, all_triplets(y, pairs, stride)) for stride in (1, 9, 12)]
    np.testing.assert_allclose(sums[1:], sums[0], rtol=0.01)


def test_the_start_is_chosen_by_name_or_given(iris):
    X, y = iris
    usual = {rank: LMNN(rank).fit(X, y) for rank in (None, 2)}
    for rank, name in ((None, "identity"), (2, "pca")):
        np.testing.assert_array_equal(LMNN(rank, init=name).fit(X, y).components_, usual[rank].components_)
    given = LMNN(init=3 * np.eye(4)).fit(X, y)
    np.testing.assert_allclose(given.components_, usual[None].components_, atol=1e-8)
    # At full rank the problem is convex in W.
    for name in ("lda", "pca"):
        assert LMNN(init=name).fit(X, y).objective_ == pytest.approx(usual[None].objective_, rel=1e-2)
    assert LMNN(2, init="lda").fit(X, y).components_.shape == (2, 4)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("random", "init='random' is unknown. Choose one of 'auto', 'identity', 'lda', 'pca', or an array"),
        (np.eye(3), r"init has shape \(3, 3\); expected \(n_features, rank\) = \(4, 2\)"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(init, message, iris):
    with pytest.raises(ValueError, match=message):
        LMNN(2, init=init).fit(*iris)


def test_rounds_that_no_step_lowers_end_the_fit_and_say_so(wine, monkeypatch):
    """Further rounds would not help, and neither would a larger max_iter."""

    descend = lmnn.minimize

    def get_stuck(*args, **options):
        return replace(descend(*args, **options), ending=Ending.STUCK)

    monkeypatch.setattr(lmnn, "minimize", get_stuck)
    with pytest.warns(ConvergenceWarning, match="no step lowers the objective.*Scale the features") as caught:
        model = LMNN(2, max_iter=40).fit(*wine)
    assert "max_iter" not in str(caught[0].message)
    assert model.n_iter_ < 40
    assert not model.converged_
    assert model.message_ == Ending.STUCK.value
