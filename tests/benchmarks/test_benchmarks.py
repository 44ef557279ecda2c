"""The table of the benchmarks says what was measured."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks import report, rows
from benchmarks.paths import Arrived, Quadratic, lbfgs, ours, reached
from benchmarks.rows import Row, faster, keep, kept, markdown, plain, provenance, rows_of
from gramian.solvers import ConjugateGradient


def test_goals_are_met_from_the_right_side():
    assert Row("a", "b", 9.0, 8).met
    assert not Row("a", "b", 7.0, 8).met
    assert Row("a", "b", 1.2, 1.3, at_most=True).met
    assert not Row("a", "b", np.nan, 1.3, at_most=True).met


def test_a_peer_that_does_not_arrive_gives_a_bound():
    arrived, stopped = faster("t", "p", 0.5, 10.0, 8), faster("t", "p", 0.5, np.inf, 8, cap=20.0)
    assert (arrived.value, arrived.bound) == (20.0, False)
    assert (stopped.value, stopped.bound) == (40.0, True)
    assert "> 40" in plain([stopped])


def test_sections_are_kept_beside_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "RESULTS", tmp_path / "results.json")
    first, second = Row("one", "peer", 3.0, 2), Row("two", "peer", 1.0, 2, detail="slow")
    keep("a", [first], provenance("abc"))
    keep("b", [second], provenance("def"))
    keep("a", [first, second], provenance("abc"))
    assert rows_of(["b", "a", "absent"]) == [second, first, second]
    assert kept()["a"]["commit"] == "abc"
    assert kept()["a"]["threads"] == 1
    assert {"numpy", "pymanopt"} <= set(kept()["a"]["versions"])


def test_the_page_shows_the_table_that_is_kept():
    stored = json.loads(rows.RESULTS.read_text())["sections"]
    assert set(stored) <= set(report.SECTIONS)
    assert markdown(rows_of(report.SECTIONS)) in report.PAGE.read_text()
    for section in stored.values():
        for row in section["rows"]:
            met = row.pop("met")
            assert Row(**row).met == met
            assert asdict(Row(**row)) == row


@pytest.fixture
def data(rng):
    X, G = rng.standard_normal((500, 4)), rng.standard_normal((4, 2))
    return X, np.sum((X @ G) ** 2, axis=1), rng.standard_normal((4, 2))


def test_derivatives_by_hand(data, rng):
    X, y, G = data
    problem, D, h = Quadratic(X, y), rng.standard_normal((4, 2)), 1e-6
    slope = (problem.cost(G + h * D) - problem.cost(G - h * D)) / (2 * h)
    assert np.vdot(problem.gradient(G), D) == pytest.approx(slope, rel=1e-6)
    bend = (problem.gradient(G + h * D) - problem.gradient(G - h * D)) / (2 * h)
    np.testing.assert_allclose(problem.hessian(G, D), bend, rtol=1e-5, atol=1e-6)


def test_paths_end_where_the_data_is_fitted(data):
    X, y, start = data

    def error(G):
        return float(np.mean((np.sum((X @ G) ** 2, axis=1) - y) ** 2))

    for path in (lbfgs(X, y, start), ours(ConjugateGradient())(X, y, start)):
        seconds = [s for s, _ in path]
        assert seconds == sorted(seconds)
        assert error(path[-1][1]) < 1e-6 * error(start)
    stopped = lbfgs(X, y, start, enough=0.1 * error(start))
    assert error(stopped[-1][1]) <= 0.2 * error(start)
    with pytest.raises(Arrived):
        Quadratic(X, y, seconds=0.0).gradient(start)


def test_the_time_to_a_goal_is_a_median():
    curves = [(np.array([1.0, 2.0, t]), np.array([9.0, 3.0, 1.0])) for t in (3.0, 4.0, 8.0)]
    assert reached(curves, 1.0) == 4.0
    assert reached(curves, 3.0) == 2.0
    assert reached(curves, 0.5) == np.inf
