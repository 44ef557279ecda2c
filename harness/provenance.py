"""The commit, machine, package versions and threads that a number was measured with."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import gramian

__all__ = ["Provenance", "collect_provenance"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pymanopt")


@dataclass(frozen=True)
class Provenance:
    """The software and hardware of a measurement.

    Attributes
    ----------
    commit : str
        Of the checkout that gramian was imported from; ends in "-dirty" where tracked files were changed.
    machine : str
        Architecture, number of cores and processor.
    python : str
        Version of Python.
    versions : dict
        Versions of gramian and of the installed packages among PACKAGES, by name.
    threads : int
        Number of BLAS threads.
    """

    commit: str
    machine: str
    python: str
    versions: dict[str, str]
    threads: int

    def __str__(self) -> str:
        versions = ", ".join(f"{package} {number}" for package, number in self.versions.items())
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"Commit {self.commit}; {self.machine}; Python {self.python}; {versions}; {threads}"


def collect_provenance(threads: int) -> Provenance:
    """Return the provenance of measurements made by this process from now on.

    Call it before measuring: the code that is imported now is the code that runs, whatever is committed meanwhile.
    """
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {processor_name()}"
    return Provenance(current_commit(), machine, platform.python_version(), installed_versions(), threads)


def current_commit() -> str:
    """Return the commit of the checkout that gramian was imported from, or "unknown"."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    folder = Path(gramian.__file__).parent
    try:
        output = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    except OSError:
        output = ""
    return output.strip() or "unknown"


def installed_versions() -> dict[str, str]:
    """Return the versions of gramian and of the packages that are installed, by name."""
    versions = {"gramian": gramian.__version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def processor_name() -> str:
    """Return the processor's name, as far as the operating system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
