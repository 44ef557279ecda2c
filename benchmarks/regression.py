"""Time to a good fit of y = xᵀWx, beside Pymanopt, SciPy's L-BFGS and the paper's algorithms.

Noisy targets: the time to 1 % above the best test error of any method. Noise-free targets of an ill-conditioned W: the
time to 1e-8 of the cost at W = 0. All start from the same random factor. Draws docs/regression.png.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.paths import Curves, Method, make_method, measure_paths, median_time_to, run_lbfgs, run_pymanopt
from benchmarks.rows import Row, speedup_row
from gramian import PSDRegressor
from gramian.solvers import Armijo, ConjugateGradient, GradientDescent
from harness.timing import print_heading

PICTURE = Path(__file__).parent.parent / "docs" / "regression.png"
OURS = "PSDRegressor"
PAPERS = GradientDescent(Armijo())


def make_methods(enough: float | None, seconds: float, iterations: int, **settings: float) -> dict[str, Method]:
    """Return our method and the peers, by name; peers stop at a cost, or after some seconds or iterations."""
    manifolds = {"": True, ", plain factors": False}
    return {
        OURS: make_method(ConjugateGradient(), **settings),
        "paper: flat, Armijo": make_method(PAPERS, geometry="flat", growing=False, max_iter=iterations, **settings),
        "paper: polar, Armijo": make_method(PAPERS, geometry="polar", growing=False, max_iter=iterations, **settings),
        "SciPy L-BFGS": partial(run_lbfgs, enough=enough, seconds=seconds),
        **{
            f"Pymanopt {short}{where}": partial(run_pymanopt, name, quotient, enough=enough, seconds=seconds)
            for where, quotient in manifolds.items()
            for short, name in (("SD", "SteepestDescent"), ("CG", "ConjugateGradient"), ("TR", "TrustRegions"))
        },
    }


def make_data(n: int, d: int, r: int, condition: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return samples, the factor of W, a random start, and test samples."""
    rng = np.random.default_rng(0)
    X, G, start = rng.standard_normal((n, d)), rng.standard_normal((d, r)), rng.standard_normal((d, r))
    if condition is not None:
        G = np.linalg.qr(G)[0] * np.logspace(0, -0.5 * np.log10(condition), r)
    return X, G, start * (np.linalg.norm(G) / np.linalg.norm(start)), rng.standard_normal((n // 4, d))


def measure_noisy(n: int, d: int, r: int) -> tuple[list[Row], Curves, float]:
    """Measure the time to 1 % above the best test error, with noise of variance 0.01."""
    X, G, start, unseen = make_data(n, d, r, None)
    rng = np.random.default_rng(1)
    y, truth = (np.sum((A @ G) ** 2, axis=1) + 0.1 * rng.standard_normal(len(A)) for A in (X, unseen))

    def error(factor: np.ndarray) -> float:
        return float(np.sqrt(np.mean((np.sum((unseen @ factor) ** 2, axis=1) - truth) ** 2)))

    seconds = 5.0
    curves = measure_paths(make_methods(None, seconds, 300), (X, y, start), error)
    best = min(float(errors.min()) for paths in curves.values() for _, errors in paths)
    return print_times("to 1 % of the best test error", curves, 1.01 * best, seconds, (8, 5, 10)), curves, best


def measure_conditioned(n: int, d: int, r: int, condition: float = 1e4) -> list[Row]:
    """Measure the time to a relative cost of 1e-8, without noise."""
    X, G, start, _ = make_data(n, d, r, condition)
    y = np.sum((X @ G) ** 2, axis=1)
    zero = 0.5 * float(np.mean(y**2))

    def cost(factor: np.ndarray) -> float:
        return 0.5 * float(np.mean((np.sum((X @ factor) ** 2, axis=1) - y) ** 2)) / zero

    seconds = 40.0
    curves = measure_paths(make_methods(1e-8 * zero, seconds, 800), (X, y, start), cost, repeats=1)
    # Those that arrive are timed again, in turns.
    quick = {k: m for k, m in make_methods(1e-8 * zero, seconds, 800).items() if median_time_to(curves[k], 1e-8) < 10}
    for name, paths in measure_paths(quick, (X, y, start), cost, repeats=2).items():
        curves[name] += paths
    return print_times(f"to a cost of 1e-8, cond(W) = {condition:.0e}", curves, 1e-8, seconds, (20, 10, 10))


def print_times(task: str, curves: Curves, goal: float, cap: float, goals: tuple[float, float, float]) -> list[Row]:
    """Print the time of each method to the goal, and return the rows of speedups."""
    times = {name: median_time_to(paths, goal) for name, paths in curves.items()}
    print(f"\n{task}, seconds (and the best error found)")
    for name, paths in curves.items():
        ends = [float(seconds[-1]) for seconds, _ in paths]
        arrived = f"{times[name]:.3f}" if np.isfinite(times[name]) else f"> {np.median(ends):.1f}"
        print(f"{name:32}{arrived:>10}   {min(float(errors.min()) for _, errors in paths):.4g}")
    mine, rows = times[OURS], []
    for beside, start, aim in zip(
        ("Pymanopt's best", "SciPy L-BFGS", "paper: "), ("Pym", "SciPy", "paper"), goals, strict=True
    ):
        group = {name: t for name, t in times.items() if name.startswith(start)}
        for name in group if start == "paper" else [min(group, key=group.__getitem__)]:
            label = beside if start != "paper" else name
            note = f", {name}, {len(curves[name])} run(s)" if start == "Pym" else f", {len(curves[name])} run(s)"
            given = float(np.median([seconds[-1] for seconds, _ in curves[name]]))
            rows.append(speedup_row(f"regression, {task}", label, mine, group[name], aim, min(cap, given), note))
    return rows


def draw_curves(curves: Curves, best: float) -> None:
    """Plot test errors against time, all methods in one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, paths in curves.items():
        seconds, errors = paths[-1]
        style = {"lw": 2.5, "color": "black", "zorder": 3} if name == OURS else {"lw": 1.2}
        dashes = "--" if "plain" in name else (":" if name.startswith("paper") else "-")
        axes.plot(seconds, np.minimum.accumulate(errors), dashes, label=name, **style)
    axes.axhline(1.01 * best, color="grey", lw=0.8)
    axes.set(xscale="log", yscale="log", xlabel="seconds, one BLAS thread", ylabel="test RMSE")
    axes.set_ylim(0.9 * best, None)
    figure.legend(fontsize=7, loc="outside right upper")
    figure.savefig(PICTURE, dpi=130)


def main(n: int = 80000, d: int = 50, r: int = 10) -> list[Row]:
    """Print the tables, plot the curves, and return the rows."""
    print_heading(f"Regression, n={n} d={d} r={r}: seconds from the call to the goal")
    warm = np.random.default_rng(0).standard_normal((6000, 5))
    for geometry in ("scaled", "flat", "polar"):  # kernels are compiled before timing
        PSDRegressor(2, geometry=geometry, random_state=0).fit(warm, np.sum(warm[:, :2] ** 2, axis=1))
    rows, curves, best = measure_noisy(n, d, r)
    draw_curves(curves, best)
    return rows + measure_conditioned(n, d, r)


if __name__ == "__main__":
    main()
