"""Property tests: generated data against slow explicit references, for the tests and for `harness.soak`.

`case.py` says what a property and its outcome are, `strategies.py` generates data; every other file registers the
properties of one estimator. A new file is imported here.
"""

from harness.properties import (
    baselines_kernels,
    baselines_lmnn,
    baselines_pairs,
    kernel,
    mds,
    metric,
    regressor,
    subspace,
)
from harness.properties.case import PROPERTIES, Case, Draw, Outcome, Property, SeededDraw, run_case

__all__ = [
    "PROPERTIES",
    "Case",
    "Draw",
    "Outcome",
    "Property",
    "SeededDraw",
    "baselines_kernels",
    "baselines_lmnn",
    "baselines_pairs",
    "kernel",
    "mds",
    "metric",
    "regressor",
    "run_case",
    "subspace",
]
