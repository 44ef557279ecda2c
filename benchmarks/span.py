"""Few samples with very many features: a whole fit, with and without reduction to the span of the samples."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from benchmarks.rows import Row, speedup_row
from gramian import MetricLearner
from gramian.supervision import labelled_pairs
from harness.timing import median_seconds, print_heading


def main(n: int = 322, d: int = 15154, m: int = 10_000, rank: int = 5) -> list[Row]:
    """Print both times; the penalty weight is fixed, so that both minimise the same cost."""
    print_heading(f"Whole fit of a metric, N={n} d={d}, {m} pairs, rank {rank}")
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, 20)) @ rng.standard_normal((20, d)) + 0.5 * rng.standard_normal((n, d))
    X[:, :50] += 1.5 * y[:, None]
    pairs, same = labelled_pairs(y, m, random_state=0)
    costs = {}

    def fit(name: str) -> None:
        model = MetricLearner(rank, regularisation=0.01, tol=1e-5, random_state=0)
        costs[name] = model.fit_pairs(X, pairs, y=np.where(same, 1, -1)).history_["cost"][-1]

    def without() -> None:
        with patch("gramian.coordinates.span_of", lambda features: None):
            fit("without")

    times = median_seconds({"in the span": lambda: fit("in the span"), "without": without}, repeats=5)
    for name, seconds in times.items():
        print(f"{name:14}{seconds:8.3f} s, cost {costs[name]:.6f}")
    return [speedup_row(f"metric, N={n}, d={d}", "ours without span reduction", *times.values(), 3)]


if __name__ == "__main__":
    main()
