"""Distances from continuous targets: kernel regression and triplets of targets beside MLKR, PCA and Euclid.

`python -m benchmarks.targets` prints R² of nearest neighbours on held-out samples, the mean over three folds. MLKR is
that of Weinberger and Tesauro (2007), written here in NumPy: leave-one-out kernel regression, minimised by L-BFGS from
principal components.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner
from harness.tables import text_table

RANKS = (2, 5, None)
NEIGHBOURS = 10


class Samples(NamedTuple):
    """Standardised samples (n, d) and their targets (n,)."""

    X: np.ndarray
    y: np.ndarray


def planted(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Samples:
    """Return 600 samples whose target is a function of the first two of 20 features, with a little noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 20))
    return Samples(X, function(X[:, 0], X[:, 1]) + 0.1 * rng.standard_normal(600))


def sine_and_square(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return sin 2a + b²."""
    return np.sin(2 * a) + b**2


def rings(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sine of twice the distance from the origin."""
    return np.sin(2 * np.hypot(a, b))


def sets() -> dict[str, Samples]:
    """Return the data by name."""
    X, y = load_diabetes(return_X_y=True)
    return {
        "diabetes": Samples(StandardScaler().fit_transform(X), y),
        "product": planted(np.multiply),
        "sine and square": planted(sine_and_square),
        "rings": planted(rings),
    }


def mlkr_cost(flat: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean squared leave-one-out error of kernel regression and its gradient, in a factor (d, r)."""
    n, d = X.shape
    G = flat.reshape(d, -1)
    Z = X @ G
    squares = np.sum(Z**2, axis=1)
    distance = squares[:, None] + squares - 2 * Z @ Z.T
    np.fill_diagonal(distance, np.inf)
    q = np.exp(distance.min(axis=1, keepdims=True) - distance)
    q /= q.sum(axis=1, keepdims=True)
    predicted = q @ y
    slopes = -2 * (predicted - y)[:, None] * q * (y - predicted[:, None]) / n
    slopes = slopes + slopes.T
    gradient = 2 * X.T @ (slopes.sum(axis=1)[:, None] * Z - slopes @ Z)
    return float(np.mean((predicted - y) ** 2)), gradient.ravel()


def fit_mlkr(X: np.ndarray, y: np.ndarray, rank: int | None) -> np.ndarray:
    """Return the factor (d, r) of MLKR."""
    start = PCA(rank).fit(X).components_.T
    y = (y - y.mean()) / y.std()
    found = minimize(mlkr_cost, start.ravel(), (X, y), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return found.x.reshape(start.shape)


def triplets_of_targets(y: np.ndarray, count: int = 20_000) -> np.ndarray:
    """Return random triplets (m, 3) of a near and a far target, by half a standard deviation."""
    rng = np.random.default_rng(0)
    triplets = rng.integers(len(y), size=(count, 3))
    near, far = (np.abs(y[triplets[:, 0]] - y[triplets[:, side]]) for side in (1, 2))
    triplets[near > far] = triplets[near > far][:, [0, 2, 1]]
    different = (triplets[:, 0] != triplets[:, 1]) & (triplets[:, 0] != triplets[:, 2])
    return triplets[different & (np.abs(near - far) > 0.5 * y.std())]


def factors(X: np.ndarray, y: np.ndarray, rank: int | None) -> dict[str, Callable[[], Any]]:
    """Return the ways to learn a factor (d, r), by name."""
    learner = MetricLearner(rank, random_state=0)
    return {
        "targets": lambda: learner.fit_targets(X, y).factor_,
        "triplets": lambda: learner.fit_triplets(X, triplets_of_targets(y)).factor_,
        "MLKR": lambda: fit_mlkr(X, y, rank),
        "PCA": lambda: PCA(rank).fit(X).components_.T,
        "Euclid": lambda: np.eye(X.shape[1]),
    }


def measure(samples: Samples, rank: int | None) -> tuple[dict[str, float], dict[str, float]]:
    """Return R² on held-out samples and the seconds of a fit, by name: means over three folds."""
    X, y = samples
    scores: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        for name, learn in factors(X[train], y[train], rank).items():
            begin = perf_counter()
            G = learn()
            seconds.setdefault(name, []).append(perf_counter() - begin)
            neighbours = KNeighborsRegressor(NEIGHBOURS).fit(X[train] @ G, y[train])
            scores.setdefault(name, []).append(neighbours.score(X[test] @ G, y[test]))
    return tuple({name: float(np.mean(values)) for name, values in table.items()} for table in (scores, seconds))


def main() -> list[Row]:
    """Print R² and seconds; return rows that compare targets with MLKR and the best of the others."""
    rows, cells, names = [], [], ["targets", "triplets", "MLKR", "PCA", "Euclid"]
    with run_quietly():
        for name, samples in sets().items():
            for rank in RANKS:
                scores, seconds = measure(samples, rank)
                title = f"{name}, {'full rank' if rank is None else f'rank {rank}'}"
                spent = [f"{seconds[each]:.2f}" for each in ("targets", "MLKR")]
                cells.append([title, *(f"{scores[each]:.3f}" for each in names), *spent])
                others = max(value for each, value in scores.items() if each != "targets")
                detail = f"R² {scores['targets']:.3f} against {others:.3f}"
                rows.append(
                    Row(f"targets: {title}", "best of others, R²", scores["targets"] - others, -0.02, detail=detail)
                )
    print(f"R² of {NEIGHBOURS} nearest neighbours, three folds; seconds of a fit")
    print(text_table(["data", *names, "targets s", "MLKR s"], cells))
    return rows


if __name__ == "__main__":
    main()
