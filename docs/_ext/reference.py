"""The pages of the API, written before each build: every public name of the package, by module."""

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
# Modules that are used beside the estimators; all others are parts that estimators are made of.
BESIDE = ("plotting", "files", "tables", "execution", "datasets", "baselines")
# The option by which each name of a table has a page.
WITH_PAGES = "   :toctree:\n"
INTRODUCTION = """API reference
=============

Every public name, with every parameter. Names that are not here may change without notice.
"""


def public_modules() -> list[str]:
    """Return the public modules and packages below `gramian`, in alphabetical order."""
    packages = {each.name for each in pkgutil.iter_modules(gramian.__path__) if each.ispkg and each.name[0] != "_"}
    return sorted((packages | set(gramian._MODULES) | {"certificate"}) - {"report"})


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


def constants(module: str) -> str:
    """Return the entries of registries and of lists of identities that a module has in `__all__`."""
    loaded = importlib.import_module(module)
    values = {name: getattr(loaded, name) for name in loaded.__all__}
    found = {name: value for name, value in values.items() if isinstance(value, (dict, tuple))}
    return "\n".join(f".. py:data:: {module}.{name}\n\n{members(value)}\n" for name, value in found.items())


def members(value: dict[str, Any] | tuple[Any, ...]) -> str:
    """Return a list of the parts of a registry by name, or of functions, each with the first line of its docstring."""
    named = value if isinstance(value, dict) else {each.__name__: each for each in value}
    quote = '"' if isinstance(value, dict) else ""
    lines = (escape_names((inspect.getdoc(each) or "").split("\n")[0]) for each in named.values())
    return "\n".join(f"   - ``{quote}{name}{quote}``: {line}" for name, line in zip(named, lines, strict=True))


def table(names: list[str], options: str = "") -> str:
    """Return a table of names; with the option `toctree` each has a page."""
    rows = "\n".join(f"   {name}" for name in names)
    return f".. autosummary::\n{options}   :nosignatures:\n\n{rows}\n"


def page_of(title: str, names: list[str], text: str = "") -> str:
    """Return the page of a module, with a table of its names."""
    return f"{title}\n{'=' * len(title)}\n\n{text}\n\n{table(names, WITH_PAGES)}"


def section(title: str, pages: list[str], names: str = "") -> str:
    """Return a section of the first page: links to other pages, or, if it is given, a table of their names."""
    entries = "\n".join(f"   {page}" for page in pages)
    options = "   :hidden:\n" if names else "   :maxdepth: 1\n"
    return f"{title}\n{'-' * len(title)}\n\n{names}\n.. toctree::\n{options}\n{entries}\n"


def make_pages() -> dict[str, str]:
    """Return the pages by name: the first page, that of the estimators, and one for each module."""
    names = {"estimators": [f"gramian.{name}" for name in ESTIMATORS]}
    names["functions"] = [f"gramian.{name}" for name in gramian.__all__ if name not in ESTIMATORS]
    seen = {id(getattr(gramian, name)) for name in gramian.__all__}
    results = table(documented_names("gramian.estimators", seen), WITH_PAGES)
    estimators = page_of("Estimators", names["estimators"])
    pages = {"estimators": f"{estimators}\nWhat their fitted attributes hold:\n\n{results}"}
    pages["functions"] = page_of("Functions, and an objective of your own", names["functions"])
    for name in public_modules():
        module = f"gramian.{name}"
        if found := documented_names(module, seen):
            first = (inspect.getdoc(importlib.import_module(module)) or "").split("\n\n")[0]
            pages[name] = page_of(module, found, escape_names(first)) + "\n" + constants(module)
    parts = [name for name in pages if name not in ("estimators", "functions", *BESIDE)]
    sections = [INTRODUCTION, section("Estimators", ["estimators"], table(names["estimators"]))]
    sections.append(section("Functions", ["functions"], table(names["functions"])))
    sections.append(section("Beside the estimators", list(BESIDE)))
    sections.append(section("Parts of estimators", parts))
    return {"index": "\n".join(sections), **pages}


def write_reference(folder: Path) -> None:
    """Write the pages into a folder, unless they are there with the same text; delete pages of names that are gone."""
    pages = make_pages()
    folder.mkdir(exist_ok=True)
    texts = "\n".join(pages.values())
    for stale in folder.glob("*.rst"):
        if stale.stem not in pages and f"   {stale.stem}\n" not in texts:
            stale.unlink()
    for name, text in pages.items():
        page = folder / f"{name}.rst"
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
