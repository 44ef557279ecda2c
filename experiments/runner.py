"""Runs what is not finished, and keeps the records."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import traceback
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import gramian
from experiments.experiment import Experiment, Records
from experiments.progress import Progress, plain
from experiments.source import reached
from gramian.datasets import DatasetNotFound

__all__ = ["Outcome", "Place", "Result", "current", "finish", "key_of"]

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Place:
    """Where results go: the page and its figures into a folder, records below it, unfinished ones elsewhere."""

    folder: Path
    quick: bool
    partial: Path = ROOT / "build" / "experiments" / "partial"

    @classmethod
    def usual(cls, quick: bool) -> Place:
        """docs/paper, which is committed; build/experiments for quick runs, which is not."""
        return cls(ROOT / "build" / "experiments" if quick else ROOT / "docs" / "paper", quick)

    def config(self, experiment: Experiment) -> Any:
        """The settings that are run here."""
        return experiment.quick if self.quick else experiment.paper

    def file(self, experiment: Experiment) -> Path:
        """Where an experiment's records are."""
        return self.folder / "records" / f"{experiment.name}.json"


@dataclass(frozen=True)
class Result:
    """An experiment's records, and what they were measured with."""

    key: str
    config: dict[str, Any]
    gramian: str
    machine: str
    seconds: float
    records: Records


def key_of(experiment: Experiment, config: Any) -> str:
    """What a result belongs to: the source that run and Config reach, and the configuration."""
    settings = json.dumps(plain(asdict(config)), sort_keys=True)
    return hashlib.sha256(f"{settings}\n{reached(experiment.path, ('run', 'Config'))}".encode()).hexdigest()[:16]


def current(experiment: Experiment, place: Place) -> Result | None:
    """The stored result, None where there is none for the experiment as it is now."""
    file = place.file(experiment)
    if not file.exists():
        return None
    try:
        result = Result(**json.loads(file.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file} cannot be read: {error}. Delete it and run again.") from error
    return result if result.key == key_of(experiment, place.config(experiment)) else None


class Outcome(NamedTuple):
    """Which experiments failed, and which were left out for want of data."""

    failed: list[str]
    lacking: list[str]


def finish(experiments: list[Experiment], place: Place, *, jobs: int = 1, force: bool = False) -> Outcome:
    """Runs the experiments that have no current result, several at once if jobs says so.

    One that fails does not stop the others.
    """
    waiting = [e for e in experiments if force or current(e, place) is None]
    for experiment in experiments:
        if experiment not in waiting:
            print(f"{experiment.name}: finished before")
    if jobs == 1 or len(waiting) < 2:
        ends = [attempted(e.path, place, force) for e in waiting]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            futures = [pool.submit(attempted, e.path, place, force) for e in waiting]
            ends = [ended(future) for future in futures]
    return Outcome(*([e.name for e, end in zip(waiting, ends, strict=True) if end == word] for word in Outcome._fields))


def ended(future: Future[str]) -> str:
    """How an experiment ended, though its process be killed."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        print(f"a process was killed: {error}")
        return "failed"


def attempted(path: Path, place: Place, force: bool = False) -> str:
    """Runs and stores one experiment; "failed", "lacking" where data are not at hand, or "", having said why."""
    try:
        measured(Experiment.of(path), place, force)
    except DatasetNotFound as error:
        print(f"{path.stem}: left out. {error}")
        return "lacking"
    except Exception:
        print(f"{path.stem}: failed.\n{traceback.format_exc()}")
        return "failed"
    return ""


def measured(experiment: Experiment, place: Place, force: bool = False) -> None:
    """Runs one experiment, on one thread, and stores its records; from the start if forced."""
    config = place.config(experiment)
    key = key_of(experiment, config)
    kept = place.partial / f"{experiment.name}-{key}.jsonl"
    if force:
        kept.unlink(missing_ok=True)
    progress = Progress(experiment.name, kept)
    clock = perf_counter()
    with threadpool_limits(1):
        records = plain(experiment.run(config, progress))
    seconds = round(perf_counter() - clock + progress.before, 1)
    result = Result(key, plain(asdict(config)), library(), machine(), seconds, records)
    stored(place.file(experiment), result)
    kept.unlink(missing_ok=True)


def stored(file: Path, result: Result) -> None:
    """A result in its file, one row a line, so that changes can be read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    head = {name: value for name, value in vars(result).items() if name != "records"}
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in result.records)
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    part = file.with_suffix(".part")
    part.write_text(f'{text},\n "records": [\n{rows}\n]}}\n')
    os.replace(part, file)


def library() -> str:
    """Version and commit of gramian."""
    ask = ["git", "rev-parse", "--short", "HEAD"]
    # Asked where gramian was loaded from, which need not be this checkout.
    try:
        found = subprocess.run(
            ask, cwd=Path(gramian.__file__).parent, capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        found = ""
    return f"{gramian.__version__}, commit {found.strip() or 'unknown'}"


def machine() -> str:
    """Processor and versions, in a line."""
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return f"{platform.machine()}, Python {platform.python_version()}, {versions}, 1 thread"
