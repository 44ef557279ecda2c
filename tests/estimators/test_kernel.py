import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian.estimators.kernel import KernelLearner
from gramian.geometries import Polar, Scaled
from gramian.supervision import labelled_pairs

# That kernels of every numeric type are accepted is tested by test_kernels_given_in_any_type instead.
CAST_TO_INTEGERS = "a kernel cast to integers, which has eigenvalues down to -7 % of the largest, is refused"


@parametrize_with_checks(
    [
        KernelLearner(),
        KernelLearner(kernel="rbf", geometry="polar", center=False),
        KernelLearner(kernel="precomputed", geometry=Polar(0.0)),
    ],
    expected_failed_checks=lambda model: (
        {"check_estimators_dtypes": CAST_TO_INTEGERS} if model.kernel == "precomputed" else {}
    ),
)
@pytest.mark.filterwarnings("ignore:the centred kernel has negative eigenvalues:UserWarning")
def test_estimator_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == label)[:60] for label in (3, 8, 9)])
    return X[rows] / 16, y[rows]


@pytest.fixture
def data(rng):
    """Return samples (60, 6) and labels of two overlapping classes, which differ in the first feature only."""
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 6))
    X[:, 0] += 2 * y
    return X, y


def squared_distances(Z):
    return ((Z[:, None] - Z) ** 2).sum(axis=2)


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


def agreement(model, y):
    return normalized_mutual_info_score(y, KMeans(3, n_init=10, random_state=0).fit_predict(model.embedding_))


def test_starts_at_kernel_pca(data):
    X, y = data
    model = KernelLearner(3, kernel="rbf", gamma=0.1, max_iter=0, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    expected = KernelPCA(3, kernel="rbf", gamma=0.1).fit(X)
    np.testing.assert_allclose(model.kernel_matrix(), expected.transform(X) @ expected.transform(X).T, atol=1e-10)
    other = np.random.default_rng(1).standard_normal((5, 6))
    np.testing.assert_allclose(np.abs(model.transform(other)), np.abs(expected.transform(other)), atol=1e-10)


def test_labels_set_the_target_distances_of_the_paper(data):
    X, y = data
    model = KernelLearner(59, kernel="rbf", gamma=0.1, alpha=0.3, n_pairs=200, tol=1e-12, random_state=0).fit(X, y)
    pairs, same = labelled_pairs(y, 200, random_state=model._make_generator())
    before = (2 - 2 * rbf_kernel(X, gamma=0.1))[tuple(pairs.T)]
    # At the start every pair violates its bound by α times its distance.
    assert model.history_["cost"][0] == pytest.approx(0.5 * np.mean((0.3 * before) ** 2))
    ratio = squared_distances(model.embedding_)[tuple(pairs.T)] / before
    assert ratio[same].max() < 0.7 + 1e-3
    assert ratio[~same].min() > 1.3 - 1e-3


@pytest.mark.parametrize("geometry", ["flat", "scaled", "polar", Polar(0.0)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_labels_make_clusters_of_digits_clearer(digits, geometry, kernel):
    X, y = digits
    model = KernelLearner(12, kernel=kernel, gamma=0.05, alpha=0.5, geometry=geometry, random_state=0)
    before = normalized_mutual_info_score(
        y, KMeans(3, n_init=10, random_state=0).fit_predict(KernelPCA(12, kernel=kernel, gamma=0.05).fit_transform(X))
    )
    assert before < 0.85
    assert agreement(model.fit(X, y), y) > before + 0.1


def test_a_fixed_range_space_needs_few_pairs(digits):
    X, y = digits
    fixed, free = (KernelLearner(12, n_pairs=60, geometry=g, random_state=0).fit(X, y) for g in (Polar(0.0), "flat"))
    assert agreement(fixed, y) > agreement(free, y) + 0.1


def test_weight_zero_keeps_the_range_space_and_extends_exactly(data):
    X, y = data
    for center in (True, False):
        model = KernelLearner(3, kernel="rbf", center=center, geometry=Polar(0.0), random_state=0).fit(X, y)
        with pytest.warns(ConvergenceWarning):
            start = clone(model).set_params(max_iter=0, tol=0).fit(X, y).embedding_
        left = model.embedding_ - start @ np.linalg.lstsq(start, model.embedding_, rcond=None)[0]
        assert np.abs(left).max() < 1e-12
        assert np.abs(model.embedding_ - start).max() > 0.01
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


@pytest.mark.parametrize("geometry", ["flat", "polar", "scaled"])
def test_a_regular_kernel_extends_exactly_wherever_the_range_moves(data, geometry):
    X, y = data
    model = KernelLearner(3, kernel="rbf", gamma=1.0, geometry=geometry, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


def test_a_singular_kernel_extends_by_the_nearest_map(data):
    X, y = data
    model = KernelLearner(3, random_state=0).fit(X, y)
    centred = X - X.mean(axis=0)
    nearest = centred @ np.linalg.lstsq(centred, model.embedding_, rcond=None)[0]
    np.testing.assert_allclose(model.transform(X), nearest, atol=1e-10)
    assert np.abs(nearest - model.embedding_).max() > 0.01


def test_the_extension_is_that_of_jain_kulis_and_dhillon(data, rng):
    X, y = data
    new = rng.standard_normal((7, 6))
    model = KernelLearner(59, kernel="rbf", gamma=1.0, random_state=0).fit(X, y)
    C = np.eye(60) - 1 / 60
    K0, K = C @ rbf_kernel(X, gamma=1.0) @ C, model.kernel_matrix()
    rows = (rbf_kernel(new, X, gamma=1.0) - rbf_kernel(X, gamma=1.0).mean(axis=0)) @ C
    inverse = np.linalg.pinv(K0, hermitian=True)
    change = rows @ inverse @ (K - K0) @ inverse @ rows.T
    residual = rows @ inverse @ rows.T
    np.testing.assert_allclose(model.transform(new) @ model.transform(new).T, residual + change, atol=1e-8)


def test_ridge_smoothes_the_map(data):
    X, y = data
    plain, smooth = (KernelLearner(3, kernel="rbf", ridge=r, random_state=0).fit(X, y) for r in (0.0, 0.1))
    np.testing.assert_allclose(plain.embedding_, smooth.embedding_, atol=1e-10)
    assert np.linalg.norm(smooth.coefficients_) < 0.5 * np.linalg.norm(plain.coefficients_)


def test_a_kernel_given_is_the_kernel_computed(data):
    X, y = data
    computed = KernelLearner(3, kernel="rbf", gamma=0.2, random_state=0).fit(X, y)
    given = KernelLearner(3, kernel="precomputed", random_state=0).fit(rbf_kernel(X, gamma=0.2), y)
    called = KernelLearner(3, kernel=lambda a, b: np.exp(-0.2 * np.sum((a - b) ** 2)), random_state=0).fit(X, y)
    np.testing.assert_allclose(given.kernel_matrix(), computed.kernel_matrix(), atol=1e-6)
    np.testing.assert_allclose(called.kernel_matrix(), computed.kernel_matrix(), atol=1e-6)
    rows = rbf_kernel(X[:4] + 0.1, X, gamma=0.2)
    np.testing.assert_allclose(given.kernel_matrix(rows), computed.kernel_matrix(X[:4] + 0.1), atol=1e-5)


def test_sparse_data_gives_the_dense_result(data):
    X, y = data
    X = np.where(np.abs(X) > 0.5, X, 0)
    dense, sparse = (KernelLearner(3, random_state=0).fit(A, y) for A in (X, scipy.sparse.csr_array(X)))
    np.testing.assert_allclose(sparse.kernel_matrix(), dense.kernel_matrix(), atol=1e-6)
    np.testing.assert_allclose(sparse.transform(scipy.sparse.csr_array(X)), dense.transform(X), atol=1e-6)


@pytest.mark.parametrize("geometry", ["flat", "scaled", "polar", "affine"])
def test_a_kernel_is_rebuilt_from_its_distances_and_the_identity(rng, geometry):
    points = rng.standard_normal((12, 12 if geometry == "affine" else 3))
    pairs, distances = all_pairs(12), squared_distances(points)
    rank = None if geometry == "affine" else 3
    model = KernelLearner(
        rank, kernel="precomputed", init="identity", geometry=geometry, tol=1e-7, max_iter=2000, random_state=0
    ).fit_pairs(np.eye(12), pairs, distances[tuple(pairs.T)])
    np.testing.assert_allclose(squared_distances(model.embedding_), distances, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-12)


def test_senses_and_weights_of_pairs(rng):
    X = rng.standard_normal((10, 4))
    pairs = [[0, 1], [2, 3], [4, 5]]
    model = KernelLearner(4, tol=1e-12).fit_pairs(X, pairs, [0.1, 50.0, 3.0], ["at most", "at least", "equal"])
    reached = squared_distances(model.embedding_)[tuple(np.array(pairs).T)]
    np.testing.assert_allclose(reached[[0, 2]], [0.1, 3.0], rtol=1e-3)
    assert reached[1] > 49.9
    # Bounds that hold change nothing.
    still = KernelLearner(4).fit_pairs(X, pairs, [100.0, 0.0, 100.0], "at most")
    moved = squared_distances(still.embedding_)
    np.testing.assert_allclose(moved[0, 1], squared_distances(X)[0, 1])
    one, each = (KernelLearner(4).fit_pairs(X, pairs, target) for target in (2.0, [2.0] * 3))
    np.testing.assert_array_equal(one.embedding_, each.embedding_)
    twice = KernelLearner(4, tol=1e-12).fit_pairs(X, [[0, 1], [1, 0]], [1.0, 2.0], sample_weight=[3.0, 1.0])
    assert squared_distances(twice.embedding_)[0, 1] == pytest.approx(1.25, rel=1e-4)


@pytest.mark.parametrize("init", ["identity", "random"])
@pytest.mark.parametrize("rank", [3, 60])
def test_other_starts(data, init, rank):
    X, y = data
    model = KernelLearner(rank, init=init, random_state=0).fit(X, y)
    distances = squared_distances(model.embedding_)
    same = y[:, None] == y
    assert distances[same].sum() / same.sum() < 0.7 * distances[~same].mean()
    again = KernelLearner(rank, init=init, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def test_the_random_start_of_a_rank_that_is_chosen_is_the_one_that_was_judged(data):
    X = data[0][:30]
    pairs = np.argwhere(np.tri(30, k=-1))
    target = squared_distances(X[:, :3])[tuple(pairs.T)]
    model = KernelLearner("auto", init="random", random_state=0).fit_pairs(X, pairs, target)
    assert model.rank_ == 3
    again = KernelLearner(3, init="random", random_state=0).fit_pairs(X, pairs, target)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def test_a_start_given_is_centred_and_used(data, rng):
    X, y = data
    start = rng.standard_normal((60, 2)) + 7
    with pytest.warns(ConvergenceWarning):
        model = KernelLearner(2, init=start, max_iter=0, tol=0).fit(X, y)
    np.testing.assert_allclose(model.embedding_, start - start.mean(axis=0))


def test_float32_in_float32_out(data):
    X, y = data
    double = KernelLearner(3, kernel="rbf", geometry=Polar(0.0), random_state=0).fit(X, y)
    X = X.astype(np.float32)
    single = KernelLearner(3, kernel="rbf", geometry=Polar(0.0), random_state=0).fit(X, y)
    assert single.embedding_.dtype == single.transform(X).dtype == single.kernel_matrix().dtype == np.float32
    np.testing.assert_allclose(single.kernel_matrix(), double.kernel_matrix(), atol=1e-3)
    np.testing.assert_allclose(single.transform(X), single.embedding_, atol=1e-3)


@pytest.mark.parametrize("geometry", ["flat", "scaled", "polar", Polar(0.0)])
@pytest.mark.parametrize("unit", [1e-5, 1e5])
def test_units_do_not_matter(data, dtype, geometry, unit):
    X, y = data
    plain = KernelLearner(3, geometry=geometry, random_state=0).fit(X, y)
    scaled = KernelLearner(3, geometry=geometry, random_state=0).fit((unit * X).astype(dtype), y)
    reached = [model.history_["cost"][-1] / model.history_["cost"][0] for model in (plain, scaled)]
    assert reached[1] == pytest.approx(reached[0], abs=1e-3)
    if dtype == np.float64:
        np.testing.assert_allclose(scaled.embedding_ / unit, plain.embedding_, atol=1e-9)


def test_pipelines_clones_and_pickles(digits):
    X, y = digits
    learner = KernelLearner(12, random_state=0)
    plain, learned = KNeighborsClassifier(), make_pipeline(learner, KNeighborsClassifier())
    assert cross_val_score(learned, X, y, cv=3).mean() > cross_val_score(plain, X, y, cv=3).mean() + 0.03
    pipeline = (
        make_pipeline(StandardScaler(), learner.set_params(geometry=Polar(0.0)))
        .set_output(transform="pandas")
        .fit(X, y)
    )
    assert list(pipeline.transform(X).columns) == [f"kernellearner{k}" for k in range(12)]
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.transform(X), pipeline.transform(X))
    assert clone(learner).geometry == Polar(0.0)


def test_a_precomputed_kernel_is_cut_by_rows_and_columns_in_searches(data):
    X, y = data
    pipeline = make_pipeline(KernelLearner(3, kernel="precomputed", geometry=Polar(0.0), random_state=0))
    assert pipeline.__sklearn_tags__().input_tags.pairwise
    pipeline.steps.append(("knn", KNeighborsClassifier()))
    scores = cross_val_score(pipeline, X @ X.T, y, cv=3, error_score="raise")
    assert scores.mean() > 0.7


def test_slightly_negative_eigenvalues_are_clipped_with_a_warning(data):
    X, y = data
    K = rbf_kernel(X, gamma=1.0)
    values, vectors = np.linalg.eigh(K)
    direction = vectors[:, 5] - vectors[:, 5].mean()
    spoiled = K - (1e-3 * values[-1] + values[5]) * np.outer(direction, direction) / (direction @ direction)
    with pytest.warns(UserWarning, match="negative eigenvalues, down to -.*they are taken as 0") as caught:
        model = KernelLearner(3, kernel="precomputed", random_state=0).fit(spoiled, y)
    assert caught[0].filename == __file__
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize(("share", "refused"), [(0.009, False), (0.011, True)])
@pytest.mark.filterwarnings("ignore:the centred kernel has negative eigenvalues:UserWarning")
def test_negative_eigenvalues_beyond_a_hundredth_are_refused(rng, share, refused):
    Q = np.linalg.qr(np.column_stack([np.ones(20), rng.standard_normal((20, 4))]))[0][:, 1:]
    K = (Q * [4, 3, 2, -4 * share]) @ Q.T
    model = KernelLearner(2, kernel="precomputed", random_state=0)
    if refused:
        with pytest.raises(ValueError, match=r"not positive semidefinite: its eigenvalues go from -0\.044 to 4\."):
            model.fit(K, np.arange(20) % 2)
    else:
        assert np.isfinite(model.fit(K, np.arange(20) % 2).embedding_).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64])
def test_kernels_given_in_any_type(rng, kind):
    X, y = rng.integers(-5, 6, size=(20, 4)), np.arange(20) % 2
    model = KernelLearner(2, kernel="precomputed", geometry=Polar(0.0), random_state=0)
    expected = clone(model).fit((X @ X.T).astype(float), y).embedding_
    found = model.fit((X @ X.T).astype(kind), y).embedding_
    assert found.dtype == (np.float32 if kind == np.float32 else np.float64)
    np.testing.assert_allclose(found, expected, atol=1e-2 if kind == np.float32 else 1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_large_mean_costs_no_digits(data, sparse):
    X, y = data
    far = X + 1e6
    # Adding 1e6 rounds X; the kernel must not lose further digits.
    near, model = (KernelLearner(3, random_state=0).fit(A, y) for A in (far - 1e6, far))
    np.testing.assert_allclose(model.embedding_, near.embedding_, atol=1e-8)
    new = scipy.sparse.csr_array(far[:5] + 0.5) if sparse else far[:5] + 0.5
    np.testing.assert_allclose(model.transform(new), near.transform(X[:5] + 0.5), atol=1e-8)


def test_without_centring_a_linear_kernel_is_that_of_the_data_as_they_are(data):
    X, y = data[0] + 3, data[1]
    linear, given = (KernelLearner(3, kernel=k, center=False, random_state=0) for k in ("linear", "precomputed"))
    np.testing.assert_allclose(linear.fit(X, y).embedding_, given.fit(X @ X.T, y).embedding_, atol=1e-8)
    assert np.abs(linear.embedding_ - KernelLearner(3, random_state=0).fit(X, y).embedding_).max() > 0.01


def test_history_and_the_online_solver(data):
    X, y = data
    model = KernelLearner(3, random_state=0).fit(X, y)
    assert model.converged_
    assert len(model.history_["cost"]) == model.n_iter_ + 1
    assert model.history_["cost"][-1] < 0.1 * model.history_["cost"][0]
    online = KernelLearner(3, solver="online", n_epochs=3, random_state=0).fit(X, y)
    assert online.history_["cost"][-1] < 0.5 * online.history_["cost"][0]


RAW = {"kernel": "precomputed"}
BAD = {
    "NaN": ({}, lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
    "one class": ({}, lambda X, y: (X, 0 * y + 3), r"y has one class only, .*3.*; labels of two classes or more"),
    "continuous y": ({}, lambda X, y: (X, y + 0.5 * X[:, 0]), "Unknown label type"),
    "y of another length": ({}, lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
    "one sample": ({}, lambda X, y: (X[:1], y[:1]), "1 sample"),
    "constant X": ({}, lambda X, y: (0 * X, y), "the kernel is constant: .* that differ, or init='random'"),
    "kernel not square": (RAW, None, r"the kernel has shape \(60, 6\); expected a square matrix"),
    "kernel not symmetric": (RAW, lambda X, y: (np.triu(X @ X.T), y), r"not symmetric: K\[\d+, \d+\] = .*, K\["),
    "kernel not semidefinite": (RAW, lambda X, y: (-X @ X.T, y), "not positive semidefinite: its eigenvalues go from"),
    "rank above the kernel's": (
        {"rank": 7},
        None,
        "rank=7 exceeds the rank 6 of the centred kernel.*Choose rank <= 6, or init",
    ),
    "rank above n": ({"rank": 61}, None, "rank=61 exceeds n_samples=60. Choose rank <= 60"),
    "full rank from the kernel": ({"rank": None, "kernel": "rbf"}, None, "rank=60 exceeds the rank 59"),
    "rank 0": ({"rank": 0}, None, "rank=0 is not valid"),
    "low rank in a cone": ({"geometry": "affine"}, None, "'affine' learns full-rank matrices"),
    "unknown kernel": ({"kernel": "round"}, None, "kernel='round' is unknown. Choose 'precomputed', .*'rbf'"),
    "overflow": ({"kernel": "poly", "degree": 500}, lambda X, y: (1e3 * X, y), "not finite. Scale X"),
    "alpha below 0": ({"alpha": -0.1}, None, "alpha=-0.1 is not valid"),
    "alpha above 1": ({"alpha": 1.5}, None, r"alpha=1.5 asks for negative distances. Choose a number in \[0, 1\]"),
    "n_pairs 0": ({"n_pairs": 0}, None, "n_pairs=0 is not valid"),
    "negative ridge": ({"ridge": -1}, None, "ridge=-1 is not valid"),
    "unknown init": (
        {"init": "pca"},
        None,
        "init='pca' is unknown. Choose one of 'kernel', 'identity', 'random', 'frame', or",
    ),
    "init of another shape": ({"init": np.ones((2, 2))}, None, r"init has shape \(2, 2\); expected .* = \(60, 3\)"),
    "unknown geometry": ({"geometry": "round"}, None, "geometry='round' is unknown"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_bad_input_is_refused_and_nothing_is_lost(case, data):
    settings, spoil, message = BAD[case]
    X, y = data
    model = KernelLearner(3, random_state=0).fit(X, y)
    before = dict(vars(model.set_params(**settings)))
    with pytest.raises(ValueError, match=message):
        model.fit(*(spoil(X, y) if spoil else (X, y)))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())


@pytest.mark.parametrize(
    ("pairs", "target", "sense", "message"),
    [
        ([[0, 1], [4, 4]], [1.0, 1.0], None, r"pairs\[1\] = \(4, 4\) joins a sample to itself"),
        ([[0, 1], [4, 60]], [1.0, 1.0], None, r"pairs\[1\] = \(4, 60\) is out of range"),
        ([[0, -1]], [1.0], None, r"pairs\[0\] = \(0, -1\) is out of range"),
        ([[0.5, 1]], [1.0], None, "pairs has dtype float64; expected integers"),
        (np.zeros((0, 2), int), [], None, "pairs is empty"),
        ([[0, 1, 2]], [1.0], None, r"pairs has shape \(1, 3\)"),
        ([[0, 1]], [-1.0], None, r"target\[0\] = -1.0; squared distances must be finite and not negative"),
        ([[0, 1]], [np.nan], None, r"target\[0\] = nan"),
        ([[0, 1]], [1.0, 2.0], None, r"target has shape \(2,\); expected \(1,\)"),
        ([[0, 1]], [1.0], "below", r"sense\[0\] = 'below' is unknown"),
        ([[0, 1], [1, 0]], [1.0, 2.0], [-1, 1], r"pairs\[0\] = \(0, 1\) is .*: at most 1, against at least 2"),
        ([[2, 3], [0, 1], [1, 0]], [9.0, 1.0, 2.0], [0, -1, 1], r"pairs\[1\] = \(0, 1\) is contradicted"),
    ],
)
def test_bad_pairs_are_refused(data, pairs, target, sense, message):
    with pytest.raises(ValueError, match=message):
        KernelLearner().fit_pairs(data[0], pairs, target, sense)


def test_bounds_that_can_both_be_kept_are_no_contradiction(data):
    model = KernelLearner(6, tol=1e-12).fit_pairs(data[0], [[0, 1], [1, 0], [0, 2]], [40.0, 30.0, 1.0], [-1, 1, -1])
    assert 29.9 < squared_distances(model.embedding_)[0, 1] < 40.1


def test_no_convergence_is_a_warning_at_the_caller(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="not converged, max_iter=1 reached") as caught:
        KernelLearner(3, max_iter=1, tol=1e-12, random_state=0).fit(X, y)
    assert caught[0].filename == __file__


def test_use_before_fit(data):
    with pytest.raises(NotFittedError):
        KernelLearner().transform(data[0])
    with pytest.raises(NotFittedError):
        KernelLearner().kernel_matrix()


def test_settings_may_be_objects(data):
    X, y = data
    named, given = (KernelLearner(3, geometry=g, random_state=0).fit(X, y) for g in ("scaled", Scaled()))
    np.testing.assert_array_equal(named.embedding_, given.embedding_)


def test_a_geometry_without_a_scale_is_refused():
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match="has no scale"):
        KernelLearner(2, geometry="grassmann").fit(X[:30], y[:30])


@pytest.mark.parametrize(("size", "told"), [(1e307, r"1\.01e\+307"), (1.7e308, r"1\.72e\+308")])
def test_a_kernel_whose_sums_overflow_is_refused(size, told):
    K = np.full((20, 20), size) + np.diag(np.full(20, 0.01 * size))
    with pytest.raises(ValueError, match=rf"the largest entry of the kernel is {told}: its sums overflow\. Scale X"):
        KernelLearner(2, kernel="precomputed").fit(K, np.arange(20) % 2)
