"""The documents name every registered choice, their links resolve, and public names have examples."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import gramian
from gramian import MetricLearner
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


def public_names():
    """The functions and classes in `__all__` of the package, of its subpackages and of its public modules."""
    packages = [f"gramian.{each.name}" for each in pkgutil.iter_modules(gramian.__path__) if each.ispkg]
    public = [name for name in packages if "._" not in name] + [f"gramian.{name}" for name in gramian._MODULES]
    for module in ["gramian", "gramian.situation", *sorted(set(public))]:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if value is not Any and (inspect.isclass(value) or inspect.isfunction(value)):
                yield pytest.param(value, id=f"{module}.{name}")


@pytest.mark.parametrize("value", [*public_names(), MetricLearner.fit_supervised])
def test_every_public_name_has_an_example(value):
    assert ">>>" in value.__doc__


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
