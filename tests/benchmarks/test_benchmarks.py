"""The table of the benchmarks says what was measured."""

import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report, rows, scale, turns
from benchmarks.paths import Quadratic, TargetReached, make_method, median_time_to, run_lbfgs
from benchmarks.rows import Row, load_rows, load_sections, save_section, speedup_row
from gramian.solvers import ConjugateGradient
from harness.provenance import Provenance, collect_provenance


def test_goals_are_met_from_the_right_side():
    assert Row("a", "b", 9.0, 8).met
    assert not Row("a", "b", 7.0, 8).met
    assert Row("a", "b", 1.2, 1.3, at_most=True).met
    assert not Row("a", "b", np.nan, 1.3, at_most=True).met


def test_a_peer_that_does_not_arrive_gives_a_bound():
    arrived, stopped = speedup_row("t", "p", 0.5, 10.0, 8), speedup_row("t", "p", 0.5, np.inf, 8, cap=20.0)
    assert (arrived.value, arrived.bound) == (20.0, False)
    assert (stopped.value, stopped.bound) == (40.0, True)
    assert "> 40" in stopped.cells()


def test_saving_a_section_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "RESULTS", tmp_path / "results.json")
    first, second = Row("one", "peer", 3.0, 2), Row("two", "peer", 1.0, 2, detail="slow")
    provenance = collect_provenance(1)
    save_section("a", [first], provenance)
    save_section("b", [second], provenance)
    save_section("a", [first, second], provenance)
    assert load_rows(["b", "a", "absent"]) == [second, first, second]
    section = load_sections()["a"]
    assert Provenance(**{name: value for name, value in section.items() if name != "rows"}) == provenance


def test_damaged_results_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "RESULTS", tmp_path / "results.json")
    rows.RESULTS.write_text('{"sections": ')
    with pytest.raises(ValueError, match=r"results\.json cannot be read: .*\. Restore it with git\."):
        load_sections()


def test_the_page_shows_the_stored_table():
    stored = load_sections()
    assert set(stored) <= set(report.SECTIONS)
    assert report.format_page(report.read_page_sections()) == report.PAGE.read_text()
    for section in stored.values():
        for row in section["rows"]:
            met = row.pop("met")
            assert Row(**row).met == met
            assert asdict(Row(**row)) == row


def test_a_run_replaces_its_own_section_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rows, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")
    written = []
    monkeypatch.setattr(report.readme, "main", lambda: written.append("README.md"))
    for text, found in (("before", [Row("one", "peer", 3.0, 2)]), ("after", [Row("two", "peer", 1.0, 2)]), ("", None)):
        monkeypatch.setattr(report, "run_benchmark", lambda name, result=(text, found): result)
        report.main(["uci"])
    page = report.PAGE.read_text()
    assert "after" in page
    assert "before" not in page
    assert "| two | peer | 1 | >= 2 | no |  |" in page
    assert f"{collect_provenance(1)}.\n" in page
    assert "task  beside  measured" in capsys.readouterr().out
    assert len(written) == 3


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

    for path in (run_lbfgs(X, y, start), make_method(ConjugateGradient())(X, y, start)):
        seconds = [s for s, _ in path]
        assert seconds == sorted(seconds)
        assert error(path[-1][1]) < 1e-6 * error(start)
    stopped = run_lbfgs(X, y, start, enough=0.1 * error(start))
    assert error(stopped[-1][1]) <= 0.2 * error(start)
    with pytest.raises(TargetReached):
        Quadratic(X, y, seconds=0.0).gradient(start)


def test_the_time_to_a_goal_is_a_median():
    curves = [(np.array([1.0, 2.0, t]), np.array([9.0, 3.0, 1.0])) for t in (3.0, 4.0, 8.0)]
    assert median_time_to(curves, 1.0) == 4.0
    assert median_time_to(curves, 3.0) == 2.0
    assert median_time_to(curves, 0.5) == np.inf


def test_every_section_has_a_module_and_what_pages_cite_is_there():
    folder = Path(report.__file__).parent
    for name in report.SECTIONS:
        assert "\ndef main(" in (folder / f"{name}.py").read_text(), name
    headings = {anchor_of(title) for title in re.findall(r"^## (.*)$", report.PAGE.read_text(), re.M)}
    pages = [*report.PAGE.parent.rglob("*.md"), folder.parent / "README.md"]
    cited = {anchor for page in pages for anchor in re.findall(r"measured\.md#([\w-]+)", page.read_text())}
    assert cited
    assert cited <= headings


def anchor_of(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def test_histories_that_differ_in_length_do_not_agree():
    assert scale.relative_difference(np.ones(3), np.ones(4)) == np.inf
    assert scale.relative_difference(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 0.5


def test_two_versions_in_turns(capsys):
    (row,) = turns.main(str(turns.ROOT), ["wine, rank 2"])
    assert (row.goal, row.beside) == (turns.SAME, turns.ROOT.name)
    assert 0.2 < row.value < 5  # a version beside itself
    assert row.task in capsys.readouterr().out


def test_a_version_that_is_not_in_git_leaves_the_stored_results(monkeypatch, capsys):
    monkeypatch.setattr(turns, "OLD", "0" * 40)
    assert turns.main() is None
    assert "left out" in capsys.readouterr().out
