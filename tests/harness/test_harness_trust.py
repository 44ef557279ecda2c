"""docs/trust.md is what the generator makes of what is stored, and every promise names tests that exist."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from harness import mutations, trust
from harness.promises import PROMISES, Promise
from harness.trust import PAGE, count_tests, read_stored, render_page, tests_of

ROOT = Path(__file__).parents[2]
COUNTS = {"date": "2026-01-02", "commit": "abc", "cases": {"tests/a.py": 1200, "tests/b.py::test_c": 3}}
EXAMPLE = [Promise("Nothing breaks.", "by trying", ("tests/a.py", "tests/b.py::test_c"))]


def test_the_page_is_what_the_generator_makes_of_what_is_stored():
    assert PAGE.read_text(encoding="utf-8") == render_page(PROMISES, read_stored())


@pytest.mark.parametrize("test", tests_of(PROMISES))
def test_promises_name_tests_that_exist(test):
    file, _, function = test.partition("::")
    assert f"\ndef {function}(" in (ROOT / file).read_text() if function else (ROOT / file).is_file()


def test_every_promise_has_tests_that_were_counted():
    cases = read_stored()["counts"]["cases"]
    assert all(sum(cases[test] for test in promise.tests) > 0 for promise in PROMISES)


def test_no_fault_is_stored():
    stored = read_stored()
    rows = stored.get("runs", []) + stored.get("soak", {}).get("properties", [])
    assert rows
    assert not any(row["faults"] for row in rows)


def test_cases_of_files_and_of_functions_are_counted():
    file = "tests/harness/test_harness_lowest.py"
    function = f"{file}::test_a_requirement_without_a_plain_lowest_version_is_refused"
    assert count_tests([file, function]) == {file: 7, function: 4}


def test_sections_without_results_are_left_out():
    page = render_page(EXAMPLE, {"counts": COUNTS})
    assert "| 1 | Nothing breaks. | by trying | 1,203 |" in page
    assert "`tests/a.py` (1,200), `tests/b.py::test_c` (3)" in page
    assert page.count("\n## ") == 1


def test_results_of_runs_and_of_generated_input_are_shown():
    row = {"run": "files", "cases": 5000, "refused": 4000, "right": 999, "faults": 1, "seed": 7, "minutes": 2.5}
    properties = [{"property": name, "cases": 600, "refusals": 50, "faults": 0} for name in ("a", "b")]
    soak = {"date": "2026-01-03", "commit": "def", "seed": 4, "minutes": 60, "properties": properties}
    when = {"date": "2026-01-02", "commit": "abc"}
    page = render_page(EXAMPLE, {"counts": COUNTS, "runs": [row | when], "soak": soak})
    assert "| files | 5,000 | 4,000 | 999 | 1 | 7 | 2.5 | 2026-01-02 | abc |" in page
    assert "| all | 1,200 | 100 | 0 |" in page
    assert "60 minutes with seed 4,\non 2026-01-03 at commit def" in page


def test_what_is_neither_refused_nor_right_is_a_fault(monkeypatch, capsys):
    ends = Counter({"refused": 5, "loaded": 3, "fault 8 (wine, file): KeyError": 1})
    monkeypatch.setattr(mutations, "soak", lambda cases, seed, seconds: ends)
    row = trust.complete_row(trust.run_mutations(2, 60), 2, 90)
    assert (row["cases"], row["refused"], row["right"], row["faults"]) == (9, 5, 3, 1)
    assert (row["seed"], row["minutes"]) == (2, 1.5)
    assert "fault 8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "right", "faults"), [(json.dumps({"solve right": 600, "build refused": 400}), 600, 0), ("", 0, 1000)]
)
def test_a_process_that_ends_early_counts_as_faults(output, right, faults, monkeypatch):
    now = iter([0, 0, 100])
    done = subprocess.CompletedProcess([], 0, stdout=output, stderr="")
    monkeypatch.setattr(trust.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(trust.subprocess, "run", lambda *arguments, **settings: done)
    row = trust.run_calls(0, 50)
    assert (row["cases"], row["right"]) == (1000, right)
    assert row["cases"] - row["refused"] - row["right"] == faults
