"""Arrows point down only: which part may import which."""

import ast
from pathlib import Path

import pytest

import gramian
from gramian.geometries import GEOMETRIES, Geometry

SOURCE = Path(gramian.__file__).parent
PARTS = {"features", "measurements", "losses", "geometries", "solvers"}
LAYERS = [
    {"_kernels", "types", "checks"},
    {"features", "measurements", "losses", "penalties", "geometries", "execution"},
    {"closeness"},
    {"objective"},
    {"streams", "initialise", "sampling", "discriminant", "datasets"},
    {"solvers"},
    {"contracts"},
    {"progress"},
    {"estimators"},
    {"baselines"},
    {"demo"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE) != Path("__init__.py"))


def part_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_parts(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "gramian":
                names = [f"gramian.{gramian._HOMES.get(a.name, a.name).removeprefix('gramian.')}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("gramian."))


def test_every_part_has_a_level():
    assert {part_of(path) for path in FILES} == set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    own = part_of(path)
    for other in imported_parts(path):
        assert other == own or LEVEL[other] < LEVEL[own], f"{own} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_and_functions_are_short(path):
    tree = ast.parse(path.read_text())
    assert len(path.read_text().splitlines()) <= 400
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node, clean=False) or ""
            length = node.end_lineno - node.lineno + 1 - len(documented.splitlines())
            assert length <= 75, f"{node.name} has {length} lines"


def test_every_geometry_is_registered_with_examples():
    registered = set(GEOMETRIES.values())
    # Docstrings define geometries of their own, elsewhere.
    home = "gramian.geometries."
    assert registered == {kind for kind in Geometry.__subclasses__() if kind.__module__.startswith(home)}
    for kind in registered:
        assert kind.examples
        assert all(type(example) is kind for example in kind.examples)


def test_public_names_resolve():
    for name in gramian.__all__:
        assert getattr(gramian, name).__doc__
    assert set(gramian.__all__) <= set(dir(gramian))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gramian.nonsense
