"""The lowest versions that are tested are those that pyproject.toml names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.lowest import EXTRAS, lowest_versions, parse_requirement

ROOT = Path(__file__).parents[2]


def test_versions_are_read_and_the_highest_of_several_counts(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[project]\ndependencies = ["a>=1.9", "b >= 2"]\n'
        '[project.optional-dependencies]\nmore = ["a>=1.10"]\nother = ["c>=3"]\n'
    )
    assert lowest_versions(file, ["more"]) == {"a": "1.10", "b": "2"}


@pytest.mark.parametrize("text", ["numpy", "numpy==1.26", "numpy>=1.26,<3", "numpy>=1.26; python_version<'3.12'"])
def test_a_requirement_without_a_plain_lowest_version_is_refused(text):
    with pytest.raises(ValueError, match="Name its lowest version, as in 'numpy>="):
        parse_requirement(text)


def test_every_dependency_of_the_project_is_pinned():
    done = subprocess.run(
        [sys.executable, "-m", "harness.lowest"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pins = done.stdout.split()
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", pin) for pin in pins)
    assert {"numpy", "scipy", "scikit-learn", "numba", "pytest"} <= {pin.split("==")[0] for pin in pins}


def test_the_extras_are_those_that_the_tests_install():
    assert f'".[{",".join(EXTRAS)}]"' in (ROOT / "Makefile").read_text()
