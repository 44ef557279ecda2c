"""Properties of `SubspaceTracker`: an explicit loop over samples with projections and geodesics."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from gramian import SubspaceTracker
from harness.properties.case import Draw, call, property_of, require, require_close, require_finite
from harness.properties.strategies import Samples, draw_samples

__all__: list[str] = []


def draw_model(draw: Draw, d: int, **fixed: Any) -> SubspaceTracker:
    """Return a tracker with drawn settings."""
    settings = {
        "n_components": draw.integer(1, d),
        "step": draw.choice(["averaged", "greedy"]),
        "memory": draw.choice([None, 1, 2.5, 100]),
        "center": draw.flag(),
        "n_epochs": draw.integer(1, 2),
        "random_state": draw.integer(0, 9),
    }
    draw.note(**settings | fixed)
    return SubspaceTracker(**settings | fixed)


def hide(draw: Draw, samples: Samples) -> Samples:
    """Return the samples with some entries missing, NaN, or as they are."""
    share = draw.choice([0.0, 0.0, 0.2, 0.7])
    if not share or samples.dtype.kind != "f" or samples.broken:
        return samples
    values = samples.values.copy()
    values[draw.rng.random(values.shape) < share] = np.nan
    draw.note(missing=share)
    return samples._replace(X=values.astype(samples.dtype), values=values)


def draw_stream(draw: Draw, n: int, d: int, **options: Any) -> Samples:
    """Return samples with missing entries; only infinite ones must be refused."""
    samples = draw_samples(draw, n, d, sparse=False, **options)
    return hide(draw, samples)._replace(broken=bool(np.isinf(samples.values).any()))


def follow(frame: np.ndarray, X: np.ndarray, model: SubspaceTracker) -> np.ndarray:
    """Return the frame (d, r) after the complete rows of X, by explicit geodesics: Oja's rule, or greedy steps."""
    keep = 1.0 if model.memory is None else 1 - 1 / model.memory
    d, r = frame.shape
    moment, mean, count = np.zeros((r, r)), np.zeros(d), 0.0
    for t, x in enumerate(X, start=1):
        count = keep * count + 1
        mean = mean + (x - mean) / count if model.center else mean
        v = x - mean
        w = frame.T @ v
        e = v - frame @ w
        moment = min(keep, (t - 1) / t) * moment + np.outer(w, w)
        if not (w.any() and e.any()):
            continue
        q = w / (w @ w)
        if model.step == "averaged":
            q = np.linalg.solve(moment + 1e-10 * np.trace(moment) * np.eye(r), w)
        direction, angle = q / np.linalg.norm(q), np.arctan(np.linalg.norm(e) * np.linalg.norm(q))
        turned = np.cos(angle) * frame @ direction + np.sin(angle) * e / np.linalg.norm(e)
        frame = frame + np.outer(turned - frame @ direction, direction)
    return frame


def require_maps(model: SubspaceTracker, samples: Samples) -> None:
    """Require orthonormal components, descending variances, and explicit coordinates."""
    C, eps = model.components_.astype(np.float64), max(samples.eps, float(np.finfo(model.components_.dtype).eps))
    for name in ("components_", "explained_variance_", "mean_"):
        require_finite(name, getattr(model, name))
    require_close("the Gram matrix of components_", C @ C.T, np.eye(len(C)), max(1e3 * eps, 1e-9), 1.0)
    require((np.diff(model.explained_variance_) <= 0).all(), "variances do not descend")
    require((model.explained_variance_ >= 0).all(), "a variance is negative")
    largest = C[np.arange(len(C)), np.argmax(np.abs(C), axis=1)]
    require((largest > 0).all(), "the largest entry of a component is not positive")
    X, mean = samples.values, model.mean_.astype(np.float64)
    found = model.transform(samples.X)
    require_finite("transform", found)
    complete = ~np.isnan(X).any(axis=1)
    size = float(np.nanmax(np.abs(X), initial=0)) + float(np.abs(mean).max())
    wanted = (X[complete] - mean) @ C.T
    require_close("transform", found[complete], wanted, 1e3 * eps, size)
    empty = np.isnan(X).all(axis=1)
    require_close("transform of nothing", found[empty], np.zeros((int(empty.sum()), len(C))), 0.0, 1.0)
    back = model.inverse_transform(found)
    size += float(np.abs(found).max())
    require_close("inverse_transform", back, found.astype(np.float64) @ C + mean, 1e3 * eps, size)


@property_of("subspace: fits of all kinds")
def check_fit(draw: Draw) -> None:
    """A fit is refused or gives orthonormal components and explicit coordinates; refits and pickles are the same."""
    n, d = draw.choice([1, 2, 5, 30]), draw.choice([1, 2, 5, 12])
    samples, model = draw_stream(draw, n, d), draw_model(draw, d)
    call(draw, model.fit, samples.X)
    require(not samples.broken, "infinite entries were accepted")
    require(model.components_.shape == (model.n_components, d), f"components_ has shape {model.components_.shape}")
    require(model.n_samples_seen_ == n * model.n_epochs, f"n_samples_seen_ is {model.n_samples_seen_}")
    require_maps(model, samples)
    found, before = model.transform(samples.X), model.components_
    require(np.array_equal(pickle.loads(pickle.dumps(model)).transform(samples.X), found), "pickling changes transform")
    require(np.array_equal(model.fit(samples.X).components_, before), "the same fit with the same seed differs")


@property_of("subspace: the explicit loop")
def check_loop(draw: Draw) -> None:
    """partial_fit on complete samples is the explicit loop, however the stream is divided into calls."""
    n, d = draw.integer(2, 25), draw.integer(1, 8)
    samples = draw_samples(draw, n, d, sparse=False, wild=0.0, broken=0.0)
    model = draw_model(draw, d, memory=draw.choice([None, 2.5, 100]))
    cut, X = draw.integer(1, n - 1), samples.values.astype(samples.dtype)
    start = np.random.RandomState(model.random_state).standard_normal((d, model.n_components))
    frame = follow(np.linalg.qr(start)[0], X.astype(np.float64), model)
    call(draw, model.partial_fit, X[:cut], legal=True)
    call(draw, model.partial_fit, X[cut:], legal=True)
    C = model.components_.astype(np.float64)
    # The moment of few samples is nearly singular, and magnifies rounding.
    tolerance = 1e-4 if samples.dtype == np.float64 else 1e-3
    require_close("the projection", C.T @ C, frame @ frame.T, tolerance, 1.0)
    whole = SubspaceTracker(**model.get_params()).partial_fit(X)
    require(np.array_equal(whole.components_, model.components_), "the stream depends on how it is divided")
    require_maps(model, samples)


@property_of("subspace: streams")
def check_stream(draw: Draw) -> None:
    """partial_fit with missing entries and other scales stays orthonormal; what is refused changes nothing."""
    d = draw.choice([1, 3, 8])
    model = draw_model(draw, d)
    for _ in range(3):
        before, samples = dict(vars(model)), draw_stream(draw, draw.choice([1, 6, 20]), d, wild=0.3)
        try:
            call(draw, model.partial_fit, samples.X)
        except Exception:
            changed = [name for name in before if vars(model).get(name) is not before[name]]
            require(not changed and len(vars(model)) == len(before), f"a refused batch changed {changed}")
            raise
        require(not samples.broken, "infinite entries were accepted")
        require_maps(model, samples)
