"""Properties of LMNN: the objective with all triplets enumerated, its minimum, and what must not change it."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from gramian.baselines import LMNN
from gramian.baselines.lmnn import WIDTHS
from gramian.supervision import nearest_triplets
from harness.properties.baselines_pairs import require_distance
from harness.properties.case import Draw, call, property_of, require, require_close
from harness.properties.strategies import Given, Samples, draw_labels, draw_samples

__all__: list[str] = []


class Labelled(NamedTuple):
    """Samples with class labels."""

    samples: Samples
    labels: Given


def draw_labelled(draw: Draw, sizes: tuple[int, ...], *, wild: float) -> Labelled:
    """Return labelled samples of one of the sizes."""
    n, d = draw.choice(sizes), draw.integer(1, 5)
    samples = draw_samples(draw, n, d, sparse=wild > 0 and draw.flag(0.1), wild=wild, broken=0.03 if wild else 0.0)
    return Labelled(samples, draw_labels(draw, n, wild=0.3 if wild else 0.0))


def fit(draw: Draw, model: LMNN, data: Labelled, *, legal: bool) -> LMNN:
    """Return the model, fitted to the samples as given."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        call(draw, model.fit, data.samples.X, data.labels.given, legal=legal)
    require(not (data.samples.broken or data.labels.broken), "X or y that are not valid were accepted")
    return model


def target_pairs(data: Labelled, k: int) -> np.ndarray | None:
    """Return the target pairs (m, 2), checked against all distances; None if ties leave a choice."""
    X, labels = data.samples.values, data.labels.values
    targets = np.unique(nearest_triplets(X, labels, n_targets=k, n_impostors=1)[:, :2], axis=0)
    spread = X - X.mean(axis=0)
    rounding = 1e-12 * float(np.sum(spread**2)) + 1e-30 * float(np.sum(X**2))
    for i in range(len(X)):
        own = np.flatnonzero((labels == labels[i]) & (np.arange(len(X)) != i))
        chosen = targets[targets[:, 0] == i, 1]
        distances = np.sum((X - X[i]) ** 2, axis=1)
        require(len(chosen) == min(k, len(own)), f"sample {i} has {len(chosen)} targets of {len(own)}")
        ordered = np.sort(distances[own])
        require_close("distances of targets", np.sort(distances[chosen]), ordered[: len(chosen)], 1.0, rounding)
        if len(own) > k and ordered[k] - ordered[k - 1] <= 10 * rounding:
            return None
    return targets


def explicit_objective(data: Labelled, targets: np.ndarray, W: np.ndarray, mu: float, width: float = 0.0) -> float:
    """Return the objective of W (d, d), one triplet at a time; the kink of the hinge may be smoothed over a width."""
    X, labels = data.samples.values, data.labels.values
    total = 0.0
    for i, j in targets:
        near = float((X[i] - X[j]) @ W @ (X[i] - X[j]))
        total += (1 - mu) * near
        for other in np.flatnonzero(labels != labels[i]):
            far = float((X[i] - X[other]) @ W @ (X[i] - X[other]))
            excess = max(0.0, 1 + near - far)
            total += mu * (excess**2 / (2 * width) if excess < width else excess - width / 2)
    return total


@property_of("lmnn: fits of all kinds")
def check_fit(draw: Draw) -> None:
    """A fit is refused or gives a distance whose objective is that of all triplets."""
    data = draw_labelled(draw, (1, 2, 3, 6, 14), wild=0.5)
    d = data.samples.values.shape[1]
    settings = {
        "n_components": draw.choice([None, 1, d, d + 1]),
        "n_neighbors": draw.choice([3, 1, 20]),
        "mu": draw.choice([0.5, 0.1, 0.9]),
        "n_impostors": draw.choice([10, 1]),
        "max_iter": draw.choice([50, 1, 4]),
        "n_jobs": draw.choice([None, None, 1, 2]),
    }
    draw.note(**settings)
    model = fit(draw, LMNN(**settings), data, legal=False)
    require_distance(model, data.samples)
    spread = float(np.ptp(data.samples.values, axis=0).max())
    if 1e-100 < spread < 1e100 and np.abs(data.samples.values).max() < 1e6 * spread:
        targets = target_pairs(data, model.n_neighbors)
        if targets is None:
            return
        wanted = explicit_objective(data, targets, model.get_mahalanobis_matrix(), model.mu)
        mapped = float(np.sum((data.samples.values - data.samples.values.mean(axis=0)) ** 2))
        rounding = 1e-12 * len(targets) * float(np.sum(model.components_**2)) * mapped
        require_close("objective_", model.objective_, wanted, 1e-6, wanted + 1e6 * rounding)


@property_of("lmnn: the minimum")
def check_minimum(draw: Draw) -> None:
    """At full rank no matrix on a line to another one has a smoothed objective below that of a converged fit."""
    data = draw_labelled(draw, (6, 9, 12), wild=0.0)
    model = fit(draw, LMNN(n_neighbors=draw.choice([3, 1]), mu=draw.choice([0.5, 0.2]), tol=1e-5), data, legal=True)
    X, W = data.samples.values, model.get_mahalanobis_matrix()
    targets = target_pairs(data, model.n_neighbors)
    if targets is None or not model.converged_:
        return
    # Separable classes have an objective of 0.
    small = 1e-5 * explicit_objective(data, targets, 0 * W, model.mu)
    least = explicit_objective(data, targets, W, model.mu, WIDTHS[-1])
    for other in (0 * W, np.eye(X.shape[1]), 2 * W, np.linalg.pinv(np.atleast_2d(np.cov(X.T)))):
        for share in (1.0, 0.1, 0.01):
            value = explicit_objective(data, targets, (1 - share) * W + share * other, model.mu, WIDTHS[-1])
            require(least <= value + 5e-3 * least + small, f"the objective is {least:.6g}, but {value:.6g} nearby")


@property_of("lmnn: units")
def check_units(draw: Draw) -> None:
    """Samples times a power of two have the same objective, and components divided by it; threads change no bit."""
    data = draw_labelled(draw, (6, 10), wild=0.0)
    d = data.samples.values.shape[1]
    model = LMNN(draw.choice([None, 1, d]), max_iter=draw.choice([1, 2]), n_jobs=1)
    fit(draw, model, data, legal=True)
    threaded = clone(model).set_params(n_jobs=2).fit(data.samples.X, data.labels.given)
    require(np.array_equal(threaded.components_, model.components_), "two threads give other bits than one")
    exponent = draw.choice([1, -3, 30, -30, 300])
    other = clone(model).fit(np.ldexp(data.samples.values, exponent), data.labels.given)
    require_close("the objective in other units", other.objective_, model.objective_, 1e-6)
    require_close("components_ in other units", np.ldexp(other.components_, exponent), model.components_, 1e-5)
