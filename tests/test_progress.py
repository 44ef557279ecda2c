"""What verbose=1 shows: a bar on a terminal, lines of text elsewhere or without tqdm."""

import io
import sys
from types import SimpleNamespace

import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, MetricLearnerCV, PSDRegressor, progress
from gramian._kernels.compiled import WATCHERS
from gramian.progress import ProgressBar, ProgressPrinter, make_reporter, shows_bars
from gramian.solvers import Record

pytest.importorskip("tqdm")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    screen = Terminal()
    # pytest replaces sys.stderr between a fixture and its test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=screen, modules=sys.modules))
    return screen


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_a_terminal_shows_a_bar_from_the_choice_of_a_plan_to_the_message(terminal, wine):
    model = MetricLearner(2, random_state=0, verbose=1).fit(*wine)
    shown = terminal.getvalue()
    tried = [shown.index(f"trying {plan}:") for plan in model.choice_.errors if plan not in ("start", "euclid")]
    assert tried == sorted(tried)
    assert tried[-1] < shown.index("cost ") < shown.index("fitted: 100%") < shown.index(model.message_)
    assert f"{model.n_iter_}/{model.n_iter_} [" in shown
    assert "iteration        cost" not in shown


def test_the_time_left_is_shown_where_the_number_of_iterations_is_known(terminal, wine):
    MetricLearner(2, constraints="triplets", n_rounds=2, random_state=0, verbose=1).fit(*wine)
    assert "round 2 of 2:" in terminal.getvalue()
    assert "/30 [" in terminal.getvalue()
    terminal.truncate(0)
    PSDRegressor(2, random_state=0, verbose=1).fit(wine[0], wine[1])
    assert "/500" not in terminal.getvalue()
    PSDRegressor(2, solver="online", n_epochs=7, random_state=0, verbose=1).fit(wine[0], wine[1])
    assert "/7 [" in terminal.getvalue()


def test_cross_validation_counts_the_fits_of_all_folds(terminal, wine):
    learner = MetricLearner(constraints="triplets")
    MetricLearnerCV([1, 2], estimator=learner, cv=2, random_state=0, verbose=1).fit(*wine)
    shown = terminal.getvalue()
    assert shown.index("fold 1 of 2: choosing plans") < shown.index("1/4 [") < shown.index("learning from all data")
    assert "fold 2 of 2: best" in shown


def test_there_are_lines_without_a_terminal_without_tqdm_and_for_two(terminal, monkeypatch):
    assert isinstance(make_reporter(1), ProgressBar)
    assert isinstance(make_reporter(2), ProgressPrinter)
    assert make_reporter(0) is None
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert isinstance(make_reporter(1), ProgressPrinter)
    monkeypatch.undo()
    assert not shows_bars(io.StringIO())
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    assert shows_bars(io.StringIO())


def test_lines_name_the_plan_that_is_tried_and_are_seconds_apart(monkeypatch):
    screen, clock = io.StringIO(), SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "perf_counter", lambda: clock.now)
    printer = ProgressPrinter(file=screen)
    for index, (now, name) in enumerate([(0.0, "trying pairs"), (1.0, "trying triplets"), (3.0, "trying others")]):
        clock.now = now
        printer.step(name, index, 3)
    assert screen.getvalue() == "trying pairs: 1 of 3\ntrying others: 3 of 3\n"


def test_long_iterations_have_lines_of_their_own(monkeypatch):
    screen, clock = io.StringIO(), SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "perf_counter", lambda: clock.now)
    printer = ProgressPrinter(every=10, file=screen)
    for index, now in enumerate([0.0, 1.0, 2.0, 4.0, 5.0]):
        clock.now = now
        printer.iteration(Record(index, 1.0, 1.0, 1.0, now, 2.0))
    assert [int(line.split()[0]) for line in screen.getvalue().splitlines()[1:]] == [0, 3]


def test_compilation_is_written_above_the_bar(terminal):
    bar = make_reporter(1)
    bar.begin("start")
    assert bar in WATCHERS
    bar.note("compiling a kernel, once: about 3 s")
    bar.end(None, "done")
    assert "compiling a kernel, once: about 3 s\n" in terminal.getvalue()
