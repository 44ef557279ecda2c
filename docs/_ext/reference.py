"""The page api/index.rst: every public name of the package, by module, written before each build."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import gramian

__all__ = ["escape_names", "write_reference"]

ESTIMATORS = ("MetricLearner", "MetricLearnerCV", "PSDRegressor", "KernelLearner", "SStressMDS", "SubspaceTracker")
INTRODUCTION = """API reference
=============

Every public name, with every parameter. Names that are not here may change without notice.
"""


def public_modules() -> list[str]:
    """Return the public modules and packages below `gramian`, in alphabetical order."""
    packages = {each.name for each in pkgutil.iter_modules(gramian.__path__) if each.ispkg and each.name[0] != "_"}
    return sorted((packages | set(gramian._MODULES) | {"certificate"}) - {"estimators", "report"})


def documented_names(module: str, seen: set[int]) -> list[str]:
    """Return the classes and functions that a module has in `__all__`, with the module's name; add them to `seen`."""
    loaded = importlib.import_module(module)
    values = {name: getattr(loaded, name) for name in loaded.__all__}
    found = [name for name, value in values.items() if is_documented(value) and id(value) not in seen]
    seen.update(id(values[name]) for name in found)
    return [f"{module}.{name}" for name in found]


def is_documented(value: Any) -> bool:
    """Return True for classes and functions with a docstring of ours."""
    return bool((inspect.isclass(value) or inspect.isfunction(value)) and value.__doc__)


def summary(title: str, names: list[str], text: str = "") -> str:
    """Return a section with a table of names."""
    rows = "\n".join(f"   {name}" for name in names)
    return f"{title}\n{'-' * len(title)}\n\n{text}\n\n.. autosummary::\n   :toctree:\n   :nosignatures:\n\n{rows}\n"


def write_reference(folder: Path) -> None:
    """Write index.rst into a folder, unless it is there with the same text, and delete pages of names that are gone."""
    others = [name for name in gramian.__all__ if name not in ESTIMATORS]
    sections = [INTRODUCTION, summary("Estimators", [f"gramian.{name}" for name in ESTIMATORS])]
    sections.append(summary("The package", [f"gramian.{name}" for name in others]))
    seen = {id(getattr(gramian, name)) for name in gramian.__all__}
    for name in public_modules():
        module = f"gramian.{name}"
        if names := documented_names(module, seen):
            first = (inspect.getdoc(importlib.import_module(module)) or "").split("\n\n")[0]
            sections.append(summary(module, names, escape_names(first)))
    text = "\n".join(sections)
    folder.mkdir(exist_ok=True)
    for stale in folder.glob("*.rst"):
        if f"   {stale.stem}\n" not in text and stale.stem != "index":
            stale.unlink()
    page = folder / "index.rst"
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def escape_names(line: str) -> str:
    """Return a line without references: names that end in an underscore, bars, and labels of other projects' pages.

    The stars of arguments, as in (shards, *held, **small), are no emphasis either.
    """
    parts = re.split(r"(`[^`]*`)", re.sub(r":ref:`([^`<]*)(?:<[^`]*>)?`", r"\1", line))
    marks = r"((?<=\w)_(?!\w)|\||(?<![\w*])\*{1,2}(?=\w+[,)]))"
    return "".join(part if part[:1] == "`" else re.sub(marks, as_text, part) for part in parts)


def as_text(found: re.Match[str]) -> str:
    """Return marks with a backslash before each."""
    return "".join(f"\\{mark}" for mark in found[0])
