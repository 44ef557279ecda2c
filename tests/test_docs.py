"""The documents name every registered choice, their links resolve, and public names have examples."""

import re
from pathlib import Path

import pytest

import gramian
from gramian.geometries import GEOMETRIES
from gramian.solvers import SOLVERS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", [*GEOMETRIES, *SOLVERS])
def test_the_readme_names_every_choice(name):
    assert f'`"{name}"' in README


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))], ids=str
)
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", gramian.__all__)
def test_every_public_name_has_an_example(name):
    assert ">>>" in getattr(gramian, name).__doc__


def diffs(path):
    """The diffs on a page: the file that each changes, and the lines of it that are shown unchanged."""
    for block in re.findall(r"```diff\n(.*?)```", path.read_text(), re.S):
        first, *lines = block.splitlines()
        yield first.removeprefix("--- "), [line[1:] for line in lines if line.startswith(" ")]


def test_diffs_on_how_to_add_a_part_fit_the_files_they_change():
    root = Path(__file__).parent.parent
    found = list(diffs(root / "CONTRIBUTING.md"))
    assert len(found) == 3
    for name, unchanged in found:
        assert "\n".join(unchanged) in (root / name).read_text()
