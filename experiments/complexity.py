"""What an iteration costs, by dimension, samples, rank and mini-batch.

Seconds of one batch iteration (a gradient and a whole line search) and of one online update, flat and polar, while d,
n, r or p grows and all else stays. Data are vectors x, measured by xxᵀ, or matrices X (d, d). The growth exponent is
the slope of log seconds against log size over the three largest sizes. Seconds are the processor's, on one thread, the
least of several repetitions. Dashed in the figure: the growth that the paper states.

Also one iteration at full rank, r = d, in the affine-invariant geometry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from experiments.experiment import Claim, Records, Verdict, fails, holds
from experiments.toys import COLOURS, regression_problem, simulate_targets
from gramian import Block, Problem, Term
from gramian.features import Identity
from gramian.geometries import AffineInvariant, Flat, Geometry, Polar
from gramian.measurements import Dense
from gramian.solvers import GradientDescent
from gramian.solvers.online import descend
from harness.frames import select_rows
from harness.progress import Progress
from harness.timing import limit_threads

CAVEATS = (
    "A bound is said to hold where no exponent exceeds its own by more than 0.25: caches, and whatever else the "
    "machine does, have a part in seconds. Exponents below the bound are overheads, or thrift.",
)


@dataclass(frozen=True)
class Config:
    """Settings: the base sizes (d, n, r, p), and the values that each size takes while the others keep theirs.

    The three largest d and n exceed the last cache, so that leaving the cache does not count as growth.
    """

    vectors: tuple[int, ...] = (256, 4096, 4, 32)
    vectors_d: tuple[int, ...] = (512, 1024, 2048, 4096, 8192)
    vectors_n: tuple[int, ...] = (4096, 8192, 16384, 32768, 65536)
    vectors_r: tuple[int, ...] = (4, 8, 16, 32, 64)
    vectors_p: tuple[int, ...] = (16, 32, 64, 128, 256)
    matrices: tuple[int, ...] = (64, 4096, 8, 32)
    matrices_d: tuple[int, ...] = (24, 32, 48, 64, 96)
    matrices_n: tuple[int, ...] = (1024, 2048, 4096, 8192)
    matrices_r: tuple[int, ...] = (4, 8, 16, 32, 64)
    matrices_p: tuple[int, ...] = (8, 16, 32, 64, 128)
    full_d: tuple[int, ...] = (64, 128, 256, 512)
    repeats: int = 10


QUICK = Config(
    vectors=(32, 256, 4, 8),
    vectors_d=(16, 32, 64),
    vectors_n=(128, 256, 512),
    vectors_r=(2, 4, 8),
    vectors_p=(4, 8, 16),
    matrices=(8, 64, 2, 8),
    matrices_d=(4, 8, 16),
    matrices_n=(32, 64, 128),
    matrices_r=(2, 4, 8),
    matrices_p=(4, 8, 16),
    full_d=(4, 8, 16),
    repeats=2,
)
PAPER = Config()

SIZES = "dnrp"
GEOMETRIES: dict[str, Geometry] = {"flat": Flat(), "polar": Polar()}
FULL = "batch, r = d"
#: What the exponents in d, n or p, and r are by the paper's table, for vectors; for matrices one more in d.
TABLE = {"flat": (1, 1, 1), "polar": (1, 1, 2)}
#: How far an exponent may exceed its bound.
SLACK = 0.25


def run(config: Config, progress: Progress) -> Records:
    """Return a row per kind of data, algorithm, and value of the size that grows."""
    cases = [
        (data, varied, size)
        for data in ("vectors", "matrices")
        for varied in SIZES
        for size in getattr(config, f"{data}_{varied}")
    ]
    rows = progress.rows(cases, lambda case: measure_size(config, *case))
    return rows + progress.rows(config.full_d, lambda d: time_full_rank(config, d))


def measure_size(config: Config, data: str, varied: str, size: int) -> Records:
    """Return the rows of one size: the seconds of every algorithm whose cost depends on it."""
    d, n, r, p = (size if varied == name else base for name, base in zip(SIZES, getattr(config, data), strict=True))
    problem, start = make_problem(data, d, n, r)
    rows = []
    for name, geometry in GEOMETRIES.items():
        point = geometry.point(start)
        timed: dict[str, Callable[[], float]] = {}
        if varied != "p":
            timed["batch"] = lambda point=point: time_iteration(problem, point)
        if varied != "n":
            timed["online"] = lambda point=point: time_update(problem, point, p)
        for kind, work in timed.items():
            row = {"data": data, "algorithm": f"{kind} {name}", "varied": varied, "size": size}
            rows.append(row | {"seconds": least_seconds(work, config.repeats)})
    return rows


def make_problem(data: str, d: int, n: int, r: int) -> tuple[Problem, np.ndarray]:
    """Return a problem of n vectors (d,) or matrices (d, d), and a start (d, r)."""
    rng = np.random.default_rng(0)
    truth, start = rng.standard_normal((2, d, r)) / d**0.5
    if data == "vectors":
        X = rng.standard_normal((n, d))
        return regression_problem(X, simulate_targets(X, truth, rng)), start
    measurement = Dense(rng.standard_normal((n, d, d)))
    return Problem([Block(Identity(d), [Term(measurement, measurement.predict(truth))])]), start


def time_iteration(problem: Problem, point: Any) -> float:
    """Return the seconds of the second batch iteration, whose line search starts from the first one's step."""
    solver = GradientDescent()
    evaluation, _, memory = solver.step(problem.evaluate(point), None)
    clock = process_time()
    solver.step(evaluation, memory)
    return process_time() - clock


def time_update(problem: Problem, point: Any, p: int) -> float:
    """Return the mean seconds of an online update; steps are so short that the point hardly moves."""
    updates = min(len(problem.sampled.measurement) // p, 64)
    order, steps = np.arange(updates * p), np.full(updates, 1e-12)
    clock = process_time()
    descend(problem, point, order, p, steps)
    return (process_time() - clock) / updates


def time_full_rank(config: Config, d: int) -> dict[str, Any]:
    """Return the row of a batch iteration at full rank, on 2 d samples."""
    problem, start = make_problem("vectors", d, 2 * d, d)
    point = AffineInvariant().point(start)
    seconds = least_seconds(lambda: time_iteration(problem, point), config.repeats)
    return {"data": "vectors", "algorithm": FULL, "varied": "d", "size": d, "seconds": seconds}


def least_seconds(work: Callable[[], float], repeats: int) -> float:
    """Return the least of several timings on one thread; a first run, which compiles, is not counted."""
    with limit_threads(1):
        work()
        return min(work() for _ in range(repeats))


def sizes_and_seconds(records: Records, data: str, algorithm: str, varied: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes of the variable that grows, and the seconds at each."""
    rows = select_rows(records, data=data, algorithm=algorithm, varied=varied)
    return np.array([row["size"] for row in rows], float), np.array([row["seconds"] for row in rows])


def growth_exponent(records: Records, data: str, algorithm: str, varied: str) -> float:
    """Return the slope of log seconds against log size over the three largest sizes."""
    sizes, seconds = sizes_and_seconds(records, data, algorithm, varied)
    return float(np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0])


def stated_exponents(data: str, algorithm: str) -> dict[str, int]:
    """Return the exponents of the paper's table, by size: d, n or p, and r."""
    kind, geometry = algorithm.split()
    in_d, in_samples, in_r = TABLE[geometry]
    return {"d": in_d + (data == "matrices"), "n" if kind == "batch" else "p": in_samples, "r": in_r}


def plot(records: Records) -> Any:
    """Plot seconds against each size, for vectors in the upper row and matrices in the lower."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    grid = figure.subplots(2, len(SIZES))
    for line, data in zip(grid, ("vectors", "matrices"), strict=True):
        for axes, varied in zip(line, SIZES, strict=True):
            draw_panel(axes, select_rows(records, data=data, varied=varied), data, varied)
        line[0].set_ylabel(f"{data}: seconds")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=9)
    return figure


def draw_panel(axes: Any, rows: Records, data: str, varied: str) -> None:
    """Plot the seconds of all algorithms against one size; dashed, the growth that the paper states."""
    styles = dict(zip(("batch flat", "batch polar", "online flat", "online polar", FULL), COLOURS, strict=False))
    for algorithm, colour in styles.items():
        sizes, seconds = sizes_and_seconds(rows, data, algorithm, varied)
        if sizes.size:
            axes.plot(sizes, seconds, "o-", ms=4, color=colour, label=algorithm)
            power = 3 if algorithm == FULL else stated_exponents(data, algorithm)[varied]
            axes.plot(sizes, seconds[-1] * (sizes / sizes[-1]) ** power, "--", lw=0.8, color=colour)
    axes.set(yscale="log", xlabel=varied)
    axes.set_xscale("log", base=2)
    axes.tick_params(axis="y", which="minor", labelleft=False)


def check_linear(records: Records) -> Verdict:
    """Check that no exponent in d or n exceeds 1, for vectors."""
    found = {}
    for algorithm in ALGORITHMS:
        found |= {f"{algorithm} in d": growth_exponent(records, "vectors", algorithm, "d")}
        if algorithm.startswith("batch"):
            found |= {f"{algorithm} in n": growth_exponent(records, "vectors", algorithm, "n")}
    measured = "growth exponents " + ", ".join(f"{name} {value:.2f}" for name, value in found.items())
    return (
        holds(measured)
        if max(found.values()) <= 1 + SLACK
        else fails(measured, "One exceeds 1 by more than is allowed for.")
    )


def make_cost_check(algorithm: str) -> Callable[[Records], Verdict]:
    """Return the check of an algorithm's costs in the paper's table, for vectors and matrices."""

    def check(records: Records) -> Verdict:
        parts, over, under = [], [], []
        for data in ("vectors", "matrices"):
            stated = stated_exponents(data, algorithm)
            found = {varied: growth_exponent(records, data, algorithm, varied) for varied in stated}
            over += [f"{v} for {data}" for v in stated if found[v] > stated[v] + SLACK]
            under += [WHY[algorithm][data]] if found["r"] < stated["r"] - SLACK else []
            parts.append(f"{data}: " + ", ".join(f"{v} {found[v]:.2f} (stated {stated[v]})" for v in stated))
        measured = f"growth exponents, {'; '.join(parts)}"
        if over:
            return fails(measured, f"Exceeded in {', '.join(over)}.")
        return holds(measured, f"Less in r: {'; '.join(under)}." if under else "")

    return check


def check_low_rank(records: Records) -> Verdict:
    """Check the exponent in d at full rank, and the exponents in d and r at low rank."""
    full = growth_exponent(records, "vectors", FULL, "d")
    in_d, in_r = (
        {name: growth_exponent(records, "vectors", f"batch {name}", varied) for name in GEOMETRIES} for varied in "dr"
    )
    listed = "; ".join(f"{name} {in_d[name]:.2f} in d, {in_r[name]:.2f} in r" for name in GEOMETRIES)
    measured = f"growth exponents: {full:.2f} in d at full rank (n = 2 d); at low rank {listed}"
    parts = {
        "more than linear in d at low rank": max(in_d.values()) > 1 + SLACK,
        "more than quadratic in r": max(in_r.values()) > 2 + SLACK,
        "more than cubic at full rank": full > 3 + SLACK,
        "less than quadratic at full rank": full < 2,
    }
    wrong = [part for part, true in parts.items() if true]
    if wrong:
        return fails(measured, f"It is {', and '.join(wrong)}.")
    return holds(measured, "Perhaps the cubic part is not yet all at these sizes." if full < 3 - SLACK else "")


#: Why costs may grow less in r than the table says.
THIN, SWEPT = "thin matrix products are perhaps bound by memory", "matrices X are swept once, whatever r is"
WHY = {
    "batch flat": {"vectors": THIN, "matrices": SWEPT},
    "batch polar": {"vectors": "vectors need O(drn + dr² + r³)", "matrices": "matrices O(d²n + d²r)"},
    "online flat": {"vectors": THIN, "matrices": SWEPT},
    "online polar": {"vectors": "vectors need O(drp + dr² + r³)", "matrices": "matrices O(d²p + d²r)"},
}
ALGORITHMS = tuple(WHY)
STATED = {
    "batch flat": ("drn", "d²rn"),
    "batch polar": ("dr²n", "d²r²n"),
    "online flat": ("drp", "d²rp"),
    "online polar": ("dr²p", "d²r²p"),
}
CLAIMS = [
    *(
        Claim(
            f"cost-{algorithm.replace(' ', '-')}",
            "7",
            f"{algorithm.capitalize()} costs O({vector}) for xxᵀ and O({matrix}) for X.",
            make_cost_check(algorithm),
        )
        for algorithm, (vector, matrix) in STATED.items()
    ),
    Claim("cost-linear", "1", "The algorithms maintain a linear complexity in the problem size.", check_linear),
    Claim(
        "cost-low-rank",
        "1",
        "Algorithms based on full-rank matrices scale as O(d³), on low-rank matrices as O(dr²).",
        check_low_rank,
    ),
]
