"""Input as users have it: unsorted and read-only sparse matrices, columns that may be missing, small units, dates."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, PSDRegressor
from gramian.features import Sparse
from gramian.measurements import Pairs


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def reversed_rows(X):
    """Return a CSR matrix whose rows are stored from the last entry to the first, the last one in two halves."""
    rows = np.repeat(np.arange(len(X)), X.shape[1] + 1)
    columns = np.tile(np.append(np.arange(X.shape[1])[::-1], 0), len(X))
    data = X[rows, columns]
    data[columns == 0] /= 2
    indptr = np.arange(len(X) + 1) * (X.shape[1] + 1)
    return scipy.sparse.csr_array((data, columns, indptr), shape=X.shape)


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: MetricLearner(2, constraints="triplets", random_state=0).fit(X, y),
        lambda X, y: MetricLearner(2, constraints="neighbourhoods", max_iter=3, random_state=0).fit(X, y),
        lambda X, y: MetricLearner(2, max_iter=3).fit_pairs(X, [[0, 1], [0, 100]], [1, -1]),
        lambda X, y: PSDRegressor(2, max_iter=3, random_state=0).fit(X, y.astype(float)),
    ],
    ids=["triplets", "neighbourhoods", "pairs", "regression"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_samples_with_unsorted_and_double_entries_stay_as_they_are(fit, writeable, wine):
    X, y = wine
    given = reversed_rows(X)
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    for part in (given.data, given.indices, given.indptr):
        part.setflags(write=writeable)
    found = fit(given, y)
    for part, earlier in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(part, earlier)
    np.testing.assert_allclose(found.factor_, fit(scipy.sparse.csr_array(X), y).factor_, rtol=1e-6, atol=1e-9)


def test_sparse_features_sort_entries_of_their_own(wine):
    given = reversed_rows(wine[0])
    features = Sparse(given)
    assert features.X.has_canonical_format
    np.testing.assert_allclose(features.dense(), wine[0], atol=1e-15)
    assert given.nnz > features.X.nnz


def test_pairs_and_signs_from_columns_that_may_be_missing(wine):
    pd = pytest.importorskip("pandas")
    X, y = wine
    pairs = np.array([[0, 1], [2, 5], [0, 100], [3, 150], [60, 61], [60, 170]])
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    table = pd.DataFrame({"a": pairs[:, 0], "b": pairs[:, 1], "same": signs}).convert_dtypes()
    plain = MetricLearner(2, max_iter=5, random_state=0).fit_pairs(X, pairs, signs)
    given = table[["a", "b"]], table["same"]
    model = MetricLearner(2, max_iter=5, random_state=0).fit_pairs(X, *given)
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert model.score(X, *given) == plain.score(X, pairs, signs)
    assert model.calibrate_threshold(X, *given).threshold_ == plain.threshold_
    table.loc[0, "a"] = pd.NA
    with pytest.raises(ValueError, match="pairs has dtype object; expected integers"):
        Pairs(table[["a", "b"]])


@pytest.mark.parametrize("index", [2**80, True, 1.0, "1"])
def test_objects_that_are_no_index_are_refused(index):
    with pytest.raises(ValueError, match="pairs has dtype object; expected integers"):
        Pairs(np.array([[0, index]], object))


def test_a_sign_that_is_text_is_told_as_text(wine):
    with pytest.raises(ValueError, match=r"y\[0\] = '-1'\. Squared"):
        MetricLearner(2).fit_pairs(wine[0], [[0, 100], [0, 1]], ["-1", "1"])


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_squares_beyond_float32_are_told_in_float64(unit, wine, tmp_path):
    X, y = wine
    small = (X * unit).astype(np.float32)
    model = MetricLearner(2, constraints="triplets", random_state=0).fit(small, y)
    plain = MetricLearner(2, constraints="triplets", random_state=0).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(model.spectrum_ * unit**2, plain.spectrum_, rtol=1e-3)
    W, expected = model.get_mahalanobis_matrix() * unit**2, plain.get_mahalanobis_matrix()
    np.testing.assert_allclose(W, expected, atol=1e-3 * np.abs(expected).max())
    from gramian import write_report

    assert write_report(model, small, y, tmp_path / "report.html").exists()


def test_dates_as_labels_are_refused_with_what_labels_are(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"y holds dates; expected class labels.*y\.astype\(str\)"):
        MetricLearner(2).fit(X, np.datetime64("2020-01-01") + y.astype("m8[D]"))


def test_weights_of_classes_that_a_part_does_not_have(wine):
    X, y = wine
    two, learner = y < 2, MetricLearner(2, constraints="triplets", random_state=0)
    with pytest.warns(UserWarning, match="class_weight has the key 2, but no sample here has this label"):
        weighted = MetricLearner(2, constraints="triplets", class_weight={2: 5}, random_state=0).fit(X[two], y[two])
    np.testing.assert_array_equal(weighted.components_, learner.fit(X[two], y[two]).components_)
    # Weights of all classes that are there are no mistake, as in a fold without a rare class.
    MetricLearner(2, constraints="triplets", class_weight={0: 1, 1: 2, 2: 5}).fit(X[two], y[two])
    with pytest.raises(ValueError, match="class_weight has the key '2', but labels are like 0"):
        MetricLearner(2, constraints="triplets", class_weight={"2": 5}).fit(X, y)
    # In later parts of a stream the classes vary.
    weighted.partial_fit(X, y)
    weighted.partial_fit(X[two], y[two])
    names = np.array(["a", "b", "c"])[y]
    by_name = MetricLearner(2, constraints="triplets", class_weight={"b": 3.0}, random_state=0).fit(X, names)
    weight = np.where(names == "b", 3.0, 1.0)
    np.testing.assert_array_equal(by_name.components_, learner.fit(X, names, sample_weight=weight).components_)


def test_online_descent_finds_the_few_constraints_that_are_violated(wine, monkeypatch):
    learner = MetricLearner(2, constraints="triplets", solver="online", n_epochs=5, random_state=0)
    assert learner.fit(*wine).history_["cost"][-1] < 1e-9
    monkeypatch.setattr("gramian.solvers.online.descent.MOST_SUBSETS", 1)
    learner.fit(*wine)
    assert learner.history_["cost"][-1] > 1e-9
    assert learner.message_ == "the start fits all measurements that a step size is chosen by"


@pytest.mark.parametrize("convert", [scipy.sparse.csr_array, scipy.sparse.csc_array])
def test_sparse_samples_with_unusual_types_of_indices(convert, wine):
    X, y = wine
    given = convert(X)
    given.indices = given.indices.astype(np.uint64)
    found = MetricLearner(2, constraints="triplets", random_state=0).fit(given, y)
    expected = MetricLearner(2, constraints="triplets", random_state=0).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(found.factor_, expected.factor_)


def test_double_entries_of_small_integers_are_summed_as_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 128, (40, 5)), np.arange(40) % 2
    once = scipy.sparse.csr_array(X)
    rows, columns = np.repeat(once.tocoo().row, 2), np.repeat(once.indices, 2)
    edges = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=40))])
    twice = scipy.sparse.csr_array((np.repeat(once.data, 2).astype(np.int8), columns, edges), shape=X.shape)
    found = MetricLearner(2, constraints="triplets", random_state=0).fit(twice, y)
    expected = MetricLearner(2, constraints="triplets", random_state=0).fit(scipy.sparse.csr_array(2.0 * X), y)
    np.testing.assert_array_equal(found.components_, expected.components_)
