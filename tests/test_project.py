"""What others expect of a project is there, and says what is true."""

import re
import tomllib
from pathlib import Path

import pytest

import gramian

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_has_the_version_of_the_package():
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[1] == gramian.__version__


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_that_exist(path):
    targets = re.findall(r"run: make (\S+)", path.read_text())
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", MAKEFILE, re.M), target


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_job_of_a_workflow_runs_for_hours(path):
    text = path.read_text()
    assert text.count("runs-on:") == text.count("timeout-minutes: 60")


def test_nothing_is_released_untested():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert "run: make test\n" in text
    assert re.search(r"  build:\n    needs: test\n", text)
    assert re.search(r"  publish:\n    needs: build\n", text)


def test_workflows_run_on_every_python_that_is_promised():
    promised = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    tested = re.search(r'python: \["(.*)"\]', (ROOT / ".github" / "workflows" / "tests.yml").read_text())[1].split(
        '", "'
    )
    assert promised == tested
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_two_commands_of_the_readme_come_first():
    commands = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M)
    assert commands[:2] == ["demo", "test"]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_says_what_it_shows(example):
    text = example.read_text()
    title, line = text.splitlines()[1:3]
    assert line == "=" * len(title)
    assert "plt.show()" in text
    assert "from gramian import" in text
    compile(text, str(example), "exec")


def test_the_list_of_examples_names_each_of_them():
    text = (ROOT / "examples" / "README.rst").read_text()
    for example in (ROOT / "examples").glob("plot_*.py"):
        assert f"``{example.name}``" in text
