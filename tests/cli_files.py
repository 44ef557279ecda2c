"""Small data files of every kind, and runs of the command line in this process and in its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import dump_svmlight_file

SOURCE = Path(__file__).parents[1] / "src"


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


def run_process(folder, *arguments, **environment):
    """Run the command line as a process of its own in a folder."""
    paths = os.pathsep.join([str(SOURCE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    settings = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "100", **environment}
    command = [sys.executable, "-m", "gramian.cli", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=120)
    return Ended(done.returncode, done.stdout, done.stderr)


def make_frame(n=90, seed=0):
    """A table with numbers, whole numbers, categories, dates, missing values and an empty column."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    frame = pd.DataFrame(
        {
            "height": rng.normal(size=n) + 2 * y,
            "rooms": rng.integers(1, 5, size=n),
            "colour": np.where(rng.random(n) < 0.2, None, np.array(["red", "green", "blue"])[y]),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=n), "D"),
            "empty": np.nan,
            "label": np.array(["house", "flat", "hut"])[y],
        }
    )
    frame.loc[::7, "height"] = np.nan
    return frame


def write_files(folder):
    """Write the same kind of data as CSV, Parquet, NPZ and svmlight to a folder."""
    frame, rng = make_frame(), np.random.default_rng(1)
    frame.to_csv(folder / "data.csv", index=False)
    frame.to_parquet(folder / "data.parquet")
    frame.drop(columns="label").iloc[:10].assign(id=range(10)).to_csv(folder / "new.csv", index=False)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 2 * np.eye(3, 4)[y]
    np.savez(folder / "data.npz", X=X, y=y)
    dump_svmlight_file(X, y, str(folder / "data.svm"))
    near = "\n".join(f"{i},{i + 1},{1 if i % 3 == (i + 1) % 3 else -1}\n{i},{i + 3},1" for i in range(40))
    (folder / "pairs.csv").write_text(f"first,second,sign\n{near}\n")
    (folder / "triplets.csv").write_text("\n".join(f"{i},{i + 3},{i + 1}" for i in range(50)))
    points = rng.normal(size=(20, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.savetxt(folder / "distances.csv", distances, delimiter=",")
    lines = [f"{i},{j},{distances[i, j]}" for i in range(20) for j in range(i)]
    (folder / "known.csv").write_text("a,b,distance\n" + "\n".join(lines))
