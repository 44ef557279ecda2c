"""Runs experiments that have no current result, and stores their records."""

from __future__ import annotations

import hashlib
import json
import traceback
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from experiments.experiment import Experiment
from gramian.datasets import DatasetNotFound
from harness.frames import Records
from harness.progress import Progress
from harness.provenance import Provenance, collect_provenance
from harness.source import reachable_source
from harness.store import read_json, to_plain, write_json
from harness.timing import limit_threads

__all__ = ["Outcome", "Result", "ResultsFolder", "load_result", "result_key", "run_experiments"]

ROOT = Path(__file__).parent.parent
#: Experiments run on one BLAS thread.
THREADS = 1
#: Modules of this folder that run experiments and show results, and change no number.
MACHINERY = frozenset({"__init__", "__main__", "experiment", "page", "runner"})


@dataclass(frozen=True)
class ResultsFolder:
    """A folder for the page, its figures and the records; checkpoints of unfinished runs are elsewhere."""

    folder: Path
    quick: bool
    checkpoints: Path = ROOT / "build" / "experiments" / "partial"

    @classmethod
    def default(cls, quick: bool) -> ResultsFolder:
        """Return docs/paper, which is committed; for quick runs build/experiments, which is not."""
        return cls(ROOT / "build" / "experiments" if quick else ROOT / "docs" / "paper", quick)

    def config(self, experiment: Experiment) -> Any:
        """Return the settings with which an experiment runs here."""
        return experiment.quick if self.quick else experiment.paper

    def records_file(self, experiment: Experiment) -> Path:
        """Return the file of an experiment's result."""
        return self.folder / "records" / f"{experiment.name}.json"


@dataclass(frozen=True)
class Result:
    """An experiment's records, with the key, settings and provenance they belong to."""

    key: str
    config: dict[str, Any]
    provenance: Provenance
    seconds: float
    records: Records


def result_key(experiment: Experiment, config: Any) -> str:
    """Return a hash of the settings and of the source code that `run` and `Config` reach."""
    settings = json.dumps(to_plain(asdict(config)), sort_keys=True)
    source = reachable_source(experiment.path, ("run", "Config"), MACHINERY)
    return hashlib.sha256(f"{settings}\n{source}".encode()).hexdigest()[:16]


def load_result(experiment: Experiment, results: ResultsFolder) -> Result | None:
    """Return the stored result, or None where there is none for the experiment's present source and settings."""
    file = results.records_file(experiment)
    if not file.exists():
        return None
    advice = "Delete it and run again."
    stored = read_json(file, advice)
    try:
        result = Result(**stored | {"provenance": Provenance(**stored["provenance"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} cannot be read: {error!r}. {advice}") from error
    return result if result.key == result_key(experiment, results.config(experiment)) else None


class Outcome(NamedTuple):
    """Names of the experiments that failed, and of those whose data are missing."""

    failed: list[str]
    missing_data: list[str]


def run_experiments(
    experiments: list[Experiment], results: ResultsFolder, *, jobs: int = 1, force: bool = False
) -> Outcome:
    """Run the experiments that have no current result, `jobs` at a time; one that fails does not stop the others."""
    waiting = [e for e in experiments if force or load_result(e, results) is None]
    for experiment in experiments:
        if experiment not in waiting:
            print(f"{experiment.name}: finished before")
    # Collected once, before records that are written make the checkout differ from its commit.
    provenance = collect_provenance(THREADS)
    if jobs == 1 or len(waiting) < 2:
        statuses = [try_experiment(e.path, results, provenance, force) for e in waiting]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            futures = [pool.submit(try_experiment, e.path, results, provenance, force) for e in waiting]
            statuses = [wait_for(future) for future in futures]
    ends = list(zip(waiting, statuses, strict=True))
    return Outcome(*([e.name for e, status in ends if status == field] for field in Outcome._fields))


def wait_for(future: Future[str]) -> str:
    """Return the status of an experiment in another process; "failed" where the process was killed."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        print(f"a process was killed: {error}")
        return "failed"


def try_experiment(path: Path, results: ResultsFolder, provenance: Provenance, force: bool = False) -> str:
    """Run an experiment and return "", or a field of `Outcome` after printing what went wrong."""
    try:
        run_experiment(Experiment.load(path), results, provenance, force)
    except DatasetNotFound as error:
        print(f"{path.stem}: left out. {error}")
        return "missing_data"
    except Exception:
        print(f"{path.stem}: failed.\n{traceback.format_exc()}")
        return "failed"
    return ""


def run_experiment(experiment: Experiment, results: ResultsFolder, provenance: Provenance, force: bool = False) -> None:
    """Run an experiment on one thread and store its result; with `force` no checkpoint is resumed."""
    config = results.config(experiment)
    key = result_key(experiment, config)
    checkpoint = results.checkpoints / f"{experiment.name}-{key}.jsonl"
    if force:
        checkpoint.unlink(missing_ok=True)
    progress = Progress(experiment.name, checkpoint)
    clock = perf_counter()
    with limit_threads(THREADS):
        records = to_plain(experiment.run(config, progress))
    seconds = round(perf_counter() - clock + progress.seconds_before, 1)
    result = Result(key, to_plain(asdict(config)), provenance, seconds, records)
    write_json(results.records_file(experiment), asdict(result))
    checkpoint.unlink(missing_ok=True)
