"""ITML's projections, compiled beside plain NumPy: the same cycles over the same pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.rows import Row
from gramian._kernels import logdet_metric, reference_logdet_metric
from gramian.baselines._pair_learning import resolve_constraints
from gramian.supervision import LabelPairs
from harness.timing import median_seconds, print_heading

CYCLES = 5


def make_classes(n: int, d: int, c: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian classes: samples (n, d) and labels (n,)."""
    y = rng.integers(c, size=n)
    return rng.standard_normal((n, d)) + 0.6 * rng.standard_normal((c, d))[y], y


def make_constraints(n: int, d: int, c: int) -> tuple[np.ndarray, ...]:
    """Return samples, the first and second samples of pairs drawn from labels, their bounds and senses."""
    rng = np.random.default_rng(0)
    X, y = make_classes(n, d, c, rng)
    pairs = LabelPairs(y).validate(n).draw(rng)
    return resolve_constraints(X, pairs, np.eye(d), None).constraints


def run_cycles(cycle: Callable[..., float], given: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the metric (d, d) and the duals (m,) after some cycles from the identity."""
    X, first, second, target, sense = given
    A, dual, inverse = np.eye(X.shape[1]), np.zeros(len(first)), 1 / target
    for _ in range(CYCLES):
        cycle(X, first, second, sense, 1.0, A, dual, inverse)
    return A, dual


def compare_kernels(n: int, d: int, c: int) -> Row:
    """Print the microseconds per projection of both kernels, and return the row of their ratio."""
    given = make_constraints(n, d, c)
    found: dict[str, Any] = {}

    def run(name: str, cycle: Callable[..., float]) -> None:
        found[name] = run_cycles(cycle, given)

    kernels = {"compiled": logdet_metric.itml_cycle, "NumPy": reference_logdet_metric.itml_cycle}
    seconds = median_seconds({name: partial(run, name, cycle) for name, cycle in kernels.items()}, repeats=5)
    m = len(given[1])
    (A, dual), (B, _) = found["compiled"], found["NumPy"]
    each = {name: 1e6 * time / (CYCLES * m) for name, time in seconds.items()}
    print(
        f"{f'{n} x {d}':>12}{m:8}{100 * np.mean(dual == 0):9.0f} %{each['compiled']:12.2f}{each['NumPy']:12.2f}"
        f"{each['NumPy'] / each['compiled']:9.1f}{np.max(np.abs(A - B)) / np.max(np.abs(B)):13.0e}",
        flush=True,
    )
    return Row(f"ITML, {n} x {d}, {m} pairs", "plain NumPy", each["NumPy"] / each["compiled"], 10)


def main() -> list[Row]:
    """Print the table, and return its rows."""
    print_heading(f"ITML, {CYCLES} cycles, microseconds a projection (goal at 1000 x 200: a tenth of NumPy's)")
    print(f"{'samples':>12}{'pairs':>8}{'inactive':>11}{'compiled':>12}{'NumPy':>12}{'times':>9}{'difference':>13}")
    return [compare_kernels(1000, d, c) for d, c in ((20, 5), (200, 2), (200, 5), (200, 10))]


if __name__ == "__main__":
    main()
