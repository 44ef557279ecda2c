"""Properties of ITML, LEGO and POLA: explicit loops over the pairs, one rank-one update at a time."""

from __future__ import annotations

import pickle
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.base import clone

from gramian.baselines import ITML, LEGO, POLA
from harness.properties.case import Draw, call, property_of, require, require_close, require_finite
from harness.properties.strategies import Given, Samples, draw_labels, draw_pairs, draw_samples, draw_sense, draw_signs

__all__ = ["require_distance"]

# The type of the references has more digits and a wider range than that of the library, where the machine has one.
LONG = np.longdouble
TARGETS = ("near 1", "near 1", "wide", "near 1", "wide", "wide", "zero", "negative", "nan")


class PairData(NamedTuple):
    """Arguments of `fit_pairs`: samples, pairs, and targets with senses, or signs in place of both."""

    samples: Samples
    pairs: Given
    target: Given
    sense: Given
    signs: Given | None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments beside X and pairs, as they are given."""
        if self.signs is not None:
            return {"y": self.signs.given}
        return {"target": self.target.given, "sense": self.sense.given}

    @property
    def broken(self) -> bool:
        """True if the fit must be refused."""
        return self.samples.broken or self.pairs.broken or (self.signs is None and self.target.broken)

    @property
    def legal(self) -> bool:
        """True if nothing is unusual, so that the fit must not be refused."""
        ordered = np.sort(self.pairs.values, axis=1)
        different = len(np.unique(ordered, axis=0)) == len(ordered) and (ordered[:, 0] < ordered[:, 1]).all()
        asked = (self.target.values > 0).all() if self.signs is None else len(np.unique(self.signs.values)) == 2
        dense = not scipy.sparse.issparse(self.samples.X)
        return bool(self.samples.plain and dense and different and asked and not self.broken)


def draw_pair_data(draw: Draw, *, wild: float = 0.4, signs: bool | None = None) -> PairData:
    """Return the arguments of `fit_pairs`."""
    n, d, m = draw.integer(2, 12), draw.integer(1, 5), draw.integer(1, 12)
    samples = draw_samples(draw, n, d, sparse=wild > 0 and draw.flag(0.1), wild=wild, broken=0.03 if wild else 0.0)
    pairs = draw_pairs(draw, n, m, wild=0.2 if wild else 0.0)
    with np.errstate(all="ignore"):
        size = float(np.nan_to_num(np.mean(samples.values**2), nan=1.0, posinf=1.0)) or 1.0
    kind = draw.choice(TARGETS if wild else TARGETS[:3])
    values = size * draw.rng.uniform(0.3, 4, size=m)
    if kind == "wide":
        with np.errstate(over="ignore"):
            values = np.nan_to_num(size * 10.0 ** draw.rng.uniform(-4, 4, size=m))
    elif kind != "near 1":
        values[draw.integer(0, m - 1)] = {"zero": 0.0, "negative": -1.0, "nan": np.nan}[kind]
    draw.note(target=kind)
    target = Given(values.tolist() if draw.flag(0.1) else values, values, kind in ("negative", "nan"))
    with_signs = draw.flag() if signs is None else signs
    return PairData(samples, pairs, target, draw_sense(draw, m), draw_signs(draw, m) if with_signs else None)


def fit_pairs(draw: Draw, model: Any, data: PairData) -> Any:
    """Return the model, fitted to the pairs as given."""
    call(draw, model.fit_pairs, data.samples.X, data.pairs.given, legal=data.legal, **data.arguments)
    require(not data.broken, "X, pairs or target that are not valid were accepted")
    return model


def require_distance(model: Any, samples: Samples) -> None:
    """Require a finite matrix, distances from explicit differences, and the same answers after pickling."""
    L, X = model.components_, samples.values
    require_finite("components_", L)
    W = model.get_mahalanobis_matrix()
    W = W / (np.abs(W).max() or 1.0)
    require(np.linalg.eigvalsh(W)[0] >= -1e-12 * len(W), "the learned matrix has a negative eigenvalue")
    mapped = model.transform(samples.X)
    require(mapped.dtype == samples.dtype, f"transform returns {mapped.dtype}, not {samples.dtype}")
    n = len(X)
    pairs = np.array([(i, (i + step) % n) for i in range(n) for step in (1, 2)])
    size = float(np.abs(X).max() * np.abs(L).max())
    if size < float(np.finfo(samples.dtype).max) ** 0.5 / 100:
        explicit = np.array([np.sqrt(np.sum((L @ (X[i] - X[j])) ** 2)) for i, j in pairs])
        # Images are rounded before they are subtracted; entries of L below the type's range lose digits, or vanish.
        limits = np.finfo(samples.dtype)
        lost = float(limits.tiny) + float(limits.smallest_subnormal) * float(np.abs(X).max())
        rounding = L.size * (20 * samples.eps * size + lost)
        require_close("pair_distance", model.pair_distance(samples.X, pairs), explicit, 1.0, rounding)
        near = model.get_metric()(X[0], X[n - 1])
        require_close("get_metric", near, np.sqrt(np.sum((L @ (X[0] - X[n - 1])) ** 2)), 1.0, rounding)
    same = pickle.loads(pickle.dumps(model))
    require(np.array_equal(same.transform(samples.X), mapped), "the images after pickling differ")
    require(vars(same).keys() == vars(model).keys(), "attributes are lost in pickling")


class Learned(NamedTuple):
    """A matrix (d, d), the duals (m,) or the number of sure steps, and the ratio by which distances went up and down.

    Rounding errors of a distance that was small are as many times larger once it is large again.
    """

    A: np.ndarray
    dual: Any
    ratio: float

    @property
    def tolerance(self) -> float:
        """The share of the largest entry that rounding may change."""
        return 1e-8 + 1e-13 * self.ratio


class Bounded(NamedTuple):
    """Differences (m, d) of the pairs whose samples do not coincide, their target squared distances and senses."""

    z: np.ndarray
    target: np.ndarray
    sense: np.ndarray


def explicit_bounds(data: PairData, A: np.ndarray) -> Bounded:
    """Return the constraints: for signs, the 5th and the 95th percentile of the squared distances under A (d, d)."""
    z = data.samples.values[data.pairs.values[:, 0]] - data.samples.values[data.pairs.values[:, 1]]
    apart = (z != 0).any(axis=1)
    if data.signs is None:
        return Bounded(z[apart], data.target.values[apart], data.sense.values[apart])
    squared = np.sort([float(v @ A @ v) for v in z[apart]])
    near, far = (percentile(squared, share) for share in (0.05, 0.95))
    return Bounded(z[apart], np.where(data.signs.values > 0, near, far)[apart], -data.signs.values[apart])


def percentile(ordered: np.ndarray, share: float) -> float:
    """Return a percentile of ascending numbers, linear between two of them."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def ratio_of(seen: list[Any]) -> float:
    """Return the ratio of the largest to the smallest eigenvalue that was seen; infinity if rounding left no sign."""
    return float(max(seen) / min(seen)) if min(seen) > 0 else float("inf")


def itml_reference(A: np.ndarray, pairs: Bounded, gamma: float, n_cycles: int) -> Learned:
    """Return A (d, d) and the duals (m,) after cycles of projections, with A⁻¹ never formed."""
    A, z, bound = A.astype(LONG), pairs.z.astype(LONG), pairs.target.astype(LONG)
    dual, slack, seen = np.zeros(len(z), LONG), 1 / bound, []
    for _ in range(n_cycles):
        for e in range(len(z)):
            p = z[e] @ A @ z[e]
            rho = -1 if pairs.sense[e] > 0 else 1
            step = LONG(gamma) / (gamma + 1) * rho * (1 / p - slack[e])
            step = step if pairs.sense[e] == 0 else min(dual[e], step)
            dual[e], slack[e] = dual[e] - step, slack[e] + rho * step / gamma
            image = A @ z[e]
            A = A + rho * step / (1 - rho * step * p) * np.outer(image, image)
            seen += [p / (z[e] @ z[e]), z[e] @ A @ z[e] / (z[e] @ z[e])]
    return Learned(A, dual, ratio_of(seen))


def lego_reference(A: np.ndarray, pairs: Bounded, eta: float, n_epochs: int) -> Learned:
    """Return A (d, d) and the number of sure steps: each adds η (s - y) z zᵀ to A⁻¹, where s is zᵀAz after the step."""
    A, z, target = A.astype(LONG), pairs.z.astype(LONG), pairs.target.astype(LONG)
    steps, eta, seen = 0, LONG(eta), [LONG(1)]
    for _ in range(n_epochs):
        for e in range(len(z)):
            p, y = z[e] @ A @ z[e], target[e]
            if p == y or pairs.sense[e] * (p - y) > 0:
                continue
            # s (1 + η (s - y) p) = p
            half = (1 - eta * y * p) / 2
            root = np.sqrt(half**2 + eta * p**2)
            s = p / (half + root) if half > 0 else (root - half) / (eta * p)
            image = A @ z[e]
            A = A - (p - s) / p**2 * np.outer(image, image)
            steps += abs(p - y) > 1e-6 * (p + y)
            seen += [p / (z[e] @ z[e]), s / (z[e] @ z[e])]
    return Learned(A, steps, ratio_of(seen))


def pola_reference(z: np.ndarray, signs: np.ndarray, n_epochs: int) -> tuple[np.ndarray, float]:
    """Return A (d, d) and the threshold b: projections onto each pair, then of all eigenvalues onto the cone."""
    A, b = np.zeros((z.shape[1], z.shape[1])), 1.0
    for _ in range(n_epochs):
        for v, sign in zip(z, signs, strict=True):
            loss = max(0.0, 1 - sign * (b - v @ A @ v))
            step = sign * loss / (np.sum(v * v) ** 2 + 1)
            values, vectors = np.linalg.eigh(A - step * np.outer(v, v))
            A, b = (vectors * np.maximum(values, 0)) @ vectors.T, max(1.0, b + step)
    return A, b


def draw_prior(draw: Draw, d: int) -> tuple[Any, np.ndarray]:
    """Return a prior as it is given, and as a matrix (d, d)."""
    if draw.flag(0.7):
        return "identity", np.eye(d)
    root = draw.rng.standard_normal((d, d))
    A = root @ root.T + np.eye(d)
    return A.tolist() if draw.flag(0.3) else A, A


def representable(pairs: Bounded) -> bool:
    """Return True if sums of products of the differences lose no digits to the smallest and the largest of them."""
    size = np.abs(pairs.z[pairs.z != 0])
    return bool(len(size) and size.max() < 1e4 * size.min() and size.min() > 1e-60 and size.max() < 1e60)


@property_of("itml: projections")
def check_itml(draw: Draw) -> None:
    """Some cycles give the matrix of explicit projections; duals of inequalities are not negative."""
    data = draw_pair_data(draw)
    prior, A = draw_prior(draw, data.samples.values.shape[1])
    gamma, cycles = draw.choice([1.0, 0.1, 10.0, 1e3]), draw.integer(1, 6)
    draw.note(gamma=gamma, cycles=cycles)
    model = fit_pairs(draw, ITML(gamma, prior=prior, max_iter=cycles, tol=0.0), data)
    require_distance(model, data.samples)
    pairs = explicit_bounds(data, A)
    require(model.dual_.shape == pairs.target.shape, "dual_ is not of the pairs whose samples differ")
    require((model.dual_[pairs.sense != 0] >= 0).all(), "a dual variable of an inequality is negative")
    if representable(pairs) and (pairs.target > 0).all():
        wanted = itml_reference(A, pairs, gamma, model.n_iter_)
        require_close("the matrix", model.get_mahalanobis_matrix(), wanted.A, wanted.tolerance)


@property_of("itml: bounds hold")
def check_itml_converged(draw: Draw) -> None:
    """A converged fit satisfies the relaxed bounds, and is the one of the data in other units."""
    data = draw_pair_data(draw, wild=0.0)
    gamma = draw.choice([1.0, 0.1, 10.0])
    model = fit_pairs(draw, ITML(gamma, tol=1e-9, max_iter=3000), data)
    pairs, A = explicit_bounds(data, np.eye(data.samples.values.shape[1])), model.get_mahalanobis_matrix()
    rho = np.where(pairs.sense > 0, -1, 1)
    relaxed = 1 / pairs.target - rho * model.dual_ / gamma
    require((relaxed > 0).all(), "a relaxed bound is not positive")
    excess = rho * (np.array([v @ A @ v for v in pairs.z]) * relaxed - 1)
    excess = np.where(pairs.sense == 0, np.abs(excess), excess)
    if model.converged_:
        require(excess.max() < 1e-4, f"a bound is violated by a share of {excess.max():.1e}")
    exponent = draw.choice([1, -3, 20, -20, 100])
    other = data._replace(samples=scaled_samples(data.samples, exponent))
    if other.signs is None:
        values = data.target.values * 4.0**exponent
        other = other._replace(target=Given(values, values))
    again = fit_pairs(draw, clone(model), other)
    require_close("the matrix in other units", again.get_mahalanobis_matrix(), A, 1e-6)


def scaled_samples(samples: Samples, exponent: int) -> Samples:
    """Return the samples times 2^exponent, in float64."""
    X = np.ldexp(samples.values, exponent)
    return Samples(X, X, np.dtype(np.float64), False, samples.broken)


@property_of("lego: steps")
def check_lego(draw: Draw) -> None:
    """A stream gives the matrix of explicit steps, and the same matrix in other units."""
    data = draw_pair_data(draw)
    prior, A = draw_prior(draw, data.samples.values.shape[1])
    eta, epochs = draw.choice([1e-3, 1.0, 1e-6, 1e3]), draw.integer(1, 3)
    draw.note(eta=eta, epochs=epochs)
    model = fit_pairs(draw, LEGO(eta, prior=prior, n_epochs=epochs), data)
    require_distance(model, data.samples)
    pairs = explicit_bounds(data, A)
    if not representable(pairs):
        return
    wanted = lego_reference(A, pairs, eta, epochs)
    require_close("the matrix", model.get_mahalanobis_matrix(), wanted.A, wanted.tolerance)
    # A distance near its bound may be on either side of it.
    sure = wanted.ratio > 1e6 or model.n_updates_ >= wanted.dual
    require(sure, f"{model.n_updates_} steps, explicitly {wanted.dual}")
    exponent = draw.choice([1, -3, 10])
    values = data.target.values * 4.0**exponent
    other = data._replace(samples=scaled_samples(data.samples, exponent), target=Given(values, values))
    again = fit_pairs(draw, clone(model).set_params(eta=eta * 16.0**-exponent), other)
    W = model.get_mahalanobis_matrix()
    require_close("the matrix in other units", again.get_mahalanobis_matrix(), W, wanted.tolerance)


@property_of("lego and pola: streams")
def check_streams(draw: Draw) -> None:
    """Pairs in two calls of `partial_fit_pairs` give the matrix of one call."""
    data = draw_pair_data(draw, wild=0.0, signs=True)
    m = len(data.pairs.values)
    cut = draw.integer(1, max(1, m - 1))
    learner = draw.choice([POLA(), LEGO(1e-2)])
    given = data.arguments if isinstance(learner, POLA) else {"target": data.target.values, "sense": data.sense.values}
    X, pairs = data.samples.X, data.pairs.values
    whole = call(draw, clone(learner).fit_pairs, X, pairs, legal=False, **given)
    parts = clone(learner)
    for part in (slice(0, cut), slice(cut, m)):
        if len(pairs[part]):
            parts.partial_fit_pairs(X, pairs[part], **{name: np.asarray(v)[part] for name, v in given.items()})
    scale = float(np.abs(whole.get_mahalanobis_matrix()).max()) or 1.0
    require_close(
        "the matrix of two parts", parts.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix(), 1e-7, scale
    )


@property_of("pola: projections")
def check_pola(draw: Draw) -> None:
    """A stream gives the matrix and the threshold of explicit projections."""
    data = draw_pair_data(draw, signs=True)
    epochs = draw.integer(1, 3)
    model = fit_pairs(draw, POLA(n_epochs=epochs), data._replace(target=data.target._replace(broken=False)))
    require_distance(model, data.samples)
    require(np.isfinite(model.bias_) and model.bias_ >= 1, f"bias_={model.bias_} is below 1")
    require(model.threshold_ == model.bias_**0.5, "threshold_ is not the root of bias_")
    assert data.signs is not None
    i, j = data.pairs.values.T
    z = data.samples.values[i] - data.samples.values[j]
    apart = (z != 0).any(axis=1)
    if representable(Bounded(z, z, z)) and np.abs(z).max() < 1e3:
        A, b = pola_reference(z[apart], data.signs.values[apart], epochs)
        scale = max(float(np.abs(A).max()), 1e-3)
        require_close("the matrix", model.get_mahalanobis_matrix(), A, 1e-7, scale)
        require_close("the threshold", model.bias_, b, 1e-7)


@property_of("pair learners: labels")
def check_labels(draw: Draw) -> None:
    """A fit to class labels is refused or gives a distance; the same seed gives the same bits."""
    n, d = draw.choice([1, 2, 3, 10, 30]), draw.integer(1, 5)
    samples, labels = draw_samples(draw, n, d, sparse=draw.flag(0.1)), draw_labels(draw, n)
    learner = draw.choice([ITML(max_iter=50), LEGO(), POLA()])
    learner.set_params(random_state=draw.integer(0, 9), n_constraints=draw.choice([None, 1, 5, 40]))
    draw.note(learner=repr(learner))
    legal = samples.plain and not labels.broken and n >= 10 and draw.notes["labels"] == "plain"
    legal = legal and draw.notes["layout"] not in ("csr", "csc", "coo") and learner.n_constraints != 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        call(draw, learner.fit, samples.X, labels.given, legal=legal)
    require(not (samples.broken or labels.broken), "X or y that are not valid were accepted")
    require_distance(learner, samples)
    again = clone(learner).fit(samples.X, labels.given)
    require(np.array_equal(again.components_, learner.components_), "the same fit with the same seed differs")
