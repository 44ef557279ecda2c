"""Online descent: compiled kernels compared with the generic loop, schedules, streams."""

import numba
import numpy as np
import pytest
import scipy.sparse

from gramian import Block, Problem, Term
from gramian._kernels.online import flat_online
from gramian._kernels.online_polar import polar_online
from gramian._kernels.online_scaled import scaled_online
from gramian.features import Array, Centred, Identity, as_features
from gramian.geometries import GEOMETRIES, AffineInvariant, Flat, Grassmann, Polar, Scaled
from gramian.losses import Linear
from gramian.measurements import Each, Pairs, Triplets
from gramian.solvers import Online, minimize
from gramian.solvers.online import Schedule, descend
from gramian.solvers.online.compiled import Batches, compiled_samples, descend_generic
from gramian.solvers.online.descent import GRID

from helpers import gram, n_columns, regression

D, R, N = 8, 3, 200
KINDS = ["each", "pairs", "triplets", "sparse each", "sparse pairs", "sparse triplets"]
MOMENT = np.diag(np.arange(1.0, D + 1)) + 0.1


def make_online_problem(kind, rng, dtype=np.float64, noise=0.0):
    X, _, truth, _ = regression(rng, N, D, R, dtype=dtype)
    if kind.startswith("sparse"):
        X[rng.random(X.shape) < 0.6] = 0
    measurement = {
        "each": Each(N),
        "pairs": Pairs(rng.integers(N, size=(300, 2)), N),
        "triplets": Triplets(rng.integers(N, size=(300, 3)), N),
    }[kind.removeprefix("sparse ")]
    y = measurement.predict(X @ truth)
    m = len(measurement)
    sense = rng.integers(-1, 2, size=m)
    weight = rng.random(m).astype(dtype)
    target = (y + noise * rng.standard_normal(m)).astype(dtype)
    features = as_features(scipy.sparse.csr_array(X) if kind.startswith("sparse") else X)
    return Problem([Block(features, [Term(measurement, target, sense=sense, weight=weight / weight.sum())])])


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("batch_size", [1, 7, 32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "geometry", [Flat(), Scaled(), Scaled(MOMENT), Polar(), Polar(0.0), Polar(1.0)], ids=lambda g: repr(g)[:24]
)
def test_compiled_descent_equals_generic_descent(geometry, kind, batch_size, adaptive, rng, dtype):
    problem = make_online_problem(kind, rng, dtype)
    m = len(problem.sampled.measurement)
    point = geometry.point(rng.standard_normal((D, R)).astype(dtype))
    order = rng.permutation(m)
    # The scaled metric measures lengths in units of W; the others in units of G, or none.
    step_size = 0.5 if isinstance(geometry, Scaled) else 0.05
    solver = Online(batch_size=batch_size, step_size=step_size, delay=1.0)
    steps = solver.schedule(problem, point, rng).steps(m, batch_size)
    if adaptive:
        steps *= np.linalg.norm(point.G) ** 2
    batches = Batches(order, batch_size, steps, adaptive)
    fast, skipped = point.online_kernel(compiled_samples(problem), batches)
    slow, _ = descend_generic(problem, point, batches)
    assert skipped == 0
    assert fast.G.dtype == dtype
    scale = np.abs(gram(slow)).max()
    np.testing.assert_allclose(gram(fast), gram(slow), atol=(1e-10 if dtype == np.float64 else 1e-3) * scale)
    assert np.abs(gram(fast) - gram(point)).max() > 1e-2 * scale


@pytest.mark.parametrize("batch_size", [1, 8])
def test_compiled_descent_limits_steps_as_the_geometry_does(batch_size, rng):
    problem = make_online_problem("each", rng)
    point = Polar().point(rng.standard_normal((D, R)))
    order, steps = np.arange(3 * batch_size), np.full(3, 10.0)
    batches = Batches(order, batch_size, steps, False)
    fast, _ = point.online_kernel(compiled_samples(problem), batches)
    slow, _ = descend_generic(problem, point, batches)
    np.testing.assert_allclose(gram(fast), gram(slow), rtol=1e-6)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_generic_descent_with_very_long_steps_stays_finite(name, rng):
    geometry = GEOMETRIES[name]()
    problem = make_online_problem("each", rng, np.float32)
    point = geometry.point(rng.standard_normal((D, n_columns(geometry, D, R))).astype(np.float32))
    end, _ = descend_generic(problem, point, Batches(np.arange(N), 8, np.full(N // 8, 1e6), False))
    assert np.isfinite(end.G).all()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="machine code overflows without a warning, Python with one")
@pytest.mark.parametrize("geometry", [Flat(), Scaled(), Polar()], ids=repr)
def test_compiled_descent_with_very_long_steps_stays_finite(geometry, rng):
    """Polar steps are limited. Flat steps diverge until one is not finite, which is skipped."""
    problem = make_online_problem("each", rng)
    point = geometry.point(rng.standard_normal((D, R)))
    for batch_size in (1, 32):
        steps = np.full(-(-N // batch_size), 1e3)
        end, skipped = descend(problem, point, np.arange(N), batch_size, steps)
        assert np.isfinite(end.G).all()
        if not isinstance(geometry, Scaled):
            assert (skipped > 0) == isinstance(geometry, Flat)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="machine code overflows without a warning, Python with one")
@pytest.mark.parametrize("geometry", [Flat(), Scaled(), Polar()], ids=repr)
@pytest.mark.parametrize("batch_size", [1, 32])
def test_steps_beyond_the_range_of_numbers_are_skipped(geometry, batch_size, rng):
    problem = make_online_problem("each", rng, np.float32)
    point = geometry.point((1e-20 * rng.standard_normal((D, R))).astype(np.float32))
    end, _ = descend(problem, point, np.arange(N), batch_size, np.full(-(-N // batch_size), 4.5e38))
    assert np.isfinite(end.G).all()


def test_compiled_polar_descent_keeps_the_frame_orthonormal(rng):
    problem = make_online_problem("each", rng)
    point = Polar().point(rng.standard_normal((D, R)))
    end, _ = descend(problem, point, np.tile(np.arange(N), 20), 1, np.full(20 * N, 1e-3))
    np.testing.assert_allclose(end.frame.T @ end.frame, np.eye(R), atol=1e-13)


def test_only_squared_losses_stored_rows_and_some_geometries_are_compiled(rng):
    problem = make_online_problem("each", rng)
    term, X = problem.sampled, problem.blocks[0].features.X
    G = rng.standard_normal((D, R))
    assert compiled_samples(problem) is not None
    assert Flat().point(G).online_kernel is not None
    for geometry in (Grassmann(), Polar(retraction="qf"), Polar(core="log-euclidean")):
        assert geometry.point(G).online_kernel is None
    others = [
        Problem([Block(Identity(N), [term])]),
        Problem([Block(Centred(Array(X), X.mean(axis=0)), [term])]),
        Problem([Block(Array(X), [Term(Each(N), term.target, Linear())])]),
    ]
    for other in others:
        assert compiled_samples(other) is None


def test_differences_of_centred_rows_are_read_from_the_rows_themselves(rng):
    problem = make_online_problem("sparse pairs", rng)
    features = problem.blocks[0].features
    centred = Problem([Block(Centred(features, features.X.mean(axis=0)), problem.blocks[0].terms)])
    point, order, steps = Scaled().point(rng.standard_normal((D, R))), np.arange(300), np.full(10, 0.01)
    ends = [descend(each, point, order, 30, steps)[0] for each in (problem, centred)]
    np.testing.assert_array_equal(ends[0].G, ends[1].G)


def vary_storage(problem):
    """Return the problem with its samples stored in all ways that count as one to a compiled loop."""
    (block,) = problem.blocks
    X, (term,) = block.features.X, block.terms
    frozen = X.copy()
    frozen.flags.writeable = False
    stored = [X, np.asfortranarray(X), frozen, np.repeat(X, 2, axis=1)[:, ::2], scipy.sparse.csr_array(X)]
    wide = scipy.sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return [Problem([Block(as_features(each), [term])]) for each in (*stored, wide)]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("geometry", "kernel"),
    [(Flat(), flat_online), (Scaled(), scaled_online), (Scaled(MOMENT), scaled_online), (Polar(), polar_online)],
    ids=lambda x: repr(x)[:24],
)
def test_a_kernel_is_compiled_once_for_each_dtype_dense_and_sparse(geometry, kernel, rng, dtype):
    """Read-only or not, of any memory order, and for all measurements."""
    for kind in ("each", "pairs", "triplets"):
        problem = make_online_problem(kind, rng, dtype)
        order, steps = np.arange(200)[::-1], np.full(40, 1e-3)[::2]
        order.flags.writeable = False
        point = geometry.point(rng.standard_normal((D, R)).astype(dtype))
        ends = [descend(each, point, order, 10, steps)[0].G for each in vary_storage(problem)]
        for end in ends[1:]:
            np.testing.assert_allclose(end, ends[0], rtol=1e-3 if dtype == np.float32 else 1e-10, atol=1e-6)
    name = np.dtype(dtype).name
    assert len([signature for signature in kernel.signatures if name in str(signature[-1])]) == 2


@pytest.mark.parametrize("name", GEOMETRIES)
def test_two_epochs_lower_the_cost_on_every_geometry(name, rng):
    geometry = GEOMETRIES[name]()
    problem = make_online_problem("each", rng)
    point = geometry.point(rng.standard_normal((D, n_columns(geometry, D, R))))
    result = minimize(problem, Online(batch_size=8), point, max_iter=2)
    cost = result.history["cost"]
    # W = U Uᵀ has a fixed scale, so no subspace fits these targets well.
    assert cost[-1] < (0.95 if name == "grassmann" else 0.7) * cost[0]
    assert result.n_iter == 2
    assert len(cost) == 3


def test_schedule_is_the_formula_of_the_paper():
    schedule = Schedule(scale=2.0, horizon=100.0, seen=50)
    t = np.array([50, 60, 70])
    np.testing.assert_allclose(schedule.steps(25, 10), 2 * 100 / (100 + t))
    assert schedule.after(25).seen == 75


def test_the_first_step_has_length_s(rng):
    """The step size is s/μ and the mean gradient norm is μ, so the mean length of the first step is s."""
    problem = make_online_problem("each", rng)
    point = Flat().point(rng.standard_normal((D, R)))
    solver = Online(batch_size=N, step_size=0.125, delay=2.0, shuffle=False)
    schedule = solver.schedule(problem, point, rng)
    end, _ = solver.stream(problem.evaluate(point), schedule, np.arange(N))
    assert np.linalg.norm(end.point.G - point.G) == pytest.approx(0.125)
    assert schedule.horizon == 2.0 * N


def test_pretraining_chooses_the_best_of_the_grid(rng):
    problem = make_online_problem("each", rng)
    point = Polar().point(rng.standard_normal((D, R)))
    solver = Online(batch_size=8, shuffle=False)
    chosen = solver.schedule(problem, point, rng)

    def descend_by(schedule):
        return descend(problem, point, np.arange(N), 8, schedule.steps(N, 8))[0]

    best = problem.evaluate(descend_by(chosen)).value
    for step in GRID:
        for delay in GRID:
            fixed = Online(batch_size=8, shuffle=False, step_size=step, delay=delay)
            assert best <= problem.evaluate(descend_by(fixed.schedule(problem, point, rng))).value * (1 + 1e-9)


def test_pretraining_extends_the_grid_if_the_best_step_is_at_its_edge(rng):
    X, y, _, start = regression(rng, N, D, R)
    problem = Problem([Block(Array(X), [Term(Each(N), 1e-8 * y)])])
    result = minimize(problem, Online(batch_size=8), Flat().point(1e-4 * start), max_iter=3)
    assert result.history["cost"][-1] < 0.5 * result.history["cost"][0]


@pytest.mark.parametrize("name", ["flat", "scaled", "polar"])
def test_steps_from_a_stationary_start_are_not_in_units_of_rounding(name, rng):
    x, y = rng.standard_normal(5), 1 + rng.random(5)
    best = (x**2 @ y) / (x**2 @ x**2)  # the least squares of y = w x²
    point = GEOMETRIES[name]().point(np.array([[best**0.5]]))
    problem = Problem([Block(Array(x[:, None]), [Term(Each(5), y)])])
    end = minimize(problem, Online(), point, max_iter=3, tol=0.0)
    np.testing.assert_allclose(gram(end.point), best, rtol=1e-7)


def test_an_epoch_that_diverges_is_repeated_with_shorter_steps(rng):
    problem = make_online_problem("each", rng)
    point = Flat().point(rng.standard_normal((D, R)))
    solver = Online(batch_size=1, step_size=100.0, delay=1.0)
    evaluation = problem.evaluate(point)
    before = solver.schedule(problem, point, rng)
    end, after = solver.stream(evaluation, before, np.arange(N))
    assert end.value <= 2 * evaluation.value
    # Later steps are not shortened.
    assert after == before.after(N)


def test_mini_batches_use_every_sample_and_the_mean_loss(rng):
    X, y, _, start = regression(rng, 10, D, R)
    problem = Problem([Block(Array(X), [Term(Each(10), y)])])
    end, _ = descend(problem, Flat().point(start), np.arange(10), 4, np.array([1e-3, 1e-3, 1e-3]))
    G = start
    for rows in (slice(0, 4), slice(4, 8), slice(8, 10)):
        error = np.sum((X[rows] @ G) ** 2, axis=1) - y[rows]
        G = G - 1e-3 * 2 * X[rows].T @ (error[:, None] * (X[rows] @ G)) / len(error)
    np.testing.assert_allclose(end.G, G, rtol=1e-12)


def test_a_seed_makes_the_result_reproducible(rng):
    problem = make_online_problem("each", rng)
    point = Flat().point(rng.standard_normal((D, R)))
    first, same, other = (minimize(problem, Online(seed=s), point, max_iter=1).point.G for s in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_descent_over_half_of_the_samples_counts_one_pass(rng):
    problem = make_online_problem("each", rng)
    point = Flat().point(rng.standard_normal((D, R)))
    before = problem.passes
    descend(problem, point, np.arange(N // 2), 8, np.full(N // 16 + 1, 1e-4))
    assert problem.passes - before == pytest.approx(1.0)


def test_online_descent_on_the_grassmann_manifold_finds_the_principal_subspace(rng):
    X = rng.standard_normal((2000, D)) * np.array([5, 4, 3, *[0.5] * (D - 3)])
    problem = Problem([Block(Array(X), [Term(Each(2000), np.sum(X**2, axis=1), Linear())])])
    result = minimize(problem, Online(batch_size=16), Grassmann().point(rng.standard_normal((D, 3))), max_iter=3)
    principal = np.linalg.svd(X, full_matrices=False)[2][:3].T
    assert np.linalg.svd(result.point.G.T @ principal)[1].min() > 0.999


def test_problems_of_several_terms_and_bad_batch_sizes_raise_an_error(rng):
    X, y, _, start = regression(rng, 10, D, R)
    problem = Problem([Block(Array(X), [Term(Each(10), y), Term(Each(10), y)])])
    with pytest.raises(ValueError, match="one block with one term"):
        minimize(problem, Online(), Flat().point(start))
    with pytest.raises(ValueError, match="batch_size=0 is not valid"):
        Online(batch_size=0)


def test_a_satisfied_batch_changes_nothing(rng):
    X, y, G, _ = regression(rng, 20, D, D)
    problem = Problem([Block(Array(X), [Term(Each(20), y + 1, sense=np.full(20, -1))])])
    point = AffineInvariant().point(G)
    end, skipped = descend(problem, point, np.arange(20), 5, np.ones(4))
    np.testing.assert_array_equal(end.G, point.G)
    assert skipped == 0


def test_the_last_subset_for_step_sizes_is_as_large_as_the_others():
    rng = np.random.default_rng(1)
    X, G = rng.standard_normal((1001, 5)), rng.standard_normal((5, 2))
    y = np.sum((X @ G) ** 2, axis=1)
    # The first 1000 measurements are fitted exactly.
    y[-1] += 3 * rng.standard_normal()
    problem = Problem([Block(Array(X), [Term(Each(1001), y)])])
    found = minimize(problem, Online(shuffle=False, subset=1000), Scaled().point(G), max_iter=3)
    assert max(found.history["cost"]) == found.history["cost"][0]
    assert found.history["cost"][-1] < found.history["cost"][0]
