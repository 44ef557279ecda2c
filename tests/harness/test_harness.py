"""Provenance, tables, frames, timing and progress."""

import io
import json
from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import gramian
from harness import provenance
from harness.frames import select_frame, select_rows, unique_values
from harness.progress import Progress
from harness.provenance import Provenance, collect_provenance
from harness.tables import markdown_table, text_table
from harness.timing import limit_threads, median_seconds

RECORDS = [{"method": "a", "n": 2, "error": 1.0}, {"method": "a", "n": 1, "error": None}, {"method": "b", "n": 1}]


def test_provenance_says_what_ran():
    found = collect_provenance(2)
    assert found.versions["gramian"] == gramian.__version__
    assert found.versions["numpy"] == np.__version__
    assert "; 2 threads" in str(found)
    assert Provenance(**json.loads(json.dumps(asdict(found)))) == found
    with pytest.raises(FrozenInstanceError):
        found.commit = "another"


def test_provenance_without_git(monkeypatch):
    def missing(*arguments, **settings):
        raise FileNotFoundError("git")

    monkeypatch.setattr(provenance.subprocess, "run", missing)
    assert collect_provenance(1).commit == "unknown"


def test_packages_that_are_not_installed_have_no_version(monkeypatch):
    monkeypatch.setattr(provenance, "PACKAGES", ("numpy", "no-such-package"))
    assert set(collect_provenance(1).versions) == {"gramian", "numpy"}


def test_tables():
    rows = [["a | b", "1"], ["c\nd", "22"]]
    assert markdown_table(["x", "y"], rows).splitlines() == [
        "| x | y |",
        "| --- | --- |",
        r"| a \| b | 1 |",
        "| c d | 22 |",
    ]
    assert text_table(["name", "y"], [["a", "1"], ["b", "222"]]).splitlines() == ["name  y  ", "a     1  ", "b     222"]


def test_rows_are_selected_by_their_entries():
    assert select_rows(RECORDS, method="a", n=1) == [RECORDS[1]]
    assert select_rows(RECORDS, missing=1) == []
    assert unique_values(RECORDS, "n") == [1, 2]
    assert unique_values(RECORDS, "n", method="b") == [1]


def test_missing_numbers_do_not_count_in_a_frame():
    frame = select_frame(RECORDS, method="a")
    assert list(frame["n"]) == [2, 1]
    assert frame["error"].mean() == 1.0
    assert select_frame(RECORDS, method="c").empty


def test_threads_are_limited():
    with limit_threads(1):
        assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")


def test_functions_take_turns_and_the_first_round_does_not_count():
    calls = []
    seconds = median_seconds({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=2)
    assert "".join(calls) == "ababab"
    assert set(seconds) == {"a", "b"}


def test_calls_of_rows_have_their_own_cases(tmp_path):
    for _ in range(2):
        progress = Progress("x", tmp_path / "checkpoint", io.StringIO())
        first = progress.rows([1, 2], lambda case: {"value": case})
        second = progress.rows([1, 2], lambda case: [{"value": -case}, {"value": None}])
        assert [row["value"] for row in first + second] == [1, 2, -1, None, -2, None]


def test_finished_cases_are_not_measured_again(tmp_path):
    measured = []

    def measure(case):
        measured.append(case)
        return {"case": case}

    for cases in ([1, 2], [1, 2, 3]):
        rows = Progress("x", tmp_path / "checkpoint", io.StringIO()).rows(cases, measure)
        assert [row["case"] for row in rows] == cases
    assert measured == [1, 2, 3]


def test_progress_is_written():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    lines, terminal = io.StringIO(), Terminal()
    for file in (lines, terminal):
        Progress("work", file=file).rows([("a", k) for k in range(20)], lambda case: {"k": case[1]})
    assert len(lines.getvalue().splitlines()) == 10
    assert "work  [########################] 20/20  0 s left  a, 19" in lines.getvalue()
    assert terminal.getvalue().count("\r") == 20
    assert terminal.getvalue().endswith("\n")
