"""Fits of a Parquet table that is larger than the memory they may take, and how fast a table is streamed.

    python -m benchmarks.out_of_core            the whole, with a table of 6 GB
    python -m benchmarks.out_of_core 0.2        with a table of 0.2 GB, for a quick check

The table, and a copy of it as .npy, are made in a temporary folder (set TMPDIR to choose the disk) and removed. Each
fit runs in a process of its own, whose data is limited: what it allocates, not the pages of files that it maps.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np

from benchmarks.rows import Row
from gramian import PSDRegressor, open_table
from gramian.tables import Table
from harness.timing import limit_threads, print_heading

GIGABYTES, LIMIT = 6.0, 2.0
FEATURES, RANK, NOISE = 200, 5, 0.5
#: Rows of a row group of the table.
ROWS = 1 << 16
#: Rows on which streaming from the table is compared to streaming from memory.
COMPARED = 1 << 19


def planted_factor() -> np.ndarray:
    """Return the factor (d, r) that the targets are made with."""
    return np.random.default_rng(1).standard_normal((FEATURES, RANK)) / FEATURES**0.5


def make_rows(n: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield n rows in parts: features (m, d) in float64, and noisy targets (m,)."""
    rng, G = np.random.default_rng(seed), planted_factor()
    for start in range(0, n, ROWS):
        X = rng.standard_normal((min(ROWS, n - start), FEATURES))
        yield X, np.sum((X @ G) ** 2, axis=1) + NOISE * rng.standard_normal(len(X))


def write_table(path: Path, gigabytes: float) -> int:
    """Write a Parquet table of a number of gigabytes, and return the number of its rows."""
    import pyarrow
    import pyarrow.parquet

    n = int(gigabytes * 1e9 / (8 * (FEATURES + 1)))
    names = [*(f"x{j}" for j in range(FEATURES)), "y"]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    options = {"compression": "none", "use_dictionary": False}
    with pyarrow.parquet.ParquetWriter(path, schema, **options) as writer:
        for X, y in make_rows(n):
            columns = [*np.ascontiguousarray(X.T), y]
            writer.write_table(pyarrow.table(dict(zip(names, columns, strict=True)), schema=schema))
    return n


def status(name: str) -> float:
    """Return a line of /proc/self/status, in GB."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1e6


class OwnMemory(threading.Thread):
    """Watches the memory of this process that is not mapped from files; `peak` is in GB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0

    def run(self) -> None:
        """Watch until the process ends."""
        while True:
            self.peak = max(self.peak, status("RssAnon"))
            sleep(0.01)


def fit_batch(table: Table, folder: Path) -> PSDRegressor:
    """Return a batch fit of a table: copied to .npy files, which are memory-mapped."""
    X, y = table.to_npy(folder)
    return PSDRegressor(RANK, random_state=0).fit(X, y)


def fit_stream(table: Table, folder: Path) -> PSDRegressor:
    """Return an online fit of one pass over a table."""
    return PSDRegressor(RANK, solver="online", random_state=0).fit_stream(table)


FITS = {"batch": fit_batch, "stream": fit_stream}


def run_child(kind: str, path: str, limit: float) -> None:
    """Fit a table with at most a number of gigabytes of data, and print what it took as JSON."""
    size = int(limit * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    memory = OwnMemory()
    memory.start()
    begin = perf_counter()
    with limit_threads():
        model = FITS[kind](open_table(path, "y"), Path(path).parent)
    seconds = perf_counter() - begin
    X, y = next(make_rows(10_000, seed=7))
    error = float(np.mean((model.predict(X) - y) ** 2)) / NOISE**2
    passes = float(model.history_["passes"][-1])
    found = {"seconds": seconds, "own": memory.peak, "all": status("VmHWM"), "error": error, "passes": passes}
    print(json.dumps(found))


def measure_child(kind: str, path: Path, limit: float) -> dict[str, float]:
    """Return what a fit in a process of its own took."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--child", kind, str(path), str(limit)]
    # Arrow's own allocator reserves a gigabyte of addresses, most of them never used, which the limit would count.
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def stream_share(path: Path) -> float:
    """Return the rate of a stream from a table over that of the same rows in memory, the best of three turns."""
    table = open_table(path, "y")
    in_memory = []
    for batch in table:
        in_memory.append(batch)
        if sum(len(part.X) for part in in_memory) >= COMPARED:
            break
    model = PSDRegressor(RANK, solver="online", random_state=0)
    model.fit_stream(in_memory[:1])

    def some_batches() -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        for number, batch in enumerate(table, 1):
            yield batch
            if number == len(in_memory):
                return

    seconds: dict[str, list[float]] = {"memory": [], "table": []}
    with limit_threads():
        for _ in range(3):
            for name, batches in (("memory", in_memory), ("table", some_batches)):
                begin = perf_counter()
                model.fit_stream(batches)
                seconds[name].append(perf_counter() - begin)
    rows = sum(len(part.X) for part in in_memory)
    best = {name: min(times) for name, times in seconds.items()}
    print(
        f"online, {rows} rows: {rows / best['memory'] / 1e6:.2f} million rows a second from memory, "
        f"{rows / best['table'] / 1e6:.2f} from the table"
    )
    return best["memory"] / best["table"]


def main(gigabytes: float = GIGABYTES, limit: float = LIMIT) -> list[Row]:
    """Print times and memory of both fits, and return the rows."""
    print_heading(f"A Parquet table of {gigabytes:g} GB, {FEATURES} features, rank {RANK}, in {limit:g} GB of memory")
    rows = []
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        n = write_table(path, gigabytes)
        print(f"{n} rows, {path.stat().st_size / 1e9:.2f} GB")
        for kind, words in (("batch", "copied to .npy, then conjugate gradients"), ("stream", "one pass, online")):
            found = measure_child(kind, path, limit)
            passes = f", {found['passes']:.1f} passes over the data" if kind == "batch" else ""
            print(
                f"{kind} ({words}): {found['seconds']:.0f} s{passes}; own memory {found['own']:.2f} GB, with pages of "
                f"the file {found['all']:.2f} GB; error {found['error']:.3f} of the noise"
            )
            task = f"table of {gigabytes:g} GB, {kind}"
            under = (
                f"RLIMIT_DATA = {limit:g} GB; peak of RssAnon, and with pages of files {found['all']:.2f} GB (VmHWM)"
            )
            rows.append(Row(task, "peak of own memory, GB", found["own"], limit, at_most=True, detail=under))
            rows.append(Row(task, "error over that of the noise", found["error"], 1.1, at_most=True))
        rows.append(Row("stream from Parquet", "rate from memory", stream_share(path), 0.6))
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        for row in main(*map(float, sys.argv[1:])):
            print(row)
