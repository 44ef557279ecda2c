"""Runs the benchmarks and writes what they print to docs/measured.md: `python -m benchmarks.report [name ...]`.

Sections that are not named keep what they had.
"""

from __future__ import annotations

import importlib
import io
import os
import platform
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numba
import numpy as np
import scipy
import sklearn


def commit() -> str:
    """The commit that is measured."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


# Asked before anything is measured: what is loaded now is what runs.
COMMIT = commit()
PAGE = Path(__file__).parent.parent / "docs" / "measured.md"
SECTIONS = {
    "iteration": "One batch iteration over its two matrix products",
    "online": "One online epoch",
    "convergence": "Iterations to twelve digits",
    "metric": "Nearest neighbours with learned distances",
    "mds": "Maps from distances",
}
INTRODUCTION = """# What was measured

Written by `make bench`; nothing here is typed in by hand. Times are ratios or seconds of one run with fixed threads;
on another machine the ratios should hold and the seconds will not.
"""


class Tee(io.StringIO):
    """Keeps what is printed, and shows it too."""

    def write(self, text: str) -> int:
        """Both."""
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def provenance() -> str:
    """Machine, versions and commit, in a line."""
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"Commit {COMMIT}; {machine}; {versions}, numba {numba.__version__}."


def measured(name: str) -> str:
    """A section's text: what the benchmark prints."""
    module = importlib.import_module(f"benchmarks.{name}")
    printed = Tee()
    with redirect_stdout(printed):
        module.main([]) if name == "metric" else module.main()
    return f"{provenance()}\n\n```text\n{printed.getvalue().strip()}\n```"


def sections() -> dict[str, str]:
    """The sections as they stand on the page, by name."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {
        name: found.group(1).strip()
        for name, title in SECTIONS.items()
        if (found := re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    }


def main(names: list[str]) -> None:
    """Measure the sections that are named, or all, and write the page after each."""
    for name in names or SECTIONS:
        kept = sections()
        kept[name] = measured(name)
        parts = [f"## {SECTIONS[key]}\n\n{kept[key]}\n" for key in SECTIONS if key in kept]
        PAGE.write_text("\n".join([INTRODUCTION, *parts]))


if __name__ == "__main__":
    main(sys.argv[1:])
