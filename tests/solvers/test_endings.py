"""How a fit ends: one enum, a message, and a journal through all rounds."""

import io
import re

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, PSDRegressor, minimize
from gramian.geometries import Flat, Scaled
from gramian.progress import ProgressPrinter
from gramian.solvers import ConjugateGradient, Ending, GradientDescent, Journal, Online

from helpers import rank_one, regression


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def problem(rng):
    X, y, _, self_start = regression(rng, 200, 5, 2)
    return rank_one(X, y + 0.1 * rng.standard_normal(200)), self_start


@pytest.mark.parametrize(
    ("solver", "settings", "ending", "message"),
    [
        (
            ConjugateGradient(),
            {"tol": 1e-4, "perfect": 0.0},
            Ending.CONVERGED,
            "relative decrease of the cost below tol",
        ),
        (ConjugateGradient(), {"perfect": 1.0, "tol": 0.1}, Ending.CONVERGED, "cost small against that of W = 0"),
        (ConjugateGradient(), {"max_iter": 2, "tol": 0}, Ending.EXHAUSTED, "max_iter=2 reached"),
        (ConjugateGradient(), {"callback": lambda record: True}, Ending.HALTED, "stopped by the callback"),
        (Online(step_size=0.1, delay=1.0), {"max_iter": 3}, Ending.EXHAUSTED, "3 epochs done"),
    ],
)
def test_every_ending_has_a_message(solver, settings, ending, message, problem):
    result = minimize(problem[0], solver, Scaled().point(problem[1]), **settings)
    assert (result.ending, result.message) == (ending, message)
    assert result.converged == (ending is Ending.CONVERGED)


def test_fast_convergence_ends_by_the_predicted_decrease(rng):
    X, y, _, start = regression(rng, 4000, 6, 2)
    y = y + rng.standard_normal(len(y))
    exact = minimize(rank_one(X, y), ConjugateGradient(), Scaled().point(start), tol=1e-14)
    fast = minimize(rank_one(X, y), ConjugateGradient(), Scaled(gaussian=True).point(start), tol=1e-6)
    assert (fast.ending, fast.message) == (Ending.CONVERGED, "predicted decrease of the cost below tol")
    assert fast.cost - exact.cost <= 2e-6 * exact.cost
    # The decrease is told before the step that would show it.
    assert np.diff(fast.history["cost"])[-1] < -1e-6 * fast.cost
    # A metric that is no Hessian predicts nothing.
    plain = minimize(rank_one(X, y), ConjugateGradient(), Scaled().point(start), tol=1e-6)
    assert plain.message == "relative decrease of the cost below tol"
    assert plain.n_iter > fast.n_iter


def never(line, previous):
    """A search that finds no step."""
    return 0.0


def test_no_step_at_a_minimum_is_convergence(problem):
    best = minimize(problem[0], ConjugateGradient(), Scaled().point(problem[1]), tol=1e-15).point
    result = minimize(problem[0], GradientDescent(never), best)
    assert result.ending is Ending.CONVERGED
    assert result.message == "no step lowers the objective, and its model predicts no decrease"


def test_no_step_far_from_a_minimum_is_stuck(problem):
    result = minimize(problem[0], GradientDescent(never), Flat().point(problem[1]))
    assert result.ending is Ending.STUCK
    assert not result.converged


def test_rounds_cut_short_on_purpose_are_not_called_converged(wine):
    """No rule held after four rounds of 15 iterations; nor is that worth a warning."""
    model = MetricLearner(5, constraints="triplets", tol=1e-14, random_state=0).fit(*wine)
    assert model.n_iter_ == 60
    assert not model.converged_
    assert model.message_ == "15 iterations in each of n_rounds=4 rounds, as planned; no stopping rule held in the last"


def test_a_rule_that_holds_in_the_last_round_is_convergence(wine):
    model = MetricLearner(5, constraints="triplets", tol=0.1, random_state=0).fit(*wine)
    assert model.converged_
    assert model.message_ == "relative decrease of the cost below tol"


def test_advice_on_max_iter_says_what_a_round_takes(wine):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=14 reached.*of which a round takes 15 at most, or n_rounds"):
        MetricLearner(5, constraints="triplets", tol=1e-14, max_iter=14, random_state=0).fit(*wine)


def test_online_solvers_have_no_rule_to_hold(rng):
    X, y, _, _ = regression(rng, 300, 4, 2)
    model = PSDRegressor(2, solver="online", random_state=0).fit(X, y)
    assert not model.converged_
    assert model.message_ == "5 epochs done"


def test_the_history_runs_through_all_rounds(wine):
    records = []
    settings = {"constraints": "triplets", "tol": 1e-14, "random_state": 0}
    model = MetricLearner(5, callback=lambda record: records.append(record) and False, **settings)
    history = model.fit(*wine).history_
    np.testing.assert_array_equal(history["iteration"], np.arange(61))
    assert [record.iteration for record in records] == list(range(61))
    assert (np.diff(history["time"]) > 0).all()
    assert (np.diff(history["passes"]) > 0).all()
    assert set(model.timings_) >= {"coordinates", "start", "constraints"}
    assert sum(model.timings_.values()) <= history["time"][-1]


def test_a_callback_ends_all_rounds(wine):
    model = MetricLearner(5, constraints="triplets", random_state=0, callback=lambda record: record.iteration == 20)
    model.fit(*wine)
    assert model.n_iter_ == 20
    assert model.message_ == "stopped by the callback"


def test_progress_shows_every_tenth_iteration_the_last_one_and_the_reason(wine, capsys):
    model = MetricLearner(5, constraints="triplets", tol=1e-14, n_rounds=3, random_state=0, verbose=1).fit(*wine)
    lines = capsys.readouterr().err.splitlines()
    shown = [int(line.split()[0]) for line in lines if re.match(r" +\d+ ", line)]
    assert shown == [0, 10, 20, 30, 40, 45]
    assert model.n_iter_ == 45


def test_what_takes_long_before_the_first_iteration_is_named():
    file = io.StringIO()
    journal = Journal(reporter=ProgressPrinter(file=file))
    journal.reporter.phase("start", 2.5)
    journal.reporter.phase("nothing", 0.001)
    journal.write(1.0, 0.5, 0.0, 2.0)
    journal.end("done")
    lines = file.getvalue().splitlines()
    assert lines[0] == "start: 2.50 s"
    assert lines[1].startswith("iteration")
    assert lines[-1] == "done"
    assert len(lines) == 4


def test_a_journal_counts_passes_on(problem):
    journal = Journal()
    first = minimize(problem[0], ConjugateGradient(), Scaled().point(problem[1]), max_iter=2, tol=0, journal=journal)
    second = minimize(problem[0], ConjugateGradient(), first.point, max_iter=3, tol=0, journal=journal)
    assert (first.n_iter, second.n_iter) == (2, 3)
    np.testing.assert_array_equal(second.history["iteration"], np.arange(6))
    assert second.history["passes"][-1] == problem[0].passes


@pytest.mark.parametrize(("name", "phase"), [("cg", ""), ("trust-region", "choosing the radius")])
def test_only_solvers_that_choose_something_at_the_start_have_a_phase_for_it(name, phase, rng):
    X, y, _, _ = regression(rng, 50, 4, 2)
    timings = PSDRegressor(2, solver=name, random_state=0).fit(X, y).timings_
    assert {key for key in timings if key.startswith("choosing")} == ({phase} if phase else set())


def test_a_result_says_whether_stopping_rules_apply(rng):
    X, y, _, _ = regression(rng, 50, 4, 2)
    point = Flat().point(np.eye(4)[:, :2])
    results = [minimize(rank_one(X, y), solver, point, max_iter=2) for solver in (ConjugateGradient(), Online())]
    assert [result.stops for result in results] == [True, False]
    assert list(PSDRegressor(2, solver="online", random_state=0).fit(X, y).timings_).count("choosing step sizes") == 1


def test_advice_names_only_parameters_that_help():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for constraints, helps in (("triplets", True), ("neighbourhoods", False)):
        model = MetricLearner(2, constraints=constraints, max_iter=2, tol=1e-14, random_state=0)
        with pytest.warns(ConvergenceWarning, match="Raise max_iter, of which a round takes") as caught:
            model.fit(X, y)
        assert ("n_rounds" in str(caught[0].message)) is helps
    model.set_params(max_iter=500).fit(X, y)
    assert "n_rounds" not in model.message_


def test_a_result_is_shown_in_a_line(problem):
    shown = repr(minimize(*problem_at_flat(problem), max_iter=3))
    assert re.fullmatch(r"Result\(cost=\S+, n_iter=3, message='.*', point of shape \(5, 2\)\)", shown)


def problem_at_flat(problem):
    measured, start = problem
    return measured, ConjugateGradient(), Flat().point(start)
