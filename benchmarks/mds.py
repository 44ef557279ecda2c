"""Layouts from dissimilarities: a known layout from half of its distances, and a comparison with scikit-learn's MDS."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.manifold import MDS
from sklearn.metrics import euclidean_distances

from benchmarks.rows import Row, speedup_row
from gramian.estimators._dissimilarities import align
from gramian.estimators.mds import SStressMDS
from harness.timing import median_seconds, print_heading

try:
    from sklearn.manifold import ClassicalMDS
except ImportError:  # scikit-learn below 1.8
    ClassicalMDS = None


def make_layout(n: int, rng: np.random.Generator, noise: float, r: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, r) and their distances (n, n), each multiplied by exp(noise · normal)."""
    points = rng.standard_normal((n, r))
    normal = np.triu(rng.standard_normal((n, n)), 1)
    distances = euclidean_distances(points) * np.exp(noise * (normal + normal.T))
    np.fill_diagonal(distances, 0)
    return points, distances


def hide_half(distances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the matrix with half of its pairs set to NaN."""
    unknown = np.triu(rng.random(distances.shape) < 0.5, 1)
    return np.where(unknown | unknown.T, np.nan, distances)


def layout_error(embedding: np.ndarray, points: np.ndarray) -> float:
    """Return the relative distance to the true layout, up to shifts, rotations and reflections."""
    return float(np.linalg.norm(align(embedding, points) - points) / np.linalg.norm(points - points.mean(axis=0)))


def distance_errors(embedding: np.ndarray, distances: np.ndarray) -> tuple[float, float]:
    """Return the relative error of the distances, √(Σ(d - δ)²/Σδ²), and that of the squared distances, the SSTRESS."""
    found = euclidean_distances(embedding)
    plain = np.linalg.norm(found - distances) / np.linalg.norm(distances)
    return float(plain), float(np.linalg.norm(found**2 - distances**2) / np.linalg.norm(distances**2))


def make_embedders(r: int) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return, by name, functions that embed a complete matrix.

    scikit-learn's MDS runs with the initialisation that is its default now, and with that of 1.10.
    """
    methods: dict[str, Callable[[np.ndarray], np.ndarray]] = {"SStressMDS": SStressMDS(r).fit_transform}
    for init in ("random", "classical_mds"):
        smacof = MDS(r, metric="precomputed", n_init=1, init=init, random_state=0)
        methods[f"MDS (SMACOF), init={init}"] = smacof.fit_transform
    if ClassicalMDS is not None:
        methods["ClassicalMDS"] = ClassicalMDS(r, metric="precomputed").fit_transform
    return methods


def measure_recovery(n: int) -> None:
    """Print how well half of an exact matrix recovers the layout."""
    print_heading(f"Planted 2-D layout from half of an exact {n} x {n} matrix")
    rng = np.random.default_rng(0)
    points, distances = make_layout(n, rng, 0.0)
    known, model = hide_half(distances, rng), SStressMDS()
    seconds = median_seconds({"fit": lambda: model.fit(known)}, repeats=3)["fit"]
    error = layout_error(model.embedding_, points)
    print(f"{model.n_iter_} iterations, {seconds:.2f} s, stress {model.stress_:.1e}, layout error {error:.1e}")


def compare_embedders(n: int, noise: float, r: int = 2) -> dict[str, tuple[float, float]]:
    """Print a comparison on a complete matrix, and return seconds and distance error by method."""
    print_heading(f"Complete {n} x {n} matrix of {r}-D points, distances with {100 * noise:.0f} % noise")
    points, distances = make_layout(n, np.random.default_rng(1), noise, r)
    methods, found = make_embedders(r), {}

    def run(name: str) -> None:
        found[name] = methods[name](distances)

    seconds = median_seconds({name: partial(run, name) for name in methods}, repeats=3)
    print(f"{'':36}{'seconds':>9}{'times':>8}{'distance error':>16}{'SSTRESS error':>15}{'layout error':>14}")
    kept = {}
    for name, embedding in found.items():
        plain, squared = distance_errors(embedding, distances)
        row = f"{name:36}{seconds[name]:9.2f}{seconds[name] / seconds['SStressMDS']:8.1f}{plain:16.3e}{squared:15.3e}"
        print(f"{row}{layout_error(embedding, points):14.1e}")
        kept[name] = seconds[name], plain
    return kept


def main(n: int = 2000) -> list[Row]:
    """Print the tables, and return the rows of speedups; `median_seconds` warms the kernels and fixes the threads."""
    measure_recovery(n)
    exact = compare_embedders(n, 0.0, r=5)
    compare_embedders(n, 0.1)
    ours, error = exact["SStressMDS"]
    goals = {"MDS (SMACOF), init=random": 15, "MDS (SMACOF), init=classical_mds": 1}
    # A faster end at a larger error would be no match.
    return [
        speedup_row(
            f"MDS, n={n}, exact rank-5 distances",
            name,
            ours if error <= max(exact[name][1], 1e-12) else np.inf,
            exact[name][0],
            goal,
        )
        for name, goal in goals.items()
    ]


if __name__ == "__main__":
    main()
