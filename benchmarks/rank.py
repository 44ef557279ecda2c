"""The rank that rank="auto" finds: planted ranks without noise, and the best ranks on fresh samples with noise."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import PSDRegressor, SStressMDS
from harness.timing import print_heading

D, RANKS, PER_UNKNOWN = 30, 8, 6


class Planted(NamedTuple):
    """Samples (n, d), targets (n,) and the true factor (d, r)."""

    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray


def make_planted(seed: int, noise: float) -> Planted:
    """Return a regression of rank 1 + seed % 8, with noise as a share of the standard deviation of the targets."""
    rng, rank = np.random.default_rng(seed), 1 + seed % RANKS
    truth, X = rng.standard_normal((D, rank)), rng.standard_normal((PER_UNKNOWN * D * rank, D))
    y = np.sum((X @ truth) ** 2, axis=1)
    return Planted(X, y + noise * y.std() * rng.standard_normal(len(y)), truth)


def find_planted(count: int) -> Row:
    """Return the row of the planted ranks that are found with a certificate."""
    found, auto, given = 0, 0.0, 0.0
    for seed in range(count):
        X, y, truth = make_planted(seed, 0.0)
        begin = perf_counter()
        model = PSDRegressor("auto", random_state=0).fit(X, y)
        auto += perf_counter() - begin
        certificate = model.certificate_
        found += model.rank_ == truth.shape[1] and certificate.is_global and certificate.is_bound
        begin = perf_counter()
        PSDRegressor(truth.shape[1], random_state=0).fit(X, y)
        given += perf_counter() - begin
    detail = f"{found} of {count}; {auto / count:.2g} s a fit, {given / count:.2g} s if the rank is given"
    return Row("planted rank found and certified, no noise", "share of all", found / count, 0.95, detail=detail)


def best_rank(data: Planted) -> int:
    """Return the rank whose fit has the lowest error on fresh samples, among those near the true rank."""
    fresh = np.random.default_rng(10_000).standard_normal((20_000, D))
    wanted, rank = np.sum((fresh @ data.truth) ** 2, axis=1), data.truth.shape[1]
    errors = {
        r: float(np.mean((PSDRegressor(r, random_state=0).fit(data.X, data.y).predict(fresh) - wanted) ** 2))
        for r in range(max(1, rank - 2), rank + 4)
    }
    return min(errors, key=errors.__getitem__)


def find_noisy(count: int) -> Row:
    """Return the row of the ranks found with 10 % noise, within one of the best on fresh samples."""
    problems = [make_planted(seed, 0.1) for seed in range(count)]
    apart = [PSDRegressor("auto", random_state=0).fit(data.X, data.y).rank_ - best_rank(data) for data in problems]
    near, exact = int(np.sum(np.abs(apart) <= 1)), int(np.sum(np.equal(apart, 0)))
    detail = f"{near} of {count}; the best itself {exact} times"
    return Row(
        "rank within one of the best on fresh samples, 10 % noise", "share of all", near / count, 0.95, detail=detail
    )


def find_dimensions(count: int, n: int = 60) -> Row:
    """Return the row of the dimensions of maps that are found from 60 % of the distances."""
    found = 0
    for seed in range(count):
        rng, r = np.random.default_rng(seed), 1 + seed % 6
        points = rng.standard_normal((n, r))
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        hidden = np.triu(rng.random((n, n)) < 0.4, 1)
        model = SStressMDS("auto", random_state=0).fit(np.where(hidden | hidden.T, np.nan, distances))
        found += model.rank_ == r and model.certificate_.is_global
    return Row(
        "dimension of a map found and certified", "share of all", found / count, 0.95, detail=f"{found} of {count}"
    )


@run_quietly()
def main() -> list[Row]:
    """Print the table, and return its rows."""
    print_heading("The rank that rank='auto' finds")
    rows = [find_planted(100), find_noisy(24), find_dimensions(24)]
    for row in rows:
        print(f"{row.task:60}{row.value:6.2f}   {row.detail}")
    return rows


if __name__ == "__main__":
    main()
