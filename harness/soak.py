"""A long run of all properties, mutated files of data and models, and low-level mistakes, in rotation, with counts.

    python -m harness.soak --minutes 30 --seed 7          # `make soak`; without a seed one is drawn, and printed
    python -m harness.soak --minutes 2 --only metric      # the properties whose names begin so
    python -m harness.soak --case "mds: streams" 7 41     # one case again: property, seed, number

A case depends on its property, the seed and its number only. The record (docs/trust/soak.json) has, for each property:
cases, refusals, faults; the median time of fits, and the slowest in multiples of the median of its peers, the cases of
the same property and size; and the growth of memory after the first round. The exit status is 1 after a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness import model_files, mutations
from harness.properties import PROPERTIES, Case, Outcome, SeededDraw, run_case
from harness.provenance import collect_provenance
from harness.store import write_json

__all__ = ["LIMIT", "Tally", "judge_times", "main", "run_number", "soak"]

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "trust" / "soak.json"
# The number of cases of a turn of a property.
TURN = 20
FILES, MODELS, CALLS = "files: mutations", "model files: mutations", "low level: mistakes"
# Loads of mutated files, and low-level calls, in a turn; each turn is a process.
FILES_TURN, MODELS_TURN, CALLS_TURN = 300, 300, 300
#: A fit that takes more than this multiple of the median of its peers is flagged.
LIMIT = 50.0
# Medians below this are taken as this, in seconds: a short fit may be interrupted by anything.
SHORTEST = 5e-3
# A case that takes longer, in seconds, is a fault.
LONGEST = 300


class Timed(NamedTuple):
    """A case by its number, its size, and the seconds that its fits took."""

    number: int
    size: tuple[int, ...]
    seconds: float


class Slowest(NamedTuple):
    """The slowest case by number, in multiples of the median of its peers, and the median of all cases in seconds."""

    number: int
    ratio: float
    median: float


@dataclass
class Tally:
    """The counts of one property."""

    cases: int = 0
    refused: int = 0
    faults: int = 0
    growth: float = 0.0
    times: list[Timed] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def add(self, cases: int, refused: int, messages: list[str]) -> None:
        """Add cases; each message is a fault."""
        self.cases += cases
        self.refused += refused
        self.faults += len(messages)
        # The first tell most.
        self.messages += messages[: max(0, 5 - len(self.messages))]


def seed_of(name: str, seed: int, number: int) -> list[int]:
    """Return the seed of one case: of its property's name, the seed of the run, and its number."""
    return [*name.encode(), seed, number]


def stop_case(signum: int, frame: Any) -> None:
    """Raise a TimeoutError in the case that is running."""
    raise TimeoutError(f"the case takes more than {LONGEST} s")


def run_number(name: str, seed: int, number: int) -> Case:
    """Return how one case ended; one that takes too long is a fault."""
    before = signal.signal(signal.SIGALRM, stop_case)
    signal.alarm(LONGEST)
    try:
        return run_case(PROPERTIES[name], SeededDraw(seed_of(name, seed, number)))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def take_turn(name: str, tally: Tally, seed: int, end: float) -> None:
    """Run the next cases of a property, until the time `end`."""
    for number in range(tally.cases, tally.cases + TURN):
        if time.monotonic() > end:
            return
        case = run_number(name, seed, number)
        fault = case.outcome is Outcome.FAULT
        if fault:
            print(
                f"FAULT, again by: python -m harness.soak --case {name!r} {seed} {number}\n{case.message}", flush=True
            )
        message = f"case {number}: {case.message.splitlines()[0][:200]}" if fault else ""
        tally.add(1, int(case.outcome is Outcome.REFUSED), [message] if fault else [])
        # A refusal takes no time, so it is no peer of a fit.
        if case.outcome is Outcome.PASSED:
            tally.times.append(Timed(number, case.size, case.seconds))


def take_files_turn(tally: Tally, seed: int) -> None:
    """Load the next mutated files, in a process of its own."""
    first = tally.cases
    counts = mutations.soak(FILES_TURN, (seed + first) % 2**31)
    faults = [end for end in counts if end not in ("refused", "loaded")]
    for fault in faults:
        print(f"FAULT, of seed {(seed + first) % 2**31} in harness.mutations: {fault}", flush=True)
    tally.add(counts.total(), counts["refused"], faults)


def take_models_turn(tally: Tally, seed: int) -> None:
    """Load the next mutated model files, and at first all hostile ones, in processes of their own."""
    first = (seed + tally.cases) % 2**31
    counts = model_files.soak(MODELS_TURN, first, hostile=tally.cases == 0)
    faults = [end for end in counts if end not in ("refused", "loaded", "other")]
    for fault in faults:
        print(f"FAULT, of seed {first} in harness.model_files: {fault}", flush=True)
    tally.add(counts.total(), counts["refused"], faults)


def take_calls_turn(tally: Tally, seed: int) -> None:
    """Make the next low-level calls, in a process with the bounds checks of numba."""
    first = (seed + tally.cases) % 2**31
    script = ROOT / "tests" / "test_lowlevel_shapes.py"
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / "build" / "bounds")}
    command = [sys.executable, str(script), str(CALLS_TURN), str(first)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    last = (done.stdout.splitlines() or [""])[-1]
    counts: dict[str, int] = json.loads(last) if last.startswith("{") else {}
    faults = re.findall(r"^seed \d+: .*", done.stderr, re.MULTILINE)
    if done.returncode and not faults:
        faults = [f"from seed {first}: the process ended with {done.returncode}: {done.stderr[-300:]}"]
    if faults:
        print(f"FAULT, again by: python {script.name} 1 SEED, under NUMBA_BOUNDSCHECK=1\n{done.stderr}", flush=True)
    refused = sum(count for end, count in counts.items() if end.endswith("refused"))
    tally.add(max(sum(counts.values()) + len(faults), 1), refused, faults)


def resident_megabytes() -> float:
    """Return the memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def judge_times(times: list[Timed]) -> Slowest:
    """Return the case that is slowest beside the median of its peers, those of the same size."""
    peers: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for case in times:
        peers[case.size].append(case.seconds)
    medians = {size: max(float(np.median(seconds)), SHORTEST) for size, seconds in peers.items()}
    worst = max(times, key=lambda case: case.seconds / medians[case.size])
    median = float(np.median([case.seconds for case in times]))
    return Slowest(worst.number, worst.seconds / medians[worst.size], median)


def repeat_slow(name: str, tally: Tally, seed: int) -> Slowest:
    """Return the slowest case; those beyond the limit are run again first, for kernels may have been compiled."""
    for _ in range(10):
        slowest = judge_times(tally.times)
        if slowest.ratio <= LIMIT:
            break
        at = next(i for i, case in enumerate(tally.times) if case.number == slowest.number)
        again = run_number(name, seed, slowest.number).seconds
        if again >= 0.5 * tally.times[at].seconds:
            break
        tally.times[at] = tally.times[at]._replace(seconds=again)
    return slowest


def soak(minutes: float, seed: int, only: str = "") -> dict[str, Tally]:
    """Return the counts by property, after turns in rotation for a number of minutes."""
    names = [name for name in [*sorted(PROPERTIES), FILES, MODELS, CALLS] if name.startswith(only)]
    if not names:
        raise ValueError(f"only={only!r} is the beginning of no property. Choose from {', '.join(PROPERTIES)}.")
    tallies = {name: Tally() for name in names}
    begin = time.monotonic()
    end, rounds = begin + 60 * minutes, 0
    while time.monotonic() < end:
        for name, tally in tallies.items():
            before = resident_megabytes()
            if name == FILES:
                take_files_turn(tally, seed)
            elif name == MODELS:
                take_models_turn(tally, seed)
            elif name == CALLS:
                take_calls_turn(tally, seed)
            else:
                take_turn(name, tally, seed, end)
            # The first rounds compile kernels and fill caches.
            tally.growth += resident_megabytes() - before if rounds > 1 else 0.0
            if time.monotonic() > end:
                break
        rounds += 1
        cases, refused, faults = (
            sum(getattr(t, key) for t in tallies.values()) for key in ("cases", "refused", "faults")
        )
        print(
            f"{(time.monotonic() - begin) / 60:6.1f} min, round {rounds}: {cases} cases, {refused} refused, "
            f"{faults} faults, {resident_megabytes():.0f} MB",
            flush=True,
        )
    return tallies


def to_rows(tallies: dict[str, Tally], seed: int) -> list[dict[str, Any]]:
    """Return a row of the record for each property."""
    rows = []
    for name, tally in tallies.items():
        row = {"property": name, "cases": tally.cases, "refused": tally.refused, "faults": tally.faults}
        if tally.times:
            slowest = repeat_slow(name, tally, seed)
            row |= {"median_ms": round(1e3 * slowest.median, 2), "slowest_ratio": round(slowest.ratio, 1)}
            row |= {"slowest_case": slowest.number, "flagged": slowest.ratio > LIMIT}
        rows.append(row | {"growth_mb": round(tally.growth, 1), "messages": tally.messages})
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run as told by the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Run properties for a time, and count how their cases end.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="of all cases; drawn if it is not given")
    parser.add_argument("--only", default="", help="the beginning of the names of properties")
    parser.add_argument("--case", nargs=3, metavar=("PROPERTY", "SEED", "NUMBER"), help="run one case again")
    parser.add_argument("--record", type=Path, help=f"the file of the counts; by default {RECORD.relative_to(ROOT)}")
    settings = parser.parse_args(arguments)
    if settings.case:
        name, seed, number = settings.case
        case = run_number(name, int(seed), int(number))
        print(f"{case.outcome}: {case.message}")
        return int(case.outcome is Outcome.FAULT)
    seed = secrets.randbelow(2**31) if settings.seed is None else settings.seed
    print(f"seed {seed}, {settings.minutes:g} minutes", flush=True)
    provenance, began = collect_provenance(threads=1), datetime.now(UTC)
    begin_mb = resident_megabytes()
    tallies = soak(settings.minutes, seed, settings.only)
    rows = to_rows(tallies, seed)
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items() if key != "messages"))
    totals = {key: sum(row[key] for row in rows) for key in ("cases", "refused", "faults")}
    memory = {"begin_mb": round(begin_mb), "end_mb": round(resident_megabytes())}
    record = {"date": began.date().isoformat(), "commit": provenance.commit, "provenance": str(provenance)}
    record |= {
        "seed": seed,
        "minutes": settings.minutes,
        "totals": totals,
        "memory": memory,
        "limit": LIMIT,
        "rows": rows,
    }
    # A run of some properties is not the record of all.
    if settings.record or not settings.only:
        write_json(settings.record or RECORD, record)
    print(f"seed {seed}: {totals['cases']} cases, {totals['refused']} refused, {totals['faults']} faults")
    return int(totals["faults"] > 0)


if __name__ == "__main__":
    os.environ.setdefault("GRAMIAN_OFFLINE", "1")
    sys.exit(main())
