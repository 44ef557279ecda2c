"""What the properties found: numbers that leave the range of a dtype, and a stream that begins with zeros."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramian import MetricLearner, PSDRegressor, SStressMDS
from gramian.losses import Hinge, Huber, Logistic


@pytest.fixture
def data(rng):
    X = rng.standard_normal((20, 3)).astype(np.float32)
    return X, np.sum(X**2, axis=1, dtype=np.float64)


def test_a_start_outside_the_range_of_the_dtype_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match=r"the start \(init.*float32"):
        PSDRegressor(2, init=np.eye(3)[:, :2]).fit(X, 1e-150 * y)


def test_targets_outside_the_range_of_a_stream_are_refused(data):
    X, y = data
    model = PSDRegressor(2, solver="online", random_state=0).partial_fit(X, y)
    before = model.factor_
    with pytest.raises(ValueError, match=r"largest entry of y.*float32"):
        model.partial_fit(X, 1e150 * y)
    assert model.factor_ is before


def test_targets_outside_the_range_of_projections_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match=r"largest entry of y.*float32"):
        PSDRegressor(2, geometry="grassmann").fit(X, 1e150 * y)


def test_a_stream_of_float64_continues_in_float32(data):
    X, y = data
    model = PSDRegressor(2, solver="online", random_state=0).partial_fit(X.astype(float), 1e90 * y)
    assert model.factor_.max() > np.finfo(np.float32).max
    with pytest.raises(ValueError, match=r"Scale"):
        model.partial_fit(X, 1e90 * y)


@pytest.mark.parametrize("loss", [Huber(), Hinge(), Logistic(), Huber(1e-300)])
def test_a_loss_whose_parameter_vanishes_beside_the_targets_is_refused(data, loss):
    X, y = data
    with pytest.raises(ValueError, match=r"loss=.*Scale y"):
        PSDRegressor(2, loss=loss).fit(X, 1e150 * y)


def test_projections_of_samples_whose_squares_overflow_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match=r"largest entry of X.*overflow"):
        PSDRegressor(2, geometry="grassmann").fit(X.astype(float) * 2.0**1000, y)


def test_a_start_with_infinite_predictions_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="scale the data or the start"):
        PSDRegressor(2, init="pca", growing=False).fit(X.astype(float) * 2.0**1000, 0 * y)


def test_pairs_whose_targets_leave_the_range_of_the_start_are_refused(data):
    X, _ = data
    with pytest.raises(ValueError, match=r"Scale target"):
        MetricLearner(2, init=np.eye(3)[:, :2], regularisation=0.5).fit_pairs(X, [[0, 1], [1, 2]], target=1e100)


def test_dissimilarities_outside_the_range_of_a_stream_are_refused(rng):
    points = rng.standard_normal((6, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    model = SStressMDS(2).fit(D.astype(np.float32))
    before = model.embedding_
    with pytest.raises(ValueError, match=r"dissimilarity is .*float32"):
        model.partial_fit(1e60 * D)
    assert model.embedding_ is before


def test_a_stream_does_not_begin_with_zeros(data):
    X, y = data
    model = PSDRegressor(2, solver="online", random_state=0)
    with pytest.raises(ValueError, match="every entry of X is 0"):
        model.partial_fit(0 * X, y)
    assert np.isfinite(model.partial_fit(X, y).partial_fit(0 * X, 0 * y).factor_).all()


def test_a_problem_that_zero_fits_does_not_converge_far_from_it(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for seed in range(10):
            X, sense = rng.standard_normal((8, 3)), rng.integers(-1, 2, size=8)
            model = PSDRegressor(3, tol=1e-9, random_state=seed).fit(X, np.zeros(8), sense=sense)
            assert not model.converged_ or model.history_["cost"][-1] < 1e-6 * model.history_["cost"][0]
