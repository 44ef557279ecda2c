"""Properties of `MetricLearner`: distances from explicit differences, and costs from explicit sums."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from gramian import MetricLearner
from harness.properties.case import Draw, call, property_of, require, require_close, require_finite
from harness.properties.references import judge, line_decrease, pair_squares
from harness.properties.strategies import (
    Given,
    Samples,
    as_layout,
    draw_labels,
    draw_pairs,
    draw_samples,
    draw_sense,
    draw_signs,
    draw_triplets,
    draw_weight,
)

__all__: list[str] = []

FULL_RANK = ("affine", "log-euclidean")


class Supervised(NamedTuple):
    """A method of the learner (without its prefix) with its arguments, and whether it must refuse them."""

    method: str
    arguments: dict[str, Any]
    broken: bool


def draw_supervision(draw: Draw, n: int, *, wild: float = 0.3) -> Supervised:
    """Return labels, pairs with targets or signs, or triplets of n samples; unusual ones with the chance `wild`."""
    kind = draw.choice(["labels", "pairs", "signs", "triplets"])
    m = draw.choice([1, 4, 20])
    draw.note(supervision=kind)
    if kind == "labels":
        y, weight = draw_labels(draw, n, wild=wild), draw_weight(draw, n, wild=wild)
        return Supervised("fit", {"y": y.given, "sample_weight": weight.given}, y.broken or weight.broken)
    if kind == "triplets":
        triplets = draw_triplets(draw, n, m, wild=wild)
        return Supervised("fit_triplets", {"triplets": triplets.given}, triplets.broken or n < 3)
    pairs, weight = draw_pairs(draw, n, m, wild=wild), draw_weight(draw, m, wild=wild)
    broken = pairs.broken or weight.broken or bool((pairs.values[:, 0] == pairs.values[:, 1]).any())
    arguments = {"pairs": pairs.given, "sample_weight": weight.given}
    if kind == "signs":
        return Supervised("fit_pairs", arguments | {"y": draw_signs(draw, m).given}, broken)
    sense, target = draw_sense(draw, m), draw_pair_targets(draw, m, wild)
    return Supervised("fit_pairs", arguments | {"target": target.given, "sense": sense.given}, broken or target.broken)


def draw_pair_targets(draw: Draw, m: int, wild: float) -> Given:
    """Return squared distances (m,), or one for all; some are zero, huge, negative or NaN."""
    kind = draw.choice(["zero", "large", "negative", "nan"]) if draw.flag(wild) else draw.choice(["random", "one"])
    draw.note(target=kind)
    values = 4 * draw.rng.random(m)
    if kind == "one":
        return Given(2.5, np.full(m, 2.5))
    if kind in ("zero", "large"):
        values *= 0 if kind == "zero" else draw.choice([1e10, 1e100])
    elif kind in ("negative", "nan"):
        values[draw.integer(0, m - 1)] = -1.0 if kind == "negative" else np.nan
    return Given(values, values, kind in ("negative", "nan"))


def draw_model(draw: Draw, d: int, **fixed: Any) -> MetricLearner:
    """Return a learner with drawn settings."""
    geometry = draw.choice(["scaled", "flat", "polar", *FULL_RANK])
    settings = {
        "n_components": None if geometry in FULL_RANK or draw.flag(0.3) else draw.integer(1, d),
        "constraints": draw.choice(["auto", "neighbourhoods", "triplets", "pairs"]),
        "n_targets": draw.integer(1, 3),
        "n_impostors": draw.integer(1, 4),
        "n_rounds": draw.integer(1, 2),
        "n_constraints": draw.choice([None, 1, 30]),
        "balanced": draw.flag(),
        "regularisation": draw.choice(["auto", 0.0, 0.5]),
        "pull": draw.choice([0.1, 0.0]),
        "shrinkage": draw.choice(["auto", 0.1, 0.0]),
        "init": draw.choice(["auto", "identity", "pca", "random"]),
        "geometry": geometry,
        "solver": draw.choice(["auto", "auto", "cg", "lbfgs", "gd", "trust-region", "online"]),
        "max_iter": draw.choice([0, 1, 5, 40]),
        "tol": draw.choice([1e-4, 0.0, 1e-9]),
        "n_epochs": draw.choice([1, 2]),
        "n_jobs": draw.choice([None, None, 1, 2]),
        "random_state": draw.integer(0, 9),
    }
    draw.note(**settings | fixed)
    return MetricLearner(**settings | fixed)


def require_distances(draw: Draw, model: MetricLearner, samples: Samples) -> None:
    """Require that transform and the distances of pairs are explicit products and differences, up to rounding."""
    X, G, n = samples.values, model.factor_.astype(np.float64), len(samples.values)
    eps = max(samples.eps, float(np.finfo(model.factor_.dtype).eps))
    with np.errstate(all="ignore"):
        Z = X @ G
        scale = float(np.linalg.norm(X, axis=1).max() * np.linalg.norm(G))
    limits = np.finfo(samples.dtype)
    # Products beyond the range of the type, and below it, are lost.
    if not (np.isfinite(Z).all() and 1e4 * float(limits.tiny) < scale < float(limits.max) / 100):
        return
    found = model.transform(samples.X)
    require(found.dtype == samples.dtype, f"transform gives {found.dtype}, not {samples.dtype}")
    require_close("transform", found, Z, 20 * len(G) * eps, scale)
    pairs = draw.rng.integers(n, size=(8, 2))
    wanted = np.array([np.linalg.norm(Z[i] - Z[j]) for i, j in pairs])
    require_close("pair_distance", model.pair_distance(samples.X, pairs), wanted, 40 * len(G) * eps, scale)
    same = pickle.loads(pickle.dumps(model))
    require(np.array_equal(same.transform(samples.X), found), "transform after pickling differs")
    if hasattr(model, "threshold_"):
        distance = model.pair_distance(samples.X, pairs)
        wanted_signs = [1 if x <= model.threshold_ else -1 for x in distance]
        require(model.predict(samples.X, pairs).tolist() == wanted_signs, "predict is not distance <= threshold_")


@property_of("metric: fits of all kinds")
def check_fit(draw: Draw) -> None:
    """A fit is refused or gives finite numbers; distances are those of explicit differences; refits are repeatable."""
    n, d = draw.choice([2, 3, 6, 12, 30]), draw.choice([1, 2, 3, 6, 14])
    samples = draw_samples(draw, n, d)
    asked, model = draw_supervision(draw, n), draw_model(draw, d)
    call(draw, getattr(model, asked.method), samples.X, **asked.arguments)
    require(not (samples.broken or asked.broken), "arguments that are not valid were accepted")
    require_finite("components_", model.components_)
    require_finite("the cost", model.history_["cost"])
    rank = model.components_.shape[0] if model.n_components is None else model.n_components
    require(model.components_.shape == (rank, d) and rank <= d, f"components_ has shape {model.components_.shape}")
    require(model.components_.dtype == samples.dtype, f"components_ is {model.components_.dtype}")
    require_distances(draw, model, samples)
    again = clone(model)
    getattr(again, asked.method)(samples.X, **asked.arguments)
    require(np.array_equal(again.components_, model.components_), "the same fit with the same seed differs")


class PairProblem(NamedTuple):
    """Pairs with targets, explicitly, and a penalty: the cost of a factor in sums over pairs."""

    X: np.ndarray
    pairs: np.ndarray
    target: np.ndarray
    sense: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    penalty: float

    def cost(self, G: np.ndarray) -> float:
        """Return the weighted mean of ½ (violation / typical target)² + ½ λ ‖W - W₀‖²/‖W₀‖²."""
        value, _ = judge("squared", pair_squares(self.X, G, self.pairs), self.target, self.sense)
        typical = float(np.mean(self.target**2)) or 1.0
        W, W0 = G @ G.T, self.start @ self.start.T
        toward = 0.5 * self.penalty * float(np.sum((W - W0) ** 2) / np.sum(W0**2))
        return float(self.weight @ value / self.weight.sum()) / typical + toward

    def gradient(self, G: np.ndarray) -> np.ndarray:
        """Return the gradient of the cost in G, from explicit matrices of differences."""
        _, slope = judge("squared", pair_squares(self.X, G, self.pairs), self.target, self.sense)
        typical, W0 = float(np.mean(self.target**2)) or 1.0, self.start @ self.start.T
        M = self.penalty * (G @ G.T - W0) / np.sum(W0**2)
        for (i, j), s, w in zip(self.pairs, slope, self.weight / self.weight.sum(), strict=True):
            M = M + s * w / typical * np.outer(self.X[i] - self.X[j], self.X[i] - self.X[j])
        return 2 * M @ G


@property_of("metric: the cost of pairs is that of W")
def check_pair_cost(draw: Draw) -> None:
    """First and last costs are explicit sums; the cost does not rise; if converged, the gradient leads nowhere."""
    n, d, m = draw.integer(3, 15), draw.integer(1, 4), draw.integer(1, 25)
    samples = draw_samples(draw, n, d, wild=0.0, broken=0.0)
    pairs, sense, weight = draw_pairs(draw, n, m, wild=0.0), draw_sense(draw, m), draw_weight(draw, m, wild=0.0)
    rank, penalty = draw.integer(1, d), draw.choice([0.0, 0.5])
    target = 0.1 + 4 * draw.rng.random(m)
    G = draw.rng.standard_normal((d, rank)).astype(samples.dtype)
    solver, geometry = draw.choice(["cg", "lbfgs", "gd", "trust-region"]), draw.choice(["scaled", "flat", "polar"])
    settings = {"init": G, "tol": 1e-9, "max_iter": draw.choice([0, 3, 300]), "shrinkage": "auto"}
    model = draw_model(draw, d, n_components=rank, regularisation=penalty, solver=solver, geometry=geometry, **settings)
    given = {"target": target, "sense": sense.given, "sample_weight": weight.given}
    call(draw, model.fit_pairs, samples.X, pairs.given, **given)
    start, end = G.astype(np.float64), model.factor_.astype(np.float64)
    # Pairs of weight 0 are left out.
    used = weight.values > 0
    asked = (values[used] for values in (pairs.values, target, sense.values, weight.values))
    problem = PairProblem(samples.values, *asked, start, penalty)
    tolerance = 1e-8 if samples.dtype == np.float64 else 2e-3
    told, scale = model.history_["cost"], problem.cost(start) + problem.cost(0 * start)
    require_close("the first cost", told[0], problem.cost(start), tolerance, scale)
    require_close("the last cost", told[-1], problem.cost(end), tolerance, scale)
    require(problem.cost(end) <= problem.cost(start) + tolerance * scale, "the cost rose")
    if model.converged_ and geometry != "polar":
        decrease = line_decrease(problem.cost, end, problem.gradient(end))
        require(
            decrease <= 1e-3 * scale, f"converged, but the gradient lowers the cost by {decrease:.3e} of {scale:.3e}"
        )


@property_of("metric: the cost of triplets is that of W")
def check_triplet_cost(draw: Draw) -> None:
    """The last cost is the explicit mean of ½ max(0, 1 - far + near)² and both penalties."""
    n, d, m = draw.integer(3, 15), draw.integer(1, 4), draw.integer(1, 25)
    samples = draw_samples(draw, n, d, wild=0.0, broken=0.0)
    triplets, rank, penalty = draw_triplets(draw, n, m, wild=0.0), draw.integer(1, d), draw.choice([0.0, 0.5])
    G = draw.rng.standard_normal((d, rank)).astype(samples.dtype)
    shrinkage = draw.choice([0.0, 0.3])
    settings = {"init": G, "geometry": "flat", "solver": draw.choice(["cg", "lbfgs", "gd"]), "shrinkage": shrinkage}
    model = draw_model(draw, d, n_components=rank, regularisation=penalty, **settings)
    call(draw, model.fit_triplets, samples.X, triplets.given)
    anchor, near, far = triplets.values.T
    X, start, end = samples.values, G.astype(np.float64), model.factor_.astype(np.float64)
    start *= (2 / np.median(pair_squares(X, start, np.column_stack([anchor, far])))) ** 0.5
    lead = pair_squares(X, end, np.column_stack([anchor, far])) - pair_squares(X, end, np.column_stack([anchor, near]))
    W, W0 = end @ end.T, start @ start.T
    wanted = 0.5 * float(np.mean(np.maximum(0, 1 - lead) ** 2))
    wanted += 0.5 * penalty * float(np.sum((W - W0) ** 2) / np.sum(W0**2))
    wanted += shrinkage * float(np.trace(W) / np.trace(W0))
    first = model.history_["cost"][0]
    tolerance = 1e-8 if samples.dtype == np.float64 else 2e-3
    require_close("the last cost", model.history_["cost"][-1], wanted, tolerance, 1 + float(first))
    require(wanted <= first + tolerance * (1 + first), "the cost rose")


@property_of("metric: layouts")
def check_layouts(draw: Draw) -> None:
    """Dense, sparse, strided and reversed samples give the same distances, up to rounding."""
    n, d = draw.integer(6, 25), draw.integer(1, 5)
    samples = draw_samples(draw, n, d, wild=0.0, broken=0.0)
    X = np.ascontiguousarray(samples.values.astype(samples.dtype))
    layout, rank = draw.choice(["F", "strided", "reversed", "read-only", "csr", "csc", "coo"]), draw.integer(1, d)
    asked = draw_supervision(draw, n, wild=0.0)
    G = draw.rng.standard_normal((d, rank)).astype(samples.dtype)
    settings = {
        "geometry": draw.choice(["scaled", "flat"]),
        "solver": draw.choice(["cg", "lbfgs", "gd"]),
        "max_iter": 2,
    }
    model = draw_model(draw, d, n_components=rank, init=G, n_rounds=1, **settings)
    draw.note(layout=layout)
    call(draw, getattr(clone(model), asked.method), as_layout(X, layout), **asked.arguments)
    other = clone(model)
    getattr(other, asked.method)(as_layout(X, layout), **asked.arguments)
    getattr(model, asked.method)(X, **asked.arguments)
    if samples.dtype == np.float32:
        # In float32, rounding errors move W along directions that the cost hardly depends on.
        first, last = model.history_["cost"][[0, -1]]
        # Of a violation that is rounding beside the distances, the square has no digits.
        rounding = float(np.finfo(np.float32).eps) * float(np.linalg.norm(X @ G, axis=1).max()) ** 2
        # It comes in the unit of the margin, which may be some ten times smaller than that of the distances.
        allowed = 2e-2 * (float(first) + 1e-12) + 1e4 * rounding**2
        require_close(f"the cost of {layout}", other.history_["cost"][-1], last, 1.0, allowed)
        return
    W, wanted = other.get_mahalanobis_matrix(), model.get_mahalanobis_matrix()
    # A W that goes to zero has no digits left beside its start.
    require_close(f"W of {layout}", W, wanted, 1e-6, float(np.abs(wanted).max()) + 1e-9 * float(np.abs(G @ G.T).max()))


@property_of("metric: streams")
def check_stream(draw: Draw) -> None:
    """partial_fit of labels, pairs and triplets gives finite distances; a batch that is refused changes nothing."""
    d = draw.choice([1, 3, 6])
    model = draw_model(draw, d)
    for _ in range(3):
        n, before = draw.choice([6, 9, 20]), dict(vars(model))
        samples = draw_samples(draw, n, d, wild=0.1)
        asked = draw_supervision(draw, n, wild=0.1)
        try:
            call(draw, getattr(model, f"partial_{asked.method}"), samples.X, **asked.arguments)
        except Exception:
            changed = [name for name in before if vars(model).get(name) is not before[name]]
            require(not changed and len(vars(model)) == len(before), f"a refused batch changed {changed}")
            raise
        # Labels and tuples that are too few are kept, and join those of the next call.
        kept = (
            (before.get("kept_"), model.kept_)
            if asked.method == "fit"
            else (before.get("kept_tuples_"), model.kept_tuples_)
        )
        joined = any(kept)
        require(joined or not (samples.broken or asked.broken), "arguments that are not valid were accepted")
        if not hasattr(model, "components_"):
            require(bool(model.kept_ or model.kept_tuples_), "nothing was learned, and nothing kept")
            continue
        require_finite("components_", model.components_)
        require_distances(draw, model, samples)
