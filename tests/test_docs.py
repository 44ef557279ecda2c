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
