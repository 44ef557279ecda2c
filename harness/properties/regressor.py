"""Properties of `PSDRegressor`: predictions and costs from explicit matrices, and what must not change a fit."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from gramian import PSDRegressor
from gramian.losses import LOSSES
from gramian.solvers import Armijo, GradientDescent
from harness.properties.case import Draw, call, property_of, require, require_close, require_finite
from harness.properties.references import judge, line_decrease, outer_products, predict_traces
from harness.properties.strategies import Given, Samples, as_layout, draw_samples, draw_sense, draw_weight

__all__: list[str] = []

GEOMETRIES = ("scaled", "flat", "polar", "affine", "log-euclidean", "grassmann")
FULL_RANK = ("affine", "log-euclidean")
TARGETS = ("planted", "noisy", "random", "zero", "negative", "tiny", "huge", "nan")
ORDINARY = TARGETS[:3]
# Without those that W = 0 fits perfectly.
MOVING = (*ORDINARY, "negative")
SOLVERS = ("cg", "gd", "trust-region", "lbfgs", "online")


class Regression(NamedTuple):
    """Arguments of a fit as they are given and explicitly: samples or matrices, targets, weights, senses."""

    samples: Samples
    matrices: np.ndarray
    y: Given
    weight: Given
    sense: Given

    @property
    def broken(self) -> bool:
        """True if the fit must be refused."""
        return self.samples.broken or self.y.broken or self.weight.broken


def draw_targets(draw: Draw, matrices: np.ndarray, rank: int, kinds: tuple[str, ...]) -> Given:
    """Return targets (n,) of a kind: of a planted matrix, with or without noise; or zero, negative, tiny, huge, NaN."""
    n, d, _ = matrices.shape
    with np.errstate(all="ignore"):
        y = np.nan_to_num(predict_traces(matrices, draw.rng.standard_normal((d, rank))), posinf=1.0, neginf=-1.0)
    size = float(np.abs(y).max()) or 1.0
    kind = draw.choice(kinds)
    if kind == "noisy":
        y = y + 0.3 * size * draw.rng.standard_normal(n)
    elif kind == "random":
        y = draw.rng.standard_normal(n)
    elif kind in ("zero", "negative"):
        y = np.zeros(n) if kind == "zero" else -np.abs(y) - 1
    elif kind in ("tiny", "huge"):
        y = draw.rng.random(n) * draw.choice([1e-30, 1e-150] if kind == "tiny" else [1e20, 1e150])
    elif kind == "nan":
        y[draw.integer(0, n - 1)] = draw.choice([np.nan, np.inf])
    draw.note(targets=kind)
    return Given(y.tolist() if draw.flag(0.1) else y, y, kind == "nan")


def draw_regression(
    draw: Draw, rank: int, n: int, d: int, *, wild: float = 0.5, kinds: tuple[str, ...] = TARGETS, dense: bool = True
) -> Regression:
    """Return the arguments of a fit: vectors, or matrices if `dense` allows them."""
    samples = draw_samples(draw, n, d, wild=wild, broken=0.03 if wild else 0.0)
    with np.errstate(all="ignore"):
        matrices = outer_products(samples.values)
    if dense and draw.flag(0.15) and samples.plain:
        matrices = draw.rng.standard_normal((n, d, d)).astype(samples.dtype)
        samples = samples._replace(X=matrices, values=matrices.astype(np.float64))
        matrices = samples.values
    draw.note(ndim=samples.values.ndim)
    weight = draw_weight(draw, n, wild=0.2 if wild else 0.0)
    return Regression(samples, matrices, draw_targets(draw, matrices, rank, kinds), weight, draw_sense(draw, n))


def draw_model(draw: Draw, d: int, **fixed: Any) -> PSDRegressor:
    """Return an estimator with drawn settings."""
    geometry = draw.choice(GEOMETRIES)
    solver = draw.choice(SOLVERS)
    loss = (
        "linear" if geometry == "grassmann" and draw.flag() else draw.choice(["squared", "squared", "huber", "hinge"])
    )
    settings = {
        "rank": None if geometry in FULL_RANK else draw.integer(1, d),
        "geometry": geometry,
        "solver": solver,
        "loss": loss,
        "init": draw.choice(["auto", "spectral", "random", "pca"]),
        "n_init": "auto" if draw.flag(0.8) or solver == "online" else draw.integer(1, 3),
        "growing": draw.flag(),
        "max_iter": draw.choice([0, 1, 5, 40]),
        "tol": draw.choice([1e-6, 0.0, 1e-2]),
        "n_epochs": draw.choice([1, 2]),
        "batch_size": draw.choice([1, 7, 32]),
        "n_jobs": draw.choice([None, None, 1, 2]),
        "random_state": draw.integer(0, 9),
    }
    draw.note(**settings | fixed)
    return PSDRegressor(**settings | fixed)


def fit(draw: Draw, model: PSDRegressor, data: Regression, *, legal: bool = False) -> PSDRegressor:
    """Return the model, fitted to the data as given."""
    call(draw, model.fit, data.samples.X, data.y.given, data.weight.given, data.sense.given, legal=legal)
    require(not data.broken, "X, y or sample_weight that are not valid were accepted")
    return model


def prediction_scale(data: Regression, G: np.ndarray) -> np.ndarray:
    """Return what rounding errors of predictions are relative to, (n,): ‖X_i‖ ‖G‖²."""
    return np.linalg.norm(data.matrices, axis=(1, 2)) * float(np.sum(G.astype(np.float64) ** 2))


def explicit_cost(model: PSDRegressor, data: Regression, G: np.ndarray) -> float:
    """Return the weighted mean of the loss at W = G Gᵀ."""
    prediction = predict_traces(data.matrices, G)
    value, _ = judge(model.loss, prediction, data.y.values, data.sense.values)
    return float(data.weight.values @ value / data.weight.values.sum())


def require_predictions(model: PSDRegressor, data: Regression) -> None:
    """Require that predictions are those of explicit matrices, up to rounding."""
    G, eps = model.factor_, max(float(np.finfo(model.factor_.dtype).eps), data.samples.eps)
    with np.errstate(all="ignore"):
        wanted, scale = predict_traces(data.matrices, G), prediction_scale(data, G)
    limits = np.finfo(data.samples.dtype)
    # Explicit matrices may overflow, or underflow to 0, where predictions do not.
    if not (np.isfinite(wanted).all() and 0 < scale.max() < float(limits.max) / 100):
        return
    found = model.predict(data.samples.X)
    require_finite("the prediction", found)
    # Products below the smallest numbers are lost.
    lost = data.matrices.shape[1] * float(limits.tiny)
    apart = np.abs(found - wanted) - 20 * G.size * eps * scale - lost
    require((apart <= 0).all(), f"a prediction differs from trace(W X) by {apart.max():.2e}, of {scale.max():.2e}")


def require_cost(model: PSDRegressor, data: Regression) -> None:
    """Require that the last cost of the history is that of W, in the user's units."""
    prediction = predict_traces(data.matrices, model.factor_)
    scale = prediction_scale(data, model.factor_)
    value, slope = judge(model.loss, prediction, data.y.values, data.sense.values)
    share = data.weight.values / data.weight.values.sum()
    eps = data.samples.eps
    error = 50 * model.factor_.size * eps * (scale + np.abs(data.y.values))
    allowed = float(share @ (np.abs(slope) * error + error**2 + 100 * eps * np.abs(value)))
    told, largest = float(model.history_["cost"][-1]), float(np.abs(model.history_["cost"]).max())
    cost = float(share @ value)
    # Images are carried from the start, so their rounding errors are relative to those of the start. A cost is of the
    # fourth power of an image, at most.
    rounding = 50 * model.factor_.size * eps * largest**0.25
    allowed += (abs(cost) ** 0.25 + rounding) ** 4 - abs(cost)
    require(abs(told - cost) <= allowed, f"the cost is told as {told:.6e}; explicitly it is {cost:.6e} ± {allowed:.1e}")


@property_of("regressor: fits of all kinds")
def check_fit(draw: Draw) -> None:
    """A fit is refused or gives finite numbers; predictions are explicit traces; refits are repeatable."""
    n, d = draw.choice([1, 2, 3, 8, 30]), draw.choice([1, 2, 3, 6])
    data = draw_regression(draw, min(2, d), n, d)
    model = fit(draw, draw_model(draw, d), data)
    require_finite("factor_", model.factor_)
    require(model.factor_.dtype == data.samples.dtype, f"factor_ is {model.factor_.dtype}, not {data.samples.dtype}")
    require(model.factor_.shape == (d, model.rank or d), f"factor_ has shape {model.factor_.shape}")
    require_finite("the cost", model.history_["cost"])
    require_predictions(model, data)
    again = clone(model)
    again.fit(data.samples.X, data.y.given, data.weight.given, data.sense.given)
    require(np.array_equal(again.factor_, model.factor_), "the same fit with the same seed differs")
    same = pickle.loads(pickle.dumps(model))
    X = data.samples.X
    with np.errstate(over="ignore", invalid="ignore"):
        require(np.array_equal(same.predict(X), model.predict(X), equal_nan=True), "predictions after pickling differ")


@property_of("regressor: the cost is that of W")
def check_cost(draw: Draw) -> None:
    """The cost in the history is the weighted mean loss in the user's units, and at most that of the start."""
    n, d = draw.integer(2, 25), draw.integer(1, 5)
    data = draw_regression(draw, 2, n, d, wild=0.0, kinds=TARGETS[:5])
    model = draw_model(draw, d, tol=1e-6)
    fit(draw, model, data)
    require_cost(model, data)
    if model.solver != "online":
        G = draw.rng.standard_normal(model.factor_.shape).astype(data.samples.dtype)
        if np.linalg.matrix_rank(G) < G.shape[1] or model.geometry == "grassmann":
            return
        begun = fit(draw, clone(model).set_params(init=G, n_init=1), data)
        before, after = explicit_cost(model, data, G), explicit_cost(model, data, begun.factor_)
        scale = float(np.abs(predict_traces(data.matrices, G)).max() + np.abs(data.y.values).max()) ** 2
        require(after <= before + 1e3 * data.samples.eps * scale, f"the cost rose from {before:.3e} to {after:.3e}")


@property_of("regressor: minima")
def check_minimum(draw: Draw) -> None:
    """Where a batch solver converged, the explicit gradient leads nowhere; the cost is not above that of W = 0."""
    d = draw.integer(1, 5)
    n = 6 * d + draw.integer(0, 20)
    data = draw_regression(draw, 2, n, d, wild=0.0, kinds=MOVING)
    model = draw_model(
        draw,
        d,
        geometry=draw.choice(["scaled", "flat"]),
        solver=draw.choice(["cg", "trust-region"]),
        rank=draw.integer(1, d),
        loss="squared",
        init="auto",
        max_iter=400,
        tol=1e-9,
    )
    fit(draw, model, data)
    G, share = model.factor_.astype(np.float64), data.weight.values / data.weight.values.sum()
    cost, zero = explicit_cost(model, data, G), explicit_cost(model, data, 0 * G)
    rounding = (data.samples.eps * float(np.linalg.norm(data.matrices))) ** 2
    # In float32 a step that lowers the cost by less than some 1e-5 of it cannot be told from rounding.
    share_lost = 1e-6 if data.samples.dtype == np.float64 else 1e-4
    # Upper bounds alone hold at W = 0: a fit then ends at a small share of the cost of its start.
    perfect = 0.0 if zero else model.tol * float(np.square(data.y.values.astype(np.float64)).max())
    require(
        cost <= zero * (1 + share_lost) + rounding + perfect, f"the cost {cost:.6e} is above that of W = 0, {zero:.6e}"
    )
    if not model.converged_ or zero == 0:
        return
    _, slope = judge("squared", predict_traces(data.matrices, G), data.y.values, data.sense.values)
    M = np.einsum("i,ijk->jk", share * slope, data.matrices)
    decrease = line_decrease(lambda F: explicit_cost(model, data, F), G, (M + M.T) @ G)
    limit = 1e-4 if data.samples.dtype == np.float64 else 1e-3
    require(decrease <= limit * zero, f"converged, but the gradient lowers the cost {cost:.3e} by {decrease:.3e}")


@property_of("regressor: layouts")
def check_layouts(draw: Draw) -> None:
    """Dense, sparse, strided and reversed samples give the same fit, up to rounding."""
    n, d = draw.integer(5, 30), draw.integer(1, 5)
    data = draw_regression(draw, 2, n, d, wild=0.0, kinds=ORDINARY, dense=False)
    X = np.ascontiguousarray(data.samples.values.astype(data.samples.dtype))
    model = draw_model(draw, d, max_iter=3, solver=draw.choice(["cg", "gd", "online"]), tol=0.0, growing=False)
    layout = draw.choice(["F", "strided", "reversed", "read-only", "csr", "csc", "coo"])
    draw.note(layout=layout)
    other = data._replace(samples=data.samples._replace(X=as_layout(X, layout)))
    plain = fit(draw, clone(model), data._replace(samples=data.samples._replace(X=X)))
    fit(draw, model, other)
    wanted = plain.predict(X)
    scale = float(np.abs(data.y.values).max()) + float(prediction_scale(data, plain.factor_).max())
    tolerance = 1e-7 if data.samples.dtype == np.float64 else 2e-2
    require_close(f"the prediction after fitting {layout}", model.predict(X), wanted, tolerance, scale)


@property_of("regressor: units")
def check_units(draw: Draw) -> None:
    """Samples times 2^a and targets times 4^b give the factor times 2^(b - a), up to rounding."""
    n, d = draw.integer(5, 30), draw.integer(1, 5)
    data = draw_regression(draw, 2, n, d, wild=0.0, kinds=ORDINARY, dense=False)
    dtype = data.samples.dtype
    a, b = (draw.integer(-12, 12) * (8 if dtype == np.float64 else 1) for _ in range(2))
    model = draw_model(draw, d, max_iter=4, tol=0.0, init="random", n_init=1, growing=False)
    # Online solvers choose from a grid of step sizes, where rounding may decide.
    solver = draw.choice(SOLVERS[:4])
    # The first trial step of the paper's rule is 100 in any units; other trials may then find another minimum.
    model.set_params(solver=GradientDescent(Armijo(initial=None)) if solver == "gd" else solver)
    if model.geometry == "grassmann":
        b = a
    draw.note(a=a, b=b)
    X, y = data.samples.values.astype(dtype), data.y.values
    plain = fit(draw, clone(model), data._replace(samples=data.samples._replace(X=X)))
    loss = LOSSES[model.loss]().rescaled(4.0**b)
    model.set_params(loss=loss)
    call(draw, model.fit, X * dtype.type(2.0**a), y * 4.0**b, data.weight.given, data.sense.given, legal=True)
    wanted = plain.predict(X)
    found = model.predict(X * dtype.type(2.0**a)) * 4.0**-b
    scale = float(np.abs(y).max()) + float(prediction_scale(data, plain.factor_).max())
    require_close("the prediction in other units", found, wanted, 1e-7 if dtype == np.float64 else 2e-2, scale)


@property_of("regressor: rotations of the start")
def check_rotations(draw: Draw) -> None:
    """The start G O, for an orthogonal O, gives the same matrices as the start G, iterate by iterate."""
    n, d = draw.integer(5, 30), draw.integer(2, 5)
    data = draw_regression(draw, 2, n, d, wild=0.0, kinds=ORDINARY)
    rank, dtype = draw.integer(1, d), data.samples.dtype
    solver, geometry = draw.choice(["cg", "lbfgs", "gd"]), draw.choice(["scaled", "flat", "polar"])
    settings = {"geometry": geometry, "solver": solver, "max_iter": draw.integer(0, 3), "tol": 0.0, "n_init": 1}
    model = draw_model(draw, d, rank=rank, **settings)
    G = draw.rng.standard_normal((d, rank)).astype(dtype)
    turn = np.linalg.qr(draw.rng.standard_normal((rank, rank)))[0].astype(dtype)
    plain = fit(draw, clone(model).set_params(init=G), data)
    turned = fit(draw, clone(model).set_params(init=G @ turn), data)
    tolerance = 1e-6 if dtype == np.float64 else 3e-2
    scale = float(np.sum(plain.factor_.astype(float) ** 2)) + float(np.sum(G.astype(float) ** 2))
    require_close("W from a rotated start", turned.matrix(), plain.matrix(), tolerance, scale)


@property_of("regressor: weights as repeats")
def check_repeats(draw: Draw) -> None:
    """A sample of weight k counts as k samples; one of weight 0 as none."""
    n, d = draw.integer(5, 20), draw.integer(1, 4)
    data = draw_regression(draw, 2, n, d, wild=0.0, kinds=ORDINARY, dense=False)
    repeats = draw.rng.integers(0, 4, size=n)
    repeats[0] = 1
    rows, dtype = np.repeat(np.arange(n), repeats), data.samples.dtype
    model = draw_model(draw, d, max_iter=3, tol=0.0, init="random", n_init=1, growing=False, geometry="flat")
    # A third direction of conjugate gradients may be all rounding in float32: it is the rest of two long vectors.
    steps = 3 if dtype == np.float64 else 2
    model.set_params(solver=draw.choice(["cg", "lbfgs", "gd", "trust-region"]), rank=min(d, 2), max_iter=steps)
    X = data.samples.values.astype(dtype)
    weighted = call(draw, clone(model).fit, X, data.y.values, repeats, data.sense.values)
    repeated = call(draw, model.fit, X[rows], data.y.values[rows], None, data.sense.values[rows])
    tolerance = 1e-6 if dtype == np.float64 else 3e-2
    # At a fit near W = 0, differences are relative to the W that fits the largest target.
    scale = float(np.sum(repeated.factor_**2)) + float(np.abs(data.y.values).max() / np.sum(X**2, axis=1).mean())
    require_close("W", weighted.matrix(), repeated.matrix(), tolerance, scale)


@property_of("regressor: streams")
def check_stream(draw: Draw) -> None:
    """partial_fit gives finite factors; a batch that is refused changes nothing."""
    d = draw.choice([1, 2, 5])
    model = draw_model(draw, d, solver="online", loss=draw.choice(["squared", "huber"]))
    for _ in range(3):
        before, kinds = dict(vars(model)), TARGETS if draw.flag(0.2) else ORDINARY
        data = draw_regression(draw, min(2, d), draw.choice([5, 1, 40]), d, wild=0.15, kinds=kinds, dense=False)
        try:
            call(draw, model.partial_fit, data.samples.X, data.y.given, data.weight.given, data.sense.given)
        except Exception:
            changed = [name for name in before if vars(model).get(name) is not before[name]]
            require(not changed and len(vars(model)) == len(before), f"a refused batch changed {changed}")
            raise
        require(not data.broken, "a batch that is not valid was accepted")
        require_finite("factor_", model.factor_)
        require_predictions(model, data)
