"""The baselines that learn kernels: optimality conditions, references, and shared behaviour."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian.baselines import KernelSpectralRegression, LogDetKL, MaximumVarianceUnfolding, logdet_kl
from gramian.baselines.neighbours import kernel_distances, neighbour_edges
from gramian.baselines.spectral_regression import build_graph

SUPERVISED = [LogDetKL, KernelSpectralRegression]
# That kernels of every numeric type are accepted is tested by test_kernels_given_in_any_type of test_kernel.py instead.
CAST_TO_INTEGERS = "a kernel cast to integers, which has eigenvalues down to -7 % of the largest, is refused"


@parametrize_with_checks(
    [
        *(kind(**settings) for kind in SUPERVISED for settings in ({}, {"kernel": "rbf"}, {"kernel": "precomputed"})),
        LogDetKL(kernel="rbf", center=False),
    ],
    expected_failed_checks=lambda model: (
        {"check_estimators_dtypes": CAST_TO_INTEGERS} if model.kernel == "precomputed" else {}
    ),
)
@pytest.mark.filterwarnings("ignore:the centred kernel has negative eigenvalues:UserWarning")
def test_estimator_check(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    """Return samples (60, 6) and labels of two overlapping classes, which differ in the first feature only."""
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 6))
    X[:, 0] += 2 * y
    return X, y


@pytest.fixture
def bounds(rng, data):
    """Return pairs, targets near the distances of the data, and senses of all three kinds."""
    X, _ = data
    pairs = np.array([[i, (i + s) % 60] for s in (1, 7) for i in range(60)])
    before = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    sense = rng.integers(-1, 2, size=len(pairs))
    return pairs, before * rng.uniform(0.5, 1.8, size=len(pairs)), sense


def squared_distances(Z, pairs):
    return np.sum((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2, axis=1)


def kernel_pca(X, rank):
    """Return the embedding (n, rank) of the kernel PCA of a linear kernel."""
    return KernelPCA(rank).fit_transform(X)


def recover_core(model, start):
    """Return B Bᵀ of K = G₀ B Bᵀ G₀ᵀ."""
    inverse = np.linalg.pinv(start)
    return inverse @ model.kernel_matrix() @ inverse.T


# Shared behaviour.


@pytest.mark.parametrize("kind", SUPERVISED)
def test_labels_improve_the_clustering_of_digits(kind):
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == label)[:60] for label in (3, 8, 9)])
    X, y = X[rows] / 16, y[rows]

    def agreement(Z):
        return normalized_mutual_info_score(y, KMeans(3, n_init=10, random_state=0).fit_predict(Z))

    assert agreement(kind(12, random_state=0).fit(X, y).embedding_) > agreement(kernel_pca(X, 12)) + 0.1


@pytest.mark.parametrize("kind", SUPERVISED)
def test_transform_maps_training_samples_to_their_embedding(kind, data):
    X, y = data
    for kernel in ("linear", "rbf"):
        model = kind(3, kernel=kernel, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-10)
        np.testing.assert_allclose(model.kernel_matrix(X[:4]), model.kernel_matrix()[:4], atol=1e-10)


@pytest.mark.parametrize("kind", SUPERVISED)
def test_a_precomputed_kernel_gives_the_same_result(kind, data):
    X, y = data
    computed = kind(3, kernel="rbf", gamma=0.2, random_state=0).fit(X, y)
    given = kind(3, kernel="precomputed", random_state=0).fit(rbf_kernel(X, gamma=0.2), y)
    np.testing.assert_allclose(given.kernel_matrix(), computed.kernel_matrix(), atol=1e-10)
    rows = rbf_kernel(X[:4] + 0.1, X, gamma=0.2)
    np.testing.assert_allclose(given.kernel_matrix(rows), computed.kernel_matrix(X[:4] + 0.1), atol=1e-10)


@pytest.mark.parametrize("kind", SUPERVISED)
def test_sparse_float32_repeated_and_pickled_fits_agree(kind, data):
    X, y = data
    X = np.where(np.abs(X) > 0.5, X, 0)
    dense, again = (kind(3, random_state=0).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(again.embedding_, dense.embedding_)
    sparse = kind(3, random_state=0).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.kernel_matrix(), dense.kernel_matrix(), atol=1e-8)
    single = kind(3, random_state=0).fit(X.astype(np.float32), y)
    assert single.embedding_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.kernel_matrix(), dense.kernel_matrix(), atol=1e-3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(dense)).transform(X), dense.transform(X))


def test_distances_of_a_given_kernel(rng):
    X = 1e4 + np.vstack([rng.standard_normal((20, 3)), 1e-5 * rng.standard_normal((20, 3))])
    pairs = rng.integers(40, size=(200, 2))
    given = LogDetKL()._decompose(X)
    # The distances of near samples are smaller than the rounding errors of the kernel's entries.
    np.testing.assert_allclose(given.distances(pairs), squared_distances(X, pairs), rtol=1e-5, atol=1e-18)
    # Entries of a kernel with negative eigenvalues are not used.
    spoiled = replace(given, kernel=2 * given.kernel, least=-0.01)
    np.testing.assert_allclose(spoiled.distances(pairs), given.distances(pairs), rtol=1e-5, atol=1e-18)


BAD = {
    "NaN": ({}, lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
    "one class": ({}, lambda X, y: (X, 0 * y + 3), "y has one class only, .*3.*; labels of two classes or more"),
    "continuous y": ({}, lambda X, y: (X, y + 0.5 * X[:, 0]), "Unknown label type"),
    "rank above n": ({"rank": 61}, None, "rank=61 exceeds n_samples=60. Choose rank <= 60"),
    "rank 0": ({"rank": 0}, None, "rank=0 is not valid"),
    "n_pairs 0": ({"n_pairs": 0}, None, "n_pairs=0 is not valid"),
    "unknown kernel": ({"kernel": "round"}, None, "kernel='round' is unknown. Choose 'precomputed', .*'rbf'"),
    "kernel not square": ({"kernel": "precomputed"}, None, r"the kernel has shape \(60, 6\); expected a square matrix"),
}
LOGDET_BAD = {
    "rank above the kernel's": ({"rank": 7}, None, r"rank=7 exceeds the rank 6 of the centred kernel.*rank <= 6\.$"),
    "alpha 1": ({"alpha": 1.0}, None, "alpha=1.0 is not valid. Choose a number of at least 0 and below 1"),
    "slack 0": ({"slack": 0}, None, "slack=0 is not valid. Choose a number above 0"),
    "slack NaN": ({"slack": np.nan}, None, "slack=nan is not valid"),
    "max_iter 0": ({"max_iter": 0}, None, "max_iter=0 is not valid"),
    "negative tol": ({"tol": -1.0}, None, "tol=-1.0 is not valid"),
}
KSR_BAD = {
    "no ridge": ({"ridge": 0.0}, None, "ridge=0.0 is not valid. Choose a number above 0"),
    "negative n_neighbors": ({"n_neighbors": -1}, None, "n_neighbors=-1 is not valid"),
    "complete graph": (
        {"n_neighbors": 60, "n_pairs": 1},
        lambda X, y: (X, np.arange(60) == 0),
        "no positive eigenvalues",
    ),
}
CASES = [
    *((kind, *case) for kind in SUPERVISED for case in BAD.items()),
    *((LogDetKL, *case) for case in LOGDET_BAD.items()),
    *((KernelSpectralRegression, *case) for case in KSR_BAD.items()),
]


@pytest.mark.parametrize(("kind", "name", "case"), CASES, ids=[f"{k.__name__}-{n}" for k, n, _ in CASES])
def test_invalid_input_is_refused_and_leaves_the_model_unchanged(kind, name, case, data):
    settings, change, message = case
    X, y = data
    model = kind(3, random_state=0).fit(X, y)
    before = dict(vars(model.set_params(**settings)))
    with pytest.raises(ValueError, match=message):
        model.fit(*(change(X, y) if change else (X, y)))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())


@pytest.mark.parametrize("kind", [*SUPERVISED, MaximumVarianceUnfolding])
def test_use_before_fit(kind):
    with pytest.raises(NotFittedError):
        kind().kernel_matrix()


# LogDet-KL.


@pytest.mark.parametrize("slack", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("shuffle", [True, False])
def test_optimality(data, bounds, slack, shuffle):
    (X, _), (pairs, target, sense) = data, bounds
    settings = {"slack": slack, "shuffle": shuffle, "tol": 1e-12, "max_iter": 20000, "random_state": 0}
    model = LogDetKL(4, **settings).fit_pairs(X, pairs, target, sense)
    start, dual = kernel_pca(X, 4), model.dual_
    # The gradient vanishes ...
    V = start[pairs[:, 0]] - start[pairs[:, 1]]
    core = recover_core(model, start)
    np.testing.assert_allclose(core @ (np.eye(4) + (V.T * dual) @ V), np.eye(4), atol=1e-9)
    # ... dual variables have the signs of their bounds and are 0 for inactive bounds; active bounds hold with equality.
    assert (dual[sense < 0] >= 0).all()
    assert (dual[sense > 0] <= 0).all()
    slackened = 1 / (1 / target - dual / slack)
    excess = squared_distances(model.embedding_, pairs) / slackened - 1
    active = (sense == 0) | (dual != 0)
    assert 0.1 < active.mean() < 0.95
    np.testing.assert_allclose(excess[active], 0, atol=1e-8)
    assert (excess * sense)[~active].min() >= -1e-8


def test_the_order_of_pairs_does_not_matter(data, bounds):
    (X, _), (pairs, target, sense) = data, bounds
    order = np.random.default_rng(1).permutation(len(pairs))
    found = [
        LogDetKL(4, tol=1e-10, max_iter=20000, shuffle=shuffle).fit_pairs(X, pairs[o], target[o], sense[o])
        for shuffle in (True, False)
        for o in (np.arange(len(pairs)), order)
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.kernel_matrix(), found[0].kernel_matrix(), atol=1e-6)


def test_shuffling_many_pairs_takes_fewer_sweeps(data):
    X, y = data
    shuffled = LogDetKL(4, n_pairs=5000, random_state=0).fit(X, y)
    assert shuffled.converged_
    with pytest.warns(ConvergenceWarning):
        clone(shuffled).set_params(shuffle=False, max_iter=10 * shuffled.n_iter_).fit(X, y)


def test_equals_projections_of_the_whole_kernel(data, bounds):
    """Compare with the recursion of ITML on the whole K, in the published order."""
    (X, _), (pairs, target, sense) = data, bounds
    start = kernel_pca(X, 4)
    K, gamma, xi, lam = start @ start.T, 2.0, target.copy(), np.zeros(len(pairs))
    for _ in range(3):
        for e, (i, j) in enumerate(pairs):
            p, rho = K[i, i] + K[j, j] - 2 * K[i, j], -1 if sense[e] > 0 else 1
            alpha = gamma / (gamma + 1) * rho * (1 / p - 1 / xi[e])
            alpha = alpha if sense[e] == 0 else min(lam[e], alpha)
            lam[e] -= alpha
            xi[e] = 1 / (1 / xi[e] + rho * alpha / gamma)
            q = K[:, i] - K[:, j]
            K = K + rho * alpha / (1 - rho * alpha * p) * np.outer(q, q)
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter=3 sweeps") as caught:
        model = LogDetKL(4, slack=gamma, shuffle=False, max_iter=3, tol=0).fit_pairs(X, pairs, target, sense)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(model.kernel_matrix(), K, atol=1e-9)
    np.testing.assert_allclose(np.abs(model.dual_), np.abs(lam), atol=1e-9)


def test_one_equality_has_a_closed_form(data):
    X, _ = data
    start = kernel_pca(X, 3)
    v = start[0] - start[9]
    p = v @ v
    for slack in (0.5, np.inf):
        model = LogDetKL(3, slack=slack, tol=1e-14).fit_pairs(X, [[0, 9]], 2.5)
        # μ = 1/x - 1/p and 1/x = 1/b - μ/γ, where x is the final squared distance.
        dual = (1 / 2.5 - 1 / p) / (1 + 1 / slack)
        assert model.dual_[0] == pytest.approx(dual)
        np.testing.assert_allclose(
            recover_core(model, start), np.eye(3) - dual / (1 + dual * p) * np.outer(v, v), atol=1e-9
        )


def test_feasible_equalities_hold_without_slack(rng, data):
    X, _ = data
    start = kernel_pca(X, 4)
    wanted = start @ rng.standard_normal((4, 4))
    pairs = np.array([[i, j] for i in range(12) for j in range(i)])
    target = squared_distances(wanted, pairs)
    model = LogDetKL(4, slack=np.inf, tol=1e-12, max_iter=20000, random_state=0).fit_pairs(X, pairs, target)
    np.testing.assert_allclose(squared_distances(model.embedding_, pairs), target, rtol=1e-6)
    # 66 pairs determine the 10 entries of the core.
    np.testing.assert_allclose(model.kernel_matrix(), wanted @ wanted.T - centring_change(wanted), atol=1e-5)


def centring_change(G):
    """Return the difference of G Gᵀ and the centred G Gᵀ, (n, n)."""
    C = np.eye(len(G)) - 1 / len(G)
    return G @ G.T - C @ G @ G.T @ C


def test_the_range_space_does_not_change(data):
    X, y = data
    for center in (True, False):
        model = LogDetKL(3, kernel="rbf", center=center, random_state=0).fit(X, y)
        start = clone(model).set_params(alpha=0.0).fit_pairs(X, [[0, 1]], 1e-9, "at least").embedding_
        left = model.embedding_ - start @ np.linalg.lstsq(start, model.embedding_, rcond=None)[0]
        assert np.abs(left).max() < 1e-13
        assert np.abs(model.embedding_ - start).max() > 0.01


def test_bounds_that_already_hold_change_nothing(data):
    X, _ = data
    pairs = [[0, 1], [2, 3], [4, 5]]
    model = LogDetKL(6).fit_pairs(X, pairs, [1e3, 1e-3, 0.0], ["at most", "at least", "at least"])
    assert model.converged_
    assert model.n_iter_ == 1
    assert not model.dual_.any()
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(kernel_pca(X, 6)), atol=1e-10)


def test_coincident_samples_have_equal_embeddings(data):
    X, y = data
    X = np.vstack([X[:5], X])
    y = np.r_[1 - y[:5], y]
    model = LogDetKL(3, n_pairs=3000, random_state=0).fit(X, y)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.embedding_[:5], model.embedding_[5:10], atol=1e-12)
    alone = LogDetKL(3).fit_pairs(X, [[0, 5]], 2.0)
    assert alone.dual_[0] == 0
    assert alone.converged_


def test_units_do_not_matter(data):
    X, y = data
    plain = LogDetKL(3, random_state=0).fit(X, y)
    for unit in (1e-6, 1e6):
        scaled = LogDetKL(3, random_state=0).fit(unit * X, y)
        np.testing.assert_allclose(scaled.embedding_ / unit, plain.embedding_, atol=1e-9)


def test_rank_none_is_the_rank_of_the_centred_kernel(data):
    X, y = data
    assert LogDetKL(None, random_state=0).fit(X, y).embedding_.shape == (60, 6)


@pytest.mark.parametrize(
    ("pairs", "target", "sense", "message"),
    [
        ([[0, 1], [4, 4]], [1.0, 1.0], None, r"pairs\[1\] = \(4, 4\) joins a sample to itself"),
        ([[0, 1], [2, 3]], [1.0, 0.0], None, r"target\[1\] = 0, but the distances stay positive"),
        ([[0, 1]], [0.0], "at most", r"target\[0\] = 0, but the distances stay positive"),
        ([[0, 1]], [np.nan], None, r"target\[0\] = nan"),
        ([[0, 1], [1, 0]], [1.0, 2.0], [-1, 1], r"pairs\[0\] = \(0, 1\) is contradicted"),
    ],
)
def test_invalid_pairs_are_refused(data, pairs, target, sense, message):
    with pytest.raises(ValueError, match=message):
        LogDetKL().fit_pairs(data[0], pairs, target, sense)


def test_infeasible_bounds_give_a_warning(rng):
    # In one dimension K has one degree of freedom, and two bounds contradict each other.
    X = np.array([[0.0], [1.0], [2.0], [5.0]])
    model = LogDetKL(1, slack=np.inf, max_iter=50)
    with pytest.warns(ConvergenceWarning, match=r"not converged after max_iter=50 .* lower slack"):
        model.fit_pairs(X, [[0, 1], [1, 2]], [1.0, 4.0])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize(
    "model", [LogDetKL(2), LogDetKL(None), LogDetKL(1, center=False), KernelSpectralRegression(2)], ids=repr
)
def test_coincidence_of_all_samples_is_refused(model, kernel):
    model = clone(model).set_params(kernel=kernel)
    with pytest.raises(ValueError, match=r"the kernel is constant: all samples coincide.*Give samples that differ"):
        model.fit(np.full((20, 20), 0.1), np.arange(20) % 2)
    assert not hasattr(model, "embedding_")


# Kernel spectral regression.


def test_components_of_the_graph_are_separated(rng):
    X, block = rng.standard_normal((30, 4)), np.repeat([0, 1, 2], 10)
    i, j = np.triu_indices(30, 1)
    pairs, same = np.column_stack([i, j]), block[i] == block[j]
    settings = {"kernel": "rbf", "gamma": 1.0, "n_neighbors": 0, "ridge": 1e-9}
    model = KernelSpectralRegression(2, **settings).fit_pairs(X, pairs, y=np.where(same, 1, -1))
    np.testing.assert_allclose(model.eigenvalues_, 1)
    centres = np.array([model.embedding_[block == b].mean(axis=0) for b in range(3)])
    spread = np.abs(model.embedding_ - centres[block]).max()
    assert spread < 1e-6 * np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(3, 1)].min()
    # Rank 4 would need two more positive eigenvalues, which do not exist.
    more = KernelSpectralRegression(4, **settings).fit_pairs(X, pairs[same], y=np.ones(same.sum()))
    assert more.embedding_.shape == (30, 2)


def test_coefficients_solve_the_regressions(data):
    X, _ = data
    model = KernelSpectralRegression(3, kernel="rbf", ridge=0.2, n_neighbors=4).fit_pairs(
        X, [[0, 1], [0, 40]], y=[1, -1]
    )
    C = np.eye(60) - 1 / 60
    K = rbf_kernel(X)
    N = build_graph(K, 4, np.array([[0, 1], [0, 40]]), np.array([True, False]))
    D = np.diag(N.sum(axis=1))
    values, vectors = scipy.linalg.eigh(N, D)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][1:4])
    expected = np.linalg.solve(C @ K @ C + 0.2 * np.eye(60), vectors[:, ::-1][:, 1:4])
    expected /= np.sqrt(np.diag(expected.T @ (C @ K @ C + 0.2 * np.eye(60)) @ expected))
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(C @ K @ C @ expected), atol=1e-9)


def test_pairs_add_and_remove_edges(rng):
    K = np.diag(np.arange(8.0))
    X = np.arange(8.0)[:, None]
    plain = build_graph(X @ X.T, 1, np.zeros((0, 2), int), np.zeros(0, bool))
    assert plain.sum() == 2 * 7
    changed = build_graph(X @ X.T, 1, np.array([[0, 7], [3, 4], [4, 3]]), np.array([True, True, False]))
    assert changed[0, 7] == changed[7, 0] == 1
    assert changed[3, 4] == changed[4, 3] == 0
    np.testing.assert_array_equal(np.diag(build_graph(K, 7, np.array([[0, 1]]), np.array([True]))), 0)


def test_samples_without_edges_are_allowed(data):
    X, _ = data
    pairs = np.array([[i, j] for block in (range(10), range(30, 40)) for i in block for j in block if i < j])
    model = KernelSpectralRegression(1, kernel="rbf", n_neighbors=0).fit_pairs(X, pairs, y=np.ones(len(pairs)))
    Z = model.embedding_[:, 0]
    assert np.isfinite(Z).all()
    assert Z[:10].min() > Z[30:40].max() or Z[:10].max() < Z[30:40].min()
    with pytest.raises(ValueError, match="the graph has no edges"):
        KernelSpectralRegression(1, n_neighbors=0).fit_pairs(X, [[0, 1]], y=[-1])


def test_signs_of_pairs_are_checked(data):
    with pytest.raises(ValueError, match=r"y must be \+1 \(same\) or -1 \(different\)"):
        KernelSpectralRegression().fit_pairs(data[0], [[0, 1]], y=[2])
    with pytest.raises(ValueError, match=r"y has shape \(1,\); expected \(2,\)"):
        KernelSpectralRegression().fit_pairs(data[0], [[0, 1], [0, 2]], [1])


# Neighbours.


def test_neighbours_use_the_distances_of_the_kernel(data):
    X, _ = data
    distances = kernel_distances(X @ X.T)
    np.testing.assert_allclose(distances, np.sum((X[:, None] - X) ** 2, axis=2), atol=1e-12)
    edges = {tuple(edge) for edge in neighbour_edges(distances, 3)}
    expected = {tuple(sorted((i, int(j)))) for i in range(60) for j in np.argsort(distances[i])[1:4]}
    assert edges == expected
    # Coincident samples are neighbours, but no sample is its own neighbour.
    np.testing.assert_array_equal(neighbour_edges(np.zeros((3, 3)), 9), [[0, 1], [0, 2], [1, 2]])


# Maximum variance unfolding.


def test_without_cvxpy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"MaximumVarianceUnfolding needs cvxpy: pip install 'gramian\[baselines\]'"):
        MaximumVarianceUnfolding().fit(np.arange(5.0)[:, None])


@pytest.fixture
def cvxpy():
    return pytest.importorskip("cvxpy")


SLOW = {
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_n_features_in",
    "check_positive_only_tag_during_fit",
}


# Most checks use two clusters of 15 samples; with 16 neighbours the graph is connected.
@parametrize_with_checks([MaximumVarianceUnfolding(n_neighbors=16)])
def test_unfolding_estimator_check(estimator, check, cvxpy):
    if check.func.__name__ in SLOW:
        pytest.skip("with more than 40 samples and 16 neighbours a semidefinite programme takes up to a minute")
    check(estimator)


def test_properties_of_the_skipped_checks(cvxpy, rng):
    X = rng.standard_normal((12, 3))
    model = MaximumVarianceUnfolding(n_neighbors=3)
    first, again = model.fit(X).embedding_, model.fit(X.astype(object)).embedding_
    np.testing.assert_array_equal(again, first)
    assert model.n_features_in_ == 3
    sparse = model.fit(scipy.sparse.csr_array(X)).embedding_
    np.testing.assert_allclose(sparse, first, atol=1e-4)


@pytest.mark.parametrize("bent", [False, True])
def test_a_chain_becomes_a_straight_line(cvxpy, bent):
    # Steps grow, so that the nearest neighbour of each sample is the one before it.
    steps = 1.1 ** np.arange(11)
    turn = 0.25 * np.arange(11) * bent
    X = np.vstack([[0, 0], np.cumsum(steps[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]), axis=0)])
    model = MaximumVarianceUnfolding(rank=2, n_neighbors=1).fit(X)
    assert len(model.edges_) == 11
    line = np.r_[0, np.cumsum(steps)]
    assert model.eigenvalues_[0] == pytest.approx(np.sum((line - line.mean()) ** 2), rel=1e-5)
    assert model.eigenvalues_[1] < 1e-5 * model.eigenvalues_[0]
    assert np.ptp(model.embedding_[:, 0]) == pytest.approx(steps.sum(), rel=1e-5)
    np.testing.assert_allclose(np.abs(np.diff(model.embedding_[:, 0])), steps, rtol=1e-4)


def test_equal_steps_with_two_neighbours(cvxpy):
    X = np.arange(9.0)[:, None]
    model = MaximumVarianceUnfolding(rank=1, n_neighbors=2).fit(X)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(X - 4), atol=1e-4)


def test_the_dual_weights_bound_the_variance(cvxpy, rng):
    X = rng.standard_normal((20, 3))
    model = MaximumVarianceUnfolding(rank=20, n_neighbors=4).fit(X)
    K, edges, w = model.kernel_matrix(), model.edges_, model.weights_
    reached, wanted = squared_distances(model.embedding_, edges), squared_distances(X, edges)
    np.testing.assert_allclose(reached, wanted, rtol=1e-4)
    np.testing.assert_allclose(K.sum(axis=0), 0, atol=1e-6)
    # If the Laplacian of the weights has no eigenvalue below 1, except that of the vector 1, then Σ w d bounds tr K.
    E = np.eye(20)[edges[:, 0]] - np.eye(20)[edges[:, 1]]
    assert np.linalg.eigvalsh((E.T * w) @ E)[1] > 1 - 1e-9
    bound = w @ wanted
    assert np.sum((X - X.mean(axis=0)) ** 2) < 0.98 * np.trace(K)
    assert np.trace(K) == pytest.approx(bound, rel=1e-5)
    assert model.gap_ == pytest.approx(1 - np.trace(K) / bound, abs=1e-9)


def test_unfolding_scales_with_the_samples(cvxpy, rng):
    X = rng.standard_normal((12, 3))
    plain, scaled = (MaximumVarianceUnfolding(rank=2).fit(unit * X) for unit in (1.0, 1e4))
    np.testing.assert_allclose(scaled.embedding_ / 1e4, plain.embedding_, atol=1e-4)


def test_a_disconnected_graph_is_refused(cvxpy):
    X = np.r_[np.arange(4.0), 100 + np.arange(4.0)][:, None]
    with pytest.raises(
        ValueError, match=r"n_neighbors=2 has 2 components, so that the variance is unbounded.* Raise n_neighbors"
    ):
        MaximumVarianceUnfolding(n_neighbors=2).fit(X)


def test_an_unknown_solver_is_refused(cvxpy):
    with pytest.raises(ValueError, match="solver='NONE' failed"):
        MaximumVarianceUnfolding(solver="NONE").fit(np.arange(6.0)[:, None])


def test_duals_that_are_no_longer_finite_end_the_sweeps_and_say_so(data, monkeypatch):
    def overflow(*arguments):
        arguments[-2][:] = np.inf
        return np.inf

    monkeypatch.setattr(logdet_kl, "logdet_sweep", overflow)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 sweeps: the duals are no longer finite") as caught:
        model = LogDetKL(2, random_state=0).fit(*data)
    assert (model.n_iter_, model.converged_) == (1, False)
    assert model.message_ == "the duals are no longer finite"
    assert str(caught[0].message).endswith(". Scale the features of X alike, or lower slack.")
