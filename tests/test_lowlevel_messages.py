"""Mistakes in calls of the low-level API: each is refused with an error that names the argument, or understood."""

import numpy as np
import pytest

from gramian import Block, Problem, Term, minimize
from gramian.features import Array, Identity
from gramian.geometries import Flat, Grassmann, Polar, Scaled
from gramian.losses import Huber, Logistic, Squared
from gramian.measurements import Dense, Each, Entries, Pairs, Quadruplets, Triplets
from gramian.solvers import ConjugateGradient, GradientDescent
from gramian.solvers.online import descend

from helpers import GEOMETRY_EXAMPLES, n_columns, rank_one, regression

INDEXED = [
    Pairs([[0, 10**9]]),
    Triplets([[0, 1, 10**9]]),
    Quadruplets([[0, 1, 2, 10**9]]),
    Entries([[0, 10**9]]),
    Each(3),
    Dense(np.ones((1, 3, 3))),
]


@pytest.mark.parametrize("measurement", INDEXED, ids=lambda m: type(m).__name__)
def test_an_image_with_too_few_rows_is_refused(measurement):
    Z, weight = np.ones((2, 2)), np.ones(len(measurement))
    for call in (measurement.predict, lambda Z: measurement.along(Z, Z), lambda Z: measurement.weigh(weight, Z)):
        with pytest.raises(ValueError, match="Z has"):
            call(Z)


SMALL = [
    Pairs([[0, 2]]),
    Triplets([[0, 1, 2]]),
    Quadruplets([[0, 1, 0, 2]]),
    Entries([[0, 2]]),
    Each(3),
    Dense(np.ones((1, 3, 3))),
]


@pytest.mark.parametrize("measurement", SMALL, ids=lambda m: type(m).__name__)
def test_directions_and_weights_of_another_shape_are_refused(measurement):
    Z = np.ones((3, 2))
    with pytest.raises(ValueError, match="T has shape"):
        measurement.along(Z, np.ones((3, 1)))
    with pytest.raises(ValueError, match="weight has shape"):
        measurement.weigh(np.ones(7), Z)
    with pytest.raises(ValueError, match="complex"):
        measurement.predict(1j * Z)
    for other in (
        Z.astype(int),
        np.asfortranarray(Z),
        Z[::-1, ::-1],
        Z.astype(">f8"),
        Z.astype(np.float16),
        Z.tolist(),
    ):
        np.testing.assert_array_equal(measurement.predict(other), measurement.predict(Z))


def test_indices_beyond_the_range_of_the_machine_are_refused():
    with pytest.raises(ValueError, match="out of range"):
        Pairs(np.array([[0, 2**63]], dtype=np.uint64))


@pytest.mark.parametrize("measurement", SMALL, ids=lambda m: type(m).__name__)
def test_rows_beyond_the_measurements_are_refused(measurement):
    with pytest.raises(ValueError, match="measurements"):
        measurement.take(np.array([0, 99]))


@pytest.mark.parametrize("loss", [Squared(), Huber(), Logistic()])
def test_losses_refuse_arrays_of_different_lengths(loss):
    long, short, sense = np.ones(1000), np.ones(2), np.zeros(2, np.int8)
    with pytest.raises(ValueError, match="have shapes"):
        loss.value_and_slopes(long, short, sense, short)
    with pytest.raises(ValueError, match="have shapes"):
        loss.along((long, long, long), short, sense, short, 1.0)
    if isinstance(loss, Squared):
        with pytest.raises(ValueError, match="have shapes"):
            loss.quartic((long, long, long), short, sense, short)


@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
def test_factors_are_checked_by_every_geometry(geometry):
    point = geometry.point(np.eye(3, dtype=int))
    assert point.G.dtype == np.float64
    np.testing.assert_allclose(point.G @ point.G.T, np.eye(3), atol=1e-12)
    for wrong, words in (
        (np.ones(3), "shape"),
        (np.ones((3, 0)), "shape"),
        (np.full((3, 3), np.nan), "NaN"),
        (1j * np.eye(3), "complex"),
        (np.ma.masked_array(np.eye(3)), "masked"),
        (np.eye(3).astype(object), "object"),
    ):
        with pytest.raises(ValueError, match=words):
            geometry.point(wrong)


def test_a_direction_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="direction has shape"):
        Flat().point(np.ones((1000, 2))).curve(np.ones((2, 2))).point(0.5)
    with pytest.raises(ValueError, match="moment has shape"):
        Scaled(np.eye(2)).point(np.ones((3, 1)))


@pytest.mark.parametrize("kind", [Polar(), Grassmann()], ids=repr)
def test_the_hessian_is_refused_where_curves_are_not_straight(kind, rng):
    X, y, _, start = regression(rng, 30, 4, 2)
    evaluation = rank_one(X, y).evaluate(kind.point(start))
    with pytest.raises(ValueError, match=f"{type(kind).__name__}.*gauss_newton"):
        evaluation.hessian(evaluation.gradient)


def test_senses_of_a_term_are_words_or_numbers():
    assert Term(Each(2), np.ones(2), sense=["at most", 1]).sense.tolist() == [-1, 1]
    assert Term(Each(2), np.ones(2), sense="at least").sense.tolist() == [1, 1]
    for wrong in (["less", "more"], [2, 0], [256, 0], [0.5, 0], [None, 0], [np.nan, 0]):
        with pytest.raises(ValueError, match="Choose 0 or 'equal'"):
            Term(Each(2), np.ones(2), sense=wrong)


@pytest.mark.parametrize("name", ["target", "weight"])
def test_targets_and_weights_of_a_term_are_real_and_finite(name):
    for wrong in (
        np.array([1, 1j]),
        np.array([1, np.nan]),
        np.array([1, np.inf]),
        np.array(["2020", "2021"], "M8[Y]"),
        np.array([1, None]),
        np.ma.masked_array([1.0, 2.0], [False, True]),
        np.array(["a", "b"]),
        np.ones(3),
    ):
        with pytest.raises(ValueError, match=name):
            Term(Each(2), **{"target": np.ones(2), name: wrong})
    with pytest.raises(ValueError, match="not negative"):
        Term(Each(2), np.ones(2), weight=np.array([1.0, -1.0]))


def test_terms_take_the_dtype_of_the_data():
    term = Term(Each(2), np.ones(2), weight=np.array([1, 2]))
    block = Block(Array(np.ones((2, 2), np.float32)), [term])
    assert block.terms[0].target.dtype == block.terms[0].weight.dtype == np.float32
    with pytest.raises(ValueError, match=r"target.*float32"):
        Block(Array(np.ones((2, 2), np.float32)), [Term(Each(2), np.array([1e60, 1]))])


def test_blocks_and_problems_are_checked(rng):
    X, y, _, _ = regression(rng, 10, 3, 2)
    block, term = Block(Array(X), [Term(Each(10), y)]), Term(Each(10), y)
    for make, words in (
        (lambda: Block(X, [term]), "as_features"),
        (lambda: Block(Array(X), term), "list"),
        (lambda: Block(Array(X), []), "at least one Term"),
        (lambda: Block(Array(X), [y]), "expected Term"),
        (lambda: Block(Array(X.astype(np.float16)), [term]), "float32 or float64"),
        (lambda: Array(X.tolist()), "X is a list"),
        (lambda: Term([[0, 1]], y), "Measurement"),
        (lambda: Term(Each(10), y, "squared"), "Loss"),
        (lambda: Problem([]), "at least one Block"),
        (lambda: Problem(block), r"Problem\(\[block\]\)"),
        (lambda: Problem([X]), "expected Block"),
        (lambda: Problem([block, Block(Identity(4), [Term(Each(4), np.ones(4))])]), "3 features.*4 features"),
        (lambda: Problem([block, Block(Identity(3, "f4"), [Term(Each(3), np.ones(3))])]), "float64.*float32"),
        (lambda: Problem([block], 2), "execution"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            make()


def test_points_are_checked_against_the_data(rng):
    X, y, _, start = regression(rng, 30, 4, 2)
    problem = rank_one(X, y)
    for point, words in (
        (start, "make one by geometry"),
        (Flat().point(start[:2]), "4 features"),
        (Flat().point(start.astype(np.float32)), "astype"),
    ):
        for use in (problem.evaluate, lambda p: minimize(problem, GradientDescent(), p)):
            with pytest.raises((ValueError, TypeError), match=words):
                use(point)


def test_arguments_of_minimize_are_checked(rng):
    X, y, _, start = regression(rng, 30, 4, 2)
    problem, point = rank_one(X, y), Flat().point(start)
    with pytest.raises(TypeError, match="swapped"):
        minimize(problem, point, ConjugateGradient())
    with pytest.raises(TypeError, match="the class ConjugateGradient"):
        minimize(problem, ConjugateGradient, point)
    with pytest.raises(TypeError, match="problem is of type ndarray"):
        minimize(X, ConjugateGradient(), point)
    with pytest.raises(ValueError, match="max_iter"):
        minimize(problem, ConjugateGradient(), point, max_iter=-1)
    with pytest.raises(ValueError, match="tol"):
        minimize(problem, ConjugateGradient(), point, tol=np.nan)


def test_batches_of_an_epoch_are_checked(rng):
    X, y, _, start = regression(rng, 30, 4, 2)
    problem, point = rank_one(X, y), Flat().point(start)
    for order, steps in (
        (np.array([0, 10**9]), np.ones(2)),
        (np.arange(3), np.ones(2)),
        (np.array([-1, 0]), np.ones(2)),
    ):
        with pytest.raises(ValueError, match=r"order|steps"):
            descend(problem, point, order, 1, steps)
    with pytest.raises(ValueError, match="features"):
        descend(problem, Flat().point(np.ones((2, 2))), np.arange(2), 1, np.ones(2))


def test_a_factor_of_low_rank_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"rank 1 but 2 columns.*Choose rank <= 1, or scale the data"):
        Polar().point(np.ones((3, 2)))


@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
def test_a_step_that_cannot_be_computed_is_rejected(geometry, rng):
    X, y, _, _ = regression(rng, 60, 4, 2)
    evaluation = rank_one(X, y).evaluate(geometry.point(rng.standard_normal((4, n_columns(geometry, 4, 2)))))
    line = evaluation.line(-evaluation.gradient)
    for s in (np.inf, np.nan):
        assert not line.move(s).value < np.inf


def test_a_zero_start_is_refused_where_it_has_no_gradient(rng):
    X, y, _, start = regression(rng, 30, 4, 2)
    with pytest.raises(ValueError, match="gradient at the start"):
        minimize(rank_one(X, y), ConjugateGradient(), Scaled().point(0 * start))
