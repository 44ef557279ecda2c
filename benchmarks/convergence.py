"""Iterations, passes over the data and seconds to f/f₀ < 1e-12 on noise-free data, by conditioning of W."""

from __future__ import annotations

import numpy as np

from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import Block, Problem, Term, minimize
from gramian.features import Array
from gramian.geometries import Flat, Geometry, Polar, Scaled
from gramian.measurements import Each
from gramian.solvers import Armijo, ConjugateGradient, Exact, GradientDescent, Solver, TrustRegion
from harness.timing import print_heading

METHODS: dict[str, tuple[Geometry, Solver]] = {
    "flat, Armijo (the paper's)": (Flat(), GradientDescent(Armijo())),
    "polar, Armijo (the paper's)": (Polar(), GradientDescent(Armijo())),
    "flat, exact search": (Flat(), GradientDescent(Exact())),
    "flat CG": (Flat(), ConjugateGradient()),
    "polar CG": (Polar(), ConjugateGradient()),
    "scaled, exact search": (Scaled(), GradientDescent(Exact())),
    "scaled CG (the default)": (Scaled(), ConjugateGradient()),
    "scaled trust region, Gauss-Newton": (Scaled(), TrustRegion()),
    "scaled trust region, Newton": (Scaled(), TrustRegion("newton")),
}


def make_problem(condition: float | None, n: int, d: int, r: int) -> tuple[Problem, np.ndarray]:
    """Return a noise-free problem of a W with this condition number, None for a normal factor; and a random start."""
    rng = np.random.default_rng(0)
    X, G, start = rng.standard_normal((n, d)), rng.standard_normal((d, r)), rng.standard_normal((d, r))
    if condition is not None:
        G = np.linalg.qr(G)[0] * np.logspace(0, -0.5 * np.log10(condition), r)
    start *= np.linalg.norm(G) / np.linalg.norm(start)
    return Problem([Block(Array(X), [Term(Each(n), np.sum((X @ G) ** 2, axis=1))])]), start


@run_quietly()
def main(n: int = 5000, d: int = 50, r: int = 10, cap: int = 1500) -> list[Row]:
    """Print the table; there are no goals."""
    print_heading(f"Iterations / passes / seconds to f/f0 < 1e-12, n={n} d={d} r={r}, at most {cap} iterations")
    conditions = {"normal": None, "1e2": 1e2, "1e4": 1e4}
    print(f"{'condition of W':36}" + "".join(f"{name:>24}" for name in conditions))
    for name, (geometry, solver) in METHODS.items():
        cells = []
        for condition in conditions.values():
            problem, start = make_problem(condition, n, d, r)
            history = minimize(problem, solver, geometry.point(start), max_iter=cap, tol=1e-14).history
            reached = np.flatnonzero(history["cost"] < 1e-12 * history["cost"][0])
            if reached.size:
                i = reached[0]
                cells.append(f"{i} / {history['passes'][i]:.0f} / {history['time'][i]:.2f}")
            else:
                cells.append(f"> {len(history['cost']) - 1}")
        print(f"{name:36}" + "".join(f"{cell:>24}" for cell in cells))
    return []


if __name__ == "__main__":
    main()
