"""The source code that a result depends on: the definitions that its function reaches, and nothing else.

A change of a plot, of a claim, of a docstring or of a comment changes no number, so it must not make hours of results
out of date. Neither must a module that moves: imports from gramian and from the harness are left out. What their names
are used for is still seen, as `Flat()` and `Polar()` differ wherever they are imported from.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["reachable_source"]

#: Packages whose imports are left out.
MOVABLE = ("gramian", "harness")
#: Fields of syntax nodes that say nothing about what is computed.
SILENT = ("ctx", "kind", "type_comment", "type_ignores")
Import = ast.Import | ast.ImportFrom


class Definition(NamedTuple):
    """A top-level statement that binds a name; for an import, the alias that does."""

    statement: ast.stmt
    alias: ast.alias | None = None


def reachable_source(path: Path, names: tuple[str, ...], skipped: frozenset[str] = frozenset()) -> str:
    """Return the definitions that some names of a file reach, in a form that depends on their meaning alone.

    Parameters
    ----------
    path : Path
        A module. Modules in its folder, which is a package, are followed where they are imported.
    names : tuple of str
        Top-level names of the module.
    skipped : frozenset of str
        Modules of the folder, by name, that are not followed.
    """
    statements: dict[tuple[str, int], str] = {}
    imports: set[str] = set()
    waiting, visited = [(path, name) for name in names], set()
    modules: dict[Path, dict[str, list[Definition]]] = {}
    while waiting:
        file, name = waiting.pop()
        if (file, name) in visited:
            continue
        visited.add((file, name))
        if file not in modules:
            modules[file] = find_definitions(ast.parse(file.read_text(encoding="utf-8")))
        for statement, alias in modules[file].get(name, []):
            if alias is None:
                statements[file.name, statement.lineno] = canonical_form(statement)
                waiting += [(file, used.id) for used in ast.walk(statement) if isinstance(used, ast.Name)]
                inner = [node for node in ast.walk(statement) if isinstance(node, Import)]
            else:
                inner = [with_one_alias(statement, alias)]
            for node in inner:
                followed = list(find_helpers(node, file))
                waiting += [(helper, name) for helper, name in followed if helper.stem not in skipped]
                if alias is not None and not followed and not is_movable(node):
                    imports.add(canonical_form(node))
    return "\n".join([*sorted(imports), *(statements[place] for place in sorted(statements))])


def find_definitions(tree: ast.Module) -> dict[str, list[Definition]]:
    """Return the top-level statements that bind each name, by name; under "*" all of them."""
    found = defaultdict(list)
    for statement in tree.body:
        if isinstance(statement, Import):
            for alias in statement.names:
                found[alias.asname or alias.name.split(".")[0]].append(Definition(statement, alias))
                found["*"].append(Definition(statement, alias))
        else:
            for name in {*bound_names(statement), "*"}:
                found[name].append(Definition(statement))
    return found


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]


def with_one_alias(statement: ast.stmt, alias: ast.alias) -> Import:
    """Return an import statement of one of its names alone."""
    if isinstance(statement, ast.ImportFrom):
        return ast.ImportFrom(statement.module, [alias], statement.level)
    return ast.Import([alias])


def find_helpers(node: Import, file: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of the package that an import reads, each with a name; "*" stands for all names."""
    package = file.parent.name
    if isinstance(node, ast.ImportFrom) and node.module == package:
        imported = [(alias.name, "*") for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
        imported = [((node.module or "").split(".")[1], alias.name) for alias in node.names]
    elif isinstance(node, ast.Import):
        parts = [alias.name.split(".") for alias in node.names]
        imported = [(part[1], "*") for part in parts if part[0] == package and len(part) > 1]
    else:
        return
    for module, name in imported:
        helper = file.parent / f"{module}.py"
        if helper.is_file():
            yield helper, name


def is_movable(node: Any) -> bool:
    """Return whether a node is an import from a package whose modules may move."""
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and (node.module or "").split(".")[0] in MOVABLE
    return isinstance(node, ast.Import) and all(alias.name.split(".")[0] in MOVABLE for alias in node.names)


def canonical_form(node: Any) -> str:
    """Return a syntax tree as text, without docstrings, positions and imports from movable packages.

    `ast.dump` is not used because its text differs between versions of Python: empty fields come and go.
    """
    if isinstance(node, list):
        return f"[{', '.join(canonical_form(entry) for entry in node if not is_movable(entry))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Constant):
        return repr(node.value)
    fields = {name: value for name, value in ast.iter_fields(node) if name not in SILENT and value not in (None, [])}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields["body"] = node.body[1:]
    return f"{type(node).__name__}({', '.join(f'{name}={canonical_form(value)}' for name, value in fields.items())})"
