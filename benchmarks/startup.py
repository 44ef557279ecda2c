"""Startup costs: imports beside scikit-learn's, and first fits that compile or read compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.rows import Row
from harness.timing import median_seconds, print_heading

FIT = """
import time, warnings
import numpy as np
import sklearn.linear_model
warnings.simplefilter("ignore")
from gramian import MetricLearner, PSDRegressor
X = np.random.default_rng(0).standard_normal((300, 5))
begin = time.perf_counter()
{}
print(time.perf_counter() - begin)
"""
FITS = {
    "PSDRegressor": "PSDRegressor(2, random_state=0).fit(X, (X[:, :2] ** 2).sum(axis=1))",
    "PSDRegressor, online": "PSDRegressor(2, solver='online', random_state=0).fit(X, (X[:, :2] ** 2).sum(axis=1))",
    "MetricLearner": "MetricLearner(2, random_state=0).fit(X, X[:, 0] > 0)",
}


def run_python(code: str, **environment: str) -> str:
    """Return what a new Python process prints.

    Modules keep their bytecode from one process to the next, as those of an installed package do.
    """
    environment = {**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def main() -> list[Row]:
    """Print the times, and return the rows."""
    print_heading("Imports in new processes, and first fits")
    times = median_seconds({name: partial(run_python, f"import {name}") for name in ("gramian", "sklearn")}, repeats=7)
    ratio = times["gramian"] / times["sklearn"]
    print(f"import gramian {times['gramian']:.3f} s, import sklearn {times['sklearn']:.3f} s")
    rows = [Row("import gramian", "import sklearn", ratio, 1.3, at_most=True, detail="loads nothing before it is used")]
    used = {"ours": "from gramian import PSDRegressor", "peer": "from sklearn.linear_model import Ridge"}
    times = median_seconds({name: partial(run_python, code) for name, code in used.items()}, repeats=7)
    print(f"{used['ours']} {times['ours']:.3f} s, {used['peer']} {times['peer']:.3f} s")
    rows.append(Row(used["ours"], used["peer"], times["ours"] / times["peer"], 1.3, at_most=True))
    for name, code in FITS.items():
        with tempfile.TemporaryDirectory() as folder:
            first, later = (float(run_python(FIT.format(code), NUMBA_CACHE_DIR=folder)) for _ in range(2))
        print(f"{name}: first fit {first:.2f} s, in a later process {later:.2f} s")
        rows.append(Row(f"first fit, {name}", "seconds, compiling", first, 10, at_most=True))
        rows.append(Row(f"fit in a later process, {name}", "seconds, from the cache", later, 1, at_most=True))
    return rows


if __name__ == "__main__":
    main()
