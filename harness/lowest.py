"""The lowest versions of the packages that pyproject.toml allows, as requirements for pip.

    python -m pip install $(python -m harness.lowest)

`make test-lowest` runs the tests with them. This module uses the standard library only: it runs before anything is
installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

__all__ = ["EXTRAS", "lowest_versions", "parse_requirement"]

# What the tests need; the Makefile installs the same for `make test`.
EXTRAS = ("plot", "files", "cli", "test", "baselines", "paper", "tables", "dask")


def parse_requirement(text: str) -> tuple[str, str]:
    """Return the name and the lowest version of a requirement of the form `name>=version`."""
    match = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9]+(?:\.[0-9]+)*)", text.replace(" ", ""))
    if match is None:
        raise ValueError(f"pyproject.toml requires {text!r}. Name its lowest version, as in 'numpy>=1.26'.")
    return match[1], match[2]


def lowest_versions(pyproject: Path, extras: Iterable[str] = EXTRAS) -> dict[str, str]:
    """Return the lowest version of each package that meets the dependencies and the extras, by name."""
    project = tomllib.loads(pyproject.read_text())["project"]
    requirements = list(project["dependencies"])
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    lowest: dict[str, str] = {}
    for name, version in map(parse_requirement, requirements):
        lowest[name] = max(version, lowest.get(name, version), key=as_numbers)
    return lowest


def as_numbers(version: str) -> list[int]:
    """Return the parts of a version as numbers, which compare as versions do."""
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    pins = lowest_versions(Path(__file__).parents[1] / "pyproject.toml")
    sys.stdout.write(" ".join(f"{name}=={version}" for name, version in pins.items()) + "\n")
