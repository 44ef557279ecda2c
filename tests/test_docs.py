"""The documents name every registered choice, their links resolve, and public names have examples."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import gramian
from benchmarks.readme import PAGE, accuracy_table, fill_tables, speed_table
from benchmarks.rows import Row
from gramian import MetricLearner
from gramian.geometries import GEOMETRIES
from gramian.solvers import SOLVERS

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CHOICES = (ROOT / "docs" / "choices.md").read_text()


@pytest.mark.parametrize("name", [*GEOMETRIES, *SOLVERS])
def test_the_page_on_choices_names_every_choice(name):
    assert f'`"{name}"' in CHOICES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_is_that_of_the_stored_figures():
    page = PAGE.read_text()
    assert fill_tables(page) == page


def test_figures_of_the_readme_change_with_what_is_stored(monkeypatch):
    task = "5-NN errors on 3 sets, rank 2"
    row = Row(task, "LDA", 0.5, 0.9, detail="Euclid 9.1, PCA 8.2, LDA 7.3, NCA 6.4, ours 1.5")
    lost = Row(f"{task}: points above the best", "LDA", 0.25, 1, detail="on a_b; more than 1 on 0 of 3")
    monkeypatch.setattr("benchmarks.readme.load_rows", lambda names: [row, lost])
    assert "| 2 | 3 | 9.1 | 8.2 | 7.3 | 6.4 | **1.5** | 0 sets; most on a b, 0.2 |" in accuracy_table()
    with pytest.raises(ValueError, match="no row"):
        speed_table()


def test_a_page_without_a_place_for_a_table_is_an_error():
    with pytest.raises(ValueError, match="0 places for the table 'accuracy'"):
        fill_tables("# Nothing")


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
