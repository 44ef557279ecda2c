"""Where methods are after how many seconds: ours and the peers', from the same data and the same start.

A path is a list of (seconds, factor). Peers get cost, gradient and Hessian written by hand, with what they share kept
from one call to the next, so that none of them pays for a product twice.
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
from gramian.solvers import Growing, Solver
from gramian.solvers.loop import Step
from harness.timing import limit_threads

Path = list[tuple[float, np.ndarray]]
Method = Callable[[np.ndarray, np.ndarray, np.ndarray], Path]
Curves = dict[str, list[tuple[np.ndarray, np.ndarray]]]


class TargetReached(Exception):
    """Raised where a peer has nothing left to show."""


@dataclass
class Quadratic:
    """½ mean (‖xᵀG‖² - y)² by hand; remembers the images of the last factor, and when it was asked for gradients."""

    X: np.ndarray
    y: np.ndarray
    enough: float | None = None
    seconds: float = np.inf
    path: Path = field(default_factory=list)
    begin: float = field(default_factory=perf_counter)
    last: np.ndarray | None = None

    def image(self, G: np.ndarray) -> np.ndarray:
        """X G, and the residuals with it."""
        if self.last is None or not np.array_equal(G, self.last):
            self.last, self.Z = G.copy(), self.X @ G
            self.residual = np.einsum("ij,ij->i", self.Z, self.Z) - self.y
        return self.Z

    def cost(self, G: np.ndarray) -> float:
        """The cost."""
        self.image(G)
        return 0.5 * float(self.residual @ self.residual) / len(self.y)

    def gradient(self, G: np.ndarray) -> np.ndarray:
        """The gradient (d, r); notes the time."""
        Z = self.image(G)
        elapsed = perf_counter() - self.begin
        self.path.append((elapsed, G.copy()))
        if elapsed > self.seconds or (self.enough is not None and self.cost(G) <= self.enough):
            raise TargetReached
        return self.X.T @ (self.residual[:, None] * Z) * (2 / len(self.y))

    def hessian(self, G: np.ndarray, D: np.ndarray) -> np.ndarray:
        """The Hessian's product with D (d, r)."""
        Z, T = self.image(G), self.X @ D
        speed = 2 * np.einsum("ij,ij->i", Z, T)
        return self.X.T @ (self.residual[:, None] * T + speed[:, None] * Z) * (2 / len(self.y))


def run_lbfgs(X: np.ndarray, y: np.ndarray, start: np.ndarray, **limits: Any) -> Path:
    """SciPy's L-BFGS on vec(G)."""
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
    """Pymanopt's optimizer of this name, on its fixed-rank quotient or on plain factors."""
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
    """A solver that notes when it arrived where."""

    solver: Solver
    path: Path
    begin: float

    @property
    def patience(self) -> int:  # type: ignore[override]
        """As the solver's."""
        return self.solver.patience

    def start(self, evaluation: Evaluation) -> Any:
        """The solver's start."""
        return self.solver.start(evaluation)

    def step(self, evaluation: Evaluation, memory: Any) -> Step:
        """The solver's step."""
        step = self.solver.step(evaluation, memory)
        self.path.append((perf_counter() - self.begin, step.evaluation.point.G))
        return step


def make_method(solver: Solver, **settings: Any) -> Method:
    """`PSDRegressor.fit` with a solver, from the call to where it stops: validation and choice of start included."""

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
    """Seconds and errors along the path of each method, for repeats in which they take turns."""
    found: Curves = {name: [] for name in methods}
    with limit_threads():
        for _ in range(repeats):
            for name, method in methods.items():
                path = method(*data)
                found[name].append((np.array([s for s, _ in path]), np.array([error(G) for _, G in path])))
    return found


def median_time_to(curves: list[tuple[np.ndarray, np.ndarray]], goal: float) -> float:
    """The median time after which an error is at most the goal; infinite where it never is."""
    firsts = [np.flatnonzero(errors <= goal) for _, errors in curves]
    return float(np.median([s[hit[0]] if hit.size else np.inf for (s, _), hit in zip(curves, firsts, strict=True)]))
