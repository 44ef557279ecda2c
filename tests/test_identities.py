"""The identities of gramian.contracts on all registered geometries, with all losses, measurements and solvers."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gramian import Block, Problem, minimize
from gramian.contracts.builders import gram, random_point, random_tangent
from gramian.contracts.geometry import DATA_IDENTITIES, POINT_IDENTITIES, PROBLEM_IDENTITIES
from gramian.contracts.invariances import check_descent, check_factor_rotation, check_target_scaling
from gramian.contracts.objectives import check_carried_evaluations, check_gradient, check_line_derivatives
from gramian.execution import Serial, Threads
from gramian.features import Identity
from gramian.geometries import Flat, Polar
from gramian.losses import LOSSES
from gramian.objective.block import along
from gramian.penalties import Toward
from gramian.solvers import SOLVERS as REGISTERED
from gramian.solvers import Armijo, ConjugateGradient, Exact, GradientDescent, TrustRegion

from helpers import EXAMPLES, GEOMETRY_EXAMPLES, make_problem

EXECUTIONS = [Serial(), Threads(1), Threads(2)]
geometries = pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
measurements = pytest.mark.parametrize("kind", EXAMPLES)

SOLVERS = [kind() for kind in REGISTERED.values() if kind.stops]
SOLVERS = [GradientDescent(Armijo(initial=None)) if s == GradientDescent() else s for s in SOLVERS]
SOLVERS += [GradientDescent(Exact()), TrustRegion("newton")]
solvers = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: repr(s)[:40])


def name_of(identity):
    return identity.__name__


@pytest.mark.parametrize("identity", [*POINT_IDENTITIES, *DATA_IDENTITIES], ids=name_of)
@geometries
def test_every_geometry_satisfies_its_identities(geometry, identity, rng, request):
    if identity is check_factor_rotation and isinstance(geometry, Polar) and geometry.retraction == "qf":
        reason = "the QR factor of U + sξ depends on the basis U of the subspace; the polar factor does not"
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    identity(geometry, rng)


@pytest.mark.parametrize("identity", PROBLEM_IDENTITIES, ids=name_of)
@measurements
@geometries
def test_every_geometry_satisfies_its_identities_on_every_measurement(geometry, kind, identity, rng):
    identity(geometry, rng, make_problem(EXAMPLES[kind](rng, np.float64), rng))


@pytest.mark.parametrize("loss", [loss for kind in LOSSES.values() for loss in kind.examples], ids=repr)
@measurements
@geometries
def test_gradient_is_the_derivative_in_the_metric_for_every_loss(geometry, kind, loss, rng, tiny_pieces):
    problem = make_problem(EXAMPLES[kind](rng, np.float64), rng, loss)
    for execution in EXECUTIONS:
        check_gradient(geometry, rng, Problem(problem.blocks, execution))


@solvers
@pytest.mark.parametrize("geometry", [g for g in GEOMETRY_EXAMPLES if not g.bounded], ids=repr)
def test_scaling_the_targets_scales_the_matrix_for_every_solver(geometry, solver, rng):
    check_target_scaling(geometry, rng, solver)


@pytest.mark.parametrize("execution", EXECUTIONS[1:], ids=repr)
@geometries
def test_identities_of_data_hold_on_every_execution(geometry, execution, rng, tiny_pieces, monkeypatch):
    for module in ("builders", "objectives"):
        monkeypatch.setattr(f"gramian.contracts.{module}.Problem", partial(Problem, execution=execution))
    turns = isinstance(geometry, Polar) and geometry.retraction == "qf"
    for identity in DATA_IDENTITIES:
        if not (identity is check_factor_rotation and turns):
            identity(geometry, rng)
    if not geometry.bounded:
        check_target_scaling(geometry, rng, ConjugateGradient())


@solvers
@measurements
@geometries
def test_cost_never_increases_with_any_batch_solver(geometry, kind, solver, rng, dtype):
    check_descent(geometry, rng, make_problem(EXAMPLES[kind](rng, dtype), rng), solver)


@pytest.mark.parametrize("execution", EXECUTIONS[1:], ids=repr)
@solvers
@geometries
def test_descent_has_the_same_bits_on_every_execution(geometry, solver, execution, rng, tiny_pieces):
    data, point = make_problem(EXAMPLES["pairs"](rng, np.float64), rng).blocks[0], random_point(geometry, rng)
    blocks = [data, Block(Identity(5), [Toward(rng.standard_normal((5, 3)), 0.7)])]
    one, other = (minimize(Problem(blocks, place), solver, point, max_iter=5, tol=0) for place in (Serial(), execution))
    np.testing.assert_array_equal(other.point.G, one.point.G)
    np.testing.assert_array_equal(other.history["cost"], one.history["cost"])
    check_descent(geometry, rng, Problem(blocks, execution), solver)


@pytest.mark.parametrize("execution", EXECUTIONS, ids=repr)
@geometries
def test_penalty_beside_measurements_satisfies_the_identities_of_problems(geometry, execution, rng, tiny_pieces):
    data = make_problem(EXAMPLES["pairs"](rng, np.float64), rng).blocks[0]
    both = Problem([data, Block(Identity(5), [Toward(rng.standard_normal((5, 3)), 0.7)])], execution)
    for identity in (check_gradient, check_line_derivatives, check_carried_evaluations):
        identity(geometry, rng, both)


@pytest.mark.parametrize("execution", EXECUTIONS, ids=repr)
@geometries
def test_penalty_is_the_relative_squared_distance_to_its_matrix(geometry, execution, rng):
    """Checks the value, the Gauss-Newton operator and, on straight curves, the Hessian."""
    factor = rng.standard_normal((5, 3))
    problem = Problem([Block(Identity(5), [Toward(factor, 0.7)])], execution)
    evaluation = problem.evaluate(random_point(geometry, rng))
    point, W0 = evaluation.point, factor @ factor.T
    assert evaluation.value == pytest.approx(0.35 * np.sum((gram(point) - W0) ** 2) / np.sum(W0**2))
    tangent = random_tangent(point, rng)
    h = 1e-5 / np.linalg.norm(point.velocity(tangent))
    change = (gram(point.curve(tangent).point(h)) - gram(point.curve(-tangent).point(h))) / (2 * h)
    form = point.inner(tangent, evaluation.gauss_newton(tangent))
    assert form == pytest.approx(0.7 * np.sum(change**2) / np.sum(W0**2), rel=1e-5)
    line = evaluation.line(tangent)
    if line.straight:
        assert point.inner(tangent, evaluation.hessian(tangent)) == pytest.approx(line.along(0.0)[2], rel=1e-8)


@pytest.fixture
def tiny_pieces(monkeypatch):
    """Even the smallest problem is worked on in several pieces."""
    monkeypatch.setattr("gramian.objective.block.ROWS_PER_PIECE", 5)
    monkeypatch.setattr("gramian.features.ROWS_PER_PIECE", 4)
    monkeypatch.setattr("gramian.features.ENTRIES_PER_FEATURE", 1)
    monkeypatch.setattr("gramian.objective.terms.MEASUREMENTS_PER_PIECE", 6)
    monkeypatch.setattr("gramian.objective.terms.MEASUREMENTS_PER_SAMPLE", {2: 1, 4: 3})
    monkeypatch.setattr("gramian.execution.threads.SHORT", 0.0)


@measurements
@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_at_the_start_of_a_line_are_those_of_a_trial_there(kind, loss, rng, dtype, tiny_pieces):
    (block,) = make_problem(EXAMPLES[kind](rng, dtype), rng).blocks
    for sense in (0, 1):
        terms = [replace(term, loss=LOSSES[loss](), sense=np.full(len(term.target), sense)) for term in block.terms]
        evaluation = Problem([Block(block.features, terms)]).evaluate(random_point(Flat(), rng, dtype=dtype))
        line = evaluation.line(-evaluation.gradient)
        trial = evaluation.problem.run(along, line.ahead, s=0.0)[1]
        np.testing.assert_allclose(line.along(0.0), trial, rtol=1e-12 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("execution", EXECUTIONS[1:], ids=repr)
@measurements
@geometries
def test_every_execution_gives_the_bits_of_serial(geometry, kind, execution, rng, dtype, tiny_pieces):
    problem = make_problem(EXAMPLES[kind](rng, dtype), rng)
    point = random_point(geometry, rng, dtype=dtype)
    found = []
    for place in (Serial(), execution):
        evaluation = Problem(problem.blocks, place).evaluate(point)
        line = evaluation.line(-evaluation.gradient)
        end = line.move(0.3 * line.guess)
        found.append((evaluation.value, evaluation.gradient, line.guess, end.value, end.gradient, gram(end.point)))
    for serial, other in zip(*found, strict=True):
        np.testing.assert_array_equal(serial, other)
    # Finite differences need the digits of float64.
    for identity in PROBLEM_IDENTITIES if dtype == np.float64 else ():
        identity(geometry, rng, Problem(problem.blocks, execution))
