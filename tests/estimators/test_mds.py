import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian.estimators._dissimilarities import align, check_and_connect, read_matrix
from gramian.estimators.mds import SStressMDS
from gramian.geometries import Polar

REFUSED = "a sample of weight 0 has no known dissimilarity, which is refused"


@parametrize_with_checks(
    [SStressMDS(), SStressMDS(metric="euclidean")],
    expected_failed_checks=lambda model: (
        {} if model.metric == "precomputed" else {"check_sample_weight_equivalence_on_dense_data": REFUSED}
    ),
)
def test_estimator_check(estimator, check):
    check(estimator)


@pytest.fixture
def points(rng):
    return rng.standard_normal((60, 2)) * [3, 1]


def remove_entries(D, rng, share=0.5):
    """Return D (n, n) with a share of the entries unknown, except those of consecutive samples."""
    unknown = np.triu(rng.random(D.shape) < share, 2)
    return np.where(unknown | unknown.T, np.nan, D)


def list_pairs(D):
    pairs = np.argwhere(np.triu(~np.isnan(D), 1))
    return pairs, D[tuple(pairs.T)]


def layout_error(embedding, points):
    """Return the largest difference from the true points after alignment, relative to their size."""
    return np.abs(align(embedding, points) - points).max() / np.abs(points - points.mean(axis=0)).max()


@pytest.mark.parametrize("geometry", ["scaled", "flat", "polar"])
@pytest.mark.parametrize("solver", ["cg", "trust-region"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_planted_layout_is_recovered(share, solver, geometry, points, rng):
    D = remove_entries(pairwise_distances(points), rng, share)
    model = SStressMDS(geometry=geometry, solver=solver, max_iter=3000).fit(D)
    assert layout_error(model.embedding_, points) < 1e-5
    assert model.stress_ < 1e-6
    assert model.converged_


def test_online_solver_lowers_the_stress(points, rng):
    D = remove_entries(pairwise_distances(points), rng)
    start = points + 0.5 * rng.standard_normal(points.shape)
    untouched = SStressMDS(init=start, solver="online", n_epochs=0).fit(D)
    model = SStressMDS(init=start, solver="online", geometry="flat", n_epochs=20, random_state=0).fit(D)
    assert model.stress_ < 0.2 * untouched.stress_


def test_few_neighbours_are_enough(rng):
    points = rng.random((300, 2))
    D = pairwise_distances(points)
    D[D > 0.25] = np.nan
    model = SStressMDS().fit(D)
    assert layout_error(model.embedding_, points) < 1e-5


def test_embedding_is_centred_on_principal_axes_with_fixed_signs(points, rng):
    noisy = pairwise_distances(points) * np.exp(0.1 * rng.standard_normal((60, 60)))
    noisy = (noisy + noisy.T) / 2
    G = SStressMDS().fit_transform(noisy)
    np.testing.assert_allclose(G.mean(axis=0), 0, atol=1e-12)
    covariance = G.T @ G
    assert abs(covariance[0, 1]) < 1e-9 * covariance[0, 0]
    assert covariance[0, 0] > covariance[1, 1]
    assert (G[np.argmax(np.abs(G), axis=0), [0, 1]] > 0).all()
    np.testing.assert_array_equal(SStressMDS().fit_transform(noisy), G)
    # A rotated and shifted start gives the same embedding.
    other = SStressMDS(init=G @ [[0, 1], [-1, 0]] + 5).fit_transform(noisy)
    np.testing.assert_allclose(other, G, atol=1e-5)


def test_stress_equals_its_formula(points, rng):
    noisy = remove_entries(pairwise_distances(points) + np.triu(rng.random((60, 60)), 1), rng)
    noisy = np.where(np.triu(np.ones((60, 60)), 1) > 0, noisy, np.nan)
    weight = np.triu(rng.random((60, 60)), 1)
    weight += weight.T
    model = SStressMDS().fit(noisy, sample_weight=weight)
    error = weight * (pairwise_distances(model.embedding_) ** 2 - noisy**2) ** 2
    assert model.stress_ == pytest.approx((np.nansum(error) / np.nansum(weight * noisy**4)) ** 0.5, rel=1e-9)
    assert model.stress_ > 0.01


def test_matrices_pairs_and_squares_are_the_same(points, rng):
    D = remove_entries(pairwise_distances(points) + 0.1, rng)
    np.fill_diagonal(D, 0)
    model = SStressMDS().fit(D)
    pairs, distances = list_pairs(D)
    order = rng.permutation(len(pairs))
    again = SStressMDS().fit_pairs(pairs[order, ::-1], distances[order])
    np.testing.assert_allclose(again.embedding_, model.embedding_, atol=1e-10)
    assert again.n_features_in_ == model.n_features_in_ == 60
    squared = SStressMDS(squared=True).fit(D**2)
    np.testing.assert_allclose(squared.embedding_, model.embedding_, atol=1e-10)
    half = SStressMDS().fit(np.where(np.triu(np.ones_like(D)) > 0, D, np.nan))
    np.testing.assert_allclose(half.embedding_, model.embedding_, atol=1e-10)


def test_features_have_the_distances_of_their_metric(rng):
    X = rng.standard_normal((40, 5))
    for metric in ("euclidean", "cityblock"):
        model = SStressMDS(metric=metric).fit(X)
        given = SStressMDS().fit(pairwise_distances(X, metric=metric))
        np.testing.assert_allclose(model.embedding_, given.embedding_, atol=1e-8)
        assert model.n_features_in_ == 5


def test_weights(points, rng):
    D = pairwise_distances(points) * (1 + 0.1 * np.triu(rng.random((60, 60)), 1))
    D = np.triu(D) + np.triu(D).T
    # A weight of 0 is equivalent to an unknown entry.
    known = np.triu(rng.random((60, 60)) < 0.6, 2)
    known = known | known.T | (np.abs(np.subtract.outer(np.arange(60), np.arange(60))) == 1)
    zeroed = SStressMDS().fit(D, sample_weight=known.astype(float)).embedding_
    np.testing.assert_allclose(zeroed, SStressMDS().fit(np.where(known, D, np.nan)).embedding_, atol=1e-8)
    # The weight of a pair is the product of the weights of its samples.
    weight = 0.5 + rng.random(60)
    np.testing.assert_allclose(
        SStressMDS().fit(D, sample_weight=weight).embedding_,
        SStressMDS().fit(D, sample_weight=np.outer(weight, weight)).embedding_,
        atol=1e-10,
    )
    # A weight of 2 is equivalent to a pair given twice.
    pairs, distances = list_pairs(D)
    twice = SStressMDS().fit_pairs(np.vstack([pairs, pairs[:500, ::-1]]), np.append(distances, distances[:500]))
    double = SStressMDS().fit_pairs(pairs, distances, sample_weight=np.where(np.arange(len(pairs)) < 500, 2, 1))
    np.testing.assert_allclose(twice.embedding_, double.embedding_, atol=1e-10)
    assert np.abs(twice.embedding_ - SStressMDS().fit(D).embedding_).max() > 1e-4


def test_partial_fit_without_changes_keeps_the_embedding(points, rng):
    D = remove_entries(pairwise_distances(points), rng)
    model = SStressMDS().fit(D)
    before = model.embedding_
    np.testing.assert_allclose(model.partial_fit(D).embedding_, before, atol=1e-6)
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(SStressMDS().partial_fit(D).embedding_, before)
    pairs = list_pairs(D)
    np.testing.assert_allclose(SStressMDS().partial_fit_pairs(*pairs).embedding_, before, atol=1e-10)


def test_a_stream_whose_units_change_keeps_its_digits(rng):
    points = rng.standard_normal((8, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    model = SStressMDS(1, init="random", tol=1e-14, random_state=0).partial_fit(2.0**100 * D).partial_fit(D)
    E = model.embedding_
    explicit = np.sum((((E - E.T) ** 2) - D**2) ** 2) / np.sum(D**4)
    assert model.stress_**2 == pytest.approx(explicit, rel=1e-10)


def test_partial_fit_moves_changed_samples_only(points, rng):
    D = pairwise_distances(points)
    model = SStressMDS().fit(remove_entries(D, rng))
    before = model.embedding_
    # One sample of the embedding is moved; only its new dissimilarities are given.
    goal = before.copy()
    goal[7] += [1.0, -0.5]
    changed = np.full_like(D, np.nan)
    changed[7] = pairwise_distances(goal)[7]
    by_matrix = pickle.loads(pickle.dumps(model)).partial_fit(changed)
    np.testing.assert_allclose(np.delete(by_matrix.embedding_, 7, 0), np.delete(goal, 7, 0), atol=0.05)
    np.testing.assert_allclose(by_matrix.embedding_[7], goal[7], atol=0.1)
    assert layout_error(by_matrix.embedding_, goal) < 1e-6
    others = np.delete(np.arange(60), 7)
    by_pairs = model.partial_fit_pairs(np.column_stack([np.full(59, 7), others]), changed[7, others])
    np.testing.assert_allclose(by_pairs.embedding_, by_matrix.embedding_, atol=1e-6)


def test_partial_fit_keeps_the_orientation_that_a_new_fit_would_change(rng):
    points = rng.standard_normal((40, 2)) * [1.05, 1]
    model = SStressMDS().fit(pairwise_distances(points))
    before = model.embedding_
    later = pairwise_distances(before * [0.9, 1.2] + 3)
    goal = before * [0.9, 1.2]
    afresh = SStressMDS().fit(later).embedding_
    assert np.abs(afresh - goal).max() > 1
    np.testing.assert_allclose(model.partial_fit(later).embedding_, goal, atol=1e-5)


@pytest.mark.parametrize("as_matrix", [True, False])
def test_partial_fit_adds_samples(as_matrix, points, rng):
    D = remove_entries(pairwise_distances(points), rng, 0.3)
    model = SStressMDS().fit(D[:50, :50])
    before = model.embedding_
    if as_matrix:
        larger = D.copy()
        larger[:50, :50] = np.nan
        model.partial_fit(larger)
    else:
        pairs, distances = list_pairs(D)
        new = pairs[:, 1] >= 50
        model.partial_fit_pairs(pairs[new], distances[new])
    assert model.embedding_.shape == (60, 2)
    assert model.n_features_in_ == 60
    assert layout_error(model.embedding_, points) < 1e-6
    np.testing.assert_allclose(model.embedding_[:50], before, atol=1e-6)


def test_new_samples_with_few_neighbours_find_a_place():
    square = pairwise_distances([[0.0, 0.0], [2.0, 0.0], [2.0, 3.0], [0.0, 3.0]])
    model = SStressMDS().fit(square)
    # Sample 4 has one known distance, 5 has two, 6 only one to a later sample; none may coincide with another.
    model.partial_fit_pairs([[0, 4], [4, 5], [0, 5], [6, 7], [7, 0], [7, 1]], [1.0, 1.0, 1.0, 2.0, 1.5, 1.5])
    G = model.embedding_
    assert model.stress_ < 1e-6
    distances = pairwise_distances(G)
    assert distances[4, 5] == pytest.approx(1, abs=1e-5)
    assert distances[6, 7] == pytest.approx(2, abs=1e-5)
    np.testing.assert_allclose(distances[:4, :4], square, atol=1e-5)


def test_ranks_above_the_true_one_and_duplicates_do_no_harm(rng):
    line = np.sort(rng.random((30, 1)), axis=0)
    line[5] = line[4]
    D = pairwise_distances(line)
    for n_components in (1, 2, 3):
        model = SStressMDS(n_components).fit(D)
        np.testing.assert_allclose(pairwise_distances(model.embedding_), D, atol=1e-3)
        assert np.abs(model.embedding_[:, 1:]).max(initial=0) < 1e-3
    np.testing.assert_allclose(SStressMDS(1).fit([[0, 2], [2, 0]]).embedding_, [[1], [-1]], atol=1e-7)
    integers = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    np.testing.assert_allclose(pairwise_distances(SStressMDS(2).fit(integers).embedding_), integers, atol=1e-3)


def test_coincident_landmarks_do_no_harm(rng):
    points = np.zeros((400, 2))
    points[-1] = [1, 1]
    D = pairwise_distances(points)
    D[0, 1] = D[1, 0] = np.nan
    assert SStressMDS(1, tol=1e-8).fit(D).stress_ < 1e-3


def test_float32_in_float32_out(points, rng):
    D = remove_entries(pairwise_distances(points), rng).astype(np.float32)
    model = SStressMDS().fit(D)
    assert model.embedding_.dtype == model.partial_fit(D).embedding_.dtype == np.float32
    assert model.partial_fit(D.astype(np.float64)).embedding_.dtype == np.float32
    assert layout_error(model.embedding_, points) < 1e-3


def test_scaling_dissimilarities_scales_the_embedding(points, rng):
    D = remove_entries(pairwise_distances(points), rng) + 0.2
    np.fill_diagonal(D, 0)
    np.testing.assert_allclose(
        SStressMDS().fit(1e6 * D).embedding_, 1e6 * SStressMDS().fit(D).embedding_, rtol=1e-4, atol=1
    )


def test_a_seed_fixes_a_random_start(points):
    D = pairwise_distances(points)
    first, second = (SStressMDS(init="random", random_state=1).fit(D).embedding_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_clones_and_pickles(points):
    D = pairwise_distances(points)
    model = SStressMDS(geometry=Polar(0.3), max_iter=2000).fit(D)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.partial_fit(D).embedding_, model.partial_fit(D).embedding_)
    assert clone(model).geometry == Polar(0.3)


def test_no_convergence_is_a_warning(points, rng):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        SStressMDS(max_iter=1).fit(remove_entries(pairwise_distances(points), rng))


def test_only_an_incomplete_matrix_needs_a_graph(points):
    D = pairwise_distances(points)
    assert check_and_connect(read_matrix(D, None, False), 2).graph is None
    graph = check_and_connect(read_matrix(change_entry(D, 4, 3, np.nan), None, False), 2).graph
    np.testing.assert_allclose(graph.toarray(), np.tril(change_entry(D, 4, 3, 0)))


def change_entry(D, i, j, value, both=True):
    D = D.copy()
    D[i, j] = value
    if both:
        D[j, i] = value
    return D


def isolate_sample(D, i):
    D = D.copy()
    D[i] = D[:, i] = np.nan
    return D


def separate_groups(D):
    D = D.copy()
    D[:10, 10:] = D[10:, :10] = np.nan
    return D


BAD = {
    "negative": ({}, lambda D: change_entry(D, 4, 3, -1), r"Negative .* of samples 3 and 4 is -1\.0"),
    "not symmetric": (
        {},
        lambda D: change_entry(D, 4, 3, 99, False),
        r"X is not symmetric: \[4, 3\] is 99.0, but \[3, 4\]",
    ),
    "diagonal": ({}, lambda D: change_entry(D, 4, 4, 1), r"X\[4, 4\] = 1.0; the diagonal must be 0, or NaN"),
    "infinite": ({}, lambda D: change_entry(D, 4, 3, np.inf), "infinity"),
    "too large": ({}, lambda D: D * 1e200, "its powers overflow. Scale"),
    "not square": ({}, lambda D: D[:, :5], r"X has shape \(60, 5\); expected a square matrix"),
    "1-d": ({}, lambda D: D[0], "Expected 2D array"),
    "one sample": ({}, lambda D: D[:1, :1], "1 sample"),
    "a lonely sample": ({}, lambda D: isolate_sample(D, 7), "sample 7 has no known dissimilarity"),
    "nothing known": ({}, lambda D: D * np.nan, "sample 0 has no known dissimilarity"),
    "separate parts": ({}, separate_groups, "leave 2 parts unconnected: samples 0, 10"),
    "all zero": ({}, lambda D: 0 * D, "every known dissimilarity is 0"),
    "as many dimensions as samples": ({"n_components": 60}, None, "n_components=60 is not below n_samples=60"),
    "n_components 0": ({"n_components": 0}, None, "n_components=0 is not valid"),
    "full rank": ({"geometry": "affine"}, None, "geometry='affine' is of full rank. Choose 'scaled'"),
    "unknown init": ({"init": "lucky"}, None, "init='lucky' is unknown"),
    "init of another shape": ({"init": np.ones((3, 2))}, None, r"init has shape \(3, 2\)"),
    "NaN in features": ({"metric": "euclidean"}, lambda D: D * np.nan, "NaN"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_lost(case, points):
    settings, spoil, message = BAD[case]
    D = pairwise_distances(points)
    model = SStressMDS().fit(D)
    before = dict(vars(model.set_params(**settings)))
    with pytest.raises(ValueError, match=message):
        model.fit(spoil(D) if spoil else D)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())


BAD_PAIRS = {
    "itself": ([[0, 1], [2, 2]], [1, 0], {}, r"pairs\[1\] = \(2, 2\) joins a sample to itself"),
    "contradiction": ([[0, 1], [1, 2], [1, 0]], [1, 1, 2], {}, r"pair \(0, 1\) is given more than once"),
    "below range": ([[0, -1]], [1], {}, r"pairs\[0\] = \(0, -1\) is out of range"),
    "above range": ([[0, 9]], [1], {"n_samples": 4}, r"pairs\[0\] = \(0, 9\) is out of range"),
    "no integers": ([[0.5, 1]], [1], {}, "expected integers"),
    "triples": ([[0, 1, 2]], [1], {}, r"pairs has shape \(1, 3\)"),
    "another length": ([[0, 1]], [1, 2], {}, r"dissimilarity has shape \(2,\); expected one for each of 1 pairs"),
    "none": (np.empty((0, 2), int), [], {}, "pairs is empty; at least one pair is needed"),
    "negative": ([[0, 1]], [-1], {}, "Negative values in data: the dissimilarity of samples 0 and 1"),
    "NaN": ([[0, 1]], [np.nan], {}, "Unknown or infinite values in data"),
    "a lonely sample": ([[0, 1], [1, 2]], [1, 1], {"n_samples": 5}, "sample 3 has no known dissimilarity"),
    "a huge number": ([[0, 1], [1, 10**12]], [1, 1], {}, "sample 2 has no known dissimilarity"),
    "n_samples 1.5": ([[0, 1]], [1], {"n_samples": 1.5}, "n_samples=1.5 is not valid"),
    "weights of another length": ([[0, 1]], [1], {"sample_weight": [1, 2]}, r"sample_weight has shape \(2,\)"),
}


@pytest.mark.parametrize("case", BAD_PAIRS)
def test_bad_pairs_are_refused(case):
    pairs, dissimilarity, settings, message = BAD_PAIRS[case]
    with pytest.raises(ValueError, match=message):
        SStressMDS(1).fit_pairs(pairs, dissimilarity, **settings)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones((60, 60)), "weights must be finite and not negative"),
        (np.full((60, 60), np.inf), "weights must be finite"),
        (np.triu(np.ones((60, 60))), "sample_weight is not symmetric"),
        (np.ones((3, 3)), r"sample_weight has shape \(3, 3\)"),
        (np.zeros(60), "zero for every sample"),
        (np.eye(60)[0] * -1 + 1, "sample 0 has no known dissimilarity"),
    ],
)
def test_bad_weights_are_refused(weight, message, points):
    with pytest.raises(ValueError, match=message):
        SStressMDS().fit(pairwise_distances(points), sample_weight=weight)


def test_an_invalid_update_leaves_the_embedding_unchanged(points):
    D = pairwise_distances(points)
    model = SStressMDS().fit(D)
    before = model.embedding_
    with pytest.raises(ValueError, match="expecting 60 features"):
        model.partial_fit(D[:5, :5])
    with pytest.raises(ValueError, match="sample 61 has no known"):
        model.partial_fit_pairs([[0, 60]], [1.0], n_samples=62)
    with pytest.raises(ValueError, match="n_components=3, but the embedding has 2 columns"):
        model.set_params(n_components=3).partial_fit(D)
    assert model.embedding_ is before
    assert model.n_features_in_ == 60


def test_a_geometry_without_a_scale_is_refused():
    with pytest.raises(ValueError, match="has no scale"):
        SStressMDS(geometry="grassmann").fit(1.0 - np.eye(5))


def test_samples_far_from_the_origin_have_the_same_map(rng):
    X = rng.standard_normal((20, 2))
    near, far = (SStressMDS(2, metric="euclidean", random_state=0).fit_transform(each) for each in (X, X + 1e8))
    np.testing.assert_allclose(np.abs(far), np.abs(near), atol=1e-5)


def test_fewer_samples_than_are_embedded_are_refused(rng):
    X = rng.standard_normal((20, 3))
    model = SStressMDS(2, metric="euclidean", random_state=0).fit(X)
    before = model.embedding_
    with pytest.raises(ValueError, match=r"but 20 are embedded. Give the rows of all 20, then new ones"):
        model.partial_fit(X[10:])
    assert model.embedding_ is before
    assert model.partial_fit(np.vstack([X, X[:2] + 1])).embedding_.shape == (22, 2)
    assert model.fit(X[:10]).embedding_.shape == (10, 2)
