"""Error against time of our solvers and of peers, from the same data and the same start.

A path is a list of (seconds, factor). Peers get a hand-written cost, gradient and Hessian, which reuse the product X G
from one call to the next, so that no peer pays for a product twice.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import scipy.optimize

from gramian import PSDRegressor
from gramian.objective import Evaluation
from gramian.solvers import Growing, Solver, Step
from harness.timing import limit_threads

Path = list[tuple[float, np.ndarray]]
Method = Callable[[np.ndarray, np.ndarray, np.ndarray], Path]
Curves = dict[str, list[tuple[np.ndarray, np.ndarray]]]


class TargetReached(Exception):
    """Raised to stop a peer that has reached its target or its time limit."""


@dataclass
class Quadratic:
    """The cost ½ mean (‖xᵀG‖² - y)² with derivatives; records time and factor at every gradient.

    `clock` tells the time in seconds: by default that of the wall.
    """

    X: np.ndarray
    y: np.ndarray
    enough: float | None = None
    seconds: float = np.inf
    clock: Callable[[], float] = perf_counter
    path: Path = field(default_factory=list)
    last: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.begin = self.clock()

    def image(self, G: np.ndarray) -> np.ndarray:
        """Return X G, and update the residuals."""
        if self.last is None or not np.array_equal(G, self.last):
            self.last, self.Z = G.copy(), self.X @ G
            self.residual = np.einsum("ij,ij->i", self.Z, self.Z) - self.y
        return self.Z

    def cost(self, G: np.ndarray) -> float:
        """Return the cost."""
        self.image(G)
        return 0.5 * float(self.residual @ self.residual) / len(self.y)

    def gradient(self, G: np.ndarray) -> np.ndarray:
        """Return the gradient (d, r), and record the time and the factor."""
        Z = self.image(G)
        elapsed = self.clock() - self.begin
        self.path.append((elapsed, G.copy()))
        if elapsed > self.seconds or (self.enough is not None and self.cost(G) <= self.enough):
            raise TargetReached
        return self.X.T @ (self.residual[:, None] * Z) * (2 / len(self.y))

    def hessian(self, G: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Return the product of the Hessian with D (d, r)."""
        Z, T = self.image(G), self.X @ D
        speed = 2 * np.einsum("ij,ij->i", Z, T)
        return self.X.T @ (self.residual[:, None] * T + speed[:, None] * Z) * (2 / len(self.y))


def run_lbfgs(X: np.ndarray, y: np.ndarray, start: np.ndarray, **limits: Any) -> Path:
    """Return the path of SciPy's L-BFGS on vec(G)."""
    problem = Quadratic(X, y, **limits)

    def both(v: np.ndarray) -> tuple[float, np.ndarray]:
        G = v.reshape(start.shape)
        return problem.cost(G), problem.gradient(G).ravel()

    options = {"maxiter": 10000, "maxfun": 20000, "ftol": 0, "gtol": 0}
    with contextlib.suppress(TargetReached):
        scipy.optimize.minimize(both, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return problem.path


def run_pymanopt(
    optimizer: str, quotient: bool, X: np.ndarray, y: np.ndarray, start: np.ndarray, **limits: Any
) -> Path:
    """Return the path of a Pymanopt optimizer on its fixed-rank quotient, or on plain factors."""
    import pymanopt
    import pymanopt.manifolds
    import pymanopt.optimizers

    shape = start.shape
    manifold = pymanopt.manifolds.PSDFixedRank(*shape) if quotient else pymanopt.manifolds.Euclidean(*shape)
    problem = Quadratic(X, y, **limits)
    wrap = pymanopt.function.numpy(manifold)
    task = pymanopt.Problem(
        manifold,
        wrap(problem.cost),
        euclidean_gradient=wrap(problem.gradient),
        euclidean_hessian=wrap(problem.hessian),
    )
    settings = {"max_time": problem.seconds, "max_iterations": 10**6, "min_gradient_norm": 0, "min_step_size": 0}
    chosen = getattr(pymanopt.optimizers, optimizer)(**settings, verbosity=0)
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(TargetReached):
        # Its searches divide by zero where they arrive at the limit of precision.
        warnings.simplefilter("ignore")
        chosen.run(task, initial_point=start)
    return problem.path


@dataclass(frozen=True)
class RecordingSolver(Solver):
    """A solver that records the time and the factor of every step of another."""

    solver: Solver
    path: Path
    begin: float

    @property
    def patience(self) -> int:  # type: ignore[override]
        """The patience of the recorded solver."""
        return self.solver.patience

    def start(self, evaluation: Evaluation) -> Any:
        """Return the recorded solver's initial memory."""
        return self.solver.start(evaluation)

    def step(self, evaluation: Evaluation, memory: Any) -> Step:
        """Return the recorded solver's step, and record it."""
        step = self.solver.step(evaluation, memory)
        self.path.append((perf_counter() - self.begin, step.evaluation.point.G))
        return step


def make_method(solver: Solver, **settings: Any) -> Method:
    """Return a method that runs `PSDRegressor.fit` with a solver; validation and the choice of a start are timed."""

    def run(X: np.ndarray, y: np.ndarray, start: np.ndarray) -> Path:
        path: Path = []
        # From an array it grows only if told to; by default it has a start of its own.
        chosen = {"init": start, "growing": Growing()} | settings
        model = PSDRegressor(
            start.shape[1], solver=RecordingSolver(solver, path, perf_counter()), random_state=0, **chosen
        )
        with warnings.catch_warnings():
            # Methods that are slow run out of iterations.
            warnings.simplefilter("ignore")
            model.fit(X, y)
        # Inside, the data is in units of its own.
        scale = np.linalg.norm(model.factor_) / np.linalg.norm(path[-1][1])
        return [(seconds, scale * G) for seconds, G in path]

    return run


def measure_paths(
    methods: dict[str, Method],
    data: tuple[np.ndarray, np.ndarray, np.ndarray],
    error: Callable[[np.ndarray], float],
    repeats: int = 3,
) -> Curves:
    """Return seconds and errors along the path of each method, for repeats in which methods take turns."""
    found: Curves = {name: [] for name in methods}
    with limit_threads():
        for _ in range(repeats):
            for name, method in methods.items():
                path = method(*data)
                found[name].append((np.array([s for s, _ in path]), np.array([error(G) for _, G in path])))
    return found


def median_time_to(curves: list[tuple[np.ndarray, np.ndarray]], goal: float) -> float:
    """Return the median seconds until the error is at most the goal; infinity where it never is."""
    firsts = [np.flatnonzero(errors <= goal) for _, errors in curves]
    return float(np.median([s[hit[0]] if hit.size else np.inf for (s, _), hit in zip(curves, firsts, strict=True)]))
