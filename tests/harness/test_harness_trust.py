"""docs/trust.md is what the generator makes of what is stored, and every promise names tests that exist."""

from pathlib import Path

import pytest

from harness.promises import PROMISES, Promise
from harness.trust import PAGE, count_tests, named_tests, read_stored, render_page

ROOT = Path(__file__).parents[2]
COUNTS = {"date": "2026-01-02", "commit": "abc", "cases": {"tests/a.py": 1200, "tests/b.py::test_c": 3}}
EXAMPLE = [Promise("Nothing breaks.", "by trying", ("tests/a.py", "tests/b.py::test_c"))]


def test_the_page_is_what_the_generator_makes_of_what_is_stored():
    assert PAGE.read_text(encoding="utf-8") == render_page(PROMISES, read_stored())


@pytest.mark.parametrize("test", named_tests(PROMISES))
def test_promises_name_tests_that_exist(test):
    file, _, function = test.partition("::")
    assert f"\ndef {function}(" in (ROOT / file).read_text() if function else (ROOT / file).is_file()


def test_every_promise_has_tests_that_were_counted():
    cases = read_stored()["counts"]["cases"]
    assert all(sum(cases[test] for test in promise.tests) > 0 for promise in PROMISES)


def test_cases_of_files_and_of_functions_are_counted():
    file = "tests/harness/test_harness_lowest.py"
    function = f"{file}::test_a_requirement_without_a_plain_lowest_version_is_refused"
    assert count_tests([file, function]) == {file: 7, function: 4}


def test_sections_without_results_are_left_out():
    page = render_page(EXAMPLE, {"counts": COUNTS})
    assert "| 1 | Nothing breaks. | by trying | 1,203 |" in page
    assert "`tests/a.py` (1,200), `tests/b.py::test_c` (3)" in page
    assert page.count("\n## ") == 1


def test_the_last_soak_is_shown_with_its_sums():
    rows = [{"property": name, "cases": 600, "refused": 50, "faults": 1, "more": []} for name in ("a", "b")]
    soak = {"date": "2026-01-03", "commit": "def", "seed": 4, "minutes": 30.0, "rows": rows}
    page = render_page(EXAMPLE, {"counts": COUNTS, "soak": soak})
    assert "\n30 minutes with seed 4, on 2026-01-03 at commit def.\n" in page
    assert "| a | 600 | 50 | 1 |" in page
    assert "| all | 1,200 | 100 | 2 |" in page
