"""Each update solves its closeness problem, W⁺ = argmin D(W, V) + s · loss(W), to first order in the step."""

import numpy as np
import pytest
import scipy.linalg

from gramian import closeness
from gramian.geometries import AffineInvariant, Flat, LogEuclidean, Polar

from helpers import gram, random_tangent

D, R = 5, 2


def from_factors(divergence):
    return lambda G, H: divergence(G @ G.T, H @ H.T)


CASES = {
    "flat": (Flat(), closeness.flat, R),
    "polar": (Polar(0.3), lambda G, H: closeness.polar(G, H, 0.3), R),
    "polar, full rank": (Polar(0.5), closeness.polar, D),
    "polar, subspace fixed": (Polar(0.0), lambda G, H: closeness.polar(G, H, 0.0), R),
    "logdet": (AffineInvariant("first-order"), from_factors(closeness.logdet), D),
    "half the squared affine-invariant distance": (AffineInvariant(), from_factors(closeness.logdet), D),
    "von Neumann": (LogEuclidean(mirror=True), from_factors(closeness.von_neumann), D),
}


@pytest.mark.parametrize("case", CASES)
def test_updates_solve_their_closeness_problem(case, rng):
    geometry, distance, r = CASES[case]
    x = rng.standard_normal(D)
    start = geometry.point(rng.standard_normal((D, r)))
    target = 0.5 * x @ gram(start) @ x

    def loss(point):
        return 0.5 * (x @ gram(point) @ x - target) ** 2

    def remaining_slope(s):
        """Return the norm of the slopes of D + s · loss at the updated point, in random directions."""
        slope = (x @ gram(start) @ x - target) * np.outer(x, x)
        arrived = start.curve(-start.gradient(slope @ start.frame)).point(s)
        h, slopes = 1e-4, []
        for seed in range(4):
            tangent = random_tangent(arrived, np.random.default_rng(seed))
            tangent = tangent / np.linalg.norm(arrived.velocity(tangent))
            ahead, behind = (arrived.curve(t).point(h) for t in (tangent, -tangent))
            moved = distance(ahead.G, start.G) - distance(behind.G, start.G)
            slopes.append((moved + s * (loss(ahead) - loss(behind))) / (2 * h))
        return np.linalg.norm(slopes)

    unit = 1 / max(np.linalg.norm(start.gradient(np.outer(x, x) @ start.frame)), 1.0) ** 2
    steps = unit * np.array([1e-1, 1e-2])
    errors = [remaining_slope(s) for s in steps]
    assert np.diff(np.log(errors))[0] / np.diff(np.log(steps))[0] > 1.8


def test_measures_vanish_at_equality_and_are_positive_elsewhere(rng):
    for _, distance, r in CASES.values():
        G = rng.standard_normal((D, r))
        Q = np.linalg.qr(rng.standard_normal((r, r)))[0]
        assert distance(G, G @ Q) == pytest.approx(0, abs=1e-9)
        assert distance(G, rng.standard_normal((D, r))) > 1e-3


def test_logdet_is_half_the_squared_affine_invariant_distance_to_second_order(rng):
    W = gram(Flat().point(rng.standard_normal((D, D))))
    change = 1e-3 * gram(Flat().point(rng.standard_normal((D, D))))
    squares = np.log(scipy.linalg.eigh(W + change, W, eigvals_only=True)) ** 2
    assert closeness.logdet(W + change, W) == pytest.approx(0.5 * squares.sum(), rel=0.2)


def test_polar_is_infinite_where_the_range_or_the_core_is_fixed_but_differs(rng):
    G = rng.standard_normal((D, R))
    assert closeness.polar(G, rng.standard_normal((D, R)), 0.0) == np.inf
    assert closeness.polar(G, 2 * G, 1.0) == np.inf
    assert np.isfinite(closeness.polar(G, 2 * G, 0.0))


GOOD = np.diag([1.0, 2.0])
BAD_MATRICES = {
    r"V has \(3, 3\)": np.eye(3),
    "V is not symmetric": np.array([[1.0, 0.5], [0.0, 1.0]]),
    "V is not positive definite": np.diag([1.0, 0.0]),
    "V contains NaN": np.diag([1.0, np.nan]),
    "V has dtype": np.eye(2) * 1j,
}


@pytest.mark.parametrize("message", BAD_MATRICES)
@pytest.mark.parametrize("divergence", [closeness.logdet, closeness.von_neumann])
def test_divergences_name_a_matrix_that_has_none(divergence, message):
    with pytest.raises(ValueError, match=message):
        divergence(GOOD, BAD_MATRICES[message])


@pytest.mark.parametrize("distance", [closeness.flat, closeness.polar])
def test_distances_name_factors_that_do_not_fit(distance):
    with pytest.raises(ValueError, match=r"G has shape \(2, 2\) and H has \(3, 1\)"):
        distance(GOOD, np.ones((3, 1)))
    with pytest.raises(ValueError, match="H contains NaN or infinity"):
        distance(GOOD, np.full((2, 2), np.inf))


@pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan, "half"])
def test_the_weight_of_polar_is_checked(weight):
    with pytest.raises(ValueError, match="weight="):
        closeness.polar(GOOD, GOOD, weight)
