"""Which lines of source a result depends on: those that `run` reaches, here and in helpers, and no others.

So the plot and the claims of an experiment can be mended without hours of running it again.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

__all__ = ["reached"]

#: Files of this folder that run, store and show, and change no number.
HARNESS = {"__init__", "__main__", "experiment", "page", "progress", "runner", "source"}


def reached(path: Path, names: tuple[str, ...]) -> str:
    """The source of the definitions with these names and of all that they use, in the order of files and lines."""
    seen: set[tuple[Path, int, int]] = set()
    waiting = [(path, name) for name in names]
    read: dict[Path, dict[str, list[ast.stmt]]] = {}
    while waiting:
        file, name = waiting.pop()
        if file not in read:
            read[file] = definitions(ast.parse(file.read_text()))
        for statement in chain.from_iterable(read[file].values()) if name == "*" else read[file].get(name, []):
            span = (file, *lines_of(statement))
            if span not in seen:
                seen.add(span)
                waiting += [(file, used.id) for used in ast.walk(statement) if isinstance(used, ast.Name)]
                waiting += list(helpers(statement, file))
    return "\n".join(text_of(*span) for span in sorted(seen))


def definitions(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """The top-level statements that give each name its meaning."""
    found = defaultdict(list)
    for statement in tree.body:
        for name in set(bound(statement)):
            found[name].append(statement)
    return found


def bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement defines or imports."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]


def helpers(statement: ast.stmt, file: Path) -> Iterator[tuple[Path, str]]:
    """The files beside this one that a statement imports from, and the names: * for the whole file."""
    package = file.parent.name
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            imports = [(alias.name, "*") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            imports = [((node.module or "").split(".")[1], alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names]
            imports = [(part[1], "*") for part in parts if part[0] == package and len(part) > 1]
        else:
            continue
        for module, name in imports:
            helper = file.parent / f"{module}.py"
            if module not in HARNESS and helper.is_file():
                yield helper, name


def lines_of(statement: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement, its decorators included."""
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
    return first, statement.end_lineno or first


def text_of(file: Path, first: int, last: int) -> str:
    """Some lines of a file."""
    return "\n".join(file.read_text().splitlines()[first - 1 : last])
