"""Growth of an iteration's time with each size: the exponent of a power law fitted over four doublings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.iteration import pairs_problem, rank_one_problem
from benchmarks.rows import Row
from gramian.geometries import Flat, Geometry, Polar, Scaled
from gramian.objective import Problem
from gramian.solvers import ConjugateGradient
from harness.timing import median_seconds, print_heading

GEOMETRIES: dict[str, Geometry] = {"flat": Flat(), "scaled": Scaled(), "polar": Polar()}
Case = tuple[Problem, np.ndarray, np.ndarray]


def make_rank_one(n: int = 20000, d: int = 200, r: int = 10) -> Case:
    """Return a problem of vectors, its samples and a start; the caller changes one of the sizes."""
    return rank_one_problem(n, d, r)


def make_pairs(N: int = 4000, d: int = 400, r: int = 10) -> Case:
    """Return a problem with 16 pairs per sample, its samples and a start; the caller changes one of the sizes."""
    return pairs_problem(N, d, r, 16 * N)


#: What grows: the problem, the name of the size, its values, and the largest exponent wanted.
CASES: list[tuple[str, Callable[..., Case], str, tuple[int, ...], float]] = [
    ("vectors", make_rank_one, "d", (50, 100, 200, 400, 800), 1.1),
    ("vectors", make_rank_one, "n", (5000, 10000, 20000, 40000, 80000), 1.1),
    ("vectors", make_rank_one, "r", (3, 6, 12, 25, 50), 1.3),
    ("pairs", make_pairs, "d", (50, 100, 200, 400, 800), 1.1),
    ("pairs", make_pairs, "N", (1000, 2000, 4000, 8000, 16000), 1.1),
    ("pairs", make_pairs, "r", (3, 6, 12, 25, 50), 1.3),
]


def run_iterations(problem: Problem, start: np.ndarray, geometry: Geometry, count: int = 5) -> None:
    """Run some iterations of conjugate gradients from a start."""
    solver, evaluation = ConjugateGradient(), problem.evaluate(geometry.point(start))
    memory = solver.start(evaluation)
    for _ in range(count):
        evaluation, _, memory = solver.step(evaluation, memory)
    _ = evaluation.gradient


def growth_exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the slope of log seconds against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> list[Row]:
    """Print the exponents, and return a row per size with the largest of them."""
    print_heading("Growth of an iteration's time with each size alone, four doublings: exponents")
    print(f"{'':24}" + "".join(f"{name:>10}" for name in GEOMETRIES) + "   sizes")
    rows = []
    for kind, problem_of, size, values, most in CASES:
        cases = {value: problem_of(**{size: value}) for value in values}
        found = {}
        for name, geometry in GEOMETRIES.items():
            runs = {
                str(v): partial(run_iterations, problem, start, geometry) for v, (problem, _, start) in cases.items()
            }
            found[name] = growth_exponent(values, list(median_seconds(runs, repeats=5).values()))
        print(f"{kind + ', ' + size:24}" + "".join(f"{e:10.2f}" for e in found.values()) + f"   {values}", flush=True)
        worst = max(found, key=found.__getitem__)
        task = f"growth with {size}, {kind}"
        rows.append(Row(task, "exponent 1", found[worst], most, at_most=True, detail=f"largest: {worst}"))
    return rows


if __name__ == "__main__":
    main()
