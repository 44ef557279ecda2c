"""Properties of `SStressMDS`: the stress from explicit distances, and what must not change an embedding."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian import SStressMDS
from harness.properties.case import Draw, call, property_of, require, require_close, require_finite
from harness.properties.strategies import Samples, as_layout, draw_weight

__all__: list[str] = []


def draw_dissimilarities(draw: Draw, n: int, r: int, *, wild: float = 0.6) -> Samples:
    """Return dissimilarities (n, n): of points, noisy or random; some unknown, zero, wild, asymmetric or negative."""
    points = draw.rng.standard_normal((n, r + 1))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    kind, exponent, broken = "points", 0, False
    if draw.flag(wild):
        kind = draw.choice(["random", "coincident", "all zero", "binary", "asymmetric", "negative", "infinite"])
        exponent = draw.choice([0, 0, 20, -20, 100, -100, 500])
    if kind == "random":
        D = draw.rng.random((n, n))
        D = D + D.T
    elif kind == "coincident":
        points[1] = points[0]
        D = np.linalg.norm(points[:, None] - points, axis=2)
    elif kind in ("all zero", "binary"):
        D = np.zeros((n, n)) if kind == "all zero" else (np.median(D) < D).astype(float)
    np.fill_diagonal(D, 0)
    dtype = draw.choice(["float64", "float32"])
    D = (D * 2.0 ** (exponent if dtype == "float64" else exponent // 8)).astype(dtype)
    if kind in ("asymmetric", "negative", "infinite") and n > 1:
        D[0, 1] = {"asymmetric": 9 * D.max() + 1, "negative": -1 - D.max(), "infinite": np.inf}[kind]
        D[1, 0] = D[0, 1] if kind != "asymmetric" else D[1, 0]
        broken = True
    share = draw.choice([0.0, 0.0, 0.3, 0.9])
    if share and not broken:
        D[draw.rng.random((n, n)) < share] = np.nan
    layout = draw.choice(["C", "F", "strided", "reversed", "read-only", "list"])
    draw.note(n=n, kind=kind, exponent=exponent, dtype=dtype, unknown=share, layout=layout)
    draw.size = (n, r)
    working = np.dtype("float64" if layout == "list" else dtype)
    return Samples(as_layout(D, layout), D.astype(np.float64), working, kind == "points", broken)


def draw_model(draw: Draw, n: int, **fixed: Any) -> SStressMDS:
    """Return an estimator with drawn settings."""
    settings = {
        "n_components": draw.integer(1, min(3, max(1, n - 1))),
        "squared": draw.flag(0.2),
        "geometry": draw.choice(["scaled", "flat", "polar"]),
        "solver": draw.choice(["cg", "lbfgs", "gd", "trust-region", "online"]),
        "init": draw.choice(["auto", "random"]),
        "max_iter": draw.choice([0, 1, 5, 60]),
        "tol": draw.choice([1e-14, 0.0, 1e-4]),
        "n_epochs": 1,
        "n_jobs": draw.choice([None, None, 1, 2]),
        "random_state": draw.integer(0, 9),
    }
    draw.note(**settings | fixed)
    return SStressMDS(**settings | fixed)


def explicit_stress(model: SStressMDS, D: np.ndarray, weight: np.ndarray) -> float:
    """Return √(Σ w (‖g_i - g_j‖² - δ²)² / Σ w δ⁴) over the known pairs, one pair at a time."""
    G = model.embedding_.astype(np.float64)
    # Both are in units of the largest dissimilarity, whose fourth powers are numbers.
    unit = float(np.nanmax(D)) ** (0.5 if model.squared else 1.0)
    above = below = 0.0
    for i in range(len(D)):
        for j in range(i):
            known = D[i, j] if not np.isnan(D[i, j]) else D[j, i]
            if np.isnan(known):
                continue
            square = known / unit**2 if model.squared else (known / unit) ** 2
            w = weight[i] * weight[j]
            above += w * (float(np.sum(((G[i] - G[j]) / unit) ** 2)) - square) ** 2
            below += w * square**2
    return float((above / below) ** 0.5)


def require_embedding(model: SStressMDS, D: np.ndarray, weight: np.ndarray, eps: float) -> None:
    """Require a finite embedding whose stress is the explicit one."""
    require_finite("embedding_", model.embedding_)
    require_finite("stress_", model.stress_)
    require_finite("the cost", model.history_["cost"])
    wanted = explicit_stress(model, D, weight)
    require_close("stress_²", model.stress_**2, wanted**2, 1e3 * eps, 1 + wanted**2)


@property_of("mds: fits of all kinds")
def check_fit(draw: Draw) -> None:
    """A fit is refused or gives the explicit stress, centred, on principal axes; refits and pickles are the same."""
    n = draw.choice([2, 3, 5, 12])
    model = draw_model(draw, n)
    D, weight = draw_dissimilarities(draw, n, model.n_components), draw_weight(draw, n)
    call(draw, model.fit, D.X, sample_weight=weight.given)
    require(not weight.broken, "weights that are not valid were accepted")
    # A pair of weight 0 is unknown, whatever is given for it.
    require(not D.broken or (weight.values == 0).any(), "dissimilarities that are not valid were accepted")
    if D.broken:
        return
    require_embedding(model, D.values, weight.values, D.eps)
    E = model.embedding_.astype(np.float64)
    require(E.shape == (n, model.n_components), f"embedding_ has shape {E.shape}")
    require(model.embedding_.dtype == D.dtype, f"embedding_ is {model.embedding_.dtype}, not {D.dtype}")
    size, tolerance = float(np.abs(E).max()), 1e3 * D.eps
    require_close("the mean", E.mean(axis=0), np.zeros(E.shape[1]), tolerance, size)
    gram = (E / size).T @ (E / size) if size else np.zeros((E.shape[1],) * 2)
    require_close("axes", gram, np.diag(np.diag(gram)), tolerance, n)
    require((np.diff(np.diag(gram)) <= tolerance * n).all(), "variances do not descend")
    again = clone(model).fit(D.X, sample_weight=weight.given)
    require(np.array_equal(again.embedding_, model.embedding_), "the same fit with the same seed differs")
    same = pickle.loads(pickle.dumps(model))
    require(np.array_equal(same.embedding_, model.embedding_), "embedding_ after pickling differs")


@property_of("mds: recovery and units")
def check_recovery(draw: Draw) -> None:
    """Distances of points are recovered; in other units the embedding is the same in those."""
    r, n = draw.integer(1, 3), draw.integer(5, 14)
    points = draw.rng.standard_normal((n, r))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    model = draw_model(draw, n, n_components=r, squared=False, solver="cg", init="auto", max_iter=200, tol=1e-14)
    model.set_params(geometry=draw.choice(["scaled", "flat"]))
    draw.size = (n, r)
    call(draw, model.fit, D, legal=True)
    require(model.stress_ < 1e-6, f"distances of points in {r} dimensions have the stress {model.stress_:.2e}")
    unit = 2.0 ** draw.integer(-300, 300)
    draw.note(unit=unit)
    other = call(draw, clone(model).fit, D * unit, legal=True)
    require_close("the embedding in other units", other.embedding_ / unit, model.embedding_, 1e-5)


@property_of("mds: streams")
def check_stream(draw: Draw) -> None:
    """partial_fit with more samples or changed entries has the explicit stress; what is refused changes nothing."""
    n = draw.choice([4, 8])
    model = draw_model(draw, n, n_components=draw.integer(1, 2), squared=False)
    known, eps = np.zeros((0, 0)), 0.0
    for grown in (0, draw.integer(0, 3), draw.integer(0, 1)):
        n, before = n + grown, dict(vars(model))
        D = draw_dissimilarities(draw, n, model.n_components, wild=0.2)
        try:
            call(draw, model.partial_fit, D.X)
        except Exception:
            changed = [name for name in before if vars(model).get(name) is not before[name]]
            require(not changed and len(vars(model)) == len(before), f"a refused batch changed {changed}")
            raise
        require(not D.broken, "dissimilarities that are not valid were accepted")
        new = np.where(np.isnan(D.values), D.values.T, D.values)
        merged = np.full((n, n), np.nan)
        merged[: len(known), : len(known)] = known
        known = np.where(np.isnan(new), merged, new)
        # The stream keeps the dtype of its first dissimilarities.
        eps = max(eps, D.eps)
        require_embedding(model, known, np.ones(n), eps)
