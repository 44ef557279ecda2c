"""Time of a batch iteration, a gradient and a line search, over the time of its two matrix products.

Also the peak memory that a fit on 100k pairs of 6238 x 617 data takes beyond the data.
"""

from __future__ import annotations

import tracemalloc

import numpy as np

from benchmarks.rows import Row
from gramian import Block, Problem, Term
from gramian.features import Array
from gramian.geometries import Flat, Geometry, Polar, Scaled
from gramian.measurements import Each, Pairs
from gramian.solvers import Armijo, ConjugateGradient, GradientDescent, Solver, minimize
from harness.timing import median_seconds, print_heading

GEOMETRIES: dict[str, Geometry] = {"flat": Flat(), "scaled": Scaled(), "polar": Polar()}
SOLVERS: dict[str, Solver] = {"cg": ConjugateGradient(), "gd, Armijo": GradientDescent(Armijo())}


def rank_one_problem(n: int, d: int, r: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Return a problem with noisy targets xᵀWx, its samples and a start."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sum((X @ rng.standard_normal((d, r))) ** 2, axis=1) + 0.1 * rng.standard_normal(n)
    return Problem([Block(Array(X), [Term(Each(n), y)])]), X, rng.standard_normal((d, r))


def pairs_problem(n: int, d: int, r: int, m: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Return a problem with pairs sorted by first sample, its samples and a start.

    About half of the pairs have an upper bound on their distance, the others a lower bound.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    start = np.linalg.qr(rng.standard_normal((d, r)))[0]
    pairs = rng.integers(n, size=(m, 2))
    measurement = Pairs(pairs[np.argsort(pairs[:, 0])], n)
    near, far = np.percentile(measurement.predict(X @ start), [5, 95])
    sense = np.where(rng.random(m) < 0.5, -1, 1)
    term = Term(measurement, np.where(sense < 0, near, far), sense=sense)
    return Problem([Block(Array(X), [term])]), X, start


def iteration_ratio(problem: Problem, X: np.ndarray, start: np.ndarray, geometry: Geometry, solver: Solver) -> float:
    """Return the time of an iteration over that of its two matrix products, after three iterations."""
    result = minimize(problem, solver, geometry.point(start), max_iter=3, tol=0)
    state = [problem.evaluate(result.point), solver.start(problem.evaluate(result.point))]
    _ = state[0].gradient
    B, S = start, np.ascontiguousarray(X @ start)

    def iterate() -> None:
        step = solver.step(*state)
        _ = step.evaluation.gradient
        state[:] = [step.evaluation, step.memory]

    def products() -> None:
        _ = X @ B
        _ = (S.T @ X).T

    times = median_seconds({"iteration": iterate, "products": products})
    return times["iteration"] / times["products"]


def peak_memory(n: int, d: int, r: int, m: int) -> float:
    """Return the peak memory of a fit beyond the data and the pairs, in MB."""
    problem, _, start = pairs_problem(n, d, r, m)
    tracemalloc.start()
    minimize(problem, ConjugateGradient(), Scaled().point(start), max_iter=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> list[Row]:
    """Print the table, and return the rows of the default solver."""
    print_heading("One batch iteration over its two bare matrix products")
    cases = {
        "rank one, n=80000 d=50 r=10": rank_one_problem(80000, 50, 10),
        "rank one, n=20000 d=500 r=20": rank_one_problem(20000, 500, 20),
        "100k pairs, N=6238 d=617 r=5": pairs_problem(6238, 617, 5, 100_000),
        "100k pairs, N=6238 d=617 r=50": pairs_problem(6238, 617, 50, 100_000),
    }
    columns = [f"{g} {s}" for s in SOLVERS for g in GEOMETRIES]
    print(f"{'':32}" + "".join(f"{c:>18}" for c in columns))
    rows = []
    for name, case in cases.items():
        ratios = [
            iteration_ratio(*case, geometry, solver) for solver in SOLVERS.values() for geometry in GEOMETRIES.values()
        ]
        print(f"{name:32}" + "".join(f"{ratio:18.2f}" for ratio in ratios))
        goal, kept = 2.0 if "pairs" in name else 1.3, dict(zip(columns, ratios, strict=True))
        rows += [
            Row(f"iteration, {name}, {geometry}", "its two products", kept[f"{geometry} cg"], goal, at_most=True)
            for geometry in GEOMETRIES
        ]
    for r in (5, 50):
        megabytes = peak_memory(6238, 617, r, 100_000)
        print(f"peak memory of a fit beyond the data, 100k pairs, 6238 x 617, r={r}: {megabytes:.0f} MB (goal: 150)")
    return rows


if __name__ == "__main__":
    main()
