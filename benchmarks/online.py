"""One epoch of compiled online descent beside the same epoch as a loop of NumPy calls."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from benchmarks.rows import Row
from gramian import Block, Problem, Term
from gramian.features import Array
from gramian.geometries import Flat, Polar, Scaled
from gramian.measurements import Each
from gramian.solvers.online import descend
from harness.timing import median_seconds, print_heading


def numpy_flat(X: np.ndarray, y: np.ndarray, G: np.ndarray, p: int, steps: np.ndarray) -> np.ndarray:
    """Return the factor after one epoch of flat mini-batch descent, in NumPy."""
    for batch, s in enumerate(steps):
        rows = X[batch * p : (batch + 1) * p]
        Z = rows @ G
        error = np.einsum("ij,ij->i", Z, Z) - y[batch * p : (batch + 1) * p]
        G = G - (2 * s / len(rows)) * (rows.T @ (error[:, None] * Z))
    return G


def numpy_polar(X: np.ndarray, y: np.ndarray, G: np.ndarray, p: int, steps: np.ndarray) -> np.ndarray:
    """Return the factor after one epoch of polar mini-batch descent, in NumPy with a QR step as in the paper."""
    U, R = np.linalg.qr(G)
    for batch, s in enumerate(steps):
        rows = X[batch * p : (batch + 1) * p]
        V = rows @ U
        Z = V @ R
        error = (np.einsum("ij,ij->i", Z, Z) - y[batch * p : (batch + 1) * p]) / len(rows)
        MU = rows.T @ (error[:, None] * V)
        N = U.T @ MU
        U, upper = np.linalg.qr(U - s * (MU - U @ N) @ (R @ R.T))
        U = U * np.sign(np.diag(upper))
        R = R @ scipy.linalg.expm(-0.25 * s * (R.T @ N @ R))
    return U @ R


def main(n: int = 80000, d: int = 50, r: int = 10) -> list[Row]:
    """Print the table, and return its rows."""
    print_heading(f"One online epoch, n={n} d={d} r={r} (goal, p=1: flat 20 times NumPy; polar at most 3 times flat)")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    truth = rng.standard_normal((d, r)) / d**0.5
    y = np.sum((X @ truth) ** 2, axis=1)
    start = rng.standard_normal((d, r)) / d**0.5
    problem = Problem([Block(Array(X), [Term(Each(n), y)])])
    order = np.arange(n)
    columns = {"flat": 12, "NumPy flat": 12, "times": 8, "polar": 12, "NumPy polar": 12, "times ": 8, "polar/flat": 12}
    print(" " * 8 + "".join(f"{name:>{width}}" for name, width in columns.items()))
    rows = []
    for p in (1, 32, 256):
        steps = np.full(-(-n // p), 1e-4 if p == 1 else 1e-3)
        geometries = (Flat(), Scaled(), Scaled(X.T @ X / n), Polar())
        flat, scaled, whitened, polar = (geometry.point(start) for geometry in geometries)
        times = median_seconds(
            {
                "flat": lambda f=flat, p=p, s=steps: descend(problem, f, order, p, s),
                "NumPy flat": lambda p=p, s=steps: numpy_flat(X, y, start, p, s),
                "scaled": lambda q=scaled, p=p, s=steps: descend(problem, q, order, p, s),
                "whitened": lambda q=whitened, p=p, s=steps: descend(problem, q, order, p, s),
                "polar": lambda q=polar, p=p, s=steps: descend(problem, q, order, p, s),
                "NumPy polar": lambda p=p, s=steps: numpy_polar(X, y, start, p, s),
            },
            repeats=3,
        )
        print(
            f"p = {p:<4}{times['flat']:11.3f}s{times['NumPy flat']:11.3f}s{times['NumPy flat'] / times['flat']:8.1f}"
            f"{times['polar']:11.3f}s{times['NumPy polar']:11.3f}s{times['NumPy polar'] / times['polar']:8.1f}"
            f"{times['polar'] / times['flat']:12.2f}"
        )
        rate = n * (4 * d * r) / times["flat"] / 1e9
        print(
            f"        flat at {rate:.1f} Gflop/s of its 4 d r flops a sample; scaled in {times['scaled']:.3f}s,"
            f" with a moment in {times['whitened']:.3f}s"
        )
        if p == 1:
            rows.append(Row("online epoch, p=1, flat", "Gflop/s of its 4 d r flops a sample", rate, 2))
            for name, more in (("scaled", 0), ("whitened", 2 * d * d)):
                rate = n * (4 * d * r + r**3 / 3 + more) / times[name] / 1e9
                rows.append(Row(f"online epoch, p=1, {name}", "Gflop/s of its flops a sample", rate, 2))
            rows.append(Row("online epoch, p=1, polar", "flat", times["polar"] / times["flat"], 3, at_most=True))
    return rows


if __name__ == "__main__":
    main()
