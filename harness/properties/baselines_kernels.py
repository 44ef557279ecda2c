"""Properties of LogDetKL, KernelSpectralRegression and MaximumVarianceUnfolding: kernels (n, n) formed explicitly."""

from __future__ import annotations

import pickle
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.base import clone

from gramian.baselines import KernelSpectralRegression, LogDetKL, MaximumVarianceUnfolding
from harness.properties.case import Draw, call, property_of, require, require_close, require_finite
from harness.properties.strategies import Samples, draw_labels, draw_pairs, draw_samples, draw_sense, draw_signs

__all__: list[str] = []

KERNELS = ("linear", "linear", "rbf", "poly", "laplacian", "precomputed")


class KernelData(NamedTuple):
    """Samples as they are given, or their kernel; the settings of the kernel; and the kernel (n, n) explicitly."""

    samples: Samples
    X: Any
    settings: dict[str, Any]
    K: np.ndarray


def draw_kernel_data(draw: Draw, n: int, *, wild: float = 0.5, kernels: tuple[str, ...] = KERNELS) -> KernelData:
    """Return n samples and their kernel."""
    d = draw.integer(1, 5)
    samples = draw_samples(draw, n, d, wild=wild, broken=0.03 if wild else 0.0)
    name = draw.choice(kernels)
    draw.note(kernel=name)
    with np.errstate(all="ignore"):
        K = explicit_kernel(samples.values, name)
    X = samples.X
    if name == "precomputed":
        X = K
        samples = samples._replace(
            dtype=np.dtype(np.float64), plain=False, broken=samples.broken or not np.isfinite(K).all()
        )
    return KernelData(samples, X, {"kernel": name}, K)


def explicit_kernel(X: np.ndarray, name: str) -> np.ndarray:
    """Return the kernel (n, n), one entry at a time, with the default settings."""
    n, d = X.shape
    # Distances are exact about any origin, and most accurate about the mean; so is the centred linear kernel.
    X = X - X.mean(axis=0) if name in ("linear", "precomputed") else X
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            if name in ("linear", "precomputed"):
                K[i, j] = np.sum(X[i] * X[j])
            elif name == "poly":
                K[i, j] = (np.sum(X[i] * X[j]) / d + 1) ** 3
            elif name == "rbf":
                K[i, j] = np.exp(-np.sum((X[i] - X[j]) ** 2) / d)
            else:
                K[i, j] = np.exp(-np.sum(np.abs(X[i] - X[j])) / d)
    return K


def centred(K: np.ndarray) -> np.ndarray:
    """Return the kernel of the samples less their mean."""
    J = np.eye(len(K)) - 1 / len(K)
    return J @ K @ J


def well_posed(K: np.ndarray, rank: int) -> bool:
    """Return True if the leading eigenvalues of a centred kernel are far from the next and from rounding."""
    if not np.isfinite(K).all() or len(K) < 2:
        return False
    values = np.maximum(np.linalg.eigvalsh(centred(K))[::-1], 0)
    following = float(values[rank]) if rank < len(values) else 0.0
    return bool(values[rank - 1] > 1e-6 * np.abs(K).max() and values[rank - 1] - following > 1e-3 * values[0])


def require_map(model: Any, data: KernelData) -> None:
    """Require a finite embedding in the dtype of the samples, its kernel, and the same answers after pickling."""
    G = model.embedding_
    require_finite("embedding_", G)
    require(G.dtype == data.samples.dtype, f"embedding_ is {G.dtype}, not {data.samples.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        require(np.array_equal(model.kernel_matrix(), G @ G.T, equal_nan=True), "kernel_matrix is not G Gᵀ")
    same = pickle.loads(pickle.dumps(model))
    if hasattr(model, "transform"):
        mapped = model.transform(data.X)
        require_finite("transform", mapped)
        require(np.array_equal(same.transform(data.X), mapped), "the images after pickling differ")
    require(np.array_equal(same.embedding_, G), "the embedding after pickling differs")


class Projected(NamedTuple):
    """A kernel (n, n), duals (m,), and the ratio of the largest to the smallest squared distance on the way."""

    K: np.ndarray
    dual: np.ndarray
    ratio: float


def logdet_reference(
    K: np.ndarray, pairs: np.ndarray, target: np.ndarray, sense: np.ndarray, slack: float, sweeps: int
) -> Projected:
    """Return the kernel after projections in the given order, each K + β K e eᵀ K with e = e_i - e_j."""
    K, m = K.astype(np.longdouble), len(pairs)
    # 1/ξ = 1/b - μ/γ
    dual, inverse, seen = np.zeros(m, K.dtype), 1 / target.astype(K.dtype), [K.max()]
    for _ in range(sweeps):
        for k, (i, j) in enumerate(pairs):
            column = K[:, i] - K[:, j]
            p = column[i] - column[j]
            seen.append(p)
            share = 1.0 if slack == np.inf else slack / (slack + 1)
            new = share * (dual[k] + inverse[k] - 1 / p)
            new = new * 0 if sense[k] * new > 0 else new
            change, dual[k] = dual[k] - new, new
            K = K + change / (1 - change * p) * np.outer(column, column)
            seen.append(K[i, i] + K[j, j] - 2 * K[i, j])
    return Projected(K, dual, float(max(seen) / max(min(seen), np.longdouble(1e-4000))))


@property_of("logdet: projections")
def check_projections(draw: Draw) -> None:
    """Some sweeps give the kernel of explicit projections of the whole kernel."""
    n, m, rank = draw.integer(2, 10), draw.integer(1, 10), draw.integer(1, 3)
    data, given = draw_kernel_data(draw, n), draw_pairs(draw, n, m)
    sense, sweeps, slack = draw_sense(draw, m), draw.integer(1, 4), draw.choice([1.0, 0.1, 100.0, np.inf])
    i, j = np.clip(given.values, 0, n - 1).T
    with np.errstate(all="ignore"):
        distances = np.diag(data.K)[i] + np.diag(data.K)[j] - 2 * data.K[i, j]
        target = distances * draw.rng.uniform(0.3, 3, size=m)
        target = np.where(np.isfinite(target) & (target > 0), target, 1.0)
    bad = draw.choice(["none", "none", "none", "none", "zero", "nan", "negative"])
    if bad != "none":
        target[0] = {"zero": 0.0, "nan": np.nan, "negative": -1.0}[bad]
    draw.note(rank=rank, slack=slack, sweeps=sweeps, bad_target=bad)
    model = LogDetKL(rank, slack=slack, shuffle=False, max_iter=sweeps, tol=0.0, **data.settings)
    call(draw, model.fit_pairs, data.X, given.given, target, sense.given)
    broken = data.samples.broken or given.broken or bad in ("nan", "negative")
    require(not broken, "X, pairs or target that are not valid were accepted")
    require_map(model, data)
    if not well_posed(data.K, rank) or not (target > 0).all() or data.samples.eps > 1e-10:
        return
    values, vectors = np.linalg.eigh(centred(data.K))
    start = vectors[:, -rank:] * np.sqrt(values[-rank:])
    apart = np.sum((start[i] - start[j]) ** 2, axis=1) > 1e-6 * values[-1]
    if not apart.all():
        return
    wanted = logdet_reference(start @ start.T, given.values, target, sense.values, slack, model.n_iter_)
    require_close("the kernel", model.kernel_matrix(), wanted.K, 1e-7 + 1e-10 * wanted.ratio)


@property_of("logdet: maps and units")
def check_bounds(draw: Draw) -> None:
    """A fit to labels maps its samples to their embedding and follows units; one hard equality is met."""
    n, rank = draw.choice([6, 12, 20]), draw.integer(1, 2)
    data = draw_kernel_data(draw, n, wild=0.0, kernels=("linear", "rbf"))
    labels = draw_labels(draw, n, wild=0.0)
    settings = {"slack": draw.choice([1.0, 0.1, 10.0]), "n_pairs": draw.choice([None, 5]), "random_state": 0}
    model = LogDetKL(rank, max_iter=2000, tol=1e-6, **settings, **data.settings)
    call(draw, model.fit, data.X, labels.given)
    require_map(model, data)
    require_close("transform", model.transform(data.X), model.embedding_, 1e4 * data.samples.eps)
    if data.settings["kernel"] == "linear" and data.samples.eps < 1e-10:
        exponent = draw.choice([1, -3, 40, -40, 200])
        other = clone(model).fit(np.ldexp(data.samples.values, exponent), labels.given)
        scaled = np.ldexp(other.embedding_, -exponent)
        require_close("the kernel in other units", scaled @ scaled.T, model.kernel_matrix(), 1e-4)
    i, j, target = (draw.rng.permutation(n)[0], 0, 0.0)
    if i != j:
        target = float(draw.rng.uniform(0.5, 2))
        single = clone(model).set_params(slack=np.inf).fit_pairs(data.X, [[i, j]], target)
        apart = float(np.sum((single.embedding_[i] - single.embedding_[j]) ** 2))
        size = float(np.sum(single.embedding_**2))
        require_close("the distance of an equality", apart, target, 1e4 * data.samples.eps, size + target)


def explicit_edges(K: np.ndarray, k: int) -> np.ndarray:
    """Return the adjacency (n, n) of samples of which one is among the k nearest of the other."""
    n = len(K)
    near = np.zeros((n, n), bool)
    for i in range(n):
        distances = np.array([K[i, i] + K[j, j] - 2 * K[i, j] if j != i else np.inf for j in range(n)])
        near[i, np.argsort(distances, kind="stable")[: min(k, n - 1)]] = True
    return near | near.T


@property_of("spectral regression: explicit")
def check_spectral(draw: Draw) -> None:
    """The eigenvalues are those of D⁻¹N, and the columns of G are ridge regressions of its eigenvectors."""
    n, m, rank, k = draw.integer(2, 12), draw.integer(1, 8), draw.integer(1, 3), draw.choice([3, 0, 1, 20])
    data, given, signs = draw_kernel_data(draw, n), draw_pairs(draw, n, m), draw_signs(draw, m)
    ridge = draw.choice([1e-2, 1.0, 1e-6])
    draw.note(rank=rank, n_neighbors=k, ridge=ridge)
    model = KernelSpectralRegression(rank, n_neighbors=k, ridge=ridge, **data.settings)
    call(draw, model.fit_pairs, data.X, given.given, y=signs.given)
    require(not (data.samples.broken or given.broken), "X or pairs that are not valid were accepted")
    require_map(model, data)
    plain = data.samples.plain and data.samples.eps < 1e-10 and data.settings["kernel"] != "precomputed"
    if not plain:
        return
    N = explicit_edges(data.K, k).astype(float)
    for (i, j), sign in sorted(zip(given.values.tolist(), signs.values.tolist(), strict=True), key=second_descending):
        N[i, j] = N[j, i] = max(sign, 0)
    degrees = N.sum(axis=1)
    if not (degrees > 0).all():
        return
    values, vectors = scipy.linalg.eigh(N, np.diag(degrees))
    trivial = np.flatnonzero(values > 1 - 1e-9)
    if len(trivial) > 1:
        return
    # An eigenvector is unique only if the next eigenvalue, too, is another one.
    everything = np.append(values[-2::-1], -2.0)
    values, vectors = values[-2::-1][:rank], vectors[:, -2::-1][:, : rank + 1]
    kept = values > 1e-5
    require_close("eigenvalues_", model.eigenvalues_[: kept.sum()], values[kept], 1e-7, 1.0)
    found = len(model.eigenvalues_)
    if found == 0 or np.diff(everything[: found + 1]).max() > -1e-6 or kept.sum() != found:
        return
    K = centred(data.K)
    for column in range(found):
        a = np.linalg.solve(K + ridge * np.eye(n), vectors[:, column])
        a /= np.sqrt(a @ (K + ridge * np.eye(n)) @ a)
        g, G = K @ a, model.embedding_[:, column]
        require_close("a column of G", np.outer(G, G), np.outer(g, g), 1e-5, float(np.sum(g**2)) + ridge)


def second_descending(item: tuple[Any, int]) -> int:
    """Return the key that sorts similar pairs before dissimilar ones, which prevail."""
    return -item[1]


@property_of("spectral regression and logdet: labels")
def check_labels(draw: Draw) -> None:
    """A fit to class labels is refused or gives a finite map; the same seed gives the same bits."""
    n = draw.choice([1, 2, 3, 10, 25])
    data, labels = draw_kernel_data(draw, n), draw_labels(draw, n)
    learner = draw.choice([LogDetKL(max_iter=30), KernelSpectralRegression()])
    learner.set_params(
        rank=draw.choice([1, 2, n + 1]), n_pairs=draw.choice([None, 1, 10]), random_state=1, **data.settings
    )
    draw.note(learner=repr(learner))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        call(draw, learner.fit, data.X, labels.given)
        require(not data.samples.broken, "X that is not valid was accepted")
        require(draw.notes["labels"] not in ("missing", "one class"), "y that is not valid was accepted")
        again = clone(learner).fit(data.X, labels.given)
    require_map(learner, data)
    require(np.array_equal(again.embedding_, learner.embedding_), "the same fit with the same seed differs")


@property_of("unfolding: edges keep their lengths")
def check_unfolding(draw: Draw) -> None:
    """Edges keep their lengths, the variance is at least that of the samples, and the dual weights bound it."""
    n, k = draw.integer(2, 8), draw.choice([3, 1, 7])
    data = draw_kernel_data(draw, n, wild=0.3, kernels=("linear", "linear", "rbf"))
    model = MaximumVarianceUnfolding(n, n_neighbors=k, **data.settings)
    call(draw, model.fit, data.X)
    require(not data.samples.broken, "X that is not valid was accepted")
    require_map(model, data)
    i, j = model.edges_.T
    if not data.samples.plain:
        return
    require(np.array_equal(explicit_edges(data.K, k)[i, j], np.ones(len(i), bool)), "an edge joins no neighbours")
    require(len(i) == np.triu(explicit_edges(data.K, k)).sum(), "there are edges missing")
    lengths = np.array([data.K[a, a] + data.K[b, b] - 2 * data.K[a, b] for a, b in model.edges_])
    G = model.embedding_.astype(np.float64)
    found = np.array([np.sum((G[a] - G[b]) ** 2) for a, b in model.edges_])
    require_close("the lengths of the edges", found, lengths, 1e-3)
    trace = float(np.trace(centred(data.K)))
    require(np.sum(G**2) >= (1 - 1e-3) * trace, f"the variance {np.sum(G**2):.4g} is below that of X, {trace:.4g}")
    L = np.zeros((n, n))
    for (a, b), weight in zip(model.edges_, model.weights_, strict=True):
        L[[a, b, a, b], [a, b, b, a]] += weight * np.array([1, 1, -1, -1])
    require(np.linalg.eigvalsh(L)[1] > 1 - 1e-6, "the dual weights are not feasible")
    bound = float(model.weights_ @ lengths)
    require(np.sum(G**2) <= bound * (1 + 1e-3), f"the variance {np.sum(G**2):.4g} is above its bound {bound:.4g}")
