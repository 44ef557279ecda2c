"""Properties of `KernelLearner`: costs from explicit sums over pairs, maps from explicit centred kernels."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels

from gramian import KernelLearner
from harness.properties.case import Draw, call, property_of, require, require_close, require_finite
from harness.properties.references import judge, pair_squares
from harness.properties.strategies import Samples, draw_labels, draw_pairs, draw_samples, draw_sense, draw_weight

__all__: list[str] = []

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed")


def draw_model(draw: Draw, n: int, **fixed: Any) -> KernelLearner:
    """Return a learner with drawn settings."""
    geometry = draw.choice(["flat", "scaled", "polar"])
    settings = {
        "rank": draw.integer(1, min(n, 4)),
        "kernel": draw.choice(KERNELS),
        "gamma": draw.choice([None, 0.5]),
        "center": draw.flag(0.7),
        "alpha": draw.choice([0.25, 0.0, 1.0]),
        "n_pairs": draw.choice([None, 1, 25]),
        "geometry": geometry,
        "solver": draw.choice(["cg", "lbfgs", "gd", "trust-region", "online"]),
        "init": draw.choice(["kernel", "identity", "random"]),
        "ridge": draw.choice([0.0, 0.01]),
        "max_iter": draw.choice([0, 1, 5, 40]),
        "tol": draw.choice([1e-5, 0.0]),
        "n_epochs": 1,
        "n_jobs": draw.choice([None, None, 1, 2]),
        "random_state": draw.integer(0, 9),
    }
    draw.note(**settings | fixed)
    return KernelLearner(**settings | fixed)


def explicit_kernel(model: KernelLearner, X: np.ndarray) -> np.ndarray:
    """Return the kernel (n, n) of samples, or X itself if it is one, by scikit-learn."""
    if model.kernel == "precomputed":
        return X
    settings = {"gamma": model.gamma, "degree": model.degree, "coef0": model.coef0, "filter_params": True}
    return pairwise_kernels(X, metric=model.kernel, **settings)


def as_kernel(samples: Samples) -> Samples:
    """Return samples that are a kernel (n, n) of the drawn ones."""
    with np.errstate(all="ignore"):
        K = (samples.values @ samples.values.T).astype(samples.dtype)
    broken = samples.broken or not np.isfinite(K).all()
    return Samples(K, K.astype(np.float64), samples.dtype, samples.plain, broken)


@property_of("kernel: fits of all kinds")
def check_fit(draw: Draw) -> None:
    """A fit is refused or gives finite numbers; refits and pickles are the same."""
    n, d = draw.choice([2, 3, 6, 15]), draw.choice([1, 3, 8])
    samples, model = draw_samples(draw, n, d), draw_model(draw, n)
    samples = as_kernel(samples) if model.kernel == "precomputed" else samples
    if draw.flag():
        y = draw_labels(draw, n)
        method, arguments, broken = "fit", [y.given], y.broken and len(np.unique(y.values)) != n
    else:
        m = draw.choice([1, 12])
        pairs, sense, weight = draw_pairs(draw, n, m), draw_sense(draw, m), draw_weight(draw, m)
        target = draw.choice([1.0, 0.0, 1e30, 1e-30]) * draw.rng.random(m)
        method, arguments = "fit_pairs", [pairs.given, target, sense.given, weight.given]
        broken = pairs.broken or weight.broken
    call(draw, getattr(model, method), samples.X, *arguments)
    require(not (samples.broken or broken), "arguments that are not valid were accepted")
    for name in ("embedding_", "coefficients_"):
        require_finite(name, getattr(model, name))
    require_finite("the cost", model.history_["cost"])
    require(model.embedding_.dtype == samples.dtype, f"embedding_ is {model.embedding_.dtype}")
    found = model.transform(samples.X)
    require_finite("transform", found)
    again = clone(model)
    getattr(again, method)(samples.X, *arguments)
    require(np.array_equal(again.embedding_, model.embedding_), "the same fit with the same seed differs")
    same = pickle.loads(pickle.dumps(model))
    require(np.array_equal(same.transform(samples.X), found), "transform after pickling differs")


@property_of("kernel: costs and maps")
def check_cost(draw: Draw) -> None:
    """The last cost is the explicit mean over pairs; transform is the explicit centred kernel times coefficients_."""
    n, d, m = draw.integer(3, 15), draw.integer(1, 5), draw.integer(1, 25)
    samples = draw_samples(draw, n, d, wild=0.0, broken=0.0)
    kernel, solver = draw.choice(["linear", "rbf", "precomputed"]), draw.choice(["cg", "lbfgs", "gd"])
    model = draw_model(draw, n, kernel=kernel, solver=solver)
    samples = as_kernel(samples) if model.kernel == "precomputed" else samples
    pairs, sense, weight = draw_pairs(draw, n, m, wild=0.0), draw_sense(draw, m), draw_weight(draw, m, wild=0.0)
    target = 0.1 + 3 * draw.rng.random(m)
    call(draw, model.fit_pairs, samples.X, pairs.given, target, sense.given, weight.given)
    tolerance = 1e-8 if samples.dtype == np.float64 else 2e-3
    E, share = model.embedding_.astype(np.float64), weight.values / weight.values.sum()
    squares = pair_squares(E, np.eye(E.shape[1]), pairs.values)
    value, _ = judge("squared", squares, target, sense.values)
    told, scale = model.history_["cost"], float(share @ (squares**2 + target**2))
    require_close("the last cost", told[-1], share @ value, tolerance, scale)
    require(told[-1] <= told[0] + tolerance * (told[0] + scale), "the cost rose")
    require_close("the mean of embedding_", E.mean(axis=0), np.zeros(E.shape[1]), tolerance, 1 + float(np.abs(E).max()))
    require_close("kernel_matrix", model.kernel_matrix(), E @ E.T, tolerance, 1e-30 + float(np.sum(E**2)))
    K = explicit_kernel(model, samples.values)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    C = model.coefficients_.astype(np.float64)
    size = float(np.abs(K).max() * np.abs(C).sum(axis=0).max()) + float(np.abs(E).max())
    require_close("transform", model.transform(samples.X), centred @ C, tolerance, size)
