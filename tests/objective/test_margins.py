"""Margins against the terms of their triplets and pairs, and the kernels against NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from gramian import Problem
from gramian._kernels import margins, reference_margins
from gramian.execution import Serial, Threads
from gramian.features import Array, Sparse
from gramian.geometries import Flat, Scaled
from gramian.losses import LOSSES
from gramian.objective import Block, Margins
from gramian.solvers import ConjugateGradient, TrustRegion, minimize

N, A, K, J, R = 40, 25, 3, 5, 4
KERNELS = [name for name in reference_margins.__all__ if name.startswith("margins_")]
LOSS_EXAMPLES = [example for kind in LOSSES.values() if kind.bounded for example in kind.examples]


@pytest.fixture
def term(rng):
    """Return a term whose anchors have different numbers of neighbours, as those of rare classes."""
    anchors = np.sort(rng.permutation(N)[:A])
    near, far = (np.array([rng.permutation(N)[:k] for _ in range(A)]) for k in (K, J))
    near[3, 1:], near[7], far[5, 2:] = -1, -1, -1
    return Margins(anchors, near, far, rng.random(A), 0.1 * rng.random(A))


def images(rng, dtype=np.float64):
    return (0.4 * rng.standard_normal((N, R))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_equal_their_references(name, dtype, term, rng):
    Z, T, D, B, C = images(rng, dtype), images(rng, dtype), *(rng.random((3, A, K + J)).astype(dtype))
    D[:, :K], sizes, weights = 0.2 * D[:, :K], (term.counts, K), (term.weight, term.pull, 0.5)
    pair_weight = np.where(np.hstack([term.near, term.far]) < 0, 0, D).astype(dtype)
    arguments = {
        "margins_distances": (term.anchors, term.neighbours, *sizes, Z),
        "margins_along": (term.anchors, term.neighbours, *sizes, Z, T),
        "margins_weigh": (term.anchors, term.neighbours, pair_weight, Z),
        "margins_value_and_slopes": (D, *sizes, *weights),
        "margins_along_line": (D, B, C, *sizes, *weights, 0.3),
        "margins_curvature": (D, B, *sizes, term.weight, 0.5),
    }[name]
    found, expected = (getattr(module, name)(*arguments) for module in (margins, reference_margins))
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 if dtype == np.float32 else 1e-12)
        assert not isinstance(a, np.ndarray) or a.dtype == dtype


@pytest.mark.parametrize("loss", LOSS_EXAMPLES, ids=str)
def test_the_objective_is_that_of_triplets_and_pairs(loss, term, rng):
    term = replace(term, loss=loss)
    X = rng.standard_normal((N, 6))
    problem, explicit = (
        Problem([Block(features, terms)])
        for features, terms in ((Array(X), [term]), (Sparse(X), term.explicit(np.float64)))
    )
    point = Flat().point(0.3 * rng.standard_normal((6, 2)))
    one, other = problem.evaluate(point), explicit.evaluate(point)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.noise == pytest.approx(other.noise, rel=1e-9)
    np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-12)
    tangent = rng.standard_normal((6, 2))
    np.testing.assert_allclose(one.gauss_newton(tangent), other.gauss_newton(tangent), atol=1e-12)
    along, expected = (each.line(-each.gradient).along(0.3) for each in (one, other))
    np.testing.assert_allclose(along, expected, rtol=1e-9)
    # The second derivative is exact, not that of Gauss-Newton.
    line, h = one.line(tangent), 1e-6
    assert line.along(0.1).curvature == pytest.approx(
        (line.along(0.1 + h).slope - line.along(0.1 - h).slope) / (2 * h), rel=1e-4, abs=1e-6
    )
    moved = one.line(tangent).move(0.2)
    assert moved.value == pytest.approx(explicit.evaluate(moved.point).value, rel=1e-12)


@pytest.mark.parametrize("solver", [ConjugateGradient(), TrustRegion()], ids=str)
def test_descent_reaches_the_minimum_of_the_triplets(solver, term, rng):
    X, start = rng.standard_normal((N, 4)), Scaled().point(np.eye(4)[:, :3])
    costs = [
        minimize(Problem([Block(Array(X), terms)]), solver, start, max_iter=100, tol=1e-12).cost
        for terms in ([term], term.explicit(np.float64))
    ]
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)


def test_pieces_and_threads_give_the_same_bits(rng):
    n, a = 2000, 1500
    near, far = (rng.integers(n, size=(a, k)) for k in (10, 30))
    term = Margins(np.arange(a), near, far, np.full(a, 1 / a), np.full(a, 0.1 / a))
    fine, coarse = term.pieces(n)
    assert 1 < len(coarse) < len(fine)
    assert sum(group.span for group in coarse) == len(fine)
    X, point = rng.standard_normal((n, 3)), Flat().point(np.eye(3)[:, :2])
    found = [Problem([Block(Array(X), [term])], each).evaluate(point) for each in (Serial(), Threads(1), Threads(2))]
    for one in found[1:]:
        assert one.value == found[0].value
        np.testing.assert_array_equal(one.gradient, found[0].gradient)
    whole = term.value_and_slopes(term.predict(X @ point.G)).value
    assert found[0].value == pytest.approx(whole, rel=1e-12)


def test_some_anchors_keep_their_neighbours(term, rng):
    Z, rows = images(rng), np.array([7, 3, 5, 3])
    part, samples = term.take(rows)
    assert len(part) == 4
    assert (np.diff(samples) > 0).all()
    part.check(len(samples))
    np.testing.assert_allclose(part.predict(Z[samples]), term.predict(Z)[rows])
    np.testing.assert_array_equal(samples[part.triplets], term.select(rows).triplets)
    assert len(part.triplets) == 0 + 1 * 5 + 3 * 2 + 1 * 5


def test_distances_that_are_not_finite_have_no_finite_value(term, rng):
    D = term.predict(images(rng))
    for bad in (np.inf, np.nan):
        for column in (0, K):
            wrong = D.copy()
            wrong[0, column] = bad
            assert not np.isfinite(term.value_and_slopes(wrong).value)


def test_mistakes_are_named(term):
    with pytest.raises(ValueError, match="only after"):
        replace(term, near=np.array([[-1, 1, 2]] * A))
    with pytest.raises(ValueError, match="weight must be 25 finite numbers"):
        replace(term, weight=np.ones(3))
    with pytest.raises(ValueError, match="far has shape"):
        replace(term, far=term.far[1:])
    with pytest.raises(ValueError, match="anchors must be"):
        replace(term, anchors=term.anchors - N)
    with pytest.raises(ValueError, match="samples are numbered 0 to 9"):
        term.check(10)
