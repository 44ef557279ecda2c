"""The map of new samples: its ridge, its warnings, and decompositions that several fits share."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from gramian import KernelLearner
from gramian.baselines import KernelSpectralRegression, LogDetKL
from gramian.mapped import is_map
from gramian.starts import kernel_pca
from gramian.starts.kernel_pca import NEAR, RIDGES

pytestmark = pytest.mark.filterwarnings("ignore:not converged")


def blobs(n, d, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, d)) + 2 * np.eye(3, d)[y], y


def farthest(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.linalg.norm(model.transform(X), axis=1).max() / np.linalg.norm(model.embedding_, axis=1).max()


def test_the_default_ridge_is_safe_where_the_kernel_is_nearly_singular():
    # As many samples as features: the smallest eigenvalues of the kernel are near zero.
    X, y = blobs(41, 40)
    X[20:] = X[:21] + 1e-3 * np.random.default_rng(1).standard_normal((21, 40))
    fresh, _ = blobs(200, 40, seed=2)
    plain, safe = (KernelLearner(2, ridge=ridge, random_state=0, init="random").fit(X, y) for ridge in (0.0, "auto"))
    assert farthest(plain, fresh) > 100
    assert safe.ridge_ > 0
    assert farthest(safe, fresh) < 3


@pytest.mark.parametrize(("gamma", "init"), [(1e-5, "kernel"), (1e-3, "random"), (0.02, "kernel")])
def test_the_default_ridge_maps_new_samples_among_their_class(gamma, init):
    X, y = load_digits(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(X))[:600]
    X, y = X[some] / 16, y[some]
    errors = []
    for ridge in (1e-6, "auto"):
        model = KernelLearner(10, kernel="rbf", gamma=gamma, init=init, ridge=ridge, random_state=0).fit(
            X[:300], y[:300]
        )
        classifier = KNeighborsClassifier(5).fit(model.embedding_, y[:300])
        errors.append(1 - classifier.score(model.transform(X[300:]), y[300:]))
    assert errors[1] <= errors[0] + 0.01


def test_a_start_beyond_float32_is_refused(rng):
    X = np.float32(2.0**100) * rng.standard_normal((15, 3)).astype(np.float32)
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    model = KernelLearner(2, kernel="poly", gamma=1.0, random_state=0)
    with pytest.raises(ValueError, match=r"the start of init='kernel' is outside the range of float32 numbers"):
        model.fit_pairs(X, pairs, np.ones(3, np.float32))


def test_a_map_that_cannot_go_astray_has_no_ridge():
    X, y = blobs(60, 4)
    model = KernelLearner(3, random_state=0).fit(X, y)
    assert model.ridge_ == 0
    assert farthest(model, X) <= 1.5


def test_the_ridge_is_the_smallest_of_a_low_leave_one_out_error():
    X, y = blobs(30, 5)
    model = KernelLearner(2, kernel="rbf", gamma=0.01, init="random", random_state=0).fit(X, y)
    kernel, G = model.decompose(X), model.embedding_
    errors = []
    for ridge in RIDGES[1:]:
        left_out = []
        for i in range(30):
            kept = np.delete(np.arange(30), i)
            K, mean = kernel.kernel[np.ix_(kept, kept)], G[kept].mean(axis=0)
            centre = np.eye(29) - 1 / 29
            row = kernel.kernel[i, kept] - K.mean(axis=0)
            level = ridge * kernel.values[0]
            left_out.append(
                mean + row @ centre @ np.linalg.solve(centre @ K @ centre + level * np.eye(29), G[kept] - mean)
            )
        errors.append(np.sum((np.array(left_out) - G) ** 2))
    low = np.array(errors) <= (1 + NEAR) * min(errors)
    assert model.ridge_ == RIDGES[1:][int(np.argmax(low))]
    assert not low[0]


def test_the_ridge_does_not_depend_on_units():
    X, y = blobs(30, 5)
    settings = {"kernel": "precomputed", "init": "random", "random_state": 0}
    K = rbf_kernel(X, gamma=0.01)
    assert len({KernelLearner(2, **settings).fit(unit * K, y).ridge_ for unit in (2.0**-60, 1.0, 2.0**60)}) == 1


def test_images_far_outside_are_reported():
    X, y = blobs(60, 4)
    model = KernelLearner(2, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"1 of 2 samples are mapped to coordinates up to .* the map extrapolates"):
        model.transform(np.vstack([X[0], 1000 * X[1]]))


def test_samples_without_a_near_training_sample_are_reported():
    X, y = blobs(60, 4)
    model = KernelLearner(2, kernel="rbf", random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="2 of 3 samples have kernel values"):
        model.transform(np.vstack([X[0], X[:2] + 100]))


def test_a_kernel_given_as_samples_is_reported():
    X, y = blobs(30, 4)
    with pytest.warns(UserWarning, match="Give kernel='precomputed'"):
        KernelLearner(2, random_state=0).fit(rbf_kernel(X), y)


def test_fits_share_a_decomposition():
    X, y = blobs(300, 4)
    model = KernelLearner(2, kernel="rbf", random_state=0)
    decomposed = model.decompose(X)
    own, shared = KernelLearner(2, kernel="rbf", random_state=0).fit(X, y), model.fit(X, y, decomposed)
    assert np.array_equal(own.embedding_, shared.embedding_)
    assert np.array_equal(own.transform(X), shared.transform(X))
    pairs, target = [[0, 1], [0, 2]], [0.1, 2.0]
    again = model.fit_pairs(X, pairs, target, decomposed=decomposed).embedding_
    assert np.array_equal(again, KernelLearner(2, kernel="rbf", random_state=0).fit_pairs(X, pairs, target).embedding_)


def test_a_decomposition_of_something_else_is_refused():
    X, y = blobs(40, 4)
    model = KernelLearner(2, kernel="rbf")
    decomposed = model.decompose(X)
    with pytest.raises(ValueError, match="but X has shape"):
        model.fit(X[:30], y[:30], decomposed)
    with pytest.raises(ValueError, match="but the estimator has"):
        KernelLearner(2, kernel="linear").fit(X, y, decomposed)
    with pytest.raises(TypeError, match="make one by decompose"):
        model.fit(X, y, X)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n", [60, 600])
def test_a_given_rank_and_ridge_need_few_eigenvectors(center, n, rng, monkeypatch):
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 5)) + y[:, None]
    model = KernelLearner(3, kernel="rbf", center=center, ridge=1e-4, max_iter=5, random_state=0)
    whole = clone(model).fit(X, y, model.decompose(X))
    full = scipy.linalg.eigh

    def refuse_all(K, **options):
        assert options["subset_by_index"][0] > 0
        return full(K, **options)

    monkeypatch.setattr(scipy.linalg, "eigh", refuse_all)
    model.fit(X, y)
    np.testing.assert_allclose(model.kernel_matrix(), whole.kernel_matrix(), rtol=1e-6, atol=1e-8)
    new = rng.standard_normal((7, 5))
    np.testing.assert_allclose(model.kernel_matrix(new), whole.kernel_matrix(new), rtol=1e-6, atol=1e-8)


def test_coincident_samples_have_exact_distances_with_few_eigenvectors(rng):
    X = np.repeat(rng.standard_normal((20, 3)), 2, axis=0) + 1e-9 * rng.standard_normal((40, 3))
    model = KernelLearner(2, kernel="linear", ridge=1e-4, max_iter=5, random_state=0)
    few, whole = model._decompose(X), model.decompose(X)
    assert (few.complete, len(few.values), len(whole.values)) == (False, 2, 3)
    pairs = np.arange(40).reshape(20, 2)
    # Coordinates near 1 that differ by 1e-9 have seven digits of their difference.
    expected = np.sum((X[::2] - X[1::2]) ** 2, axis=1)
    np.testing.assert_allclose(few.distances(pairs), expected, rtol=1e-5)
    np.testing.assert_allclose(whole.distances(pairs), expected, rtol=1e-5)


@pytest.mark.parametrize("center", [True, False])
def test_a_kernel_that_is_not_positive_is_found_without_all_eigenvectors(center, rng):
    vectors = np.linalg.qr(np.column_stack([np.ones(40), rng.standard_normal((40, 39))]))[0]
    values = np.linspace(1, 2, 40)
    for least, expected in ((-0.5, pytest.raises(ValueError, match="not positive semidefinite")), (-0.01, None)):
        values[1] = least
        K = (vectors * values) @ vectors.T
        model = KernelLearner(2, kernel="precomputed", center=center, ridge=1e-6, max_iter=3, random_state=0)
        with expected or pytest.warns(UserWarning, match="negative eigenvalues, down to -0.0"):
            model.fit_pairs(K, [[0, 1], [2, 3]], 1.0)


def test_the_rank_of_a_kernel_far_from_centred_is_found(rng):
    """The leading direction of a kernel that is nearly constant is its mean, which centring removes."""
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] > 0).astype(int)
    model = KernelLearner("auto", kernel="rbf", gamma=1e-9, center=False, random_state=0).fit(X, y)
    assert 1 <= model.rank_ <= 4
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(ValueError, match=r"rank=\d exceeds the rank \d of the centred kernel"):
        KernelLearner(9, kernel="rbf", gamma=1e-9, center=False).fit(X, y)


def test_a_kernel_that_is_not_centred_is_decomposed_once(rng, monkeypatch):
    X = rng.standard_normal((40, 4))
    y = (X[:, 0] > 0).astype(int)
    sizes = []
    leading = kernel_pca.leading_eigenvectors
    monkeypatch.setattr(kernel_pca, "leading_eigenvectors", lambda K, k: sizes.append(k) or leading(K, k))
    KernelLearner("auto", kernel="rbf", center=False, random_state=0).fit(X, y)
    assert len(sizes) == 1


def test_a_map_that_is_out_of_range_is_refused_by_name(rng):
    X = rng.standard_normal((6, 3))
    K = 2.0**-1000 * (X @ X.T)
    model = KernelLearner(2, kernel="precomputed", init="identity", ridge=0.0, random_state=0)
    with pytest.raises(ValueError, match="the kernel is too small beside the distances"):
        model.fit_pairs(K, [[0, 1]], [1e90])


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, pd.DataFrame], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", [KernelLearner, LogDetKL, KernelSpectralRegression], ids=lambda k: k.__name__)
def test_the_samples_of_the_caller_may_change_after_the_fit(kind, form):
    X, y = blobs(30, 4)
    pairs = ([[0, 3], [1, 4], [0, 1]], [1, 1, -1] if kind is KernelSpectralRegression else [1.0, 1.0, 20.0])
    for method, arguments in (("fit", (y,)), ("fit_pairs", pairs)):
        given = form(X.copy())
        model = getattr(kind(2, kernel="rbf"), method)(given, *arguments)
        before = model.transform(X)
        if scipy.sparse.issparse(given):
            given.data[:] = 0
        else:
            given *= 0
        np.testing.assert_array_equal(model.transform(X), before)


def test_samples_that_validation_converts_are_not_copied_again():
    X, y = blobs(30, 4)
    model = KernelLearner(2, random_state=0).fit(X.tolist(), y)
    assert model._samples.base is None
    assert KernelLearner(2, kernel="precomputed", random_state=0).fit(X @ X.T, y)._samples is None


def test_a_memory_mapped_file_is_not_copied(tmp_path):
    X, y = blobs(30, 4)
    np.save(tmp_path / "X.npy", X)
    model = KernelLearner(2, random_state=0).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    assert is_map(model._samples)
    np.testing.assert_array_equal(model.transform(X), KernelLearner(2, random_state=0).fit(X, y).transform(X))


def test_the_kernel_is_an_array_whatever_transform_returns():
    X, y = blobs(30, 4)
    model = KernelLearner(2, random_state=0).set_output(transform="pandas").fit(X, y)
    assert isinstance(model.transform(X), pd.DataFrame)
    for kernel in (model.kernel_matrix(), model.kernel_matrix(X[:5])):
        assert type(kernel) is np.ndarray
