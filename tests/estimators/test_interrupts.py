"""Ctrl-C in a fit keeps the best point so far, with a warning; a second one, and one in a search, is raised."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramian import (
    KernelLearner,
    MetricLearner,
    MetricLearnerCV,
    PSDRegressor,
    SStressMDS,
    SubspaceTracker,
    interrupts,
)
from gramian.estimators._restarts import Restarts


class Interrupt:
    """A callback that raises what Ctrl-C raises, at some iterations."""

    def __init__(self, *iterations):
        self.iterations = iterations

    def __call__(self, record):
        if record.iteration in self.iterations:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def no_earlier_interrupt(monkeypatch):
    monkeypatch.setattr(interrupts, "_last", [])


def regression(rng):
    X = rng.standard_normal((300, 6))
    return X, np.sum(X[:, :2] ** 2, axis=1) + rng.standard_normal(300)


def dissimilarities(rng):
    points = rng.standard_normal((30, 5))
    return (np.linalg.norm(points[:, None] - points, axis=2),)


def labelled(rng):
    X, y = rng.standard_normal((120, 5)), np.arange(120) % 3
    return X + 0.5 * y[:, None], y


@pytest.mark.parametrize(
    ("model", "make"),
    [
        (PSDRegressor(2, geometry="flat", solver="gd", tol=0), regression),
        (PSDRegressor(2, solver="online", n_epochs=8), regression),
        (MetricLearner(2, constraints="triplets"), labelled),
        (MetricLearner(2, constraints="neighbourhoods"), labelled),
        (KernelLearner(2, geometry="flat", tol=0), labelled),
        (SStressMDS(2, geometry="flat", tol=0), dissimilarities),
    ],
    ids=lambda value: type(value).__name__ if not callable(value) else value.__name__,
)
def test_the_best_point_so_far_is_kept(rng, model, make):
    data = make(rng)
    model.set_params(random_state=0, callback=Interrupt(4))
    with pytest.warns(ConvergenceWarning, match=r"interrupted after 3 iterations: the best point so far is kept"):
        model.fit(*data)
    assert not model.converged_
    assert model.message_ == "interrupted by Ctrl-C"
    assert len(model.history_["cost"]) == model.n_iter_ + 1 == 4
    # It is the point that a callback would have stopped at.
    stopped = type(model)(**{**model.get_params(), "callback": lambda record: record.iteration == 3}).fit(*data)
    np.testing.assert_array_equal(model.factor_, stopped.factor_)
    np.testing.assert_array_equal(model.history_["cost"], stopped.history_["cost"])


def test_the_best_start_so_far_is_kept(rng, monkeypatch):
    X = rng.standard_normal((60, 6))
    y = rng.standard_normal(60) + 3
    expected = PSDRegressor(2, n_init=3, random_state=0).fit(X, y)
    solve, calls = Restarts.solve, []

    def interrupt_the_third(self, *arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(self, *arguments)

    monkeypatch.setattr(Restarts, "solve", interrupt_the_third)
    model = PSDRegressor(2, n_init=9, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"interrupted in start 4: the best one so far is kept"):
        model.fit(X, y)
    assert not model.converged_
    assert model.message_ == "interrupted by Ctrl-C"
    np.testing.assert_array_equal(model.factor_, expected.factor_)


def test_a_start_that_is_better_but_not_finished_is_left(rng, monkeypatch):
    X, y = rng.standard_normal((60, 6)), rng.standard_normal(60) + 3
    first = PSDRegressor(2, n_init=1, random_state=0).fit(X, y)
    solve = Restarts.solve

    def solve_much_better(self, *arguments):
        return replace(solve(self, *arguments), cost=-1.0)

    def interrupt(self, *arguments, **settings):
        if calls:
            raise KeyboardInterrupt
        calls.append(arguments)
        return minimise(self, *arguments, **settings)

    calls, minimise = [], PSDRegressor._minimize
    monkeypatch.setattr(Restarts, "solve", solve_much_better)
    monkeypatch.setattr(PSDRegressor, "_minimize", interrupt)
    with pytest.warns(ConvergenceWarning, match=r"interrupted in start 2: the best one so far is kept"):
        model = PSDRegressor(2, n_init=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.factor_, first.factor_)


def test_a_second_one_is_raised(rng):
    X, y = regression(rng)
    model = PSDRegressor(2, random_state=0, callback=Interrupt(2))
    with pytest.warns(ConvergenceWarning, match="Press Ctrl-C twice"):
        model.fit(X, y)
    factor = model.factor_
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :3], y)
    assert model.factor_ is factor


def test_parts_of_a_search_and_of_a_stream_raise_it(rng):
    X, y = labelled(rng)
    learner = MetricLearner(constraints="triplets", callback=Interrupt(1))
    search = MetricLearnerCV([1, 2], estimator=learner, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")
    stream = PSDRegressor(2, solver="online", random_state=0).partial_fit(*regression(rng))
    factor = stream.factor_
    with pytest.raises(KeyboardInterrupt):
        stream.set_params(callback=Interrupt(stream.n_iter_ + 1, 0, 1)).partial_fit(*regression(rng))
    assert stream.factor_ is factor
    with interrupts.interrupts_raised(), pytest.raises(KeyboardInterrupt):
        PSDRegressor(2, callback=Interrupt(2)).fit(*regression(rng))


SCRIPT = """
import sys, time, warnings
import numpy as np
from gramian import MetricLearner, SubspaceTracker
from gramian.estimators import subspace
rng = np.random.default_rng(0)
X, y = rng.standard_normal((400, 8)) * np.arange(1, 9), np.arange(400) % 3

def tell(*arguments):
    print("begin", flush=True)
    time.sleep(0.05)

if sys.argv[1] == "metric":
    model = MetricLearner(2, constraints="triplets", max_iter=10**6, n_rounds=10**4, random_state=0, callback=tell)
else:
    subspace.STORED_ROWS, follow = 40, SubspaceTracker._follow
    SubspaceTracker._follow = lambda *arguments: (tell(), follow(*arguments))
    model = SubspaceTracker(2, n_epochs=10**6, random_state=0)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    model.fit(X, y)
print(model.message_, model.components_.shape, [str(each.message) for each in told], flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["metric", "subspace"])
def test_a_process_that_is_interrupted_goes_on_with_what_it_has(name):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])}
    command = [sys.executable, "-c", SCRIPT, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if len(lines) == 12:
                os.kill(process.pid, signal.SIGINT)
    assert process.returncode == 0
    assert lines[-1].startswith("interrupted by Ctrl-C")
    assert "kept" in lines[-1]


def test_a_subspace_needs_samples(rng, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(SubspaceTracker, "_follow", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SubspaceTracker(2).fit(rng.standard_normal((50, 4)))
