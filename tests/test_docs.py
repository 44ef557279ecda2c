"""What the documents say about the registries is true."""

from pathlib import Path

import pytest

from gramian.geometries import GEOMETRIES
from gramian.solvers import SOLVERS

README = (Path(__file__).parent.parent / "README.md").read_text()


@pytest.mark.parametrize("name", [*GEOMETRIES, *SOLVERS])
def test_the_readme_names_every_choice(name):
    assert f'`"{name}"' in README
