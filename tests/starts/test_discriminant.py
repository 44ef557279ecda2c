import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gramian.coordinates import span_of
from gramian.execution import Serial
from gramian.features import Array, Centred, Sparse
from gramian.starts import discriminants, principal_directions
from gramian.starts.discriminant import leading_discriminants
from gramian.starts.moments import class_moments
from gramian.starts.principal import orthonormalise


@pytest.fixture
def data(rng):
    labels = rng.integers(4, size=300)
    X = rng.standard_normal((300, 8)) * np.arange(1, 9) + 3 * rng.standard_normal((4, 8))[labels]
    return X, labels


def cosines(A, B):
    return np.linalg.svd(np.linalg.qr(A)[0].T @ np.linalg.qr(B)[0])[1]


def test_covariances_add_up(data):
    X, labels = data
    within, between = class_moments(Array(X), labels, Serial())
    np.testing.assert_allclose(within + between @ between.T, np.cov(X.T, bias=True), atol=1e-10)
    expected = sum(np.cov(X[labels == c].T, bias=True) * np.mean(labels == c) for c in range(4))
    np.testing.assert_allclose(within, expected, atol=1e-10)


def test_discriminants_equal_those_of_fisher(data, monkeypatch):
    X, labels = data
    monkeypatch.setattr("gramian.starts.discriminant.RIDGE", 0.0)
    found = discriminants(Array(X), labels, 3, np.random.default_rng(0))
    expected = LinearDiscriminantAnalysis(solver="eigen").fit(X, labels).scalings_[:, :3]
    assert cosines(found, expected).min() > 1 - 1e-6


def test_principal_directions_are_added_beyond_the_number_of_classes(data, dtype):
    X, labels = data
    found = discriminants(Array(X.astype(dtype)), labels, 6, np.random.default_rng(0))
    assert found.shape == (8, 6)
    assert found.dtype == dtype
    assert np.linalg.matrix_rank(found) == 6


def test_many_features_are_reduced_first(data, monkeypatch):
    X, labels = data
    for module in ("discriminant", "principal"):
        monkeypatch.setattr(f"gramian.starts.{module}.LARGEST_MOMENT", 4)
    monkeypatch.setattr("gramian.starts.discriminant.PRINCIPAL", 4)
    for features in (Array(X), Sparse(scipy.sparse.csr_array(X))):
        assert discriminants(features, labels, 2, np.random.default_rng(0)).shape == (8, 2)


@pytest.mark.parametrize("largest", [2000, 2])
def test_principal_directions(largest, data, monkeypatch):
    X, _ = data
    monkeypatch.setattr("gramian.starts.principal.LARGEST_MOMENT", largest)
    found = principal_directions(Array(X), 3, np.random.default_rng(0))
    assert cosines(found, np.linalg.svd(X)[2][:3].T).min() > 0.999


def test_discriminants_are_generalised_eigenvectors(data):
    within, between = class_moments(Array(data[0]), data[1], Serial())
    found = leading_discriminants(within, between, 3)
    expected = scipy.linalg.eigh(between @ between.T, within)[1][:, ::-1][:, :3]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-8)
    np.testing.assert_allclose(found.T @ within @ found, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("c", [9, 20_000])
def test_more_classes_than_features_need_no_matrix_of_their_number(c, rng):
    between, A = rng.standard_normal((8, c)) / c, rng.standard_normal((8, 8))
    within = A @ A.T + np.eye(8)
    found = leading_discriminants(within, between, 3)
    expected = scipy.linalg.eigh(between @ between.T, within)[1][:, ::-1][:, :3]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-6, atol=1e-8)


def test_one_more_direction_than_classes_among_many_features(rng, monkeypatch):
    labels = rng.integers(4, size=300)
    X = rng.standard_normal((300, 120)) * np.linspace(1, 3, 120) + rng.standard_normal((4, 120))[labels]
    found = discriminants(Array(X), labels, 4, np.random.default_rng(0))
    monkeypatch.setattr("gramian.starts.discriminant.FEW", 1000)
    np.testing.assert_allclose(
        np.abs(discriminants(Array(X), labels, 4, np.random.default_rng(0))), np.abs(found), rtol=1e-6, atol=1e-9
    )


def test_discriminants_of_classes_that_differ_in_few_directions(rng):
    within, between = np.diag([1.0, 2.0, 3.0]), np.outer([1.0, 0.0, 0.0], rng.standard_normal(4))
    found = leading_discriminants(within, between, 2)
    np.testing.assert_allclose(found.T @ within @ found, np.eye(2), atol=1e-10)
    assert abs(found[0, 0]) > 0.999


@pytest.mark.parametrize("kind", [Array, Sparse, Centred])
def test_principal_components_of_few_samples(kind, rng, dtype, monkeypatch):
    monkeypatch.setattr("gramian.starts.principal.LARGEST_MOMENT", 10)
    monkeypatch.setattr("gramian.starts.principal.LARGEST_TILE", 130)
    X = (rng.standard_normal((25, 60)) * np.logspace(0, -2, 60)).astype(dtype)
    mean = X.mean(axis=0) if kind is Centred else np.zeros(60, dtype)
    made = {
        Array: Array,
        Sparse: lambda X: Sparse(scipy.sparse.csr_array(X)),
        Centred: lambda X: Centred(Array(X), mean),
    }
    found = principal_directions(made[kind](X), 4, np.random.default_rng(0))
    expected = np.linalg.svd(X - mean)[2][:4].T
    assert found.dtype == dtype
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-3 if dtype == np.float32 else 1e-6)
    assert cosines(found, expected).min() > 0.999


def test_principal_directions_beyond_those_of_the_samples(rng, monkeypatch):
    monkeypatch.setattr("gramian.starts.principal.LARGEST_MOMENT", 10)
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 30))
    found = principal_directions(Array(X), 4, np.random.default_rng(0))
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-8)
    assert cosines(found[:, :2], np.linalg.svd(X)[2][:2].T).min() > 0.999


def test_orthonormal_basis_of_nearly_parallel_columns(rng, dtype):
    A = (rng.standard_normal((50, 1)) + 1e-12 * rng.standard_normal((50, 4))).astype(dtype)
    for matrix in (A, rng.standard_normal((50, 4)).astype(dtype), np.zeros((50, 2), dtype)):
        Q = orthonormalise(matrix)
        np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("decades", [0, 4, 8])
def test_span_of_few_samples(decades, rng, dtype):
    X = rng.standard_normal((6, 20)) @ (
        np.logspace(0, -decades, 20)[:, None] * np.linalg.qr(rng.standard_normal((20, 20)))[0]
    )
    X = (X - X.mean(axis=0)).astype(dtype)
    inside = span_of(Array(X))
    k = inside.features.shape[1]
    basis = inside.lift(np.eye(k))
    tol = 1e-3 if dtype == np.float32 else 1e-6
    assert k == 5 or dtype == np.float32
    assert basis.dtype == inside.features.dtype == dtype
    np.testing.assert_allclose(X @ basis @ basis.T, X, atol=1e-2 * tol)
    np.testing.assert_allclose(basis.T @ basis, np.eye(k), atol=tol)
    np.testing.assert_allclose(inside.features.X, X @ basis, atol=1e-2 * tol)
    # Directions are in descending order of size, as principal directions are.
    assert (np.diff(np.linalg.norm(inside.features.X, axis=0)) < 0).all()


def test_many_samples_or_zeros_have_no_span(rng):
    assert span_of(Array(rng.standard_normal((20, 6)))) is None
    assert span_of(Array(np.zeros((6, 20), np.float32))) is None


def test_a_span_keeps_directions_much_smaller_than_the_largest(rng):
    X = rng.standard_normal((40, 60))
    X[:, 0] *= 1e9
    assert span_of(Array(X)).features.shape == (40, 40)


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("n_classes", [2, 7, 400])
def test_class_moments_of_one_pass_keep_their_digits(rng, shift, n_classes):
    n, d = 6000, 5
    labels = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = shift * rng.standard_normal((n_classes, d))[labels] + shift + rng.standard_normal((n, d))
    # In an order in which the first samples of a class are not like the others.
    X = X[np.argsort(X[:, 0])]
    means = np.stack([X[labels == k].mean(axis=0) for k in range(n_classes)])
    away = X - means[labels]
    counts = np.bincount(labels)
    between = (means - X.mean(axis=0)).T * np.sqrt(counts / n)
    features = Counted(X)
    found = class_moments(features, labels, Serial())
    np.testing.assert_allclose(found.within, away.T @ away / n, rtol=1e-9, atol=1e-9 * np.trace(away.T @ away / n))
    np.testing.assert_allclose(found.between, between, rtol=1e-9, atol=1e-9 * np.abs(between).max())
    few = min(64 * n_classes, 2**14)
    assert features.n_read <= n + few


class Counted(Array):
    """Features that count the samples that are taken from them."""

    n_read = 0

    def take(self, rows):
        taken = super().take(rows)
        self.n_read += taken.shape[0]
        return taken


@pytest.mark.parametrize("rank", [2, 12])
def test_starts_of_many_samples_read_them_once_at_the_most(rng, rank):
    n, d = 60_000, 12
    labels, X = rng.integers(3, size=n), rng.standard_normal((n, d))
    features = Counted(X)
    assert discriminants(features, labels, rank, rng).shape == (d, rank)
    # A third of the samples, and some of each class for their means.
    assert features.n_read <= n // 3 + 2 * 3 * 64 + 3
    features = Counted(X)
    assert principal_directions(features, rank, rng).shape == (d, rank)
    assert features.n_read <= n
