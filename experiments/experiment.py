"""An experiment: a module with settings, a function that measures, a figure, and claims of the paper."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.frames import Records

__all__ = ["Claim", "Experiment", "Records", "Verdict", "fails", "find_experiments", "holds", "in_part"]

HERE = Path(__file__).parent
STATUSES = ("holds", "holds in part", "does not hold")


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds: a status among STATUSES, the numbers measured, and the reason."""

    status: str
    measured: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status={self.status!r} is unknown. Choose one of {', '.join(STATUSES)}.")


def holds(measured: str, why: str = "") -> Verdict:
    """Return the verdict that a claim holds."""
    return Verdict("holds", measured, why)


def in_part(measured: str, why: str) -> Verdict:
    """Return the verdict that a claim holds in part; `why` says in which part."""
    return Verdict("holds in part", measured, why)


def fails(measured: str, why: str) -> Verdict:
    """Return the verdict that a claim does not hold."""
    return Verdict("does not hold", measured, why)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the function that judges it.

    Attributes
    ----------
    id : str
        Unique among all claims.
    section : str
        Section of the paper, such as "7.2".
    words : str
        The paper's words, shortened.
    check : callable
        Takes the records and returns a Verdict.
    """

    id: str
    section: str
    words: str
    check: Callable[[Records], Verdict]


@dataclass(frozen=True)
class Experiment:
    """The contents of an experiment's module; the package's docstring says what it defines."""

    path: Path
    title: str
    text: str
    quick: Any
    paper: Any
    run: Callable[[Any, Any], Records]
    plot: Callable[[Records], Any]
    claims: tuple[Claim, ...]
    caveats: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the module."""
        return self.path.stem

    @property
    def order(self) -> tuple[tuple[int, ...], str]:
        """The sort key on the page: the section of the first claim, then the name."""
        return tuple(int(part) for part in self.claims[0].section.split(".") if part.isdigit()), self.name

    @classmethod
    def load(cls, path: Path) -> Experiment:
        """Import the experiment in a file."""
        module = import_file(path)
        needed = ("Config", "QUICK", "PAPER", "run", "plot", "CLAIMS")
        missing = [name for name in needed if not hasattr(module, name)]
        if missing or not module.__doc__ or not module.CLAIMS:
            lacking = ", ".join(missing) or ("a docstring" if not module.__doc__ else "claims in CLAIMS")
            raise ValueError(f"{path} lacks {lacking}. An experiment has a docstring, {', '.join(needed)}.")
        title, _, text = inspect.cleandoc(module.__doc__).partition("\n")
        caveats = tuple(getattr(module, "CAVEATS", ()))
        parts = (module.QUICK, module.PAPER, module.run, module.plot, tuple(module.CLAIMS), caveats)
        return cls(path, title.rstrip("."), text.strip(), *parts)


def import_file(path: Path) -> Any:
    """Import a file, as a module of this package if it is in this folder, else under its own name."""
    if path.parent == HERE:
        return importlib.import_module(f"experiments.{path.stem}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while it is read.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def has_claims(path: Path) -> bool:
    """Return whether a file assigns CLAIMS, which makes it an experiment; other files are helpers."""
    body = ast.parse(path.read_text()).body
    targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(t, ast.Name) and t.id == "CLAIMS" for t in targets)


def find_experiments(folder: Path = HERE) -> list[Experiment]:
    """Return the experiments of a folder, in the order of the paper."""
    found = sorted((Experiment.load(path) for path in folder.glob("*.py") if has_claims(path)), key=lambda e: e.order)
    ids = [claim.id for experiment in found for claim in experiment.claims]
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise ValueError(f"ids of claims must be unique; used twice: {', '.join(repeated)}.")
    return found
