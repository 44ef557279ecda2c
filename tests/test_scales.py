"""Data in any unit: the same answer in the user's units, or a refusal that names the scale; over all estimators."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler

from gramian import KernelLearner, MetricLearner, PSDRegressor, SStressMDS, SubspaceTracker
from gramian.baselines import ITML, LEGO, LMNN, POLA, KernelSpectralRegression, LogDetKL

EXPONENTS = {np.float64: (-1000, -600, -200, -60, 40, 200, 500, 1000), np.float32: (-120, -60, -30, -10, 20, 40, 100)}
scales = pytest.mark.parametrize(
    ("dtype", "exponent"), [(dtype, k) for dtype, exponents in EXPONENTS.items() for k in exponents]
)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:60]
    return StandardScaler().fit_transform(X)[order], y[order]


@pytest.fixture(scope="module")
def pairs(wine):
    index = np.random.default_rng(1).permutation(60).reshape(-1, 2)
    return index, np.where(wine[1][index[:, 0]] == wine[1][index[:, 1]], 1, -1)


def attempt(fit, *data):
    """The result of a fit, or None and the words of a refusal; warnings other than of convergence are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return fit(*data), ""
        except ValueError as error:
            return None, str(error)


def geometry_of(fit, X, dtype, exponent):
    """The distances that a fit gives to scaled samples, up to a factor; None where it refuses the scale."""
    Z, refusal = attempt(fit, (X * 2.0**exponent).astype(dtype))
    if Z is None:
        assert "scale" in refusal.lower(), refusal
        return None
    assert np.isfinite(Z).all()
    Z = np.asarray(Z, float)
    distances = pdist(Z / np.abs(Z).max())
    return distances / distances.max()


def compare(fit, X, dtype, exponent):
    plain, scaled = geometry_of(fit, X, dtype, 0), geometry_of(fit, X, dtype, exponent)
    assert plain is not None
    if scaled is None:
        # Within half of the range of the type there is no excuse.
        assert abs(exponent) > (250 if dtype is np.float64 else 28)
        return
    np.testing.assert_allclose(scaled, plain, atol=1e-6 if dtype is np.float64 else 2e-2)


LABELLED = {
    "metric": MetricLearner(2, random_state=0),
    "metric, full rank": MetricLearner(random_state=0),
    "metric, pairs": MetricLearner(2, constraints="pairs", random_state=0),
    "metric, pairs, identity": MetricLearner(constraints="pairs", random_state=0),
    "metric, pca": MetricLearner(2, init="pca", random_state=0),
    "kernel": KernelLearner(2, random_state=0),
    "itml": ITML(random_state=0),
    "itml, covariance": ITML(prior="covariance", random_state=0),
    "lmnn": LMNN(),
    "lmnn, low rank": LMNN(2),
    "logdet": LogDetKL(2, random_state=0),
}


@scales
@pytest.mark.parametrize("name", LABELLED)
def test_labels(name, dtype, exponent, wine):
    X, y = wine
    compare(lambda X: LABELLED[name].fit(X, y).transform(X), X, dtype, exponent)


@scales
@pytest.mark.parametrize("model", [MetricLearner(2, random_state=0), MetricLearner(), ITML()], ids=repr)
def test_signed_pairs(model, dtype, exponent, wine, pairs):
    compare(lambda X: model.fit_pairs(X, pairs[0], y=pairs[1]).transform(X), wine[0], dtype, exponent)


@scales
def test_given_targets_follow_the_data(dtype, exponent, wine, pairs):
    index, y = pairs
    if not np.log2(np.finfo(dtype).tiny) + 10 < 2 * exponent < np.log2(np.finfo(dtype).max) - 10:
        pytest.skip("squared distances are not numbers of this type")
    sense = np.where(y > 0, "at most", "at least")

    def fit(X):
        target = 3.0 * (X.std() / wine[0].std()) ** 2
        return MetricLearner(2, random_state=0).fit_pairs(X, index, target=target, sense=sense).transform(X)

    compare(fit, wine[0], dtype, exponent)


@scales
def test_triplets(dtype, exponent, wine):
    triplets = np.random.default_rng(2).permutation(60).reshape(-1, 3)
    compare(lambda X: MetricLearner(2, random_state=0).fit_triplets(X, triplets).transform(X), wine[0], dtype, exponent)


@scales
@pytest.mark.parametrize("model", [LEGO(), POLA(), KernelSpectralRegression()], ids=repr)
def test_learners_with_settings_in_units_answer_or_refuse(model, dtype, exponent, wine):
    """A step size, a margin or a ridge in units of the data: answers differ with the scale, but they are finite."""
    X, y = wine
    model = model.set_params(random_state=0)
    Z, refusal = attempt(lambda data: model.fit(data, y).transform(data), (X * 2.0**exponent).astype(dtype))
    if Z is None:
        assert "scale" in refusal.lower(), refusal
        assert abs(exponent) > 28
    else:
        assert np.isfinite(Z).all()


@scales
def test_dissimilarities(dtype, exponent, wine):
    D = pairwise_distances(wine[0])
    compare(lambda D: SStressMDS(2).fit(D).embedding_, D, dtype, exponent)


@scales
@pytest.mark.parametrize("target", [0, 1, -1])
@pytest.mark.parametrize("kind", ["vectors", "matrices"])
@pytest.mark.parametrize("geometry", ["scaled", "flat", "polar"])
def test_regressions(geometry, kind, target, dtype, exponent):
    """X times 2^k and y times 2^(k t): predictions are those of the plain fit, times 2^(k t)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    y = np.sum(X[:, :2] ** 2, axis=1) + 0.01 * rng.standard_normal(120)
    shift = target * exponent // 2
    if kind == "matrices":
        X = np.einsum("ni,nj->nij", X, X)
    data = (X * 2.0**exponent).astype(dtype), (y * 2.0**shift).astype(dtype)
    if not (np.isfinite(data[0]).all() and np.abs(data[1]).max() > 0 and np.isfinite(data[1]).all()):
        pytest.skip("not numbers of this type")
    model = PSDRegressor(2, geometry=geometry, random_state=0)
    plain, _ = attempt(lambda X, y: model.fit(X, y).matrix(), X.astype(dtype), y.astype(dtype))
    fitted, refusal = attempt(model.fit, *data)
    if fitted is None:
        assert "scale" in refusal.lower(), refusal
        assert abs(exponent) > (250 if dtype is np.float64 else 28)
        return
    assert np.isfinite(model.factor_).all()
    factor = model.factor_.astype(np.float64)
    power = exponent if kind == "vectors" else exponent / 2
    W = (factor * 2.0 ** (power - shift / 2)) @ (factor * 2.0 ** (power - shift / 2)).T
    np.testing.assert_allclose(W, plain, atol=1e-6 if dtype is np.float64 else 2e-2)


@scales
def test_streams(dtype, exponent, wine):
    model, refusal = attempt(SubspaceTracker(2, random_state=0).fit, (wine[0] * 2.0**exponent).astype(dtype))
    if model is None:
        assert "scale" in refusal.lower(), refusal
    else:
        assert np.isfinite(model.components_).all()


def test_a_stream_goes_on_in_a_type_that_lacks_its_unit(rng):
    X = rng.standard_normal((30, 3))
    y = (X**2).sum(axis=1)
    model = PSDRegressor(2, solver="online", random_state=0).partial_fit(X * 2.0**-150, y)
    later = (X * 2.0**-120).astype(np.float32)
    # The outer context sees what the inner one does not match.
    larger, another = (
        pytest.warns(UserWarning, match="times as large"),
        pytest.warns(ConvergenceWarning, match="on another scale"),
    )
    with np.errstate(over="raise", invalid="raise"), larger, another:
        model.partial_fit(later, np.zeros(30, np.float32))
    assert np.isfinite(model.factor_).all()
