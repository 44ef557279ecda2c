"""What a change of coordinates or of units does to the algorithms.

Each algorithm runs on some data and on the same data changed, from starts that correspond; then the second path is
changed back. If the algorithm does not see the change, the paths are one. The deviation is the largest of
‖W' - W‖/‖W‖ over all iterations (or epochs), W' changed back: rounding, or a tenth and more.

Algorithms are the paper's, with its Armijo rule from the first trial step 100/‖gradient‖ (its sign mended), and its
online steps s/μ. Data have features of standard deviation 1 to 0.1, and y = xᵀWx (1 + ν), ν of variance 0.01.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from experiments.experiment import Claim, Records, Verdict, fails, holds, in_part
from gramian import Block, Problem, Term
from gramian.features import Array
from gramian.geometries import Flat, Geometry, Polar
from gramian.measurements import Each
from gramian.solvers import Armijo, GradientDescent, Online, Solver
from harness.progress import Progress

CAVEATS = (
    "Whitening is no rotation, and (X, y) -> (μX, μy) changes only the unit of the cost. The scaling that matters is "
    "(X, μy), whose solution is μW.",
)


@dataclass(frozen=True)
class Config:
    """Settings: data (n, d), the rank of W, the length of the paths, the scale μ, and seeds."""

    n: int = 400
    d: int = 10
    rank: int = 3
    iterations: int = 20
    epochs: int = 3
    scale: float = 10.0
    seeds: int = 5


QUICK = Config(n=100, d=5, rank=2, iterations=4, epochs=1, seeds=1)
PAPER = Config()

#: Paths that deviate by less are taken to be one: rounding, grown over the iterations.
ROUNDING = 1e-8
WITHOUT_UNITS = "batch flat, steps without units"
PAPER_SOLVER = GradientDescent(Armijo(growth=None))
ONLINE = Online(batch_size=1, step_size=0.1, delay=1.0)
#: Name: geometry, whether of full rank, solver.
ALGORITHMS: dict[str, tuple[Geometry, bool, Solver]] = {
    "batch flat": (Flat(), False, PAPER_SOLVER),
    "batch flat, r = d": (Flat(), True, PAPER_SOLVER),
    "batch polar": (Polar(), False, PAPER_SOLVER),
    "batch polar, r = d": (Polar(), True, PAPER_SOLVER),
    "online flat": (Flat(), False, ONLINE),
    "online flat, r = d": (Flat(), True, ONLINE),
    "online polar": (Polar(), False, ONLINE),
    "online polar, r = d": (Polar(), True, ONLINE),
    WITHOUT_UNITS: (Flat(), False, GradientDescent(Armijo(initial=None))),
}
FLAT = [name for name in ALGORITHMS if "flat" in name and name != WITHOUT_UNITS]
POLAR = [name for name in ALGORITHMS if "polar" in name]


class Change(NamedTuple):
    """A change of data: X becomes X A, y becomes scale · y, and the start becomes `start` times itself.

    `back` maps the factors of the changed problem to those of the original one.
    """

    A: np.ndarray
    scale: float
    start: np.ndarray
    back: np.ndarray


def rotate(X: np.ndarray, scale: float, rng: np.random.Generator) -> Change:
    """Return a change of coordinates by a random orthogonal matrix."""
    Q = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
    return Change(Q, 1.0, Q.T, Q)


def whiten(X: np.ndarray, scale: float, rng: np.random.Generator) -> Change:
    """Return the change to coordinates in which the second moment of X is the identity."""
    values, vectors = np.linalg.eigh(X.T @ X / len(X))
    A, inverse = ((vectors * values**power) @ vectors.T for power in (-0.5, 0.5))
    return Change(A, 1.0, inverse, A)


def scale_targets(X: np.ndarray, scale: float, rng: np.random.Generator) -> Change:
    """Return the change of y to other units; the solution W is scaled too."""
    eye = np.eye(X.shape[1])
    return Change(eye, scale, scale**0.5 * eye, scale**-0.5 * eye)


def scale_both(X: np.ndarray, scale: float, rng: np.random.Generator) -> Change:
    """Return the change of xxᵀ and y to other units; the solution W stays."""
    eye = np.eye(X.shape[1])
    return Change(scale**0.5 * eye, scale, eye, eye)


CHANGES: dict[str, Callable[[np.ndarray, float, np.random.Generator], Change]] = {
    "rotation": rotate,
    "whitening": whiten,
    "(X, μy)": scale_targets,
    "(μX, μy)": scale_both,
}


def run(config: Config, progress: Progress) -> Records:
    """Return a row per seed, algorithm and change: the deviation between the two paths."""
    cases = product(range(config.seeds), ALGORITHMS, CHANGES)
    return progress.rows(cases, lambda case: measure_deviation(config, *case))


def measure_deviation(config: Config, seed: int, algorithm: str, change: str) -> dict[str, Any]:
    """Return the row of one algorithm under one change."""
    geometry, full, solver = ALGORITHMS[algorithm]
    length = config.iterations if solver.stops else config.epochs
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((config.n, config.d)) * np.logspace(0, -1, config.d)
    truth = rng.standard_normal((config.d, config.rank))
    y = np.sum((X @ truth) ** 2, axis=1) * (1 + 0.1 * rng.standard_normal(config.n))
    start = rng.standard_normal((config.d, config.d if full else config.rank))
    done = CHANGES[change](X, config.scale, rng)
    plain = run_algorithm(X, y, start, geometry, solver, length)
    changed = run_algorithm(X @ done.A, done.scale * y, done.start @ start, geometry, solver, length)
    deviation = max(relative_distance(G, done.back @ H) for G, H in zip(plain, changed, strict=True))
    return {"seed": seed, "algorithm": algorithm, "change": change, "deviation": deviation, "length": length}


def run_algorithm(
    X: np.ndarray, y: np.ndarray, start: np.ndarray, geometry: Geometry, solver: Solver, length: int
) -> list[np.ndarray]:
    """Return the factors after each iteration, or each epoch, of an algorithm."""
    evaluation = Problem([Block(Array(X), [Term(Each(len(y)), y)])]).evaluate(geometry.point(start))
    memory, factors = solver.start(evaluation), []
    for _ in range(length):
        evaluation, _, memory = solver.step(evaluation, memory)
        factors.append(evaluation.point.G)
    return factors


def relative_distance(G: np.ndarray, H: np.ndarray) -> float:
    """Return ‖HHᵀ - GGᵀ‖/‖GGᵀ‖."""
    return float(np.linalg.norm(H @ H.T - G @ G.T) / np.linalg.norm(G @ G.T))


def plot(records: Records) -> Any:
    """Plot the deviations, a panel per change and a line per algorithm."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    names = list(ALGORITHMS)[::-1]
    for axes, change in zip(figure.subplots(1, len(CHANGES), sharey=True), CHANGES, strict=True):
        axes.axvspan(1e-17, ROUNDING, color="0.93")
        rows = [row for row in records if row["change"] == change]
        heights = [names.index(row["algorithm"]) for row in rows]
        colours = ["C0" if row["algorithm"] in POLAR else "C1" for row in rows]
        axes.scatter([max(row["deviation"], 1e-16) for row in rows], heights, c=colours, s=16)
        axes.set(title=change, xscale="log", xlim=(1e-17, 1e2), yticks=range(len(names)), yticklabels=names)
        axes.set_xticks([1e-16, 1e-8, 1])
    figure.supxlabel("deviation of the paths (grey: rounding)", fontsize=10)
    return figure


def deviation_range(records: Records, change: str, algorithms: list[str]) -> tuple[float, float]:
    """Return the least and the largest deviation of some algorithms under a change."""
    chosen = [row["deviation"] for row in records if row["change"] == change and row["algorithm"] in algorithms]
    return min(chosen), max(chosen)


def judge_deviation(deviation: float, measured: str, why: str = "") -> Verdict:
    """Return the verdict that two paths agree up to rounding."""
    return holds(measured, why) if deviation < ROUNDING else fails(measured, "A path changes by more than rounding.")


def check_rotation(records: Records) -> Verdict:
    """Check all algorithms under rotation."""
    _, worst = deviation_range(records, "rotation", FLAT + POLAR)
    return judge_deviation(worst, f"deviation at most {worst:.0e} for all algorithms")


def check_whitening(records: Records) -> Verdict:
    """Check all algorithms under whitening, and list those that are invariant."""
    whole = [name for name in POLAR if "r = d" in name]
    _, worst = deviation_range(records, "whitening", whole)
    others = deviation_range(records, "whitening", [name for name in FLAT + POLAR if name not in whole])
    measured = f"polar with r = d: at most {worst:.0e}; all others: {others[0]:.0e} to {others[1]:.0e}"
    unmoved = [name for name in FLAT + POLAR if deviation_range(records, "whitening", [name])[1] < ROUNDING]
    if not unmoved or len(unmoved) == len(FLAT + POLAR):
        return judge_deviation(max(worst, others[1]), measured)
    if unmoved == whole:
        return in_part(measured, "Whitening is not orthogonal: only the affine-invariant metric does not see it.")
    return in_part(measured, f"It is not seen by {'; '.join(unmoved)} alone.")


def check_scaling(records: Records) -> Verdict:
    """Check the polar algorithms when the targets are scaled."""
    _, polar = deviation_range(records, "(X, μy)", POLAR)
    flat, _ = deviation_range(records, "(X, μy)", FLAT)
    _, free = deviation_range(records, "(X, μy)", [WITHOUT_UNITS])
    measured = f"polar at most {polar:.0e}; flat at least {flat:.0e}, and {free:.0e} with steps that have no units"
    why = "Measured as (X, μy) against μW."
    if flat > ROUNDING > free:
        why += " Flat falls short by the paper's steps alone, which are of a fixed length."
    return judge_deviation(polar, measured, why)


def check_units(records: Records) -> Verdict:
    """Check the polar algorithms when data and targets are scaled, with the flat ones for comparison."""
    _, polar = deviation_range(records, "(μX, μy)", POLAR)
    _, flat = deviation_range(records, "(μX, μy)", FLAT)
    why = "Trivially: W stays as it is and the cost is multiplied by μ²."
    why += " It holds for flat as well." if flat < ROUNDING else ""
    return judge_deviation(polar, f"polar at most {polar:.0e}; flat at most {flat:.0e}", why)


CLAIMS = [
    Claim(
        "invariance-rotation",
        "7.2",
        "The algorithms are invariant with respect to rotations W -> OᵀWO.",
        check_rotation,
    ),
    Claim(
        "invariance-whitening",
        "7.2",
        "A rotation of the input, for instance a whitening of the vectors, will not affect the algorithms.",
        check_whitening,
    ),
    Claim(
        "invariance-scaling",
        "7.2",
        "The polar algorithms are invariant with respect to scalings W -> μW, μ > 0.",
        check_scaling,
    ),
    Claim(
        "invariance-units",
        "7.2",
        "So a scaling of the data (X, y) -> (μX, μy), such as a change of units, will not affect the polar algorithms.",
        check_units,
    ),
]
