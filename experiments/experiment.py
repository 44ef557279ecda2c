"""What an experiment is: a module with settings, a run, a figure, and the paper's claims."""

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

__all__ = ["Claim", "Experiment", "Records", "Verdict", "discovered", "fails", "holds", "in_part"]

Records = list[dict[str, Any]]
HERE = Path(__file__).parent
STATUSES = ("holds", "holds in part", "does not hold")


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds: one of STATUSES, what was measured, and why it is so."""

    status: str
    measured: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status={self.status!r} is unknown. Choose one of {', '.join(STATUSES)}.")


def holds(measured: str, why: str = "") -> Verdict:
    """The claim holds."""
    return Verdict("holds", measured, why)


def in_part(measured: str, why: str) -> Verdict:
    """The claim holds in part; why says for which part."""
    return Verdict("holds in part", measured, why)


def fails(measured: str, why: str) -> Verdict:
    """The claim does not hold."""
    return Verdict("does not hold", measured, why)


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and how records judge it.

    Attributes
    ----------
    id : str
        Its own among all claims.
    section : str
        Of the paper, such as "7.2".
    words : str
        The paper's, in short.
    check : callable
        Records to Verdict.
    """

    id: str
    section: str
    words: str
    check: Callable[[Records], Verdict]


@dataclass(frozen=True)
class Experiment:
    """A module of this folder, read: see the package's docstring for what it defines."""

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
        """The file's name."""
        return self.path.stem

    @property
    def order(self) -> tuple[tuple[int, ...], str]:
        """Where it comes on the page: by the section of its first claim."""
        return tuple(int(part) for part in self.claims[0].section.split(".") if part.isdigit()), self.name

    @classmethod
    def of(cls, path: Path) -> Experiment:
        """The experiment in a file."""
        module = imported(path)
        needed = ("Config", "QUICK", "PAPER", "run", "plot", "CLAIMS")
        missing = [name for name in needed if not hasattr(module, name)]
        if missing or not module.__doc__ or not module.CLAIMS:
            lacking = ", ".join(missing) or ("a docstring" if not module.__doc__ else "claims in CLAIMS")
            raise ValueError(f"{path} lacks {lacking}. An experiment has a docstring, {', '.join(needed)}.")
        title, _, text = inspect.cleandoc(module.__doc__).partition("\n")
        caveats = tuple(getattr(module, "CAVEATS", ()))
        parts = (module.QUICK, module.PAPER, module.run, module.plot, tuple(module.CLAIMS), caveats)
        return cls(path, title.rstrip("."), text.strip(), *parts)


def imported(path: Path) -> Any:
    """The module of a file: of this package, or from elsewhere under its own name."""
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
    """True for the files that are experiments; the others here are helpers."""
    body = ast.parse(path.read_text()).body
    targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(t, ast.Name) and t.id == "CLAIMS" for t in targets)


def discovered(folder: Path = HERE) -> list[Experiment]:
    """The experiments of a folder, in the order of the paper."""
    found = sorted((Experiment.of(path) for path in folder.glob("*.py") if has_claims(path)), key=lambda e: e.order)
    ids = [claim.id for experiment in found for claim in experiment.claims]
    doubled = sorted({name for name in ids if ids.count(name) > 1})
    if doubled:
        raise ValueError(f"claims need ids of their own; used twice: {', '.join(doubled)}.")
    return found
