"""Data, targets and starts of extreme scales: a fit ends at a finite point, or is refused in clear words."""

from collections import Counter

import numpy as np
import pytest

from gramian import PSDRegressor, minimize
from gramian.solvers import LBFGS, ConjugateGradient, GradientDescent, Online, TrustRegion

from helpers import GEOMETRY_EXAMPLES, n_columns, rank_one

SOLVERS = [
    ConjugateGradient(),
    LBFGS(),
    GradientDescent(),
    TrustRegion(max_inner=5),
    TrustRegion("newton", max_inner=5),
]
# Scales of X, of y and of the start, and one outlier in X.
SCALES = [
    (1, 1, 1, None),
    (1, 1, 1e5, None),
    (1, 1, 1e-15, None),
    (1, 1, 1e15, None),
    (1e9, 1, 1e9, None),
    (1e-30, 1, 1, None),
    (1e30, 1, 1, None),
    (1, 0, 1, None),
    (1, 1e-170, 1, None),
    (1, 1e30, 1, None),
    (1, 1, 1e150, None),
    (1, 1, 1, 1e6),
]


def make_data(rng, scales, dtype, n=30, d=3):
    data, targets, start, outlier = scales
    X, G = rng.standard_normal((n, d)), rng.standard_normal((d, d))
    y = np.sum((X @ rng.standard_normal((d, 2))) ** 2, axis=1)
    X[0, 0] = outlier or X[0, 0]
    with np.errstate(over="ignore"):
        return (data * X).astype(dtype), (targets * y).astype(dtype), (start * G).astype(dtype)


def solve(X, y, solver, geometry, G):
    """Return the result of a short minimisation; None if it is refused in clear words."""
    try:
        return minimize(rank_one(X, y), solver, geometry.point(G), max_iter=4)
    except ValueError as error:
        if type(error) is ValueError and any(word in str(error) for word in ("scale the data", "infinity", "finite")):
            return None
        raise


@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
def test_a_minimisation_ends_at_a_finite_point_or_is_refused(geometry, rng, dtype):
    ends = Counter()
    for scales in SCALES:
        X, y, G = make_data(rng, scales, dtype)
        for solver in SOLVERS:
            result = solve(X, y, solver, geometry, G[:, : n_columns(geometry, 3, 2)])
            if result is None:
                ends["refused"] += 1
                continue
            assert np.isfinite(result.cost), scales
            assert np.isfinite(result.point.G).all(), scales
            assert result.cost <= (1 + 1e-6) * result.history["cost"][0], scales
            ends["solved"] += 1
    assert ends["solved"] >= len(SCALES) * len(SOLVERS) / 3


def test_online_descent_refuses_a_start_without_a_gradient(rng):
    X, y, G = make_data(rng, (1, 1, 1e90, None), np.float64)
    for geometry in GEOMETRY_EXAMPLES:
        if geometry.bounded:
            continue
        with pytest.raises(ValueError, match="scale the data"):
            minimize(rank_one(X, y), Online(8), geometry.point(G), max_iter=1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("geometry", ["polar", "log-euclidean"])
@pytest.mark.parametrize("solver", ["cg", "trust-region"])
@pytest.mark.filterwarnings("ignore:the columns of X differ in size")
def test_regressions_of_extreme_data_end_at_finite_factors(geometry, solver, rng, dtype):
    for scales in ((1, 0, 1, None), (1, 1, 1, 1e6), (1e5, 1, 1, None), (1, 1e30, 1, None)):
        X, y, _ = make_data(rng, scales, dtype)
        model = PSDRegressor(3, geometry=geometry, solver=solver, max_iter=5, random_state=0).fit(X, y)
        assert np.isfinite(model.factor_).all(), scales
